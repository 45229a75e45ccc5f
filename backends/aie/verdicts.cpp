// A loop is counted in operations of one cycle, per element and input. The counts for 64-bit integers and for
// doubles, which the kernels compute in several steps, are assumed. Declines are in order: type, function,
// order of operands, then the planner's limit, which is the most expensive to find.
#include "backends/aie/verdicts.hpp"

namespace offramp::aie {

namespace {

/// Operations of the function, one cycle each. 0: not in the instruction set.
int operations_of(ReduceFunction function) {
  switch (function) {
    case ReduceFunction::kSum:
    case ReduceFunction::kProduct:
    case ReduceFunction::kMaximum:
    case ReduceFunction::kMinimum:
    case ReduceFunction::kBitAnd:
    case ReduceFunction::kBitOr:
    case ReduceFunction::kBitXor:
      return 1;
    case ReduceFunction::kLogicalAnd:
    case ReduceFunction::kLogicalOr:
      return 2;  // compare with zero, combine
    case ReduceFunction::kLogicalXor:
      return 3;
    default:
      return 0;
  }
}

/// Additional operations per word of a 64-bit integer, compared with 32 bits. Assumed.
int more_of_two_words(ReduceFunction function) {
  switch (function) {
    case ReduceFunction::kSum:
      return 1;  // the carry
    case ReduceFunction::kProduct:
      return 3;  // partial products and carries
    case ReduceFunction::kMaximum:
    case ReduceFunction::kMinimum:
      return 2;  // depends on both words
    case ReduceFunction::kLogicalAnd:
    case ReduceFunction::kLogicalOr:
    case ReduceFunction::kLogicalXor:
      return 1;
    default:
      return 0;
  }
}

/// The scalar unit computes doubles with integers. Assumed.
int operations_of_double(ReduceFunction function) {
  switch (function) {
    case ReduceFunction::kSum:
    case ReduceFunction::kProduct:
      return 80;  // unpack, align or multiply, normalise, round
    case ReduceFunction::kMaximum:
    case ReduceFunction::kMinimum:
      return 6;
    default:
      return operations_of(function);
  }
}

}  // namespace

Loop loop_of(ElementType type, ReduceFunction function) {
  const int operations = operations_of(function);
  switch (type) {
    case ElementType::kByte:
    case ElementType::kInt8:
    case ElementType::kUint8:
      return {1, operations};
    case ElementType::kInt16:
    case ElementType::kUint16:
      return {2, operations};
    case ElementType::kInt32:
    case ElementType::kUint32:
    case ElementType::kFloat32:
      return {4, operations};
    case ElementType::kInt64:
    case ElementType::kUint64:
      return {4, operations == 0 ? 0 : operations + more_of_two_words(function)};
    case ElementType::kFloat64:
      return {8, operations_of_double(function), true};
    default:
      return {0, operations};
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
