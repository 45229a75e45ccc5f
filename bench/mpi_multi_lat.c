// Half the round trip of several pairs of ranks at once; the mean of the pairs.

#include "pingpong.h"

int main(int argc, char** argv) {
  static const bench_info info = {.title = "Multi Latency", BENCH_LATENCY_DEFAULTS, .has_pairs = true};
  return run_pingpong(argc, argv, &info);
}
