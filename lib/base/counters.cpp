// DeclineCounter::count() runs for each declined operation. It remembers the last entry and compares the
// addresses of the reasons: only another reason needs two strings and a search.
#include "lib/base/counters.hpp"

namespace offramp {

CallCounter& CallCounter::operator+=(const CallCounter& other) {
  add_fields(*this, other, kCallFields);
  modelled += other.modelled;
  unmodelled += other.unmodelled;
  outside += other.outside;
  bytes_outside += other.bytes_outside;
  return *this;
}

Counters& Counters::operator+=(const Counters& other) {
  if (calls.size() < other.calls.size()) calls.resize(other.calls.size());
  for (std::size_t i = 0; i < other.calls.size(); ++i) calls[i] += other.calls[i];
  for (const auto& [what, number] : other.declines) declines[what] += number;
  for (std::size_t i = 0; i < dependences.size(); ++i) dependences[i] += other.dependences[i];
  given_up += other.given_up;
  times += other.times;
  return *this;
}

void DeclineCounter::count(Counters& counters, OperationKind kind, std::string_view reason) {
  // Reasons are literals, so equal addresses mean equal texts.
  if (last_count_ == nullptr || reason.data() != last_reason_.data() ||
      reason.size() != last_reason_.size() || kind != last_kind_) {
    last_count_ = &counters.declines[{std::string(to_string(kind)), std::string(reason)}];
    last_reason_ = reason;
    last_kind_ = kind;
  }
  ++*last_count_;
}

}  // namespace offramp
