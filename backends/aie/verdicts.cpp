#include "backends/aie/verdicts.hpp"

namespace offramp::aie {

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

std::size_t element_bytes_of(ElementType type) {
  switch (type) {
    case ElementType::kByte:
    case ElementType::kInt8:
    case ElementType::kUint8:
      return 1;
    case ElementType::kInt16:
    case ElementType::kUint16:
      return 2;
    case ElementType::kInt32:
    case ElementType::kUint32:
    case ElementType::kFloat32:
      return 4;
    default:
      return 0;
  }
}

std::string too_few_tiles(const Setup& setup, int ranks) {
  return std::to_string(ranks) + " ranks, and the array has " + std::to_string(setup.array.tiles()) +
         " tiles";
}

std::string_view collective_decline(Planner& planner, const Operation& operation) {
  switch (operation.kind) {
    case OperationKind::kAlltoall:
    case OperationKind::kReduceScatter:
      return "the original document has no such collective, and there are no kernels for it";
    case OperationKind::kReduce:
    case OperationKind::kAllreduce:
      if (element_bytes_of(operation.element) == 0)
        return "the kernels compute with integers of 8, 16 and 32 bits and floats of 32 bits";
      if (operations_of(operation.function) == 0)
        return "the kernels know sum, product, maximum, minimum, logical and bit functions";
      if (!operation.commutative)
        return "the tree combines in the order of its root's subtrees, not in that of the ranks";
      if (operation.element == ElementType::kFloat32 &&
          (is_logical(operation.function) || is_bitwise(operation.function)))
        return "the kernels have no logical or bit functions of floats";
      break;
    default:
      break;
  }
  return planner.need(operation).limit;
}

}  // namespace offramp::aie
