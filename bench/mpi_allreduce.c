// Latency of MPI_Allreduce with MPI_SUM.

#include "collective.h"

int main(int argc, char** argv) {
  static const bench_info info = {.title = "Allreduce Latency", BENCH_COLLECTIVE_DEFAULTS};
  return run_collective(argc, argv, &info, &bench_allreduce);
}
