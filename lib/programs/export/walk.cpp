// What a format without requests, communicators and wildcards needs of a program that has them: peers as
// ranks of the world, tags of different communicators apart (kTagsOfOne), requests by their numbers, and
// receives from any source as what they took. What gets lost on the way is noted, once for each kind.
#include "lib/programs/export/walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "offramp/model/message.hpp"

namespace offramp::trace {

using recording::Event;
using recording::EventKind;
using recording::Reader;

namespace {

/// Tags of a communicator are this much higher than those of the one before, so that messages of several do
/// not mix where the format has no communicators.
constexpr std::int64_t kTagsOfOne = 1 << 22;

}  // namespace

Result<void> Walk::walk(int rank) {
  rank_ = rank;
  number_ = 0;
  begun_ = 0;
  pending_.clear();
  made_.clear();
  communicators_ = {{{}, 0}, {{rank}, 0}};
  problem_.clear();
  const std::unique_ptr<Reader> reader = program_.read(rank);
  if (reader->has_threads())
    unsaid("threads of a rank: their calls follow each other as the rank came to them");
  for (Event event; problem_.empty() && reader->next(event);) {
    ++number_;
    if (const std::uint64_t time = reader->computed(); time > 0) compute(time);
    this->event(*reader, event);
  }
  if (problem_.empty() && !reader->error().empty()) problem_ = reader->error();
  if (problem_.empty() && !reader->cut().empty()) problem_ = fmt::format("rank {}: {}", rank, reader->cut());
  if (problem_.empty()) end();
  return success_or(problem_);
}

void Walk::unsaid(std::string_view kind) {
  if (std::find(unsaid_.begin(), unsaid_.end(), kind) == unsaid_.end()) unsaid_.emplace_back(kind);
}

void Walk::fail(std::string what) {
  if (problem_.empty()) problem_ = fmt::format("rank {}, event {}: {}", rank_, number_, what);
}

int Walk::tag_of(const Communicator& communicator, int tag) {
  if (tag < 0) return kAnyTag;
  const std::int64_t own = communicator.number * kTagsOfOne + tag;
  if (communicator.number > 0 && (tag >= kTagsOfOne || own > INT32_MAX))
    fail(fmt::format("there is no tag left for tag {} on communicator {}", tag, communicator.number));
  return static_cast<int>(own);
}

void Walk::event(Reader& reader, const Event& event) {
  switch (event.kind) {
    case EventKind::kSend:
    case EventKind::kReceive:
    case EventKind::kClaim:
      return one_message(reader, event);
    case EventKind::kCollective: {
      if (event.communicator >= communicators_.size()) return fail("there is no such communicator");
      const std::vector<int>* members = &communicators_[event.communicator].members;
      std::vector<int> all;
      if (members->empty()) {
        all.resize(static_cast<std::size_t>(ranks()));
        std::iota(all.begin(), all.end(), 0);
        members = &all;
      }
      std::optional<std::uint64_t> request;
      if (begins_request(event)) {
        const std::uint64_t number = begun_++;
        if (holds_nonblocking_collectives()) {
          pending_.emplace(number, true);
          request = number;
        } else {
          unsaid("collectives that go on beside the program: they are where they begin, and block");
        }
      }
      return collective(event, reader, *members, request);
    }
    case EventKind::kWait:
      return one_wait(reader, event);
    case EventKind::kCommunicator:
      return make_communicator(reader, event);
    case EventKind::kProbe:
      return unsaid("probes: the receives behind them wait");
    case EventKind::kCancel:
      return unsaid("receives that are taken back: they stay");
    case EventKind::kFree:
      return unsaid("requests that are freed: they are not waited for");
    case EventKind::kMeet:
    case EventKind::kExchange:
      if (begins_request(event)) ++begun_;
      return unsaid("ranks that wait for each other in windows and files: they do not");
    case EventKind::kPhase:
      return unsaid("phases");
    case EventKind::kNative:
    case EventKind::kClock:
    case EventKind::kCount:
      return;
  }
}

void Walk::one_message(Reader& reader, const Event& event) {
  Message message;
  message.sends = event.kind == EventKind::kSend;
  message.buffered = (event.flags & recording::kBuffered) != 0;
  message.blocking = (event.flags & recording::kBlocking) != 0 && !message.buffered;
  message.synchronous = (event.flags & recording::kSynchronous) != 0;
  message.bytes = event.bytes;
  int peer = event.peer;
  int tag = event.tag;
  bool never = false;
  if (program_.has_arrival && !message.sends && (peer == kAnySource || tag == kAnyTag)) {
    const auto match = reader.match();
    never = !match || match->source < 0;
    if (!never) {
      peer = match->source;
      tag = match->tag;
    }
  }
  if (begins_request(event)) message.request = begun_++;
  if (never) return unsaid("receives that no message came for: they are left out");
  if (event.communicator >= communicators_.size()) return fail("there is no such communicator");
  const Communicator& communicator = communicators_[event.communicator];
  if (peer < 0 && !communicator.members.empty())
    return fail("a wildcard on a communicator of some ranks, and the program does not say what it took");
  const auto size =
      communicator.members.empty() ? static_cast<std::size_t>(ranks()) : communicator.members.size();
  if (peer >= 0 && static_cast<std::size_t>(peer) >= size)
    return fail(fmt::format("there is no rank {}", peer));
  message.peer = peer < 0                       ? kAnySource
                 : communicator.members.empty() ? peer
                                                : communicator.members[static_cast<std::size_t>(peer)];
  message.tag = tag_of(communicator, tag);
  if (begins_request(event)) pending_.emplace(message.request, true);
  this->message(message);
}

void Walk::one_wait(const Reader& reader, const Event& event) {
  std::vector<std::uint64_t> distances;
  if (event.extra != 0) {
    distances.push_back(event.extra);
  } else {
    const auto listed = reader.list(event.list);
    if ((event.flags & (recording::kAny | recording::kSome)) == 0) {
      distances.assign(listed.begin(), listed.end());
    } else if (program_.has_arrival) {
      for (const std::uint32_t position : reader.choice()) {
        if (position < listed.size()) distances.push_back(listed[position]);
      }
    } else {
      return fail("a wait for one of several, and the program does not say which");
    }
  }
  std::vector<std::uint64_t> requests;
  for (const std::uint64_t distance : distances) {
    if (distance == 0 || distance > begun_) return fail("a wait for a request that was not begun");
    if (pending_.erase(begun_ - distance) > 0) requests.push_back(begun_ - distance);
  }
  if (!requests.empty()) wait(requests);
}

void Walk::make_communicator(const Reader& reader, const Event& event) {
  std::vector<int> members;
  for (const std::uint64_t member : reader.list(event.list)) {
    if (member >= static_cast<std::uint64_t>(ranks()))
      return fail(fmt::format("there is no rank {}", member));
    members.push_back(static_cast<int>(member));
  }
  const std::uint32_t nth = made_[{members, event.extra}]++;
  const auto next = static_cast<std::uint32_t>(numbers_.size() + 1);
  const std::uint32_t number = numbers_.try_emplace({members, event.extra, nth}, next).first->second;
  bool is_world = members.size() == static_cast<std::size_t>(ranks());
  for (std::size_t i = 0; i < members.size(); ++i) is_world = is_world && members[i] == static_cast<int>(i);
  if (is_world) members.clear();
  communicators_.push_back({std::move(members), number});
}

}  // namespace offramp::trace
