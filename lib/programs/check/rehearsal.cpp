// A queue contains the ranks that can continue. A rank that waits leaves the queue and returns when its
// condition may hold. The order of ranks does not affect the result, except for receives from any source:
// they match the first message unless the program records the match. The remaining waits are the findings:
// waiting ranks, a cycle among them (find_cycle()), messages never received, and receives never matched.
#include "lib/programs/check/rehearsal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "lib/base/format.hpp"
#include "offramp/model/message.hpp"

namespace offramp::trace {
namespace {

using recording::Event;
using recording::EventKind;

constexpr std::size_t kNamed = 10;  // of each kind of finding

// A place in the program, as the user is shown it.
struct EventPosition {
  int rank = 0;
  std::uint64_t event = 0;
  std::string call;
  std::string site;  // may be empty
  [[nodiscard]] std::string text() const {
    return fmt::format("rank {}, event {} ({}{}{})", rank, event, call, site.empty() ? "" : " at ", site);
  }
};

/// The condition for which a request or a call waits.
struct Waiting {
  enum class What : std::uint8_t { kMessage, kReceive, kCollective, kBlocks } what = What::kMessage;
  int peer = kAnySource;  // world rank
  int tag = kAnyTag;
  std::pair<std::uint32_t, std::uint32_t> collective;  // communicator, and index of the collective on it
  std::multiset<int> sources = {};                     // of missing blocks of neighbours
};

struct SentMessage {
  int source = 0;  // world rank
  int tag = 0;
  std::uint64_t bytes = 0;
  EventPosition from;
  std::uint64_t request = 0;  // the sender's request, which waits for the receive
  bool synchronous = false;
  bool is_block = false;  // of a neighbourhood collective
};

// A receive that no message has matched yet.
struct Receive {
  int source = 0;
  int tag = 0;
  std::uint64_t room = 0;
  std::uint64_t request = 0;
  EventPosition from;
  [[nodiscard]] bool accepts(const SentMessage& message) const {
    return (source == kAnySource || source == message.source) && (tag == kAnyTag || tag == message.tag);
  }
};

// One rank's view of a communicator. Equal communicators have one number on all ranks.
struct Communicator {
  std::uint32_t number = 0;
  std::vector<int> members;  // empty: all ranks
  std::uint32_t collectives = 0;
  int neighbourhoods = 0;  // collectives of neighbours
};

/// A window and a rank, or kAllTargets, or kFence. An epoch of MPI_Win_start is one of any window (kStarted).
using Target = std::pair<std::uint32_t, int>;
constexpr int kAllTargets = -1;
constexpr int kFence = -2;  // from the first fence on
constexpr std::uint32_t kStarted = UINT32_MAX;

/// The call that a notification of a window comes from, or goes to. Empty for other calls.
std::string_view partner_of(std::string_view call) {
  constexpr std::array<std::string_view, 4> kCalls = {"MPI_Win_post", "MPI_Win_start", "MPI_Win_complete",
                                                      "MPI_Win_wait"};
  const auto found = static_cast<std::size_t>(std::ranges::find(kCalls, call) - kCalls.begin());
  return found < kCalls.size() ? kCalls.at(found ^ 1U) : std::string_view();
}

// The state of one rank's walk through its events.
struct Rank {
  std::unique_ptr<recording::Reader> reader;
  Event event;
  std::uint64_t events = 0;
  std::uint64_t begun = 0;
  bool ended = false;
  bool acted = false;                               // called anything but MPI_Init and MPI_Finalize
  bool in_event = false;                            // waits within its current event
  std::uint64_t in_call = 0;                        // request of a blocking call
  std::map<std::uint64_t, Waiting> open;            // incomplete requests, by number
  std::vector<std::uint64_t> waited;                // requests of a wait
  Receive looks;                                    // pattern of a probe
  std::multimap<Target, EventPosition> epochs;      // of accesses, open
  std::map<std::uint64_t, EventPosition> accesses;  // not waited for, by request
  std::vector<Communicator> communicators;
  std::map<std::pair<std::vector<int>, std::uint64_t>, std::uint32_t> made;
};

/// Requests of blocking calls are numbered from here.
constexpr std::uint64_t kBlockingCalls = std::uint64_t{1} << 62U;
/// Blocks of neighbours only match each other.
constexpr std::uint32_t kBlocks = std::uint32_t{1} << 30U;

class Rehearsal {
 public:
  explicit Rehearsal(const Program& program) : program_(program) {
    ranks_.resize(static_cast<std::size_t>(program.description.ranks));
    for (int rank = 0; rank < program.description.ranks; ++rank) {
      Rank& one = at(rank);
      one.reader = program.read(rank);
      // MPI_COMM_SELF is a communicator of its own on each rank, so its numbers must differ.
      one.communicators = {{0, {}, 0}, {UINT32_MAX - static_cast<std::uint32_t>(rank), {rank}, 0}};
      runnable_.push_back(rank);
    }
  }

  Result<Findings> run() {
    while (!runnable_.empty() && problem_.empty()) {
      const int rank = runnable_.front();
      runnable_.pop_front();
      while (problem_.empty() && step(rank)) {
      }
    }
    if (!problem_.empty()) return failure(problem_);
    // A recording that was cut is a finding itself, and explains the waits that follow from it.
    for (auto& [reason, ranks] : cut_) {
      std::ranges::sort(ranks);
      problem("cut", fmt::format("{}: {}", ranks_text(ranks), reason));
    }
    conclude();
    return std::move(findings_);
  }

 private:
  using Key = std::pair<std::uint32_t, int>;  // communicator, destination
  Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }

  // --- findings ---

  void note(std::vector<std::string>& list, std::string_view kind, std::string text) {
    // Every finding is counted, but only the first few are kept: a faulty loop makes millions.
    std::size_t& count = counts_[std::string(kind)];
    if (++count <= kNamed) list.push_back(std::move(text));
  }
  void problem(std::string_view kind, std::string text) { note(findings_.problems, kind, std::move(text)); }
  EventPosition place(int rank) {
    Rank& one = at(rank);
    return {rank, one.events, std::string(one.reader->call(one.event.call)),
            std::string(one.reader->site(one.event.site))};
  }

  // --- events ---

  /// Returns false if the rank has ended or waits.
  bool step(int rank) {
    Rank& one = at(rank);
    if (one.ended) return false;
    // The rank has been woken: the condition of its present event may hold now.
    if (one.in_event) return resume(rank);
    if (!one.reader->next(one.event)) {
      if (!one.reader->error().empty()) problem_ = one.reader->error();
      if (const auto cut = one.reader->cut(); !cut.empty())
        cut_[std::string(cut)].push_back(static_cast<std::size_t>(rank));
      one.ended = true;
      return false;
    }
    ++one.events;
    ++findings_.events;
    one.acted = one.acted || one.event.kind != EventKind::kNative;
    begin(rank);
    return problem_.empty();
  }

  void begin(int rank) {
    Rank& one = at(rank);
    const Event& event = one.event;
    const bool blocks = (event.flags & recording::kBlocking) != 0;
    // A blocking call waits for one request only, so one number serves all of them.
    const std::uint64_t request = begins_request(event) ? one.begun++ : kBlockingCalls;
    switch (event.kind) {
      case EventKind::kSend:
        send(rank, request);
        break;
      case EventKind::kReceive:
      case EventKind::kClaim:
        receive(rank, request);
        break;
      case EventKind::kCollective:
      case EventKind::kMeet:
        collective(rank, request);
        break;
      case EventKind::kWait:
        wait(rank);
        return;
      case EventKind::kProbe:
        one.looks = {};
        // A probe whose match is recorded as missing does not wait.
        one.in_event = names(rank, one.looks.source, one.looks.tag);
        return;
      case EventKind::kCancel:
      case EventKind::kFree:
        release(rank);
        break;
      case EventKind::kCommunicator:
        make_communicator(rank);
        break;
      case EventKind::kNeighbours:
        neighbours(rank, request);
        break;
      case EventKind::kAccess:
        access(rank, request);
        break;
      case EventKind::kPhase:
      case EventKind::kNative:
      case EventKind::kClock:
      case EventKind::kCount:
        break;
    }
    one.in_event = blocks && one.open.contains(kBlockingCalls);
  }

  /// Returns true if the event in which the rank waits is over.
  bool resume(int rank) {
    Rank& one = at(rank);
    if (one.event.kind == EventKind::kProbe) {
      const auto& messages = unexpected_[key_of(rank)];
      const bool found = std::any_of(messages.begin(), messages.end(),
                                     [&](const SentMessage& message) { return one.looks.accepts(message); });
      return found && end_event(one);
    }
    if (one.event.kind == EventKind::kWait) {
      const bool any = (one.event.flags & (recording::kAny | recording::kSome)) != 0;
      const auto done = [&](std::uint64_t request) { return !one.open.contains(request); };
      const bool over = any ? std::any_of(one.waited.begin(), one.waited.end(), done)
                            : std::all_of(one.waited.begin(), one.waited.end(), done);
      if (!over && !one.waited.empty()) return false;
      // The reader may depend on the completion: a graph's next events follow from it.
      for (const std::uint64_t request : one.waited) {
        if (done(request)) one.reader->on_completed(request);
      }
      return end_event(one);
    }
    return !one.open.contains(kBlockingCalls) && end_event(one);
  }
  static bool end_event(Rank& one) {
    one.in_event = false;
    one.waited.clear();
    return true;
  }

  Communicator* communicator_of(int rank) {
    Rank& one = at(rank);
    if (one.event.communicator < one.communicators.size()) return &one.communicators[one.event.communicator];
    problem_ = fmt::format("{}: communicator {} does not exist", place(rank).text(), one.event.communicator);
    return nullptr;
  }
  Key key_of(int destination) {
    const Communicator* const communicator = communicator_of(destination);
    return {communicator != nullptr ? communicator->number : 0, destination};
  }
  /// The world rank of a peer. `nullopt` if it does not exist.
  std::optional<int> world_rank(const Communicator& communicator, int rank, int peer) {
    const std::size_t size = communicator.members.empty() ? ranks_.size() : communicator.members.size();
    if (peer >= 0 && static_cast<std::size_t>(peer) < size)
      return communicator.members.empty() ? peer : communicator.members[static_cast<std::size_t>(peer)];
    problem("rank", fmt::format("{}: rank {} does not exist among {} ranks", place(rank).text(), peer, size));
    return std::nullopt;
  }

  void send(int rank, std::uint64_t request) {
    Rank& one = at(rank);
    ++findings_.messages;
    const Communicator* const communicator = communicator_of(rank);
    if (communicator == nullptr) return;
    // The library sends the messages of windows.
    if (one.event.bytes == 0 && !one.reader->call(one.event.call).starts_with("MPI_Win_"))
      zero("messages", rank);
    const auto to = world_rank(*communicator, rank, one.event.peer);
    if (!to) return;
    SentMessage message{rank, one.event.tag, one.event.bytes, place(rank), request};
    message.synchronous = (one.event.flags & recording::kSynchronous) != 0;
    if (message.synchronous) one.open[request] = {Waiting::What::kReceive, *to, message.tag, {}};
    // A notification of a window is a message, so it may begin or end an epoch.
    epoch(rank, {0, *to});
    deliver({communicator->number, *to}, std::move(message));
  }
  void deliver(const Key& key, SentMessage message) {
    std::list<Receive>& posted = posted_[key];
    const auto found = std::find_if(posted.begin(), posted.end(),
                                    [&](const Receive& receive) { return receive.accepts(message); });
    if (found == posted.end()) {
      unexpected_[key].push_back(std::move(message));
      // The receiver may wait in a probe for such a message.
      if (at(key.second).in_event) runnable_.push_back(key.second);
      return;
    }
    match(message, *found, key.second);
    posted.erase(found);
  }

  /// The source and tag of a receive, as matched if that is recorded. Returns false if it never matched.
  bool names(int rank, int& source, int& tag) {
    Rank& one = at(rank);
    source = one.event.peer;
    tag = one.event.tag;
    if (program_.has_arrival && (source < 0 || tag < 0)) {
      const auto match = one.reader->match();
      if (!match || match->source < 0) return false;
      source = match->source;
      tag = match->tag;
    }
    source = source < 0 ? kAnySource : source;
    const Communicator* const communicator = communicator_of(rank);
    if (communicator == nullptr || source == kAnySource) return communicator != nullptr;
    const auto world = world_rank(*communicator, rank, source);
    source = world.value_or(0);
    return world.has_value();
  }

  void receive(int rank, std::uint64_t request) {
    Rank& one = at(rank);
    Receive receive;
    if (!names(rank, receive.source, receive.tag)) return;
    // A matched probe accepts any size.
    receive.room = one.event.kind == EventKind::kClaim ? UINT64_MAX : one.event.bytes;
    receive.request = request;
    receive.from = place(rank);
    one.open[request] = {Waiting::What::kMessage, receive.source, receive.tag, {}};
    epoch(rank, {0, receive.source});
    post(key_of(rank), std::move(receive));
  }
  void post(const Key& key, Receive receive) {
    std::list<SentMessage>& messages = unexpected_[key];
    const auto found = std::find_if(messages.begin(), messages.end(),
                                    [&](const SentMessage& message) { return receive.accepts(message); });
    if (found == messages.end()) {
      posted_[key].push_back(std::move(receive));
      return;
    }
    match(*found, receive, key.second);
    messages.erase(found);
  }

  /// Its blocks are messages whose tag is the number of the collective.
  void neighbours(int rank, std::uint64_t request) {
    Rank& one = at(rank);
    ++findings_.collectives;
    Communicator* const communicator = communicator_of(rank);
    if (communicator == nullptr) return;
    const int number = communicator->neighbourhoods++;
    // Blocks get a key of their own, so that no message of the program matches them.
    const std::uint32_t key = communicator->number ^ kBlocks;
    const auto each = [&](std::uint32_t list, auto use) {
      const auto blocks = one.reader->list(list);
      for (std::size_t i = 0; i + 1 < blocks.size(); i += 2) {
        const int peer = blocks[i] <= INT32_MAX ? static_cast<int>(blocks[i]) : -1;
        if (const auto world = world_rank(*communicator, rank, peer)) use(*world, blocks[i + 1]);
      }
    };
    std::vector<Receive> receives;
    each(one.event.second_list, [&](int source, std::uint64_t bytes) {
      receives.push_back({source, number, bytes, request, place(rank)});
    });
    if (!receives.empty()) one.open[request] = {Waiting::What::kBlocks, kAnySource, number, {}};
    // Both ends are noted before the first match, since a match may complete the request.
    for (const Receive& receive : receives) one.open[request].sources.insert(receive.source);
    for (Receive& receive : receives) post({key, rank}, std::move(receive));
    each(one.event.list, [&](int to, std::uint64_t bytes) {
      deliver({key, to}, {rank, number, bytes, place(rank), request, false, true});
    });
  }

  // --- windows ---

  /// A call of a window may begin or end an epoch.
  void epoch(int rank, Target target) {
    Rank& one = at(rank);
    const std::string_view call = one.reader->call(one.event.call);
    if (call == "MPI_Win_start" || call == "MPI_Win_complete") target.first = kStarted;
    if (call.ends_with("lock_all")) target.second = kAllTargets;
    const auto known = one.epochs.find(target);
    if (call.starts_with("MPI_Win_lock") || call == "MPI_Win_start" ||
        // The first fence begins an epoch. Later fences end and begin one, so it stays open.
        (call == "MPI_Win_fence" && known == one.epochs.end())) {
      one.epochs.emplace(target, place(rank));
    } else if (call.starts_with("MPI_Win_unlock") || call == "MPI_Win_complete") {
      if (known == one.epochs.end())
        return problem("epoch", fmt::format("{}: it ends an epoch that has not begun", place(rank).text()));
      one.epochs.erase(known);
    }
  }

  void access(int rank, std::uint64_t request) {
    Rank& one = at(rank);
    const Communicator* const communicator = communicator_of(rank);
    if (communicator == nullptr) return;
    const auto target = world_rank(*communicator, rank, one.event.peer);
    if (!target) return;
    const std::uint32_t window = one.event.communicator;
    if (request == kBlockingCalls) return epoch(rank, {window, *target});  // a lock
    one.accesses.emplace(request, place(rank));
    if (!one.epochs.contains({window, *target}) && !one.epochs.contains({window, kAllTargets}) &&
        !one.epochs.contains({kStarted, *target}) && !one.epochs.contains({window, kFence}))
      problem("outside",
              fmt::format("{}: it accesses rank {} outside of an epoch", place(rank).text(), *target));
  }

  void conclude_windows(const Rank& one) {
    for (const auto& [target, from] : one.epochs) {
      // MPI lets a program end after a fence, so its epoch is no finding.
      if (target.second != kFence) problem("epoch", fmt::format("{}: its epoch never ends", from.text()));
    }
    for (const auto& [request, from] : one.accesses)
      problem("access",
              fmt::format("{}: no fence, flush, unlock, or wait completes this access", from.text()));
  }

  void match(const SentMessage& message, const Receive& receive, int destination) {
    if (message.is_block && message.bytes != receive.room)
      problem("block", fmt::format("{}: its block of {} bytes is one of {} bytes at {}", message.from.text(),
                                   message.bytes, receive.room, receive.from.text()));
    if (!message.is_block && message.bytes > receive.room)
      problem("long", fmt::format("{}: {} bytes do not fit into the receive of {} at {}", message.from.text(),
                                  message.bytes, receive.room, receive.from.text()));
    done(destination, receive.request, message.source);
    if (message.synchronous) done(message.source, message.request);
  }
  void done(int rank, std::uint64_t request, int source = kAnySource) {
    auto& open = at(rank).open;
    if (const auto found = open.find(request); found != open.end()) {
      // A neighbourhood collective waits for one block of each source.
      std::multiset<int>& sources = found->second.sources;
      if (const auto one = sources.find(source); one != sources.end()) sources.erase(one);
      if (sources.empty()) open.erase(found);
    }
    if (at(rank).in_event) runnable_.push_back(rank);
  }

  void collective(int rank, std::uint64_t request) {
    Rank& one = at(rank);
    ++findings_.collectives;
    Communicator* const communicator = communicator_of(rank);
    if (communicator == nullptr) return;
    const std::size_t size = communicator->members.empty() ? ranks_.size() : communicator->members.size();
    // MPI requires one order of collectives on a communicator, so a count identifies each.
    const std::pair key{communicator->number, communicator->collectives++};
    if (one.event.kind == EventKind::kCollective && one.event.bytes == 0 && one.event.extra == 0 &&
        one.event.operation != OperationKind::kBarrier)
      zero("collectives", rank);
    epoch(rank, {one.event.communicator, kFence});
    Together& together = together_[key];
    if (together.came.empty()) {
      together.first = one.event;
      together.from = place(rank);
      together.members = communicator->members;
    } else if (!alike(together.first, one.event)) {
      problem("alike",
              fmt::format("{} and {} belong to one collective but differ: {} of {} bytes, root {}, and {} of "
                          "{} bytes, root {}",
                          together.from.text(), place(rank).text(), to_string(together.first.operation),
                          together.first.bytes, together.first.peer, to_string(one.event.operation),
                          one.event.bytes, one.event.peer));
    }
    together.came.emplace_back(rank, request);
    one.open[request] = {Waiting::What::kCollective, kAnySource, kAnyTag, key};
    if (together.came.size() < size) return;
    for (const auto& [member, its_request] : together.came) done(member, its_request);
    together_.erase(key);
  }
  static bool alike(const Event& a, const Event& b) {
    const bool by_bytes = !has_blocks_of_different_sizes(a.operation);
    return a.kind == b.kind && a.operation == b.operation && a.element == b.element &&
           a.function == b.function && (!has_root(a.operation) || a.peer == b.peer) &&
           (!by_bytes || a.bytes == b.bytes);
  }

  void wait(int rank) {
    Rank& one = at(rank);
    std::vector<std::uint64_t> distances;
    const auto listed = one.reader->list(one.event.list);
    const bool any = (one.event.flags & (recording::kAny | recording::kSome)) != 0;
    if (one.event.extra != 0) {
      distances.push_back(one.event.extra);
      // Only the requests that completed in the recorded run are waited for.
    } else if (any && program_.has_arrival) {
      for (const std::uint32_t position : one.reader->choice()) {
        if (position < listed.size()) distances.push_back(listed[position]);
      }
    } else {
      distances.assign(listed.begin(), listed.end());
    }
    for (const std::uint64_t distance : distances) {
      if (distance == 0 || distance > one.begun) {
        problem("request",
                fmt::format("{}: the request {} back does not exist", place(rank).text(), distance));
      } else {
        one.waited.push_back(one.begun - distance);
        one.accesses.erase(one.begun - distance);
      }
    }
    one.in_event = true;
    runnable_.push_back(rank);
  }

  void release(int rank) {
    Rank& one = at(rank);
    if (one.event.extra == 0 || one.event.extra > one.begun) return;
    const std::uint64_t request = one.begun - one.event.extra;
    one.accesses.erase(request);
    // A freed request still completes, so its receive stays posted.
    if (one.event.kind == EventKind::kFree) return;
    for (auto& [key, posted] : posted_) {
      if (key.second == rank)
        posted.remove_if([&](const Receive& receive) { return receive.request == request; });
    }
    one.open.erase(request);
  }

  void make_communicator(int rank) {
    Rank& one = at(rank);
    std::vector<int> members;
    for (const std::uint64_t member : one.reader->list(one.event.list)) {
      if (member >= ranks_.size()) {
        problem_ = fmt::format("{}: rank {} does not exist", place(rank).text(), member);
        return;
      }
      members.push_back(static_cast<int>(member));
    }
    // A rank may make several communicators with equal members and id; their order distinguishes them.
    const std::uint32_t nth = one.made[{members, one.event.extra}]++;
    const auto next = static_cast<std::uint32_t>(numbers_.size() + 1);
    const std::uint32_t number = numbers_.try_emplace({members, one.event.extra, nth}, next).first->second;
    one.communicators.push_back({number, std::move(members), 0});
  }

  void zero(std::string_view what, int rank) {
    auto& [count, first] = zeros_[std::string(what)];
    if (count++ == 0) first = place(rank).text();
  }

  // --- the end ---

  /// What a rank waits for, and the rank responsible if it is a single one.
  std::pair<std::string, int> reason(int rank) {
    Rank& one = at(rank);
    std::vector<std::uint64_t> requests = one.waited;
    if (requests.empty()) requests.push_back(kBlockingCalls);
    // The first incomplete request is the reason. One is enough for the user.
    for (const std::uint64_t request : requests) {
      const auto found = one.open.find(request);
      if (found == one.open.end()) continue;
      const Waiting& waiting = found->second;
      if (waiting.what == Waiting::What::kCollective) return missing_member(waiting.collective);
      if (waiting.what == Waiting::What::kBlocks)
        return {fmt::format("its block from rank {}", *waiting.sources.begin()), *waiting.sources.begin()};
      if (const auto partner = partner_of(one.reader->call(one.event.call)); !partner.empty())
        return {fmt::format("{} of rank {}", partner, waiting.peer), waiting.peer};
      const std::string who = waiting.peer < 0 ? "any rank" : fmt::format("rank {}", waiting.peer);
      const std::string tag = waiting.tag < 0 ? "any tag" : fmt::format("tag {}", waiting.tag);
      return {waiting.what == Waiting::What::kMessage ? fmt::format("a message from {}, {}", who, tag)
                                                      : fmt::format("the receive of {}, {}", who, tag),
              waiting.peer};
    }
    return {"a message", one.event.peer};
  }
  /// What is wrong with a message that is never received.
  static std::string unreceived(const SentMessage& message, int destination) {
    if (message.is_block)
      return fmt::format("rank {} does not receive its block of {} bytes in the same collective", destination,
                         message.bytes);
    if (const auto partner = partner_of(message.from.call); !partner.empty())
      return fmt::format("rank {} never calls {}", destination, partner);
    return fmt::format("its message of {} bytes to rank {}, tag {}, is never received", message.bytes,
                       destination, message.tag);
  }
  std::pair<std::string, int> missing_member(const std::pair<std::uint32_t, std::uint32_t>& key) {
    const Together& together = together_[key];
    std::set<int> came;
    for (const auto& [member, request] : together.came) came.insert(member);
    std::vector<int> missing;
    const std::size_t size = together.members.empty() ? ranks_.size() : together.members.size();
    for (std::size_t i = 0; i < size; ++i) {
      const int member = together.members.empty() ? static_cast<int>(i) : together.members[i];
      if (!came.contains(member)) missing.push_back(member);
    }
    const std::string more = missing.size() > 1 ? fmt::format(" and {} more ranks", missing.size() - 1) : "";
    return {fmt::format("rank {}{} in the collective", missing.front(), more), missing.front()};
  }

  void conclude() {
    std::vector<int> waits_for(ranks_.size(), -1);
    for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
      if (!at(rank).acted && at(rank).ended) problem("missing", fmt::format("rank {} does nothing", rank));
      if (at(rank).ended && at(rank).reader->cut().empty()) conclude_windows(at(rank));
      if (at(rank).ended) continue;
      const auto [what, peer] = reason(rank);
      waits_for[static_cast<std::size_t>(rank)] = peer;
      const bool gone = peer >= 0 && static_cast<std::size_t>(peer) < ranks_.size() && at(peer).ended;
      problem("waits",
              fmt::format("{} waits for {}{}", place(rank).text(), what, gone ? ", which has ended" : ""));
    }
    find_cycle(waits_for);
    for (const auto& [key, messages] : unexpected_) {
      for (const SentMessage& message : messages)
        problem("unreceived", fmt::format("{}: {}", message.from.text(), unreceived(message, key.second)));
    }
    for (const auto& [key, receives] : posted_) {
      for (const Receive& receive : receives) {
        if (at(key.second).ended)
          problem("unsent", fmt::format("{}: no message ever matches this receive", receive.from.text()));
      }
    }
    for (const auto& [kind, count] : counts_) {
      if (count > kNamed)
        findings_.problems.push_back(fmt::format("and {} more of this kind ({})", count - kNamed, kind));
    }
    for (const auto& [what, zeros] : zeros_)
      findings_.remarks.push_back(
          fmt::format("{} of 0 bytes: {}, the first at {}", what, zeros.first, zeros.second));
  }

  // Follows the waits from each rank. A rank that this walk has seen before lies on a cycle.
  void find_cycle(const std::vector<int>& waits_for) {
    std::vector<std::uint32_t> seen(ranks_.size(), 0);
    std::uint32_t walk = 0;
    for (std::size_t start = 0; start < ranks_.size(); ++start) {
      ++walk;
      auto rank = static_cast<int>(start);
      while (rank >= 0 && static_cast<std::size_t>(rank) < seen.size() &&
             seen[static_cast<std::size_t>(rank)] == 0) {
        seen[static_cast<std::size_t>(rank)] = walk;
        rank = waits_for[static_cast<std::size_t>(rank)];
      }
      if (rank < 0 || static_cast<std::size_t>(rank) >= seen.size() ||
          seen[static_cast<std::size_t>(rank)] != walk)
        continue;
      std::string text = fmt::format("a cycle of ranks that wait for each other: {}", rank);
      int next = waits_for[static_cast<std::size_t>(rank)];
      for (std::size_t length = 1; next != rank && length < kNamed; ++length) {
        text += fmt::format(", {}", next);
        next = waits_for[static_cast<std::size_t>(next)];
      }
      problem("cycle", text + (next == rank ? fmt::format(", {}", rank) : ", ..."));
    }
  }

  // A collective that not all members have reached.
  struct Together {
    Event first;
    EventPosition from;
    std::vector<int> members;
    std::vector<std::pair<int, std::uint64_t>> came;
  };

  const Program& program_;
  std::vector<Rank> ranks_;
  std::deque<int> runnable_;
  std::map<Key, std::list<SentMessage>> unexpected_;
  std::map<Key, std::list<Receive>> posted_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Together> together_;
  std::map<std::tuple<std::vector<int>, std::uint64_t, std::uint32_t>, std::uint32_t> numbers_;
  std::map<std::string, std::vector<std::size_t>> cut_;  // ranks by reason
  std::map<std::string, std::size_t> counts_;
  std::map<std::string, std::pair<std::uint64_t, std::string>> zeros_;
  Findings findings_;
  std::string problem_;
};

}  // namespace

Result<Findings> rehearse(const Program& program) {
  return Rehearsal(program).run();
}

}  // namespace offramp::trace
