// A network whose links serve one train at a time.
//
// A message is cut into trains of 16 KiB, which are forwarded cut-through. The first byte of a train leaves a
// switch one `hop` after its arrival. The last byte leaves no earlier than the link's rate allows, and no
// earlier than it arrives. A link starts a train once it can send it in one piece; trains that arrive faster
// wait. Trains of different messages are served in order of arrival, so no link idles while a train waits.
#pragma once

#include "simulators/network/routed_network.hpp"
#include "simulators/world/pool.hpp"

namespace offramp {

class TrainNetwork final : public RoutedNetwork {
 public:
  static constexpr std::size_t kTrainBytes = 16384;

  explicit TrainNetwork(NetworkSetting setting);
  void carry(const Parcel& parcel, NetworkWorld& world) override;
  void step(void* what, NetworkWorld& world) override;
  void prefetch(const void* what) const override;

 private:
  // The access order of these objects defeats caches, so each uses as few cache lines as possible.
  /// A message in progress.
  struct alignas(64) Passing {
    Parcel parcel;
    Route route;
    std::size_t begun = 0;  // bytes cut into trains
    std::size_t there = 0;
    Time first;  // arrival of the first byte at the last switch
    Time alone;  // arrival of the last byte without other messages
    Time apart;  // see RoutedNetwork::PathLatency
  };
  /// A train on its way over one link.
  struct alignas(64) Train {
    Passing* message = nullptr;
    std::uint32_t bytes = 0;
    bool is_last = false;  // the last train's waits count as the message's
    std::size_t hop = 0;
    std::size_t link = 0;  // at this hop
    Time taken;            // transmission time on this link
    Time first;            // arrival of the first byte at this link
    Time last;
  };
  static_assert(sizeof(Train) == 64);

  /// The time when the link is next idle, in picoseconds.
  [[nodiscard]] std::int64_t load(std::size_t link) const override { return carried(link).free.count(); }
  /// Cuts off the next train, which leaves as the sender's port emits its bytes.
  void begin_next(Passing& message, NetworkWorld& world);
  /// Schedules the train for its next link, once it can pass in one piece.
  void approach(Train& train, NetworkWorld& world);
  /// A train has passed its last link. The last train completes the message.
  void end(Train& train, NetworkWorld& world);
  /// Transmission time of all trains of a message on links of this rate.
  [[nodiscard]] static Time serial(Bandwidth rate, std::size_t bytes);
  /// Returns the time when the train could be sent in one piece over its link.
  [[nodiscard]] static Time whole(const Train& train) { return later(train.first, train.last - train.taken); }

  Pool<Train> trains_;
  Pool<Passing> passing_;
};

}  // namespace offramp
