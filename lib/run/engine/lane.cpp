// An accepted operation is remembered twice: the last one, which choose() compares inline, and in a small
// table by hash. After a decline the backend is asked again, and the decline is counted with its reason.
#include "lib/run/engine/lane.hpp"

namespace offramp {

Lane::Lane(std::vector<Member> members, std::uint8_t primary, std::vector<RouteRule> rules,
           std::size_t functions)
    : members_(std::move(members)), primary_(primary), rules_(std::move(rules)) {
  counters.calls.resize(functions);
}

Lane::Choice Lane::query_backend(std::uint8_t chosen, const Operation& operation) {
  // Operations with equal hashes replace each other, which costs a question only.
  Operation& accepted = accepted_[hash_of(operation) % kAccepted];
  if (accepted != operation) {
    const Verdict verdict = members_[chosen].backend->supports(operation);
    if (!verdict.yes()) {
      count_decline(operation.kind, verdict.reason);
      return {kHost, verdict.reason};
    }
    accepted = operation;
  }
  last_ = operation;
  return {chosen};
}

}  // namespace offramp
