// Notifications between service processes and ranks, except completions. They use the event systems of the
// service itself (simulators/dpu_protocol/events.hpp), one per service process and rank, with their pools,
// meta-events, and limit of posted sends. The machine adds the times. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "offramp/kernel/time.hpp"
#include "simulators/dpu_protocol/events.hpp"

namespace offramp::dpu {

/// Between service processes, or between a service process and the host of a member.
enum class Course : std::uint8_t { kProcesses, kToHost, kFromHost };

/// A notification.
struct Note {
  Course course = Course::kProcesses;
  int from = 0;              // service process in its machine's numbering; for kFromHost the member
  int to = 0;                // service process; for kToHost the member
  std::int64_t payload = 0;  // bytes
  int kind = 0;              // event at the receiver
  int subject = 0;
};

/// A sender: a service process by its global id, or a rank.
struct Sender {
  int global_id = 0;
  int world_rank = -1;  // nonnegative: the rank
};

/// The event systems of all senders, and the notes that wait for them.
class Notifications final : private Carrier {
 public:
  /// The machine that transports a note.
  class NoteCarrier {
   public:
    /// Returns true if the note has left. Otherwise the machine calls sent(send) later.
    virtual bool depart(const Note& note, std::uint64_t send, Time at) = 0;

   protected:
    ~NoteCarrier() = default;
  };

  /// posted_sends: limit per service process and peer.
  explicit Notifications(int posted_sends) : posted_sends_(static_cast<std::size_t>(posted_sends)) {}

  /// Begins a meta-event of a service process, which groups notifications until end_meta().
  /// The event is valid until end_meta().
  Event* begin_meta(const Sender& sender);
  /// sender: as for begin_meta().
  void end_meta(const Sender& sender, Event* meta);
  /// Sends a note, now or after earlier ones to the same receiver have left. receiver: a unique id. way must
  /// live until the note has left.
  void emit(const Note& note, const Sender& sender, std::uint64_t receiver, NoteCarrier& carrier, Time at,
            Event* meta = nullptr);
  /// The machine reports that a note has left.
  void sent(const Sender& sender, std::uint64_t send, Time at);

 private:
  /// A note that has been emitted and has not left.
  struct Departing {
    Note note;
    NoteCarrier* carrier = nullptr;
    Time at;  // earliest departure
  };

  bool send(const NotificationHeader& header, std::span<const std::byte> payload,
            std::uint64_t event) override;
  /// The sender's event system. Creates or reuses one if the sender has none.
  EventSystem& system_of(const Sender& sender);
  /// Recycles the event system of a rank without open sends.
  void recycle_if_idle(const Sender& sender);

  std::size_t posted_sends_;
  using System = std::unique_ptr<EventSystem>;
  std::vector<System> processes_;  // by global id; null: unused
  std::map<int, System> ranks_;    // ranks with open sends
  std::vector<System> idle_;
  Departing current_;                                                     // way is null once it has departed
  std::map<std::pair<std::uint64_t, std::uint64_t>, Departing> waiting_;  // by sender and event number
  Time now_;
};

}  // namespace offramp::dpu
