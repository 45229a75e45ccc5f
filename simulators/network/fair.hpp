// A network that shares each link's bandwidth by max-min fairness, as flow-level simulators do. It serves as
// a cross-check of TrainNetwork (trains.hpp).
//
// Progressive filling: the rates of all messages grow equally until a link is full or a message reaches the
// rate of its sender. Messages that are stopped keep their rate; the others continue to grow. Rates are
// integers in bits per second and messages have a fixed order. A change recomputes only the messages that it
// reaches over shared links.
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
  /// A message in progress.
  struct Flow {
    std::uint64_t number = 0;
    Parcel parcel;
    Route route;
    std::int64_t own = 0;    // rate of the sender, bits per second
    std::int64_t rate = 0;   // current rate
    detail::Wide left = 0;   // remaining, in bits times picoseconds per second
    Time since;              // start of the current rate
    std::uint64_t turn = 0;  // number of the current rate; events of earlier rates are stale
    bool begun = false;
    bool settled = false;  // temporary mark while rates are computed
  };
  /// An event of a flow, valid while the flow still has this turn.
  struct Turn {
    std::uint64_t flow = 0;
    std::uint64_t turn = 0;
  };

  /// The number of messages on the link.
  [[nodiscard]] std::int64_t load(std::size_t link) const override {
    return static_cast<std::int64_t>(on_[link].size());
  }
  /// Schedules the flow's next event, which makes earlier ones stale.
  void call(Time at, Flow& flow, NetworkWorld& world);
  /// All flows that share links with the route, directly or through other flows.
  std::vector<Flow*> reached_from(const Route& route);
  /// Computes the rates of all these flows again. They must include all that share links with them.
  void share(std::vector<Flow*>& flows, NetworkWorld& world);
  /// Subtracts what the flow has sent at its current rate.
  void progress(Flow& flow, NetworkWorld& world);

  std::map<std::uint64_t, Flow> flows_;  // by number, for a fixed order
  std::uint64_t numbers_ = 0;
  Pool<Turn> turns_;
  std::vector<std::vector<Flow*>> on_;  // flows by link
  std::vector<std::uint64_t> seen_;     // by link: the last search that visited it
  std::uint64_t searches_ = 0;
};

}  // namespace offramp
