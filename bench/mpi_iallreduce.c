// How much of MPI_Iallreduce is hidden behind a computation.

#include "collective.h"

int main(int argc, char** argv) {
  static const bench_info info = {.title = "Non-blocking Allreduce Latency", BENCH_OVERLAP_DEFAULTS};
  return run_overlap(argc, argv, &info, &bench_allreduce);
}
