// The router of a board: eight fetchers (key lookup and copies), the crossbar, and the links to other boards.
#include <algorithm>
#include <utility>

#include "simulators/tinsel/machine.hpp"

namespace offramp::tinsel {
namespace {

constexpr std::uint16_t kMostHops = 64;  // far beyond any mesh: the path is circular

}  // namespace

/// A message arrives at a router port: from a column of the network on chip, or over a link, whose receiver
/// drops messages without room.
void Machine::fetch(std::uint32_t id) {
  Moving& m = messages_[id];
  const std::uint64_t which = fetcher_of(m);
  Fetcher& to = fetcher(which);
  const bool over_link = m.port < kLinks;
  const int room = over_link ? buffers_.receive_flits : buffers_.port_flits;
  // A message longer than the buffer still passes through an empty one.
  const bool fits = to.flits == 0 || to.flits + m.flits <= room;
  if (over_link) {
    // A message that is not the next one is dropped, and its sender repeats it.
    if (to.refused.head == kNone && m.number != to.expected) return send_again(which, id);
    if (!fits || to.refused.head != kNone) return refuse(to, id);
    ++to.expected;
    acknowledge(m);
  } else if (!fits) {
    to.blocked = id;
    return;
  }
  // Tables of several boards can form a circle that no single board can detect.
  if (++m.hops > kMostHops) return stop(Trap::kLoop);
  leave(m);
  to.flits += m.flits;
  m.fetcher = m.port;
  m.ready = now_ + spec_.cycles(spec_.bypass_cycles);
  append(to.input, id);
  serve(which);
}

/// The sender's timeout repeats this message and all after it (go back N) until there is room. Repetitions
/// without room are skipped, since no other message could pass meanwhile.
void Machine::refuse(Fetcher& to, std::uint32_t id) {
  ++counters_.refused;
  if (to.refused.head == kNone) to.refused_at = now_;
  append(to.refused, id);
}

void Machine::resend_later(std::uint64_t which) {
  Fetcher& to = fetcher(which);
  if (to.refused.head == kNone || std::exchange(to.resends, true)) return;
  const Time timeout = spec_.cycles(spec_.timeout_cycles);
  const std::int64_t tries = (now_ - to.refused_at).count() / timeout.count() + 1;
  push(to.refused_at + timeout * tries, Step::kResend, which);
}

void Machine::resend(std::uint64_t which) {
  Fetcher& to = fetcher(which);
  to.resends = false;
  while (to.refused.head != kNone) send_again(which, pop_front(to.refused));
}

/// Repeats a message that was in flight when the sender went back; it arrives again after the others.
void Machine::send_again(std::uint64_t which, std::uint32_t id) {
  const auto over = static_cast<Direction>(which % kFetchers);
  const int from = spec_.mesh.neighbour(static_cast<int>(which / kFetchers), over);
  Arbiter& wire = from < 0 ? bridge_links_[0] : link(from, opposite(over)).wire;
  ++counters_.link.retransmissions;
  push(wire.acquire(now_, flit_ * messages_[id].flits).begin + spec_.hop_latency(), Step::kFetch, id);
}

/// The sender's buffer retains a message until its acknowledgement arrives.
void Machine::acknowledge(const MailboxMessage& m) {
  const auto over = static_cast<Direction>(m.port);
  const int from = spec_.mesh.neighbour(m.board, over);
  if (from < 0) return;  // the sender is the bridge
  Link& sender = link(from, opposite(over));
  const Time back = now_ + spec_.hop_latency();
  // The acknowledgement crosses the link in the other direction.
  sender.acknowledgements.emplace_back(back, m.flits);
  if (sender.blocked != kNone) push(back, Step::kCross, link_index(from, opposite(over)));
}

/// Continues with the first message of a fetcher's input.
void Machine::serve(std::uint64_t which) {
  Fetcher& own = fetcher(which);
  while (trap_ == Trap::kNone) {
    const bool is_next = own.front == kNone;
    if (is_next) {
      if (own.input.head == kNone) return;
      own.front = pop_front(own.input);
    }
    const Moving& m = messages_[own.front];
    if (m.to.keyed) {
      if (!accept(which)) return;
    } else {
      if (!is_next) return;  // still in the pipeline
      if (m.ready > now_) return push(m.ready, Step::kPass, own.front);
      pass(own.front);
    }
  }
}

/// Removes the first message from the input.
void Machine::advance_input(std::uint64_t which, int flits) {
  Fetcher& own = fetcher(which);
  own.front = kNone;
  own.flits -= flits;
  if (own.blocked != kNone) fetch(std::exchange(own.blocked, kNone));
  resend_later(which);
}

/// Buffers a keyed message and starts its lookup. Returns false if it must wait for a free place.
bool Machine::accept(std::uint64_t which) {
  Fetcher& own = fetcher(which);
  const Moving m = messages_[own.front];
  const Key key = Key::decode(m.to.key);
  if (own.lookups.size() == static_cast<std::size_t>(buffers_.lookups)) return false;
  // A fetcher keeps few lookups whose IND is still to come.
  if (key.maximal() && own.indirections == buffers_.indirections) return false;
  if (own.consume.free_at() > now_) {
    if (!std::exchange(own.calls, true)) push(own.consume.free_at(), Step::kServe, which);
    return false;
  }
  const int requests = (key.beats + kMaximumBurst - 1) / kMaximumBurst;
  // The key's requests follow at one per two cycles.
  own.consume.acquire(now_, m.lag + spec_.cycles(1 + m.flits + 2 * std::int64_t{requests}));
  drop(own.front);
  // A null key has no destination: the message ends here.
  if (key.beats == 0) {
    ++counters_.dropped;
    ++boards_[m.board].counts.received;
  } else {
    own.lookups.emplace_back();
    Lookup& lookup = own.lookups.back();
    lookup.message = m;
    lookup.message.lag = spec_.cycles(std::int64_t{spec_.emit_flit_cycles} * (m.flits - 1));
    look_up(which, lookup, key, now_ + m.lag + spec_.cycles(1 + m.flits));
  }
  advance_input(which, m.flits);
  return true;
}

/// Passes a message without key, or a record's copy, through the fetcher's output.
void Machine::pass(std::uint32_t id) {
  const Time emission = spec_.cycles(std::int64_t{spec_.emit_flit_cycles} * messages_[id].flits);
  if (!enter(id, unit_of(messages_[id], kEmission + messages_[id].fetcher), Step::kPass, emission, {}))
    return;
  Moving& m = messages_[id];
  const std::uint64_t which = std::uint64_t{m.board} * kFetchers + m.fetcher;
  const int flits = m.flits;
  if (std::exchange(m.copied, false)) {
    push(now_ + emission, Step::kEmit, which);
    return output(id);
  }
  m.port = static_cast<std::uint8_t>(bypass_port(spec_.mesh, m.board, m.to));
  output(id);
  advance_input(which, flits);
  serve(which);
}

/// Reads the beats of a key, which the fetcher requests as its buffer permits.
void Machine::look_up(std::uint64_t which, Lookup& lookup, const Key& key, Time at) {
  const std::size_t board = which / kFetchers;
  Fetcher& own = fetcher(which);
  Block block = tables_[board].read(key);
  if (block.trap != Trap::kNone) return stop(block.trap);
  ++counters_.lookups;
  ++boards_[board].counts.received;
  counters_.beats += key.beats;
  lookup.read += key.beats;
  // More beats than the tables have: the chain must be circular.
  if (lookup.read > tables_[board].extent(key.ram)) return stop(Trap::kLoop);
  own.indirections += (key.maximal() ? 1 : 0) - (lookup.maximal ? 1 : 0);
  lookup.maximal = key.maximal();
  lookup.wanted.insert(lookup.wanted.end(), block.beats.begin(), block.beats.end());
  lookup.ram = key.ram;
  lookup.asks = later(lookup.asks, at);
  request(which);
}

/// Requests bursts of four. A DRAM has at most 16 outstanding beats for all fetchers of its board, so it
/// delivers 16 beats per latency. Lookups behind a list whose IND is still to come wait for it.
void Machine::request(std::uint64_t which) {
  Fetcher& own = fetcher(which);
  for (Lookup& lookup : own.lookups) {
    while (lookup.asked < lookup.wanted.size()) {
      const std::size_t burst = std::min<std::size_t>(kMaximumBurst, lookup.wanted.size() - lookup.asked);
      if (own.beats + static_cast<int>(burst) > buffers_.beats) break;
      own.beats += static_cast<int>(burst);
      const Time at = later(lookup.asks, now_);
      const Time share =
          spec_.cycles(static_cast<std::int64_t>(burst) * spec_.dram_cycles / kOutstandingBeats);
      const Time begin = boards_[which / kFetchers].lookups[lookup.ram].acquire(at, share).begin;
      for (std::size_t k = 0; k < burst; ++k) {
        const Time there = begin + spec_.cycles(spec_.dram_cycles + static_cast<std::int64_t>(k));
        lookup.beats.emplace_back(there, lookup.wanted[lookup.asked++]);
      }
      lookup.asks = at + spec_.cycles(2);
    }
    // Beats are processed in order, so a later lookup must not take the buffer first.
    if (lookup.maximal || lookup.asked < lookup.wanted.size()) break;
  }
  if (own.running || own.lookups.empty() || trap_ != Trap::kNone) return;
  own.running = true;
  push(own.lookups.front().beats.front().first, Step::kEmit, which);
}

/// Processes one record in a fetcher's interpreter: one cycle per beat, then a copy per record.
void Machine::emit(std::uint64_t which) {
  Fetcher& own = fetcher(which);
  if (own.ended && !end_record(which)) return;
  Lookup& lookup = own.lookups.front();
  const auto& [there, beat] = lookup.beats.front();
  // The first record of a beat waits for its data, and takes one cycle to open it.
  if (lookup.record == 0) {
    if (there > now_) return push(there, Step::kEmit, which);
    if (!std::exchange(own.opened, true)) return push(now_ + spec_.cycles(1), Step::kEmit, which);
    own.opened = false;
  }
  const Record record = beat.records[static_cast<std::size_t>(lookup.record)];
  ++counters_.records;
  ++boards_[which / kFetchers].counts.sent;
  own.ended = true;
  if (record.type() != RecordType::kInd) return emit_record(which, lookup, record);
  push(now_ + spec_.cycles(std::int64_t{spec_.emit_flit_cycles} * lookup.message.flits), Step::kEmit, which);
  look_up(which, lookup, Key::decode(record.new_key()), now_);
}

/// Continues after a record's copy has left the interpreter. Returns false if no record is left.
bool Machine::end_record(std::uint64_t which) {
  Fetcher& own = fetcher(which);
  Lookup& lookup = own.lookups.front();
  own.ended = false;
  if (++lookup.record == lookup.beats.front().second.count) {
    lookup.beats.pop_front();
    lookup.record = 0;
    --own.beats;
  }
  // The lookup ends with its last beat, unless an IND has added more.
  const bool is_over = lookup.beats.empty() && lookup.asked == lookup.wanted.size();
  if (is_over) {
    own.indirections -= lookup.maximal ? 1 : 0;
    own.lookups.pop_front();
    own.running = !own.lookups.empty();
  }
  const bool goes_on = own.running;
  request(which);
  if (is_over) serve(which);
  return goes_on && trap_ == Trap::kNone;
}

/// Copies the message for a record, which changes only words of flit 0.
void Machine::emit_record(std::uint64_t which, Lookup& lookup, const Record& record) {
  const int board_index = static_cast<int>(which / kFetchers);
  Moving copy = lookup.message;
  copy.copied = true;
  if (record.type() == RecordType::kRr) {
    const Direction direction = record.direction();
    if (which % kFetchers == static_cast<std::size_t>(direction)) return stop(Trap::kUTurn);
    if (spec_.mesh.neighbour(board_index, direction) < 0) return stop(Trap::kEdge);
    ++counters_.inter_records;
    copy.to.key = record.new_key();
    copy.port = static_cast<std::uint8_t>(direction);
    return pass(store(copy));
  }
  const std::uint64_t local = record.get(Field::kLocalKey);
  std::uint64_t mask = std::uint64_t{1} << (record.thread() & 63U);
  if (record.type() == RecordType::kMrm) {
    mask = record.get(Field::kDestMask);
    // The local key of an MRM has 16 bits, which replace the lower half of the first word.
    copy.words[0] = (copy.words[0] & 0xffff0000U) | static_cast<std::uint32_t>(local & 0xffffU);
  } else {
    copy.words[0] = static_cast<std::uint32_t>(local);
    if (record.type() == RecordType::kUrm2) copy.words[1] = static_cast<std::uint32_t>(local >> 32U);
  }
  copy.to = Address::threads(static_cast<std::uint16_t>(board_index),
                             static_cast<std::uint8_t>(record.mailbox()), mask);
  copy.port = static_cast<std::uint8_t>(kLinks + copy.to.mailbox % kMailboxColumns);
  pass(store(copy));
}

/// Moves a message through the crossbar (at most 2/3 flit per cycle and output) into a column or to a link.
void Machine::output(std::uint32_t id) {
  const Moving& m = messages_[id];
  const bool into_column = m.port >= kLinks;
  const Time ahead = spec_.cycles(into_column ? spec_.noc_hop_cycles : 0);
  // Three cycles for two flits, rounded up.
  const Time occupied = spec_.cycles((3 * m.flits + 1) / 2);
  if (!enter(id, unit_of(m, kOutputs + m.port), Step::kOutput, occupied, ahead)) return;
  if (!into_column) return cross(id);
  messages_[id].mailbox = static_cast<std::uint8_t>(messages_[id].port - kLinks);
  push(now_ + ahead, Step::kHop, id);
}

/// Moves a message into the send buffer of a link, once it has room.
void Machine::cross(std::uint32_t id) {
  Moving& m = messages_[id];
  if (m.to.board == kBridge && m.board == 0) {
    leave(m);
    const Time begin = bridge_links_[1].acquire(now_, flit_ * m.flits).begin;
    return push(begin + spec_.hop_latency(), Step::kAtBridge, id);
  }
  const auto over = static_cast<Direction>(m.port);
  const int next = spec_.mesh.neighbour(m.board, over);
  if (next < 0) return stop(Trap::kEdge);
  Link& out = link(m.board, over);
  // Acknowledgements that have arrived free the sender's buffer.
  while (!out.acknowledgements.empty() && out.acknowledgements.front().first <= now_) {
    out.flits -= out.acknowledgements.front().second;
    out.acknowledgements.pop_front();
  }
  if (out.flits + m.flits > buffers_.send_flits) {
    out.blocked = id;
    if (!out.acknowledgements.empty())
      push(out.acknowledgements.front().first, Step::kCross, link_index(m.board, over));
    return;
  }
  out.flits += m.flits;
  m.number = out.sent++;
  leave(m);
  cross_link(id, out, next);
}

/// A lost packet is repeated after the timeout and delays those behind it (go back N). A reordered packet has
/// the same effect, since the receiver drops it. A duplicate only takes time.
void Machine::cross_link(std::uint32_t id, Link& out, int next) {
  Moving& m = messages_[id];
  const Time occupied = flit_ * m.flits;
  Time duration = occupied;
  Time before;
  const auto count = [&](std::uint64_t& kind) {
    ++kind;
    ++counters_.link.packets;
    counters_.link.wire_bytes +=
        static_cast<std::uint64_t>(m.flits) * static_cast<std::uint64_t>(spec_.flit_link_bytes);
  };
  std::uint64_t first_try = 0;  // not counted as a retransmission
  count(first_try);
  for (int attempt = 0; faults_.any(); ++attempt) {
    const std::uint64_t wire = offramp::Link::id(m.board, static_cast<std::uint64_t>(next));
    const Fault fault = fault_of(faults_, wire, fault_base_ + out.packets++, epoch_ + now_ + before);
    if (fault == Fault::kNone) break;
    if (fault == Fault::kDuplicated) {
      ++counters_.link.duplicated;
      duration += occupied;
      break;
    }
    if (fault == Fault::kDelayed) {
      ++counters_.link.delayed;
      before += faults_.delay_time;
      break;
    }
    ++(fault == Fault::kLost        ? counters_.link.lost
       : fault == Fault::kCorrupted ? counters_.link.corrupted
                                    : counters_.link.reordered);
    // A repetition is a packet of its own, because it uses the link again.
    count(counters_.link.retransmissions);
    if (attempt == spec_.retries) {
      broken_ = true;
      return;
    }
    before += occupied + spec_.cycles(spec_.timeout_cycles);
  }
  counters_.link.payload_bytes += static_cast<std::uint64_t>(m.flits) * kFlitBytes;
  // Failed attempts occupy the link before the one that succeeds.
  const Time begin = out.wire.acquire(now_, before + duration).begin + before;
  m.lag = later(m.lag, flit_ * (m.flits - 1));
  m.board = static_cast<std::uint16_t>(next);
  m.port = static_cast<std::uint8_t>(opposite(static_cast<Direction>(m.port)));
  push(begin + spec_.hop_latency(), Step::kFetch, id);
}

}  // namespace offramp::tinsel
