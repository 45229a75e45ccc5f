// The network on chip and the mailboxes; router.cpp implements the programmable router, its fetchers, and the
// links.
//
// Backpressure uses one protocol. A message that needs a unit calls enter(), which either occupies the unit
// and releases the previous one (leave()), or queues the message until call_next() calls it. A message
// therefore occupies at most one unit, until the next one accepts it, and a cycle of such messages is a
// deadlock, which run() reports. The times of enter(): `occupied` is how long all flits need the unit,
// `ahead` how long the head takes to its next step.
#include "simulators/tinsel/machine.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace offramp::tinsel {
namespace {

/// Mailboxes are numbered row by row, from the row beside the router.
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
      units_(boards_.size() * kUnitsOfBoard),
      tables_(static_cast<std::size_t>(spec.mesh.boards())) {}
Machine::~Machine() = default;

void Machine::reset() {
  for (Board& each : boards_) each = Board();
  units_.assign(units_.size(), Unit());
  bridge_links_ = {};
  bridge_sent_ = 0;
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

/// References to other messages can become invalid.
std::uint32_t Machine::store(const Moving& message) {
  if (unused_.empty()) {
    messages_.push_back(message);
    return static_cast<std::uint32_t>(messages_.size() - 1);
  }
  const std::uint32_t id = unused_.back();
  unused_.pop_back();
  messages_[id] = message;
  return id;
}

// Counts balance only if each message that was sent has been freed.
bool Machine::quiescent() const {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  for (const Board& each : boards_) sent += each.counts.sent, received += each.counts.received;
  return sent == received;
}

void Machine::send(Time at, const ThreadLocation& from, const MailboxMessage& message) {
  ++counters_.injected;
  // Tokens of the detection must not disturb what it counts.
  if (!message.idle_token) ++boards_[from.board].counts.sent;
  Moving sent;
  static_cast<MailboxMessage&>(sent) = message;
  sent.board = from.board;
  sent.mailbox = from.mailbox;
  sent.thread = from.thread;
  sent.hops = 0;
  sent.lag = cycle_noc_flit_ * (message.flits - 1);
  push(at, Step::kInject, store(sent));
}

void Machine::send_from_bridge(Time at, const MailboxMessage& message) {
  Moving sent;
  static_cast<MailboxMessage&>(sent) = message;
  sent.board = 0;
  sent.port = static_cast<std::uint8_t>(Direction::kSouth);
  sent.number = bridge_sent_++;
  sent.hops = 0;
  sent.lag = flit_ * (message.flits - 1);
  // The bridge has a link of its own, so only its own messages wait here.
  const Time begin = bridge_links_[0].acquire(at, flit_ * message.flits).begin;
  push(begin + spec_.hop_latency(), Step::kFetch, store(sent));
}

void Machine::append(Line& line, std::uint32_t id) {
  messages_[id].next = kNone;
  (line.head == kNone ? line.head : messages_[line.tail].next) = id;
  line.tail = id;
}

std::uint32_t Machine::pop_front(Line& line) {
  const std::uint32_t id = line.head;
  line.head = messages_[id].next;
  return id;
}

bool Machine::enter(std::uint32_t id, std::uint32_t which, Step step, Time occupied, Time ahead) {
  Unit& unit = units_[which];
  Moving& m = messages_[id];
  // Only the called message may pass others that already wait.
  if (unit.called != id && (unit.holder != kNone || unit.free > now_ || unit.waiting.head != kNone)) {
    ++counters_.waits;
    m.step = step;
    append(unit.waiting, id);
    // An idle unit has no message whose leaving would call the next one.
    if (unit.holder == kNone) call_next(which);
    return false;
  }
  unit.called = kNone;
  leave(m);
  unit.holder = id;
  messages_[id].unit = which;
  messages_[id].lead = occupied - ahead;
  return true;
}

/// Releases the unit once the tail has left it.
void Machine::leave(Moving& m) {
  if (m.unit == kNone) return;
  Unit& unit = units_[m.unit];
  unit.holder = kNone;
  // The lead is negative if the tail has already left.
  unit.free = later(now_, now_ + m.lead);
  const std::uint32_t which = std::exchange(m.unit, kNone);
  // A thread may reuse its send slot once the message has left the mailbox.
  if (which % kUnitsOfBoard < kIntoRouter && which % kUnitsOfBoard % kUnitsOfMailbox == kInjectUnit &&
      !m.idle_token && software_ != nullptr)
    software_->on_sent(
        unit.free, {m.board, static_cast<std::uint8_t>(which % kUnitsOfBoard / kUnitsOfMailbox), m.thread});
  call_next(which);
}

void Machine::call_next(std::uint32_t which) {
  Unit& unit = units_[which];
  if (unit.calls || unit.waiting.head == kNone) return;
  unit.calls = true;
  // At most one call is scheduled per unit. Messages that come later wait for the next one.
  push(later(unit.free, now_), Step::kCall, which);
}

void Machine::call(std::uint32_t which) {
  Unit& unit = units_[which];
  unit.calls = false;
  if (unit.holder != kNone || unit.waiting.head == kNone) return;
  unit.called = pop_front(unit.waiting);
  perform({unit.called, messages_[unit.called].step});
}

/// Moves a message from the send slot into the network on chip, through the port shared with receiving.
void Machine::inject(std::uint32_t id) {
  const Time occupied = cycle_noc_flit_ * messages_[id].flits + spec_.cycles(spec_.noc_turn_cycles);
  const Time ahead = spec_.cycles(spec_.noc_hop_cycles);
  if (!enter(id, unit_of_mailbox(messages_[id], kInjectUnit), Step::kInject, occupied, ahead)) return;
  const Moving& m = messages_[id];
  // Sending and receiving share the mailbox's memory port.
  push(mailbox(m).flits.acquire(now_, spec_.cycles(m.flits)).begin + ahead, Step::kHop, id);
}

void Machine::set_timer(Time at, std::uint64_t cookie) {
  push(at, Step::kTimer, cookie);
}

Time Machine::touch(Time at, const ThreadLocation& place, int words) {
  return boards_[place.board].mailboxes[place.mailbox].words.acquire(at, spec_.cycles(words)).end;
}

bool Machine::run() {
  while (!events_.empty() && trap_ == Trap::kNone && !broken_) {
    const auto entry = events_.pop();
    now_ = entry.at;
    perform(entry.event);
  }
  return trap_ == Trap::kNone && !broken_ && !stuck();
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
    case Step::kServe:
      fetcher(event.argument).calls = false;
      return serve(event.argument);
    case Step::kPass:
      return pass(id);
    case Step::kCross: {
      Link& link = boards_[event.argument / kLinks].links[event.argument % kLinks];
      // The link may have been served by an earlier event of the same time.
      if (link.blocked != kNone) cross(std::exchange(link.blocked, kNone));
      return;
    }
    case Step::kResend:
      return resend(event.argument);
    case Step::kCall:
      return call(id);
    case Step::kOutput:
      return output(id);
    case Step::kEmit:
      return emit(event.argument);
    case Step::kFree:
      return release(event.argument);
    case Step::kAtBridge: {
      const MailboxMessage message = messages_[id];
      drop(id);
      if (software_ != nullptr) software_->at_bridge(now_, message);
      return;
    }
    case Step::kTimer:
      if (software_ != nullptr) software_->timer(now_, event.argument);
  }
}

/// One hop in the board's mesh: y first, then x. Messages that leave the board go down to row 0.
void Machine::hop(std::uint32_t id) {
  const Moving& m = messages_[id];
  const Time occupied = cycle_noc_flit_ * m.flits;
  const Time ahead = spec_.cycles(spec_.noc_hop_cycles);
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
    const auto port = static_cast<std::size_t>(column(m.mailbox));
    if (!enter(id, unit_of(m, kIntoRouter + port), Step::kHop, occupied, ahead)) return;
    messages_[id].port = static_cast<std::uint8_t>(kLinks + port);
    return push(now_ + ahead, Step::kFetch, id);
  } else {
    const Time turn = spec_.cycles(spec_.noc_turn_cycles);
    if (!enter(id, unit_of_mailbox(m, kEjectUnit), Step::kHop, occupied + turn, ahead)) return;
    return push(now_ + ahead, Step::kReceive, id);
  }
  if (!enter(id, unit_of_mailbox(m, static_cast<std::size_t>(direction)), Step::kHop, occupied, ahead))
    return;
  messages_[id].mailbox = static_cast<std::uint8_t>(next);
  push(now_ + ahead, Step::kHop, id);
}

bool Machine::has_full_ring(const Mailbox& box, const MailboxMessage& m) const {
  if (software_ == nullptr || !software_->reports_pointers() || m.idle_token) return false;
  // A multicast waits until all of its rings have room, as one message.
  for (std::uint64_t rest = m.to.mask; rest != 0; rest &= rest - 1) {
    if (box.pointers[static_cast<std::size_t>(std::countr_zero(rest))] == kReceivePointers) return true;
  }
  return false;
}

void Machine::on_pointer_taken(const ThreadLocation& place) {
  Mailbox& box = boards_[place.board].mailboxes[place.mailbox];
  --box.pointers[place.thread];
  // The waiting message checks all conditions again.
  if (box.waiting != kNone) push(now_, Step::kReceive, std::exchange(box.waiting, kNone));
}

/// A message waits for a free slot in the mailbox, for room in rings, and for cores with too many pointers.
void Machine::receive(std::uint32_t id) {
  Moving& m = messages_[id];
  Mailbox& box = mailbox(m);
  if (box.slots == kReceiveSlots) {
    ++counters_.slot_waits;
    box.waiting = id;
    return;
  }
  if (has_full_ring(box, m)) {
    box.waiting = id;
    return;
  }
  for (int core = 0; core < kCores; ++core) {
    if (((m.to.mask >> (core * kThreadsPerCore)) & 0xffffU) == 0) continue;
    // Each pointer takes two cycles, so the end of the core's work shows how many are queued.
    const Time room =
        box.fan[static_cast<std::size_t>(core)].free_at() - spec_.cycles(2 * std::int64_t{buffers_.pointers});
    if (room > now_) return push(room, Step::kReceive, id);
  }
  leave(m);
  deliver(id);
}

/// One slot for all destination threads. Each core delivers its own pointers serially: 1 + 2k cycles.
void Machine::deliver(std::uint32_t id) {
  const MailboxMessage message = messages_[id];
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
  // Pointers are sent once the whole message is stored.
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
      if (!message.idle_token) ++box.pointers[static_cast<std::size_t>(thread)];
      delivery.pointer[static_cast<std::size_t>(thread)] = begin + spec_.cycles(1 + 2 * k);
    }
  }
  if (software_ != nullptr) software_->delivered(delivery);
}

void Machine::free(Time at, std::uint32_t slot) {
  Slot& held = slots_[slot];
  // Two cycles of the mailbox per free; its port is mostly idle, so frees do not queue for it.
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
  // A slot is free, so the message that waited may enter now.
  if (box.waiting != kNone) receive(std::exchange(box.waiting, kNone));
}

}  // namespace offramp::tinsel
