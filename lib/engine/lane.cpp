#include "lib/engine/lane.hpp"

#include <algorithm>

namespace offramp {

Lane::Lane(std::vector<Member> members, std::uint8_t primary, std::vector<RouteRule> rules,
           std::size_t functions)
    : members_(std::move(members)), primary_(primary), rules_(std::move(rules)) {
  counters.calls.resize(functions);
}

std::uint8_t Lane::route_of(const Operation& operation) const {
  return offramp::route_of(rules_, operation, primary_);
}

Lane::Choice Lane::choose(const Operation& operation) {
  const std::uint8_t chosen = route_of(operation);
  if (chosen == kHost) return {kHost, false};
  const Verdict verdict = members_[chosen].backend->supports(operation);
  if (verdict.yes()) return {chosen, false};
  declines_.count(counters, operation.kind, verdict.reason);
  return {kHost, true};
}

WireCounters Lane::wire() const {
  WireCounters sum;
  for (const Member& member : members_) sum += member.backend->wire();
  return sum;
}

}  // namespace offramp
