// What a message's stamp means in each of its forms stands with the flags below; nothing else knows it. An
// end that asks its backend about the other end's resources gives it idle ones (idle_): only its own units
// remember what they have served. A stage that wants to be called again later (Passage::again) is called
// again at once, in to_its_end(), since no events come between.
#include "lib/live_clock/live_messages.hpp"

#include <algorithm>

namespace offramp {
namespace {

// Stamp of a message whose data leaves without the receiver: when the data is at its device; and how long
// before that the device granted the request, if there was one. Stamp of a rendezvous: when the sender's
// device began, when the data leaves if the receiver is ready, and how long after the beginning the request
// is there. Its reply: when the data leaves, when the send is complete, and how long after the beginning the
// receiver answered.
constexpr std::uint64_t kRendezvous = std::uint64_t{1} << 62;
constexpr std::uint64_t kLocal = std::uint64_t{1} << 61;
constexpr std::uint64_t kGranted = std::uint64_t{1} << 60;
constexpr std::uint64_t kConfirmed = std::uint64_t{1} << 59;
constexpr std::uint64_t kSpanMask = kConfirmed - 1;
constexpr std::uint64_t kReasonMask = 0xff;

std::uint64_t span(Time begin, Time end) {
  return std::min(static_cast<std::uint64_t>(later(end - begin, {}).count()), kSpanMask);
}
Time span_of(const Stamp& stamp) {
  return Time::ps(static_cast<std::int64_t>(stamp.detail & kSpanMask));
}
/// Of a message that has failed for a reason, that takes the place of the span.
std::uint64_t failure(const Passage& passage, std::uint64_t span) {
  if (!passage.failed) return span;
  return Stamp::kFailed | (passage.reason != 0 ? passage.reason : span);
}

/// Serves what a stamp says. Stamps come from other processes: whatever they hold, times stay within 64 bits.
Arbiter::Grant serve(Arbiter& unit, Time from, Time to) {
  constexpr Time kEnd = Time::ps(std::int64_t{1} << 60);  // 13 days: no run comes so far
  const Time held = earlier(later(to - from, {}), kEnd);
  if (from > kEnd || unit.free_at() > kEnd) return {from, from + held};
  return unit.acquire(from, held);
}

/// A wire of its own between the two ports.
void cross(Passage& passage) {
  passage.first = passage.leaves + passage.latency;
  passage.last = passage.left + passage.latency;
}

}  // namespace

LiveMessages::LiveMessages(Backend& backend)
    : backend_(backend),
      resources_(backend.resources()),
      late_(resources_.size()),
      sender_hold_(held(resources_, Occupation::kBySender)),
      receiver_hold_(held(resources_, Occupation::kByReceiver)),
      idle_(resources_.size()) {}

Departure LiveMessages::depart(const Transfer& transfer, Time issued, Units& units) {
  Passage passage;
  passage.issued = issued;
  backend_.issue(transfer, passage);
  if (transfer.source == transfer.destination) return depart_local(transfer, passage);
  if (sender_hold_ != kNoResource) passage.begin = later(passage.begin, units[sender_hold_].free_at());
  const Resources own = units.view(resources_);
  to_its_end(passage, [&] { backend_.depart(transfer, passage, own); });
  Departure departure;
  departure.host_free = passage.host_free;
  departure.complete = passage.complete;
  if (!passage.asks()) {
    cross(passage);
    departure.handshake = passage.protocol == Protocol::kConfirmed;
    departure.stamp = {passage.first, passage.last,
                       failure(passage, 0) | (departure.handshake ? kConfirmed : 0)};
  } else {
    passage.granted = passage.requested;
    idle_.clear();
    to_its_end(passage, [&] { backend_.answer(transfer, passage, idle_.view(resources_)); });
    to_its_end(passage, [&] { backend_.transmit(transfer, passage, own); });
    cross(passage);
    if (passage.protocol == Protocol::kRendezvous) {
      departure.handshake = departure.complete < Time();
      departure.stamp = {passage.begin, passage.leaves,
                         failure(passage, span(passage.begin, passage.requested)) | kRendezvous};
    } else {
      departure.complete = passage.complete;
      departure.stamp = {passage.first, passage.last,
                         failure(passage, span(passage.granted, passage.first)) | kGranted};
    }
    if (!departure.handshake) backend_.count(transfer, passage);
  }
  if (sender_hold_ != kNoResource)
    units[sender_hold_].acquire(passage.begin, passage.free_at() - passage.begin);
  return departure;
}

Departure LiveMessages::depart_local(const Transfer& transfer, Passage& passage) const {
  Departure departure;
  departure.host_free = passage.host_free;
  departure.complete = passage.host_free + backend_.copy_time(transfer.bytes);
  departure.handshake = transfer.synchronous;
  departure.stamp = {passage.host_free, departure.complete, kLocal};
  return departure;
}

void LiveMessages::resume(const Transfer& transfer, const Stamp& departure, Time posted, Passage& passage) {
  passage.protocol = Protocol::kRendezvous;
  passage.failed = departure.failed();
  passage.posted = posted;
  passage.begin = departure.first;
  passage.requested = departure.first + span_of(departure);
  passage.granted = later(passage.requested, posted);
  idle_.clear();
  to_its_end(passage, [&] { backend_.answer(transfer, passage, idle_.view(resources_)); });
  // What the sender's port has to serve before is known to the sender alone.
  passage.answered = later(passage.answered, departure.last);
  idle_.clear();
  to_its_end(passage, [&] { backend_.transmit(transfer, passage, idle_.view(resources_)); });
  cross(passage);
}

Stamp LiveMessages::match(const Transfer& transfer, const Stamp& departure, Time posted) {
  if ((departure.detail & kLocal) != 0) return {posted, later(departure.last, posted), 0};
  Passage passage;
  if ((departure.detail & kConfirmed) != 0) {
    passage.protocol = Protocol::kConfirmed;
    passage.posted = posted;
    passage.first = departure.first;
    passage.last = departure.last;
    backend_.confirm(transfer, passage);
    return {passage.complete, passage.complete, departure.detail & (Stamp::kFailed | kReasonMask)};
  }
  resume(transfer, departure, posted, passage);
  backend_.count(transfer, passage);
  return {passage.leaves, passage.complete, failure(passage, span(passage.begin, passage.granted))};
}

Time LiveMessages::receive(const Transfer& transfer, const Stamp& departure, Time posted, Time now,
                           Units& units) {
  Passage passage;
  const Time there = later(posted, now);
  if ((departure.detail & kLocal) != 0)
    return backend_.receive(transfer, passage, later(departure.last, there), Matched::kPosted);
  if ((departure.detail & kRendezvous) != 0) {
    resume(transfer, departure, posted, passage);
  } else {
    passage.failed = departure.failed();
    passage.posted = posted;
    passage.first = departure.first;
    passage.last = departure.last;
    if ((departure.detail & kGranted) != 0) {
      passage.protocol = Protocol::kGranted;
      passage.granted = later(departure.first - span_of(departure), {});
    }
  }
  to_its_end(passage, [&] { backend_.arrive(transfer, passage, units.view(resources_)); });
  if (receiver_hold_ != kNoResource && passage.asks()) {
    const Arbiter::Grant held = serve(units[receiver_hold_], passage.granted, passage.last);
    passage.stored = later(passage.stored, held.end);
  }
  const Matched matched = passage.came_before(posted) ? Matched::kUnexpected : Matched::kPosted;
  return backend_.receive(transfer, passage, later(passage.stored, there), matched);
}

Time LiveMessages::complete_send(const Stamp& departure, const Stamp& reply, Units& units) {
  if ((departure.detail & (kLocal | kConfirmed)) != 0) return reply.last;
  const Arbiter::Grant data = serve(units[late_], reply.first, reply.last);
  return later(reply.last, data.end);
}

}  // namespace offramp
