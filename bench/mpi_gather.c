// Latency of MPI_Gather to rank 0; the size is that of one rank's block.

#define _GNU_SOURCE  // clock_gettime and RTLD_DEFAULT, in stopwatch.h

#include "collective.h"

static void prepare(const buffers* memory, int count, int iteration) {
  const bench_options* options = memory->options;
  fill_payload(options, memory->send, count, (payload_id){.iteration = iteration, .source = options->rank});
  if (options->rank == root) {
    spoil_payload(memory->receive, (size_t)count * options->type_bytes * (size_t)options->ranks);
  }
}

static void call(const buffers* memory, int count) {
  const MPI_Datatype type = memory->options->type;
  MPI_Gather(memory->send, count, type, memory->receive, count, type, root, MPI_COMM_WORLD);
}

static long check(const buffers* memory, int count, int iteration) {
  const bench_options* options = memory->options;
  const size_t block_bytes = (size_t)count * options->type_bytes;
  long wrong = 0;
  for (int rank = 0; options->rank == root && rank < options->ranks; ++rank) {
    const char* block = (const char*)memory->receive + block_bytes * (size_t)rank;
    wrong += check_payload(options, block, count, (payload_id){.iteration = iteration, .source = rank});
  }
  return wrong;
}

int main(int argc, char** argv) {
  static const bench_info info = {.title = "Gather Latency", BENCH_COLLECTIVE_DEFAULTS};
  static const collective gather = {
      .receive_per_rank = true, .prepare = prepare, .call = call, .check = check};
  const bench_options options = bench_start(&argc, &argv, &info);
  const int status = run_collective(&options, &gather);
  MPI_Finalize();
  return status;
}
