// A network of links whose bandwidth the messages on them share by max-min fairness, as fluids do: the
// cross-check of trains (trains.hpp), and how flow-level simulators see a network.
//
// Progressive filling: the rates of all messages grow alike until a link is full or a message is as fast as
// its sender; those that are stopped keep their rate, the others go on. Integer bits per second, in a fixed
// order; only the messages that a change can reach over common links are looked at again.
#pragma once

#include <map>
#include <vector>

#include "simulators/network/routed_network.hpp"
#include "simulators/world/pool.hpp"

namespace offramp {

class FairNetwork final : public RoutedNetwork {
 public:
  explicit FairNetwork(NetworkSetting setting);
  void carry(const Parcel& parcel, NetworkWorld& world) override;
  void step(void* what, NetworkWorld& world) override;

 private:
  struct Flow {
    std::uint64_t number = 0;
    Parcel parcel;
    Route route;
    std::int64_t own = 0;    // bits per second that its sender gives
    std::int64_t rate = 0;   // that it has
    detail::Wide left = 0;   // bits times picoseconds per second
    Time since;              // from when on it has that rate
    std::uint64_t turn = 0;  // of its rates: an event of an earlier one means nothing
    bool begun = false;
    bool settled = false;  // while rates are sought
  };
  struct Turn {
    std::uint64_t flow = 0;
    std::uint64_t turn = 0;
  };

  [[nodiscard]] std::int64_t load(std::size_t link) const override {
    return static_cast<std::int64_t>(on_[link].size());
  }
  void call(Time at, Flow& flow, NetworkWorld& world);
  /// All that share links with it, directly or over others.
  std::vector<Flow*> reached_from(const Route& route);
  void share(std::vector<Flow*>& flows, NetworkWorld& world);
  void progress(Flow& flow, NetworkWorld& world);

  std::map<std::uint64_t, Flow> flows_;  // by number: their order is fixed
  std::uint64_t numbers_ = 0;
  Pool<Turn> turns_;
  std::vector<std::vector<Flow*>> on_;  // by link
  std::vector<std::uint64_t> seen_;     // by link: the last search that came by
  std::uint64_t searches_ = 0;
};

}  // namespace offramp
