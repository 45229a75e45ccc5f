// Messages over a platform in SimGrid. For each line of the input, FROM TO BYTES NANOSECONDS, prints the
// nanoseconds of its arrival. Hosts are numbered in the order of their names' numbers.
// usage: simgrid_flows PLATFORM.xml [SimGrid's options]
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <simgrid/s4u.hpp>
#include <vector>

namespace sg4 = simgrid::s4u;

namespace {

struct Flow {
  unsigned from = 0;
  unsigned to = 0;
  double bytes = 0;
  double at = 0;
  double there = 0;
};

unsigned number_of(const sg4::Host* host) {
  const std::string& name = host->get_name();
  return static_cast<unsigned>(std::stoul(name.substr(name.find_first_of("0123456789"))));
}

}  // namespace

int main(int argc, char** argv) {
  sg4::Engine engine(&argc, argv);
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s PLATFORM.xml\n", argv[0]);
    return 2;
  }
  engine.load_platform(argv[1]);
  std::vector<sg4::Host*> hosts = engine.get_all_hosts();
  std::sort(hosts.begin(), hosts.end(),
            [](const sg4::Host* a, const sg4::Host* b) { return number_of(a) < number_of(b); });
  std::vector<Flow> flows;
  for (Flow flow; std::cin >> flow.from >> flow.to >> flow.bytes >> flow.at;) flows.push_back(flow);
  for (Flow& flow : flows) {
    sg4::Actor::create("flow", hosts.at(flow.from), [&flow, &hosts] {
      sg4::this_actor::sleep_until(flow.at / 1e9);
      sg4::Comm::sendto(hosts.at(flow.from), hosts.at(flow.to), static_cast<std::uint64_t>(flow.bytes));
      flow.there = sg4::Engine::get_clock();
    });
  }
  engine.run();
  for (const Flow& flow : flows) std::printf("%.3f\n", flow.there * 1e9);
  return 0;
}
