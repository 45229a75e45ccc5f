// The path of a message through a world: its stages as events, the holds it owns, and its matching.
//
//   issue()      the program sends; pushes kDepart.
//   depart()     the sender's device begins, once the message owns the sender's hold. Without a request the
//                data leaves: transmit(). With one, pushes kRequested at the receiver.
//   requested()  matches the envelope. kGranted: the device answers at once. kRendezvous: it answers when the
//                receive is posted; until then park() releases the sender's hold.
//   grant()      the receiver's device answers, once the message owns the receiver's hold; pushes kAnswered.
//   answered()   the sender's device sends the data: transmit().
//   arrived()    the network reports the times of the first and the last byte; pushes kArrive.
//   arrive()     the data is stored. Data without a request is matched now: envelope(), deliver(), attach().
//   done()       completes the send or the receive, and resumes the coroutine that waits for it.
//
// world_access.cpp begins and ends transfers that no program receives.
//
// Passage::again is negative when a stage is called for the first time. A stage that sets it is repeated then
// (waits()).
#include <fmt/core.h>

#include <memory>
#include <type_traits>
#include <utility>

#include "simulators/world/world_team.hpp"

namespace offramp::world {

Message& Core::make_message() {
  static_assert(std::is_trivially_destructible_v<Message>);
  Message& message = *std::construct_at(&pool_.acquire());
  ++messages_;
  if (audit_ != nullptr) audit_->sent();
  return message;
}

void Core::free(Message& message) {
  if (audit_ != nullptr) audit_->received();
  pool_.release(message);
}

/// With faulty wires, messages of collectives are numbered separately, as in a live run. The program's
/// messages then have the same faults there and here, whatever messages the algorithms send.
inline std::uint32_t Core::next_number(Flow& flow, const SendArguments& arguments, int source) {
  if (faulty_ && arguments.context % 2 != 0)
    return kFirstOfCollectives + further_numbers_[{source, ~arguments.destination, arguments.backend}]++;
  if (arguments.backend < kInline) [[likely]]
    return flow.issued[arguments.backend]++;
  return further_numbers_[{source, arguments.destination, arguments.backend}]++;
}

Time Core::send_observed(Rank& source, Operation& send, const SendArguments& arguments, Time at) {
  send.number() = ++source.operations;
  const std::uint64_t number = source.id_of(send);
  WorldLog* const log = options_.log;
  if (log == nullptr) return issue(source, send, arguments, at);
  if (arguments.collective != 0) {
    log->add_part(source.number(), number, arguments.collective);
  } else {
    log->used(source.number(), number);
  }
  log->began(number, {OperationKind::kSend, arguments.bytes, arguments.destination, arguments.tag,
                      arguments.context});
  const Time host_free = issue(source, send, arguments, at);
  if (arguments.token == nullptr) log->host(source.number(), number, "send", at, later(at, host_free));
  return host_free;
}

Time Core::issue(Rank& source, Operation& send, const SendArguments& arguments, Time at) {
  Message& message = make_message();
  message.source = &source;
  message.destination = &rank(arguments.destination);
  message.source_in_group = arguments.source_in_group;
  message.backend = arguments.backend;
  message.handling = arguments.handling;
  message.send = &send;
  message.key = {arguments.context, source.number(), arguments.tag};
  Flow& flow = source.flow(arguments.destination);
  message.flow = &flow;
  (flow.tail != nullptr ? flow.tail->next_in_flow : flow.head) = &message;
  flow.tail = &message;
  ++source.on_their_way;

  Transfer& transfer = message.transfer;
  transfer.source = source.number();
  transfer.destination = arguments.destination;
  transfer.bytes = arguments.bytes;
  transfer.element = arguments.element;
  transfer.tag = arguments.tag;
  transfer.context = arguments.context;
  transfer.synchronous = arguments.synchronous;
  transfer.signal = arguments.signal;
  transfer.footprint = arguments.footprint;
  transfer.number = next_number(flow, arguments, transfer.source);
  transfer.operation = is_observed_ ? source.id_of(send) : 0;

  Passage& passage = message.passage;
  passage.issued = at;
  passage.failed = arguments.failed;
  if (arguments.token != nullptr) {
    message.token = true;
    passage.first = arguments.token->first;
    passage.last = arguments.token->last;
    transfer.detail = arguments.token->detail | (arguments.failed ? Stamp::kFailed : 0);
    cross_token(message, arguments.latency);
    sent(message, at);
    return at;
  }
  const Device& own = device(source, arguments.backend);
  own.backend->issue(transfer, passage);
  if (passage.protocol == Protocol::kConfirmed) clocks_may_lag();
  if (options_.stragglers != nullptr && arguments.by_processor) delay_sender(source, passage);
  if (transfer.source == transfer.destination) return send_local(message);
  const Time begin = later(passage.begin, now_);
  const bool departs = departs_now(source, send, message, begin);
  ++source.departing;
  const Time host_free = passage.host_free;
  if (departs) {
    depart(message, begin);
  } else {
    push(begin, source, EventKind::kDepart, &message, source.next_departure());
  }
  if (passage.complete >= Time() && !faulty_) sent(message, passage.complete);
  return host_free;
}

/// Delays a message by what stragglers add to its issue on the sender's processor.
void Core::delay_sender(Rank& rank, Passage& passage) {
  const Time free = processed(rank, passage.issued, passage.host_free - passage.issued);
  const Time delay = free - passage.host_free;
  passage.host_free = free;
  passage.begin += delay;
  if (passage.complete >= Time()) passage.complete += delay;
}

/// Models a message of a rank to itself as a copy in its memory.
Time Core::send_local(Message& message) {
  Passage& passage = message.passage;
  message.local = true;
  message.is_stored = true;
  passage.stored =
      passage.host_free + message.source->device(message.backend).backend->copy_time(message.transfer.bytes);
  passage.complete = passage.stored;
  push(later(passage.host_free, now_), *message.destination, EventKind::kArrive, message);
  const Time host_free = passage.host_free;
  if (!message.transfer.synchronous) sent(message, passage.complete);
  return host_free;
}

void Core::has_wires_of_its_own(const BackendDescription& backend) {
  if (options_.network == nullptr || !declined_.empty()) return;
  declined_ = fmt::format(
      "{} has its own links, which no other network can replace: use the topology \"star\", or route these "
      "operations to the host",
      backend.name);
}

/// Records when the receiver's answer arrives; the send completes then or later.
void Core::note_answer(Message& message, Time at) {
  if (message.send != nullptr) message.send->posted = at;
}

/// Completes the send. This may resume, and even end, its program.
void Core::sent(Message& message, Time at) {
  Operation* const send = std::exchange(message.send, nullptr);
  if (send == nullptr) return;
  if (message.passage.failed) send->outcome = Outcome::kFault;
  done(*send, at);
}

void Core::done(Operation& operation, Time at) {
  operation.done = true;
  operation.done_at = at;
  if (operation.in_set) return operation.set->completed(operation);
  if (operation.waiter != nullptr && operation.in_turn) return resume(operation, at);
  if (operation.waiter != nullptr) return std::exchange(operation.waiter, nullptr).resume();
  if (operation.given_up) discard(operation);
}

void Core::abandon(Operation& operation) {
  if (operation.done) return discard(operation);
  operation.given_up = true;
  given_up_.insert(&operation);
}

/// Deletes a completed operation whose program has given it up.
void Core::discard(Operation& operation) {
  if (operation.kind == Operation::Kind::kReceive && operation.message() != nullptr)
    free(*operation.message());
  given_up_.erase(&operation);
  if (operation.by_thread) --operation.rank->by_thread;
  delete &operation;
}

/// Returns whether the departure gives the same times now as in an event at `at`: nothing else uses its units
/// before. The rank itself can use them only after. Its program, or its only collective while the program
/// waits for it, is the only sender, and everything that was sent before has left.
bool Core::departs_now(Rank& source, const Operation& send, const Message& message, Time at) {
  const Member& member = members_[message.backend];
  if (member.departures == nullptr || message.passage.protocol != Protocol::kDirect || source.departing > 0 ||
      open_accesses_ > 0 || source.has_threads())
    return false;
  if (send.collective == nullptr ? source.collectives > 0
                                 : source.collectives > 1 || !send.collective->has_program_waiting())
    return false;
  return at < now_ + member.departures->notice(message.transfer, at,
                                               view(device(source, message.backend), member));
}

/// at: now, or later if departs_now().
void Core::depart(Message& message, Time at) {
  const Device& own = message.source->device(message.backend);
  Passage& passage = message.passage;
  if (own.sending != nullptr && !message.holds_sender) {
    if (!acquire(*own.sending, message)) return;
    message.holds_sender = true;
  }
  if (passage.again < Time()) passage.begin = at;
  const bool was_failed = passage.failed;
  const bool was_taken = passage.complete >= Time();
  const Time asked = passage.again;
  own.backend->depart(message.transfer, passage, view(own, members_[message.backend]));
  if (waits(message, asked, *message.source, EventKind::kDepart)) return;
  if (passage.failed && !was_failed) count_failure(*message.source);
  if (passage.waits_for_answer()) {
    passage.requested += farther(message.transfer);
    push(passage.requested, *message.destination, EventKind::kRequested, message);
    if (passage.complete >= Time() && !was_taken) sent(message, passage.complete);
    return;
  }
  has_left(message);
  if (message.holds_sender) release_sender(message, passage.free_at());
  if (passage.protocol == Protocol::kDirect && message.is_received()) sent(message, passage.complete);
}

bool Core::waits(Message& message, Time asked, Rank& rank, EventKind kind) {
  Time& again = message.passage.again;
  if (again == asked) {
    again = Time::ps(-1);
    return false;
  }
  if (kind == EventKind::kDepart) {
    push(later(again, now_), rank, kind, &message, rank.next_departure());
  } else {
    push(later(again, now_), rank, kind, message);
  }
  return true;
}

/// The sender's device has sent the data.
void Core::has_left(Message& message) {
  if (message.is_received()) --message.source->departing;
  transmit(message);
  if (is_observed_) record_sender(message);
}

void Core::record_sender(const Message& message) const {
  Backend& backend = *message.source->device(message.backend).backend;
  if (backend.records()) backend.record_sender(message.transfer, message.passage);
}

/// Sends the message over the network to the receiver.
void Core::transmit(Message& message) {
  Passage& passage = message.passage;
  const Transfer& transfer = message.transfer;
  const Parcel parcel{transfer.source,
                      transfer.destination,
                      numbers_apart_ * transfer.number + message.backend,
                      transfer.bytes,
                      passage.leaves,
                      passage.left,
                      passage.latency,
                      &message};
  if (options_.network != nullptr) return options_.network->carry(parcel, *this);
  arrived(parcel, passage.leaves + passage.latency, passage.left + passage.latency, Time());
}

/// A token without latency bypasses the network and arrives at once.
void Core::cross_token(Message& message, Time latency) {
  Passage& passage = message.passage;
  message.crosses = latency >= Time();
  if (message.crosses) {
    passage.latency = latency;
    passage.leaves = passage.first - latency;
    passage.left = passage.last - latency;
    return transmit(message);
  }
  if (message.source != message.destination) has_wires_of_its_own(*members_[message.backend].description);
  push(now_, *message.destination, EventKind::kArrive, message);
}

void Core::arrived(const Parcel& parcel, Time first, Time last, Time waited) {
  if (parcel.link != Parcel::kNoLink) {
    auto& crossing = *static_cast<Devices::Crossing*>(parcel.message);
    const Devices::Crossing done = crossing;
    done.devices->crossings_.release(crossing);
    return done.work->crossed(done.number, first, last);
  }
  Message& message = *static_cast<Message*>(parcel.message);
  message.shared = waited;
  if (waited > Time() && options_.spans != nullptr)
    options_.spans->record(
        {kNetworkUnit, kSharedLink, last - waited, last, message.transfer.operation, parcel.destination});
  message.passage.first = first;
  message.passage.last = last;
  if (message.token) message.destination->tokens.add(later(now_, first));
  push(later(now_, first), *message.destination, EventKind::kArrive, message);
}

/// Called by the network.
void Core::call(Time at, const Parcel& parcel, void* what) {
  push(at, parcel.source, EventKind::kNetwork, what,
       order_of(EventKind::kRelease, parcel.destination, parcel.number));
}

void Core::requested(Message& message) {
  envelope(message);
  message.was_requested = true;
  if (message.passage.protocol == Protocol::kGranted) return grant(message);
  on_request(message);
}

/// Processes a request at the receiver once its processor or device is available for it.
void Core::on_request(Message& message) {
  const Event event{&message, EventKind::kRequested};
  const std::uint64_t order = order_at(message.transfer.source, event.kind, message);
  if (!is_served(*message.destination, members_[message.backend].answers, event, order)) return park(message);
  if (!message.is_received()) return combine(message);
  message.was_seen = true;
  if (message.receive != nullptr && message.receive->posted <= now_) return grant(message);
  park(message);
  if (message.receive != nullptr)
    push(message.receive->posted, *message.destination, EventKind::kGranted, message);
}

/// Releases the sender's device for other messages while the receiver is not ready.
void Core::park(Message& message) {
  if (!message.holds_sender) return;
  message.parked = true;
  release_sender(message, now_);
}

void Core::grant(Message& message) {
  const Device& other = device(*message.destination, message.backend);
  if (other.receiving != nullptr && !message.holds_receiver) {
    if (!acquire(*other.receiving, message)) return park(message);
    message.holds_receiver = true;
  }
  if (message.passage.again < Time()) message.passage.granted = now_;
  const Time asked = message.passage.again;
  other.backend->answer(message.transfer, message.passage, view(other, members_[message.backend]));
  if (waits(message, asked, *message.destination, EventKind::kGranted)) return;
  message.passage.answered += farther(message.transfer);
  push(message.passage.answered, *message.source, EventKind::kAnswered, message);
}

void Core::answered(Message& message) {
  const Device& own = message.source->device(message.backend);
  Passage& passage = message.passage;
  if (message.parked && !message.holds_sender) {
    if (!acquire(*own.sending, message)) return;
    message.holds_sender = true;
  }
  if (passage.again < Time()) passage.answered = now_;
  const bool was_failed = passage.failed;
  const Time asked = passage.again;
  own.backend->transmit(message.transfer, passage, view(own, members_[message.backend]));
  if (waits(message, asked, *message.source, EventKind::kAnswered)) return;
  if (passage.failed && !was_failed) count_failure(*message.destination);
  own.backend->count(message.transfer, passage);
  has_left(message);
  if (message.holds_sender) release_sender(message, passage.free_at());
  if (!passage.notified && message.is_received()) answered_send(message);
}

void Core::answered_send(Message& message) {
  const Passage& passage = message.passage;
  if (passage.protocol == Protocol::kRendezvous) note_answer(message, passage.complete);
  sent(message, passage.complete);
}

/// Notifies the sender of a message that has arrived. The network delays this twice: by what it added to the
/// data, and by the longer way back.
void Core::notify(Message& message) {
  Passage& passage = message.passage;
  passage.complete += passage.last - (passage.left + passage.latency) + farther(message.transfer);
  answered_send(message);
}

void Core::arrive(Message& message) {
  if ((message.token && !message.crosses) || message.local) return envelope(message);
  const Device& other = device(*message.destination, message.backend);
  const Member& member = members_[message.backend];
  Passage& passage = message.passage;
  const Time asked = passage.again;
  if (passage.notified && asked < Time() && message.is_received()) notify(message);
  other.backend->arrive(message.transfer, passage, view(other, member));
  if (waits(message, asked, *message.destination, EventKind::kArrive)) return;
  message.is_stored = true;
  if (message.token) message.destination->tokens.remove();
  if (message.holds_receiver) {
    (void)view(other, member).occupy(member.receiver_hold, passage.granted, passage.stored - passage.granted);
    push(passage.stored, *message.destination, EventKind::kReleaseReceiver, other.receiving,
         order_of(EventKind::kReleaseReceiver, message.transfer.source, message.transfer.number));
  }
  if (!message.is_received()) {
    if (passage.by_processor > Time()) interrupt(*message.destination, passage.by_processor);
    return end_transfer(message);
  }
  if (!passage.waits_for_answer()) return envelope(message);
  if (message.receive != nullptr) done(*message.receive, later(passage.stored, message.receive->posted));
  if (passage.by_processor > Time()) interrupt(*message.destination, passage.by_processor);
}

// --- what one message holds at a time ---

bool Core::acquire(Hold& hold, Message& message) {
  if (hold.owner == nullptr) {
    hold.owner = &message;
    message.held_since = now_;
    return true;
  }
  message.next_waiting = nullptr;
  (hold.last_waiting != nullptr ? hold.last_waiting->next_waiting : hold.first_waiting) = &message;
  hold.last_waiting = &message;
  return false;
}

void Core::release_sender(Message& message, Time at) {
  const Device& own = message.source->device(message.backend);
  const std::size_t index = members_[message.backend].sender_hold;
  message.holds_sender = false;
  (void)view(own, members_[message.backend]).occupy(index, message.held_since, at - message.held_since);
  push(at, *message.source, EventKind::kRelease, own.sending,
       order_of(EventKind::kRelease, message.transfer.destination, message.transfer.number));
}

void Core::released(Hold& hold) {
  Message* const next = hold.first_waiting;
  hold.owner = next;
  if (next == nullptr) return;
  hold.first_waiting = next->next_waiting;
  if (hold.first_waiting == nullptr) hold.last_waiting = nullptr;
  next->held_since = now_;
  if (!next->was_requested) {
    next->holds_sender = true;
    return depart(*next, now_);
  }
  // After its request, a message first acquires the receiver's device and then the sender's again.
  if (!next->holds_receiver && members_[next->backend].receiver_hold != kNoResource) {
    next->holds_receiver = true;
    return grant(*next);
  }
  next->holds_sender = true;
  answered(*next);
}

// --- matching ---

/// The envelope of a message has arrived. It is matched once all earlier messages of its sender on the same
/// communicator are matched.
void Core::envelope(Message& message) {
  Flow& flow = *message.flow;
  message.arrived = true;
  if (flow.head != &message) {
    ++flow.early;
    return deliver_early(flow);
  }
  flow.head = message.next_in_flow;
  if (flow.head == nullptr) flow.tail = nullptr;
  deliver(message);
  if (flow.early > 0) deliver_early(flow);
}

void Core::deliver_early(Flow& flow) {
  const auto overtakes = [&](const Message& message) {
    const bool of_collective = message.key.context % 2 != 0;  // the tag is the collective's number
    for (const Message* before = flow.head; before != &message; before = before->next_in_flow) {
      if (before->key.context == message.key.context &&
          (!of_collective || before->key.tag == message.key.tag))
        return true;
    }
    return false;
  };
  Message* before = nullptr;
  for (Message* at = flow.head; at != nullptr && flow.early > 0;) {
    Message* const next = at->next_in_flow;
    if (!at->arrived || overtakes(*at)) {
      before = at;
      at = next;
      continue;
    }
    (before != nullptr ? before->next_in_flow : flow.head) = next;
    if (next == nullptr) flow.tail = before;
    --flow.early;
    if (at->is_stored) {  // no receive could match it before
      at->passage.stored = later(at->passage.stored, now_);
      at->was_kept = true;
    }
    deliver(*at);
    before = nullptr;  // the program may have continued and issued more
    at = flow.head;
  }
}

void Core::deliver(Message& message) {
  --message.source->on_their_way;
  Rank& rank = *message.destination;
  if (Matchable* const found = rank.posted.find_receive(message.key); found != nullptr) {
    rank.posted.remove(*found);
    return attach(message, static_cast<Operation&>(*found));
  }
  rank.unexpected.push(message);
  rank.found(message.key);
}

void Core::receive(Operation& receive, Time posted) {
  receive.posted = posted;
  Rank& rank = *receive.rank;
  Matchable* const found = rank.unexpected.find_message(receive.key);
  if (found == nullptr) return rank.posted.push(receive);
  rank.unexpected.remove(*found);
  attach(static_cast<Message&>(*found), receive);
}

void Core::attach(Message& message, Operation& receive) {
  message.receive = &receive;
  receive.alike = &message;
  if (message.transfer.bytes > receive.bytes) receive.outcome = Outcome::kTruncated;
  Passage& passage = message.passage;
  passage.posted = receive.posted;
  if (message.token) return done(receive, now_);
  if (message.is_stored) {
    if (passage.protocol == Protocol::kConfirmed) {
      device(*message.destination, message.backend).backend->confirm(message.transfer, passage);
      passage.complete += farther(message.transfer);
    }
    const Time complete = later(passage.complete, receive.posted);
    if (message.local || passage.protocol == Protocol::kConfirmed) note_answer(message, complete);
    sent(message, complete);
    return done(receive, later(passage.stored, receive.posted));
  }
  if (passage.protocol == Protocol::kRendezvous && message.was_seen)
    push(later(now_, receive.posted), *message.destination, EventKind::kGranted, message);
}

void Core::note_send(const Operation& send, Time at, const Team* collective) const {
  const std::uint64_t id = send.rank->id_of(send);
  if (collective == nullptr) options_.log->used(send.rank->number(), id);
  if (send.posted > at) options_.log->host(send.rank->number(), id, kWaitForPeer, at, send.posted);
}

/// Returns whether the receive was posted before the message arrived.
static bool is_late(const Message& message, Time posted) {
  const Passage& passage = message.passage;
  if (message.local) return passage.complete > posted;
  return (passage.protocol == Protocol::kRendezvous ? passage.requested : passage.last) > posted;
}

Time Core::finish_receive_observed(Operation& receive, Time at, const Team* collective, bool by_processor) {
  if (receive.cancelled) return at;
  WorldLog* const log = options_.log;
  const Message& message = *receive.message();
  const Transfer transfer = message.transfer;
  const Time issued = message.passage.issued;
  const bool was_late = is_late(message, receive.posted);
  const Time shared = message.shared;
  const int rank = receive.rank->number();
  const std::uint8_t backend = collective != nullptr ? message.backend : primary_;
  if (collective != nullptr) {
    log->add_part(rank, transfer.operation, collective->operation);
  } else {
    log->used(rank, transfer.operation);
  }
  const Time done = finish_receive(receive, at, by_processor);
  if (done > at && was_late) log->waited(rank, {issued, done, transfer.bytes, transfer.source, shared});
  if (!receive.claimed) {
    const Time posting = device(*receive.rank, backend).backend->post_receive_cost();
    log->host(rank, transfer.operation, "post receive", receive.posted - posting, receive.posted);
  }
  return done;
}

Time Core::finish_receive(Operation& receive, Time at, bool by_processor) {
  if (receive.cancelled) return at;
  Message& message = receive.take_message();
  const Passage& passage = message.passage;
  const Device& own = device(*message.destination, message.backend);
  if (passage.failed) receive.outcome = Outcome::kFault;
  receive.key.source = message.source_in_group;
  receive.handling = message.handling;
  receive.key.tag = message.key.tag;
  receive.bytes = std::min(receive.bytes, message.transfer.bytes);
  const Time there = later(at, receive.posted);
  if (audit_ != nullptr && !message.local) audit_->message(message.transfer, passage, receive.posted);
  const bool waited = !message.local && (message.was_kept || passage.arrived_before(receive.posted));
  const Matched matched = waited ? Matched::kUnexpected : Matched::kPosted;
  const Time begin = later(there, passage.stored);  // start of the processor's work
  Time done = own.backend->receive(message.transfer, passage, begin, matched);
  free(message);
  if (by_processor && options_.stragglers != nullptr) done = processed(*receive.rank, begin, done - begin);
  return later(at, done);
}

Team::Arrival Core::finish_token(Operation& receive, const Team& team) {
  Message& message = receive.take_message();
  const Passage& passage = message.passage;
  const Stamp stamp{passage.first, passage.last, message.transfer.detail};
  if (options_.log != nullptr) {
    const int rank = receive.rank->number();
    options_.log->add_part(rank, message.transfer.operation, team.operation);
    if (stamp.last > team.clock)
      options_.log->waited(rank, {passage.issued, stamp.last, message.transfer.bytes, message.transfer.source,
                                  message.shared});
  }
  const Team::Arrival arrival{receive.outcome, stamp, message.crosses ? passage.stored : Time::ps(-1)};
  free(message);
  return arrival;
}

}  // namespace offramp::world
