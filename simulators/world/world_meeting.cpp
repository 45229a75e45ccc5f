// Meetings of a communicator's members: clock synchronisation and creation of communicators.
#include <algorithm>
#include <cassert>
#include <tuple>

#include "simulators/world/members.hpp"
#include "simulators/world/world_rank.hpp"

namespace offramp::world {

void Core::synchronize(const Communicator& communicator, std::uint32_t number, Meeting& meeting) {
  const auto place = std::pair(communicator.context(), number);
  std::vector<Meeting*>& here = meetings_[place];
  here.push_back(&meeting);
  if (static_cast<int>(here.size()) < communicator.size()) return;
  std::vector<Meeting*> members = std::move(here);
  meetings_.erase(place);
  // MPI's order: color, key, rank.
  std::sort(members.begin(), members.end(), [](const Meeting* a, const Meeting* b) {
    return std::tuple(a->color, a->key, a->rank_in_group) < std::tuple(b->color, b->key, b->rank_in_group);
  });
  Time latest;
  Time shortest = members.front()->lasts;
  for (const Meeting* member : members) {
    latest = later(latest, member->entered);
    shortest = std::min(shortest, member->lasts);
  }
  for (auto first = members.begin(); first != members.end();) {
    const auto last = std::find_if(first, members.end(),
                                   [&](const Meeting* other) { return other->color != (*first)->color; });
    if ((*first)->color >= 0) make_communicator({first, last});
    first = last;
  }
  if (options_.log != nullptr) note_meeting(members, latest);
  for (Meeting* const member : members) {
    const Time end = latest + shortest;
    done(*member, member->works ? later(end, member->entered + member->lasts) : end);
  }
}

void Core::note_meeting(std::span<Meeting* const> members, Time latest) const {
  const auto last = std::find_if(members.begin(), members.end(),
                                 [&](const Meeting* member) { return member->entered == latest; });
  const int source = (*last)->rank->number();
  for (Meeting* const member : members) {
    member->posted = latest;
    if (member->entered < latest) options_.log->waited(member->rank->number(), {latest, latest, 0, source});
  }
}

Communicator Core::join(std::span<const int> members, std::uint64_t id, int rank,
                        const Communicator* parent) {
  std::shared_ptr<const Communicator::Group>& named = named_[id];
  if (named == nullptr) {
    auto group = std::make_shared<Communicator::Group>();
    group->context = 2 * ++contexts_;
    group->setup = parent != nullptr ? parent->group_->setup : group->context;
    group->size = static_cast<int>(members.size());
    group->members.assign(members.begin(), members.end());
    named = std::move(group);
  }
  assert(std::equal(members.begin(), members.end(), named->members.begin(), named->members.end()));
  Communicator joined;
  joined.group_ = named;
  joined.local_ = std::make_shared<Communicator::Local>();
  joined.rank_ = static_cast<int>(place_in(members, rank));
  return joined;
}

void Core::make_communicator(std::span<Meeting* const> members) {
  auto group = std::make_shared<Communicator::Group>();
  group->context = group->setup = 2 * ++contexts_;
  group->size = static_cast<int>(members.size());
  for (const Meeting* member : members) group->members.push_back(member->rank->number());
  for (std::size_t i = 0; i < members.size(); ++i) {
    Communicator& made = members[i]->made.emplace();
    made.group_ = group;
    made.local_ = std::make_shared<Communicator::Local>();
    made.rank_ = static_cast<int>(i);
  }
}

}  // namespace offramp::world
