// Events are identified by their index in events_. The network reports with crossed(), at or after the first
// byte; the event is then processed at its own time.
#include "simulators/sharp/machine.hpp"

#include <algorithm>

namespace offramp::sharp {
namespace {

std::size_t place(int index) {
  return static_cast<std::size_t>(index);
}

}  // namespace

void Machine::later_on(Time at, const Event& event) {
  if (unused_.empty()) {
    unused_.push_back(static_cast<std::uint32_t>(events_.size()));
    events_.emplace_back();
  }
  const std::uint32_t number = unused_.back();
  unused_.pop_back();
  events_[number] = event;
  event_sink_.schedule(at, number);
}

Machine::Event Machine::event_of(std::uint32_t number) {
  unused_.push_back(number);
  return events_[number];
}

void Machine::step(Time at, std::uint32_t number) {
  const Event event = event_of(number);
  switch (event.kind) {
    case EventKind::kEnter:
      return on_enter(event.operation, event.at, at);
    case EventKind::kSend:
      return on_send(event, at);
    case EventKind::kArrive:
      return on_arrive(event, at);
    case EventKind::kCombine:
      return on_combine(event, at);
    case EventKind::kSpread:
      return on_spread(event, at);
    case EventKind::kDeliver:
      return on_deliver(event, at);
    case EventKind::kDone:
      return on_done(event, at);
  }
}

/// Processes a packet once it is complete, a stream from its first byte.
void Machine::crossed(std::uint32_t number, Time first, Time last) {
  Event event = event_of(number);
  event.first = first;
  event.last = last;
  later_on(at(event.operation).request.streams ? first : last, event);
}

// --- members of a piece ---

Machine::Range Machine::range(const Operation& o, PieceMembers part, std::size_t begin,
                              std::size_t bytes) const {
  const int all = static_cast<int>(o.posted.size());
  if (part == PieceMembers::kRoot) return {o.request.root, o.request.root + 1};
  // Without blocks, every member takes part in every piece.
  if (part == PieceMembers::kAll || o.request.block == 0 || bytes == 0) return {0, all};
  const std::vector<int>& before = o.group->before;
  // A member has the consecutive ranks from before[member] on.
  const auto member_at = [&](std::size_t byte) {
    const auto rank = static_cast<int>(byte / o.request.block);
    return static_cast<int>(std::upper_bound(before.begin(), before.end(), rank) - before.begin()) - 1;
  };
  return {member_at(begin), member_at(begin + bytes - 1) + 1};
}

Machine::Range Machine::contributors(const Operation& o, int piece) const {
  if (is_arming(o, piece)) return {0, 1};
  return range(o, o.request.from, place(piece) * o.step, bytes_of(o, piece));
}

Machine::Range Machine::receivers(const Operation& o, int piece) const {
  return range(o, is_arming(o, piece) ? PieceMembers::kAll : o.request.to, place(piece) * o.step,
               bytes_of(o, piece));
}

std::size_t Machine::bytes_of(const Operation& o, int piece) const {
  if (is_arming(o, piece)) return 0;
  return std::min(o.step, o.request.bytes - std::min(o.request.bytes, place(piece) * o.step));
}

std::size_t Machine::own_bytes(const Operation& o, int piece, int member) const {
  // The overlap of the piece with the blocks of the member's ranks.
  const std::size_t begin = place(piece) * o.step;
  const std::size_t end = begin + bytes_of(o, piece);
  const std::size_t own_begin = place(o.group->before[place(member)]) * o.request.block;
  const std::size_t own_end = place(o.group->before[place(member) + 1]) * o.request.block;
  const std::size_t from = std::max(begin, own_begin);
  const std::size_t to = std::min(end, own_end);
  return to > from ? to - from : 0;
}

/// Returns the piece's state. Creates it with the operands of each switch and the bytes on its links.
Machine::Piece& Machine::piece_of(Operation& o, int number) {
  const auto [found, is_new] = o.under_way.try_emplace(number);
  Piece& piece = found->second;
  if (!is_new) return piece;
  const Tree& tree = o.group->tree;
  const Range to = receivers(o, number);
  piece.open = to.end - to.first;
  piece.bytes = bytes_of(o, number);
  piece.stations.resize(tree.switches.size());
  // Visits the switches from each member up to the root, or until visit() returns false.
  const auto walk = [&](Range members, PieceMembers part, auto visit) {
    for (int member = members.first; member < members.end; ++member) {
      const std::size_t bytes = part == PieceMembers::kOwner ? own_bytes(o, number, member) : piece.bytes;
      bool on = true;
      for (int at = tree.of_member[place(member)]; on && at >= 0; at = tree.switches[place(at)].parent)
        on = visit(piece.stations[place(at)], bytes);
    }
  };
  const bool gathers = o.request.from == PieceMembers::kOwner && !is_arming(o, number);
  walk(contributors(o, number), o.request.from, [&](Station& station, std::size_t bytes) {
    const bool is_first = station.expected++ == 0;
    // A sum is as long as its operands. Gathered blocks accumulate towards the root.
    station.up = gathers ? station.up + bytes : bytes;
    return is_first;
  });
  if (gathers) {
    // The walk above stops at switches that another member has passed; these sums need all members.
    for (Station& station : piece.stations) station.up = 0;
    walk(contributors(o, number), PieceMembers::kOwner, [](Station& station, std::size_t bytes) {
      station.up += bytes;
      return true;
    });
  }
  const bool scatters = o.request.to == PieceMembers::kOwner && !is_arming(o, number);
  walk(to, o.request.to, [&](Station& station, std::size_t bytes) {
    const bool is_first = station.down == 0;
    // At least 1, since on_spread() leaves out switches with 0.
    station.down = scatters ? station.down + bytes : std::max<std::size_t>(bytes, 1);
    return scatters || is_first;
  });
  return piece;
}

// --- times ---

/// Bytes including framing. A stream uses only a share of the link for payload.
std::size_t Machine::on_wire(const Operation& o, std::size_t bytes) const {
  if (!o.request.streams) return bytes + spec_.header;
  const double share = static_cast<double>(spec_.link.count()) / static_cast<double>(spec_.stream.count());
  return static_cast<std::size_t>(static_cast<double>(bytes) * share) + 1;
}

Time Machine::port_time(const Operation& o, std::size_t bytes) const {
  return spec_.link.bytes(static_cast<std::int64_t>(on_wire(o, bytes)));
}

Arbiter& Machine::engine(const Operation& o, int place_) {
  return engines_[o.group->tree.switches[place(place_)].number];
}

// --- the beginning of an operation ---

std::uint32_t Machine::begin(std::shared_ptr<Group> group, const Request& request, Observer& observer) {
  const std::uint32_t id = next_++;
  auto made = std::make_unique<Operation>();
  Operation& o = *made;
  const std::size_t members = group->leaders.size();
  group->members.resize(members);
  o.group = std::move(group);
  o.request = request;
  o.observer = &observer;
  constexpr std::size_t kMostChunks = 1024;  // longer streams have longer chunks
  const double share = static_cast<double>(spec_.stream.count()) / static_cast<double>(spec_.link.count());
  const auto chunk = std::max<std::size_t>(static_cast<std::size_t>(share * (kStreamTrain - 1)), 1);
  const std::size_t chunks = (request.bytes / kMostChunks + chunk) / chunk;
  o.step = std::max<std::size_t>(request.streams ? chunks * chunk : spec_.payload, 1);
  o.pieces = static_cast<int>(std::max<std::size_t>((request.bytes + o.step - 1) / o.step, 1));
  o.undone = static_cast<int>(members);
  // Negative until the member enters.
  o.posted.assign(members, Time::ps(-1));
  o.left.assign(members, 0);
  o.unsent.assign(members, 0);
  o.finished.assign(members, Time());
  o.armed.assign(members, !spec_.arms);
  for (int piece = 0; piece < o.pieces + (spec_.arms ? 1 : 0); ++piece) {
    const Range to = receivers(o, piece);
    o.open += place(to.end - to.first);
    if (is_arming(o, piece)) continue;
    for (int m = to.first; m < to.end; ++m) ++o.left[place(m)];
    const Range from = contributors(o, piece);
    for (int m = from.first; m < from.end; ++m) ++o.unsent[place(m)];
  }
  o.runs = !takes_turns(o);
  operations_.emplace(id, std::move(made));
  return id;
}

void Machine::enter(std::uint32_t operation, int member, Time posted) {
  later_on(posted, {EventKind::kEnter, operation, member, 0, {}, {}, 0});
}

void Machine::on_enter(std::uint32_t id, int member, Time now) {
  Operation& o = at(id);
  o.posted[place(member)] = now;
  ++o.entered;
  if (o.runs) {
    o.granted = now;
    return release(id, member, now);
  }
  if (o.entered < static_cast<int>(o.posted.size())) return;
  // Only complete operations wait for switches, so that none owns a switch while it waits for members.
  turns_.push_back(id);
  run_those_that_can(now);
}

/// Starts operations in the order in which they became complete. An operation that waits for a switch blocks
/// later ones that need the same switch.
void Machine::run_those_that_can(Time now) {
  std::set<std::pair<bool, int>> wanted = busy_;
  for (auto turn = turns_.begin(); turn != turns_.end();) {
    const Operation& o = at(*turn);
    bool is_free = true;
    std::vector<std::pair<bool, int>> needed;
    for (const Tree::Switch& each : o.group->tree.switches)
      needed.emplace_back(o.request.streams, each.number);
    for (const auto& unit : needed) is_free = is_free && !wanted.contains(unit);
    wanted.insert(needed.begin(), needed.end());
    if (!is_free) {
      ++turn;
      continue;
    }
    busy_.insert(needed.begin(), needed.end());
    const std::uint32_t id = *turn;
    turn = turns_.erase(turn);
    run(id, now);
  }
}

void Machine::run(std::uint32_t id, Time now) {
  Operation& o = at(id);
  o.runs = true;
  o.granted = now;
  for (int member = 0; member < static_cast<int>(o.posted.size()); ++member) release(id, member, now);
}

/// Begins a member's part once it has entered and the operation runs: its packets queue, or its stream
/// begins.
void Machine::release(std::uint32_t id, int member, Time now) {
  Operation& o = at(id);
  if (spec_.arms && member == 0 && !o.armed[0]) {
    o.armed[0] = true;
    later_on(now + spec_.post, {EventKind::kSend, id, 0, o.pieces, {}, {}, 0});
  }
  if (!o.armed[place(member)]) return;
  if (o.unsent[place(member)] == 0) return check_member(id, member, now);
  int piece = 0;
  while (!contributors(o, piece).has(member)) ++piece;
  if (o.request.streams) {
    const Time start = now + spec_.stream_start + spec_.fetch;
    return later_on(start, {EventKind::kSend, id, member, piece, {}, {}, 0});
  }
  o.group->members[place(member)].postings.push_back({id, piece});
  post_next(*o.group, member, now);
}

/// Posts packets as long as fewer than `outstanding` wait for results.
void Machine::post_next(Group& group, int member, Time now) {
  Group::Member& own = group.members[place(member)];
  while (!own.postings.empty() && own.waiting < spec_.outstanding) {
    Group::Posting& posting = own.postings.front();
    const Operation& o = at(posting.operation);
    ++own.waiting;
    own.processor = later(own.processor, now) + spec_.post;
    const bool is_fetched = bytes_of(o, posting.next) > spec_.inline_limit;
    later_on(own.processor + (is_fetched ? spec_.fetch : Time()),
             {EventKind::kSend, posting.operation, member, posting.next, {}, {}, 0});
    do {
      ++posting.next;
    } while (posting.next < o.pieces && !contributors(o, posting.next).has(member));
    if (posting.next >= o.pieces) own.postings.pop_front();
  }
}

// --- a piece ---

void Machine::on_send(const Event& event, Time now) {
  Operation& o = at(event.operation);
  const int member = event.at;
  const bool gathers = o.request.from == PieceMembers::kOwner && !is_arming(o, event.piece);
  const std::size_t bytes = gathers ? own_bytes(o, event.piece, member) : bytes_of(o, event.piece);
  const Resources ports = event_sink_.ports(o.group->leaders[place(member)]);
  const Time time = port_time(o, bytes);
  const Arbiter::Grant grant = ports.occupy(kPortOut, now, time, on_wire(o, bytes));
  ++wire_.packets;
  wire_.payload_bytes += bytes;
  wire_.wire_bytes += on_wire(o, bytes);
  const Time way = half_way();
  const auto to = o.group->tree.of_member[place(member)];
  const Time first = grant.begin + way;
  Event arrival{EventKind::kArrive, event.operation, to, event.piece, first, grant.end + way, bytes};
  later_on(o.request.streams ? arrival.first : arrival.last, arrival);
  if (is_arming(o, event.piece)) return;
  // Without a result, the member is done once its switch has acknowledged the piece.
  if (--o.unsent[place(member)] == 0) {
    o.finished[place(member)] = later(o.finished[place(member)], grant.end + spec_.latency);
    check_member(event.operation, member, now);
    return;
  }
  if (!o.request.streams) return;
  int next = event.piece + 1;
  while (!contributors(o, next).has(member)) ++next;
  later_on(grant.end, {EventKind::kSend, event.operation, member, next, {}, {}, 0});
}

void Machine::on_arrive(const Event& event, Time now) {
  Operation& o = at(event.operation);
  Station& station = piece_of(o, event.piece).stations[place(event.at)];
  Time first = event.first;
  Time last = event.last;
  if (!o.request.streams) {
    // All operands pass the node's one port, one by one.
    const Time service = spec_.engine.bytes(static_cast<std::int64_t>(on_wire(o, event.bytes)));
    first = last = engine(o, event.at).acquire(now, service).end;
  }
  if (station.came++ == 0) station.since = now;
  station.first = later(station.first, first);
  station.last = later(station.last, last);
  if (station.came < station.expected) return;
  Time delay = o.request.streams ? spec_.stream_latency : spec_.engine_latency;
  // The node adds only after the last operand, and all additions delay the sum.
  if (spec_.reproducible && !o.request.streams)
    delay += spec_.engine.bytes(static_cast<std::int64_t>(event.bytes)) * (station.expected - 1);
  if (spec_.time_out > Time() && now - station.since > spec_.time_out) {
    // The switch has passed on partial sums, and the root's processor adds them packet by packet.
    delay += spec_.latency + spec_.post * static_cast<std::int64_t>(station.expected);
  }
  station.first += delay;
  station.last += delay;
  later_on(station.first,
           {EventKind::kCombine, event.operation, event.at, event.piece, station.first, station.last, 0});
}

void Machine::on_combine(const Event& event, Time now) {
  Operation& o = at(event.operation);
  const Tree::Switch& own = o.group->tree.switches[place(event.at)];
  Event next = event;
  if (own.parent < 0) {
    next.kind = EventKind::kSpread;
    return on_spread(next, now);
  }
  next.kind = EventKind::kArrive;
  next.at = own.parent;
  next.bytes = piece_of(o, event.piece).stations[place(event.at)].up;
  const std::size_t bytes = on_wire(o, next.bytes);
  // The last byte leaves no earlier than it is summed, and no faster than the link allows.
  const Time last = later(event.last, now + spec_.link.bytes(static_cast<std::int64_t>(bytes)));
  ++wire_.packets;
  wire_.payload_bytes += next.bytes;
  wire_.wire_bytes += bytes;
  events_.push_back(next);
  // The network determines the event's time, see crossed().
  event_sink_.cross(own.up, bytes, now, last, static_cast<std::uint32_t>(events_.size() - 1));
}

void Machine::on_spread(const Event& event, Time now) {
  Operation& o = at(event.operation);
  const Piece& piece = piece_of(o, event.piece);
  const bool scatters = o.request.to == PieceMembers::kOwner && !is_arming(o, event.piece);
  // Streams and arming packets are always copied by the switch itself.
  const bool copies = spec_.multicast || o.request.streams || is_arming(o, event.piece);
  const Range members = receivers(o, event.piece);
  for (const Tree::Input& input : o.group->tree.switches[place(event.at)].inputs) {
    if (input.is_member ? !members.has(input.index) : piece.stations[place(input.index)].down == 0) continue;
    std::size_t bytes = piece.bytes;
    if (scatters) {
      bytes =
          input.is_member ? own_bytes(o, event.piece, input.index) : piece.stations[place(input.index)].down;
    }
    Event next = event;
    next.at = input.index;
    next.bytes = bytes;
    // The node sends one packet per input, and each occupies its port.
    if (!copies) {
      const Time service = spec_.engine.bytes(static_cast<std::int64_t>(on_wire(o, bytes)));
      const Arbiter::Grant grant = engine(o, event.at).acquire(now, service);
      next.first = next.last = input.is_member ? grant.end : grant.end + spec_.engine_latency;
    }
    next.kind = input.is_member ? EventKind::kDeliver : EventKind::kSpread;
    if (input.is_member) {
      const Time way = half_way();
      next.first += way;
      next.last += way;
      later_on(o.request.streams ? next.first : next.last, next);
      continue;
    }
    const std::size_t wire = on_wire(o, bytes);
    const Time first = later(now, next.first);
    const Time last = later(next.last, first + spec_.link.bytes(static_cast<std::int64_t>(wire)));
    ++wire_.packets;
    wire_.payload_bytes += bytes;
    wire_.wire_bytes += wire;
    events_.push_back(next);
    event_sink_.cross(o.group->tree.switches[place(input.index)].down, wire, first, last,
                      static_cast<std::uint32_t>(events_.size() - 1));
  }
}

void Machine::on_deliver(const Event& event, Time now) {
  Operation& o = at(event.operation);
  const Resources ports = event_sink_.ports(o.group->leaders[place(event.at)]);
  const Arbiter::Grant grant = ports.occupy(kPortIn, now, port_time(o, event.bytes), on_wire(o, event.bytes));
  ++wire_.packets;
  wire_.payload_bytes += event.bytes;
  wire_.wire_bytes += on_wire(o, event.bytes);
  Event next = event;
  next.kind = EventKind::kDone;
  later_on(later(grant.end, event.last), next);
}

/// A negative piece: nothing was delivered, but everything is sent.
void Machine::on_done(const Event& event, Time now) {
  const auto found = operations_.find(event.operation);
  // check_member() can schedule the same end twice.
  if (found == operations_.end()) return;
  Operation& o = *found->second;
  const int member = event.at;
  if (event.piece >= 0) {
    --o.open;
    if (--piece_of(o, event.piece).open == 0) o.under_way.erase(event.piece);
    if (is_arming(o, event.piece)) {
      // A member that entered before the arming packet came begins now.
      const bool waits = !o.armed[place(member)];
      o.armed[place(member)] = true;
      if (waits && o.runs && o.posted[place(member)] >= Time()) release(event.operation, member, now);
      return check_member(event.operation, member, now);
    }
    --o.left[place(member)];
    o.finished[place(member)] = later(o.finished[place(member)], now);
    if (!o.request.streams && contributors(o, event.piece).has(member)) {
      Group::Member& own = o.group->members[place(member)];
      --own.waiting;
      post_next(*o.group, member, now);
    }
  }
  check_member(event.operation, member, now);
}

/// Completes a member that is done, and the operation with its last member.
void Machine::check_member(std::uint32_t id, int member, Time now) {
  Operation& o = at(id);
  const std::size_t m = place(member);
  const bool is_over = o.posted[m] >= Time() && o.left[m] == 0 && o.unsent[m] == 0 && o.armed[m];
  if (is_over && o.finished[m] > now) {
    later_on(o.finished[m], {EventKind::kDone, id, member, -1, {}, {}, 0});
  } else if (is_over) {
    o.left[m] = -1;  // once
    --o.undone;
    o.observer->done(member, later(o.granted, o.posted[m]), later(now, o.posted[m]));
  }
  if (o.undone > 0 || o.open > 0) return;
  const bool had_turn = takes_turns(o);
  if (had_turn) {
    for (const Tree::Switch& each : o.group->tree.switches) busy_.erase({o.request.streams, each.number});
  }
  operations_.erase(id);
  if (had_turn) run_those_that_can(now);
}

}  // namespace offramp::sharp
