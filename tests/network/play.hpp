// Messages on a network without ranks and devices.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "simulators/network/make_network.hpp"

namespace offramp::test {

/// The arrival of one message at its destination's switch, and its wait behind others.
struct Arrival {
  Time first;
  Time last;
  Time waited;
};

/// Plays messages in the order of time; simultaneous ones by source, or in a random order.
class Play final : private NetworkWorld {
 public:
  explicit Play(std::shared_ptr<Network> network, std::uint64_t shuffle = 0)
      : network_(std::move(network)), shuffle_(shuffle), random_(shuffle) {}

  /// A message that leaves a port of `rate` from `at` on. Returns its number.
  std::size_t send(int source, int destination, std::size_t bytes, Time at = {},
                   Bandwidth rate = Bandwidth::gigabits_per_second(100)) {
    const Time left = at + rate.bytes(static_cast<std::int64_t>(bytes));
    parcels_.push_back(
        {source, destination, static_cast<std::uint32_t>(parcels_.size()), bytes, at, left, {}, nullptr});
    return parcels_.size() - 1;
  }

  /// A use of a link, as the network reports it.
  struct Load {
    std::size_t link = 0;
    Time begin;
    Time end;
    Bandwidth rate;
  };
  /// All uses of links, in the order of the reports.
  [[nodiscard]] const std::vector<Load>& loads() const { return loads_; }

  /// Plays all messages that were sent. Returns their arrivals by number. Call it once.
  std::vector<Arrival> run() {
    arrivals_.resize(parcels_.size());
    for (std::size_t i = 0; i < parcels_.size(); ++i) add(parcels_[i].leaves, {&parcels_[i], nullptr});
    while (!events_.empty()) {
      auto next = events_.begin();
      now_ = next->first.at;
      const Event event = next->second;
      events_.erase(next);
      if (event.what == nullptr) {
        network_->carry(*event.parcel, *this);
      } else {
        network_->step(event.what, *this);
      }
    }
    return arrivals_;
  }
  // The network's own records.
  [[nodiscard]] std::vector<LinkUse> links() const { return network_->links(); }
  [[nodiscard]] std::string name_of(std::size_t link) const { return network_->link_name(link); }

 private:
  struct Event {
    const Parcel* parcel = nullptr;
    void* what = nullptr;  // null: the message begins
  };
  // Equal times: by source and destination, then by number or a random value.
  struct Key {
    Time at;
    int source;
    int destination;
    std::uint64_t drawn;
    auto operator<=>(const Key&) const = default;
  };

  [[nodiscard]] Time now() const override { return now_; }
  void add(Time at, const Event& event) {
    const std::uint64_t number = ++count_;
    events_.emplace(Key{at, event.parcel->source, event.parcel->destination,
                        shuffle_ == 0 ? number : (random_() << 20U) + number},
                    event);
  }
  void call(Time at, const Parcel& parcel, void* what) override {
    // A network must not schedule work in the past.
    EXPECT_GE(at, now_);
    add(at, {&parcels_[parcel.number], what});
  }
  void arrived(const Parcel& parcel, Time first, Time last, Time waited) override {
    arrivals_[parcel.number] = {first, last, waited};
    ++there_;
  }
  void carries(std::size_t link, Time begin, Time end, Bandwidth rate) override {
    EXPECT_LT(begin, end);
    loads_.push_back({link, begin, end, rate});
  }

  std::shared_ptr<Network> network_;
  std::uint64_t shuffle_;
  std::mt19937_64 random_;
  std::vector<Parcel> parcels_;
  std::vector<Arrival> arrivals_;
  std::multimap<Key, Event> events_;
  std::vector<Load> loads_;
  Time now_;
  std::uint64_t count_ = 0;
  std::size_t there_ = 0;
};

/// A network with default links and placement. Null, with a failure of the test, if it cannot be made.
inline std::shared_ptr<Network> network(const std::string& topology, int nodes,
                                        Sharing sharing = Sharing::kTrains,
                                        Routing routing = Routing::kStatic) {
  NetworkOptions options;
  options.topology = topology;
  options.sharing = sharing;
  options.routing = routing;
  auto made = make_network(options, nodes, {});
  EXPECT_TRUE(made) << made.error();
  return made ? *made : nullptr;
}

/// The end of the last message.
inline Time latest(const std::vector<Arrival>& arrivals) {
  Time last;
  for (const Arrival& arrival : arrivals) last = later(last, arrival.last);
  return last;
}

}  // namespace offramp::test
