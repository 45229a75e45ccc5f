// Latency of MPI_Alltoall; the size is that of the block for one rank.

#include "collective.h"

int main(int argc, char** argv) {
  static const bench_info info = {.title = "All-to-All Latency", BENCH_COLLECTIVE_DEFAULTS};
  return run_collective(argc, argv, &info, &bench_alltoall);
}
