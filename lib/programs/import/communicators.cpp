// Runs the makings of all ranks like a simulation: a rank continues until it makes a communicator that other
// members have not reached. The n-th communicator made from one parent is the same for all its members, since
// MPI requires one order. Each constructor is a split by colour and key (place_of()), and the sides of grids
// are kept for MPI_Cart_sub.
#include "lib/programs/import/communicators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <numeric>

namespace offramp::trace {
namespace {

/// The index in the members, which is the rank in the communicator. -1 if it is no member.
std::int64_t position(const std::vector<int>& members, int rank) {
  const auto found = std::find(members.begin(), members.end(), rank);
  return found == members.end() ? -1 : found - members.begin();
}

/// Simulates all ranks: each continues until it makes a communicator that other members have not reached yet.
class CommunicatorResolver {
 public:
  explicit CommunicatorResolver(const std::vector<std::vector<Making>>& makings) : makings_(makings) {
    const auto ranks = static_cast<int>(makings.size());
    std::vector<int> all(makings.size());
    std::iota(all.begin(), all.end(), 0);
    world_ = std::make_shared<const std::vector<int>>(std::move(all));
    for (int rank = 0; rank < ranks; ++rank) {
      ranks_.push_back({RankCommunicators(rank, ranks), 0, {}, {}});
      runnable_.push_back(rank);
    }
    made_.resize(makings.size());
  }

  Result<std::vector<std::vector<MadeCommunicator>>> run() {
    while (problem_.empty() && !runnable_.empty()) {
      const int rank = runnable_.front();
      runnable_.pop_front();
      advance(rank);
    }
    for (std::size_t rank = 0; problem_.empty() && rank < makings_.size(); ++rank) {
      // A rank that has not come to its end waits for a meeting that never takes place.
      if (ranks_[rank].next < makings_[rank].size())
        problem_ = making_of(static_cast<int>(rank)).where +
                   ": not all ranks of its communicator create this one, or its parent is not known";
    }
    if (!problem_.empty()) return failure(problem_);
    return std::move(made_);
  }

 private:
  struct Rank {
    RankCommunicators communicators;
    std::size_t next;
    std::map<std::uint64_t, std::vector<int>> groups;
    std::map<std::uint64_t, std::uint32_t> made_from;  // number of communicators made from each
  };
  struct Meeting {
    std::vector<int> came;
    Members members;
  };

  Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  const Making& making_of(int rank) { return makings_[static_cast<std::size_t>(rank)][at(rank).next]; }

  void advance(int rank) {
    Rank& one = at(rank);
    while (problem_.empty() && one.next < makings_[static_cast<std::size_t>(rank)].size()) {
      const Making& making = making_of(rank);
      // Groups are local: they need no other rank.
      if (making.kind == Making::Method::kInclude || making.kind == Making::Method::kExclude) {
        choose(one, making);
        ++one.next;
        continue;
      }
      const auto number = one.communicators.find(making.from);
      if (!number) {
        problem_ = making.where + ": its parent communicator is not known";
        return;
      }
      Members members = members_of(rank, *number);
      if (making.kind == Making::Method::kGroup) {
        if (making.made) one.groups[*making.made] = *members;
        ++one.next;
        continue;
      }
      return arrive(rank, one.communicators.id(*number), std::move(members));
    }
  }

  Members members_of(int rank, std::uint32_t number) {
    if (number >= RankCommunicators::kFirst) return at(rank).communicators.members(number);
    return number == 0 ? world_ : std::make_shared<const std::vector<int>>(1, rank);
  }

  void choose(Rank& one, const Making& making) {
    const auto from = one.groups.find(making.group);
    // A group whose origin is unknown may never be used, so it is no error yet.
    if (from == one.groups.end() || !making.made) return;
    const std::vector<int> group = from->second;
    std::vector<bool> chosen(group.size(), false);
    std::vector<int> members;
    for (const std::int64_t number : making.numbers) {
      const auto index = static_cast<std::size_t>(number);
      if (number < 0 || index >= group.size()) {
        problem_ = fmt::format("{}: the group has no rank {}", making.where, number);
        return;
      }
      chosen[index] = true;
      if (making.kind == Making::Method::kInclude) members.push_back(group[index]);
    }
    for (std::size_t i = 0; making.kind == Making::Method::kExclude && i < group.size(); ++i) {
      if (!chosen[i]) members.push_back(group[i]);
    }
    one.groups[*making.made] = std::move(members);
  }

  void arrive(int rank, std::uint64_t id, Members members) {
    // Only this rank takes part in making a communicator from MPI_COMM_SELF.
    const std::uint64_t alone = id == 1 ? 2 * static_cast<std::uint64_t>(rank) + 1 : 2 * id;
    const std::pair key{alone, at(rank).made_from[id]++};
    Meeting& meeting = meetings_[key];
    meeting.came.push_back(rank);
    meeting.members = std::move(members);
    if (meeting.came.size() < meeting.members->size()) return;
    // Moved out first: make() lets the members go on to further meetings.
    const Meeting whole = std::move(meeting);
    meetings_.erase(key);
    make(whole, id);
  }

  void make(const Meeting& meeting, std::uint64_t from) {
    const std::vector<int>& members = *meeting.members;
    const Making& first = making_of(members.front());
    for (const int member : members) {
      if (making_of(member).kind != first.kind) {
        problem_ = fmt::format("{} and {} create different objects from one communicator", first.where,
                               making_of(member).where);
        return;
      }
    }
    check_grid(members);
    if (!problem_.empty()) return;
    // By color: members with key and rank in the parent.
    std::map<std::int64_t, std::vector<std::pair<std::int64_t, int>>> parts;
    for (const int member : members) {
      const auto [color, key] = place_of(making_of(member), meeting, member, from);
      if (color >= 0) parts[color].emplace_back(key, member);
    }
    if (!problem_.empty()) return;
    std::map<int, MadeCommunicator> made;
    for (auto& [color, part] : parts) {
      // MPI orders members with equal keys by their rank in the parent.
      std::stable_sort(part.begin(), part.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      std::vector<int> ranks;
      for (const auto& [key, member] : part) ranks.push_back(member);
      const MadeCommunicator one{std::make_shared<const std::vector<int>>(std::move(ranks)), next_id_++};
      if (const std::vector<std::int64_t> sides = sides_of(first, from); !sides.empty())
        grids_[one.id] = sides;
      for (const int member : *one.members) made[member] = one;
    }
    for (const int member : members) {
      const MadeCommunicator one = made[member];
      at(member).communicators.add(making_of(member), one);
      made_[static_cast<std::size_t>(member)].push_back(one);
      ++at(member).next;
      runnable_.push_back(member);
    }
  }

  /// Checks that all members make the same grid, within the number of ranks, and keep the same sides.
  void check_grid(const std::vector<int>& members) {
    const Making& first = making_of(members.front());
    const bool is_grid = first.kind == Making::Method::kGrid;
    if (!is_grid && first.kind != Making::Method::kSubgrid) return;
    for (const int member : members) {
      const Making& other = making_of(member);
      if (std::equal(other.numbers.begin(), other.numbers.end(), first.numbers.begin(), first.numbers.end(),
                     [&](std::int64_t a, std::int64_t b) { return is_grid ? a == b : (a != 0) == (b != 0); }))
        continue;
      problem_ = fmt::format("{}: {} [{}], but at {} [{}]", other.where,
                             is_grid ? "the sides of the grid are" : "what remains of the grid is",
                             fmt::join(other.numbers, ", "), first.where, fmt::join(first.numbers, ", "));
      return;
    }
    std::int64_t size = 1;
    for (const std::int64_t side : first.numbers) {
      if (is_grid && (side < 1 || __builtin_mul_overflow(size, side, &size) ||
                      size > static_cast<std::int64_t>(members.size()))) {
        problem_ = fmt::format("{}: no grid with the sides [{}] fits into {} ranks", first.where,
                               fmt::join(first.numbers, ", "), members.size());
        return;
      }
    }
  }

  /// Expresses each constructor as a split: the color and the key of a member.
  std::pair<std::int64_t, std::int64_t> place_of(const Making& making, const Meeting& meeting, int member,
                                                 std::uint64_t from) {
    const std::int64_t own = position(*meeting.members, member);
    switch (making.kind) {
      case Making::Method::kSplit:
        return {making.color, making.key};
      case Making::Method::kCreate: {
        const auto group = at(member).groups.find(making.group);
        if (group == at(member).groups.end()) {
          problem_ = making.where + ": its parent group is not known";
          return {-1, 0};
        }
        const std::int64_t place = position(group->second, member);
        return {place < 0 ? -1 : 0, place};
      }
      case Making::Method::kGrid: {
        const std::int64_t size = std::accumulate(making.numbers.begin(), making.numbers.end(),
                                                  std::int64_t{1}, std::multiplies<>());
        // Ranks beyond the grid get no communicator. A grid without sides has one place for all.
        return {own < size || making.numbers.empty() ? 0 : -1, own};
      }
      case Making::Method::kSubgrid:
        return {line_of(making, own, from), own};
      case Making::Method::kDuplicate:
      case Making::Method::kGroup:
      case Making::Method::kInclude:
      case Making::Method::kExclude:
        break;
    }
    return {0, own};
  }

  /// The index of the coordinates that a subgrid drops.
  std::int64_t line_of(const Making& making, std::int64_t rank, std::uint64_t from) {
    const auto grid = grids_.find(from);
    if (grid == grids_.end() || grid->second.size() != making.numbers.size()) {
      problem_ = making.where + ": the sides of the grid are not known";
      return -1;
    }
    const std::vector<std::int64_t>& sides = grid->second;
    std::int64_t line = 0;
    std::int64_t stride = 1;
    // The last coordinate varies fastest, as MPI orders the ranks of a grid.
    for (std::size_t i = sides.size(); i-- > 0; rank /= sides[i]) {
      if (making.numbers[i] != 0) continue;
      line += rank % sides[i] * stride;
      stride *= sides[i];
    }
    return line;
  }

  std::vector<std::int64_t> sides_of(const Making& making, std::uint64_t from) {
    if (making.kind == Making::Method::kGrid) return making.numbers;
    std::vector<std::int64_t> sides;
    if (const auto grid = grids_.find(from);
        making.kind == Making::Method::kDuplicate && grid != grids_.end())
      return grid->second;
    for (std::size_t i = 0; making.kind == Making::Method::kSubgrid && i < making.numbers.size(); ++i) {
      if (making.numbers[i] != 0) sides.push_back(grids_[from][i]);
    }
    return sides;
  }

  const std::vector<std::vector<Making>>& makings_;
  Members world_;
  std::vector<Rank> ranks_;
  std::deque<int> runnable_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, Meeting> meetings_;
  std::map<std::uint64_t, std::vector<std::int64_t>> grids_;  // sides, by id
  std::uint64_t next_id_ = RankCommunicators::kFirst;
  std::vector<std::vector<MadeCommunicator>> made_;
  std::string problem_;
};

}  // namespace

void RankCommunicators::add(const Making& making, const MadeCommunicator& made) {
  if (made.members == nullptr) return;
  made_.push_back(made);
  named_.push_back(making.made.has_value());
  if (making.made) numbers_[*making.made] = kFirst + static_cast<std::uint32_t>(made_.size() - 1);
}

std::size_t RankCommunicators::size(std::uint32_t number) const {
  if (number >= kFirst) return members(number)->size();
  return number == 0 ? static_cast<std::size_t>(ranks_) : 1;
}

std::optional<std::uint32_t> RankCommunicators::find(const CommunicatorName& name) {
  const auto known = numbers_.find(name.handle);
  // The trace has handles: a made one, or one of the predefined two.
  if (name.size < 0) {
    if (known != numbers_.end()) return known->second;
    return name.handle < kFirst ? std::optional(static_cast<std::uint32_t>(name.handle)) : std::nullopt;
  }
  const auto fits = [&](std::uint32_t number) {
    // The rank in all communicators is that of the file: some old traces always contain 0.
    const std::int64_t own = number >= kFirst ? position(*members(number), rank_) : name.rank;
    return size(number) == static_cast<std::size_t>(name.size) && own == name.rank;
  };
  if (known != numbers_.end() && fits(known->second)) return known->second;
  const std::optional<std::uint32_t> found = claim(name);
  if (found && !fits(*found)) return std::nullopt;
  if (found) numbers_[name.handle] = *found;
  return found;
}

std::optional<std::uint32_t> RankCommunicators::claim(const CommunicatorName& name) {
  // The first communicator of this size is MPI_COMM_WORLD: programs use it before they make others.
  if (!has_world_ && name.size == ranks_) {
    has_world_ = true;
    return 0;
  }
  for (std::size_t i = 0; i < made_.size(); ++i) {
    const std::vector<int>& members = *made_[i].members;
    if (named_[i] || members.size() != static_cast<std::size_t>(name.size) ||
        position(members, rank_) != name.rank)
      continue;
    named_[i] = true;
    return kFirst + static_cast<std::uint32_t>(i);
  }
  if (name.size == ranks_ && name.rank == rank_) return 0;  // under another handle, such as Fortran's
  return name.size == 1 ? std::optional(std::uint32_t{1}) : std::nullopt;
}

Result<std::vector<std::vector<MadeCommunicator>>> resolve_communicators(
    const std::vector<std::vector<Making>>& makings) {
  return CommunicatorResolver(makings).run();
}

}  // namespace offramp::trace
