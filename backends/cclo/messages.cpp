// Stages of point-to-point messages. Plans (plans.hpp) provide their durations; other calls and messages add
// delays in the engine.
#include <algorithm>
#include <vector>

#include "backends/cclo/backend.hpp"

namespace offramp::cclo {

void CcloBackend::issue(const Transfer& transfer, Passage& passage) {
  RankEngine& own = engine(transfer.source);
  Time called = passage.issued;
  const std::uint32_t communicator = communicator_with(own, transfer.source, transfer.destination, called);
  // Messages of a rank to itself never enter the engine.
  const bool local = transfer.source == transfer.destination;
  const Time staged = local ? called : stage_in(own, called, plans_.rates(transfer.bytes).pcie);
  passage.host_free = passage.begin = staged + own.driver.start_cost();
  if (local) return;
  observe_host(transfer, transfer.source, "copy to card", called, staged);
  call(own, Scenario::kSend, transfer, transfer.destination, communicator);
  if (is_write(transfer)) {
    passage.protocol = Protocol::kRendezvous;
  } else if (transfer.synchronous || waits_for_receiver(transfer)) {
    // The sender's call ends when the receiver has room, or has matched.
    passage.protocol = Protocol::kConfirmed;
  }
}

void CcloBackend::depart(const Transfer& transfer, Passage& passage, const Resources& sender) {
  if (is_write(transfer)) return depart_write(transfer, passage, sender);
  Plan own;
  // Without faults, the plan is shared by all messages of the size.
  if (faults_.any())
    own =
        plans_.eager(transfer.bytes,
                     packet_faults_of(transfer, later(passage.begin, sender[kSendCalls].timeline.free_at())));
  const Plan& plan = faults_.any() ? own : plans_.eager(transfer.bytes);
  const Plans::Rates rates = plans_.rates(transfer.bytes);
  const Time begin = later(passage.begin, sender[kSendCalls].timeline.free_at());
  Time wait = wait_for_memory(sender, rates, begin, plan.complete);
  wait += wait_for_engine(sender, begin + wait + plan.departs, plan.engine, plan.link);
  passage.begin = begin;
  passage.latency = spec_.latency;
  passage.leaves = begin + wait + plan.first - rates.first_on_link - spec_.latency;
  passage.left = begin + wait + plan.last - spec_.latency;
  const Time complete = handed_over(begin + plan.complete, passage.left);
  // Calls of a rank follow one another.
  (void)sender.occupy(kSendCalls, begin, complete - begin);
  if (passage.protocol == Protocol::kDirect) passage.complete = complete + driver().finish_cost();
  fail(passage, plan.error);
  wire_ += plan.wire;
}

/// Both ends must be ready before the data leaves: the sender's call waits for the address.
void CcloBackend::depart_write(const Transfer& transfer, Passage& passage, const Resources& sender) {
  const MessageRunner::Rendezvous& plan = plans_.rendezvous(transfer.bytes);
  passage.begin = passage.requested = sender.occupy(kSendCalls, passage.begin, plan.ready).begin;
  if (faults_.any()) fail(passage, with_faults(transfer, passage).error);
  if (transfer.synchronous || waits_for_receiver(transfer)) return;
  // Buffered in the card's memory until the receiver announces an address.
  const Time ready = passage.begin + plan.ready;
  const Time copied = configuration_.host.staged ? Time() : plans_.copy(transfer.bytes);
  passage.complete = ready + copied + driver().finish_cost();
  observe_host(transfer, transfer.source, "copy to buffer", ready, ready + copied);
}

void CcloBackend::grant(const Transfer& transfer, Passage& passage) {
  passage.answered = passage.granted;
  if (passage.posted >= Time())
    passage.answered = later(
        passage.granted, passage.posted + driver().start_cost() + plans_.rendezvous(transfer.bytes).announce);
}

/// The path of the data starts in the sender's memory.
void CcloBackend::transmit(const Transfer& transfer, Passage& passage, const Resources& sender) {
  const MessageRunner::Rendezvous& plan = plans_.rendezvous(transfer.bytes);
  const Plans::Rates rates = plans_.rates(transfer.bytes);
  const Plans::Write write = plans_.write(transfer.bytes, plan);
  const Time ready = later(passage.begin + plan.ready, passage.answered);
  const Time go = later(ready, sender[kSendCalls].timeline.free_at());
  Time wait = wait_for_memory(sender, rates, go, plan.complete);
  wait += wait_for_engine(sender, go + wait + write.departs, write.engine, write.link);
  Time repairs;
  if (faults_.any()) repairs = later(with_faults(transfer, passage).last - plan.last, {});
  passage.latency = plan.first - rates.first_on_link;
  passage.leaves = go + wait;
  passage.left = go + wait + plan.last + repairs - passage.latency;
  const Time complete = handed_over(go + plan.complete, go + wait + plan.last - spec_.latency);
  (void)sender.occupy(kSendCalls, go, complete - go);
  passage.complete = complete + repairs + driver().finish_cost();
}

void CcloBackend::arrive(const Transfer& transfer, Passage& passage, const Resources& receiver) {
  // Messages of collectives are accounted for otherwise.
  if ((transfer.detail & kOfCall) != 0) return land(transfer, passage, receiver);
  const Plans::Rates rates = plans_.rates(transfer.bytes);
  const Time port =
      is_write(transfer) ? plans_.write_port(transfer.bytes) : plans_.eager(transfer.bytes).port;
  const Time on_port = passage.first + rates.first_on_link - rates.first_packet;
  const Time landed = receiver.occupy(index_of(Unit::kLinkIn), later(on_port, {}), port, transfer.bytes).end;
  passage.stored = later(landed, passage.last);
}

Time CcloBackend::receive(const Transfer& transfer, const Passage& passage, Time at, Matched /*matched*/) {
  if (transfer.source == transfer.destination) return at;
  // The receive waits for the timeout, as the firmware does.
  if (passage.failed)
    return later(at, later(passage.last, passage.posted) + spec_.timeout + driver().finish_cost());
  RankEngine& own = engine(transfer.destination);
  Time begin = passage.posted + own.driver.start_cost();
  const std::uint32_t communicator = communicator_with(own, transfer.destination, transfer.source, begin);
  call(own, Scenario::kReceive, transfer, transfer.source, communicator);
  const Time first = passage.first + plans_.rates(transfer.bytes).first_on_link;
  if (is_write(transfer)) {
    const MessageRunner::Rendezvous& plan = plans_.rendezvous(transfer.bytes);
    const Time done = passage.stored + (plan.received - plan.last) + own.driver.finish_cost();
    if (records()) observe_landing(transfer, passage, begin);
    return stage_out(own, transfer, done, at);
  }
  const Plan& plan = plans_.eager(transfer.bytes);
  // Delays by retransmissions and other traffic, and by waiting for buffers.
  const Time slower = later(passage.stored - first - (plan.last - plan.first), {});
  const Time shift = slower + back_pressure(transfer, first, passage.posted);
  // An early or a late receiver: see plans.hpp.
  Time done = later(begin + plan.late, first + shift + plan.waiting);
  // The call processes segments as they arrive; slow ones leave time for other calls.
  const Time works = later(begin, done - plan.late - slower);
  done = later(done, own.receive_calls.acquire(works, plan.late).end);
  if (begin > passage.last) done += wait_in_buffers(own, transfer, first, done);
  if (spans_ != nullptr) observe_receive(transfer, plan, first, begin);
  return stage_out(own, transfer, done + own.driver.finish_cost(), at);
}

void CcloBackend::confirm(const Transfer& transfer, Passage& passage) {
  const Time first = passage.first + plans_.rates(transfer.bytes).first_on_link;
  const Time shift = back_pressure(transfer, first, passage.posted);
  const Plan& plan = plans_.eager(transfer.bytes);
  passage.complete = first - plan.first + plan.complete + shift;
  if (transfer.synchronous) {
    // The engine does not acknowledge a match, so the receiver's driver answers with an empty message.
    const Plan& answer = plans_.eager(0);
    const Time matched = later(passage.posted, first) + driver().start_cost();
    passage.complete = later(passage.complete, matched + answer.first + answer.waiting);
  }
  passage.complete += driver().finish_cost();
}

/// Copies within the card.
Time CcloBackend::copy_time(std::size_t bytes) const {
  return plans_.copy(bytes) + driver().finish_cost();
}

void CcloBackend::count(const Transfer& transfer, const Passage& passage) {
  wire_ += faults_.any() ? with_faults(transfer, passage).wire : plans_.rendezvous(transfer.bytes).wire;
}

CcloBackend::RankEngine& CcloBackend::engine(int rank) {
  std::optional<RankEngine>& engine = engines_[rank];
  if (!engine) engine.emplace(configuration_, spec_, rank, ranks_, buses_[machine_.card(rank)]);
  return *engine;
}

std::uint32_t CcloBackend::communicator_with(RankEngine& engine, int rank, int peer, Time& clock) {
  const Driver::Placed placed = engine.driver.place(world_fits_ ? static_cast<std::uint32_t>(ranks_) : 2U,
                                                    static_cast<std::uint32_t>(rank),
                                                    world_fits_ ? 0U : static_cast<std::uint32_t>(peer) + 1U);
  clock += placed.cost;
  return placed.address;
}

void CcloBackend::call(RankEngine& engine, Scenario scenario, const Transfer& transfer, int peer,
                       std::uint32_t address) {
  engine.driver.message(
      scenario,
      call_words(spec_.generation, scenario, transfer.bytes, static_cast<std::uint32_t>(peer), address, 0,
                 static_cast<std::uint32_t>(transfer.tag)),
      spec_, world_fits_ ? static_cast<std::uint32_t>(peer) : 1U);
}

void CcloBackend::fail(Passage& passage, Error error) {
  if (error == Error::kNone) return;
  passage.failed = true;
  passage.reason = static_cast<std::uint8_t>(error);
}

PacketFaults CcloBackend::packet_faults_of(const Transfer& transfer, Time epoch) const {
  // Room for 2^34 packets per message.
  return {faults_, transfer.source, transfer.destination, std::uint64_t{transfer.number} << 34, epoch};
}

DeliveryFault CcloBackend::delivery_fault(const Transfer& transfer) {
  const Error error = is_write(transfer) ? with_faults(transfer, {}).error
                                         : plans_.eager(transfer.bytes, packet_faults_of(transfer, {})).error;
  return {error != Error::kNone, static_cast<std::uint8_t>(error)};
}

MessageRunner::Rendezvous CcloBackend::with_faults(const Transfer& transfer, const Passage& passage) {
  return plans_.runner().rendezvous(transfer.bytes, packet_faults_of(transfer, passage.begin));
}

Time CcloBackend::stage_out(RankEngine& engine, const Transfer& transfer, Time done, Time at) {
  const Time begin = later(done, at);
  if (transfer.bytes == 0) return begin;
  const Time duration = plans_.rates(transfer.bytes).pcie;
  if (spec_.host_memory)
    return later(begin, engine.bus.from_card.acquire(later(done - duration, {}), duration).end);
  if (!configuration_.host.staged) return begin;
  const Time end = engine.bus.from_card.acquire(begin, duration).end + spec_.pcie_latency;
  observe_host(transfer, transfer.destination, "copy from card", begin, end);
  return end;
}

Time CcloBackend::back_pressure(const Transfer& transfer, Time first, Time posted) {
  if (!waits_for_buffers(transfer)) return {};
  const Plan segment = plans_.eager(spec_.rx_buffer_bytes);
  const Plan& plan = plans_.eager(transfer.bytes);
  const Time begin = first - plan.first;
  // When the first buffer is free again.
  const Time claimed = later(posted + driver().start_cost() + segment.late, first + segment.waiting);
  return later(claimed + spec_.latency - (begin + plan.overflow), {});
}

Time CcloBackend::wait_for_memory(const Resources& sender, const Plans::Rates& rates, Time begin,
                                  Time complete) const {
  const bool host = spec_.host_memory;
  Arbiter& unit = sender[index_of(host ? Unit::kPcieDown : Unit::kMemory)].timeline;
  return later(share(unit, begin, host ? rates.pcie : rates.memory) - (begin + complete), {});
}

Time CcloBackend::wait_for_engine(const Resources& sender, Time at, Time engine, Time link) {
  const Time on_link = sender.occupy(index_of(Unit::kEngine), at, engine).begin;
  return sender.occupy(index_of(Unit::kLinkOut), on_link, link).begin - at;
}

Time CcloBackend::handed_over(Time call, Time left) const {
  return later(call, left - spec_.engine_time(spec_.transmit_buffer));
}

Time CcloBackend::wait_in_buffers(RankEngine& engine, const Transfer& transfer, Time first, Time done) {
  const std::uint64_t segments = spec_.segments(transfer.bytes);
  const std::uint64_t wanted = std::min<std::uint64_t>(segments, spec_.rx_buffers);
  std::uint64_t taken = 0;
  for (const RankEngine::Waiting& other : engine.waiting) {
    if (other.first <= first && first < other.done) taken += other.buffers;
  }
  const std::uint64_t got =
      std::min(wanted, spec_.rx_buffers - std::min<std::uint64_t>(taken, spec_.rx_buffers));
  if (engine.waiting.size() == RankEngine::kMostWaiting) engine.waiting.pop_front();
  engine.waiting.push_back({first, done, got});
  const std::uint64_t displaced = (waits_for_buffers(transfer) ? wanted : segments) - got;
  if (displaced == 0) return {};
  const std::uint64_t bytes = transfer.bytes / segments * displaced;
  // To host memory and back.
  return spec_.pcie_latency * 2 + spec_.pcie_time(bytes);
}

Watch CcloBackend::watch(const Transfer& transfer, int rank) const {
  return {spans_, transfer.operation, tap_.get(), static_cast<std::uint32_t>(transfer.tag), transfer.data,
          rank};
}

void CcloBackend::observe_host(const Transfer& transfer, int rank, std::string_view what, Time begin,
                               Time end) const {
  if (spans_ != nullptr && end > begin) spans_->record({"pcie", what, begin, end, transfer.operation, rank});
}

/// Repeats the call at its modelled time.
void CcloBackend::record_sender(const Transfer& transfer, const Passage& passage) {
  const PacketFaults packet_faults = packet_faults_of(transfer, {});  // all clocks are modelled time here
  const Watch seen = watch(transfer, transfer.source);
  if (is_write(transfer))
    return plans_.runner().watch_write(transfer.bytes, passage.leaves, packet_faults, seen);
  (void)plans_.runner().send(transfer.bytes, passage.begin, packet_faults, seen);
}

void CcloBackend::observe_receive(const Transfer& transfer, const Plan& plan, Time first, Time begin) {
  const Watch tag{nullptr, 0, nullptr, static_cast<std::uint32_t>(transfer.tag)};
  std::vector<Stamp> segments = plans_.runner().send(transfer.bytes, first - plan.first, {}, tag).segments;
  (void)plans_.runner().receive(transfer.bytes, begin, segments, watch(transfer, transfer.destination));
}

void CcloBackend::observe_landing(const Transfer& transfer, const Passage& passage, Time begin) {
  const PacketFaults packet_faults = packet_faults_of(transfer, {});
  const Watch seen = watch(transfer, transfer.destination);
  const Time first = passage.first + plans_.rates(transfer.bytes).first_on_link;
  // The receiver's packets come first: its call announces the address.
  plans_.runner().watch_announcement(begin, packet_faults, seen);
  plans_.runner().watch_landing(transfer.bytes, first, passage.last, packet_faults, seen);
}

}  // namespace offramp::cclo
