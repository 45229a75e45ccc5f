// Collective algorithms in software, over the messages of a Team: the catalogue of Open MPI's component
// "tuned", under its names, plus some of MPICH's.
//
// Every algorithm supports any root and zero bytes. Other restrictions are in its row of the catalogue, with
// the algorithm that replaces it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "backends/host/local_work.hpp"

namespace offramp::host {

inline constexpr std::size_t kKi = 1024;

class Collectives;

/// The block of a rank in the send or receive buffer, of equal or of different sizes.
Bytes send_block(const CollectiveBuffers& buffers, int rank);
MutableBytes receive_block(const CollectiveBuffers& buffers, int rank);

/// One rank's part of a collective.
struct AlgorithmCall {
  Team& team;
  const Collectives& collectives;
  Operation operation;
  CollectiveBuffers buffers;
  std::size_t chosen_segment = 0;  // segment size of the selection; 0: that of the settings

  [[nodiscard]] int rank() const { return team.rank(); }
  [[nodiscard]] int size() const { return team.size(); }
  [[nodiscard]] bool is_root() const { return team.rank() == operation.root; }
  [[nodiscard]] const LocalCosts& costs() const;
  /// Bytes of one element; reductions are cut at element boundaries only.
  [[nodiscard]] std::size_t element() const;
  /// Size of the segments in which trees forward a long message, in bytes; 0: unsegmented.
  [[nodiscard]] std::size_t segment() const;
  [[nodiscard]] Bytes send_block(int rank) const { return host::send_block(buffers, rank); }
  [[nodiscard]] MutableBytes receive_block(int rank) const { return host::receive_block(buffers, rank); }
};

/// Requirements of an algorithm on the number of ranks, and on the minimum number of elements.
enum class Ranks : std::uint8_t { kAny, kEven, kPowerOfTwo };
enum class Elements : std::uint8_t { kAny, kOnePerRank, kOnePerPowerOfTwo };
/// Requirements on nodes, each including the previous one: several nodes, some with several ranks; equally
/// many ranks on each node.
enum class Nodes : std::uint8_t { kAny, kSeveral, kEqual };

inline constexpr std::string_view kByOpenMpi = "openmpi";  // by Open MPI's rules
inline constexpr std::string_view kByBest = "best";        // the fastest one
inline constexpr std::string_view kByNodes =
    "by_nodes";  // an algorithm: one rank of each node for all of its ranks

struct Algorithm {
  std::string_view name;
  Task<Outcome> (*run)(AlgorithmCall call);
  std::string_view instead = {};  // replacement if it cannot run; may be kByOpenMpi
  bool commutative = false;       // needs a commutative operation
  Ranks ranks = Ranks::kAny;
  Elements elements = Elements::kAny;
  Nodes nodes = Nodes::kAny;
  bool is_common = true;  // Open MPI or MPICH choose it, so advice may recommend it
};

/// Applies below these numbers of ranks and bytes; the first match wins.
struct Rule {
  int ranks;
  std::size_t bytes;
  std::string_view algorithm;
};

/// One row for each kind of collective.
struct CollectiveKind {
  OperationKind kind;
  std::span<const Algorithm> algorithms;
  std::vector<Rule> rules;
  std::vector<Rule> ordered_rules = {};  // for non-commutative operations; empty: as `rules`
};
std::span<const CollectiveKind> collective_kinds();
const CollectiveKind& collective_kind(OperationKind kind);
/// The algorithm of that name, which must exist.
const Algorithm& algorithm_named(OperationKind kind, std::string_view name);

// The algorithms of each kind, one file each. Constant-initialised.
extern const std::span<const Algorithm> kBcastCatalogue;
extern const std::span<const Algorithm> kReduceCatalogue;
extern const std::span<const Algorithm> kAllreduceCatalogue;
extern const std::span<const Algorithm> kGatherCatalogue;
extern const std::span<const Algorithm> kGathervCatalogue;
extern const std::span<const Algorithm> kScatterCatalogue;
extern const std::span<const Algorithm> kScattervCatalogue;
extern const std::span<const Algorithm> kAllgatherCatalogue;
extern const std::span<const Algorithm> kAllgathervCatalogue;
extern const std::span<const Algorithm> kReduceScatterCatalogue;
extern const std::span<const Algorithm> kReduceScattervCatalogue;
extern const std::span<const Algorithm> kAlltoallCatalogue;
extern const std::span<const Algorithm> kAlltoallvCatalogue;
extern const std::span<const Algorithm> kBarrierCatalogue;
extern const std::span<const Algorithm> kScanCatalogue;
extern const std::span<const Algorithm> kExscanCatalogue;

// Used by other algorithms and other backends.
Task<Outcome> bcast_linear(AlgorithmCall call);
Task<Outcome> bcast_down_binomial(AlgorithmCall call);
Task<Outcome> bcast_down_chain(AlgorithmCall call, std::size_t segment);
Task<Outcome> reduce_up_chain(AlgorithmCall call, std::size_t segment);
Task<Outcome> reduce_up_binomial(AlgorithmCall call, std::size_t segment);
Task<Outcome> reduce_linear(AlgorithmCall call);
Task<Outcome> gather_linear(AlgorithmCall call);
Task<Outcome> allreduce_recursive_doubling(AlgorithmCall call);
Task<Outcome> alltoall_pairwise(Team& team, const LocalCosts& costs, CollectiveBuffers buffers);

// Open MPI's component "libnbc", its carrier of nonblocking collectives.
Task<Outcome> run_of_libnbc(AlgorithmCall call);
Task<Outcome> bcast_of_libnbc(AlgorithmCall call);
Task<Outcome> reduce_of_libnbc(AlgorithmCall call);

// Open MPI's component "han": hierarchical by nodes.
Task<Outcome> bcast_han(AlgorithmCall call);
Task<Outcome> reduce_han(AlgorithmCall call);
Task<Outcome> allreduce_han(AlgorithmCall call);
Task<Outcome> gather_han(AlgorithmCall call);
Task<Outcome> scatter_han(AlgorithmCall call);
Task<Outcome> allgather_han(AlgorithmCall call);
Task<Outcome> barrier_han(AlgorithmCall call);

// Hierarchical by nodes, without segments, as in other libraries.
Task<Outcome> bcast_by_nodes(AlgorithmCall call);
Task<Outcome> reduce_by_nodes(AlgorithmCall call);
Task<Outcome> allreduce_by_nodes(AlgorithmCall call);

}  // namespace offramp::host
