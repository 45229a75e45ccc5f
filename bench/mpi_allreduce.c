// Latency of MPI_Allreduce with MPI_SUM.

#define _GNU_SOURCE  // clock_gettime and RTLD_DEFAULT, in stopwatch.h

#include "collective.h"

static void prepare(const buffers* memory, int count, int iteration) {
  const bench_options* options = memory->options;
  fill_summand(options, memory->send, count, iteration);
  spoil_payload(memory->receive, (size_t)count * options->type_bytes);
}

static void call(const buffers* memory, int count) {
  MPI_Allreduce(memory->send, memory->receive, count, memory->options->type, MPI_SUM, MPI_COMM_WORLD);
}

static long check(const buffers* memory, int count, int iteration) {
  return check_sum(memory->options, memory->receive, count, iteration);
}

int main(int argc, char** argv) {
  static const bench_info info = {.title = "Allreduce Latency", BENCH_COLLECTIVE_DEFAULTS};
  static const collective allreduce = {.prepare = prepare, .call = call, .check = check};
  const bench_options options = bench_start(&argc, &argv, &info);
  const int status = run_collective(&options, &allreduce);
  MPI_Finalize();
  return status;
}
