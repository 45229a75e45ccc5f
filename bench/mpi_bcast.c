// Latency of MPI_Bcast from rank 0.

#define _GNU_SOURCE  // clock_gettime and RTLD_DEFAULT, in stopwatch.h

#include "collective.h"

static void prepare(const buffers* memory, int count, int iteration) {
  if (memory->options->rank == root) {
    fill_payload(memory->options, memory->send, count, (payload_id){.iteration = iteration, .source = root});
  } else {
    spoil_payload(memory->send, (size_t)count * memory->options->type_bytes);
  }
}

static void call(const buffers* memory, int count) {
  MPI_Bcast(memory->send, count, memory->options->type, root, MPI_COMM_WORLD);
}

static long check(const buffers* memory, int count, int iteration) {
  return check_payload(memory->options, memory->send, count,
                       (payload_id){.iteration = iteration, .source = root});
}

int main(int argc, char** argv) {
  static const bench_info info = {.title = "Broadcast Latency", BENCH_COLLECTIVE_DEFAULTS};
  static const collective bcast = {.prepare = prepare, .call = call, .check = check};
  const bench_options options = bench_start(&argc, &argv, &info);
  const int status = run_collective(&options, &bcast);
  MPI_Finalize();
  return status;
}
