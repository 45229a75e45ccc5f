// A plan results from one simulation of the two ends, separated by kLongAgo: a receiver that calls long after
// the arrival yields `late`, one that called long before it yields `waiting`.
#include "backends/cclo/plans.hpp"

#include <vector>

namespace offramp::cclo {
namespace {

/// Longer than the effects of any call.
constexpr Time kLongAgo = Time::ms(1000000);

}  // namespace

void Plans::send_into(Plan& plan, const SendResult& sent) const {
  plan.complete = sent.complete;
  plan.first = sent.segments.front().first;
  // Segments may arrive out of order after a retransmission.
  plan.last = {};
  for (const Stamp& segment : sent.segments) plan.last = later(plan.last, segment.last);
  plan.segments = sent.segments.size();
  plan.error = sent.error;
  plan.wire = sent.wire;
  if (plan.segments > spec_.rx_buffers) plan.overflow = sent.segments[spec_.rx_buffers].first - spec_.latency;
}

void Plans::occupy(Plan& plan, std::uint64_t bytes) const {
  for (std::uint64_t i = 0; i < plan.segments; ++i) {
    const PacketCut packets = cut(spec_.segment_bytes(bytes, i));
    if (i == 0) {
      const std::uint64_t first = packets.full > 0 ? packets.full_bytes : packets.last_bytes;
      plan.departs =
          later(plan.first - spec_.latency - spec_.link_time(first) - spec_.engine_time(first), {});
    }
    plan.engine += spec_.engine_time(packets);
    plan.link += spec_.link_time(packets);
    plan.port += spec_.port_time(packets, spec_.segment_bytes(bytes, i), false);
  }
}

Plan Plans::compute(std::uint64_t bytes) {
  Plan plan;
  const SendResult sent = runner_.send(bytes, {});
  send_into(plan, sent);
  occupy(plan, bytes);
  const Time call = plan.last + kLongAgo;
  plan.late = runner_.receive(bytes, call, sent.segments).complete - call;
  std::vector<Stamp> far = sent.segments;
  // A copy of the message, much later than the receive.
  for (Stamp& segment : far) {
    segment.first += kLongAgo;
    segment.last += kLongAgo;
  }
  plan.waiting = runner_.receive(bytes, {}, far).complete - (plan.first + kLongAgo);
  return plan;
}

Plans::Write Plans::write(std::uint64_t bytes, const MessageRunner::Rendezvous& plan) const {
  const PacketCut packets = cut(bytes);
  const std::uint64_t first = packets.full > 0 ? packets.full_bytes : packets.last_bytes;
  return {spec_.engine_time(packets), spec_.link_time(packets),
          later(plan.first - spec_.latency - spec_.link_time(first) - spec_.engine_time(first), {})};
}

Plan Plans::eager(std::uint64_t bytes, const PacketFaults& packet_faults) {
  Plan plan = eager(bytes);
  send_into(plan, runner_.send(bytes, {}, packet_faults));
  return plan;
}

}  // namespace offramp::cclo
