// Half the round trip of several pairs of ranks at once; the mean of the pairs.

#include "pingpong.h"

int main(int argc, char** argv) {
  static const bench_info info = {.title = "Multi Latency", BENCH_LATENCY_DEFAULTS, .has_pairs = true};
  const bench_options options = bench_start(&argc, &argv, &info);
  const int status = run_pingpong(&options);
  MPI_Finalize();
  return status;
}
