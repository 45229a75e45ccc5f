// The threads of a replayed rank, where its recording has several: each gets its own events, and waits for
// those of others only where MPI orders them.
//
// These orders are kept: of messages that may match the same receives (alike in communicator, peer and tag),
// of receives and probes of such messages, of collectives on one communicator, of what its members tell each
// other of one subject, of communicators with one id. And nothing is used before it is there: a communicator
// before it was made, the end of a request before that was begun. All else two threads may do in another
// order than in the recorded run.
//
// When a thread was created is not recorded. It begins where the rank's first thread came to the event behind
// its own first one; and sooner where nothing else in the world can go on, which shows that it was there
// before.
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

class RankThreads {
 public:
  /// What two events are alike in whose order counts. kNone: the order does not.
  struct Key {
    enum class What : std::uint8_t { kNone, kSend, kReceive, kCollective, kExchange, kCommunicator };
    What what = What::kNone;
    std::uint32_t communicator = 0;
    std::int32_t peer = 0;
    std::int32_t tag = 0;
    std::uint64_t id = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };

  /// An event and all that stands beside it.
  struct Dealt {
    recording::Event event;  // the lists are 1 and 2
    std::vector<std::uint64_t> list;
    std::vector<std::uint64_t> second_list;
    std::vector<std::uint32_t> choice;
    std::optional<recording::Match> match;
    recording::Gaps gaps;
    std::uint64_t computed = 0;
    std::uint64_t polls = 0;
    std::uint64_t number = 0;  // of all events of the rank, from 1
    std::uint64_t begun = 0;   // requests before it
    std::uint32_t made = 0;    // communicators before it
    Key key;
  };

  /// The events of one thread.
  class Stream final : public recording::Reader {
   public:
    explicit Stream(RankThreads& all) : all_(all) {}

    /// After fetch().
    bool next(recording::Event& event) override;
    [[nodiscard]] const Dealt& dealt() const { return dealt_; }

    [[nodiscard]] std::uint64_t computed() const override { return dealt_.computed; }
    [[nodiscard]] std::span<const std::uint64_t> list(std::uint32_t number) const override;
    [[nodiscard]] std::optional<recording::Match> match() override { return dealt_.match; }
    [[nodiscard]] std::span<const std::uint32_t> choice() const override { return dealt_.choice; }
    [[nodiscard]] std::uint64_t polls() const override { return dealt_.polls; }
    [[nodiscard]] recording::Gaps gaps() const override { return dealt_.gaps; }
    [[nodiscard]] std::string_view call(std::uint16_t number) const override;
    [[nodiscard]] std::string_view site(std::uint32_t number) const override;
    [[nodiscard]] bool cut() const override;
    [[nodiscard]] const std::string& error() const override;

   private:
    friend class RankThreads;
    RankThreads& all_;
    std::deque<Dealt> queue_;
    Dealt dealt_;
  };

  /// play: what a thread does.
  using Play = std::function<Task<void>(RankHandle& rank, Stream& stream)>;
  RankThreads(std::unique_ptr<recording::Reader> reader, Play play);

  /// The thread with which the rank begins, which calls this first and is `rank`.
  Stream& first(RankHandle& rank);
  /// Reads on to the next event of a thread, or to the end. False: the others have so much before them that
  /// it has to sleep, and is roused.
  bool fetch(Stream& stream, RankHandle& rank);
  /// The event that stream.next() gave may be begun. False: it has to sleep until another one is, and is
  /// roused.
  bool may_begin(const Stream& stream, RankHandle& rank);
  /// It is begun, or as for probes, done.
  void begun(const Stream& stream);
  /// Begins all threads that have events before the one that stream.next() gave.
  void begin_threads();
  /// Where nothing else can go on: begins another thread. False: there is none.
  bool begin_another();

 private:
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  struct Waiting {
    std::uint64_t first = 0;  // event of it
    Stream* stream = nullptr;
  };

  bool read();
  [[nodiscard]] static Key key_of(const Dealt& dealt);
  [[nodiscard]] std::uint64_t blocker(const Dealt& dealt) const;
  void begin_threads_before(std::uint64_t number);

  std::unique_ptr<recording::Reader> reader_;
  Play play_;
  RankHandle* first_ = nullptr;
  Stream* first_stream_ = nullptr;
  std::map<std::uint32_t, std::unique_ptr<Stream>> streams_;  // by thread
  std::deque<Waiting> not_begun_;
  std::vector<RankHandle*> starved_;
  std::size_t queued_ = 0;  // bytes
  bool at_end_ = false;
  std::uint64_t events_ = 0;
  std::uint64_t requests_ = 0;
  std::uint32_t communicators_ = recording::kFirstMade;
  // Events that were read and are not begun.
  std::unordered_map<Key, std::deque<std::uint64_t>, Hash> orders_;
  std::unordered_map<std::uint64_t, std::uint64_t> unbegun_requests_;  // by request
  std::unordered_map<std::uint64_t, std::uint64_t> uncancelled_requests_;
  std::unordered_map<std::uint32_t, std::uint64_t> unmade_;       // by communicator
  std::unordered_multimap<std::uint64_t, RankHandle*> sleepers_;  // by the event that they wait for
};

}  // namespace offramp
