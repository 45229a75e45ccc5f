// Reconstructs the sizes of collectives. An archive contains the sums of the bytes that each rank sent and
// received; the arguments of the call follow from those of all members.
//
// Sums are computed as in Score-P, see traffic_of(): they include a rank's own part, except with
// MPI_IN_PLACE.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/programs/import/otf2_calls.hpp"

namespace offramp::otf2 {

/// One rank's arguments of a collective, as in MPI.
struct CollectiveCall {
  OperationKind operation = OperationKind::kCount;
  int root = 0;
  std::uint64_t bytes = 0;  // Operation::bytes, if blocks do not differ
  // One per member if blocks differ: sent or received by this rank; for reductions, of all ranks.
  std::vector<std::uint64_t> sent = {};
  std::vector<std::uint64_t> received = {};
};

/// Needs two passes over the archive: add() for all ranks, then next() for each. Memory grows with the number
/// of collectives, not with ranks, unless blocks differ.
class Collectives {
 public:
  explicit Collectives(std::shared_ptr<const Definitions> definitions)
      : definitions_(std::move(definitions)) {}

  /// Adds the rank's next collective on the item's communicator. Fails if it does not match other ranks'
  /// calls.
  Result<void> add(int rank, const Item& item);
  /// Iterates over a rank's collectives after all ranks have been added, separately for each communicator.
  class OfRank {
   public:
    /// all: must outlive this object.
    OfRank(const Collectives& all, int rank) : all_(all), rank_(rank) {}
    /// The arguments of the rank's next collective on the item's communicator.
    CollectiveCall next(const Item& item);

   private:
    const Collectives& all_;
    int rank_;
    // Collectives so far, by communicator.
    std::unordered_map<std::uint32_t, std::size_t> done_;
  };

  /// True for collectives whose blocks differ per pair of ranks but are only known as sums.
  [[nodiscard]] bool has_pairs() const { return has_pairs_; }
  /// True if some collective reduces: its type and operator are not in the archive.
  [[nodiscard]] bool has_reductions() const { return has_reductions_; }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;
  /// What is known of one collective, in bytes. The maxima are over all members.
  struct Sums {
    OperationKind operation = OperationKind::kCount;
    int root = 0;
    std::uint64_t most_sent = 0;
    std::uint64_t most_received = 0;
    std::uint64_t first_sent = 0;  // by the member with rank 0
    std::uint64_t first_received = 0;
    std::size_t sent = kNone;  // offset of all members' values, if blocks differ
    std::size_t received = kNone;
  };
  /// The collectives of one communicator, in the order that all its members share.
  struct OfCommunicator {
    std::vector<Sums> calls;
    std::unordered_map<int, std::size_t> done;  // by rank
  };

  /// The rank within the communicator.
  [[nodiscard]] int position(int rank, const Communicator& communicator) const;
  /// Adds one member's sums.
  void count(Sums& sums, int position, const Item& item);
  /// The call of one member, after all members' sums are known.
  [[nodiscard]] CollectiveCall settled(const Sums& sums, int position, std::size_t size) const;
  /// One value per member.
  [[nodiscard]] std::vector<std::uint64_t> parts(const Sums& sums, std::size_t size) const;
  /// One value per member, from this offset.
  [[nodiscard]] std::span<const std::uint64_t> values(std::size_t first, std::size_t size) const;

  std::shared_ptr<const Definitions> definitions_;
  std::unordered_map<std::uint32_t, OfCommunicator> by_communicator_;
  /// Values of all collectives with different blocks, one after the other: one allocation rather than
  /// millions.
  std::vector<std::uint64_t> values_;
  bool has_pairs_ = false;
  bool has_reductions_ = false;
};

}  // namespace offramp::otf2
