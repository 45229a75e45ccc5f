// Bandwidth from rank 0 to rank 1: a window of MPI_Isend, answered once by the receiver.

#include "window.h"

int main(int argc, char** argv) {
  static const bench_info info = {.title = "Bandwidth", BENCH_BANDWIDTH_DEFAULTS};
  return run_windows(argc, argv, &info, false);
}
