// Collectives among the ranks of one process: what the library and a backend's algorithm cost, without any
// fabric to speak of. usage: collective_cost BACKEND OPERATION BYTES CALLS [RANKS]
//
// Run under callgrind it gives instructions per call of all ranks together, which do not depend on the
// machine's load: the difference of two numbers of calls.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <vector>

#include "lib/core/cluster.hpp"
#include "lib/core/registry.hpp"

namespace offramp {
namespace {

struct Work {
  std::string_view operation;
  std::size_t bytes = 0;
  int calls = 0;
};

constexpr std::array<std::string_view, 6> kOperations = {"bcast",  "reduce",    "allreduce",
                                                         "gather", "allgather", "barrier"};

Task<void> repeat(RankHandle& rank, Work work) {
  const std::size_t ranks = static_cast<std::size_t>(rank.size());
  std::vector<std::byte> from(work.bytes);
  std::vector<std::byte> into(work.bytes * ranks);
  const Bytes data = from;
  const MutableBytes one = MutableBytes(into).first(work.bytes);
  Int32Sum sum;
  for (int i = 0; i < work.calls; ++i) {
    if (work.operation == "bcast") co_await rank.bcast(one, 0);
    if (work.operation == "reduce") co_await rank.reduce(data, one, 0, sum);
    if (work.operation == "allreduce") co_await rank.allreduce(data, one, sum);
    if (work.operation == "gather") co_await rank.gather(data, into, 0);
    if (work.operation == "allgather") co_await rank.allgather(data, into);
    if (work.operation == "barrier") co_await rank.barrier();
  }
}

}  // namespace
}  // namespace offramp

int main(int argc, char** argv) {
  using namespace offramp;
  const Registry registry(built_in_backends());
  const bool usable = argc == 5 || argc == 6;
  const BackendDescription* const backend = usable ? registry.find(argv[1]) : nullptr;
  const int calls = usable ? std::atoi(argv[4]) : 0;
  const bool known =
      usable && std::find(kOperations.begin(), kOperations.end(), argv[2]) != kOperations.end();
  if (backend == nullptr || calls <= 0 || !known) {
    std::cerr << "usage: collective_cost BACKEND OPERATION BYTES CALLS [RANKS]\n";
    return 2;
  }
  const Work work{argv[2], static_cast<std::size_t>(std::atoll(argv[3])), calls};
  Cluster cluster(argc == 6 ? std::atoi(argv[5]) : 2, *backend);
  const std::string stuck = cluster.run([=](RankHandle& rank) { return repeat(rank, work); });
  if (!stuck.empty()) {
    std::cerr << stuck;
    return 1;
  }
  std::cout << "modelled " << cluster.clock(0).count() << " ps\n";
  return 0;
}
