// Every change returns CacheActions with the messages to send. The state of a group covers one incarnation.
// Adds for the next incarnation that arrive during revocation are deferred (Waiting). When the last rank has
// left, check_revoked() replays them through the normal functions. Messages of past incarnations are dropped.
#include "simulators/dpu_protocol/endpoint_cache.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace offramp::dpu {

GroupUid group_uid(std::uint32_t communicator, std::span<const int> world_ranks) {
  GroupUid hash = 5381;  // djb2 over the bytes of all numbers
  const auto mix = [&hash](std::uint32_t value) {
    for (int byte = 0; byte < 4; ++byte, value >>= 8U) hash = hash * 33U ^ (value & 0xffU);
  };
  mix(world_ranks.empty() ? 0U : static_cast<std::uint32_t>(world_ranks.front()));
  mix(communicator);
  for (const int rank : world_ranks) mix(static_cast<std::uint32_t>(rank));
  return hash;
}

std::vector<int> EndpointCache::own_ranks(const GroupDescription& group) const {
  std::vector<int> own;
  for (std::size_t i = 0; i < group.world_ranks.size(); ++i) {
    if (placement_.global_id(group.world_ranks[i]) == process_) own.push_back(static_cast<int>(i));
  }
  return own;
}

EndpointCache::Group* EndpointCache::open(const GroupDescription& group, std::span<const int> ranks, bool own,
                                          CacheActions& actions, const std::optional<CacheEntry>& entry) {
  const auto [place, fresh] = groups_.try_emplace(group.uid);
  Group& known = place->second;
  if (fresh) {
    known.description = group;
    known.entries.resize(group.world_ranks.size());
    known.own = own_ranks(group);
    known.revoked.resize(group.world_ranks.size());
  }
  if (group.incarnation == known.description.incarnation &&
      group.world_ranks == known.description.world_ranks)
    return &known;
  // A late message of a past incarnation, or another group with the same hash.
  actions.refused = group.incarnation <= known.description.incarnation ||
                    group.world_ranks != known.description.world_ranks;
  if (!actions.refused) known.waiting.push_back({group, {ranks.begin(), ranks.end()}, own, entry});
  return nullptr;
}

bool EndpointCache::enter(Group& group, int rank) {
  if (rank < 0 || static_cast<std::size_t>(rank) >= group.entries.size()) return false;
  const int world = group.description.world_ranks[static_cast<std::size_t>(rank)];
  return enter(group, rank, {world, placement_.global_id(world), placement_.node(world)});
}

bool EndpointCache::enter(Group& group, int rank, const CacheEntry& entry) {
  if (rank < 0 || static_cast<std::size_t>(rank) >= group.entries.size() || entry.world_rank < 0)
    return false;
  CacheEntry& known = group.entries[static_cast<std::size_t>(rank)];
  // A second entry for a rank is refused, whatever it contains.
  if (known.world_rank >= 0) return false;
  known = entry;
  ++group.known;
  return true;
}

CacheActions EndpointCache::add_entry(const GroupDescription& group, int rank, const CacheEntry& entry) {
  CacheActions actions;
  Group* const known = open(group, std::span(&rank, 1), false, actions, entry);
  if (known == nullptr) return actions;
  actions.refused = !enter(*known, rank, entry);
  if (!actions.refused) check_populated(*known, actions);
  return actions;
}

CacheActions EndpointCache::revoke_entry(GroupUid uid, std::uint32_t incarnation, int rank) {
  CacheActions actions;
  Group* const group = in_use(uid, incarnation);
  actions.refused = group == nullptr || !leave(*group, rank);
  if (!actions.refused) check_revoked(uid, actions);
  return actions;
}

bool EndpointCache::forget(GroupUid uid) {
  return groups_.erase(uid) == 1;
}

void EndpointCache::check_populated(const Group& group, CacheActions& actions) const {
  actions.populated = group.known == static_cast<int>(group.entries.size());
}

CacheActions EndpointCache::add_rank(const GroupDescription& group, int rank) {
  CacheActions actions;
  Group* const known = open(group, std::span(&rank, 1), true, actions);
  if (known == nullptr) return actions;
  const std::vector<int>& own = known->own;
  if (!std::binary_search(own.begin(), own.end(), rank) || !enter(*known, rank)) {
    actions.refused = true;
    return actions;
  }
  if (++known->own_known == static_cast<int>(own.size())) {
    // One message per run of consecutive ranks to each other service process.
    int runs = 0;
    for (std::size_t i = 0; i < own.size(); ++i) runs += i == 0 || own[i] != own[i - 1] + 1 ? 1 : 0;
    actions.entries_to_processes = runs * (processes_ - 1);
  }
  check_populated(*known, actions);
  return actions;
}

CacheActions EndpointCache::add_entries(const GroupDescription& group, std::span<const int> ranks) {
  CacheActions actions;
  Group* const known = open(group, ranks, false, actions);
  if (known == nullptr) return actions;
  // The other entries of the message remain, since each entry counts on its own.
  for (const int rank : ranks) actions.refused = !enter(*known, rank) || actions.refused;
  check_populated(*known, actions);
  return actions;
}

EndpointCache::Group* EndpointCache::in_use(GroupUid uid, std::uint32_t incarnation) {
  const auto found = groups_.find(uid);
  const bool right = found != groups_.end() && found->second.description.incarnation == incarnation;
  return right ? &found->second : nullptr;
}

bool EndpointCache::leave(Group& group, int rank) {
  const auto place = static_cast<std::size_t>(rank);
  if (rank < 0 || place >= group.revoked.size() || group.revoked[place]) return false;
  group.revoked[place] = true;
  ++group.all_revoked;
  return true;
}

/// Removes a group that all ranks have left, and replays the adds deferred for its successor.
void EndpointCache::check_revoked(GroupUid uid, CacheActions& actions) {
  const auto found = groups_.find(uid);
  if (found->second.all_revoked < static_cast<int>(found->second.entries.size())) return;
  actions.revoked = true;
  std::vector<Waiting> waiting = std::move(found->second.waiting);
  // First, since the replay creates the group again with the same uid.
  groups_.erase(found);
  replay(waiting, actions);
}

void EndpointCache::replay(const std::vector<Waiting>& waiting, CacheActions& actions) {
  for (const Waiting& message : waiting) {
    CacheActions more;
    if (message.entry) {
      more = add_entry(message.group, message.ranks.front(), *message.entry);
    } else if (message.own) {
      for (const int rank : message.ranks) more = add_rank(message.group, rank);
    } else {
      more = add_entries(message.group, message.ranks);
    }
    actions.entries_to_processes += more.entries_to_processes;
    actions.populated = actions.populated || more.populated;
  }
}

const EndpointCache::Group* EndpointCache::find(GroupUid uid) const {
  const auto found = groups_.find(uid);
  return found == groups_.end() ? nullptr : &found->second;
}

const CacheEntry* EndpointCache::entry(GroupUid uid, int rank) const {
  const Group* const group = find(uid);
  if (group == nullptr || rank < 0 || static_cast<std::size_t>(rank) >= group->entries.size()) return nullptr;
  const CacheEntry& found = group->entries[static_cast<std::size_t>(rank)];
  // Entries exist for all ranks of a group and are filled one by one.
  return found.world_rank < 0 ? nullptr : &found;
}

bool EndpointCache::populated(GroupUid uid) const {
  const Group* const group = find(uid);
  return group != nullptr && group->known == static_cast<int>(group->entries.size());
}

int EndpointCache::process_of(GroupUid uid, int rank) const {
  const CacheEntry* const found = entry(uid, rank);
  return found == nullptr ? -1 : found->process;
}

int EndpointCache::node_of(GroupUid uid, int rank) const {
  const CacheEntry* const found = entry(uid, rank);
  return found == nullptr ? -1 : found->node;
}

bool EndpointCache::on_same_process(GroupUid uid, int a, int b) const {
  return process_of(uid, a) >= 0 && process_of(uid, a) == process_of(uid, b);
}

bool EndpointCache::on_same_node(GroupUid uid, int a, int b) const {
  return node_of(uid, a) >= 0 && node_of(uid, a) == node_of(uid, b);
}

std::vector<int> EndpointCache::processes_of_group(GroupUid uid) const {
  const Group* const group = find(uid);
  // A set, which orders them. An incomplete group has no processes yet.
  std::set<int> processes;
  if (group != nullptr && populated(uid))
    for (const CacheEntry& each : group->entries) processes.insert(each.process);
  return {processes.begin(), processes.end()};
}

std::vector<int> EndpointCache::nodes_of_group(GroupUid uid) const {
  const Group* const group = find(uid);
  std::set<int> nodes;
  if (group != nullptr && populated(uid))
    for (const CacheEntry& each : group->entries) nodes.insert(each.node);
  return {nodes.begin(), nodes.end()};
}

std::vector<int> EndpointCache::ranks_of_process(GroupUid uid, int process) const {
  const Group* const group = find(uid);
  std::vector<int> ranks;
  for (int i = 0; group != nullptr && i < static_cast<int>(group->entries.size()); ++i) {
    if (process_of(uid, i) == process) ranks.push_back(i);
  }
  return ranks;
}

std::vector<int> EndpointCache::ranks_on_node(GroupUid uid, int node) const {
  const Group* const group = find(uid);
  std::vector<int> ranks;
  for (int i = 0; group != nullptr && i < static_cast<int>(group->entries.size()); ++i) {
    if (node_of(uid, i) == node) ranks.push_back(i);
  }
  return ranks;
}

const GroupDescription* EndpointCache::description(GroupUid uid) const {
  const Group* const group = find(uid);
  return group == nullptr ? nullptr : &group->description;
}

std::optional<std::uint32_t> EndpointCache::incarnation(GroupUid uid) const {
  const Group* const group = find(uid);
  return group == nullptr ? std::nullopt : std::optional(group->description.incarnation);
}

}  // namespace offramp::dpu
