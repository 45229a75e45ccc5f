// The sizes of collectives. Each rank of an archive has the sum of what it sent and of what it received; what
// the call said of its blocks follows from those of all members together.
//
// Sums are as Score-P makes them, see traffic_of(): they count a rank's own part, too, but where one buffer
// is both (MPI_IN_PLACE).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/programs/import/otf2_calls.hpp"

namespace offramp::otf2 {

/// One call of one rank, as MPI has it.
struct CollectiveCall {
  OperationKind operation = OperationKind::kCount;
  int root = 0;
  std::uint64_t bytes = 0;  // Operation::bytes, where blocks do not differ
  // One for each member, where they differ; in what this rank sends, or receives, or of a reduction all.
  std::vector<std::uint64_t> sent = {};
  std::vector<std::uint64_t> received = {};
};

class Collectives {
 public:
  explicit Collectives(std::shared_ptr<const Definitions> definitions)
      : definitions_(std::move(definitions)) {}

  /// The next one of a rank on the item's communicator. Fails if it does not fit to what other ranks do.
  Result<void> add(int rank, const Item& item);
  /// After all ranks have been added. Counts on from the rank's first one for each communicator.
  class OfRank {
   public:
    OfRank(const Collectives& all, int rank) : all_(all), rank_(rank) {}
    CollectiveCall next(const Item& item);

   private:
    const Collectives& all_;
    int rank_;
    std::unordered_map<std::uint32_t, std::size_t> done_;
  };

  /// Blocks differ in one of them, and a sum for each pair of ranks is all that is known.
  [[nodiscard]] bool has_pairs() const { return has_pairs_; }
  [[nodiscard]] bool has_reductions() const { return has_reductions_; }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;
  struct Sums {
    OperationKind operation = OperationKind::kCount;
    int root = 0;
    std::uint64_t most_sent = 0;
    std::uint64_t most_received = 0;
    std::uint64_t first_sent = 0;  // by the member with rank 0
    std::uint64_t first_received = 0;
    std::size_t sent = kNone;  // where those of all members begin, where blocks differ
    std::size_t received = kNone;
  };
  struct OfCommunicator {
    std::vector<Sums> calls;
    std::unordered_map<int, std::size_t> done;  // by rank
  };

  [[nodiscard]] int position(int rank, const Communicator& communicator) const;
  void count(Sums& sums, int position, const Item& item);
  [[nodiscard]] CollectiveCall settled(const Sums& sums, int position, std::size_t size) const;
  [[nodiscard]] std::vector<std::uint64_t> parts(const Sums& sums, std::size_t size) const;
  [[nodiscard]] std::span<const std::uint64_t> values(std::size_t first, std::size_t size) const;

  std::shared_ptr<const Definitions> definitions_;
  std::unordered_map<std::uint32_t, OfCommunicator> by_communicator_;
  std::vector<std::uint64_t> values_;
  bool has_pairs_ = false;
  bool has_reductions_ = false;
};

}  // namespace offramp::otf2
