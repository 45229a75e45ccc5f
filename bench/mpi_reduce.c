// Latency of MPI_Reduce with MPI_SUM to rank 0.

#include "collective.h"

int main(int argc, char** argv) {
  static const bench_info info = {.title = "Reduce Latency", BENCH_COLLECTIVE_DEFAULTS};
  return run_collective(argc, argv, &info, &bench_reduce);
}
