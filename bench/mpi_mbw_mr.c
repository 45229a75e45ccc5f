// Bandwidth and message rate of several pairs of ranks at once, summed over the pairs.

#include "window.h"

int main(int argc, char** argv) {
  static const bench_info info = {
      .title = "Multiple Bandwidth / Message Rate", BENCH_BANDWIDTH_DEFAULTS, .has_pairs = true};
  return run_windows(argc, argv, &info, false);
}
