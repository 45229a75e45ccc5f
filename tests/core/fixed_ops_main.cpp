// usage: fixed_ops_memory BACKEND
// Prints the host clocks of the fixed list of operations as tests/mpi_times/fixed_ops.c does under mpirun.
#include <cinttypes>
#include <cstdio>

#include "tests/core/fixed_ops.hpp"

int main(int argc, char** argv) {
  using namespace offramp;
  const Registry registry{built_in_backends()};
  const BackendDescription* backend = argc == 2 ? registry.find(argv[1]) : nullptr;
  if (backend == nullptr) {
    std::fprintf(stderr, "usage: fixed_ops_memory BACKEND\n");
    return 2;
  }
  Cluster cluster(test::kFixedOpsRanks, *backend);
  const std::string deadlock =
      test::run_fixed_ops(cluster, [](const std::string& step, int rank, Time clock) {
        std::printf("time %s rank %d %" PRId64 "\n", step.c_str(), rank, clock.count());
      });
  if (deadlock.empty()) return 0;
  std::fprintf(stderr, "%s", deadlock.c_str());
  return 1;
}
