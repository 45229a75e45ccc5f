// Reduces a program to what formats without requests, communicators, and wildcards can express. Peers become
// world ranks, and requests become numbers. Tags of different communicators are kept apart (kTagsOfOne).
// Receives from any source name the matched source. A neighbourhood collective becomes messages with a tag of
// its own. Each kind of loss is reported once.
#include "lib/programs/export/program_visitor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "offramp/model/message.hpp"

namespace offramp::trace {

using recording::Event;
using recording::EventKind;
using recording::Reader;

namespace {

/// Distance between the tags of successive communicators, whose messages must not match each other.
constexpr std::int64_t kTagsOfOne = recording::kNeighboursTag + 1;
/// The first id of a message of a neighbourhood collective.
constexpr std::uint64_t kParts = std::uint64_t{1} << 62U;

}  // namespace

Result<void> ProgramVisitor::visit(int rank) {
  rank_ = rank;
  number_ = 0;
  begun_ = 0;
  parts_ = 0;
  pending_.clear();
  made_.clear();
  // The first two of a rank are MPI_COMM_WORLD and MPI_COMM_SELF, which need no numbers of their own.
  communicators_ = {{{}, 0}, {{rank}, 0}};
  problem_.clear();
  const std::unique_ptr<Reader> reader = program_.read(rank);
  if (reader->has_threads()) unsupported("written in the recorded order: calls of several threads of a rank");
  for (Event event; problem_.empty() && reader->next(event);) {
    ++number_;
    // Formats of other tools have one kind of time that no model computes.
    const recording::Times times = reader->times();
    if (const std::uint64_t time = times.computing + times.blocked; time > 0) compute(time);
    this->event(*reader, event);
    if (times.native > 0) compute(times.native);
  }
  if (problem_.empty() && !reader->error().empty()) problem_ = reader->error();
  if (problem_.empty() && !reader->cut().empty()) problem_ = fmt::format("rank {}: {}", rank, reader->cut());
  if (problem_.empty()) end();
  return success_or(problem_);
}

void ProgramVisitor::unsupported(std::string_view kind) {
  if (std::find(unsupported_.begin(), unsupported_.end(), kind) == unsupported_.end())
    unsupported_.emplace_back(kind);
}

void ProgramVisitor::fail(std::string what) {
  if (problem_.empty()) problem_ = fmt::format("rank {}, event {}: {}", rank_, number_, what);
}

int ProgramVisitor::tag_of(const Communicator& communicator, int tag) {
  if (tag < 0) return kAnyTag;
  // MPI_COMM_WORLD keeps its tags: most programs use no other communicator.
  const std::int64_t own = communicator.number * kTagsOfOne + tag;
  if (communicator.number > 0 && (tag >= kTagsOfOne || own > INT32_MAX))
    fail(fmt::format("no free tag is left for tag {} on communicator {}", tag, communicator.number));
  return static_cast<int>(own);
}

void ProgramVisitor::event(Reader& reader, const Event& event) {
  switch (event.kind) {
    case EventKind::kSend:
    case EventKind::kReceive:
    case EventKind::kClaim:
      return one_message(reader, event);
    case EventKind::kCollective: {
      if (event.communicator >= communicators_.size()) return fail("the communicator does not exist");
      const std::vector<int>* members = &communicators_[event.communicator].members;
      std::vector<int> all;
      if (members->empty()) {
        all.resize(static_cast<std::size_t>(ranks()));
        std::iota(all.begin(), all.end(), 0);
        members = &all;
      }
      std::optional<std::uint64_t> request;
      if (begins_request(event)) {
        // The request counts in any case: later waits name requests by their distance.
        const std::uint64_t number = begun_++;
        if (holds_nonblocking_collectives()) {
          pending_[number] = {number};
          request = number;
        } else {
          unsupported("written as blocking: nonblocking collectives");
        }
      }
      return collective(event, reader, *members, request);
    }
    case EventKind::kWait:
      return one_wait(reader, event);
    case EventKind::kCommunicator:
      return make_communicator(reader, event);
    case EventKind::kProbe:
      return unsupported("left out: probes (the receives after them wait instead)");
    case EventKind::kCancel:
      return unsupported("written as ordinary receives: cancelled receives");
    case EventKind::kFree:
      return unsupported("written without a wait: freed requests");
    case EventKind::kAccess:
      if (begins_request(event)) ++begun_;
      return unsupported("left out: one-sided accesses");
    case EventKind::kNeighbours:
      return neighbours(reader, event);
    case EventKind::kMeet:
      if (begins_request(event)) ++begun_;
      return unsupported("left out: waits in windows and files");
    case EventKind::kPhase:
      return unsupported("left out: phases");
    case EventKind::kNative:
    case EventKind::kClock:
    case EventKind::kCount:
      return;
  }
}

void ProgramVisitor::one_message(Reader& reader, const Event& event) {
  MessageCall message;
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
  if (never) return unsupported("left out: receives without a message");
  if (begins_request(event)) pending_[message.request] = {message.request};
  message.peer = peer;
  pass_on(message, event.communicator, tag);
}

void ProgramVisitor::pass_on(MessageCall message, std::uint32_t number, int tag) {
  if (number >= communicators_.size()) return fail("the communicator does not exist");
  const Communicator& communicator = communicators_[number];
  const int peer = message.peer;
  // A wildcard would match messages of other communicators, whose tags differ but whose source may not.
  if (peer < 0 && !communicator.members.empty())
    return fail("a wildcard receive on a communicator of some ranks, whose message is not recorded");
  const auto size =
      communicator.members.empty() ? static_cast<std::size_t>(ranks()) : communicator.members.size();
  if (peer >= 0 && static_cast<std::size_t>(peer) >= size)
    return fail(fmt::format("rank {} does not exist", peer));
  message.peer = peer < 0                       ? kAnySource
                 : communicator.members.empty() ? peer
                                                : communicator.members[static_cast<std::size_t>(peer)];
  message.tag = tag_of(communicator, tag);
  this->message(message);
}

/// Receives from all neighbours, sends to all of them, and a wait for all.
void ProgramVisitor::neighbours(const Reader& reader, const Event& event) {
  std::vector<std::uint64_t> parts;
  for (const bool sends : {false, true}) {
    const auto blocks = reader.list(sends ? event.list : event.second_list);
    for (std::size_t i = 0; i + 1 < blocks.size(); i += 2) {
      if (blocks[i] > INT32_MAX) return fail(fmt::format("rank {} does not exist", blocks[i]));
      MessageCall part;
      part.sends = sends;
      part.peer = static_cast<int>(blocks[i]);
      part.bytes = blocks[i + 1];
      part.request = kParts + parts_++;
      parts.push_back(part.request);
      pass_on(part, event.communicator, recording::kNeighboursTag);
    }
  }
  if (begins_request(event)) {
    pending_[begun_++] = std::move(parts);
  } else if (!parts.empty()) {
    wait(parts);
  }
}

void ProgramVisitor::one_wait(const Reader& reader, const Event& event) {
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
      return fail("a wait for one of several requests, whose completion is not recorded");
    }
  }
  std::vector<std::uint64_t> requests;
  for (const std::uint64_t distance : distances) {
    if (distance == 0 || distance > begun_) return fail("a wait for a request that was not started");
    // A request that the writer does not know needs no wait: its operation was left out.
    if (const auto found = pending_.extract(begun_ - distance))
      requests.insert(requests.end(), found.mapped().begin(), found.mapped().end());
  }
  if (!requests.empty()) wait(requests);
}

void ProgramVisitor::make_communicator(const Reader& reader, const Event& event) {
  std::vector<int> members;
  for (const std::uint64_t member : reader.list(event.list)) {
    if (member >= static_cast<std::uint64_t>(ranks()))
      return fail(fmt::format("rank {} does not exist", member));
    members.push_back(static_cast<int>(member));
  }
  // Members make their communicators in one order, so the count is the same for all of them.
  const std::uint32_t nth = made_[{members, event.extra}]++;
  const auto next = static_cast<std::uint32_t>(numbers_.size() + 1);
  const std::uint32_t number = numbers_.try_emplace({members, event.extra, nth}, next).first->second;
  bool is_world = members.size() == static_cast<std::size_t>(ranks());
  for (std::size_t i = 0; i < members.size(); ++i) is_world = is_world && members[i] == static_cast<int>(i);
  if (is_world) members.clear();
  communicators_.push_back({std::move(members), number});
}

}  // namespace offramp::trace
