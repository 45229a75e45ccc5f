#include "simulators/model/world_core.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <memory>
#include <numeric>
#include <type_traits>

#include "simulators/model/world_rank.hpp"

namespace offramp::world {
namespace {

constexpr std::size_t kNone = SIZE_MAX;
constexpr std::size_t kChunk = 256;  // messages
constexpr std::size_t kFetched = 4;  // events

// The order of simultaneous events at a rank: their kind, where they come from, and a number there.
constexpr unsigned kKindShift = 37;
constexpr unsigned kSourceShift = 13;
constexpr std::uint64_t kNumberMask = (std::uint64_t{1} << kSourceShift) - 1;

std::uint64_t order_of(EventKind kind, int source, std::uint32_t number) {
  return static_cast<std::uint64_t>(kind) << kKindShift | static_cast<std::uint64_t>(source) << kSourceShift |
         (number & kNumberMask);
}

}  // namespace

Core::Core(const WorldOptions& options, const WorldBackend& backend)
    : options_(options),
      network_(options.network != nullptr ? options.network : &wires_),
      rules_(backend.rules),
      faulty_(options.faults.any()),
      shuffle_(options.shuffle_seed),
      ranks_(static_cast<std::size_t>(options.ranks)) {
  assert(options.ranks > 0 && options.ranks <= static_cast<int>(EventQueue<Event>::kMaximumRank));
  if (options_.check) audit_ = std::make_unique<Audit>();
  members_.reserve(2);  // devices point into them
  const BackendDescription* const host = backend.host;
  if (host != nullptr && host->name != backend.backend->name)
    add_member(*host, backend.host_settings ? *backend.host_settings : Settings::defaults(host->parameters));
  add_member(*backend.backend, backend.settings);
  primary_ = static_cast<std::uint8_t>(members_.size() - 1);
  auto group = std::make_shared<Communicator::Group>();
  group->size = options.ranks;
  everyone_.group_ = std::move(group);
}

Core::~Core() = default;

void Core::add_member(const BackendDescription& description, const Settings& settings) {
  Member& member = members_.emplace_back();
  member.description = &description;
  member.settings = settings;
  member.backend = description.create({0, options_.ranks, member.settings, options_.faults});
  member.old = member.backend->issue_order() != nullptr;
  member.resources = member.backend->resources();
  for (std::size_t i = 0; i < member.resources.size(); ++i) {
    const ResourceDescription& resource = member.resources[i];
    if (resource.occupation == Occupation::kBySender && member.sender_hold == kNone) member.sender_hold = i;
    if (resource.occupation == Occupation::kByReceiver && member.receiver_hold == kNone)
      member.receiver_hold = i;
    if (resource.scope != Scope::kGroup) continue;
    if (member.group != 0 && member.group != resource.ranks)
      declined_ = fmt::format("{} describes groups of {} and of {} ranks: a backend has one size",
                              description.name, member.group, resource.ranks);
    member.group = resource.ranks;
  }
}

// --- the hardware of a rank ---

int Core::sharers(const ResourceDescription& description) const {
  switch (description.scope) {
    case Scope::kNode:
      return options_.ranks_per_node;
    case Scope::kGroup:
      return std::max(description.ranks, 1);
    case Scope::kMachine:
      return options_.ranks;
    case Scope::kRank:
    case Scope::kCount:
      break;
  }
  return 1;
}

Device& Core::device(Rank& rank, std::uint8_t backend) {
  Device& device = rank.devices[backend];
  if (device.backend == nullptr) make_device(device, members_[backend], rank.number());
  return device;
}

void Core::make_device(Device& device, Member& member, int rank) {
  if (member.old) {
    device.old = std::make_unique<OldDevice>();
    OldDevice& old = *device.old;
    old.settings = member.settings;
    old.backend = member.description->create({rank, options_.ranks, old.settings, options_.faults});
    old.messages = old.backend->issue_order();
    old.units = std::make_unique<Units>(old.messages->units());
    device.backend = old.backend.get();
    return;
  }
  device.backend = member.backend.get();
  for (const ResourceDescription& description : member.resources) {
    const auto scope = static_cast<std::size_t>(description.scope);
    const int ranks = sharers(description);
    device.resources[scope] = member.pages[scope].at(static_cast<std::size_t>(rank / ranks), groups(ranks),
                                                     member.resources.size());
  }
  if (member.sender_hold != kNone)
    device.sending = hold(member.senders, member.resources[member.sender_hold], rank);
  if (member.receiver_hold != kNone)
    device.receiving = hold(member.receivers, member.resources[member.receiver_hold], rank);
}

Hold* Core::hold(Pages<Hold>& pages, const ResourceDescription& description, int rank) const {
  const int ranks = sharers(description);
  return pages.at(static_cast<std::size_t>(rank / ranks), groups(ranks), 1);
}

std::uint8_t Core::choose(const offramp::Operation& operation, Rank& rank) {
  const std::uint8_t chosen = std::min(route_of(rules_, operation, primary_), primary_);
  if (members_.size() > 1 && chosen == 0) return 0;  // the host declines nothing
  const Backend& backend = members_[chosen].old ? *device(rank, chosen).backend : *members_[chosen].backend;
  const Verdict verdict = backend.supports(operation);
  if (verdict.yes()) return chosen;
  if (members_.size() == 1 && declined_.empty())
    declined_ = fmt::format("{} declines {}: {}", members_[0].description->name, to_string(operation.kind),
                            verdict.reason);
  return 0;
}

Rank& Core::rank(int rank) {
  std::unique_ptr<Rank>& entry = ranks_[static_cast<std::size_t>(rank)];
  if (entry == nullptr) {
    Communicator everyone = everyone_;
    everyone.rank_ = rank;
    everyone.local_ = std::make_shared<Communicator::Local>();
    entry = std::make_unique<Rank>(*this, rank, std::move(everyone));
  }
  return *entry;
}

// --- events ---

void Core::push(Time at, const Rank& rank, EventKind kind, void* object, std::uint64_t order,
                std::uint32_t number) {
  assert(at >= now_);
  const Event event{object, kind, number};
  if (options_.shuffle_seed != 0) {
    staged_.push_back({at, std::uint64_t{static_cast<std::uint32_t>(rank.number())} << 40 | order, event});
    return;
  }
  queue_.push(at, static_cast<std::uint32_t>(rank.number()), order, event);
}

void Core::push(Time at, const Rank& rank, EventKind kind, Message& message) {
  const Transfer& transfer = message.transfer;
  const int peer = transfer.source == rank.number() ? transfer.destination : transfer.source;
  push(at, rank, kind, &message, order_of(kind, peer, 2 * transfer.number + message.backend));
}

void Core::wake(Rank& rank, Time at) {
  const std::uint32_t number = ++rank.wakes;
  push(later(at, now_), rank, EventKind::kWake, &rank, order_of(EventKind::kWake, 0, number), number);
}

void Core::handle(const Event& event) {
  Message& message = *static_cast<Message*>(event.object);
  switch (event.kind) {
    case EventKind::kRelease:
    case EventKind::kReleaseReceiver:
      return released(*static_cast<Hold*>(event.object));
    case EventKind::kArrive:
      return arrive(message);
    case EventKind::kRequested:
      return requested(message);
    case EventKind::kGranted:
      return grant(message);
    case EventKind::kAnswered:
      return answered(message);
    case EventKind::kDepart:
      return depart(message);
    case EventKind::kWake: {
      Rank& rank = *static_cast<Rank*>(event.object);
      if (event.number == 0) return rank.program.start();
      if (event.number <= rank.wakes_passed || rank.sleeper == nullptr) return;
      rank.wakes_passed = rank.wakes;
      return std::exchange(rank.sleeper, nullptr).resume();
    }
  }
}

std::string Core::run(const World::Program& program, std::span<const int> ranks) {
  program_ = program;  // kept: the coroutines of a lambda refer to its captures
  if (!declined_.empty()) return declined_;
  for (const int number : ranks) {
    Rank& own = rank(number);
    own.program = program_(own.handle());
    own.clock = later(own.clock, now_);  // behind all that an earlier run has occupied
    push(own.clock, own, EventKind::kWake, &own, order_of(EventKind::kWake, 0, 0));
  }
  for (;;) {
    if (!staged_.empty()) {
      std::shuffle(staged_.begin(), staged_.end(), shuffle_);
      for (const auto& entry : staged_)
        queue_.push(entry.at, entry.rank(), entry.order & ((std::uint64_t{1} << 40) - 1), entry.event);
      staged_.clear();
    }
    if (queue_.empty()) break;
    const auto entry = queue_.pop();
    prefetch();
    now_ = entry.at;
    ++events_;
    if (audit_ != nullptr) audit_->event(now_);
    handle(entry.event);
  }
  if (!declined_.empty()) return declined_;
  const bool ended = std::all_of(ranks.begin(), ranks.end(), [&](int r) { return rank(r).program.done(); });
  return ended ? std::string() : deadlock();
}

/// Each event touches memory of its message and of its rank that many other events have displaced from the
/// caches; what comes soon is fetched while this one is handled.
void Core::prefetch() {
  if (queue_.next() == nullptr) return;
  const auto& soon = queue_.soon();
  const std::size_t count = std::min(soon.size(), kFetched);
  for (std::size_t i = 0; i < count; ++i) {
    const auto& entry = soon[i];
    if (entry.event.kind <= EventKind::kReleaseReceiver) continue;  // of no message
    const auto* const object = static_cast<const char*>(entry.event.object);
    for (std::size_t line = 0; line < sizeof(Message); line += 64) __builtin_prefetch(object + line);
    ranks_[entry.rank()]->prefetch();
  }
}

std::string Core::deadlock() const {
  std::string text;
  std::size_t waiting = 0;
  for (const auto& rank : ranks_) {
    if (rank == nullptr || !rank->program.valid() || rank->program.done()) continue;
    if (++waiting > 8) continue;
    text += fmt::format("rank {} of {} waits at {} ps", rank->number(), options_.ranks, rank->clock.count());
    if (const Matchable* receive = rank->posted.first(); receive != nullptr)
      text += fmt::format(", for a message from {} with tag {}",
                          receive->key.source < 0 ? "any rank" : fmt::format("rank {}", receive->key.source),
                          receive->key.tag < 0 ? "any" : fmt::format("{}", receive->key.tag));
    if (const Matchable* message = rank->unexpected.first(); message != nullptr)
      text +=
          fmt::format("; not received: one from rank {} with tag {}", message->key.source, message->key.tag);
    text += '\n';
  }
  if (waiting > 8) text += fmt::format("and {} ranks more\n", waiting - 8);
  return text;
}

// --- messages ---

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
  if (!next->holds_receiver && members_[next->backend].receiver_hold != kNone) {
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

// --- results ---

WireCounters Core::wire() const {
  WireCounters sum;
  for (const Member& member : members_) sum += member.backend->wire();
  for (const auto& rank : ranks_) {
    if (rank == nullptr) continue;
    for (const Device& device : rank->devices) {
      if (device.old != nullptr) sum += device.old->backend->wire();
    }
  }
  return sum;
}

Time Core::end() const {
  Time end;
  for (const auto& rank : ranks_) {
    if (rank != nullptr) end = later(end, rank->clock);
  }
  return end;
}

std::vector<World::ResourceUse> Core::resources() const {
  std::vector<World::ResourceUse> uses;
  for (const Member& member : members_) {
    for (std::size_t i = 0; i < member.resources.size(); ++i) {
      const ResourceDescription& description = member.resources[i];
      const int ranks = sharers(description);
      const Pages<Resource>& pages = member.pages[static_cast<std::size_t>(description.scope)];
      for (std::size_t group = 0; group < groups(ranks); ++group) {
        const Resource* const block = pages.find(group, member.resources.size());
        if (block == nullptr || block[i].timeline.busy() == Time()) continue;
        uses.push_back({description.name, static_cast<int>(group) * ranks, block[i].timeline.busy(),
                        block[i].waited, block[i].bytes});
      }
    }
  }
  return uses;
}

std::vector<std::string> Core::violations() const {
  if (audit_ == nullptr) return {};
  std::vector<std::string> all = audit_->violations();
  if (audit_->lost() > 0)
    all.push_back(fmt::format("{} messages were sent and not received", audit_->lost()));
  return all;
}

}  // namespace offramp::world
