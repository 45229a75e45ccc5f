// A SimGrid platform file, and the routes between its hosts.
#include "simulators/network/platform.hpp"

#include <string>
#include <vector>

#include "tests/fuzz/support.hpp"

using namespace offramp;  // NOLINT: one file

namespace {

class NoLoads final : public LinkLoads {
 public:
  [[nodiscard]] std::int64_t load(std::size_t) const override { return 0; }
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Input input(data, size);
  const auto platform = Platform::read(input.text(), "p.xml");
  if (!platform) {
    fuzz::require(platform.error().starts_with("p.xml:"));
    return 0;
  }
  const Platform& machine = **platform;
  fuzz::require(machine.nodes() > 0);
  const int some = std::min(machine.nodes(), 16);
  std::vector<std::size_t> links;
  for (int from = 0; from < some; ++from) {
    for (int to = 0; to < some; ++to) {
      links.clear();
      const int last = machine.nodes() - 1;
      static_cast<void>(machine.route({from, last - to, 0}, Routing::kStatic, NoLoads(), links));
      for (const std::size_t link : links) {
        fuzz::require(link < machine.links());
        fuzz::require(machine.link(link)->rate.count() > 0 && !machine.link_name(link).empty());
      }
    }
  }
  return 0;
}
