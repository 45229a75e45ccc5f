#include "simulators/tinsel/machine.hpp"

#include <algorithm>
#include <bit>

namespace offramp::tinsel {
namespace {

constexpr std::uint16_t kMostHops = 64;  // far beyond any mesh: a way that goes in circles

constexpr int column(int mailbox) {
  return mailbox % kMailboxColumns;
}
constexpr int row(int mailbox) {
  return mailbox / kMailboxColumns;
}

}  // namespace

int bypass_port(const Mesh& mesh, int at, const Address& to) {
  if (to.board == kBridge && at == 0) return static_cast<int>(Direction::kSouth);
  if (to.board == kBridge) return static_cast<int>(first_step(mesh, at, 0, DimensionOrder::kYFirst));
  if (at == to.board) return kLinks + column(to.mailbox);
  return static_cast<int>(first_step(mesh, at, to.board, DimensionOrder::kYFirst));
}

Machine::Machine(const MachineSpec& spec)
    : spec_(spec),
      flit_(spec.link_flit()),
      cycle_noc_flit_(spec.cycles(spec.noc_flit_cycles)),
      boards_(static_cast<std::size_t>(spec.mesh.boards())),
      tables_(static_cast<std::size_t>(spec.mesh.boards())) {}
Machine::~Machine() = default;

void Machine::reset() {
  for (Board& each : boards_) each = Board();
  bridge_links_ = {};
  events_.clear();
  messages_.clear();
  unused_.clear();
  slots_.clear();
  unused_slots_.clear();
  now_ = {};
  trap_ = Trap::kNone;
  broken_ = false;
  counters_ = {};
}

std::uint32_t Machine::keep(const Message& message) {
  if (unused_.empty()) {
    messages_.push_back(message);
    return static_cast<std::uint32_t>(messages_.size() - 1);
  }
  const std::uint32_t id = unused_.back();
  unused_.pop_back();
  messages_[id] = message;
  return id;
}

bool Machine::quiescent() const {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  for (const Board& each : boards_) sent += each.counts.sent, received += each.counts.received;
  return sent == received;
}

void Machine::send(Time at, const Place& from, const Message& message) {
  ++counters_.injected;
  if (!message.idle_token) ++boards_[from.board].counts.sent;
  Message sent = message;
  sent.board = from.board;
  sent.mailbox = from.mailbox;
  sent.thread = from.thread;
  sent.hops = 0;
  sent.lag = cycle_noc_flit_ * (message.flits - 1);
  push(at, Step::kInject, keep(sent));
}

void Machine::send_from_bridge(Time at, const Message& message) {
  Message sent = message;
  sent.board = 0;
  sent.port = static_cast<std::uint8_t>(Direction::kSouth);
  sent.hops = 0;
  sent.lag = flit_ * (message.flits - 1);
  const Time begin = bridge_links_[0].acquire(at, flit_ * message.flits).begin;
  push(begin + spec_.hop_latency(), Step::kFetch, keep(sent));
}

/// From the send slot through the port that it shares with receiving, into the network on chip.
void Machine::inject(std::uint32_t id) {
  const Message& m = messages_[id];
  Mailbox& box = mailbox(m);
  const auto [out, left] = box.flits.acquire(now_, spec_.cycles(m.flits));
  if (software_ != nullptr && !m.idle_token) software_->left(left, {m.board, m.mailbox, m.thread});
  const Time occupied = cycle_noc_flit_ * m.flits + spec_.cycles(spec_.noc_turn_cycles);
  push(box.inject.acquire(out, occupied).begin + spec_.cycles(spec_.noc_hop_cycles), Step::kHop, id);
}

void Machine::set_timer(Time at, std::uint64_t cookie) {
  push(at, Step::kTimer, cookie);
}

Time Machine::touch(Time at, const Place& place, int words) {
  return boards_[place.board].mailboxes[place.mailbox].words.acquire(at, spec_.cycles(words)).end;
}

bool Machine::run() {
  while (!events_.empty() && trap_ == Trap::kNone && !broken_) {
    const auto entry = events_.pop();
    now_ = entry.at;
    perform(entry.event);
  }
  return trap_ == Trap::kNone && !broken_;
}

void Machine::perform(const Event& event) {
  const auto id = static_cast<std::uint32_t>(event.argument);
  switch (event.step) {
    case Step::kInject:
      return inject(id);
    case Step::kHop:
      return hop(id);
    case Step::kReceive:
      return receive(id);
    case Step::kFetch:
      return fetch(id);
    case Step::kOutput:
      return output(id);
    case Step::kEmit:
      return emit(event.argument);
    case Step::kFree:
      return release(event.argument);
    case Step::kAtBridge: {
      const Message message = messages_[id];
      drop(id);
      if (software_ != nullptr) software_->at_bridge(now_, message);
      return;
    }
    case Step::kTimer:
      if (software_ != nullptr) software_->timer(now_, event.argument);
  }
}

/// At a mailbox's place in the mesh of its board: y first, then x; down to row 0 for what leaves the board.
void Machine::hop(std::uint32_t id) {
  Message& m = messages_[id];
  const Time occupied = cycle_noc_flit_ * m.flits;
  const bool leaves = m.to.keyed || m.to.board != m.board;
  const int here_row = row(m.mailbox);
  const int to_row = leaves ? 0 : row(m.to.mailbox);
  const int to_column = leaves ? column(m.mailbox) : column(m.to.mailbox);
  int next = m.mailbox;
  auto direction = Direction::kNorth;
  if (here_row != to_row) {
    direction = to_row > here_row ? Direction::kNorth : Direction::kSouth;
    next += to_row > here_row ? kMailboxColumns : -kMailboxColumns;
  } else if (column(m.mailbox) != to_column) {
    direction = to_column > column(m.mailbox) ? Direction::kEast : Direction::kWest;
    next += to_column > column(m.mailbox) ? 1 : -1;
  } else if (leaves) {
    const int port = column(m.mailbox);
    const Time begin = board(m).into_router[static_cast<std::size_t>(port)].acquire(now_, occupied).begin;
    m.port = static_cast<std::uint8_t>(kLinks + port);
    return push(begin + spec_.cycles(spec_.noc_hop_cycles), Step::kFetch, id);
  } else {
    const Time turn = spec_.cycles(spec_.noc_turn_cycles);
    const Time begin = mailbox(m).eject.acquire(now_, occupied + turn).begin;
    return push(begin + spec_.cycles(spec_.noc_hop_cycles), Step::kReceive, id);
  }
  const Time begin = mailbox(m).links[static_cast<std::size_t>(direction)].acquire(now_, occupied).begin;
  m.mailbox = static_cast<std::uint8_t>(next);
  push(begin + spec_.cycles(spec_.noc_hop_cycles), Step::kHop, id);
}

void Machine::receive(std::uint32_t id) {
  Mailbox& box = mailbox(messages_[id]);
  if (box.slots < kReceiveSlots) return deliver(id);
  ++counters_.slot_waits;
  box.waiting.push_back(id);
}

/// One slot for all targets; each core serialises the pointers of its own: 1 + 2k cycles.
void Machine::deliver(std::uint32_t id) {
  const Message message = messages_[id];
  drop(id);
  Mailbox& box = mailbox(message);
  counters_.most_slots = std::max<std::uint64_t>(counters_.most_slots, ++box.slots);
  ++counters_.delivered;
  if (unused_slots_.empty()) {
    unused_slots_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  Delivery delivery{message, unused_slots_.back(), {}};
  unused_slots_.pop_back();
  const std::uint64_t mask = message.to.mask;
  slots_[delivery.slot] = {
      message.board, message.mailbox, static_cast<std::uint8_t>(std::popcount(mask)), message.idle_token, {}};
  const Time written = box.flits.acquire(now_, spec_.cycles(message.flits)).end + message.lag;
  for (int core = 0; core < kCores; ++core) {
    std::uint64_t here = (mask >> (core * kThreadsPerCore)) & 0xffffU;
    if (here == 0) continue;
    const int targets = std::popcount(here);
    counters_.pointers += static_cast<std::uint64_t>(targets);
    const Time begin =
        box.fan[static_cast<std::size_t>(core)].acquire(written, spec_.cycles(1 + 2 * targets)).begin;
    for (int k = 1; here != 0; here &= here - 1, ++k) {
      const int thread = core * kThreadsPerCore + std::countr_zero(here);
      delivery.pointer[static_cast<std::size_t>(thread)] = begin + spec_.cycles(1 + 2 * k);
    }
  }
  if (software_ != nullptr) software_->delivered(delivery);
}

void Machine::free(Time at, std::uint32_t slot) {
  Slot& held = slots_[slot];
  // Two cycles of the mailbox each; the port is far from busy, so frees do not queue for it.
  held.last = later(held.last, at + spec_.cycles(2));
  if (--held.references == 0) push(held.last, Step::kFree, slot);
}

void Machine::release(std::uint64_t slot) {
  const Slot held = slots_[slot];
  unused_slots_.push_back(static_cast<std::uint32_t>(slot));
  ++counters_.freed;
  if (!held.idle_token) ++boards_[held.board].counts.received;
  Mailbox& box = boards_[held.board].mailboxes[held.mailbox];
  --box.slots;
  if (box.waiting.empty()) return;
  const std::uint32_t next = box.waiting.front();
  box.waiting.pop_front();
  deliver(next);
}

/// A message reaches a fetcher. Keyed ones are buffered whole and looked up; others pass by.
void Machine::fetch(std::uint32_t id) {
  Message& m = messages_[id];
  if (++m.hops > kMostHops) return stop(Trap::kLoop);
  Fetcher& fetcher = board(m).fetchers[m.port];
  const Time emission = spec_.cycles(std::int64_t{spec_.emit_flit_cycles} * m.flits);
  if (!m.to.keyed) {
    const Time begin = fetcher.emit.acquire(now_ + spec_.cycles(spec_.bypass_cycles), emission).begin;
    m.port = static_cast<std::uint8_t>(bypass_port(spec_.mesh, m.board, m.to));
    return push(begin, Step::kOutput, id);
  }
  const Key key = Key::decode(m.to.key);
  const std::uint16_t here = m.board;
  const std::uint8_t port = m.port;
  const int requests = (key.beats + kMaximumBurst - 1) / kMaximumBurst;
  const Time begin =
      fetcher.consume.acquire(now_, later(m.lag, {}) + spec_.cycles(1 + m.flits + 2 * requests)).begin;
  const Time buffered = begin + m.lag + spec_.cycles(1 + m.flits);
  if (key.beats == 0) {
    ++counters_.dropped;
    ++boards_[here].counts.received;
    return drop(id);
  }
  m.lag = spec_.cycles(std::int64_t{spec_.emit_flit_cycles} * (m.flits - 1));
  fetcher.lookups.emplace_back();
  fetcher.lookups.back().message = m;
  drop(id);
  look_up(here, fetcher.lookups.back(), key, buffered);
  if (fetcher.running || trap_ != Trap::kNone) return;
  fetcher.running = true;
  push(fetcher.lookups.front().beats.front().first, Step::kEmit, std::uint64_t{here} * kFetchers + port);
}

/// Requests the beats of a key from DRAM: bursts of four, at most 16 beats outstanding per DRAM over all
/// fetchers, so a DRAM gives 16 beats per latency.
void Machine::look_up(int board_index, Lookup& lookup, const Key& key, Time at) {
  const Block block = tables_[static_cast<std::size_t>(board_index)].read(key);
  if (block.trap != Trap::kNone) return stop(block.trap);
  ++counters_.lookups;
  ++boards_[static_cast<std::size_t>(board_index)].counts.received;
  counters_.beats += key.beats;
  lookup.read += key.beats;
  if (lookup.read > tables_[static_cast<std::size_t>(board_index)].extent(key.ram)) return stop(Trap::kLoop);
  Arbiter& dram = boards_[static_cast<std::size_t>(board_index)].dram[key.ram];
  for (std::size_t i = 0; i < block.beats.size(); i += kMaximumBurst) {
    const std::size_t burst = std::min<std::size_t>(kMaximumBurst, block.beats.size() - i);
    const Time share = spec_.cycles(static_cast<std::int64_t>(burst) * spec_.dram_cycles / kOutstandingBeats);
    const Time begin = dram.acquire(at, share).begin;
    for (std::size_t k = 0; k < burst; ++k) {
      const Time there = begin + spec_.cycles(spec_.dram_cycles + static_cast<std::int64_t>(k));
      lookup.beats.emplace_back(there, block.beats[i + k]);
    }
    at += spec_.cycles(2);
  }
}

/// The interpreter of a fetcher handles one record: one cycle per beat, then a copy per record.
void Machine::emit(std::uint64_t which) {
  const int board_index = static_cast<int>(which / kFetchers);
  const int port = static_cast<int>(which % kFetchers);
  Fetcher& fetcher = boards_[static_cast<std::size_t>(board_index)].fetchers[static_cast<std::size_t>(port)];
  Lookup& lookup = fetcher.lookups.front();
  const BeatRecords& beat = lookup.beats.front().second;
  const Time ready = lookup.record == 0 ? now_ + spec_.cycles(1) : now_;
  const Time cost = spec_.cycles(std::int64_t{spec_.emit_flit_cycles} * lookup.message.flits);
  const Arbiter::Grant grant = fetcher.emit.acquire(ready, cost);
  const Record record = beat.records[static_cast<std::size_t>(lookup.record)];
  ++counters_.records;
  ++boards_[static_cast<std::size_t>(board_index)].counts.sent;
  if (record.type() == RecordType::kInd) {
    look_up(board_index, lookup, Key::decode(record.new_key()), grant.begin);
  } else {
    emit_record(board_index, port, lookup, record, grant.begin);
  }
  if (trap_ != Trap::kNone) return;
  if (++lookup.record == lookup.beats.front().second.count) {
    lookup.beats.pop_front();
    lookup.record = 0;
  }
  if (lookup.beats.empty()) fetcher.lookups.pop_front();
  if (fetcher.lookups.empty()) {
    fetcher.running = false;
    return;
  }
  const Lookup& next = fetcher.lookups.front();
  const Time data = next.record == 0 ? next.beats.front().first : grant.end;
  push(later(grant.end, data), Step::kEmit, which);
}

/// What a record makes of the message: only words of flit 0 change.
void Machine::emit_record(int board_index, int port, Lookup& lookup, const Record& record, Time at) {
  Message copy = lookup.message;
  if (record.type() == RecordType::kRr) {
    const Direction direction = record.direction();
    if (port == static_cast<int>(direction)) return stop(Trap::kUTurn);
    if (spec_.mesh.neighbour(board_index, direction) < 0) return stop(Trap::kEdge);
    ++counters_.inter_records;
    copy.to.key = record.new_key();
    copy.port = static_cast<std::uint8_t>(direction);
    return push(at, Step::kOutput, keep(copy));
  }
  const std::uint64_t local = record.get(Field::kLocalKey);
  std::uint64_t mask = std::uint64_t{1} << (record.thread() & 63U);
  if (record.type() == RecordType::kMrm) {
    mask = record.get(Field::kDestMask);
    copy.words[0] = (copy.words[0] & 0xffff0000U) | static_cast<std::uint32_t>(local & 0xffffU);
  } else {
    copy.words[0] = static_cast<std::uint32_t>(local);
    if (record.type() == RecordType::kUrm2) copy.words[1] = static_cast<std::uint32_t>(local >> 32U);
  }
  copy.to = Address::threads(static_cast<std::uint16_t>(board_index),
                             static_cast<std::uint8_t>(record.mailbox()), mask);
  copy.port = static_cast<std::uint8_t>(kLinks + column(copy.to.mailbox));
  push(at, Step::kOutput, keep(copy));
}

/// Through the crossbar (at most 2/3 flit per cycle and output) to a link or into a column.
void Machine::output(std::uint32_t id) {
  Message& m = messages_[id];
  const Time begin = board(m).outputs[m.port].acquire(now_, spec_.cycles((3 * m.flits + 1) / 2)).begin;
  if (m.port < kLinks) return cross_link(id, begin);
  m.mailbox = static_cast<std::uint8_t>(m.port - kLinks);
  push(begin + spec_.cycles(spec_.noc_hop_cycles), Step::kHop, id);
}

/// A lost packet is sent again after the timeout, and what is behind it waits (go back N); one out of
/// sequence is dropped by the receiver, which is the same; a second copy only takes its time.
void Machine::cross_link(std::uint32_t id, Time at) {
  Message& m = messages_[id];
  if (m.to.board == kBridge && m.board == 0)
    return push(bridge_links_[1].acquire(at, flit_ * m.flits).begin + spec_.hop_latency(), Step::kAtBridge,
                id);
  const int next = spec_.mesh.neighbour(m.board, static_cast<Direction>(m.port));
  if (next < 0) return stop(Trap::kEdge);
  Board& from = board(m);
  Arbiter& link = from.links[m.port];
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
    const Fault fault = fault_of(faults_, wire, fault_base_ + from.packets[m.port]++, epoch_ + at + before);
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
    count(counters_.link.retransmissions);
    if (attempt == spec_.retries) {
      broken_ = true;
      return;
    }
    before += occupied + spec_.cycles(spec_.timeout_cycles);
  }
  counters_.link.payload_bytes += static_cast<std::uint64_t>(m.flits) * kFlitBytes;
  const Time begin = link.acquire(at, before + duration).begin + before;
  m.lag = later(m.lag, flit_ * (m.flits - 1));
  m.board = static_cast<std::uint16_t>(next);
  m.port = static_cast<std::uint8_t>(opposite(static_cast<Direction>(m.port)));
  push(begin + spec_.hop_latency(), Step::kFetch, id);
}

}  // namespace offramp::tinsel
