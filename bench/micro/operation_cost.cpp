// Operations among the ranks of one process: the costs of the engine and an algorithm that only move data,
// with next to no fabric. usage: operation_cost BACKEND OPERATION BYTES COUNT [RANKS]
//
// Messages go to and fro between the first two ranks. Under callgrind, the difference of two counts gives the
// instructions per operation, of all ranks together, which do not depend on the machine's load.
#include <array>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <vector>

#include "lib/base/registry/registry.hpp"
#include "tests/cluster.hpp"

namespace offramp {
namespace {

struct Work {
  std::size_t bytes;
  int count;
};

Task<void> messages(ClusterRank& rank, Work work) {
  if (rank.rank() > 1) co_return;
  std::vector<std::byte> data(work.bytes);
  const int peer = 1 - rank.rank();
  for (int i = 0; i < work.count; ++i) {
    if (i % 2 == rank.rank()) {
      co_await rank.send(peer, data);
    } else {
      co_await rank.receive(peer, data);
    }
  }
}

struct Buffers {
  Bytes data;
  MutableBytes one;  // as much as data
  MutableBytes all;  // from each rank
  Int32Sum sum;
};

template <auto kCollective>
Task<void> collectives(ClusterRank& rank, Work work) {
  const std::vector<std::byte> from(work.bytes);
  std::vector<std::byte> into(work.bytes * static_cast<std::size_t>(rank.size()));
  Buffers buffers{from, MutableBytes(into).first(work.bytes), into, {}};
  for (int i = 0; i < work.count; ++i) co_await kCollective(rank, buffers);
}

using Run = Task<void> (*)(ClusterRank& rank, Work work);
struct Named {
  std::string_view name;
  Run run;
};
constexpr std::array kOperations = {
    Named{"message", messages},
    Named{"bcast", collectives<[](ClusterRank& rank, Buffers& b) { return rank.bcast(b.one, 0); }>},
    Named{"reduce",
          collectives<[](ClusterRank& rank, Buffers& b) { return rank.reduce(b.data, b.one, 0, b.sum); }>},
    Named{"allreduce",
          collectives<[](ClusterRank& rank, Buffers& b) { return rank.allreduce(b.data, b.one, b.sum); }>},
    Named{"gather", collectives<[](ClusterRank& rank, Buffers& b) { return rank.gather(b.data, b.all, 0); }>},
    Named{"allgather",
          collectives<[](ClusterRank& rank, Buffers& b) { return rank.allgather(b.data, b.all); }>},
    Named{"barrier", collectives<[](ClusterRank& rank, Buffers&) { return rank.barrier(); }>},
};

Run find(std::string_view name) {
  for (const Named& each : kOperations) {
    if (each.name == name) return each.run;
  }
  return nullptr;
}

}  // namespace
}  // namespace offramp

int main(int argc, char** argv) {
  using namespace offramp;
  const Registry registry(built_in_backends());
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  const bool usable = words.size() == 4 || words.size() == 5;
  const BackendDescription* const backend = usable ? registry.find(words[0]) : nullptr;
  const Run run = usable ? find(words[1]) : nullptr;
  const int count = usable ? std::atoi(argv[4]) : 0;
  const int ranks = words.size() == 5 ? std::atoi(argv[5]) : 2;
  if (backend == nullptr || run == nullptr || count <= 0 || ranks < 2) {
    std::cerr << "usage: operation_cost BACKEND OPERATION BYTES COUNT [RANKS]\n";
    return 2;
  }
  const Work work{static_cast<std::size_t>(std::atoll(argv[3])), count};
  Cluster cluster(ranks, *backend);
  const std::string stuck = cluster.run([=](ClusterRank& rank) { return run(rank, work); });
  if (!stuck.empty()) {
    std::cerr << stuck;
    return 1;
  }
  return 0;
}
