#include "tests/tinsel/flows.hpp"

#include <algorithm>
#include <bit>

namespace offramp::tinsel {
namespace {

constexpr int kMostWorkers = 32;                  // four cores of eight instructions in flight
constexpr std::uint32_t kCreditBit = 0x80000000;  // in a tag: a credit of the flow

}  // namespace

Flows::Flows(const Configuration& configuration, Events events)
    : configuration_(configuration),
      events_(std::move(events)),
      machine_(configuration.machine),
      ranks_(static_cast<std::size_t>(configuration.ranks)) {
  machine_.run_on(this);
}

Time Flows::latency(std::int64_t count) const {
  return machine_.spec().cycles(count * configuration_.software.pipeline);
}

Time Flows::interval(std::int64_t count) const {
  const int workers = std::clamp(configuration_.workers(), 1, kMostWorkers);
  return machine_.spec().cycles((count * configuration_.software.pipeline + workers - 1) / workers);
}

std::uint32_t Flows::send(int from, int to, std::uint64_t bytes, Time begin) {
  const auto id = static_cast<std::uint32_t>(flows_.size());
  Flow flow;
  flow.from = from;
  flow.to = to;
  flow.bytes = bytes;
  flow.fragments = fragments_of(bytes, true);
  flow.allowed = static_cast<std::uint64_t>(configuration_.software.window);
  flow.begin = begin;
  flows_.push_back(flow);
  ranks_[static_cast<std::size_t>(from)].flows.push_back(id);
  wake(from, begin);
  return id;
}

WireCounters Flows::wire() const {
  WireCounters wire = machine_.counters().link;
  wire.packets += on_chip_;
  wire.wire_bytes += on_chip_ * kMaximumFlits * kFlitBytes;
  return wire;
}

void Flows::inject(Time at, int from, int to, const MailboxMessage& message) {
  const ThreadLocation place = configuration_.place(from);
  if (place.board == configuration_.place(to).board) ++on_chip_;
  machine_.send(at, place, message);
}

/// The rank's sender checks its messages once more.
void Flows::wake(int rank, Time at) {
  Rank& r = ranks_[static_cast<std::size_t>(rank)];
  const Time wakes = later(later(at, r.source.free_at()), machine_.now());
  if (r.waiting && r.wakes <= wakes) return;  // a message that begins later does not delay credits
  r.waiting = true;
  r.wakes = wakes;
  machine_.set_timer(wakes, static_cast<std::uint64_t>(rank) << 1U | kSource);
}

void Flows::timer(Time at, std::uint64_t cookie) {
  if ((cookie & 1U) == kReading) {
    const auto index = static_cast<std::uint32_t>(cookie >> 1U);
    const Reading reading = readings_[index];
    unused_.push_back(index);
    return read(reading, at);
  }
  const auto rank = static_cast<int>(cookie >> 1U);
  Rank& r = ranks_[static_cast<std::size_t>(rank)];
  if (!r.waiting || r.wakes != at) return;  // it was woken earlier
  r.waiting = false;
  send_next(rank, at);
}

/// Messages leave in order; one without credits delays those behind it, as in the threads' send loop.
void Flows::send_next(int rank, Time at) {
  Rank& r = ranks_[static_cast<std::size_t>(rank)];
  if (r.flows.empty()) return;
  const std::uint32_t id = r.flows.front();
  Flow& flow = flows_[id];
  if (flow.begin > at) return wake(rank, flow.begin);
  if (flow.sent >= flow.allowed) return;
  const std::uint64_t total = flow.bytes + kEnvelopeBytes;
  const std::uint64_t payload = std::min(kFragmentBytes, total - flow.sent * kFragmentBytes);
  MailboxMessage message;
  message.flits = static_cast<std::uint8_t>((4 + payload + kFlitBytes - 1) / kFlitBytes);
  message.tag = id;
  message.to = Address::thread(configuration_.place(flow.to));
  const ThreadLocation from = configuration_.place(rank);
  const int words = message.flits * kWordsPerFlit;
  const std::int64_t count =
      configuration_.software.fragment_send + std::int64_t{configuration_.software.copy_word} * words;
  const Time begin = r.source.acquire(at, interval(count)).begin;
  const Time done = later(begin + latency(count), machine_.touch(begin, from, words));
  inject(done, rank, flow.to, message);
  if (++flow.sent == flow.fragments) {
    r.flows.pop_front();
    events_.sent(id, done);
  }
  if (!ranks_[static_cast<std::size_t>(rank)].flows.empty()) wake(rank, at);
}

void Flows::delivered(const Delivery& delivery) {
  const MailboxMessage& m = delivery.message;
  if ((m.tag & kCreditBit) != 0) return credited(delivery);
  Flow& flow = flows_[m.tag];
  Rank& r = ranks_[static_cast<std::size_t>(flow.to)];
  const auto thread = static_cast<std::size_t>(std::countr_zero(m.to.mask));
  const Time pointer = delivery.pointer[thread];
  if (flow.first == Time()) flow.first = pointer;
  const std::int64_t count = configuration_.software.fragment_receive +
                             std::int64_t{configuration_.software.copy_word} * m.flits * kWordsPerFlit;
  const Time begin = r.engine.acquire(pointer, interval(count)).begin;
  if (unused_.empty()) {
    unused_.push_back(static_cast<std::uint32_t>(readings_.size()));
    readings_.emplace_back();
  }
  readings_[unused_.back()] = {m.tag, delivery.slot, m.flits};
  machine_.set_timer(begin, std::uint64_t{unused_.back()} << 1U | kReading);
  unused_.pop_back();
}

void Flows::read(const Reading& reading, Time at) {
  Flow& flow = flows_[reading.flow];
  const ThreadLocation place = configuration_.place(flow.to);
  const int words = reading.flits * kWordsPerFlit;
  const std::int64_t count =
      configuration_.software.fragment_receive + std::int64_t{configuration_.software.copy_word} * words;
  const Time done = later(at + latency(count), machine_.touch(at, place, words));
  machine_.free(done, reading.slot);
  flow.last = later(flow.last, done);
  ++flow.read;
  const auto window = static_cast<std::uint64_t>(configuration_.software.window);
  const std::uint64_t block = std::max<std::uint64_t>(1, window / 2);
  // The last window needs no credits.
  if (flow.read % block == 0 && flow.read + window < flow.fragments + block) {
    MailboxMessage credit;
    credit.tag = reading.flow | kCreditBit;
    credit.to = Address::thread(configuration_.place(flow.from));
    inject(done + latency(configuration_.software.fragment_send), flow.to, flow.from, credit);
  }
  if (flow.read == flow.fragments) events_.arrived(reading.flow, flow.first, flow.last);
}

void Flows::credited(const Delivery& delivery) {
  const MailboxMessage& m = delivery.message;
  Flow& flow = flows_[m.tag & ~kCreditBit];
  const auto thread = static_cast<std::size_t>(std::countr_zero(m.to.mask));
  const Time seen = delivery.pointer[thread] + latency(configuration_.software.fragment_receive);
  machine_.free(seen, delivery.slot);
  flow.allowed += static_cast<std::uint64_t>(std::max(1, configuration_.software.window / 2));
  wake(flow.from, seen);
}

}  // namespace offramp::tinsel
