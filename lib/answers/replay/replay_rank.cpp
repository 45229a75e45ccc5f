// play() loops over the events. next() prepares one: damage, checks, the computing before it, and the
// certificate. The switch executes it through the RankHandle, and end_event() accounts for it. All checks
// precede execution, since a recording may contain anything: refuse() fails the whole replay and names rank
// and event; end_early() ends this rank only. An event names requests by their distance back from it;
// find_requests() turns these into numbers_, which index the table of open requests. Collectives,
// communicators, and phases are in replay_collectives.cpp.
#include "lib/answers/replay/replay_rank.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "offramp/kernel/prefetch.hpp"

namespace offramp {

using recording::Event;
using recording::EventKind;

namespace {

constexpr Time kLatest = Time::ps(std::int64_t{1} << 61);  // 26 days, within 63 bits
constexpr std::uint64_t kMostComputed =
    static_cast<std::uint64_t>(kLatest.count()) / 1000;  // ns, before one event
// IDs of communicators that recordings do not contain.
constexpr std::uint64_t kSelves = std::uint64_t{1} << 63;
constexpr std::uint64_t kJobs = std::uint64_t{1} << 62;

/// Events of other threads that MPI orders behind it wait until it is done, not only begun: they must not
/// receive the message that it probes for, or complete the request that it cancels.
constexpr bool is_over_when_done(EventKind kind) {
  return kind == EventKind::kProbe || kind == EventKind::kClaim || kind == EventKind::kCancel;
}
// The world keeps the bytes and a word with a request. The function, kind, and handling fit into the word.
RequestSet::Note note_of(const Begun& begun) {
  return {begun.bytes, static_cast<std::uint32_t>(begun.call) << 16U |
                           static_cast<std::uint32_t>(begun.kind) << 8U |
                           static_cast<std::uint32_t>(begun.handling)};
}
Begun begun_of(const RequestSet::Note& note) {
  return {note.bytes, static_cast<std::uint16_t>(note.other >> 16U),
          static_cast<EventKind>(note.other >> 8U & 0xffU), static_cast<Handling>(note.other & 0xffU)};
}
/// Does not communicate.
constexpr bool is_local(EventKind kind) {
  return kind == EventKind::kNative || kind == EventKind::kClock;
}

// Receives are counted by the size that arrives, elsewhere.
constexpr SizeTable::OperationClass size_kind(EventKind kind) {
  if (kind == EventKind::kAccess) return SizeTable::OperationClass::kAccess;
  return kind == EventKind::kSend ? SizeTable::OperationClass::kSend : SizeTable::OperationClass::kCollective;
}

constexpr bool has_communicator(EventKind kind) {
  if (kind == EventKind::kNeighbours || kind == EventKind::kAccess) return true;
  return kind <= EventKind::kClaim ? kind != EventKind::kWait : kind == EventKind::kMeet;
}

}  // namespace

// --- a rank and its events ---

ReplayRank::ReplayRank(ReplayRun& run, RankHandle& rank, const ReplayJob& job_)
    : state(run.rank_states[static_cast<std::size_t>(rank.rank())]),
      replayed(run.result.ranks[static_cast<std::size_t>(rank.rank())]),
      job(job_),
      communicators(recording::kFirstMade) {
  std::optional<Communicator>& everyone = communicators[recording::kWorld].communicator;
  everyone = rank.world_communicator();
  // Beside other jobs, the program's world is a part of the world.
  if (job.ranks < rank.size()) {
    std::vector<int> members(static_cast<std::size_t>(job.ranks));
    std::iota(members.begin(), members.end(), job.first);
    everyone = rank.communicator(members, kJobs | static_cast<std::uint64_t>(job.first));
  }
  if (run.options.certificate) certificate = std::make_unique<Certificate>();
}

ReplayThread::ReplayThread(ReplayRun& run, ReplayRank& own, RankHandle& rank, recording::Reader& reader,
                           RankThreads* order)
    : run_(run),
      own_(own),
      rank_(rank),
      reader_(reader),
      order_(order),
      events_(run.options.observer != nullptr ? run.options.observer->events() : nullptr),
      began_(rank.clock()),
      all_in_set_(order == nullptr && reader.waits_for_open()),
      open_(rank) {
  if (all_in_set_) own.functions = &run.functions_of_graphs;
  // The world prefetches this memory before it continues the rank.
  const auto* const begin = reinterpret_cast<const std::byte*>(this);
  rank.uses({begin, reinterpret_cast<const std::byte*>(&held_)}, all_in_set_ ? this : nullptr);
}

/// The reader reads what belongs to the request that completes first.
void ReplayThread::fetch(unsigned step) const {
  constexpr std::size_t kReader = 384;  // of a graph's; others are not fetched
  constexpr std::size_t kOwn = 128;     // its first fields
  constexpr std::size_t kCounters = 4;  // of the functions of graphs
  if (step == 0) {
    fetch_ahead(&reader_, kReader);
    fetch_ahead(&own_, kOwn);
  } else if (step == 1) {
    fetch_ahead(&own_.state, sizeof(own_.state));
    fetch_ahead(&own_.replayed, sizeof(own_.replayed));
    fetch_ahead(own_.replayed.counters.calls.data(), kCounters * sizeof(CallCounter));
    fetch_ahead(own_.communicators.data(), sizeof(ReplayRank::Made));
  }
  if (const std::optional<std::size_t> first = open_.fetch_first(step)) reader_.fetch(*first, step - 1);
}

Task<void> ReplayThread::play() {
  for (;;) {
    if (order_ != nullptr) co_await advance_to_event();
    if (!next()) break;
    if (order_ != nullptr) {
      co_await take_turn();
      // Ranks in step keep the queues of messages short.
    } else if (rank_.is_far_ahead()) {
      co_await rank_.wait_for_world();
    }
    own_.state.call = event_.call;  // another thread may have changed it
    own_.state.handling = &handling_;
    if (!check()) break;
    switch (event_.kind) {
      case EventKind::kSend: {
        const bool blocking = has(recording::kBlocking) && !has(recording::kBuffered);
        const auto bytes = static_cast<std::size_t>(event_.bytes);
        const Time before = rank_.clock();
        if (!blocking) {
          RankRequest request =
              rank_.isend(*communicator_, event_.peer, bytes, event_.tag, event_.element,
                          has(recording::kSynchronous) ? Synchronous::kYes : Synchronous::kNo);
          // A buffered send is never waited for.
          has(recording::kBuffered) ? rank_.abandon(request) : open(std::move(request), bytes);
        } else if (has(recording::kSynchronous)) {
          (void)co_await rank_.ssend(*communicator_, event_.peer, bytes, event_.tag, event_.element);
        } else {
          (void)co_await rank_.send(*communicator_, event_.peer, bytes, event_.tag, event_.element);
        }
        count_begun(begun(bytes), rank_.clock() - before);
        break;
      }
      case EventKind::kReceive: {
        if (taken_ != Taken::kSomething) {
          leave_open();
          break;
        }
        const auto room = static_cast<std::size_t>(event_.bytes);
        if (!has(recording::kBlocking)) {
          open(rank_.irecv(*communicator_, source_, room, tag_), 0);
          break;
        }
        const Received received = co_await rank_.receive(*communicator_, source_, room, tag_);
        count_completed(begun(0), received);
        notify_completed(ReplayEvents::kNoRequest, received);
        break;
      }
      case EventKind::kCollective:
      case EventKind::kNeighbours:
      case EventKind::kAccess:
      case EventKind::kMeet: {
        std::uint64_t bytes = 0;
        RankRequest request = start(bytes);
        if (!request.empty()) co_await complete(request, bytes);
        break;
      }
      case EventKind::kWait: {
        if (all_in_set_) {
          // With one request there is no choice.
          if (open_.size() > 1) depends(Dependence::kChoice);
          if (open_.size() > 0 && rank_.must_enter_wait()) co_await rank_.enter_wait();
          if (open_.size() > 0) co_await rank_.wait_some(open_, run_.learned);
          learn_of_open();
          break;
        }
        if (event_.extra == 0 || has(recording::kAny) || has(recording::kSome)) {
          co_await wait_for_list();
          break;
        }
        if (!find_requests() || !resolve_found()) break;
        for (OpenRequest& one : taken_requests_) {  // possibly none
          const Received received = co_await rank_.wait(one.request);
          count_completed(one.begun, received);
          on_completed(one.number, received);
        }
        break;
      }
      case EventKind::kProbe:
      case EventKind::kClaim:
        co_await probe();
        if (order_ != nullptr) order_->begun(stream());
        break;
      case EventKind::kCancel:
        co_await cancel();
        if (order_ != nullptr) order_->begun(stream());
        break;
      case EventKind::kFree:
        free();
        break;
      case EventKind::kCommunicator:
        make_communicator();
        break;
      case EventKind::kPhase:
        phase();
        break;
      case EventKind::kClock:
        if (run_.options.clock_reads != nullptr)
          (*run_.options.clock_reads)[static_cast<std::size_t>(rank_.rank())].push_back(
              {rank_.clock(), event_.extra});
        break;
      case EventKind::kNative:
        (void)rest(own_.replayed.native, reader_.times().native, run_.options.compute.native);
        if (!has(recording::kCommunicates)) break;
        is_outside_ = true;
        counter_of(call_).bytes_outside += event_.bytes;
        break;
      case EventKind::kCount:
        break;
    }
    end_event();
  }
  co_await finish();
}

bool ReplayThread::refuse(const std::string& what) {
  const std::uint64_t number = order_ != nullptr ? stream().dealt().number : own_.state.events;
  run_.fail(fmt::format("rank {}, event {} ({}): {}", rank_.rank(), number,
                        run_.result.functions[event_.call], what));
  return false;
}

bool ReplayThread::end_early(const std::string& why) {
  own_.state.why_early = why;
  ends_ = true;
  return false;
}

/// Prepares the next event. False at the end of the rank's replay.
bool ReplayThread::next() {
  if (ends_ || run_.over) return false;
  if (!reader_.next(event_)) {
    const std::string& damage = reader_.error();
    if (!damage.empty() && run_.options.partial) {
      // The user asked for as much as can be read.
      end_early("its recording is damaged: " + damage);
    } else if (!damage.empty()) {
      run_.fail(damage);  // names the rank
    } else if (!reader_.cut().empty()) {
      end_early(std::string(reader_.cut()));
    }
    return false;
  }
  run_.count_event();
  std::vector<std::uint16_t>& functions = *own_.functions;
  if (event_.call >= functions.size()) functions.resize(std::size_t{event_.call} + 1, ReplayRank::kUnknown);
  std::uint16_t& function = functions[event_.call];
  if (function == ReplayRank::kUnknown) function = run_.number_of_function(reader_.call(event_.call));
  event_.call = function;
  // Other threads begin requests too, so the number comes from the recording.
  if (order_ != nullptr) begun_ = stream().dealt().begun;
  ++own_.state.events;
  own_.state.call = event_.call;
  if (run_.over) return false;
  if (!has(recording::kContinues)) end_call();
  // Other hardware would need other numbers of polls.
  if (const std::uint64_t polls = reader_.polls(); polls > 0) depends(Dependence::kPolling, polls);
  if (!pass_time()) return false;
  if (own_.certificate != nullptr) certify_event();
  begin_call();
  if (events_ != nullptr) {
    const std::size_t made = order_ != nullptr ? stream().dealt().made : own_.communicators.size();
    events_->begins(position(), {event_, reader_, run_.result.functions[event_.call], begun_, made});
  }
  return true;
}

/// Sleeps until this thread's next event, or the end, has been read.
Task<void> ReplayThread::advance_to_event() {
  auto& own = static_cast<RankThreads::Stream&>(reader_);
  while (!order_->fetch(own, rank_)) co_await rank_.sleep();
}

/// Waits for all that MPI orders before the event: for MPI_Finalize, the end of all other threads.
Task<void> ReplayThread::take_turn() {
  const bool is_last = run_.is_end(event_.call);
  // Threads that have not begun would otherwise never end.
  if (is_last) order_->begin_threads();
  while (is_last && own_.playing > 1) {
    own_.last_thread = &rank_;
    co_await rank_.sleep();
  }
  if (is_last) own_.last_thread = nullptr;
  co_await rank_.wait_for_world();
  // A thread may be woken for another reason.
  while (!order_->may_begin(stream(), rank_)) co_await rank_.sleep();
  if (!is_over_when_done(event_.kind)) order_->begun(stream());
}

/// The CPU time between the event's preceding polls that counts as computing, in nanoseconds.
std::uint64_t ReplayThread::computed_between_polls(const recording::Gaps& gaps) {
  // Sums stay within range even for damaged recordings.
  const auto add = [](Time& sum, std::uint64_t nanoseconds) {
    if (sum < kLatest && nanoseconds < kMostComputed) sum += Time::ns(static_cast<std::int64_t>(nanoseconds));
  };
  add(own_.replayed.brief_gaps, gaps.brief);
  add(own_.replayed.longer_gaps, gaps.longer);
  switch (run_.options.compute.polling) {
    case Polling::kWait:
      return 0;
    case Polling::kThreshold:
      return gaps.longer;
    case Polling::kWork:
      break;
  }
  return gaps.brief < kMostComputed && gaps.longer < kMostComputed ? gaps.brief + gaps.longer : kMostComputed;
}

/// Advances the clock by the time before the event. Failed polls are attributed to the gaps between them
/// if there are any, and otherwise to the computing.
bool ReplayThread::pass_time() {
  const recording::Gaps gaps = reader_.gaps();
  const recording::Times times = reader_.times();
  if (!gaps.any() && times.computing == 0 && times.blocked == 0) return true;
  const std::uint64_t between = computed_between_polls(gaps);
  const std::uint64_t questions = reader_.polls();
  return compute(times.computing, gaps.any() ? 0 : questions) && compute(between, questions) &&
         rest(own_.replayed.blocked, times.blocked, run_.options.compute.blocked);
}

/// Adds a recorded time to a sum and returns it, scaled. 0 without computing. Refuses times that are too
/// long.
std::optional<Time> ReplayThread::scaled(Time& sum, std::uint64_t recorded, double factor) {
  const double picoseconds = static_cast<double>(recorded) * 1000 * factor;
  const bool is_sane = recorded < kMostComputed;
  // Sums are counted even if computing is left out, for reports.
  if (is_sane && sum < kLatest) sum += Time::ns(static_cast<std::int64_t>(recorded));
  if (run_.options.compute.kind == Compute::Mode::kNone) return Time();
  if (!is_sane || !(picoseconds < static_cast<double>(kLatest.count()))) {
    refuse(fmt::format("a recorded time of {} ns is too long", recorded));
    return std::nullopt;
  }
  // Keeps whole nanoseconds exact.
  return factor == 1 ? Time::ns(static_cast<std::int64_t>(recorded)) : Time::ps(std::llround(picoseconds));
}

bool ReplayThread::compute(std::uint64_t recorded, std::uint64_t questions) {
  const Compute& compute = run_.options.compute;
  if (recorded == 0) return true;
  const auto time =
      scaled(own_.replayed.computing, recorded, compute.kind == Compute::Mode::kFactor ? compute.factor : 1);
  if (time && compute.kind != Compute::Mode::kNone) rank_.compute(*time, questions);
  return time.has_value();
}

/// The thread does nothing for a recorded time.
bool ReplayThread::rest(Time& sum, std::uint64_t recorded, double factor) {
  const auto time = recorded == 0 ? Time() : scaled(sum, recorded, factor);
  if (time) rank_.rest_until(rank_.clock() + *time);
  return time.has_value();
}

void ReplayThread::end_event() {
  if (events_ != nullptr) events_->ended(position());
  // Clocks have 63 bits of picoseconds.
  if (rank_.clock() > kLatest) refuse("the modelled time exceeds 26 days");
}

/// Begins a call unless the event continues one.
void ReplayThread::begin_call() {
  const bool lasts = reader_.times().native > 0 && run_.options.compute.kind != Compute::Mode::kNone;
  lasts_ = lasts || (in_call_ && lasts_);  // a communicator's constructor lasts in its second event
  if (in_call_) return;
  call_began_ = rank_.clock();
  call_ = event_.call;
  call_site_ = event_.site;
  in_call_ = event_.kind != EventKind::kPhase && !run_.is_end(call_);  // neither counts as a call in reports
  is_outside_ = false;
  const bool takes_time = !is_local(event_.kind) || lasts_;
  // Observers expect that each call takes time.
  is_reported_ = in_call_ && run_.options.observer != nullptr && takes_time;
  if (in_call_ && is_local(event_.kind)) ++counter_of(call_).native;
  if (!is_reported_) return;
  select_thread();
  run_.options.observer->enter(rank_.rank());
}

/// Ends the current call if there is one.
void ReplayThread::end_call() {
  if (!in_call_) return;
  CallCounter& counter = counter_of(call_);
  ++counter.count;
  counter.modelled += rank_.clock() - call_began_;
  if (lasts_) counter.unmodelled += rank_.clock() - call_began_;
  if (lasts_ && is_outside_) counter.outside += rank_.clock() - call_began_;
  in_call_ = false;
  if (own_.certificate != nullptr) own_.certificate->note_time(rank_.clock());
  if (!is_reported_) return;
  select_thread();
  run_.options.observer->leave(rank_.rank(), call_, run_.result.functions[call_], reader_.site(call_site_),
                               call_began_, rank_.clock());
}

/// Counts a send or a collective in the current call.
void ReplayThread::count_begun(const Begun& what, Time spent) {
  counter_of(what.call).bytes += what.bytes;
  own_.replayed.counters.times.add(what.handling, spent);
  if (own_.replayed.sizes != nullptr) own_.replayed.sizes->add(size_kind(what.kind), what.bytes, spent);
}

/// Counts an operation when the program learns that it has completed.
void ReplayThread::count_completed(const Begun& what, const Received& received) {
  const bool receives = what.kind == EventKind::kReceive || what.kind == EventKind::kClaim;
  if (own_.certificate != nullptr)
    own_.certificate->note({static_cast<std::uint64_t>(received.outcome),
                            static_cast<std::uint64_t>(received.source),
                            static_cast<std::uint64_t>(received.tag), received.bytes});
  // Nothing was received.
  if (received.outcome == Outcome::kCancelled) return;
  if (receives) {
    CallCounter& counter = counter_of(what.call);
    counter.bytes += received.bytes;
    counter.note(received.handling);
  }
  if (what.kind == EventKind::kMeet) return;
  // A receive costs time when it is posted, too.
  const Time posting = what.kind == EventKind::kReceive ? rank_.post_cost() : Time();
  const Time spent = received.spent + posting;
  own_.replayed.counters.times.add(receives ? received.handling : what.handling, spent);
  if (own_.replayed.sizes == nullptr) return;
  if (receives) {
    own_.replayed.sizes->add(SizeTable::OperationClass::kReceive, received.bytes, spent);
  } else {
    own_.replayed.sizes->add_time(size_kind(what.kind), what.bytes, spent);
  }
}

// The length separates lists whose contents run on.
void ReplayThread::certify_list(std::uint32_t list) {
  const auto values = std::as_bytes(reader_.list(list));
  own_.certificate->note({values.size(), Certificate::digest(values)});
}

/// Hashes the function's name: its number depends on other ranks.
void ReplayThread::certify_event() {
  Event event = event_;
  event.call = 0;
  // Numbers of lists depend on the writer; their contents are hashed below.
  event.list = event.second_list = 0;
  const std::string& name = run_.result.functions[event_.call];
  own_.certificate->note({Certificate::digest(std::as_bytes(std::span(name.data(), name.size()))),
                          Certificate::digest(std::as_bytes(std::span(&event, 1)))});
  certify_list(event_.list);
  certify_list(event_.second_list);
}

// --- what makes no sense ---

bool ReplayThread::check() {
  if (event_.kind >= EventKind::kCount)
    return refuse(fmt::format("unknown kind {}", static_cast<int>(event_.kind)));
  if (event_.element > ElementType::kMixed || event_.function > ReduceFunction::kUser ||
      event_.operation >= OperationKind::kCount)
    return refuse("its element, function, or operation is unknown");
  if (!has_communicator(event_.kind)) return true;
  if (event_.communicator >= own_.communicators.size())
    return refuse(fmt::format("communicator {} does not exist", event_.communicator));
  std::optional<Communicator>& named = own_.communicators[event_.communicator].communicator;
  if (!named) {  // the rank's own
    const int self[] = {rank_.rank()};
    named = rank_.communicator(self, kSelves | static_cast<std::uint64_t>(rank_.rank()));
  }
  // Vectors of communicators grow while this thread waits.
  communicator_ = order_ != nullptr ? &held_.emplace(*named) : &*named;
  if (event_.kind == EventKind::kAccess) return check_access();
  if (event_.kind == EventKind::kCollective || event_.kind >= EventKind::kMeet) return true;
  return check_message();
}

bool ReplayThread::check_peer(int least) {
  return (event_.peer < communicator_->size() && event_.peer >= least) ||
         refuse(fmt::format("rank {} is not one of {}", event_.peer, communicator_->size()));
}

/// Counts bytes that the event moves.
bool ReplayThread::check_bytes(std::uint64_t bytes) {
  return (bytes <= kMostBytes && (own_.sent += bytes) <= kMostSent) ||
         refuse(fmt::format("{} bytes exceed the largest message of the simulation", bytes));
}

bool ReplayThread::check_access() {
  if (event_.tag <= static_cast<int>(Access::kNone) || event_.tag >= static_cast<int>(Access::kCount))
    return refuse(fmt::format("unknown access {}", event_.tag));
  return check_peer(0) && check_bytes(event_.bytes) && check_bytes(event_.extra);
}

bool ReplayThread::check_message() {
  const bool sends = event_.kind == EventKind::kSend;
  if (!check_peer(sends ? 0 : kAnySource)) return false;
  if (event_.tag < (sends ? 0 : kAnyTag)) return refuse(fmt::format("invalid tag {}", event_.tag));
  return sends ? check_bytes(event_.bytes) : resolve();
}

/// Decides the source and tag of a receive or probe.
bool ReplayThread::resolve() {
  source_ = event_.peer;
  tag_ = event_.tag;
  taken_ = Taken::kSomething;
  if (source_ != kAnySource && tag_ != kAnyTag) {
    follow_probe();
    return true;
  }
  // Between two ranks, a wildcard can only mean the other one.
  const bool is_unnamed = source_ == kAnySource && communicator_->size() > 2;
  if (run_.arrival == Arrival::kModelled) {
    if (is_unnamed) depends(Dependence::kUnnamedSource);
    // After a wildcard receive it is unknown which probed message is left.
    if (event_.kind == EventKind::kReceive) probed_.clear();
    return true;
  }
  const std::optional<recording::Match> match = reader_.match();
  if (!match || match->source < 0) {
    taken_ = match ? Taken::kCancelled : Taken::kNothing;
    return true;
  }
  if (is_unnamed) depends(Dependence::kUnnamedSource);
  if (match->source >= communicator_->size() || match->tag < 0 ||
      (source_ != kAnySource && source_ != match->source) || (tag_ != kAnyTag && tag_ != match->tag))
    return refuse(
        fmt::format("it received tag {} from rank {}, which it does not match", match->tag, match->source));
  source_ = match->source;
  tag_ = match->tag;
  return true;
}

std::vector<ReplayThread::Probed>::iterator ReplayThread::find_probed(int source, int tag) {
  return std::find_if(probed_.begin(), probed_.end(), [&](const Probed& one) {
    return one.communicator == event_.communicator && one.source == source && one.tag == tag;
  });
}

/// A receive after a probe names the recorded message; redirects it to the one probed in this replay.
void ReplayThread::follow_probe() {
  if (event_.kind != EventKind::kReceive) return;
  const auto found = find_probed(source_, tag_);
  if (found == probed_.end()) return;
  source_ = found->found.source;
  tag_ = found->found.tag;
  // The room is that of the recorded message; the other one may be larger.
  event_.bytes = std::max<std::uint64_t>(event_.bytes, found->found.bytes);
  probed_.erase(found);
}

// --- requests ---

void ReplayThread::open(RankRequest&& request, std::uint64_t bytes) {
  if (all_in_set_) return open_.add(std::move(request), begun_++, note_of(begun(bytes)));
  OpenRequest& one = own_.requests.add(begun_++);
  one.request = std::move(request);
  one.begun = begun(bytes);
  one.by_arrival = event_.kind == EventKind::kReceive && run_.arrival == Arrival::kRecorded &&
                   (event_.peer == kAnySource || event_.tag == kAnyTag);
}

/// A receive that was cancelled, or whose message never arrived.
void ReplayThread::leave_open() {
  // Posting takes time, whatever happens to the receive.
  rank_.work(rank_.post_cost());
  if (has(recording::kBlocking)) {
    end_early("no message ever arrived");
  } else if (taken_ == Taken::kNothing) {
    open({}, 0);
  } else {
    ++begun_;  // a wait for it is skipped
  }
}

/// Converts the event's distances to numbers_, in order.
bool ReplayThread::find_requests() {
  numbers_.clear();
  const auto add = [this](std::uint64_t distance) {
    if (distance == 0 || distance > begun_)
      return refuse(
          fmt::format("it refers to the request {} back, but only {} were started", distance, begun_));
    numbers_.push_back(begun_ - distance);
    return true;
  };
  if (event_.extra != 0) return add(event_.extra);
  const auto list = reader_.list(event_.list);
  return std::all_of(list.begin(), list.end(), add);
}

/// Reduces numbers_ to the requests that a wait for one or some completed. In modelled arrival, marks those
/// as expected, and extends the wait: see join_loop().
bool ReplayThread::choose() {
  if (numbers_.size() > 1) depends(Dependence::kChoice);
  std::vector<std::uint64_t> chosen;
  for (const std::uint32_t position : reader_.choice()) {
    if (position >= numbers_.size())
      return refuse(fmt::format("it completed request {} of {}", position, numbers_.size()));
    chosen.push_back(numbers_[position]);
    if (OpenRequest* const one = own_.requests.find(chosen.back()); one != nullptr) one->is_expected = true;
  }
  if (run_.arrival == Arrival::kRecorded) {
    numbers_ = std::move(chosen);
  } else {
    join_loop();
  }
  return true;
}

/// A program waits in a loop until a set of requests has completed. In modelled time they complete in another
/// order, and other numbers of them at once. So each wait also covers open requests that earlier waits of the
/// loop completed in the recorded run. The loop's last wait covers all that remain.
void ReplayThread::join_loop() {
  const bool is_same_loop = std::any_of(numbers_.begin(), numbers_.end(),
                                        [&](std::uint64_t number) { return loop_.contains(number); });
  if (!is_same_loop) loop_.clear();
  loop_.insert(numbers_.begin(), numbers_.end());
  const std::set<std::uint64_t> listed(numbers_.begin(), numbers_.end());
  waits_for_all_ = true;
  for (auto place = loop_.begin(); place != loop_.end();) {
    const OpenRequest* const one = own_.requests.find(*place);
    if (one == nullptr && !listed.contains(*place)) {
      place = loop_.erase(place);
      continue;
    }
    if (one != nullptr && one->is_expected && !listed.contains(*place)) numbers_.push_back(*place);
    waits_for_all_ = waits_for_all_ && (one == nullptr || one->is_expected);
    ++place;
  }
}

/// Moves the open requests of numbers_ to taken_requests_.
bool ReplayThread::resolve_found() {
  taken_requests_.clear();
  for (const std::uint64_t number : numbers_) {
    OpenRequest* const one = own_.requests.find(number);
    // It has been completed already, in another order.
    if (one == nullptr) continue;
    if (one->request.empty()) return end_early("no message ever arrived");
    taken_requests_.push_back(own_.requests.remove(*one));
  }
  return true;
}

void ReplayThread::put_back(std::size_t index) {
  OpenRequest& one = taken_requests_[index];
  // The wait has emptied those that it completed.
  if (!waited_[index].empty())
    own_.requests.add(one.number) = {one.begun, one.by_arrival, one.is_expected, one.number,
                                     std::move(waited_[index])};
}

Task<void> ReplayThread::wait_for_list() {
  if (!find_requests()) co_return;
  const bool one_of_them = has(recording::kAny) || has(recording::kSome);
  if (one_of_them && !choose()) co_return;
  if (!resolve_found() || taken_requests_.empty()) co_return;
  for (OpenRequest& one : taken_requests_) waited_.push_back(std::move(one.request));
  if (one_of_them && run_.arrival == Arrival::kModelled && !waits_for_all_) {
    co_await wait_for_first();
    co_return;
  }
  received_.clear();
  (void)co_await rank_.wait_all(waited_, &received_);
  for (std::size_t i = 0; i < received_.size(); ++i) {
    count_completed(taken_requests_[i].begun, received_[i]);
    on_completed(taken_requests_[i].number, received_[i]);
  }
}

/// Completes the requests that a wait for some of all open ones found.
void ReplayThread::learn_of_open() {
  for (const RequestSet::Learned& one : run_.learned) {
    count_completed(begun_of(one.note), one.received);
    on_completed(one.name, one.received);
  }
  run_.learned.clear();
}

Task<void> ReplayThread::wait_for_first() {
  if (has(recording::kSome)) {
    const auto found = co_await rank_.wait_some(waited_);
    for (const auto& [index, received] : found) {
      count_completed(taken_requests_[index].begun, received);
      on_completed(taken_requests_[index].number, received);
    }
  } else {
    const std::pair<std::size_t, Received> found = co_await rank_.wait_any(waited_);
    count_completed(taken_requests_[found.first].begun, found.second);
    on_completed(taken_requests_[found.first].number, found.second);
  }
  for (std::size_t i = 0; i < waited_.size(); ++i) put_back(i);
  waited_.clear();
}

Task<void> ReplayThread::complete(RankRequest& request, std::uint64_t bytes) {
  if (begins_request(event_)) {
    open(std::move(request), bytes);
    co_return;
  }
  const Begun what = begun(bytes);
  const Received received = co_await rank_.wait(request);
  count_completed(what, received);
  notify_completed(ReplayEvents::kNoRequest, received);
}

Task<void> ReplayThread::probe() {
  if (taken_ != Taken::kSomething) {
    end_early("no message ever arrived");
  } else if (event_.kind == EventKind::kProbe) {
    const Received found = co_await rank_.probe(*communicator_, source_, tag_);
    if (run_.arrival == Arrival::kModelled && (source_ == kAnySource || tag_ == kAnyTag)) store_probed(found);
  } else {
    RankRequest request = co_await rank_.claim(*communicator_, source_, tag_);
    co_await complete(request, 0);
  }
}

void ReplayThread::store_probed(const Received& found) {
  const auto match = reader_.match();
  if (!match || match->source < 0) return;
  const auto known = find_probed(match->source, match->tag);  // a repeated probe
  if (known != probed_.end()) {
    known->found = found;
  } else {
    probed_.push_back({event_.communicator, match->source, match->tag, found});
  }
}

Task<void> ReplayThread::cancel() {
  if (!find_requests()) co_return;
  // A cancellation sees only messages that have arrived by now.
  co_await rank_.prepare_cancel();
  for (const std::uint64_t number : numbers_) {
    OpenRequest* const one = own_.requests.find(number);
    // Whether a wildcard was cancelled is recorded: it was never posted.
    if (one != nullptr && !one->request.empty() && !one->by_arrival) (void)rank_.cancel_now(one->request);
  }
}

void ReplayThread::free() {
  if (!find_requests()) return;
  for (const std::uint64_t number : numbers_) {
    OpenRequest* const one = own_.requests.find(number);
    if (one == nullptr) continue;
    OpenRequest freed = own_.requests.remove(*one);
    if (!freed.request.empty()) rank_.abandon(freed.request);
  }
}

Task<void> ReplayThread::finish() {
  end_call();
  for (OpenRequest& one : taken_requests_) {  // of a wait that did not begin
    if (!one.request.empty()) rank_.abandon(one.request);
  }
  if (order_ != nullptr) co_await rank_.wait_for_world();  // other threads continue after its end
  own_.replayed.of_threads += rank_.clock() - began_;
  // Only the last thread completes the rank.
  if (own_.playing > 1) {
    if (own_.state.handling == &handling_) own_.state.handling = nullptr;
    --own_.playing;
    wake_last();
    co_return;
  }
  own_.state.handling = nullptr;
  open_.abandon();
  const bool goes_on = own_.state.why_early.empty() && !run_.over;
  std::vector<OpenRequest> left = own_.requests.remove_all();
  for (OpenRequest& one : left) {
    if (one.request.empty()) continue;
    // A wait for it was skipped, because it completed in another order.
    if (goes_on && one.is_expected) {
      const Received received = co_await rank_.wait(one.request);
      count_completed(one.begun, received);
    } else {
      rank_.abandon(one.request);
    }
  }
  end_phases(0);
  if (own_.certificate != nullptr) own_.replayed.certificate = own_.certificate->of_run();
  own_.state.ended = !run_.over;
  ++run_.ranks_ended;
  --own_.playing;  // last, since the rank may end with it
  wake_last();
}

void ReplayThread::wake_last() {
  for (RankHandle* const waiting : {own_.last_thread, own_.keeper}) {
    if (waiting != nullptr && waiting != &rank_) waiting->wake();
  }
}

ReplayEvents::ThreadPosition ReplayThread::position() const {
  return {rank_.rank(), order_ != nullptr ? rank_.thread() : 0, rank_.clock()};
}

void ReplayThread::notify_completed(std::uint64_t request, const Received& received) {
  if (events_ != nullptr) events_->completed(position(), request, received);
}

/// The program learns that a request has completed.
void ReplayThread::on_completed(std::uint64_t number, const Received& received) {
  reader_.on_completed(number);
  notify_completed(number, received);
}

/// The observer's next calls are about this thread.
void ReplayThread::select_thread() {
  if (order_ != nullptr) run_.options.observer->select_thread(rank_.rank(), rank_.thread());
}

}  // namespace offramp
