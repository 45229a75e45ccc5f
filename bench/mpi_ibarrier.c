// How much of MPI_Ibarrier is hidden behind a computation.

#include "collective.h"

int main(int argc, char** argv) {
  static const bench_info info = {
      .title = "Non-blocking Barrier Latency", BENCH_OVERLAP_DEFAULTS, .no_data = true};
  return run_overlap(argc, argv, &info, &bench_barrier);
}
