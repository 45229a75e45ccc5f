// How much of MPI_Igather is hidden behind a computation.

#include "collective.h"

int main(int argc, char** argv) {
  static const bench_info info = {.title = "Non-blocking Gather Latency", BENCH_OVERLAP_DEFAULTS};
  return run_overlap(argc, argv, &info, &bench_gather);
}
