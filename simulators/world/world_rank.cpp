// RankHandle: the calls of a rank's program. A program runs ahead of the world while it only issues. A
// co_await in a call is Done (an operation has completed), Until (the world has reached a time), or both. If
// collectives need the rank's processor, a waiting call shares it with them (share_processor()). A computing
// call closes the thread's gate, and collectives then continue only in MPI calls (enter(), await_world()).
#include "simulators/world/world_rank.hpp"

#include <algorithm>

#include "simulators/world/world_team.hpp"

namespace offramp {

namespace world {

void Rank::use(Core& core, int number, const Communicator& world_communicator) {
  core_ = &core;
  number_ = number;
  everyone_ = world_communicator;
  everyone_.rank_ = number;
  // Not owned: it lives in the rank, which outlasts all programs that use it.
  everyone_.local_ = std::shared_ptr<Communicator::Local>(std::shared_ptr<void>(), &local_);
}

Flow& Rank::other_flow(int destination) {
  if (first_flow_.destination < 0) {
    first_flow_.destination = destination;
    return first_flow_;
  }
  if (flows_ == nullptr) flows_ = std::make_unique<Flows>();
  return flows_->to(destination);
}

Flow& Flows::to(int destination) {
  const std::size_t at = static_cast<std::size_t>(
      std::find(destinations.begin(), destinations.begin() + known, destination) - destinations.begin());
  if (at == destinations.size()) {
    if (many == nullptr) many = std::make_unique<RankTable<Flow>>();
    return (*many)[destination];
  }
  std::unique_ptr<Part>& part = parts[at / kPart];
  if (part == nullptr) part = std::make_unique<Part>();
  if (at == known) destinations[known++] = destination;
  return part->flows[at % kPart];
}

FurtherThread& Rank::add_thread(const World::Program& program) {
  if (further_ == nullptr) further_ = std::make_unique<FurtherThreads>();
  core_->clocks_may_lag();
  const auto number = static_cast<std::uint32_t>(further_->all.size() + 1);
  return *further_->all.emplace_back(std::make_unique<FurtherThread>(*this, number, program));
}

void Rank::thread_begins(Thread& thread) {
  if (&thread != &first_) further_->running.emplace(thread.number(), &thread);
}

void Rank::thread_ends(Thread& thread) {
  if (&thread != &first_) further_->running.erase(thread.number());
}

void Rank::reset_programs() {
  first_.program.reset();
  for_each_thread([](Thread& thread) { thread.program.reset(); });
}

bool Rank::has_ended() const {
  const auto ended = [](const Thread& thread) {
    return !thread.is_launched && (!thread.program.valid() || thread.program.done());
  };
  bool all = ended(first_);
  for_each_thread([&](const Thread& thread) { all = all && ended(thread); });
  return all;
}

Time Rank::clock() const {
  Time latest = first_.clock;
  for_each_thread([&](const Thread& thread) { latest = later(latest, thread.clock); });
  return latest;
}

Time Rank::served(Time at) {
  Time first = first_.gate.served(at);
  if (!has_threads()) [[likely]]
    return first;
  for (const auto& [number, thread] : further_->running) first = earlier(first, thread->gate.served(at));
  return first;
}

Thread* Rank::interrupted_at(Time at) {
  Thread* interrupted = first_.is_interrupted(at) ? &first_ : nullptr;
  if (!has_threads()) [[likely]]
    return interrupted;
  if (interrupted == nullptr && first_.gate.served(at) == at) return nullptr;
  for (const auto& [number, thread] : further_->running) {
    const bool is_interrupted = thread->is_interrupted(at);
    if (!is_interrupted && thread->gate.served(at) == at) return nullptr;
    if (is_interrupted && interrupted == nullptr) interrupted = thread;
  }
  return interrupted;
}

void Rank::found(const MatchKey& key) {
  const auto wake = [&key](Thread& thread) {
    if (thread.prober != nullptr && thread.prober->key.accepts(key))
      std::exchange(thread.prober, nullptr)->waiter.resume();
  };
  wake(first_);
  if (!has_threads()) [[likely]]
    return;
  std::vector<Thread*> probing;  // a copy, since resumed threads may end and start others
  for (const auto& [number, thread] : further_->running) {
    if (thread->prober != nullptr) probing.push_back(thread);
  }
  for (Thread* const thread : probing) wake(*thread);
}

MatchKey Rank::key_of(const Communicator& communicator, int from, int tag) {
  return {communicator.context(), from < 0 ? kAnySource : communicator.world_rank(from), tag};
}

void Thread::compute(Time duration, std::uint64_t questions) {
  const Time begin = clock;
  clock = core().processed(rank_, clock, duration);
  if (!core().needs_calls() || clock == begin) return;
  gate.close(begin, core().now());
  const Time period = Time::ps((clock - begin).count() /
                               static_cast<std::int64_t>(std::min(questions, std::uint64_t{1} << 62) + 1));
  if (questions == 0) return;
  core().enter_call(*this, begin + period);
  if (period == Time()) return;
  gate.close_between_questions(begin + period, questions, period);
  gate.close(begin + period * static_cast<std::int64_t>(questions), core().now());
  asked = rank_.going_on > 0;
}

offramp::Operation Thread::message_question(const Communicator& communicator, int peer, std::size_t bytes,
                                            int tag, ElementType element) {
  offramp::Operation question;
  question.element = element;
  question.bytes = bytes;
  question.tag = tag;
  // Unknown for a wildcard, assumed false.
  question.on_one_node =
      peer >= 0 && core().options().machine.is_within_node(rank_.number(), communicator.world_rank(peer));
  return question;
}

void Thread::begin_beside(Operation& operation, const offramp::Operation& question) {
  operation.by_thread = core().needs_thread(question);
  if (operation.by_thread) ++rank_.by_thread;
}

void Thread::start_send(Operation& send, const Communicator& communicator, int to, std::size_t bytes, int tag,
                        ElementType element, Synchronous synchronous) {
  SendArguments arguments;
  arguments.destination = communicator.world_rank(to);
  arguments.source_in_group = communicator.rank();
  arguments.context = communicator.context();
  arguments.tag = tag;
  arguments.bytes = bytes;
  arguments.element = element;
  arguments.synchronous = synchronous == Synchronous::kYes;
  const Core::Choice choice = core().choose(message_question(communicator, to, bytes, tag, element), rank_);
  arguments.backend = choice.backend;
  arguments.handling = choice.handling;
  take_turn();
  clock = later(clock, core().send(rank_, send, arguments, clock));
}

void Thread::start_receive(Operation& receive, const Communicator& communicator, int from, std::size_t bytes,
                           int tag) {
  receive.key = Rank::key_of(communicator, from, tag);
  receive.bytes = bytes;
  // Hardware may leave messages within a node to the host, where posting a receive costs less.
  const offramp::Operation question = message_question(communicator, from, bytes, tag, ElementType::kByte);
  clock = core().processed(
      rank_, clock,
      question.on_one_node ? core().post_cost(rank_, core().carrier_of(question)) : core().post_cost(rank_));
  core().receive(receive, clock);
}

Received Thread::observe(Operation& operation) {
  const Time before = clock;
  Received received;
  if (operation.by_thread) [[unlikely]]
    --rank_.by_thread;
  operation.by_thread = false;
  take_turn();
  switch (operation.kind) {
    case Operation::Kind::kSend:
    case Operation::Kind::kMeeting:
      clock = core().observe_send(operation, clock);
      break;
    case Operation::Kind::kReceive:
      clock = core().observe_receive(operation, clock);
      received.source = operation.key.source;
      received.tag = operation.key.tag;
      received.bytes = operation.bytes;
      received.handling = operation.handling;
      break;
    case Operation::Kind::kCollective:
      if (core().log() != nullptr) core().log()->used(rank_.number(), rank_.id_of(operation));
      clock = core().resumed(rank_, static_cast<Collective&>(operation).observe(clock));
      break;
  }
  received.outcome = operation.outcome;
  received.spent = clock - before;
  return received;
}

}  // namespace world

using world::Done;
using world::Until;
using Kind = world::Operation::Kind;

int Communicator::size() const {
  return group_->size;
}
std::uint64_t Communicator::context() const {
  return group_->context;
}
int Communicator::world_rank(int rank) const {
  return world_of(*group_, rank);
}
int Communicator::world_of(const Group& group, int rank) {
  return group.members.empty() ? rank : group.members[static_cast<std::size_t>(rank)];
}

RankRequest::~RankRequest() {
  delete operation_;
}

CollectiveSizes sizes_of(const Operation& operation, int rank) {
  const std::size_t block = operation.bytes;
  const std::size_t all = block * static_cast<std::size_t>(operation.ranks);
  const bool root = rank == operation.root;
  switch (operation.kind) {
    case OperationKind::kBcast:
      return {block, block, block, true};
    case OperationKind::kReduce:
      return {block, root ? block : 0, block};
    case OperationKind::kGather:
      return {block, root ? all : 0, block};
    case OperationKind::kScatter:
      return {root ? all : 0, block, block};
    case OperationKind::kAllgather:
      return {block, all, block};
    case OperationKind::kReduceScatter:
      return {all, block, block};
    case OperationKind::kAlltoall:
      return {all, all, block};
    case OperationKind::kAllreduce:
    case OperationKind::kScan:
    case OperationKind::kExscan:
      return {block, block, block};
    case OperationKind::kSend:
    case OperationKind::kBarrier:
    case OperationKind::kGatherv:
    case OperationKind::kScatterv:
    case OperationKind::kAllgatherv:
    case OperationKind::kReduceScatterv:
    case OperationKind::kAlltoallv:
    case OperationKind::kCount:
      break;
  }
  return {};
}

// --- messages ---

int RankHandle::rank() const {
  return thread_.rank().number();
}
int RankHandle::size() const {
  return thread_.rank().world_communicator().size();
}
std::uint32_t RankHandle::thread() const {
  return thread_.number();
}
Time RankHandle::clock() const {
  return thread_.clock;
}
const Communicator& RankHandle::world_communicator() const {
  return thread_.rank().world_communicator();
}
void RankHandle::compute(Time duration, std::uint64_t questions) {
  const Stragglers* const stragglers = thread_.core().options().stragglers.get();
  const Time taken =
      stragglers != nullptr ? stragglers->computed(thread_.rank().number(), duration) : duration;
  thread_.rank().straggler_delay += taken - duration;
  thread_.compute(thread_.core().beside_thread(thread_.rank(), taken), questions);
}
void RankHandle::work(Time duration) {
  thread_.clock = thread_.core().processed(thread_.rank(), thread_.clock, duration);
}
void RankHandle::rest_until(Time at) {
  thread_.clock = later(thread_.clock, at);
}

/// Lets the world reach the program's clock, which advances by any MPI work until then.
static Task<void> await_world(world::Thread& thread) {
  do {
    co_await Until{thread, thread.clock};
  } while (thread.consume_interruption());
  thread.asked = false;
}

/// The program enters a waiting or polling call after computing.
static Task<void> enter(world::Thread& thread) {
  const bool may_have_copied = thread.core().options().machine.ranks_per_node > 1;
  if (may_have_copied) co_await await_world(thread);
  thread.core().enter_call(thread, thread.clock);
}

/// Waits until `until`, and until the processor has finished its work for collectives in progress.
static Task<void> share_processor(world::Thread& thread, Time until) {
  co_await Until{thread, later(thread.clock, until)};
  thread.clock = later(thread.clock, thread.rank().busy);
}

Task<Outcome> RankHandle::send(const Communicator& communicator, int to, std::size_t bytes, int tag,
                               ElementType element) {
  world::Operation operation(Kind::kSend, thread_.rank());
  thread_.start_send(operation, communicator, to, bytes, tag, element, Synchronous::kNo);
  if (!operation.done && !thread_.gate.is_open()) co_await enter(thread_);  // must wait
  co_await Done{operation};
  if (thread_.rank().going_on > 0) co_await share_processor(thread_, operation.done_at);
  const Outcome outcome = thread_.observe(operation).outcome;
  if (thread_.is_far_ahead()) co_await Until{thread_, thread_.clock};
  co_return outcome;
}

Task<Outcome> RankHandle::ssend(const Communicator& communicator, int to, std::size_t bytes, int tag,
                                ElementType element) {
  world::Operation operation(Kind::kSend, thread_.rank());
  thread_.start_send(operation, communicator, to, bytes, tag, element, Synchronous::kYes);
  if (!thread_.gate.is_open()) co_await enter(thread_);
  co_await Done{operation};
  if (thread_.rank().going_on > 0) co_await share_processor(thread_, operation.done_at);
  co_return thread_.observe(operation).outcome;
}

Task<Received> RankHandle::receive(const Communicator& communicator, int from, std::size_t bytes, int tag) {
  world::Operation operation(Kind::kReceive, thread_.rank());
  thread_.start_receive(operation, communicator, from, bytes, tag);
  if (!thread_.gate.is_open()) co_await enter(thread_);
  co_await Done{operation};
  if (thread_.rank().going_on > 0) co_await share_processor(thread_, operation.done_at);
  co_return thread_.observe(operation);
}

Task<Received> RankHandle::sendrecv(int to, std::size_t bytes, int from, std::size_t room, int tag) {
  std::vector<RankRequest> both(2);
  both[1] = irecv(from, room, tag);
  both[0] = isend(to, bytes, tag);
  std::vector<Received> learned;
  (void)co_await wait_all(both, &learned);
  Received received = learned[1];
  if (received.outcome == Outcome::kOk) received.outcome = learned[0].outcome;
  co_return received;
}

RankRequest RankHandle::start(const PersistentMessage& message) {
  if (!message.sends) return irecv(message.communicator, message.peer, message.bytes, message.tag);
  return isend(message.communicator, message.peer, message.bytes, message.tag, message.element,
               message.synchronous);
}

RankRequest RankHandle::isend(const Communicator& communicator, int to, std::size_t bytes, int tag,
                              ElementType element, Synchronous synchronous) {
  RankRequest request(new world::Operation(Kind::kSend, thread_.rank()));
  if (thread_.core().has_thread()) [[unlikely]]
    thread_.begin_beside(*request.operation_,
                         thread_.message_question(communicator, to, bytes, tag, element));
  thread_.start_send(*request.operation_, communicator, to, bytes, tag, element, synchronous);
  return request;
}

RankRequest RankHandle::irecv(const Communicator& communicator, int from, std::size_t bytes, int tag) {
  RankRequest request(new world::Operation(Kind::kReceive, thread_.rank()));
  if (thread_.core().has_thread()) [[unlikely]]
    thread_.begin_beside(*request.operation_,
                         thread_.message_question(communicator, from, bytes, tag, ElementType::kByte));
  thread_.start_receive(*request.operation_, communicator, from, bytes, tag);
  return request;
}

// --- completion ---

Task<Received> RankHandle::wait(RankRequest& request) {
  if (!thread_.gate.is_open()) co_await enter(thread_);
  co_await Done{*request.operation_};
  if (thread_.rank().going_on > 0) co_await share_processor(thread_, request.operation_->done_at);
  const Received received = thread_.observe(*request.operation_);
  request = RankRequest();
  if (thread_.is_far_ahead()) co_await Until{thread_, thread_.clock};
  co_return received;
}

/// Processes completions in order of their time, whatever their order in the list.
const std::vector<Received>& RankHandle::observe_in_order(const std::vector<RankRequest>& requests) {
  auto& [order, received] = thread_.core().learning();
  order.clear();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!requests[i].empty()) order.emplace_back(requests[i].operation_->done_at, i);
  }
  std::sort(order.begin(), order.end());
  received.assign(requests.size(), {});
  for (const auto& [done_at, i] : order) received[i] = thread_.observe(*requests[i].operation_);
  return received;
}

void RankHandle::prefetch_operations(const std::vector<RankRequest>& requests) const {
  if (!thread_.core().prefetches()) return;
  for (const RankRequest& request : requests) fetch_ahead(request.operation_, sizeof(world::Operation));
}
void RankHandle::prefetch_messages(const std::vector<RankRequest>& requests) const {
  if (!thread_.core().prefetches()) return;
  for (const RankRequest& request : requests) {
    if (!request.empty() && request.operation_->message() != nullptr)
      fetch_ahead(request.operation_->message(), sizeof(world::Message));
  }
}

Task<Outcome> RankHandle::wait_all(std::vector<RankRequest>& requests, std::vector<Received>* received) {
  prefetch_operations(requests);
  Time done;
  bool in_order = true;
  for (const RankRequest& request : requests) {
    if (request.empty()) continue;
    if (!thread_.gate.is_open()) co_await enter(thread_);
    co_await Done{*request.operation_};
    in_order = in_order && done <= request.operation_->done_at;
    done = later(done, request.operation_->done_at);
  }
  if (thread_.rank().going_on > 0) co_await share_processor(thread_, done);
  prefetch_messages(requests);
  const std::vector<Received>* learned = nullptr;
  if (!in_order) learned = &observe_in_order(requests);
  Outcome outcome = Outcome::kOk;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Received one;
    if (learned != nullptr) {
      one = (*learned)[i];
    } else if (!requests[i].empty()) {
      one = thread_.observe(*requests[i].operation_);
    }
    note(outcome, one.outcome);
    if (received != nullptr) received->push_back(one);
  }
  requests.clear();
  if (thread_.is_far_ahead()) co_await Until{thread_, thread_.clock};
  co_return outcome;
}

void SomeDone::await_suspend(std::coroutine_handle<> waiter) const {
  thread.sleeper = waiter;
  thread.awaited = &set;
}
void SomeDone::await_resume() const {
  thread.awaited = nullptr;
  set.finish_some(learned, most);
}

bool RankHandle::must_enter_wait() const {
  return !thread_.gate.is_open();
}
Task<void> RankHandle::enter_wait() {
  return enter(thread_);
}

void RankHandle::move_in(RequestSet& set, std::vector<RankRequest>& requests) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!requests[i].empty()) set.add(std::move(requests[i]), i);
  }
}
void RankHandle::move_back(RequestSet& set, std::vector<RankRequest>& requests) {
  while (set.head_ != nullptr) {
    world::Operation* const operation = set.remove(*set.head_);
    requests[operation->name] = RankRequest(operation);
  }
}

Task<std::pair<std::size_t, Received>> RankHandle::wait_any(std::vector<RankRequest>& requests) {
  RequestSet set(*this);
  move_in(set, requests);
  std::vector<RequestSet::Learned> learned;
  if (must_enter_wait()) co_await enter_wait();
  co_await wait_some(set, learned, 1);
  move_back(set, requests);
  co_return std::pair(learned[0].name, learned[0].received);
}

Task<std::vector<std::pair<std::size_t, Received>>> RankHandle::wait_some(
    std::vector<RankRequest>& requests) {
  RequestSet set(*this);
  move_in(set, requests);
  std::vector<RequestSet::Learned> learned;
  if (must_enter_wait()) co_await enter_wait();
  co_await wait_some(set, learned);
  move_back(set, requests);
  std::vector<std::pair<std::size_t, Received>> found;
  found.reserve(learned.size());
  for (const RequestSet::Learned& one : learned) found.emplace_back(one.name, one.received);
  co_return found;
}

void RankHandle::abandon(RankRequest& request) {
  thread_.core().abandon(*std::exchange(request.operation_, nullptr));
}

bool RankHandle::is_far_ahead() const {
  return thread_.is_far_ahead();
}
Task<void> RankHandle::wait_for_world() {
  if (thread_.asked) co_await await_world(thread_);
  co_await Until{thread_, thread_.clock};
}

Task<std::optional<Received>> RankHandle::test(RankRequest& request) {
  co_await poll();
  if (!request.operation_->done || request.operation_->done_at > thread_.clock) co_return std::nullopt;
  const Received received = thread_.observe(*request.operation_);
  request = RankRequest();
  co_return received;
}

/// Charges the cost of a poll, and lets the world reach the program's clock.
Task<void> RankHandle::poll() {
  if (!thread_.gate.is_open()) co_await enter(thread_);
  work(thread_.core().options().poll);
  thread_.is_polling = true;
  co_await await_world(thread_);
  thread_.is_polling = false;
}

Task<void> RankHandle::prepare_cancel() {
  if (!thread_.gate.is_open()) co_await enter(thread_);
  co_await Until{thread_, thread_.clock};
}

bool RankHandle::cancel_now(RankRequest& request) {
  world::Operation& operation = *request.operation_;
  if (operation.done || !operation.queued) return false;
  thread_.rank().posted.remove(operation);
  operation.cancelled = true;
  operation.key.source = 0;
  operation.outcome = Outcome::kCancelled;
  operation.done = true;
  operation.done_at = thread_.clock;
  if (operation.in_set) operation.set->completed(operation);
  return true;
}

Task<bool> RankHandle::cancel(RankRequest& request) {
  co_await prepare_cancel();
  co_return cancel_now(request);
}

static std::optional<Received> look(world::Rank& rank, const world::MatchKey& key) {
  const world::Matchable* const found = rank.unexpected.find_message(key);
  if (found == nullptr) return std::nullopt;
  const auto& message = static_cast<const world::Message&>(*found);
  return Received{Outcome::kOk, message.source_in_group, message.key.tag, message.transfer.bytes};
}

Task<Received> RankHandle::probe(const Communicator& communicator, int from, int tag) {
  const world::MatchKey key = world::Rank::key_of(communicator, from, tag);
  if (!thread_.gate.is_open()) co_await enter(thread_);
  co_await Until{thread_, thread_.clock};
  std::optional<Received> found = look(thread_.rank(), key);
  while (!found) {
    co_await world::Probing{thread_, key};
    thread_.clock = later(thread_.clock, thread_.core().now());
    found = look(thread_.rank(), key);
  }
  co_return *found;
}

Task<RankRequest> RankHandle::claim(const Communicator& communicator, int from, int tag) {
  const Received found = co_await probe(communicator, from, tag);
  RankRequest request(new world::Operation(Kind::kReceive, thread_.rank()));
  request.operation_->key = world::Rank::key_of(communicator, found.source, found.tag);
  request.operation_->bytes = found.bytes;
  request.operation_->claimed = true;
  thread_.core().receive(*request.operation_, thread_.clock);
  co_return request;
}

Time RankHandle::post_cost() const {
  return thread_.core().post_cost(thread_.rank());
}

Task<std::optional<Received>> RankHandle::iprobe(const Communicator& communicator, int from, int tag) {
  co_await poll();
  co_return look(thread_.rank(), world::Rank::key_of(communicator, from, tag));
}

// --- collectives ---

RankRequest RankHandle::start(const Communicator& communicator, const Operation& operation,
                              const CollectiveSizes& sizes, bool waits) {
  const std::uint8_t backend = thread_.core().choose(operation, thread_.rank()).backend;
  auto* const collective = new world::Collective(
      thread_, communicator, backend, world::Collective::tag_of(communicator.local_->collectives++), waits);
  RankRequest request(collective);
  if (operation.nonblocking && thread_.core().has_thread()) [[unlikely]]
    thread_.begin_beside(*collective, operation);
  if (thread_.core().has_declined()) {
    collective->outcome = Outcome::kFault;
    thread_.core().done(*collective, thread_.clock);
  } else {
    collective->start(thread_, operation, sizes);
  }
  return request;
}

Task<Outcome> RankHandle::collective(const Communicator& communicator, Operation operation) {
  operation.ranks = communicator.size();
  RankRequest request = start(communicator, operation, sizes_of(operation, communicator.rank()), true);
  if (!thread_.gate.is_open()) co_await enter(thread_);
  co_await Done{*request.operation_};
  if (thread_.rank().going_on > 0) co_await share_processor(thread_, request.operation_->done_at);
  const Outcome outcome = thread_.observe(*request.operation_).outcome;
  if (thread_.is_far_ahead()) co_await Until{thread_, thread_.clock};
  co_return outcome;
}

namespace {
Operation bytes_of(OperationKind kind, std::size_t bytes, int root = 0) {
  Operation operation;
  operation.kind = kind;
  operation.bytes = operation.elements = bytes;
  operation.root = root;
  return operation;
}
Operation sum_of_doubles(OperationKind kind, std::size_t bytes, int root = 0) {
  Operation operation = bytes_of(kind, bytes, root);
  operation.element = ElementType::kFloat64;
  operation.function = ReduceFunction::kSum;
  operation.elements = bytes / sizeof(double);
  return operation;
}
}  // namespace

Task<Outcome> RankHandle::bcast(std::size_t bytes, int root) {
  return collective(bytes_of(OperationKind::kBcast, bytes, root));
}
Task<Outcome> RankHandle::reduce(std::size_t bytes, int root) {
  return collective(sum_of_doubles(OperationKind::kReduce, bytes, root));
}
Task<Outcome> RankHandle::allreduce(std::size_t bytes) {
  return collective(sum_of_doubles(OperationKind::kAllreduce, bytes));
}
Task<Outcome> RankHandle::gather(std::size_t block, int root) {
  return collective(bytes_of(OperationKind::kGather, block, root));
}
Task<Outcome> RankHandle::scatter(std::size_t block, int root) {
  return collective(bytes_of(OperationKind::kScatter, block, root));
}
Task<Outcome> RankHandle::allgather(std::size_t block) {
  return collective(bytes_of(OperationKind::kAllgather, block));
}
Task<Outcome> RankHandle::alltoall(std::size_t block) {
  return collective(bytes_of(OperationKind::kAlltoall, block));
}
Task<Outcome> RankHandle::barrier() {
  return collective(bytes_of(OperationKind::kBarrier, 0));
}

// --- communicators ---

Task<void> RankHandle::synchronize(const Communicator& communicator) {
  (void)co_await split(communicator, -1, 0);
}

RankRequest RankHandle::start_synchronize(const Communicator& communicator, Time lasts, bool works) {
  auto* const meeting = new world::Meeting(thread_, communicator.rank(), -1, 0);
  meeting->lasts = lasts;
  meeting->works = works;
  RankRequest request(meeting);
  thread_.core().synchronize(communicator, communicator.local_->collectives++, *meeting);
  return request;
}

RankRequest RankHandle::access(const Communicator& communicator, int target, Access kind, std::size_t bytes,
                               std::size_t back) {
  RankRequest request(new world::Operation(Kind::kSend, thread_.rank()));
  thread_.take_turn();
  const world::AccessArguments arguments{communicator.world_rank(target), kind, bytes, back};
  thread_.clock = later(thread_.clock,
                        thread_.core().access(thread_.rank(), *request.operation_, arguments, thread_.clock));
  return request;
}

RankRequest RankHandle::neighbours(const Communicator& communicator, std::span<const Block> to,
                                   std::span<const Block> from, bool nonblocking) {
  std::vector<world::Collective::CarriedBlock> carried;
  for (const Block& block : to) {
    const Operation question =
        thread_.message_question(communicator, block.rank, block.bytes, 0, ElementType::kByte);
    carried.push_back({block, thread_.core().choose(question, thread_.rank()).backend});
  }
  auto* const collective = new world::Collective(
      thread_, communicator, carried.empty() ? std::uint8_t{0} : carried.front().backend,
      world::Collective::tag_of(communicator.local_->collectives++), false);
  RankRequest request(collective);
  collective->start_neighbours(thread_, carried, from, nonblocking);
  return request;
}

Communicator RankHandle::communicator(std::span<const int> members, std::uint64_t id,
                                      const Communicator* parent) {
  return thread_.core().join(members, id, thread_.rank().number(), parent);
}

Task<Communicator> RankHandle::duplicate(const Communicator& communicator) {
  co_return *co_await split(communicator, 0, communicator.rank());
}

Task<std::optional<Communicator>> RankHandle::split(const Communicator& communicator, int color, int key) {
  world::Meeting meeting(thread_, communicator.rank(), color, key);
  thread_.core().synchronize(communicator, communicator.local_->collectives++, meeting);
  if (!thread_.gate.is_open()) co_await enter(thread_);
  co_await Done{meeting};
  if (thread_.rank().going_on > 0) co_await share_processor(thread_, meeting.done_at);
  (void)thread_.observe(meeting);
  co_return std::move(meeting.made);
}

// --- threads ---

void RankHandle::begin_thread(const std::function<Task<void>(RankHandle& rank)>& program) {
  world::FurtherThread& added = thread_.rank().add_thread(program);
  added.thread.clock = later(thread_.clock, thread_.core().now());
  thread_.core().launch(added.thread, added.begun_with);
}

Task<void> RankHandle::sleep() {
  co_await world::Asleep{thread_};
  thread_.clock = later(thread_.clock, thread_.core().now());
}

void RankHandle::uses(std::span<const std::byte> memory, const ProgramMemory* further) {
  thread_.used = memory;
  thread_.further = further;
}

void RankHandle::wake() {
  thread_.core().wake(thread_, thread_.core().now());
}

}  // namespace offramp
