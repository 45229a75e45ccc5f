// The selection of MPICH: its decision table as of v4.3.2 (maint/tuning/coll/mpir/generic.json), by number of
// ranks and bytes. Hierarchical compositions of its device are omitted, except for the barrier.
#include "backends/host/collectives.hpp"
#include "backends/host/pieces.hpp"

namespace offramp::host {
namespace {

/// The inputs of MPICH's rules.
struct Asked {
  std::size_t bytes;  // of the message or the block
  std::size_t total;  // of all blocks
  int ranks;
  bool is_power_of_two;
  bool has_few_elements;  // fewer than there are positions
  bool is_user_defined;   // reduction with a user-defined operation
};

std::string_view choose_bcast(const Asked& asked) {
  if (asked.ranks < 8 || asked.bytes <= 12 * kKi) return "binomial";
  return asked.is_power_of_two && asked.bytes <= 512 * kKi ? "scatter_allgather" : "scatter_allgather_ring";
}

std::string_view choose_allreduce(const Asked& asked) {
  return asked.bytes <= 8 || asked.is_user_defined || asked.has_few_elements ? "recursive_doubling"
                                                                             : "rabenseifner";
}

std::string_view choose_reduce(const Asked& asked) {
  return asked.bytes <= 2 * kKi || asked.is_user_defined || asked.has_few_elements ? "binomial"
                                                                                   : "rabenseifner";
}

std::string_view choose_allgather(const Asked& asked) {
  if (asked.is_power_of_two) return asked.total < 512 * kKi ? "recursive_doubling" : "ring";
  return asked.total < 80 * kKi ? "bruck" : "ring";
}

std::string_view choose_alltoall(const Asked& asked) {
  if (asked.ranks >= 8 && asked.bytes <= 256) return "modified_bruck";
  return asked.bytes <= 32 * kKi ? "linear" : "pairwise";
}

}  // namespace

Decision decide_as_mpich(const Operation& operation, std::size_t bytes, std::size_t elements, Nodes nodes) {
  using enum OperationKind;
  const OperationKind kind = operation.kind;
  const int power = Positions(operation.ranks).count();
  const std::size_t total =
      kind == kReduceScatterv ? bytes : bytes * static_cast<std::size_t>(operation.ranks);
  const Asked asked{bytes,
                    total,
                    operation.ranks,
                    operation.ranks == power,
                    elements < static_cast<std::size_t>(power),
                    operation.function == ReduceFunction::kUser};
  const auto name = [&]() -> std::string_view {
    switch (kind) {
      case kBcast:
        return choose_bcast(asked);
      case kReduce:
        return choose_reduce(asked);
      case kAllreduce:
        return choose_allreduce(asked);
      case kGather:
      case kScatter:
        return "binomial";
      case kAllgather:
        return choose_allgather(asked);
      case kAllgatherv:  // its recursive doubling has the steps and sizes of Bruck's algorithm
        return asked.total < 512 * kKi && (asked.is_power_of_two || asked.total < 80 * kKi) ? "bruck"
                                                                                            : "ring";
      case kReduceScatter:
      case kReduceScatterv:
        if (!operation.commutative) return kind == kReduceScatter ? "recursive_doubling" : "butterfly";
        return asked.total < 512 * kKi ? "recursive_halving" : "pairwise";
      case kAlltoall:
        return choose_alltoall(asked);
      case kAlltoallv:
        return "basic_linear";
      case kBarrier:
        return nodes == Nodes::kAny ? "bruck" : "han";
      case kScan:
      case kExscan:
        return "recursive_doubling";
      case kSend:
      case kGatherv:
      case kScatterv:
      case kCount:
        break;  // one algorithm, or none
    }
    return "";
  }();
  return {name};
}

}  // namespace offramp::host
