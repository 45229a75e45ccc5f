// Small messages between two ranks of one process: what the engine and a backend's model cost, without any
// fabric to speak of. usage: message_cost BACKEND MESSAGES [report]
//
// Run under callgrind it gives instructions per message, which do not depend on the machine's load.
#include <array>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "lib/core/cluster.hpp"
#include "lib/core/registry.hpp"

namespace offramp {
namespace {

Task<void> ping_pong(RankHandle& rank, int messages) {
  std::array<std::byte, 8> data{};
  const int peer = 1 - rank.rank();
  for (int i = 0; i < messages; ++i) {
    if (i % 2 == rank.rank()) {
      co_await rank.send(peer, data);
    } else {
      co_await rank.receive(peer, data);
    }
  }
}

}  // namespace
}  // namespace offramp

int main(int argc, char** argv) {
  using namespace offramp;
  const Registry registry(built_in_backends());
  const bool report = argc == 4 && std::strcmp(argv[3], "report") == 0;
  const bool usable = argc == 3 || report;
  const BackendDescription* const backend = usable ? registry.find(argv[1]) : nullptr;
  const int messages = usable ? std::atoi(argv[2]) : 0;
  if (backend == nullptr || messages <= 0) {
    std::cerr << "usage: message_cost BACKEND MESSAGES [report]\n";
    return 2;
  }
  Cluster cluster(2, *backend);
  for (int rank = 0; report && rank < 2; ++rank)
    cluster.engine(rank).lane(0).sizes = std::make_unique<SizeTable>();
  const std::string stuck = cluster.run([=](RankHandle& rank) { return ping_pong(rank, messages); });
  if (!stuck.empty()) {
    std::cerr << stuck;
    return 1;
  }
  std::cout << "modelled " << cluster.clock(0).count() << " ps\n";
  return 0;
}
