// What service processes and their ranks tell each other, but for completions. It leaves by the event systems
// of the service itself (simulators/dpu_protocol/events.hpp), one for each service process and each rank:
// with their pools, meta-events and limit of posted sends. The model says how long a notification is under
// way, and when it has left.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "offramp/kernel/time.hpp"
#include "simulators/dpu_protocol/events.hpp"

namespace offramp::dpu {

/// Between service processes; or between a service process and the host of a member.
enum class Course : std::uint8_t { kProcesses, kToHost, kFromHost };

/// A notification.
struct Note {
  Course course = Course::kProcesses;
  int from = 0;              // service process, as its machine numbers them; of kFromHost the member
  int to = 0;                // the same; of kToHost the member
  std::int64_t payload = 0;  // bytes
  int kind = 0;              // of the event that it is at its receiver
  int subject = 0;
};

/// Who sends: a service process by its global id, or a rank.
struct Sender {
  int global_id = 0;
  int world_rank = -1;  // 0 or more: the rank
};

class Notifications final : private Carrier {
 public:
  /// The machine that a note belongs to.
  class Way {
   public:
    /// Returns true when the note has left. Otherwise sent(send) is to be called when it has.
    virtual bool depart(const Note& note, std::uint64_t send, Time at) = 0;

   protected:
    ~Way() = default;
  };

  /// posted_sends: of one service process to one peer.
  explicit Notifications(int posted_sends) : posted_sends_(static_cast<std::size_t>(posted_sends)) {}

  /// A meta-event of a service process, for several notifications; ends with end_meta().
  Event* begin_meta(const Sender& sender);
  void end_meta(const Sender& sender, Event* meta);
  /// receiver: the same for all that is sent to it. It departs now, or when others to the same receiver have
  /// left. way lives until it has.
  void emit(const Note& note, const Sender& sender, std::uint64_t receiver, Way& way, Time at,
            Event* meta = nullptr);
  /// A note has left.
  void sent(const Sender& sender, std::uint64_t send, Time at);

 private:
  struct Departing {
    Note note;
    Way* way = nullptr;
    Time at;  // not before
  };

  bool send(const NotificationHeader& header, std::span<const std::byte> payload,
            std::uint64_t event) override;
  EventSystem& system_of(const Sender& sender);
  /// A rank may have nothing more to send.
  void let_go(const Sender& sender);

  std::size_t posted_sends_;
  using System = std::unique_ptr<EventSystem>;
  std::vector<System> processes_;  // by global id; null: nothing emitted
  std::map<int, System> ranks_;    // that have something to send; idle systems are as good for others
  std::vector<System> idle_;
  Departing current_;                                                     // no way: it has departed
  std::map<std::pair<std::uint64_t, std::uint64_t>, Departing> waiting_;  // by sender and number of the event
  Time now_;
};

}  // namespace offramp::dpu
