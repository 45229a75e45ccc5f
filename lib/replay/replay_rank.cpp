#include "lib/replay/replay_rank.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace offramp {

using recording::Event;
using recording::EventKind;

namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 44;  // of one operation's buffer
constexpr std::uint64_t kMostSent = std::uint64_t{1} << 50;   // by one rank, in all
constexpr Time kLatest = Time::ps(std::int64_t{1} << 61);     // of 63 bits: 26 days
constexpr std::uint64_t kMostComputed =
    static_cast<std::uint64_t>(kLatest.count()) / 1000;  // ns, before one event
constexpr int kSubjects = 1 << 30;
// Names of communicators that no recording makes.
constexpr std::uint64_t kSelves = std::uint64_t{1} << 63;
constexpr std::uint64_t kJobs = std::uint64_t{1} << 62;

constexpr bool is_meeting(EventKind kind) {
  return kind == EventKind::kMeet || kind == EventKind::kExchange;
}
/// Neither communicates nor takes modelled time.
constexpr bool is_local(EventKind kind) {
  return kind == EventKind::kNative || kind == EventKind::kClock;
}

constexpr SizeTable::Kind size_kind(EventKind kind) {
  return kind == EventKind::kSend ? SizeTable::Kind::kSend : SizeTable::Kind::kCollective;
}

constexpr bool has_communicator(EventKind kind) {
  return kind <= EventKind::kClaim ? kind != EventKind::kWait : is_meeting(kind);
}

}  // namespace

// --- a rank and its events ---

ReplayRank::ReplayRank(ReplayRun& run, RankHandle& rank, const ReplayJob& job,
                       std::unique_ptr<recording::Reader> reader)
    : run_(run),
      place_(run.places[static_cast<std::size_t>(rank.rank())]),
      replayed_(run.result.ranks[static_cast<std::size_t>(rank.rank())]),
      rank_(rank),
      job_(job),
      reader_(std::move(reader)),
      communicators_(recording::kFirstMade) {
  std::optional<Communicator>& everyone = communicators_[recording::kWorld].communicator;
  everyone = rank.world();
  if (job.ranks < rank.size()) {
    std::vector<int> members(static_cast<std::size_t>(job.ranks));
    std::iota(members.begin(), members.end(), job.first);
    everyone = rank.communicator(members, kJobs | static_cast<std::uint64_t>(job.first));
  }
  if (run.options.certificate) certificate_ = std::make_unique<Certificate>();
}

Task<void> ReplayRank::play() {
  while (next()) {
    if (rank_.is_far_ahead()) co_await rank_.let_world_come_up();
    switch (event_.kind) {
      case EventKind::kSend: {
        const bool blocking = has(recording::kBlocking) && !has(recording::kBuffered);
        const auto bytes = static_cast<std::size_t>(event_.bytes);
        const Time before = rank_.clock();
        if (!blocking) {
          RankRequest request = rank_.isend(*communicator_, event_.peer, bytes, event_.tag, event_.element,
                                            has(recording::kSynchronous));
          has(recording::kBuffered) ? rank_.give_up(request) : open(std::move(request), bytes);
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
        count_learned(begun(0), received);
        break;
      }
      case EventKind::kCollective:
      case EventKind::kMeet:
      case EventKind::kExchange: {
        std::uint64_t bytes = 0;
        RankRequest request = start(bytes);
        if (!request.empty()) co_await complete(request, bytes);
        break;
      }
      case EventKind::kWait: {
        if (event_.extra == 0 || has(recording::kAny) || has(recording::kSome)) {
          co_await wait_for_list();
          break;
        }
        if (!find_requests() || !take_found()) break;
        for (OpenRequest& one : taken_requests_) {  // or none
          const Received received = co_await rank_.wait(one.request);
          count_learned(one.begun, received);
          reader_->learned(one.number);
        }
        break;
      }
      case EventKind::kProbe:
      case EventKind::kClaim:
        co_await probe();
        break;
      case EventKind::kCancel:
        co_await cancel();
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
      case EventKind::kCount:
        break;
    }
    end_event();
  }
  co_await finish();
}

bool ReplayRank::refuse(const std::string& what) {
  run_.fail(fmt::format("rank {}, event {} ({}): {}", rank_.rank(), number_,
                        run_.result.functions[event_.call], what));
  return false;
}

bool ReplayRank::end_early(const std::string& why) {
  place_.why_early = why;
  ends_ = true;
  return false;
}

/// The next event, ready to be done.
bool ReplayRank::next() {
  if (ends_ || run_.over) return false;
  if (!reader_->next(event_)) {
    const std::string& damage = reader_->error();
    if (!damage.empty() && run_.options.partial) {
      end_early("its recording is damaged: " + damage);
    } else if (!damage.empty()) {
      run_.fail(damage);  // it names the rank
    } else if (reader_->cut()) {
      end_early("its recording was cut");
    }
    return false;
  }
  run_.count_event();
  if (event_.call >= functions_.size()) functions_.resize(std::size_t{event_.call} + 1, kUnknown);
  std::uint16_t& function = functions_[event_.call];
  if (function == kUnknown) function = run_.number_of_function(reader_->call(event_.call));
  event_.call = function;
  place_.events = ++number_;
  place_.call = event_.call;
  if (run_.over || !check()) return false;
  if (!has(recording::kContinues)) end_call();
  if (const std::uint64_t polls = reader_->polls(); polls > 0) depends(Dependence::kPolling, polls);
  if (!pass_time()) return false;
  if (certificate_ != nullptr) certify_event();
  begin_call();
  return true;
}

/// CPU time between the questions before the event that counts as work, in nanoseconds.
std::uint64_t ReplayRank::worked_between_questions() {
  const recording::Gaps gaps = reader_->gaps();
  const auto add = [](Time& sum, std::uint64_t nanoseconds) {
    if (sum < kLatest && nanoseconds < kMostComputed) sum += Time::ns(static_cast<std::int64_t>(nanoseconds));
  };
  add(replayed_.brief_gaps, gaps.brief);
  add(replayed_.longer_gaps, gaps.longer);
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

/// The program computes. Of its questions that found nothing it is known only that they lie where there are
/// gaps between them.
bool ReplayRank::pass_time() {
  const std::uint64_t between = worked_between_questions();
  const std::uint64_t questions = reader_->polls();
  const bool has_gaps = reader_->gaps().any();
  return compute(reader_->computed(), has_gaps ? 0 : questions) && compute(between, questions);
}

bool ReplayRank::compute(std::uint64_t recorded, std::uint64_t questions) {
  const Compute& compute = run_.options.compute;
  if (recorded == 0) return true;
  const double factor = compute.kind == Compute::Kind::kFactor ? compute.factor : 1;
  const double picoseconds = static_cast<double>(recorded) * 1000 * factor;
  const bool is_sane = recorded < kMostComputed;
  if (is_sane && replayed_.computing < kLatest)
    replayed_.computing += Time::ns(static_cast<std::int64_t>(recorded));
  if (compute.kind == Compute::Kind::kNone) return true;
  if (!is_sane || !(picoseconds < static_cast<double>(kLatest.count())))
    return refuse(fmt::format("the program computes for {} ns before it", recorded));
  // Whole numbers of nanoseconds stay what they are.
  rank_.compute(
      factor == 1 ? Time::ns(static_cast<std::int64_t>(recorded)) : Time::ps(std::llround(picoseconds)),
      questions);
  return true;
}

void ReplayRank::end_event() {
  if (rank_.clock() > kLatest) refuse("the modelled time goes beyond 26 days");
}

/// Unless the event continues one.
void ReplayRank::begin_call() {
  if (in_call_) return;
  call_began_ = rank_.clock();
  call_ = event_.call;
  in_call_ = event_.kind != EventKind::kPhase && !run_.is_end(call_);  // which no report counts as calls
  is_told_ = in_call_ && run_.options.observer != nullptr && !is_local(event_.kind);
  if (in_call_ && is_local(event_.kind)) ++counter_of(call_).native;
  if (is_told_) run_.options.observer->enter(rank_.rank());
}

/// The one before, if there is one.
void ReplayRank::end_call() {
  if (!in_call_) return;
  CallCounter& counter = counter_of(call_);
  ++counter.count;
  counter.modelled += rank_.clock() - call_began_;
  in_call_ = false;
  if (certificate_ != nullptr) certificate_->note_time(rank_.clock());
  if (is_told_)
    run_.options.observer->leave(rank_.rank(), call_, run_.result.functions[call_], call_began_,
                                 rank_.clock());
}

/// A send or a collective, in the current call.
void ReplayRank::count_begun(const Begun& what, Time spent) {
  counter_of(what.call).bytes += what.bytes;
  replayed_.counters.times.add(what.handling, spent);
  if (replayed_.sizes != nullptr) replayed_.sizes->add(size_kind(what.kind), what.bytes, spent);
}

/// The program has learned that an operation is over.
void ReplayRank::count_learned(const Begun& what, const Received& received) {
  const bool receives = what.kind == EventKind::kReceive || what.kind == EventKind::kClaim;
  if (certificate_ != nullptr)
    certificate_->note({static_cast<std::uint64_t>(received.outcome),
                        static_cast<std::uint64_t>(received.source), static_cast<std::uint64_t>(received.tag),
                        received.bytes});
  if (received.outcome == Outcome::kCancelled) return;
  if (receives) {
    CallCounter& counter = counter_of(what.call);
    counter.bytes += received.bytes;
    counter.note(received.handling);
  }
  if (is_meeting(what.kind)) return;
  const Time posting = what.kind == EventKind::kReceive ? rank_.post_cost() : Time();
  const Time spent = received.spent + posting;
  replayed_.counters.times.add(receives ? received.handling : what.handling, spent);
  if (replayed_.sizes == nullptr) return;
  if (receives) {
    replayed_.sizes->add(SizeTable::Kind::kReceive, received.bytes, spent);
  } else {
    replayed_.sizes->add_time(size_kind(what.kind), what.bytes, spent);
  }
}

void ReplayRank::certify_list(std::uint32_t list) {
  const auto values = std::as_bytes(reader_->list(list));
  certificate_->note({values.size(), Certificate::digest(values)});
}

/// Functions by their names: the numbers depend on other ranks.
void ReplayRank::certify_event() {
  Event event = event_;
  event.call = 0;
  event.list = event.second_list = 0;
  const std::string& name = run_.result.functions[event_.call];
  certificate_->note({Certificate::digest(std::as_bytes(std::span(name.data(), name.size()))),
                      Certificate::digest(std::as_bytes(std::span(&event, 1)))});
  certify_list(event_.list);
  certify_list(event_.second_list);
}

// --- what makes no sense ---

bool ReplayRank::check() {
  if (event_.kind >= EventKind::kCount)
    return refuse(fmt::format("there is no kind {}", static_cast<int>(event_.kind)));
  if (event_.element > ElementType::kMixed || event_.function > ReduceFunction::kUser ||
      event_.operation >= OperationKind::kCount)
    return refuse("its element, function or operation is none");
  if (!has_communicator(event_.kind)) return true;
  if (event_.communicator >= communicators_.size())
    return refuse(fmt::format("there is no communicator {}", event_.communicator));
  std::optional<Communicator>& named = communicators_[event_.communicator].communicator;
  if (!named) {  // the rank alone
    const int self[] = {rank_.rank()};
    named = rank_.communicator(self, kSelves | static_cast<std::uint64_t>(rank_.rank()));
  }
  communicator_ = &*named;
  if (event_.kind == EventKind::kCollective || event_.kind >= EventKind::kMeet) return true;
  return check_message();
}

bool ReplayRank::check_message() {
  const bool sends = event_.kind == EventKind::kSend;
  if (event_.peer >= communicator_->size() || event_.peer < (sends ? 0 : kAnySource))
    return refuse(fmt::format("rank {} is none of {}", event_.peer, communicator_->size()));
  if (event_.tag < (sends ? 0 : kAnyTag)) return refuse(fmt::format("the tag is {}", event_.tag));
  if (!sends) return resolve();
  if (event_.bytes > kMostBytes || (sent_ += event_.bytes) > kMostSent)
    return refuse(fmt::format("{} bytes are more than a world can send", event_.bytes));
  return true;
}

/// Decides what a receive or probe looks for.
bool ReplayRank::resolve() {
  source_ = event_.peer;
  tag_ = event_.tag;
  taken_ = Taken::kSomething;
  if (source_ != kAnySource && tag_ != kAnyTag) return true;
  const bool is_unnamed = source_ == kAnySource && communicator_->size() > 2;
  if (run_.arrival == Arrival::kModelled) {
    if (is_unnamed) depends(Dependence::kUnnamedSource);
    return true;
  }
  const std::optional<recording::Match> match = reader_->match();
  if (!match || match->source < 0) {
    taken_ = match ? Taken::kCancelled : Taken::kNothing;
    return true;
  }
  if (is_unnamed) depends(Dependence::kUnnamedSource);
  if (match->source >= communicator_->size() || match->tag < 0 ||
      (source_ != kAnySource && source_ != match->source) || (tag_ != kAnyTag && tag_ != match->tag))
    return refuse(
        fmt::format("it took tag {} from rank {}, which it does not match", match->tag, match->source));
  source_ = match->source;
  tag_ = match->tag;
  return true;
}

// --- requests ---

void ReplayRank::open(RankRequest&& request, std::uint64_t bytes) {
  OpenRequest& one = requests_.add(begun_++);
  one.request = std::move(request);
  one.begun = begun(bytes);
  one.by_arrival = event_.kind == EventKind::kReceive && run_.arrival == Arrival::kRecorded &&
                   (event_.peer == kAnySource || event_.tag == kAnyTag);
}

/// A receive that was cancelled, or that no message ever came for.
void ReplayRank::leave_open() {
  rank_.work(rank_.post_cost());
  if (has(recording::kBlocking)) {
    end_early("no message ever came");
  } else if (taken_ == Taken::kNothing) {
    open({}, 0);
  } else {
    ++begun_;  // waiting for it is nothing
  }
}

/// Of the event, in its order, into numbers_.
bool ReplayRank::find_requests() {
  numbers_.clear();
  const auto add = [this](std::uint64_t distance) {
    if (distance == 0 || distance > begun_)
      return refuse(fmt::format("{} requests back there is none: {} were begun", distance, begun_));
    numbers_.push_back(begun_ - distance);
    return true;
  };
  if (event_.extra != 0) return add(event_.extra);
  const auto list = reader_->list(event_.list);
  return std::all_of(list.begin(), list.end(), add);
}

/// Leaves in numbers_ what a wait for one or some came to; in modelled arrival, it only notes that.
bool ReplayRank::choose() {
  if (numbers_.size() > 1) depends(Dependence::kChoice);
  std::vector<std::uint64_t> chosen;
  for (const std::uint32_t position : reader_->choice()) {
    if (position >= numbers_.size())
      return refuse(fmt::format("it came to request {} of {}", position, numbers_.size()));
    chosen.push_back(numbers_[position]);
    if (OpenRequest* const one = requests_.find(chosen.back()); one != nullptr) one->is_expected = true;
  }
  if (run_.arrival == Arrival::kRecorded) numbers_ = std::move(chosen);
  return true;
}

/// Those of numbers_ that are open, into taken_requests_.
bool ReplayRank::take_found() {
  taken_requests_.clear();
  for (const std::uint64_t number : numbers_) {
    OpenRequest* const one = requests_.find(number);
    if (one == nullptr) continue;
    if (one->request.empty()) return end_early("no message ever came");
    taken_requests_.push_back(requests_.take(*one));
  }
  return true;
}

void ReplayRank::put_back(std::size_t index) {
  OpenRequest& one = taken_requests_[index];
  if (!waited_[index].empty())
    requests_.add(one.number) = {one.number, std::move(waited_[index]), one.begun, one.by_arrival,
                                 one.is_expected};
}

Task<void> ReplayRank::wait_for_list() {
  if (!find_requests()) co_return;
  const bool one_of_them = has(recording::kAny) || has(recording::kSome);
  if (one_of_them && !choose()) co_return;
  if (!take_found() || taken_requests_.empty()) co_return;
  for (OpenRequest& one : taken_requests_) waited_.push_back(std::move(one.request));
  if (one_of_them && run_.arrival == Arrival::kModelled) {
    co_await wait_for_first();
    co_return;
  }
  received_.clear();
  (void)co_await rank_.wait_all(waited_, &received_);
  for (std::size_t i = 0; i < received_.size(); ++i) {
    count_learned(taken_requests_[i].begun, received_[i]);
    reader_->learned(taken_requests_[i].number);
  }
}

Task<void> ReplayRank::wait_for_first() {
  if (has(recording::kSome)) {
    const auto found = co_await rank_.wait_some(waited_);
    for (const auto& [index, received] : found) {
      count_learned(taken_requests_[index].begun, received);
      reader_->learned(taken_requests_[index].number);
    }
  } else {
    const std::pair<std::size_t, Received> found = co_await rank_.wait_any(waited_);
    count_learned(taken_requests_[found.first].begun, found.second);
    reader_->learned(taken_requests_[found.first].number);
  }
  for (std::size_t i = 0; i < waited_.size(); ++i) put_back(i);
  waited_.clear();
}

Task<void> ReplayRank::complete(RankRequest& request, std::uint64_t bytes) {
  if (begins_request(event_)) {
    open(std::move(request), bytes);
    co_return;
  }
  const Received received = co_await rank_.wait(request);
  count_learned(begun(bytes), received);
}

Task<void> ReplayRank::probe() {
  if (taken_ != Taken::kSomething) {
    end_early("no message ever came");
  } else if (event_.kind == EventKind::kProbe) {
    (void)co_await rank_.probe(*communicator_, source_, tag_);
  } else {
    RankRequest request = co_await rank_.claim(*communicator_, source_, tag_);
    co_await complete(request, 0);
  }
}

Task<void> ReplayRank::cancel() {
  if (!find_requests()) co_return;
  for (const std::uint64_t number : numbers_) {
    OpenRequest* const one = requests_.find(number);
    if (one != nullptr && !one->request.empty() && !one->by_arrival)
      (void)co_await rank_.cancel(one->request);
  }
}

void ReplayRank::free() {
  if (!find_requests()) return;
  for (const std::uint64_t number : numbers_) {
    OpenRequest* const one = requests_.find(number);
    if (one == nullptr) continue;
    OpenRequest freed = requests_.take(*one);
    if (!freed.request.empty()) rank_.give_up(freed.request);
  }
}

Task<void> ReplayRank::finish() {
  end_call();
  const bool goes_on = !ends_ && !run_.over;
  for (OpenRequest& one : taken_requests_) {  // where a wait was not begun
    if (!one.request.empty()) rank_.give_up(one.request);
  }
  std::vector<OpenRequest> left = requests_.take_all();
  for (OpenRequest& one : left) {
    if (one.request.empty()) continue;
    if (goes_on && one.is_expected) {
      const Received received = co_await rank_.wait(one.request);
      count_learned(one.begun, received);
    } else {
      rank_.give_up(one.request);
    }
  }
  end_phases(0);
  if (certificate_ != nullptr) replayed_.certificate = certificate_->of_run();
  place_.ended = !run_.over;
  ++run_.ranks_ended;
}

// --- collectives ---

/// What is done by the communicator's members together. Empty: it cannot be.
RankRequest ReplayRank::start(std::uint64_t& bytes) {
  if (event_.kind == EventKind::kExchange) {
    if (event_.tag < 0 || event_.tag >= kSubjects) {
      refuse(fmt::format("the subject is {}", event_.tag));
      return {};
    }
    if (!ranks_of(to_, event_.list, communicator_->size()) ||
        !ranks_of(from_, event_.second_list, communicator_->size()))
      return {};
    return rank_.exchange(*communicator_, static_cast<std::uint32_t>(event_.tag), to_, from_);
  }
  if (event_.kind == EventKind::kMeet) {
    if (!agree(std::nullopt)) return {};
    return rank_.start_synchronize(*communicator_);
  }
  Operation operation;
  CollectiveSizes sizes;
  if (!collective(operation, sizes) || !agree(operation)) return {};
  bytes = operation.bytes;
  for (const std::size_t block : sizes.send_blocks) bytes += block;
  const Time before = rank_.clock();
  RankRequest request = rank_.start(*communicator_, operation, sizes);
  count_begun(begun(bytes), rank_.clock() - before);
  return request;
}

bool ReplayRank::agree(const std::optional<Operation>& operation) {
  const std::uint32_t number = communicators_[event_.communicator].collectives++;
  if (communicator_->size() == 1) return true;
  const std::string otherwise = run_.disagreement(*communicator_, number, operation);
  return otherwise.empty() || refuse(otherwise);
}

bool ReplayRank::ranks_of(std::vector<int>& ranks, std::uint32_t list, int limit) {
  ranks.clear();
  for (const std::uint64_t rank : reader_->list(list)) {
    if (rank >= static_cast<std::uint64_t>(limit))
      return refuse(fmt::format("rank {} is none of {}", rank, limit));
    ranks.push_back(static_cast<int>(rank));
  }
  return true;
}

/// The blocks of a list, one per rank, or none.
bool ReplayRank::blocks(std::vector<std::size_t>& sizes, std::uint32_t list, bool there_are) {
  const auto listed = reader_->list(list);
  const auto ranks = static_cast<std::size_t>(communicator_->size());
  if (listed.size() != (there_are ? ranks : 0))
    return refuse(fmt::format("{} blocks for {} ranks", listed.size(), ranks));
  sizes.assign(listed.begin(), listed.end());
  std::uint64_t sum = 0;
  const bool fit = std::all_of(listed.begin(), listed.end(), [&](std::uint64_t block) {
    return block <= kMostBytes && (sum += block) <= kMostBytes;
  });
  return fit || refuse("its blocks are larger than a world can send");
}

bool ReplayRank::collective(Operation& operation, CollectiveSizes& sizes) {
  const int ranks = communicator_->size();
  operation.kind = event_.operation;
  if (operation.kind == OperationKind::kSend) return refuse("a send is no collective");
  operation.element = event_.element;
  operation.function = event_.function;
  operation.commutative = !has(recording::kNotCommutative);
  operation.nonblocking =
      begins_request(event_) && !run_.is_blocking(event_.call);  // that of several threads has both
  operation.ranks = ranks;
  if (reduces(operation.kind)) operation.elements = static_cast<std::size_t>(event_.extra);
  if (has_root(operation.kind)) operation.root = event_.peer;
  if (operation.root < 0 || operation.root >= ranks)
    return refuse(fmt::format("root {} is none of {}", operation.root, ranks));
  const std::uint64_t most =
      has_block_per_rank(operation.kind) ? kMostBytes / static_cast<std::uint64_t>(ranks) : kMostBytes;
  const bool varies = has_blocks_of_different_sizes(operation.kind);
  const bool counts_received = varies && !reduces(operation.kind);
  if (event_.bytes > most || (reduces(operation.kind) && event_.extra > kMostBytes) ||
      (counts_received && event_.extra > kMostBytes) || (sent_ += event_.bytes) > kMostSent)
    return refuse(fmt::format("{} bytes are more than a world can send", event_.bytes));
  if (!varies) {
    operation.bytes = static_cast<std::size_t>(event_.bytes);
    sizes = sizes_of(operation, communicator_->rank());
    sizes.in_place = sizes.in_place || has(recording::kInPlace);
    return true;
  }
  const bool at_root = communicator_->rank() == operation.root;
  const OperationSet sends_all = {OperationKind::kReduceScatterv, OperationKind::kAlltoallv};
  const OperationSet receives_all = {OperationKind::kAllgatherv, OperationKind::kAlltoallv};
  const bool has_send_blocks =
      sends_all.contains(operation.kind) || (operation.kind == OperationKind::kScatterv && at_root);
  const bool has_receive_blocks =
      receives_all.contains(operation.kind) || (operation.kind == OperationKind::kGatherv && at_root);
  if (!blocks(sizes.send_blocks, event_.list, has_send_blocks) ||
      !blocks(sizes.receive_blocks, event_.second_list, has_receive_blocks))
    return false;
  // As the call has it: one buffer where there are no blocks; a reduction's blocks are parts of it.
  if (!has_send_blocks || reduces(operation.kind)) sizes.send = static_cast<std::size_t>(event_.bytes);
  if (!has_receive_blocks) sizes.receive = static_cast<std::size_t>(event_.extra);
  if (operation.kind == OperationKind::kReduceScatterv)
    sizes.receive = sizes.send_blocks[static_cast<std::size_t>(communicator_->rank())];
  if (operation.kind == OperationKind::kGatherv) sizes.receive = 0;
  if (operation.kind == OperationKind::kScatterv) sizes.send = 0;
  sizes.in_place = has(recording::kInPlace);
  return true;
}

// --- communicators and phases ---

void ReplayRank::make_communicator() {
  if (!ranks_of(to_, event_.list, job_.ranks)) return;
  for (int& rank : to_) rank += job_.first;
  from_ = to_;
  if (!std::is_sorted(from_.begin(), from_.end())) std::sort(from_.begin(), from_.end());
  if (std::adjacent_find(from_.begin(), from_.end()) != from_.end() ||
      !std::binary_search(from_.begin(), from_.end(), rank_.rank())) {
    refuse("a communicator has each member once, and this rank among them");
    return;
  }
  const std::uint32_t number = run_.number_of(to_, event_.extra);
  const std::uint64_t id = std::uint64_t{made_[number]++} << 32 | number;
  communicators_.push_back({rank_.communicator(to_, id), 0});
  // As long as the world is large, at each of its ranks: their memory would grow with the square.
  constexpr std::size_t kMostKept = 256;
  if (to_.size() > kMostKept) {
    to_ = {};
    from_ = {};
  }
}

void ReplayRank::phase() {
  const std::int64_t level = event_.tag;
  end_phases(level > 0 ? level : -level);
  if (level <= 0) return;
  std::string name;
  for (const std::uint64_t letter : reader_->list(event_.list)) name += static_cast<char>(letter);
  phases_.push_back({level, run_.phase(level, name), rank_.clock()});
}

/// 0: of all levels.
void ReplayRank::end_phases(std::int64_t level) {
  std::erase_if(phases_, [&](const Phase& open) {
    if (level != 0 && open.level != level) return false;
    ReplayPhase& phase = run_.result.phases[open.index];
    phase.per_rank[static_cast<std::size_t>(rank_.rank())] += rank_.clock() - open.begin;
    return true;
  });
}

}  // namespace offramp
