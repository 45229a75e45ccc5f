// Latency of MPI_Bcast from rank 0.

#include "collective.h"

int main(int argc, char** argv) {
  static const bench_info info = {.title = "Broadcast Latency", BENCH_COLLECTIVE_DEFAULTS};
  return run_collective(argc, argv, &info, &bench_bcast);
}
