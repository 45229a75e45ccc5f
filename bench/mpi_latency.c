// Half the round trip of MPI_Send and MPI_Recv between two ranks.

#include "pingpong.h"

int main(int argc, char** argv) {
  static const bench_info info = {.title = "Latency", BENCH_LATENCY_DEFAULTS};
  const bench_options options = bench_start(&argc, &argv, &info);
  const int status = run_pingpong(&options);
  MPI_Finalize();
  return status;
}
