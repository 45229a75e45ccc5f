#include "backends/cclo/plans.hpp"

#include <vector>

namespace offramp::cclo {
namespace {

/// Longer than anything that one call leaves behind.
constexpr Time kLongAgo = Time::ms(1000000);

}  // namespace

void Plans::send_into(Plan& plan, const SendResult& sent) const {
  plan.complete = sent.complete;
  plan.first = sent.segments.front().first;
  plan.last = {};
  for (const Stamp& segment : sent.segments) plan.last = later(plan.last, segment.last);
  plan.segments = sent.segments.size();
  plan.error = sent.error;
  plan.wire = sent.wire;
  if (plan.segments > spec_.rx_buffers) plan.overflow = sent.segments[spec_.rx_buffers].first - spec_.latency;
}

Plan Plans::compute(std::uint64_t bytes) {
  Plan plan;
  const SendResult sent = runner_.send(bytes, {});
  send_into(plan, sent);
  const Time call = plan.last + kLongAgo;
  plan.late = runner_.receive(bytes, call, sent.segments).complete - call;
  std::vector<Stamp> far = sent.segments;
  for (Stamp& segment : far) {
    segment.first += kLongAgo;
    segment.last += kLongAgo;
  }
  plan.waiting = runner_.receive(bytes, {}, far).complete - (plan.first + kLongAgo);
  return plan;
}

Plan Plans::eager(std::uint64_t bytes, const Fate& fate) {
  Plan plan = eager(bytes);
  send_into(plan, runner_.send(bytes, {}, fate));
  return plan;
}

}  // namespace offramp::cclo
