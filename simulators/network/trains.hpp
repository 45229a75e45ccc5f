// A network of links that serve one train after the other.
//
// A message is cut into trains of 16 KiB, which pass cut-through: the first byte of a train leaves a switch
// one `hop` after it came, the last one no sooner than the link's rate allows and no sooner than it came. A
// link takes a train when it can send it in one piece; what comes faster than a link goes waits. Trains of
// different messages take turns in the order in which they come, so links are never idle while something
// waits for them.
#pragma once

#include <vector>

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
  // Events come to them in an order that no cache follows: each in as few lines as can be.
  struct alignas(64) Passing {
    Parcel parcel;
    Route route;
    std::size_t begun = 0;  // bytes
    std::size_t there = 0;
    Time first;  // at the last switch
    Time alone;  // when its last byte would be there without other messages
    Time apart;  // as Way has it
  };
  struct alignas(64) Train {
    Passing* message = nullptr;
    std::uint32_t bytes = 0;
    bool is_last = false;  // of its message: what it waits the message does
    std::size_t hop = 0;
    std::size_t link = 0;  // of this hop
    Time taken;            // by this link
    Time first;            // at it
    Time last;
  };
  static_assert(sizeof(Train) == 64);

  [[nodiscard]] std::int64_t load(std::size_t link) const override { return carried(link).free.count(); }
  void begin_next(Passing& message, NetworkWorld& world);
  void approach(Train& train, NetworkWorld& world);
  void end(Train& train, NetworkWorld& world);
  /// What links of that rate take for all trains of a message.
  [[nodiscard]] static Time serial(Bandwidth rate, std::size_t bytes);
  /// Of the train at its link: when it could go in one piece.
  [[nodiscard]] static Time whole(const Train& train) { return later(train.first, train.last - train.taken); }

  Pool<Train> trains_;
  Pool<Passing> passing_;
};

}  // namespace offramp
