// Half the round trip of MPI_Send and MPI_Recv between two ranks.

#include "pingpong.h"

int main(int argc, char** argv) {
  static const bench_info info = {.title = "Latency", BENCH_LATENCY_DEFAULTS};
  return run_pingpong(argc, argv, &info);
}
