// Rounds are not stored: next() counts events and rounds, and the pattern computes event number N.
// Communicators come before the first round. A wait lists its requests by distance, the oldest first.
#include "lib/programs/import/pattern_rounds.hpp"

#include <cmath>

#include "lib/programs/import/made_events.hpp"

namespace offramp {

using recording::Event;
using recording::EventKind;
using trace::number_of;

Event pattern_message(EventKind kind, int peer, std::uint64_t bytes, bool blocking, int tag) {
  using enum trace::MpiFunction;
  const auto call = kind == EventKind::kSend ? (blocking ? kSend : kIsend) : (blocking ? kRecv : kIrecv);
  return {.kind = kind,
          .flags = static_cast<std::uint8_t>(blocking ? recording::kBlocking : 0),
          .call = number_of(call),
          .peer = peer,
          .tag = tag,
          .bytes = bytes};
}

int side_of_grid(int ranks, int dimensions) {
  // The root of a power may be computed as slightly less than a whole number.
  int side = static_cast<int>(std::lround(std::floor(std::pow(ranks, 1.0 / dimensions) + 1e-9)));
  // At the latest, 1 divides it.
  while (ranks % side != 0) --side;
  return side;
}

bool PatternRounds::next(Event& given) {
  if (made_ < communicators_.size()) {
    given = communicators_[made_++];
    return true;
  }
  if (at_ == count()) {
    at_ = 0;
    ++round_;
  }
  // Some ranks have no events in a pattern.
  if (round_ == pattern_.rounds || count() == 0) return false;
  given = event(at_++, round_);
  return true;
}

std::string_view PatternRounds::call(std::uint16_t number) const {
  return trace::name_of_call(number);
}

Event PatternRounds::wait_for(std::size_t requests) {
  std::vector<std::uint64_t> distances(requests);
  // A distance of 1 is the newest request.
  for (std::size_t i = 0; i < requests; ++i) distances[i] = requests - i;
  return {.kind = EventKind::kWait,
          .call = number_of(trace::MpiFunction::kWaitall),
          .list = intern(std::move(distances))};
}

std::uint32_t PatternRounds::communicator(std::vector<std::uint64_t> members, std::uint64_t id) {
  communicators_.push_back({.kind = EventKind::kCommunicator,
                            .call = number_of(trace::MpiFunction::kSplit),
                            .list = intern(std::move(members)),
                            .extra = id});
  // Numbers are given in the order of creation, as in recordings.
  return static_cast<std::uint32_t>(recording::kFirstMade + communicators_.size() - 1);
}

std::uint32_t PatternRounds::intern(std::vector<std::uint64_t> values) {
  lists_.push_back(std::move(values));
  return static_cast<std::uint32_t>(lists_.size());
}

Event PatternRounds::collective(OperationKind operation, bool blocking, std::uint32_t on) const {
  Event event = trace::collective_of_bytes(operation, bytes());
  event.kind = EventKind::kCollective;
  event.flags = blocking ? recording::kBlocking : 0;
  event.communicator = on;
  event.call = trace::call_of(operation, blocking);
  return event;
}

}  // namespace offramp
