// Latency of MPI_Barrier.

#include "collective.h"

int main(int argc, char** argv) {
  static const bench_info info = {.title = "Barrier Latency", BENCH_COLLECTIVE_DEFAULTS, .no_data = true};
  return run_collective(argc, argv, &info, &bench_barrier);
}
