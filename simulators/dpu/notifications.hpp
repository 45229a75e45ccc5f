// What service processes tell each other and, beside completions, their ranks. It leaves by the event systems
// of the service itself (lib/dpu_service/events.hpp), one for each service process: with their pools,
// meta-events and limit of posted sends. The model says how long a notification is under way, and when it has
// left.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "lib/dpu_service/events.hpp"
#include "offramp/kernel/time.hpp"

namespace offramp::dpu {

/// A notification to a service process or to the host of a member.
struct Note {
  int from = 0;  // service process, as its machine numbers them
  int to = 0;    // service process, or with to_host a member
  bool to_host = false;
  std::int64_t payload = 0;  // bytes
  int kind = 0;              // of the event that it is at its receiver
  int subject = 0;
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
  Event* begin_meta(int global_id);
  void end_meta(int global_id, Event* meta);
  /// global_id: of the sender. receiver: the same for all that is sent to it. It departs now, or when others
  /// to the same receiver have left. way lives until it has.
  void emit(const Note& note, int global_id, std::uint64_t receiver, Way& way, Time at,
            Event* meta = nullptr);
  /// A note has left.
  void sent(int global_id, std::uint64_t send, Time at);

 private:
  struct Departing {
    Note note;
    Way* way = nullptr;
    Time at;  // not before
  };

  bool send(const NotificationHeader& header, std::span<const std::byte> payload,
            std::uint64_t event) override;
  EventSystem& system_of(int global_id);

  std::size_t posted_sends_;
  std::vector<std::unique_ptr<EventSystem>> systems_;  // by global id; null: nothing emitted
  Departing current_;                                  // no way: it has departed
  std::map<std::pair<std::uint64_t, std::uint64_t>, Departing> waiting_;  // by sender and number of the event
  Time now_;
};

}  // namespace offramp::dpu
