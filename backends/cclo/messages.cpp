// Point-to-point messages: the four questions of the live clock, answered by plans (plans.hpp) and by what of
// the engine other calls use.
#include <algorithm>
#include <utility>
#include <vector>

#include "backends/cclo/backend.hpp"

namespace offramp::cclo {
namespace {

// Stamp::detail of a departure: how the message travels. The low bits hold the error of a failed one.
constexpr std::uint64_t kLocal = std::uint64_t{1} << 61;
constexpr std::uint64_t kRendezvous = std::uint64_t{1} << 60;
constexpr std::uint64_t kSynchronous = std::uint64_t{1} << 59;

constexpr std::uint64_t kBuffered = 64 * 1024;  // sends up to here never wait for their receive

std::uint64_t failure_detail(Error error) {
  return error == Error::kNone ? 0 : Stamp::kFailed | static_cast<std::uint64_t>(error);
}

}  // namespace

Departure CcloBackend::depart(const Transfer& transfer, Time issued, Units& units) {
  const std::uint32_t communicator = communicator_with(transfer.destination, issued);
  Departure departure;
  const bool local = transfer.source == transfer.destination;
  const Plans::Rates rates = plans_.rates(transfer.bytes);
  const Time staged = local ? issued : stage_in(units[index_of(Unit::kPcieDown)], issued, rates.pcie);
  departure.host_free = staged + driver_.start_cost();
  departure.handshake = transfer.synchronous;
  if (local) return depart_local(transfer, departure, units);
  observe_host(transfer, "copy to card", issued, staged);
  const bool rendezvous = is_rendezvous(spec_, Scenario::kSend, transfer.bytes);
  call(Scenario::kSend, transfer, transfer.destination, communicator);
  if (rendezvous) return depart_rendezvous(transfer, departure, units);
  Fate fate = fate_of(transfer, later(departure.host_free, units[kSendCalls].free_at()));
  Plan own;
  if (faults_.any()) own = plans_.eager(transfer.bytes, fate);
  const Plan& plan = faults_.any() ? own : plans_.eager(transfer.bytes);
  const Time begin = units[kSendCalls].acquire(departure.host_free, plan.complete).begin;
  departure.complete = begin + plan.complete + driver_.finish_cost();
  const Time read = spec_.host_memory ? share(units[index_of(Unit::kPcieDown)], begin, rates.pcie)
                                      : share(units[index_of(Unit::kMemory)], begin, rates.memory);
  Time wait = later(read - (begin + plan.complete), {});
  wait += wait_for_engine(begin + wait + plan.departs, plan, units);
  departure.stamp = {begin + plan.first + wait, begin + plan.last + wait, failure_detail(plan.error)};
  if (transfer.synchronous) departure.stamp.detail |= kSynchronous;
  if (waits_for_buffers(transfer, plan)) departure.handshake = true;
  wire_ += plan.wire;
  if (observed()) {
    fate.epoch = {};  // the same once more, at its place in time
    (void)plans_.runner().send(transfer.bytes, begin, fate, watch(transfer));
  }
  return departure;
}

Stamp CcloBackend::match(const Transfer& transfer, const Stamp& departure, Time posted) {
  const std::uint64_t failed = departure.detail & (Stamp::kFailed | kErrorMask);
  if ((departure.detail & kLocal) != 0) return {posted, later(departure.last, posted), 0};
  if ((departure.detail & kRendezvous) != 0) {
    const MessageRunner::Rendezvous& plan = plans_.rendezvous(transfer.bytes);
    const Time go = later(departure.first, posted + driver_.start_cost() + plan.announce);
    return {go, go + plan.complete + (departure.last - departure.first), kRendezvous | failed};
  }
  const Plan& plan = plans_.eager(transfer.bytes);
  const Time begin = departure.first - plan.first;
  const Time shift = back_pressure(transfer, departure, posted);
  // What of the message is still to go then, and when it has gone: nothing, when buffers took all of it.
  const Time complete = begin + plan.complete + shift;
  Stamp reply{waits_for_buffers(transfer, plan) ? begin + plan.overflow + shift : complete, complete, failed};
  if ((departure.detail & kSynchronous) != 0) {
    // The engine does not acknowledge a match: the receiver's driver answers with an empty message. Waiting
    // for it takes no unit.
    const Plan& answer = plans_.eager(0);
    const Time matched = later(posted, departure.first) + driver_.start_cost();
    const Time wait = later(matched + answer.first + answer.waiting - reply.last, {});
    reply.first += wait;
    reply.last += wait;
  }
  return reply;
}

Time CcloBackend::receive(const Transfer& transfer, const Stamp& departure, Time posted, Units&) {
  if ((departure.detail & kLocal) != 0) return later(departure.last, posted) + driver_.finish_cost();
  if (departure.failed()) return later(departure.last, posted) + spec_.timeout + driver_.finish_cost();
  Time begin = posted + driver_.start_cost();
  const std::uint32_t communicator = communicator_with(transfer.source, begin);
  const bool rendezvous = (departure.detail & kRendezvous) != 0;
  call(Scenario::kReceive, transfer, transfer.source, communicator);
  if (rendezvous) {
    const MessageRunner::Rendezvous& plan = plans_.rendezvous(transfer.bytes);
    const Time go = later(departure.first, begin + plan.announce);
    if (observed()) observe_landing(transfer, departure, begin, go + plan.first, go + plan.last);
    if (tap_ != nullptr && transfer.bytes <= kBuffered && !transfer.synchronous) {
      // The sender has learnt of nothing.
      Watch packets = watch(transfer);
      packets.spans = nullptr;
      plans_.runner().watch_write(transfer.bytes, go, fate_of(transfer, {}), packets);
    }
    const Time repairs = departure.last - departure.first;
    const Time landed = land(transfer.bytes, plans_.write_port(transfer.bytes), go + plan.first + repairs);
    const Time shift = later(landed - (go + plan.last + repairs), {});
    return stage_out(transfer, go + plan.received + repairs + shift + driver_.finish_cost());
  }
  const Plan& plan = plans_.eager(transfer.bytes);
  // Repetitions of lost packets, and the wait for buffers.
  Time shift = later((departure.last - departure.first) - (plan.last - plan.first), {});
  shift += back_pressure(transfer, departure, posted);
  shift += later(land(transfer.bytes, plan.port, departure.first) - departure.last, {});
  Time done = later(begin + plan.late, departure.first + shift + plan.waiting);
  done = receive_calls_.acquire(done - plan.late, plan.late).end;
  if (begin > departure.last) done += wait_in_buffers(transfer, plan, departure.first, done);
  if (spans_ != nullptr) observe_receive(transfer, plan, departure, begin);
  return stage_out(transfer, done + driver_.finish_cost());
}

Time CcloBackend::complete_send(const Transfer& transfer, const Stamp& reply, Units& units) {
  // What waited for receivers shares the engine like the rest: one after the other.
  const Time late = units[kLateSends].acquire(reply.first, reply.last - reply.first).end;
  if (observed() && (reply.detail & kRendezvous) != 0) {
    const Time begin = reply.first + later(late - reply.last, {});
    plans_.runner().watch_write(transfer.bytes, begin, fate_of(transfer, {}), watch(transfer));
  }
  return later(reply.last, late) + driver_.finish_cost();
}

std::uint32_t CcloBackend::communicator_with(int peer, Time& clock) {
  const Driver::Placed placed =
      driver_.place(world_fits_ ? static_cast<std::uint32_t>(ranks_) : 2U, static_cast<std::uint32_t>(rank_),
                    world_fits_ ? 0U : static_cast<std::uint32_t>(peer) + 1U);
  clock += placed.cost;
  return placed.address;
}

void CcloBackend::call(Scenario scenario, const Transfer& transfer, int peer, std::uint32_t address) {
  driver_.message(scenario,
                  call_words(spec_.generation, scenario, transfer.bytes, static_cast<std::uint32_t>(peer),
                             address, 0, static_cast<std::uint32_t>(transfer.tag)),
                  spec_, world_fits_ ? static_cast<std::uint32_t>(peer) : 1U);
}

Fate CcloBackend::fate_of(const Transfer& transfer, Time epoch) const {
  return {faults_, transfer.source, transfer.destination, std::uint64_t{transfer.number} << 34, epoch};
}

Time CcloBackend::stage_out(const Transfer& transfer, Time at) {
  if (transfer.bytes == 0) return at;
  const Time duration = plans_.rates(transfer.bytes).pcie;
  if (spec_.host_memory) return later(at, pcie_up_.acquire(later(at - duration, {}), duration).end);
  if (!configuration_.host.staged) return at;
  const Time end = pcie_up_.acquire(at, duration).end + spec_.pcie_latency;
  observe_host(transfer, "copy from card", at, end);
  return end;
}

Departure CcloBackend::depart_local(const Transfer& transfer, Departure departure, Units& units) {
  const Time copy = plans_.runner().copy(transfer.bytes);
  const Time done = units[kSendCalls].acquire(departure.host_free, copy).end;
  departure.complete = done + driver_.finish_cost();
  departure.stamp = {departure.host_free, done, kLocal};
  return departure;
}

Departure CcloBackend::depart_rendezvous(const Transfer& transfer, Departure departure, Units& units) {
  const MessageRunner::Rendezvous& plan = plans_.rendezvous(transfer.bytes);
  const Time ready = units[kSendCalls].acquire(departure.host_free, plan.complete).begin + plan.ready;
  Time repairs;
  Error error = Error::kNone;
  WireCounters wire = plan.wire;
  if (faults_.any()) {
    const MessageRunner::Rendezvous faulty =
        plans_.runner().rendezvous(transfer.bytes, fate_of(transfer, ready - plan.ready));
    repairs = later(faulty.last - plan.last, {});
    error = faulty.error;
    wire = faulty.wire;
  }
  wire_ += wire;
  const bool buffered = transfer.bytes <= kBuffered && !transfer.synchronous;
  departure.handshake = !buffered;
  if (buffered) {  // in the card's memory until the receiver announces an address
    const Time copied = configuration_.host.staged ? Time() : plans_.runner().copy(transfer.bytes);
    departure.complete = ready + copied + driver_.finish_cost();
    observe_host(transfer, "copy to buffer", ready, ready + copied);
  }
  departure.stamp = {ready, ready + repairs, kRendezvous | failure_detail(error)};
  return departure;
}

bool CcloBackend::waits_for_buffers(const Transfer& transfer, const Plan& plan) const {
  return plan.segments > spec_.rx_buffers && transfer.bytes > kBuffered;
}

Time CcloBackend::back_pressure(const Transfer& transfer, const Stamp& departure, Time posted) {
  if (spec_.segments(transfer.bytes) <= spec_.rx_buffers || transfer.bytes <= kBuffered) return {};
  const Plan segment = plans_.eager(spec_.rx_buffer_bytes);
  const Plan& plan = plans_.eager(transfer.bytes);
  const Time begin = departure.first - plan.first;
  const Time claimed = later(posted + driver_.start_cost() + segment.late, departure.first + segment.waiting);
  return later(claimed + spec_.latency - (begin + plan.overflow), {});
}

Time CcloBackend::wait_for_engine(Time at, const Plan& plan, Units& units) const {
  const auto unit = [&units](Unit which) -> Arbiter& { return units[index_of(which)]; };
  const Time on_link = unit(Unit::kEngine).acquire(at, plan.engine).begin;
  return unit(Unit::kLinkOut).acquire(on_link, plan.link).begin - at;
}

Time CcloBackend::land(std::uint64_t bytes, Time duration, Time first) {
  const Time begin = first - plans_.rates(bytes).first_packet;
  return link_in_.acquire(later(begin, {}), duration).end;
}

Time CcloBackend::wait_in_buffers(const Transfer& transfer, const Plan& plan, Time first, Time done) {
  const std::uint64_t segments = plan.segments;
  const std::uint64_t wanted = std::min<std::uint64_t>(segments, spec_.rx_buffers);
  std::uint64_t taken = 0;
  for (const Waiting& other : waiting_) {
    if (other.first <= first && first < other.done) taken += other.buffers;
  }
  const std::uint64_t got =
      std::min(wanted, spec_.rx_buffers - std::min<std::uint64_t>(taken, spec_.rx_buffers));
  if (waiting_.size() == kMostWaiting) waiting_.pop_front();
  waiting_.push_back({first, done, got});
  const std::uint64_t displaced = (waits_for_buffers(transfer, plan) ? wanted : segments) - got;
  if (displaced == 0) return {};
  const std::uint64_t bytes = transfer.bytes / segments * displaced;
  return spec_.pcie_latency * 2 + spec_.pcie_time(bytes);
}

Watch CcloBackend::watch(const Transfer& transfer) const {
  return {spans_, transfer.operation, tap_.get(), static_cast<std::uint32_t>(transfer.tag), transfer.data};
}

void CcloBackend::observe_host(const Transfer& transfer, std::string_view what, Time begin, Time end) const {
  if (spans_ != nullptr && end > begin) spans_->record({"pcie", what, begin, end, transfer.operation});
}

void CcloBackend::observe_receive(const Transfer& transfer, const Plan& plan, const Stamp& departure,
                                  Time begin) {
  const Watch tag{nullptr, 0, nullptr, static_cast<std::uint32_t>(transfer.tag)};
  std::vector<Stamp> segments =
      plans_.runner().send(transfer.bytes, departure.first - plan.first, {}, tag).segments;
  (void)plans_.runner().receive(transfer.bytes, begin, segments, watch(transfer));
}

void CcloBackend::observe_landing(const Transfer& transfer, const Stamp& departure, Time begin, Time first,
                                  Time last) {
  const Fate fate = fate_of(transfer, {});  // all clocks show modelled time here
  const Time repairs = departure.last - departure.first;
  plans_.runner().watch_announcement(begin, fate, watch(transfer));
  plans_.runner().watch_landing(transfer.bytes, first + repairs, last + repairs, fate, watch(transfer));
}

}  // namespace offramp::cclo
