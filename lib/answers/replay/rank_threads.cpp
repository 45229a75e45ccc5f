// One reader serves all threads of a rank, so events of other threads are queued while one thread looks for
// its own. Above kMostQueued a thread without an event sleeps until the others have consumed half. An event
// that may not begin sleeps on the number of the event that must begin first, and begun() wakes it.
#include "lib/answers/replay/rank_threads.hpp"

#include <algorithm>
#include <utility>

#include "offramp/kernel/random.hpp"
#include "offramp/model/message.hpp"

namespace offramp {

using recording::Event;
using recording::EventKind;

namespace {

/// Per rank, the bytes of queued events at which threads stop reading ahead.
constexpr std::size_t kMostQueued = std::size_t{64} << 20U;

std::size_t size_of(const RankThreads::Dealt& dealt) {
  return sizeof dealt +
         (dealt.list.size() + dealt.second_list.size() + dealt.choice.size()) * sizeof(std::uint64_t);
}

/// True for events that use existing requests.
constexpr bool is_about_requests(EventKind kind) {
  return kind == EventKind::kWait || kind == EventKind::kCancel || kind == EventKind::kFree;
}

/// The first nonzero result of `find` over the event's requests.
std::uint64_t first_of_requests(const RankThreads::Dealt& dealt, const auto& find) {
  if (dealt.event.extra != 0) return find(dealt.begun - dealt.event.extra);
  for (const std::uint64_t distance : dealt.list) {
    if (const std::uint64_t number = find(dealt.begun - distance); number != 0) return number;
  }
  return 0;
}

template <typename Value>
std::vector<Value> copy_of(std::span<const Value> values) {
  return {values.begin(), values.end()};
}

}  // namespace

// --- one thread ---

bool RankThreads::Stream::next(Event& event) {
  if (queue_.empty()) return false;
  dealt_ = std::move(queue_.front());
  queue_.pop_front();
  event = dealt_.event;
  all_.queued_ -= size_of(dealt_);
  // Waking at the half avoids a change of threads at every event.
  if (all_.queued_ < kMostQueued / 2) {
    for (RankHandle* const starved : std::exchange(all_.starved_, {})) starved->wake();
  }
  // The first thread's position decides when the others exist.
  if (this == all_.first_stream_) all_.begin_threads_before(dealt_.number);
  return true;
}

std::span<const std::uint64_t> RankThreads::Stream::list(std::uint32_t number) const {
  if (number == 0) return {};
  return number == 1 ? dealt_.list : dealt_.second_list;
}

std::string_view RankThreads::Stream::call(std::uint16_t number) const {
  return all_.reader_->call(number);
}
std::string_view RankThreads::Stream::site(std::uint32_t number) const {
  return all_.reader_->site(number);
}
std::string_view RankThreads::Stream::cut() const {
  return all_.reader_->cut();
}
const std::string& RankThreads::Stream::error() const {
  return all_.reader_->error();
}

// --- reading ---

RankThreads::RankThreads(std::unique_ptr<recording::Reader> reader, Play play)
    : reader_(std::move(reader)), play_(std::move(play)) {}

std::size_t RankThreads::Hash::operator()(const Key& key) const {
  std::uint64_t hash = splitmix_finaliser(key.id + static_cast<std::uint64_t>(key.what));
  hash = splitmix_finaliser(hash + key.communicator);
  hash = splitmix_finaliser(hash + static_cast<std::uint32_t>(key.peer));
  return static_cast<std::size_t>(splitmix_finaliser(hash + static_cast<std::uint32_t>(key.tag)));
}

RankThreads::Key RankThreads::key_of(const Dealt& dealt) {
  const Event& event = dealt.event;
  switch (event.kind) {
    case EventKind::kSend:
      return {Key::What::kSend, event.communicator, event.peer, event.tag, 0};
    case EventKind::kReceive:
    case EventKind::kProbe:
    case EventKind::kClaim:
      // Wildcards take the place of the message that they received.
      if (event.peer != kAnySource && event.tag != kAnyTag)
        return {Key::What::kReceive, event.communicator, event.peer, event.tag, 0};
      if (!dealt.match || dealt.match->source < 0) return {};  // nothing received
      return {Key::What::kReceive, event.communicator, dealt.match->source, dealt.match->tag, 0};
    case EventKind::kCollective:
    case EventKind::kNeighbours:
    case EventKind::kMeet:
      return {Key::What::kCollective, event.communicator, 0, 0, 0};
    case EventKind::kCommunicator:
      return {Key::What::kCommunicator, 0, 0, 0, event.extra};
    default:
      return {};
  }
}

/// Reads one event into its thread's queue. False at the end.
bool RankThreads::read() {
  Dealt dealt;
  // The reader must not be asked again after its end.
  at_end_ = at_end_ || !reader_->next(dealt.event);
  if (at_end_) return false;
  Event& event = dealt.event;
  dealt.list = copy_of(reader_->list(event.list));
  dealt.second_list = copy_of(reader_->list(event.second_list));
  // Lists of the reader are only valid until its next event.
  event.list = dealt.list.empty() ? 0 : 1;
  event.second_list = dealt.second_list.empty() ? 0 : 2;
  dealt.choice = copy_of(reader_->choice());
  dealt.match = reader_->match();
  dealt.gaps = reader_->gaps();
  dealt.times = reader_->times();
  dealt.polls = reader_->polls();
  dealt.number = ++events_;
  dealt.begun = requests_;
  dealt.made = communicators_;
  dealt.key = key_of(dealt);
  if (dealt.key.what != Key::What::kNone) orders_[dealt.key].push_back(dealt.number);
  if (begins_request(event)) unbegun_requests_.emplace(requests_++, dealt.number);
  if (event.kind == EventKind::kCommunicator) unmade_.emplace(communicators_++, dealt.number);
  if (event.kind == EventKind::kCancel) {
    // Visits all requests: the function always returns 0.
    (void)first_of_requests(dealt, [&](std::uint64_t request) {
      uncancelled_requests_.emplace(request, dealt.number);
      return std::uint64_t{0};
    });
  }
  // Streams are created as their threads occur.
  std::unique_ptr<Stream>& stream = streams_[reader_->thread()];
  if (stream == nullptr) {
    stream = std::make_unique<Stream>(*this);
    not_begun_.push_back({dealt.number, stream.get()});
  }
  queued_ += size_of(dealt);
  stream->queue_.push_back(std::move(dealt));
  return true;
}

RankThreads::Stream& RankThreads::first(RankHandle& rank) {
  first_ = &rank;
  return *(first_stream_ = (streams_[0] = std::make_unique<Stream>(*this)).get());
}

bool RankThreads::fetch(Stream& stream, RankHandle& rank) {
  while (stream.queue_.empty()) {
    if (queued_ > kMostQueued) {
      if (&stream == first_stream_) begin_threads();  // all queued events come before its next event
      starved_.push_back(&rank);
      return false;
    }
    if (!read()) break;
  }
  if (stream.queue_.empty() && &stream == first_stream_) begin_threads();
  return true;
}

// --- order ---

/// The number of the event that must begin first. 0 if this one may begin.
std::uint64_t RankThreads::blocker(const Dealt& dealt) const {
  if (dealt.key.what != Key::What::kNone) {
    if (const std::uint64_t next = orders_.at(dealt.key).front(); next != dealt.number) return next;
  }
  const Event& event = dealt.event;
  if (const auto maker = unmade_.find(event.communicator);
      // A communicator made later by another thread has another number.
      maker != unmade_.end() && maker->second < dealt.number)
    return maker->second;
  if (!is_about_requests(event.kind)) return 0;
  const auto before = [&](const std::unordered_map<std::uint64_t, std::uint64_t>& events,
                          std::uint64_t request) {
    const auto found = events.find(request);
    return found != events.end() && found->second < dealt.number ? found->second : 0;
  };
  return first_of_requests(dealt, [&](std::uint64_t request) {
    const std::uint64_t number = before(unbegun_requests_, request);
    return number != 0 ? number : before(uncancelled_requests_, request);
  });
}

bool RankThreads::may_begin(const Stream& stream, RankHandle& rank) {
  const std::uint64_t number = blocker(stream.dealt_);
  if (number != 0) sleepers_.emplace(number, &rank);
  return number == 0;
}

void RankThreads::begun(const Stream& stream) {
  const Dealt& dealt = stream.dealt_;
  if (dealt.key.what != Key::What::kNone) {
    const auto order = orders_.find(dealt.key);
    // may_begin() has checked that this event is the front.
    order->second.pop_front();
    if (order->second.empty()) orders_.erase(order);
  }
  if (begins_request(dealt.event)) unbegun_requests_.erase(dealt.begun);
  if (dealt.event.kind == EventKind::kCancel) {
    (void)first_of_requests(dealt, [&](std::uint64_t request) {
      const auto found = uncancelled_requests_.find(request);
      if (found != uncancelled_requests_.end() && found->second == dealt.number)
        uncancelled_requests_.erase(found);
      return std::uint64_t{0};
    });
  }
  if (dealt.event.kind == EventKind::kCommunicator) unmade_.erase(dealt.made);
  const auto [first, last] = sleepers_.equal_range(dealt.number);
  std::for_each(first, last, [](const auto& sleeper) { sleeper.second->wake(); });
  // Woken threads ask again, and may sleep on another event.
  sleepers_.erase(first, last);
}

// --- threads that begin ---

void RankThreads::begin_threads_before(std::uint64_t number) {
  while (!not_begun_.empty() && not_begun_.front().first < number) {
    Stream* const stream = not_begun_.front().stream;
    not_begun_.pop_front();
    first_->begin_thread([this, stream](RankHandle& rank) { return play_(rank, *stream); });
  }
}

void RankThreads::begin_threads() {
  begin_threads_before(UINT64_MAX);
}

bool RankThreads::begin_another() {
  while (not_begun_.empty() && queued_ <= kMostQueued) {
    if (!read()) return false;
  }
  if (not_begun_.empty()) return false;
  begin_threads_before(not_begun_.front().first + 1);
  return true;
}

}  // namespace offramp
