// Who is in the communicators of a trace, where it says how each rank made them and not who is in them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "offramp/kernel/result.hpp"

namespace offramp::trace {

/// Ranks of the world, in the order of the communicator. Shared by all of them.
using Members = std::shared_ptr<const std::vector<int>>;

/// What a rank calls a communicator.
struct CommunicatorName {
  std::uint64_t handle = 0;
  /// Where the trace says these instead of which handle a communicator got when it was made; else negative.
  int rank = -1;
  int size = -1;
};

/// A call that makes a communicator or a group.
struct Making {
  enum class Kind : std::uint8_t {
    kDuplicate,  // MPI_Comm_dup, MPI_Graph_create
    kSplit,      // MPI_Comm_split: color, key
    kCreate,     // MPI_Comm_create: from a group
    kGrid,       // MPI_Cart_create: numbers are its sides
    kSubgrid,    // MPI_Cart_sub: numbers are not 0 for the sides that remain
    // By one rank alone:
    kGroup,    // MPI_Comm_group
    kInclude,  // MPI_Group_incl: numbers are ranks of the group
    kExclude,  // MPI_Group_excl: the same
  };
  Kind kind = Kind::kDuplicate;
  CommunicatorName from;
  std::uint64_t group = 0;            // that it is made from
  std::optional<std::uint64_t> made;  // handle of the new communicator or group, where the trace says it
  std::int64_t color = 0;             // negative: no communicator for this rank
  std::int64_t key = 0;
  std::vector<std::int64_t> numbers;
  std::string where;  // for messages

  [[nodiscard]] bool makes_group() const { return kind >= Kind::kGroup; }
};

struct MadeCommunicator {
  Members members;       // null: this rank is in none
  std::uint64_t id = 0;  // the same for all of them, and for no other communicator
};

/// The communicators that one rank has so far, numbered as recording::Event does.
class RankCommunicators {
 public:
  RankCommunicators(int rank, int ranks) : rank_(rank), ranks_(ranks) {}
  void add(const Making& making, const MadeCommunicator& made);
  /// Nothing: there is none of that name. Without handles in the trace the first one that has the rank and
  /// the size, and no name yet, gets it.
  std::optional<std::uint32_t> find(const CommunicatorName& name);
  /// Null: all ranks, or of recording::kSelf, this one.
  [[nodiscard]] const Members& members(std::uint32_t number) const { return made_[number - kFirst].members; }
  [[nodiscard]] std::size_t size(std::uint32_t number) const;
  [[nodiscard]] std::uint64_t id(std::uint32_t number) const {
    return number < kFirst ? number : made_[number - kFirst].id;
  }

  static constexpr std::uint32_t kFirst = 2;

 private:
  std::optional<std::uint32_t> claim(const CommunicatorName& name);

  int rank_;
  int ranks_;
  std::vector<MadeCommunicator> made_;
  std::vector<bool> named_;
  std::map<std::uint64_t, std::uint32_t> numbers_;  // by handle
  bool has_world_ = false;
};

/// For each rank what came of its makings that are no groups, in their order. An error: not all members of a
/// communicator make the same one, or one is not known.
Result<std::vector<std::vector<MadeCommunicator>>> settle(const std::vector<std::vector<Making>>& makings);

}  // namespace offramp::trace
