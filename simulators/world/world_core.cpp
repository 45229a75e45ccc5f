// The centre of a world: the devices of the ranks, the choice of backends, and the event loop. Core continues
// in world_messages.cpp (stages of a message), world_progress.cpp (work for a rank's processor), and
// world_meeting.cpp. world_rank.cpp implements the calls of programs, and world_team.cpp the view of a
// collective's algorithm.
//
// The event loop is run(): it takes an event from the queue, sets now_ to its time, and passes it to
// handle(), whose stages push further events at now_ or later. It ends when the queue is empty: all programs
// have ended, or none can continue. Simultaneous events are ordered by rank and order_of(), never by when
// they were pushed. Programs may therefore be resumed in any order without changing a time; shuffling the
// pushed events (shuffle_seed) tests this.
#include "simulators/world/world_core.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>

#include "simulators/world/world_team.hpp"

namespace offramp::world {
namespace {

constexpr std::string_view kHost = "host";  // the backend whose algorithms run on the ranks' processors
constexpr int kManyRanks = 512;             // more than the caches can contain

}  // namespace

Core::Core(const WorldOptions& options, const WorldBackend& backend)
    : options_(options),
      rules_(backend.rules),
      has_host_(backend.host != nullptr || backend.backend->name == kHost),
      faulty_(options.faults.any()),
      prefetches_(kPrefetches && options.ranks >= kManyRanks),
      is_observed_(options.spans != nullptr || options.packets != nullptr || options.log != nullptr),
      needs_order_(options.network != nullptr || is_observed_ || faulty_ || options.stop_at != Time::never()),
      shuffle_(options.shuffle_seed) {
  assert(options.ranks > 0 && options.ranks <= static_cast<int>(EventQueue<Event>::kMaximumRank));
  if (options_.check || Audit::of_all()) audit_ = std::make_unique<Audit>();
  members_.reserve(kInline + backend.further.size());  // no reallocation: devices point into it
  const BackendDescription* const host = backend.host;
  host_settings_ = backend.host_settings;
  if (host != nullptr && !host_settings_) host_settings_ = Settings::defaults(host->parameters);
  if (host != nullptr && host->name != backend.backend->name) add_member(*host, *host_settings_);
  add_member(*backend.backend, backend.settings);
  primary_ = static_cast<std::uint8_t>(members_.size() - 1);
  assert(backend.further.empty() || host != nullptr);
  for (const WorldBackend::Further& further : backend.further) add_member(*further.backend, further.settings);
  last_ = static_cast<std::uint8_t>(members_.size() - 1);
  clocks_may_lag_ = last_ > (has_host_ ? 1 : 0);
  numbers_apart_ = static_cast<std::uint32_t>(std::max(kInline, members_.size()));
  used_.resize(static_cast<std::size_t>(options.ranks));
  auto group = std::make_shared<Communicator::Group>();
  group->size = options.ranks;
  everyone_.group_ = std::move(group);
}

/// Ends the programs first, because open operations refer to devices.
Core::~Core() {
  for (int i = 0; i < options_.ranks; ++i) {
    if (rank_if_used(i) != nullptr) rank(i).reset_programs();
  }
  for (Operation* const operation : given_up_) delete operation;
}

void Core::add_member(const BackendDescription& description, const Settings& settings) {
  Member& member = members_.emplace_back();
  member.description = &description;
  member.settings = settings;
  if (description.is_one_machine) has_wires_of_its_own(description);
  member.backend =
      description.create({0, options_.ranks, member.settings, options_.faults, options_.spans,
                          options_.packets, options_.machine, host_settings_ ? &*host_settings_ : nullptr});
  if (!needs_order_) member.departures = dynamic_cast<const OwnDepartures*>(member.backend.get());
  member.devices = std::make_unique<Devices>(*this, static_cast<std::uint8_t>(members_.size() - 1));
  member.resources = member.backend->resources();
  member.sender_hold = held(member.resources, Occupation::kBySender);
  member.receiver_hold = held(member.resources, Occupation::kByReceiver);
  member.answers = member.backend->progress(OperationKind::kSend);
  thread_share_ = std::max(thread_share_, member.backend->progress_share());
  for (std::size_t kind = 0; kind < static_cast<std::size_t>(OperationKind::kCount); ++kind)
    needs_calls_ =
        needs_calls_ || member.backend->progress(static_cast<OperationKind>(kind)) == Progress::kCalls;
  for (const ResourceDescription& resource : member.resources) {
    const Scope scope = scope_of(resource);
    if (scope == Scope::kGroup) {
      if (member.group != 1 && member.group != resource.ranks)
        declined_ = fmt::format("{} describes groups of {} and of {} ranks, but a backend has one size",
                                description.name, member.group, resource.ranks);
      member.group = resource.ranks;
    }
    const auto number = static_cast<std::uint32_t>(scope);
    member.places.push_back({number, member.counts[number]++});
  }
}

// --- the hardware of a rank ---

Scope Core::scope_of(const ResourceDescription& description) const {
  const MachineLayout& machine = options_.machine;
  Scope scope = description.scope;
  if (scope == Scope::kGroup && description.ranks <= 1) return Scope::kRank;
  if (scope == Scope::kLink && machine.links_per_card == 1) scope = Scope::kCard;
  if (scope == Scope::kCard && machine.cards_per_node == 1) scope = Scope::kNode;
  if (scope == Scope::kSocket && machine.sockets_per_node == 1) scope = Scope::kNode;
  const bool is_of_node =
      scope == Scope::kNode || scope == Scope::kSocket || scope == Scope::kCard || scope == Scope::kLink;
  return is_of_node && machine.ranks_per_node == 1 ? Scope::kRank : scope;
}

std::size_t Core::unit_of(Scope scope, int group, int rank) const {
  const MachineLayout& machine = options_.machine;
  const auto unit = [&] {
    switch (scope) {
      case Scope::kNode:
        return machine.node(rank);
      case Scope::kSocket:
        return machine.socket(rank);
      case Scope::kCard:
        return machine.card(rank);
      case Scope::kLink:
        return machine.link(rank);
      case Scope::kGroup:
        return rank / group;
      case Scope::kMachine:
        return 0;
      case Scope::kRank:
      case Scope::kCount:
        break;
    }
    return rank;
  };
  return static_cast<std::size_t>(unit());
}

std::size_t Core::units(Scope scope, int group) const {
  const MachineLayout& machine = options_.machine;
  const auto nodes = static_cast<std::size_t>(machine.nodes(options_.ranks));
  switch (scope) {
    case Scope::kSocket:
      return nodes * static_cast<std::size_t>(machine.sockets_per_node);
    case Scope::kCard:
      return nodes * static_cast<std::size_t>(machine.cards_per_node);
    case Scope::kLink:
      return nodes * static_cast<std::size_t>(machine.links_per_node());
    default:  // the last rank is in the last unit
      return unit_of(scope, group, options_.ranks - 1) + 1;
  }
}

Device& Core::make_device(Rank& own, std::uint8_t backend) {
  Member& member = members_[backend];
  const int rank = own.number();
  own.devices =
      devices_.at(static_cast<std::size_t>(rank), static_cast<std::size_t>(options_.ranks), members_.size());
  Device& device = own.devices[backend];
  device.backend = member.backend.get();
  const auto part = [&](auto& pages, std::size_t scope, std::size_t count) {
    const auto of = static_cast<Scope>(scope);
    return pages.at(unit_of(of, member.group, rank), units(of, member.group), count);
  };
  for (std::size_t scope = 0; scope < member.counts.size(); ++scope) {
    if (member.counts[scope] > 0)
      device.resources[scope] = part(member.pages[scope], scope, member.counts[scope]);
  }
  if (member.sender_hold != kNoResource)
    device.sending = part(member.senders, member.places[member.sender_hold].scope, 1);
  if (member.receiver_hold != kNoResource)
    device.receiving = part(member.receivers, member.places[member.receiver_hold].scope, 1);
  return device;
}

Resources Core::Devices::resources(int world_rank) {
  return core_.view(core_.device(core_.rank(world_rank), backend_), core_.members_[backend_]);
}

/// Nothing else uses the units from now until the step:
/// - Of the rank's operations, only this collective goes on: its program waits, and its messages have left.
/// - The tokens that are on their way arrive after the step.
/// - Any other token is sent by a step at now_ or later, and arrives a latency after it. This needs clocks
/// that
///   do not lag. They may lag once an event completes an operation for an earlier time, as in confirmed
///   sends, collectives of further devices, and threads that wait for each other. What begins after such a
///   send or thread has begun is not earlier than any step before.
/// The step's own effects have times of their own, so the events that it pushes are the same.
bool Core::Devices::steps_now(const Team& team, Time at, Time latency) const {
  const auto& collective = static_cast<const Collective&>(team);
  const Rank& own = *collective.Operation::rank;
  return !core_.needs_order_ && !core_.clocks_may_lag_ && own.collectives == 1 && own.departing == 0 &&
         !own.has_threads() && collective.has_program_waiting() && !own.tokens.arrive_until(at) &&
         at < core_.now_ + latency;
}

/// Simultaneous steps follow all departures (the highest bit of the source field), and are ordered by
/// backend, then by the order of scheduling.
void Core::Devices::schedule(Time at, Work& work, std::uint32_t number) {
  constexpr unsigned kBackendShift = kKindShift - 8;
  const std::uint64_t order = static_cast<std::uint64_t>(EventKind::kDepart) << kKindShift |
                              std::uint64_t{1} << (kKindShift - 1) |
                              std::uint64_t{backend_ % 128U} << kBackendShift |
                              (scheduled_++ & ((std::uint64_t{1} << kBackendShift) - 1));
  core_.push(later(at, core_.now_), 0, EventKind::kStep, &work, order, number);
}

/// Destinations above all ranks keep the order of simultaneous parcels unique.
void Core::Devices::cross(std::size_t link, std::size_t bytes, Time first, Time last, Work& work,
                          std::uint32_t number) {
  assert(core_.options_.network != nullptr);
  constexpr std::uint32_t kAboveRanks = std::uint32_t{1} << 23;
  const std::uint32_t crossing_number = crossed_++ * std::uint32_t{kInline} + backend_ % kInline;
  Crossing& crossing = crossings_.acquire();
  crossing = {this, &work, number};
  Parcel parcel;
  parcel.destination = static_cast<int>(kAboveRanks | crossing_number >> kSourceShift);
  parcel.number = crossing_number;
  parcel.bytes = bytes;
  parcel.leaves = first;
  parcel.left = last;
  parcel.message = &crossing;
  parcel.link = link;
  core_.options_.network->carry(parcel, core_);
}

Core::Choice Core::choose(const offramp::Operation& operation, Rank& rank) {
  const std::uint8_t chosen = std::min(route_of(rules_, operation, primary_), last_);
  const Handling handling = chosen == primary_ ? Handling::kOffloaded : Handling::kRouted;
  if (last_ > 0 && chosen == 0)
    return report_choice(rank, operation, {0, handling});  // the host declines nothing
  const Verdict verdict = members_[chosen].backend->supports(operation);
  if (verdict.yes()) return report_choice(rank, operation, {chosen, handling});
  if (last_ == 0 && declined_.empty())
    declined_ = fmt::format("{} declines {}: {}", members_[0].description->name, to_string(operation.kind),
                            verdict.reason);
  return report_choice(rank, operation, {0, Handling::kDeclined}, verdict.reason);
}

Core::Choice Core::report_choice(const Rank& rank, const offramp::Operation& operation, Choice choice,
                                 std::string_view reason) const {
  if (options_.judge != nullptr && choice.handling == Handling::kOffloaded &&
      !options_.judge->supports(operation).yes())
    choice.handling = Handling::kDeclined;
  if (options_.choices != nullptr)
    options_.choices->chosen(rank.number(), operation, choice.handling, reason);
  return choice;
}

void Core::count_failure(const Rank& rank) const {
  if (options_.choices != nullptr) options_.choices->send_failed(rank.number());
}

Rank& Core::rank(int rank) {
  Rank& own = *ranks_.at(static_cast<std::size_t>(rank), static_cast<std::size_t>(options_.ranks), 1);
  if (!used_[static_cast<std::size_t>(rank)]) {
    used_[static_cast<std::size_t>(rank)] = true;
    own.use(*this, rank, everyone_);
  }
  return own;
}

const Rank* Core::rank_if_used(int rank) const {
  return used_[static_cast<std::size_t>(rank)] ? ranks_.find(static_cast<std::size_t>(rank), 1) : nullptr;
}

// --- events ---

void Core::push(Time at, const Rank& rank, EventKind kind, void* object, std::uint64_t order,
                std::uint32_t number) {
  push(at, rank.number(), kind, object, order, number);
}

void Core::push(Time at, int rank, EventKind kind, void* object, std::uint64_t order, std::uint32_t number) {
  assert(at >= now_);
  const Event event{object, kind, number};
  if (options_.shuffle_seed != 0) {
    staged_.push_back({at, std::uint64_t{static_cast<std::uint32_t>(rank)} << 40 | order, event});
    return;
  }
  queue_.push(at, static_cast<std::uint32_t>(rank), order, event);
}

void Core::push(Time at, const Rank& rank, EventKind kind, Message& message) {
  const Transfer& transfer = message.transfer;
  const int peer = transfer.source == rank.number() ? transfer.destination : transfer.source;
  push(at, rank, kind, &message, order_at(peer, kind, message));
}

void Core::wake(Thread& thread, Time at) {
  const std::uint32_t number = ++thread.wakes;
  push(later(at, now_), thread.rank(), EventKind::kWake, &thread,
       order_of(EventKind::kWake, static_cast<int>(thread.number()), number), number);
}

/// kRequested comes twice for a request that had to wait for the receiver's processor. A kWake with number 0
/// begins a program; one with a number up to wakes_passed was requested before the thread last continued, and
/// is obsolete.
void Core::handle(const Event& event) {
  const auto message = [&event]() -> Message& { return *static_cast<Message*>(event.object); };
  switch (event.kind) {
    case EventKind::kRelease:
    case EventKind::kReleaseReceiver:
      return released(*static_cast<Hold*>(event.object));
    case EventKind::kNetwork:
      return options_.network->step(event.object, *this);
    case EventKind::kArrive:
      return arrive(message());
    case EventKind::kRequested:
      return message().was_requested ? on_request(message()) : requested(message());
    case EventKind::kGranted:
      return grant(message());
    case EventKind::kAnswered:
      return answered(message());
    case EventKind::kDepart:
      return depart(message(), now_);
    case EventKind::kStep:
      return static_cast<WorldDevices::Work*>(event.object)->step(now_, event.number);
    case EventKind::kResume:
      return resume_algorithm(*static_cast<Operation*>(event.object));
    case EventKind::kWake: {
      Thread& thread = *static_cast<Thread*>(event.object);
      if (event.number == 0) return begin(thread);
      if (event.number <= thread.wakes_passed || thread.sleeper == nullptr) return;
      thread.wakes_passed = thread.wakes;
      if (thread.awaited != nullptr && !thread.awaited->is_some_done()) return;
      return std::exchange(thread.sleeper, nullptr).resume();
    }
  }
}

/// A program whose first thread has ended counts as being in MPI_Finalize.
void Core::begin(Thread& thread) {
  thread.is_launched = false;
  if (!thread.program.valid()) thread.program = program_(thread.handle());
  thread.rank().thread_begins(thread);
  thread.program.start(
      [](void* ended) {
        Thread& own = *static_cast<Thread*>(ended);
        own.rank().thread_ends(own);
        own.core().enter_call(own, own.clock);
        own.program.reset();
      },
      &thread);
}

/// The program of a rank's first thread is made when it begins, since a world may have very many ranks.
void Core::launch(Thread& thread, const World::Program& program) {
  thread.is_launched = true;
  if (thread.number() > 0) thread.program = program(thread.handle());
  push(later(thread.clock, now_), thread.rank(), EventKind::kWake, &thread,
       order_of(EventKind::kWake, static_cast<int>(thread.number()), 0));
}

std::string Core::run(const World::Program& program, std::span<const int> ranks,
                      const std::function<bool()>& when_stuck) {
  program_ = program;  // kept alive: a lambda's coroutine refers to its captures
  if (!declined_.empty()) return declined_;
  for (const int number : ranks) {
    Rank& own = rank(number);
    own.first().clock = later(own.clock(), now_);  // after everything that an earlier run has occupied
    own.forget_threads();
    own.first().program.reset();
    launch(own.first(), program_);
  }
  for (;;) {
    if (!staged_.empty()) {
      std::shuffle(staged_.begin(), staged_.end(), shuffle_);
      for (const auto& entry : staged_)
        queue_.push(entry.at, entry.rank(), entry.order & ((std::uint64_t{1} << 40) - 1), entry.event);
      staged_.clear();
    }
    if (queue_.empty()) {
      if (when_stuck && declined_.empty() && when_stuck()) continue;
      break;
    }
    if (queue_.next()->at >= options_.stop_at) break;
    const auto entry = queue_.pop();
    if (prefetches_) prefetch();
    now_ = entry.at;
    ++events_;
    if (audit_ != nullptr) audit_->event(now_);
    handle(entry.event);
  }
  if (options_.network != nullptr && declined_.empty()) declined_ = options_.network->problem();
  if (!declined_.empty()) return declined_;
  const bool ended = std::all_of(ranks.begin(), ranks.end(), [&](int r) { return rank(r).has_ended(); });
  return ended ? std::string() : deadlock();
}

std::string Core::deadlock() const {
  std::string text;
  std::size_t waiting = 0;
  for (int i = 0; i < options_.ranks; ++i) {
    const Rank* const rank = rank_if_used(i);
    if (rank == nullptr || rank->has_ended()) continue;
    if (++waiting > 8) continue;
    text +=
        fmt::format("rank {} of {} waits at {} ps", rank->number(), options_.ranks, rank->clock().count());
    if (const Matchable* receive = rank->posted.first(); receive != nullptr)
      text += fmt::format(", for a message from {} with tag {}",
                          receive->key.source < 0 ? "any rank" : fmt::format("rank {}", receive->key.source),
                          receive->key.tag < 0 ? "any" : fmt::format("{}", receive->key.tag));
    if (const Matchable* message = rank->unexpected.first(); message != nullptr)
      text +=
          fmt::format("; not received: one from rank {} with tag {}", message->key.source, message->key.tag);
    text += '\n';
  }
  if (waiting > 8) text += fmt::format("and {} more ranks\n", waiting - 8);
  return text;
}

// --- results ---

WireCounters Core::wire() const {
  WireCounters sum;
  for (const Member& member : members_) sum += member.backend->wire();
  return sum;
}

Time Core::end() const {
  Time end;
  for (int rank = 0; rank < options_.ranks; ++rank) {
    if (const Rank* const used = rank_if_used(rank); used != nullptr) end = later(end, used->clock());
  }
  return end;
}

Time Core::engine_time() const {
  return members_[primary_].backend->engine_time().value_or(end());
}

std::vector<World::ResourceUse> Core::resources() const {
  std::vector<World::ResourceUse> uses;
  for (const Member& member : members_) {
    for (std::size_t i = 0; i < member.resources.size(); ++i) {
      const ResourceDescription& description = member.resources[i];
      const Resources::ResourceSlot place = member.places[i];
      const auto scope = static_cast<Scope>(place.scope);
      std::vector<bool> seen(units(scope, member.group));
      for (int rank = 0; rank < options_.ranks; ++rank) {
        const std::size_t unit = unit_of(scope, member.group, rank);
        if (seen[unit]) continue;
        seen[unit] = true;
        const Resource* const block = member.pages[place.scope].find(unit, member.counts[place.scope]);
        if (block == nullptr || block[place.number].timeline.busy() == Time()) continue;
        const Resource& used = block[place.number];
        uses.push_back({description.name, rank, used.timeline.busy(), used.waited, used.bytes});
      }
    }
  }
  return uses;
}

std::vector<LinkUse> Core::links() const {
  return options_.network != nullptr ? options_.network->links() : std::vector<LinkUse>();
}

std::vector<std::string> Core::violations(bool unreceived) const {
  if (audit_ == nullptr) return {};
  std::vector<std::string> all = audit_->violations();
  if (unreceived && audit_->lost() > 0)
    all.push_back(fmt::format("{} messages were sent and not received", audit_->lost()));
  return all;
}

}  // namespace offramp::world
