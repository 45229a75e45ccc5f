// A network of links that serve one train after the other.
//
// A message is cut into trains of 16 KiB, which pass cut-through: the first byte of a train leaves a switch
// one `hop` after it came, the last one no sooner than the link's rate allows and no sooner than it came. A
// link takes a train when it can send it in one piece; what comes faster than a link goes waits. Trains of
// different messages take turns in the order in which they come, so links are never idle while something
// waits for them.
#pragma once

#include <vector>

#include "simulators/network/pool.hpp"
#include "simulators/network/routed_network.hpp"

namespace offramp {

class TrainNetwork final : public RoutedNetwork {
 public:
  static constexpr std::size_t kTrainBytes = 16384;

  explicit TrainNetwork(NetworkSetting setting);
  void carry(const Parcel& parcel, NetworkWorld& world) override;
  void step(void* what, NetworkWorld& world) override;

 private:
  struct Passing {
    Parcel parcel;
    Route route;
    std::size_t begun = 0;  // bytes
    std::size_t there = 0;
    Time first;  // at the last switch
    Time alone;  // when its last byte would be there without other messages
    Time apart;  // as Way has it
  };
  struct Train {
    Passing* message = nullptr;
    std::size_t bytes = 0;
    bool is_last = false;  // of its message: what it waits the message does
    std::size_t hop = 0;
    Time first;  // at the link of this hop
    Time last;
  };

  [[nodiscard]] std::int64_t load(std::size_t link) const override { return free_[link].count(); }
  void begin_next(Passing& message, NetworkWorld& world);
  void approach(Train& train, NetworkWorld& world);
  void end(Train& train, NetworkWorld& world);
  /// What links of that rate take for all trains of a message.
  [[nodiscard]] static Time serial(Bandwidth rate, std::size_t bytes);
  /// Of the train at its link: when it could go in one piece.
  [[nodiscard]] static Time whole(const Train& train, Time taken);
  [[nodiscard]] Time taken_by(const Train& train) const {
    return rate(train.message->route[train.hop]).bytes(static_cast<std::int64_t>(train.bytes));
  }

  std::vector<Time> free_;  // by link
  Pool<Train> trains_;
  Pool<Passing> passing_;
};

}  // namespace offramp
