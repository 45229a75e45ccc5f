// Determines the members of a trace's communicators from the calls with which each rank made them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "offramp/kernel/result.hpp"

namespace offramp::trace {

/// World ranks in the order of the communicator. Shared by all members.
using Members = std::shared_ptr<const std::vector<int>>;

/// A rank's name for a communicator.
struct CommunicatorName {
  std::uint64_t handle = 0;
  /// Used if the trace contains these instead of the handle of a new communicator; otherwise negative.
  int rank = -1;
  int size = -1;
};

/// A call that makes a communicator or a group.
struct Making {
  /// Local calls make groups, and need no other rank.
  enum class Method : std::uint8_t {
    kDuplicate,  // MPI_Comm_dup, MPI_Graph_create
    kSplit,      // MPI_Comm_split: color, key
    kCreate,     // MPI_Comm_create: from a group
    kGrid,       // MPI_Cart_create: numbers are its sides
    kSubgrid,    // MPI_Cart_sub: numbers are nonzero for remaining sides
    // Local calls:
    kGroup,    // MPI_Comm_group
    kInclude,  // MPI_Group_incl: numbers are ranks of the group
    kExclude,  // MPI_Group_excl: numbers are ranks of the group
  };
  Method kind = Method::kDuplicate;
  CommunicatorName from;
  std::uint64_t group = 0;            // from which it is made
  std::optional<std::uint64_t> made;  // handle of the new communicator or group, if the trace contains it
  std::int64_t color = 0;             // negative: no communicator for this rank
  std::int64_t key = 0;
  std::vector<std::int64_t> numbers;
  std::string where;  // for messages
};

/// The result of a call that makes a communicator, at one rank.
struct MadeCommunicator {
  Members members;       // null: this rank is no member
  std::uint64_t id = 0;  // equal on all members, unique otherwise
};

/// The communicators of one rank so far, numbered as in recording::Event.
class RankCommunicators {
 public:
  /// Begins with world and self.
  RankCommunicators(int rank, int ranks) : rank_(rank), ranks_(ranks) {}
  /// Adds the next communicator that the rank has made. No effect if it is no member.
  void add(const Making& making, const MadeCommunicator& made);
  /// `nullopt` if no communicator has this name. If the trace has no handles, the name is given to the first
  /// unnamed communicator with this rank and size.
  std::optional<std::uint32_t> find(const CommunicatorName& name);
  /// number: of a made communicator.
  [[nodiscard]] const Members& members(std::uint32_t number) const { return made_[number - kFirst].members; }
  /// The number of its members, for all communicators.
  [[nodiscard]] std::size_t size(std::uint32_t number) const;
  /// The id that all members share. Predefined communicators have their number.
  [[nodiscard]] std::uint64_t id(std::uint32_t number) const {
    return number < kFirst ? number : made_[number - kFirst].id;
  }

  /// The number of the first communicator that the rank makes.
  static constexpr std::uint32_t kFirst = 2;

 private:
  /// Gives a name without a handle to the first communicator that fits.
  std::optional<std::uint32_t> claim(const CommunicatorName& name);

  int rank_;
  int ranks_;
  std::vector<MadeCommunicator> made_;
  /// By the index in made_: whether a name has been given to it.
  std::vector<bool> named_;
  std::map<std::uint64_t, std::uint32_t> numbers_;  // by handle
  bool has_world_ = false;
};

/// Returns, per rank, the results of its calls that make communicators, in order. Fails if not all members
/// make the same communicator, or if one is unknown.
Result<std::vector<std::vector<MadeCommunicator>>> resolve_communicators(
    const std::vector<std::vector<Making>>& makings);

}  // namespace offramp::trace
