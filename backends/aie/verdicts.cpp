// A loop is counted in operations of one cycle, per element and input. The counts for 64-bit integers and for
// doubles, which the kernels compute in several steps, are assumed. Declines are in order: type, function,
// order of operands, then the planner's limit, which is the most expensive to find.
#include "backends/aie/verdicts.hpp"

namespace offramp::aie {

namespace {

/// A function's operations in the kernels, one cycle each. 0: not in the instruction set.
struct FunctionCost {
  ReduceFunction function = ReduceFunction::kNone;
  int operations = 0;
  int more_of_two_words = 0;  // additional ones per word of a 64-bit integer, compared with 32 bits; assumed
  int of_double = 0;          // the scalar unit computes doubles with integers; assumed
};
constexpr FunctionCost kFunctionCosts[] = {
    {ReduceFunction::kSum, 1, 1, 80},      // two words: the carry; double: unpack, align, normalise, round
    {ReduceFunction::kProduct, 1, 3, 80},  // partial products and carries; unpack, multiply, normalise, round
    {ReduceFunction::kMaximum, 1, 2, 6},   // depends on both words
    {ReduceFunction::kMinimum, 1, 2, 6},   // depends on both words
    {ReduceFunction::kLogicalAnd, 2, 1, 2},  // compare with zero, combine
    {ReduceFunction::kLogicalOr, 2, 1, 2},   // compare with zero, combine
    {ReduceFunction::kLogicalXor, 3, 1, 3}, {ReduceFunction::kBitAnd, 1, 0, 1},
    {ReduceFunction::kBitOr, 1, 0, 1},      {ReduceFunction::kBitXor, 1, 0, 1},
};

}  // namespace

Loop loop_of(ElementType type, ReduceFunction function) {
  FunctionCost cost;
  for (const FunctionCost& row : kFunctionCosts) {
    if (row.function == function) cost = row;
  }
  switch (type) {
    case ElementType::kByte:
    case ElementType::kInt8:
    case ElementType::kUint8:
      return {1, cost.operations};
    case ElementType::kInt16:
    case ElementType::kUint16:
      return {2, cost.operations};
    case ElementType::kInt32:
    case ElementType::kUint32:
    case ElementType::kFloat32:
      return {4, cost.operations};
    case ElementType::kInt64:
    case ElementType::kUint64:
      return {4, cost.operations + cost.more_of_two_words};
    case ElementType::kFloat64:
      return {8, cost.of_double, true};
    default:
      return {0, cost.operations};
  }
}

bool is_published(const Operation& operation) {
  const bool wide = operation.element == ElementType::kInt64 || operation.element == ElementType::kUint64 ||
                    operation.element == ElementType::kFloat64;
  return operation.kind == OperationKind::kGather || (operation.kind == OperationKind::kReduce && !wide);
}

std::string too_few_tiles(const Setup& setup, int ranks) {
  return std::to_string(ranks) + " ranks, but the array has " + std::to_string(setup.array.tiles()) +
         " tiles";
}

std::string_view collective_decline(Planner& planner, const Operation& operation) {
  if (reduces(operation.kind)) {
    if (const Loop loop = loop_of(operation.element, operation.function); loop.element_bytes == 0) {
      return "the kernels compute with integers of 8 to 64 bits and floats of 32 and 64 bits";
    } else if (loop.operations == 0) {
      return "the kernels have only sum, product, maximum, minimum, logical, and bitwise functions";
    }
    if (!operation.commutative)
      return "the tree combines in the order of its root's subtrees, not in rank order";
    if (is_floating_point(operation.element) &&
        (is_logical(operation.function) || is_bitwise(operation.function)))
      return "the kernels have no logical or bitwise functions of floats";
  }
  return planner.requirements(operation).limit;
}

}  // namespace offramp::aie
