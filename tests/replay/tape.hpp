// A recording in memory, written by hand for tests of replays.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/answers/replay/replay.hpp"

namespace offramp::test {

/// One rank's events, with the outcomes that the order of arrival decided.
class Tape {
 public:
  using Event = recording::Event;
  using Kind = recording::EventKind;

  /// What a recording has beside an event. It applies to the event that is added next.
  struct Beside {
    recording::Times times;
    std::uint64_t polls = 0;
    recording::Gaps gaps;
    std::optional<recording::Match> match = {};
    std::vector<std::uint32_t> choice = {};
    std::uint32_t thread = 0;
  };
  /// An event with its outcomes.
  struct Entry {
    Event event;
    Beside beside;
  };

  std::vector<Entry> entries;
  std::vector<std::vector<std::uint64_t>> lists = {{}};
  std::vector<std::string> sites = {{}};
  std::vector<std::string> functions;  // those named with as()
  bool cut = false;
  std::string error;

  /// Sets the thread of the events that follow.
  Tape& of_thread(std::uint32_t thread) {
    thread_ = next_.thread = thread;
    return *this;
  }
  /// Sets the place of the calls that follow; empty: unknown.
  Tape& at(std::string place) {
    sites.push_back(std::move(place));
    return *this;
  }
  /// Adds computing before the next event.
  Tape& compute(std::uint64_t nanoseconds) {
    next_.times.computing += nanoseconds;
    return *this;
  }
  /// Adds blocked time before the next event.
  Tape& block(std::uint64_t nanoseconds) {
    next_.times.blocked += nanoseconds;
    return *this;
  }
  /// The next event's call takes so long natively.
  Tape& lasts(std::uint64_t nanoseconds) {
    next_.times.native = nanoseconds;
    return *this;
  }
  /// Sets the gaps before the next event.
  Tape& gaps(const recording::Gaps& time) {
    next_.gaps = time;
    return *this;
  }
  /// Adds polls that found nothing before the next event.
  Tape& polls(std::uint64_t count) {
    next_.polls += count;
    return *this;
  }

  /// Returns the number of the request that the event begins, if any.
  std::uint64_t add(Event event) {
    event.site = static_cast<std::uint32_t>(sites.size() - 1);
    entries.push_back({event, std::exchange(next_, {})});
    next_.thread = thread_;
    return recording::begins_request(event) ? begun_++ : begun_;
  }
  /// Stores a list of an event. Returns its number; 0 for an empty list.
  std::uint32_t list(std::vector<std::uint64_t> values) {
    if (values.empty()) return 0;
    lists.push_back(std::move(values));
    return static_cast<std::uint32_t>(lists.size() - 1);
  }
  Entry& last() { return entries.back(); }
  /// Names the function of the newest event.
  Tape& as(std::string function) {
    functions.push_back(std::move(function));
    last().event.call = static_cast<std::uint16_t>(kNamed + functions.size() - 1);
    return *this;
  }

  /// Adds a message. flags: recording::kBlocking, or 0 for a request.
  std::uint64_t message(Kind kind, int peer, std::uint64_t bytes, int tag = 0,
                        int flags = recording::kBlocking, std::uint32_t communicator = 0) {
    Event event;
    event.kind = kind;
    event.flags = static_cast<std::uint8_t>(flags);
    event.call = static_cast<std::uint16_t>(kind);
    event.communicator = communicator;
    event.peer = peer;
    event.tag = tag;
    event.bytes = bytes;
    return add(event);
  }
  std::uint64_t send(int to, std::uint64_t bytes, int tag = 0) {
    return message(Kind::kSend, to, bytes, tag);
  }
  std::uint64_t receive(int from, std::uint64_t bytes, int tag = 0) {
    return message(Kind::kReceive, from, bytes, tag);
  }
  std::uint64_t isend(int to, std::uint64_t bytes, int tag = 0) {
    return message(Kind::kSend, to, bytes, tag, 0);
  }
  std::uint64_t irecv(int from, std::uint64_t bytes, int tag = 0) {
    return message(Kind::kReceive, from, bytes, tag, 0);
  }
  /// The wildcard of the newest receive matched this message.
  Tape& took(int source, int tag) {
    last().beside.match = recording::Match{source, tag};
    return *this;
  }

  /// Adds a wait for requests, as distances from the newest one. flags: which of them it waits for.
  void of_requests(Kind kind, const std::vector<std::uint64_t>& requests, int flags = 0) {
    Event event;
    event.kind = kind;
    event.flags = static_cast<std::uint8_t>(flags);
    event.call = static_cast<std::uint16_t>(kind);
    std::vector<std::uint64_t> distances;
    for (const std::uint64_t request : requests) distances.push_back(begun_ - request);
    if (distances.size() == 1 && flags == 0) {
      event.extra = distances[0];
    } else {
      event.list = list(distances);
    }
    add(event);
  }
  void wait(const std::vector<std::uint64_t>& requests) { of_requests(Kind::kWait, requests); }
  /// choice: as Reader::choice() returns it.
  void wait_for(int flag, const std::vector<std::uint64_t>& requests, std::vector<std::uint32_t> choice) {
    of_requests(Kind::kWait, requests, flag);
    last().beside.choice = std::move(choice);
  }

  /// The event of a collective. It still has to be added.
  Event collective(const Operation& operation, std::uint32_t communicator = 0) {
    Event event;
    event.kind = Kind::kCollective;
    if (!operation.nonblocking) event.flags = recording::kBlocking;
    if (!operation.commutative) event.flags |= recording::kNotCommutative;
    event.call = static_cast<std::uint16_t>(operation.nonblocking ? Kind::kCount : Kind::kCollective);
    event.operation = operation.kind;
    event.element = operation.element;
    event.function = operation.function;
    event.communicator = communicator;
    event.peer = operation.root;
    event.bytes = operation.bytes;
    event.extra = reduces(operation.kind) ? operation.elements : 0;
    return event;
  }
  /// Adds a communicator. members: world ranks, in order.
  void communicator(const std::vector<int>& members, std::uint64_t id = 0) {
    Event event;
    event.kind = Kind::kCommunicator;
    event.extra = id;
    event.list = list({members.begin(), members.end()});
    add(event);
  }
  /// Adds a synchronisation of a communicator without data.
  void meet(std::uint32_t communicator = 0) {
    message(Kind::kMeet, 0, 0, 0, recording::kBlocking, communicator);
  }
  /// Ranks and bytes in turn. Returns its request, if it begins one.
  std::uint64_t neighbours(const std::vector<std::uint64_t>& to, const std::vector<std::uint64_t>& from,
                           int flags = recording::kBlocking, std::uint32_t communicator = 0) {
    Event event;
    event.kind = Kind::kNeighbours;
    event.communicator = communicator;
    event.flags = static_cast<std::uint8_t>(flags);
    event.call = static_cast<std::uint16_t>(Kind::kNeighbours);
    event.list = list(to);
    event.second_list = list(from);
    return add(event);
  }
  /// Returns its request, if it begins one.
  std::uint64_t access(Access kind, int target, std::uint64_t bytes, std::uint64_t back = 0,
                       int flags = recording::kBlocking, std::uint32_t communicator = 0) {
    Event event;
    event.kind = Kind::kAccess;
    event.communicator = communicator;
    event.flags = static_cast<std::uint8_t>(flags);
    event.call = static_cast<std::uint16_t>(Kind::kAccess);
    event.peer = target;
    event.tag = static_cast<int>(kind);
    event.bytes = bytes;
    event.extra = back;
    return add(event);
  }
  /// Begins or ends a phase, as MPI_Pcontrol does.
  void phase(int level, std::string_view name = "") {
    Event event;
    event.kind = Kind::kPhase;
    event.call = static_cast<std::uint16_t>(Kind::kPhase);
    event.tag = level;
    event.list = list({name.begin(), name.end()});
    add(event);
  }
  /// A call that communicates with processes outside of the program.
  void outside(std::uint64_t bytes) {
    native();
    last().event.flags = recording::kCommunicates;
    last().event.bytes = bytes;
  }
  void native() {
    Event event;
    event.call = static_cast<std::uint16_t>(Kind::kNative);
    add(event);
  }
  void finalize() {
    Event event;
    event.call = kFinalizeCall;
    add(event);
  }
  static constexpr std::string_view kFinalize = "MPI_Finalize";
  static constexpr std::uint16_t kFinalizeCall = 16;  // after the kinds of events, in call()
  static constexpr std::uint16_t kFileCall = 17;
  static constexpr std::uint16_t kNamed = 1000;  // of `functions` from here on

 private:
  Beside next_;
  std::uint32_t thread_ = 0;
  std::uint64_t begun_ = 0;
};

/// Reads a tape, which must outlive it.
class TapeReader final : public recording::Reader {
 public:
  explicit TapeReader(const Tape& tape) : tape_(tape) {}
  bool next(recording::Event& event) override {
    if (at_ == tape_.entries.size()) return false;
    event = tape_.entries[at_++].event;
    return true;
  }
  [[nodiscard]] recording::Times times() const override { return beside().times; }
  [[nodiscard]] std::span<const std::uint64_t> list(std::uint32_t number) const override {
    return tape_.lists[number];
  }
  [[nodiscard]] std::optional<recording::Match> match() override { return beside().match; }
  [[nodiscard]] std::span<const std::uint32_t> choice() const override { return beside().choice; }
  [[nodiscard]] std::uint64_t polls() const override { return beside().polls; }
  [[nodiscard]] recording::Gaps gaps() const override { return beside().gaps; }
  [[nodiscard]] bool has_threads() const override {
    return std::any_of(tape_.entries.begin(), tape_.entries.end(),
                       [](const Tape::Entry& entry) { return entry.beside.thread != 0; });
  }
  [[nodiscard]] std::uint32_t thread() const override { return beside().thread; }
  /// The name of an event's kind, which serves as the name of the function.
  [[nodiscard]] std::string_view call(std::uint16_t number) const override {
    static constexpr std::string_view kNames[] = {"MPI_Send",
                                                  "MPI_Recv",
                                                  "collective",
                                                  "MPI_Wait",
                                                  "MPI_Probe",
                                                  "MPI_Mprobe",
                                                  "MPI_Cancel",
                                                  "MPI_Request_free",
                                                  "MPI_Comm_create",
                                                  "meet",
                                                  "MPI_Neighbor_alltoall",
                                                  "MPI_Pcontrol",
                                                  "native",
                                                  "MPI_Wtime",
                                                  "MPI_Put",
                                                  "MPI_Icollective",
                                                  Tape::kFinalize,
                                                  "MPI_File_write_all"};
    static_assert(std::size(kNames) == Tape::kFileCall + 1);
    if (number >= Tape::kNamed) return tape_.functions[number - Tape::kNamed];
    return number < std::size(kNames) ? kNames[number] : "MPI_Other";
  }
  [[nodiscard]] std::string_view site(std::uint32_t number) const override { return tape_.sites[number]; }
  [[nodiscard]] std::string_view cut() const override {
    return tape_.cut ? recording::kCut : std::string_view();
  }
  [[nodiscard]] const std::string& error() const override { return tape_.error; }

 private:
  [[nodiscard]] const Tape::Beside& beside() const { return tape_.entries[at_ - 1].beside; }
  const Tape& tape_;
  std::size_t at_ = 0;
};

/// The tapes must outlive the source. One rank per tape.
inline ReplaySource source_of(const std::vector<Tape>& tapes) {
  return {
      .ranks = static_cast<int>(tapes.size()),
      .read =
          [&tapes](int rank) { return std::make_unique<TapeReader>(tapes[static_cast<std::size_t>(rank)]); },
      .is_concurrent = true};
}

/// The defaults of a backend, and the host behind it.
inline WorldSetting setting_of(const Registry& registry, std::string_view backend) {
  const Result<WorldSetting> setting = world_setting(Configuration(), registry, *registry.find(backend), 1);
  return *setting;
}

}  // namespace offramp::test
