// Messages over a network of a platform file, without ranks and devices. For each line of the input, FROM TO
// BYTES NANOSECONDS, prints the nanoseconds of its arrival. The ports are a thousand times as fast as the
// fastest link.
// usage: network_flows PLATFORM.xml trains|fair
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "simulators/network/make_network.hpp"

using namespace offramp;  // NOLINT: one file

namespace {

class Flows final : private NetworkWorld {
 public:
  explicit Flows(Network& network) : network_(network) {}
  void add(int from, int to, std::size_t bytes, Time at) {
    const Time left = at + Bandwidth::gigabits_per_second(1'000'000).bytes(static_cast<std::int64_t>(bytes));
    parcels_.push_back({from, to, static_cast<std::uint32_t>(parcels_.size()), bytes, at, left, {}, nullptr});
  }
  std::vector<Time> run() {
    there_.resize(parcels_.size());
    for (const Parcel& parcel : parcels_) events_.emplace(parcel.leaves, Event{&parcel, nullptr});
    while (!events_.empty()) {
      const auto next = events_.begin();
      now_ = next->first;
      const Event event = next->second;
      events_.erase(next);
      event.what == nullptr ? network_.carry(*event.parcel, *this) : network_.step(event.what, *this);
    }
    return there_;
  }

 private:
  struct Event {
    const Parcel* parcel;
    void* what;  // null: the message begins
  };
  [[nodiscard]] Time now() const override { return now_; }
  void call(Time at, const Parcel& parcel, void* what) override { events_.emplace(at, Event{&parcel, what}); }
  void arrived(const Parcel& parcel, Time /*first*/, Time last, Time /*waited*/) override {
    there_[parcel.number] = last;
  }
  void carries(std::size_t /*link*/, Time /*begin*/, Time /*end*/, Bandwidth /*rate*/) override {}

  Network& network_;
  std::vector<Parcel> parcels_;
  std::vector<Time> there_;
  std::multimap<Time, Event> events_;
  Time now_;
};

int fail(const std::string& what) {
  std::fprintf(stderr, "network_flows: %s\n", what.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv, argv + argc);
  if (argc != 3 || (arguments[2] != "trains" && arguments[2] != "fair"))
    return fail("usage: network_flows PLATFORM.xml trains|fair");
  std::ifstream file(arguments[1]);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  NetworkOptions options;
  options.topology = arguments[1];
  options.sharing = arguments[2] == "fair" ? Sharing::kFair : Sharing::kTrains;
  const auto platform = Platform::read(text, arguments[1]);
  if (!platform) return fail(platform.error());
  options.platform = *platform;
  const auto network = make_network(options, (*platform)->nodes(), {});
  if (!network) return fail(network.error());
  Flows flows(**network);
  int from = 0;
  int to = 0;
  std::size_t bytes = 0;
  double at = 0;
  while (std::cin >> from >> to >> bytes >> at) {
    if (from < 0 || to < 0 || std::max(from, to) >= (*platform)->nodes())
      return fail("a flow names a host that the platform does not have");
    flows.add(from, to, bytes, Time::ps(static_cast<std::int64_t>(at * 1000)));
  }
  for (const Time there : flows.run()) std::printf("%.3f\n", there.nanoseconds());
  return 0;
}
