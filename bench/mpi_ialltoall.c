// How much of MPI_Ialltoall is hidden behind a computation.

#include "collective.h"

int main(int argc, char** argv) {
  static const bench_info info = {.title = "Non-blocking All-to-All Latency", BENCH_OVERLAP_DEFAULTS};
  return run_overlap(argc, argv, &info, &bench_alltoall);
}
