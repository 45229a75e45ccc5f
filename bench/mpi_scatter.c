// Latency of MPI_Scatter from rank 0; the size is that of one rank's block.

#include "collective.h"

int main(int argc, char** argv) {
  static const bench_info info = {.title = "Scatter Latency", BENCH_COLLECTIVE_DEFAULTS};
  return run_collective(argc, argv, &info, &bench_scatter);
}
