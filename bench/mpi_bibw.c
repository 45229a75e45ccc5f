// Bandwidth of two ranks that send to each other at the same time; the sum of both directions.

#include "window.h"

int main(int argc, char** argv) {
  static const bench_info info = {.title = "Bi-Directional Bandwidth", BENCH_BANDWIDTH_DEFAULTS};
  return run_windows(argc, argv, &info, true);
}
