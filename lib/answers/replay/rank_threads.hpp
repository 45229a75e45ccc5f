// Replays the threads of a rank: each thread replays its own events, and waits for other threads only where
// MPI orders them.
//
// The recorded order is kept among
// - messages that may match the same receives (same communicator, peer, and tag),
// - receives and probes of such messages,
// - collectives on one communicator,
// - exchanges on one subject,
// - communicators with the same id.
// Events also wait for what they use: a communicator until it is made, a request until it is begun. All other
// events of two threads may happen in a different order than in the recorded run.
//
// Recordings do not say when a thread was created. It begins when the rank's first thread reaches an event
// recorded after its own first one, or earlier if nothing else in the world can continue.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/programs/recording/reader.hpp"
#include "simulators/world/world.hpp"

namespace offramp {

/// Owns the reader and the streams. All threads of the rank run in one thread of the process.
class RankThreads {
 public:
  /// Events with equal keys keep their recorded order. kNone: events in any order.
  struct Key {
    /// kReceive also covers probes and claims.
    enum class What : std::uint8_t { kNone, kSend, kReceive, kCollective, kCommunicator };
    What what = What::kNone;
    std::uint32_t communicator = 0;
    std::int32_t peer = 0;
    std::int32_t tag = 0;
    std::uint64_t id = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };

  /// An event with its lists and the times before it.
  struct Dealt {
    recording::Event event;  // its lists have the numbers 1 and 2
    std::vector<std::uint64_t> list;
    std::vector<std::uint64_t> second_list;
    std::vector<std::uint32_t> choice;
    std::optional<recording::Match> match;
    recording::Gaps gaps;
    recording::Times times;
    std::uint64_t polls = 0;
    std::uint64_t number = 0;  // among all events of the rank, from 1
    std::uint64_t begun = 0;   // requests begun before it
    std::uint32_t made = 0;    // communicators made before it
    Key key;
  };

  /// The events of one thread.
  class Stream final : public recording::Reader {
   public:
    explicit Stream(RankThreads& all) : all_(all) {}

    /// Call fetch() first. False at the end.
    bool next(recording::Event& event) override;
    /// The event that next() returned last.
    [[nodiscard]] const Dealt& dealt() const { return dealt_; }

    [[nodiscard]] recording::Times times() const override { return dealt_.times; }
    [[nodiscard]] std::span<const std::uint64_t> list(std::uint32_t number) const override;
    [[nodiscard]] std::optional<recording::Match> match() override { return dealt_.match; }
    [[nodiscard]] std::span<const std::uint32_t> choice() const override { return dealt_.choice; }
    [[nodiscard]] std::uint64_t polls() const override { return dealt_.polls; }
    [[nodiscard]] recording::Gaps gaps() const override { return dealt_.gaps; }
    [[nodiscard]] std::string_view call(std::uint16_t number) const override;
    [[nodiscard]] std::string_view site(std::uint32_t number) const override;
    [[nodiscard]] std::string_view cut() const override;
    [[nodiscard]] const std::string& error() const override;

   private:
    friend class RankThreads;
    RankThreads& all_;
    std::deque<Dealt> queue_;
    Dealt dealt_;
  };

  /// The coroutine that plays one thread.
  using Play = std::function<Task<void>(RankHandle& rank, Stream& stream)>;
  /// play: runs each thread's coroutine. It may call the functions below.
  RankThreads(std::unique_ptr<recording::Reader> reader, Play play);

  /// The stream of thread 0, which exists from the beginning, even if the calls of others come first. Call
  /// this first, with that thread's handle.
  Stream& first(RankHandle& rank);
  /// Reads ahead to the thread's next event, or to the end. False if the queues of other threads are full:
  /// the caller sleeps until it is woken, and repeats the call.
  bool fetch(Stream& stream, RankHandle& rank);
  /// True if the event that stream.next() returned may begin. False: the caller sleeps until the event before
  /// it has begun, which wakes it, and repeats the call.
  bool may_begin(const Stream& stream, RankHandle& rank);
  /// Marks the event as begun; probes and cancellations call it when they are done.
  void begun(const Stream& stream);
  /// Begins all threads whose events have been read.
  void begin_threads();
  /// Begins one more thread when nothing else can continue. False if there is none.
  bool begin_another();

 private:
  /// For the map of orders.
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  /// A thread that has not begun.
  struct Waiting {
    std::uint64_t first = 0;  // number of its first event
    Stream* stream = nullptr;
  };

  /// Each event is counted and queued once, in recorded order.
  bool read();
  /// The order to which an event belongs.
  [[nodiscard]] static Key key_of(const Dealt& dealt);
  /// Looks at the order of keys, the communicator, and the requests.
  [[nodiscard]] std::uint64_t blocker(const Dealt& dealt) const;
  /// Begins the threads whose first event has a lower number.
  void begin_threads_before(std::uint64_t number);

  std::unique_ptr<recording::Reader> reader_;
  Play play_;
  RankHandle* first_ = nullptr;
  Stream* first_stream_ = nullptr;
  std::map<std::uint32_t, std::unique_ptr<Stream>> streams_;  // by thread
  std::deque<Waiting> not_begun_;
  /// Threads that wait for room in the queues.
  std::vector<RankHandle*> starved_;
  std::size_t queued_ = 0;  // bytes
  bool at_end_ = false;
  std::uint64_t events_ = 0;
  std::uint64_t requests_ = 0;
  std::uint32_t communicators_ = recording::kFirstMade;
  // Events that have been read but not begun.
  // By key, the numbers of events in recorded order. The front may begin.
  std::unordered_map<Key, std::deque<std::uint64_t>, Hash> orders_;
  std::unordered_map<std::uint64_t, std::uint64_t> unbegun_requests_;  // by request
  std::unordered_map<std::uint64_t, std::uint64_t> uncancelled_requests_;
  std::unordered_map<std::uint32_t, std::uint64_t> unmade_;       // by communicator
  std::unordered_multimap<std::uint64_t, RankHandle*> sleepers_;  // by the event that they wait for
};

}  // namespace offramp
