// The way of a message through a world: its stages as events, what it holds, and its matching.
#include <cassert>
#include <memory>
#include <type_traits>
#include <utility>

#include "simulators/model/world_rank.hpp"

namespace offramp::world {

constexpr std::size_t kChunk = 256;  // messages

Message& Core::make_message() {
  if (unused_ == nullptr) {
    chunks_.push_back(std::make_unique<Message[]>(kChunk));
    for (std::size_t i = kChunk; i-- > 0;) {
      chunks_.back()[i].next_in_flow = unused_;
      unused_ = &chunks_.back()[i];
    }
  }
  Message* const place = std::exchange(unused_, unused_->next_in_flow);
  static_assert(std::is_trivially_destructible_v<Message>);
  Message& message = *std::construct_at(place);
  ++messages_;
  if (audit_ != nullptr) audit_->sent();
  return message;
}

void Core::free(Message& message) {
  if (audit_ != nullptr) audit_->received();
  message.next_in_flow = unused_;
  unused_ = &message;
}

Time Core::send(Rank& source, Operation& send, const SendArguments& arguments, Time at) {
  Message& message = make_message();
  message.source = &source;
  message.destination = &rank(arguments.destination);
  message.source_in_group = arguments.source_in_group;
  message.backend = arguments.backend;
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
  transfer.number = flow.issued[arguments.backend]++;
  transfer.operation = arguments.operation;

  Passage& passage = message.passage;
  passage.issued = at;
  passage.failed = arguments.failed;
  if (arguments.token != nullptr) {
    message.token = true;
    message.stamp = *arguments.token;
    if (arguments.failed) message.stamp.detail |= Stamp::kFailed;
    push(now_, *message.destination, EventKind::kArrive, message);
    sent(message, at);
    return at;
  }
  const Device& own = device(source, arguments.backend);
  if (own.old != nullptr) return send_old(message, at);
  own.backend->issue(transfer, passage);
  if (transfer.source == transfer.destination) return send_local(message);
  push(later(passage.begin, now_), source, EventKind::kDepart, &message,
       static_cast<std::uint64_t>(EventKind::kDepart) << kKindShift |
           (source.departures++ & ((std::uint64_t{1} << kKindShift) - 1)));
  const Time host_free = passage.host_free;
  if (passage.complete >= Time() && !faulty_) sent(message, passage.complete);
  return host_free;
}

/// A message of a rank to itself is a copy in its memory.
Time Core::send_local(Message& message) {
  Passage& passage = message.passage;
  message.local = true;
  message.is_stored = true;
  passage.stored =
      passage.host_free + message.source->devices[message.backend].backend->copy_time(message.transfer.bytes);
  passage.complete = passage.stored;
  push(later(passage.host_free, now_), *message.destination, EventKind::kArrive, message);
  const Time host_free = passage.host_free;
  if (!message.transfer.synchronous) sent(message, passage.complete);
  return host_free;
}

Time Core::send_old(Message& message, Time at) {
  message.old = true;
  const Device& own = message.source->devices[message.backend];
  const Departure departure = own.old->messages->depart(message.transfer, at, *own.old->units);
  message.stamp = departure.stamp;
  if (message.passage.failed) message.stamp.detail |= Stamp::kFailed;
  message.passage.failed = message.stamp.failed();
  message.handshake = departure.handshake;
  message.passage.host_free = later(at, departure.host_free);
  push(later(now_, message.passage.host_free), *message.destination, EventKind::kArrive, message);
  if (!departure.handshake) sent(message, departure.complete);
  return later(at, departure.host_free);
}

/// The send is complete; its operation may go on, and end, here.
void Core::sent(Message& message, Time at) {
  Operation* const send = std::exchange(message.send, nullptr);
  if (send == nullptr) return;
  if (message.passage.failed) send->outcome = Outcome::kFault;
  done(*send, at);
}

void Core::done(Operation& operation, Time at) {
  operation.done = true;
  operation.done_at = at;
  if (operation.waiter != nullptr) return std::exchange(operation.waiter, nullptr).resume();
  if (operation.watched) wake(*operation.rank, later(at, operation.rank->clock));
  if (operation.given_up) discard(operation);
}

void Core::give_up(Operation& operation) {
  if (operation.done) return discard(operation);
  operation.given_up = true;
  given_up_.insert(&operation);
}

/// It is done, and its program does not learn of it.
void Core::discard(Operation& operation) {
  if (operation.kind == Operation::Kind::kReceive && operation.message != nullptr) free(*operation.message);
  given_up_.erase(&operation);
  delete &operation;
}

void Core::depart(Message& message) {
  const Device& own = message.source->devices[message.backend];
  Passage& passage = message.passage;
  if (own.sending != nullptr && !message.holds_sender) {
    if (!acquire(*own.sending, message)) return;
    message.holds_sender = true;
  }
  passage.begin = now_;
  own.backend->depart(message.transfer, passage, view(own, members_[message.backend]));
  if (passage.protocol != Protocol::kDirect)
    return push(passage.requested, *message.destination, EventKind::kRequested, message);
  cross(message);
  if (message.holds_sender) release_sender(message, passage.complete);
  sent(message, passage.complete);
}

/// Over the network to the receiver.
void Core::cross(Message& message) {
  Passage& passage = message.passage;
  const Transfer& transfer = message.transfer;
  const Network::Arrival arrival = network_->carry(
      {transfer.source, transfer.destination, transfer.bytes, passage.leaves, passage.left, passage.latency});
  passage.first = arrival.first;
  passage.last = arrival.last;
  push(passage.first, *message.destination, EventKind::kArrive, message);
}

void Core::requested(Message& message) {
  envelope(message);
  message.was_requested = true;
  if (message.passage.protocol == Protocol::kGranted) return grant(message);
  if (message.receive != nullptr && message.receive->posted <= now_) return grant(message);
  park(message);
  if (message.receive != nullptr)
    push(message.receive->posted, *message.destination, EventKind::kGranted, message);
}

/// The sender's device does other things while the receiver is not ready.
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
  message.passage.granted = now_;
  other.backend->grant(message.transfer, message.passage);
  push(message.passage.answered, *message.source, EventKind::kAnswered, message);
}

void Core::answered(Message& message) {
  const Device& own = message.source->devices[message.backend];
  Passage& passage = message.passage;
  if (message.parked && !message.holds_sender) {
    if (!acquire(*own.sending, message)) return;
    message.holds_sender = true;
  }
  passage.answered = now_;
  own.backend->transmit(message.transfer, passage, view(own, members_[message.backend]));
  own.backend->count(message.transfer, passage);
  cross(message);
  if (message.holds_sender) release_sender(message, passage.complete);
  sent(message, passage.complete);
}

void Core::arrive(Message& message) {
  if (message.token || message.old || message.local) return envelope(message);
  const Device& other = device(*message.destination, message.backend);
  const Member& member = members_[message.backend];
  Passage& passage = message.passage;
  other.backend->arrive(message.transfer, passage, view(other, member));
  message.is_stored = true;
  if (message.holds_receiver) {
    (void)view(other, member).occupy(member.receiver_hold, passage.granted, passage.stored - passage.granted);
    push(passage.stored, *message.destination, EventKind::kReleaseReceiver, other.receiving,
         order_of(EventKind::kReleaseReceiver, message.transfer.source, message.transfer.number));
  }
  if (passage.protocol == Protocol::kDirect) return envelope(message);
  if (message.receive != nullptr) done(*message.receive, later(passage.stored, message.receive->posted));
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
  const Device& own = message.source->devices[message.backend];
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
    return depart(*next);
  }
  // Behind its request, a message waits for the receiver's device first, and then for its own again.
  if (!next->holds_receiver && members_[next->backend].receiver_hold != kNoResource) {
    next->holds_receiver = true;
    return grant(*next);
  }
  next->holds_sender = true;
  answered(*next);
}

// --- matching ---

/// The envelope of a message is at its receiver. It is matched once all that its sender issued before on the
/// same communicator are.
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
    const bool of_collective = message.key.context % 2 != 0;  // its number, the tag, tells it from others
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
    if (at->is_stored) {  // no receive could take it before
      at->passage.stored = later(at->passage.stored, now_);
      at->was_kept = true;
    }
    deliver(*at);
    before = nullptr;  // the program may have gone on and issued more
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
  if (rank.prober != nullptr && rank.probed.accepts(message.key))
    std::exchange(rank.prober, nullptr).resume();
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
  receive.message = &message;
  if (message.transfer.bytes > receive.bytes) receive.outcome = Outcome::kTruncated;
  const Passage& passage = message.passage;
  if (message.token) return done(receive, now_);
  if (message.old) return attach_old(message, receive);
  if (message.is_stored) {
    sent(message, later(passage.complete, receive.posted));
    return done(receive, later(passage.stored, receive.posted));
  }
  if (passage.protocol == Protocol::kRendezvous && message.was_requested)
    push(later(now_, receive.posted), *message.destination, EventKind::kGranted, message);
}

void Core::attach_old(Message& message, Operation& receive) {
  const Device& other = device(*message.destination, message.backend);
  if (message.handshake) {
    const Stamp reply = other.old->messages->match(message.transfer, message.stamp, receive.posted);
    if (reply.failed()) message.passage.failed = true;
    const Device& own = message.source->devices[message.backend];
    const Time complete = reply.failed()
                              ? reply.last
                              : own.old->messages->complete_send(message.transfer, reply, *own.old->units);
    sent(message, complete);
  }
  done(receive, later(message.passage.host_free, receive.posted));
}

Time Core::observe_receive(Operation& receive, Time at) {
  if (receive.cancelled) return at;
  Message& message = *std::exchange(receive.message, nullptr);
  const Passage& passage = message.passage;
  const Device& own = device(*message.destination, message.backend);
  if (passage.failed) receive.outcome = Outcome::kFault;
  receive.source_in_group = message.source_in_group;
  receive.key.tag = message.key.tag;
  receive.bytes = std::min(receive.bytes, message.transfer.bytes);
  const Time there = later(at, receive.posted);
  Time done;
  if (message.old) {
    done = own.old->messages->receive(message.transfer, message.stamp, receive.posted, *own.old->units);
  } else {
    if (audit_ != nullptr && !message.local) audit_->message(message.transfer, passage, receive.posted);
    const bool kept = !message.local && (message.was_kept || passage.came_before(receive.posted));
    done = own.backend->receive(message.transfer, passage, later(there, passage.stored), kept);
  }
  free(message);
  return later(at, done);
}

Stamp Core::take_token(Operation& receive) {
  Message& message = *std::exchange(receive.message, nullptr);
  const Stamp stamp = message.stamp;
  free(message);
  return stamp;
}

}  // namespace offramp::world
