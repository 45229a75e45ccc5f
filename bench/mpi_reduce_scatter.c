// Latency of MPI_Reduce_scatter with MPI_SUM; the size is that of the whole vector.

#include "collective.h"

int main(int argc, char** argv) {
  static const bench_info info = {.title = "Reduce_scatter Latency", BENCH_COLLECTIVE_DEFAULTS};
  return run_collective(argc, argv, &info, &bench_reduce_scatter);
}
