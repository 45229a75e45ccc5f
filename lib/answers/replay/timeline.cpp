// Adds entries as the events of each thread begin and end. The entry for a request's end is prepared at its
// beginning, kept in `begun`, and completed for receives. If a call begins a request and completes it, as
// MPI_Sendrecv does, end_call() merges the two entries.
#include "lib/answers/replay/timeline.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace offramp {

using recording::Event;
using recording::EventKind;
using recording::Reader;

namespace {

constexpr std::uint32_t kWorldNumber = 0;
constexpr std::uint32_t kSelfNumber = 1;

/// The id of a message of a neighbourhood collective, counted from 1.
constexpr std::uint64_t part_of(std::uint64_t request, std::uint64_t part) {
  constexpr unsigned kShift = 40;  // more than a rank's requests
  return request ^ part << kShift;
}

std::uint64_t sum_of(std::span<const std::uint64_t> blocks) {
  return std::accumulate(blocks.begin(), blocks.end(), std::uint64_t{0});
}

}  // namespace

Traffic traffic_of(const Event& event, const Reader& reader, int rank, int size) {
  const auto n = static_cast<std::uint64_t>(size);
  const auto own = static_cast<std::uint64_t>(rank);
  const std::uint64_t bytes = event.bytes;
  const bool is_root = rank == event.peer;
  const auto sent = reader.list(event.list);
  const auto received = reader.list(event.second_list);
  switch (event.operation) {
    case OperationKind::kBcast:
    case OperationKind::kScatter:
      return {is_root ? n * bytes : 0, bytes};
    case OperationKind::kReduce:
    case OperationKind::kGather:
      return {bytes, is_root ? n * bytes : 0};
    case OperationKind::kAllreduce:
    case OperationKind::kAllgather:
    case OperationKind::kReduceScatter:
    case OperationKind::kAlltoall:
      return {n * bytes, n * bytes};
    // Each rank sends to all that come after it, itself included.
    case OperationKind::kScan:
      return {(n - own) * bytes, (own + 1) * bytes};
    case OperationKind::kExscan:
      return {(n - own - 1) * bytes, own * bytes};
    case OperationKind::kGatherv:
      return {bytes, is_root ? sum_of(received) : 0};
    case OperationKind::kScatterv:
      return {is_root ? sum_of(sent) : 0, event.extra};
    case OperationKind::kAllgatherv:
      return {n * bytes, sum_of(received)};
    case OperationKind::kReduceScatterv:
      return {bytes, own < sent.size() ? n * sent[own] : 0};
    case OperationKind::kAlltoallv:
      return {sum_of(sent), sum_of(received)};
    case OperationKind::kBarrier:
    case OperationKind::kSend:
    case OperationKind::kCount:
      break;
  }
  return {};
}

Timeline::Timeline(int ranks) : ranks_(static_cast<std::size_t>(ranks)), communicators_(2) {
  for (int rank = 0; rank < ranks; ++rank)
    ranks_[static_cast<std::size_t>(rank)].communicators = {{kWorldNumber, rank, ranks}, {kSelfNumber, 0, 1}};
}

std::vector<const Timeline::Track*> Timeline::tracks() const {
  std::vector<const Track*> all;
  for (const Rank& rank : ranks_) {
    for (const auto& [number, thread] : rank.threads) all.push_back(&thread.track);
  }
  return all;
}

void Timeline::unsupported(std::string_view kind) {
  if (std::find(unsupported_.begin(), unsupported_.end(), kind) == unsupported_.end())
    unsupported_.emplace_back(kind);
}

std::uint16_t Timeline::number_of(std::string_view function) {
  const auto known = numbers_.find(function);
  if (known != numbers_.end()) return known->second;
  const auto number = static_cast<std::uint16_t>(functions_.size());
  functions_.emplace_back(function);
  numbers_.emplace(function, number);
  return number;
}

std::uint32_t Timeline::window_of(std::uint32_t communicator) {
  const auto known = std::ranges::find(windows_, communicator);
  const auto number = static_cast<std::uint32_t>(known - windows_.begin());
  if (known == windows_.end()) windows_.push_back(communicator);
  return number;
}

const Timeline::Known& Timeline::communicator_of(const Rank& rank, std::uint32_t number) const {
  return rank.communicators[number < rank.communicators.size() ? number : recording::kSelf];
}

// --- entries ---

Timeline::Growing& Timeline::thread_of(const ThreadPosition& place) {
  Growing& thread = ranks_[static_cast<std::size_t>(place.rank)].threads[place.thread];
  thread.track.rank = place.rank;
  thread.track.thread = place.thread;
  return thread;
}

void Timeline::add(Growing& thread, Entry entry, Time at) {
  if (thread.is_dropped) return;
  std::vector<Entry>& entries = thread.track.entries;
  entry.at = entries.empty() ? at : later(at, entries.back().at);
  entries.push_back(entry);
  ++entries_;
}

void Timeline::end_call(Growing& thread) {
  if (!std::exchange(thread.is_open, false) || thread.is_dropped) return;
  // A mark for entries to remove: no function has this number.
  constexpr std::uint16_t kSpare = UINT16_MAX;
  std::vector<Entry>& entries = thread.track.entries;
  const auto begin = entries.begin() + static_cast<std::ptrdiff_t>(thread.open);
  // Only the entries of the call that ends.
  for (auto one = begin; one != entries.end(); ++one) {
    const bool sends = one->kind == EntryKind::kSendBegun;
    const bool collects = one->kind == EntryKind::kCollectiveRequest;
    if (!sends && !collects && one->kind != EntryKind::kReceiveBegun) continue;
    const EntryKind end = sends      ? EntryKind::kSendDone
                          : collects ? EntryKind::kCollectiveDone
                                     : EntryKind::kReceiveDone;
    const auto done = std::find_if(one, entries.end(), [&](const Entry& other) {
      return other.kind == end && other.request == one->request;
    });
    // Completed by another call.
    if (done == entries.end()) continue;
    if (sends) {
      one->kind = EntryKind::kSend;
      done->number = kSpare;
    } else if (collects) {
      one->kind = EntryKind::kCollectiveBegun;
      done->kind = EntryKind::kCollective;
    } else {
      one->number = kSpare;
      done->kind = EntryKind::kReceive;
    }
  }
  entries.erase(std::remove_if(begin, entries.end(), [](const Entry& one) { return one.number == kSpare; }),
                entries.end());
  add(thread, {.number = entries[thread.open].number, .kind = EntryKind::kLeave}, thread.last);
}

void Timeline::close() {
  for (Rank& rank : ranks_) {
    for (auto& [number, thread] : rank.threads) end_call(thread);
  }
}

void Timeline::ended(const ThreadPosition& place) {
  thread_of(place).last = place.at;
}

// --- events ---

void Timeline::begins(const ThreadPosition& place, const ReplayedEvent& replayed) {
  Rank& rank = ranks_[static_cast<std::size_t>(place.rank)];
  Growing& thread = thread_of(place);
  const Event& event = replayed.event;
  const bool continues = (event.flags & recording::kContinues) != 0 && thread.is_open;
  if (!continues) {
    end_call(thread);
    // Whole calls are dropped, so that entries stay balanced.
    thread.is_dropped = entries_ >= kMost;
    if (thread.is_dropped) ++dropped_;
    thread.open = thread.track.entries.size();
    thread.is_open = true;
    thread.last = place.at;
    add(thread, {.number = number_of(replayed.function), .kind = EntryKind::kEnter}, place.at);
  }
  switch (event.kind) {
    case EventKind::kSend:
    case EventKind::kReceive:
    case EventKind::kClaim:
      return message(place, replayed);
    case EventKind::kCollective:
      return collective(place, replayed);
    case EventKind::kCommunicator:
      return make_communicator(rank, place, replayed);
    case EventKind::kFree:
      return free(place, replayed);
    case EventKind::kProbe:
      return unsupported("left out: the source and tag of probes");
    case EventKind::kAccess:
      return access(place, replayed);
    case EventKind::kNeighbours:
      return neighbours(place, replayed);
    case EventKind::kMeet:
      return unsupported("left out: waits in windows and files (their calls are written)");
    case EventKind::kPhase:
      return unsupported("left out: names of phases");
    case EventKind::kWait:
    case EventKind::kCancel:
    case EventKind::kNative:
    case EventKind::kClock:
    case EventKind::kCount:
      return;
  }
}

void Timeline::message(const ThreadPosition& place, const ReplayedEvent& replayed) {
  Rank& rank = ranks_[static_cast<std::size_t>(place.rank)];
  Growing& thread = thread_of(place);
  const Event& event = replayed.event;
  const bool sends = event.kind == EventKind::kSend;
  const bool has_request = begins_request(event);
  Entry entry{.bytes = event.bytes,
              .request = replayed.request,
              .communicator = communicator_of(rank, event.communicator).number,
              .peer = event.peer,
              .tag = event.tag};
  if (!sends && (event.peer < 0 || event.tag < 0))
    unsupported("written with the matched source and tag: wildcard receives");
  if (!has_request && sends) {
    entry.kind = EntryKind::kSend;
    return add(thread, entry, place.at);
  }
  Entry end = entry;
  end.kind = sends ? EntryKind::kSendDone : has_request ? EntryKind::kReceiveDone : EntryKind::kReceive;
  // Threads have a key each for operations without a request.
  rank.begun[has_request ? replayed.request : kNoRequest - place.thread] = end;
  if (!has_request) return;
  entry.kind = sends ? EntryKind::kSendBegun : EntryKind::kReceiveBegun;
  add(thread, entry, place.at);
}

void Timeline::collective(const ThreadPosition& place, const ReplayedEvent& replayed) {
  Rank& rank = ranks_[static_cast<std::size_t>(place.rank)];
  Growing& thread = thread_of(place);
  const Event& event = replayed.event;
  const bool has_request = begins_request(event);
  const Known& known = communicator_of(rank, event.communicator);
  const Traffic traffic = traffic_of(event, replayed.reader, known.rank, known.size);
  if (reduces(event.operation)) unsupported("left out: types and functions of reductions");
  if (event.operation == OperationKind::kAlltoallv)
    unsupported("written as sums: block sizes of collectives with one block per pair");
  Entry entry{.bytes = traffic.sent,
              .received = traffic.received,
              .request = has_request ? replayed.request : kNoRequest,
              .communicator = known.number,
              .peer = has_root(event.operation) ? event.peer : kNoRoot,
              .number = static_cast<std::uint16_t>(event.operation)};
  // A fence is recorded as a barrier of this name.
  const bool fences = replayed.function.starts_with("MPI_Win_");
  if (fences) entry.communicator = window_of(known.number);
  entry.kind = fences ? EntryKind::kFence : has_request ? EntryKind::kCollectiveDone : EntryKind::kCollective;
  rank.begun[has_request ? replayed.request : kNoRequest - place.thread] = entry;
  add(thread,
      {.request = entry.request,
       .kind = fences        ? EntryKind::kFenceBegun
               : has_request ? EntryKind::kCollectiveRequest
                             : EntryKind::kCollectiveBegun},
      place.at);
}

/// The messages are entries as those of MPI_Isend and MPI_Irecv.
void Timeline::neighbours(const ThreadPosition& place, const ReplayedEvent& replayed) {
  const std::uint64_t request = begins_request(replayed.event) ? replayed.request : kNoRequest - place.thread;
  std::uint64_t number = 0;
  for (const bool sends : {false, true}) {
    const auto blocks = replayed.reader.list(sends ? replayed.event.list : replayed.event.second_list);
    for (std::size_t i = 0; i + 1 < blocks.size(); i += 2) {
      Event part = replayed.event;
      part.kind = sends ? EventKind::kSend : EventKind::kReceive;
      part.flags = 0;
      part.peer = static_cast<std::int32_t>(blocks[i]);
      part.tag = recording::kNeighboursTag;
      part.bytes = blocks[i + 1];
      message(place, {part, replayed.reader, replayed.function, part_of(request, ++number), replayed.made});
    }
  }
}

void Timeline::access(const ThreadPosition& place, const ReplayedEvent& replayed) {
  Rank& rank = ranks_[static_cast<std::size_t>(place.rank)];
  const Event& event = replayed.event;
  const std::uint64_t request = begins_request(event) ? replayed.request : kNoRequest - place.thread;
  Entry entry{.bytes = event.bytes,
              .received = event.extra,
              .request = request,
              .communicator = window_of(communicator_of(rank, event.communicator).number),
              .peer = event.peer,
              .number = static_cast<std::uint16_t>(event.tag),
              .kind = EntryKind::kAccess};
  const bool locks = replayed.function.starts_with("MPI_Win_lock");
  const bool unlocks = replayed.function.starts_with("MPI_Win_unlock");
  if (locks) unsupported("written as exclusive: shared locks of windows");
  if (!locks && !unlocks) add(thread_of(place), entry, place.at);
  if (replayed.function.ends_with("lock_all")) entry.peer = kAllTargets;
  entry.kind = locks ? EntryKind::kLock : unlocks ? EntryKind::kUnlock : EntryKind::kAccessDone;
  rank.begun[request] = entry;
}

void Timeline::completed(const ThreadPosition& place, std::uint64_t request, const Received& received) {
  Rank& rank = ranks_[static_cast<std::size_t>(place.rank)];
  if (request == kNoRequest) request -= place.thread;
  // A neighbourhood's messages end with its one request.
  for (std::uint64_t part = 1;; ++part) {
    const auto found = rank.begun.extract(part_of(request, part));
    if (!found) break;
    add(thread_of(place), found.mapped(), place.at);
  }
  const auto found = rank.begun.extract(request);
  if (!found) return;
  Entry entry = found.mapped();
  if (received.outcome == Outcome::kCancelled) {
    entry.kind = EntryKind::kCancelled;
  } else if (entry.kind == EntryKind::kReceive || entry.kind == EntryKind::kReceiveDone) {
    if (entry.bytes != received.bytes)
      unsupported("written with the size of the message: larger receive buffers");
    entry.peer = received.source;
    entry.tag = received.tag;
    entry.bytes = received.bytes;
  }
  add(thread_of(place), entry, place.at);
}

/// Freeing the request of a send ends it in the timeline. The end of a receive stays unknown.
void Timeline::free(const ThreadPosition& place, const ReplayedEvent& replayed) {
  Rank& rank = ranks_[static_cast<std::size_t>(place.rank)];
  const auto one = [&](std::uint64_t distance) {
    if (distance == 0 || distance > replayed.request) return;
    const auto found = rank.begun.find(replayed.request - distance);
    if (found == rank.begun.end()) return;
    const Entry entry = found->second;
    rank.begun.erase(found);
    if (entry.kind == EntryKind::kSendDone) return add(thread_of(place), entry, place.at);
    unsupported("left out: the end of receives and collectives whose requests are freed");
  };
  if (replayed.event.extra != 0) return one(replayed.event.extra);
  for (const std::uint64_t distance : replayed.reader.list(replayed.event.list)) one(distance);
}

void Timeline::make_communicator(Rank& rank, const ThreadPosition& place, const ReplayedEvent& replayed) {
  std::vector<int> members;
  for (const std::uint64_t member : replayed.reader.list(replayed.event.list)) {
    if (member >= ranks_.size()) return;  // the replay rejects it
    members.push_back(static_cast<int>(member));
  }
  const auto own = std::find(members.begin(), members.end(), place.rank) - members.begin();
  const std::uint64_t id = replayed.event.extra;
  const std::uint32_t nth = rank.made[{members, id}]++;
  const auto next = static_cast<std::uint32_t>(communicators_.size());
  const auto [known, is_new] = known_.try_emplace({members, id, nth}, next);
  if (is_new) communicators_.push_back(members);
  if (replayed.made >= rank.communicators.size())
    // Threads may make communicators in another order than their numbers.
    rank.communicators.resize(replayed.made + 1, rank.communicators[recording::kSelf]);
  rank.communicators[replayed.made] = {known->second, static_cast<int>(own),
                                       static_cast<int>(members.size())};
}

}  // namespace offramp
