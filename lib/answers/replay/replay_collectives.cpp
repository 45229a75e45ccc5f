// Collectives, clock meetings, communicators, and phases of a replayed rank. Sizes, and the agreement among
// members, are checked before the world sees them. See replay_rank.cpp for the rest of ReplayThread.
#include <fmt/core.h>

#include <algorithm>

#include "lib/answers/replay/replay_rank.hpp"
#include "lib/programs/recording/all_ranks.hpp"
#include "simulators/world/members.hpp"

namespace offramp {

using recording::Event;
using recording::EventKind;

// --- collectives ---

/// Starts an operation of all members. Returns an empty request if it is refused.
RankRequest ReplayThread::start(std::uint64_t& bytes) {
  if (event_.kind == EventKind::kAccess) {
    bytes = event_.bytes + event_.extra;
    const Time before = rank_.clock();
    RankRequest request =
        rank_.access(*communicator_, event_.peer, static_cast<Access>(event_.tag),
                     static_cast<std::size_t>(event_.bytes), static_cast<std::size_t>(event_.extra));
    count_begun(begun(bytes), rank_.clock() - before);
    return request;
  }
  if (event_.kind == EventKind::kNeighbours) {
    if (!blocks_of(sent_blocks_, event_.list) || !blocks_of(received_blocks_, event_.second_list) ||
        !agree(std::nullopt))
      return {};
    for (const RankHandle::Block& block : sent_blocks_) bytes += block.bytes;
    if ((own_.sent += bytes) > kMostSent) {
      refuse(fmt::format("{} bytes exceed the largest message of the simulation", bytes));
      return {};
    }
    const Time before = rank_.clock();
    RankRequest request = rank_.neighbours(*communicator_, sent_blocks_, received_blocks_, is_nonblocking());
    count_begun(begun(bytes), rank_.clock() - before);
    return request;
  }
  if (event_.kind == EventKind::kMeet) {
    if (!agree(std::nullopt)) return {};
    const auto lasts = scaled(own_.replayed.native, reader_.times().native, run_.options.compute.native);
    // Operations on files keep each member busy; windows only synchronise.
    const bool works = run_.result.functions[event_.call].starts_with("MPI_File_");
    return lasts ? rank_.start_synchronize(*communicator_, *lasts, works) : RankRequest();
  }
  Operation operation;
  CollectiveSizes sizes;
  if (!collective(operation, sizes) || !agree(operation)) return {};
  bytes = operation.bytes;
  for (const std::size_t block : sizes.send_blocks) bytes += block;
  const Time before = rank_.clock();
  RankRequest request = rank_.start(*communicator_, operation, sizes, !begins_request(event_));
  count_begun(begun(bytes), rank_.clock() - before);
  return request;
}

bool ReplayThread::agree(const std::optional<Operation>& operation) {
  const std::uint32_t number = own_.communicators[event_.communicator].collectives++;
  if (communicator_->size() == 1) return true;
  const std::string otherwise = run_.disagreement(*communicator_, number, operation);
  return otherwise.empty() || refuse(otherwise);
}

/// Ranks and bytes in turn.
bool ReplayThread::blocks_of(std::vector<RankHandle::Block>& blocks, std::uint32_t list) {
  blocks.clear();
  const auto listed = reader_.list(list);
  if (listed.size() % 2 != 0) return refuse("a block of a neighbour has no size");
  for (std::size_t i = 0; i < listed.size(); i += 2) {
    if (listed[i] >= static_cast<std::uint64_t>(communicator_->size()))
      return refuse(fmt::format("rank {} is not one of {}", listed[i], communicator_->size()));
    if (listed[i + 1] > kMostBytes) return refuse("a block exceeds the largest message of the simulation");
    blocks.push_back({static_cast<int>(listed[i]), static_cast<std::size_t>(listed[i + 1])});
  }
  return true;
}

/// Reads one block per rank if there_are, and otherwise checks that the list is empty.
bool ReplayThread::blocks(std::vector<std::size_t>& sizes, std::uint32_t list, bool there_are) {
  const auto listed = reader_.list(list);
  const auto ranks = static_cast<std::size_t>(communicator_->size());
  if (listed.size() != (there_are ? ranks : 0))
    return refuse(fmt::format("{} blocks for {} ranks", listed.size(), ranks));
  sizes.assign(listed.begin(), listed.end());
  std::uint64_t sum = 0;
  const bool fit = std::all_of(listed.begin(), listed.end(), [&](std::uint64_t block) {
    // Checked before the sum, which could overflow.
    return block <= kMostBytes && (sum += block) <= kMostBytes;
  });
  return fit || refuse("its blocks exceed the largest message of the simulation");
}

bool ReplayThread::collective(Operation& operation, CollectiveSizes& sizes) {
  const int ranks = communicator_->size();
  operation.kind = event_.operation;
  if (operation.kind == OperationKind::kSend) return refuse("a send is not a collective");
  operation.element = event_.element;
  operation.function = event_.function;
  operation.commutative = !has(recording::kNotCommutative);
  operation.nonblocking = is_nonblocking();
  operation.ranks = ranks;
  if (reduces(operation.kind)) operation.elements = static_cast<std::size_t>(event_.extra);
  if (has_root(operation.kind)) operation.root = event_.peer;
  if (operation.root < 0 || operation.root >= ranks)
    return refuse(fmt::format("root {} is not one of {}", operation.root, ranks));
  // The world multiplies a block by the number of ranks.
  const std::uint64_t most =
      has_block_per_rank(operation.kind) ? kMostBytes / static_cast<std::uint64_t>(ranks) : kMostBytes;
  const bool varies = has_blocks_of_different_sizes(operation.kind);
  const bool counts_received = varies && !reduces(operation.kind);
  if (event_.bytes > most || (reduces(operation.kind) && event_.extra > kMostBytes) ||
      (counts_received && event_.extra > kMostBytes) || (own_.sent += event_.bytes) > kMostSent)
    return refuse(fmt::format("{} bytes exceed the largest message of the simulation", event_.bytes));
  if (!varies) {
    operation.bytes = static_cast<std::size_t>(event_.bytes);
    sizes = sizes_of(operation, communicator_->rank());
    sizes.in_place = sizes.in_place || has(recording::kInPlace);
    return true;
  }
  const bool at_root = communicator_->rank() == operation.root;
  const OperationSet sends_all = {OperationKind::kReduceScatterv, OperationKind::kAlltoallv};
  const OperationSet receives_all = {OperationKind::kAllgatherv, OperationKind::kAlltoallv};
  const bool has_send_blocks =
      sends_all.contains(operation.kind) || (operation.kind == OperationKind::kScatterv && at_root);
  const bool has_receive_blocks =
      receives_all.contains(operation.kind) || (operation.kind == OperationKind::kGatherv && at_root);
  if (!blocks(sizes.send_blocks, event_.list, has_send_blocks) ||
      !blocks(sizes.receive_blocks, event_.second_list, has_receive_blocks))
    return false;
  // As in MPI: one buffer if there are no blocks; the blocks of a reduction are parts of that buffer.
  if (!has_send_blocks || reduces(operation.kind)) sizes.send = static_cast<std::size_t>(event_.bytes);
  if (!has_receive_blocks) sizes.receive = static_cast<std::size_t>(event_.extra);
  if (operation.kind == OperationKind::kReduceScatterv)
    sizes.receive = sizes.send_blocks[static_cast<std::size_t>(communicator_->rank())];
  if (operation.kind == OperationKind::kGatherv) sizes.receive = 0;
  if (operation.kind == OperationKind::kScatterv) sizes.send = 0;
  sizes.in_place = has(recording::kInPlace);
  return true;
}

// --- communicators and phases ---

void ReplayThread::make_communicator() {
  const auto refuse_members = [this] {
    refuse("a communicator has to list each member once, including this rank");
  };
  const ReplayRun::Members* members = run_.last_members(reader_.list(event_.list), own_.job);
  if (members == nullptr) {
    to_.clear();
    for (const std::uint64_t rank : reader_.list(event_.list)) {
      if (rank >= static_cast<std::uint64_t>(own_.job.ranks))
        return (void)refuse(fmt::format("rank {} is not one of {}", rank, own_.job.ranks));
      to_.push_back(own_.job.first + static_cast<int>(rank));
    }
    from_ = to_;
    // Most lists are sorted, and sorting a million numbers is slow.
    if (!std::is_sorted(from_.begin(), from_.end())) std::sort(from_.begin(), from_.end());
    if (std::adjacent_find(from_.begin(), from_.end()) != from_.end()) return refuse_members();
    members = &run_.members_of(to_, own_.job, recording::is_all_ranks(reader_.list(event_.list)));
    // Release long lists: with one per rank, memory would grow with the square of the ranks.
    constexpr std::size_t kMostKept = 256;
    if (to_.size() > kMostKept) {
      std::vector<int>().swap(to_);
      std::vector<int>().swap(from_);
    }
  }
  if (place_in(members->first, rank_.rank()) == members->first.size()) return refuse_members();
  if (has(recording::kPersistent) && event_.communicator >= own_.communicators.size()) {
    refuse(fmt::format("communicator {} does not exist", event_.communicator));
    return;
  }
  // The members, the id, and their count identify a communicator on all members.
  const std::uint32_t number = run_.number_of(*members, event_.extra);
  const std::uint64_t id = std::uint64_t{own_.made[number]++} << 32 | number;
  // With threads, the place follows the recorded order rather than the present one.
  const std::size_t place = order_ != nullptr ? stream().dealt().made : own_.communicators.size();
  if (place >= own_.communicators.size()) own_.communicators.resize(place + 1);
  std::optional<Communicator> parent;
  if (has(recording::kPersistent)) parent = own_.communicators[event_.communicator].communicator;
  own_.communicators[place].communicator =
      rank_.communicator(members->first, id, parent ? &*parent : nullptr);
}

void ReplayThread::phase() {
  const std::int64_t level = event_.tag;
  end_phases(level > 0 ? level : -level);
  if (level > 0) {
    std::string name;
    for (const std::uint64_t letter : reader_.list(event_.list)) name += static_cast<char>(letter);
    own_.phases.push_back({level, run_.phase(level, name), rank_.clock()});
  }
  if (run_.options.observer == nullptr) return;
  run_.options.observer->phase(rank_.rank(),
                               own_.phases.empty() ? nullptr : &run_.result.phases[own_.phases.back().index]);
}

/// level 0: all levels.
void ReplayThread::end_phases(std::int64_t level) {
  std::erase_if(own_.phases, [&](const ReplayRank::Phase& open) {
    if (level != 0 && open.level != level) return false;
    ReplayPhase& phase = run_.result.phases[open.index];
    phase.per_rank[static_cast<std::size_t>(rank_.rank())] += rank_.clock() - open.begin;
    return true;
  });
}

}  // namespace offramp
