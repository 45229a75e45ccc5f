// The collectives of the benchmarks, each with its data, its blocking and its nonblocking call.

#include "collective.h"
#include "payload.h"

static char* block_at(const buffers* memory, void* buffer, int count, int rank) {
  return (char*)buffer + (size_t)count * memory->options->type_bytes * (size_t)rank;
}

static void spoil_receive(const buffers* memory, int count, extent blocks) {
  const bench_options* options = memory->options;
  spoil_payload(memory->receive, (size_t)count * options->type_bytes * blocks_of(options, blocks));
}

// Both forms of a call, with these arguments.
#define CALLS(name, blocking, nonblocking, ...)                                      \
  static void call_##name(const buffers* memory, int count) {                        \
    const MPI_Datatype type = memory->options->type;                                 \
    (void)count; /* the ranks' shares may take its place */                          \
    blocking(__VA_ARGS__, MPI_COMM_WORLD);                                           \
  }                                                                                  \
  static void start_##name(const buffers* memory, int count, MPI_Request* request) { \
    const MPI_Datatype type = memory->options->type;                                 \
    (void)count;                                                                     \
    nonblocking(__VA_ARGS__, MPI_COMM_WORLD, request);                               \
  }

// --- one buffer, from the root to all ---

static void prepare_bcast(const buffers* memory, int count, int iteration) {
  if (memory->options->rank == root) {
    fill_payload(memory->options, memory->send, count, (payload_id){.iteration = iteration, .source = root});
  } else {
    spoil_payload(memory->send, (size_t)count * memory->options->type_bytes);
  }
}

CALLS(bcast, MPI_Bcast, MPI_Ibcast, memory->send, count, type, root)

static long check_bcast(const buffers* memory, int count, int iteration) {
  return check_payload(memory->options, memory->send, count,
                       (payload_id){.iteration = iteration, .source = root});
}

const collective bench_bcast = {.name = "Broadcast",
                                .prepare = prepare_bcast,
                                .call = call_bcast,
                                .start = start_bcast,
                                .check = check_bcast};

// --- one block from each rank ---

static void prepare_block(const buffers* memory, int count, int iteration) {
  fill_payload(memory->options, memory->send, count,
               (payload_id){.iteration = iteration, .source = memory->options->rank});
}

static long check_blocks(const buffers* memory, int count, int iteration) {
  long wrong = 0;
  for (int rank = 0; rank < memory->options->ranks; ++rank) {
    wrong += check_payload(memory->options, block_at(memory, memory->receive, count, rank), count,
                           (payload_id){.iteration = iteration, .source = rank});
  }
  return wrong;
}

static void prepare_gather(const buffers* memory, int count, int iteration) {
  prepare_block(memory, count, iteration);
  spoil_receive(memory, count, blocks_at_root);
}

CALLS(gather, MPI_Gather, MPI_Igather, memory->send, count, type, memory->receive, count, type, root)

static long check_gather(const buffers* memory, int count, int iteration) {
  return memory->options->rank == root ? check_blocks(memory, count, iteration) : 0;
}

const collective bench_gather = {.name = "Gather",
                                 .receive = blocks_at_root,
                                 .prepare = prepare_gather,
                                 .call = call_gather,
                                 .start = start_gather,
                                 .check = check_gather};

static void prepare_allgather(const buffers* memory, int count, int iteration) {
  prepare_block(memory, count, iteration);
  spoil_receive(memory, count, blocks_everywhere);
}

CALLS(allgather, MPI_Allgather, MPI_Iallgather, memory->send, count, type, memory->receive, count, type)

const collective bench_allgather = {.name = "Allgather",
                                    .receive = blocks_everywhere,
                                    .prepare = prepare_allgather,
                                    .call = call_allgather,
                                    .start = start_allgather,
                                    .check = check_blocks};

// --- one block for each rank ---

static void prepare_blocks(const buffers* memory, int count, int iteration) {
  const bench_options* options = memory->options;
  for (int rank = 0; rank < options->ranks; ++rank) {
    fill_payload(options, block_at(memory, memory->send, count, rank), count,
                 (payload_id){.iteration = iteration, .source = options->rank, .message = rank});
  }
}

static void prepare_scatter(const buffers* memory, int count, int iteration) {
  if (memory->options->rank == root) {
    prepare_blocks(memory, count, iteration);
  }
  spoil_receive(memory, count, one_block);
}

CALLS(scatter, MPI_Scatter, MPI_Iscatter, memory->send, count, type, memory->receive, count, type, root)

static long check_scatter(const buffers* memory, int count, int iteration) {
  const bench_options* options = memory->options;
  return check_payload(options, memory->receive, count,
                       (payload_id){.iteration = iteration, .source = root, .message = options->rank});
}

const collective bench_scatter = {.name = "Scatter",
                                  .send = blocks_at_root,
                                  .prepare = prepare_scatter,
                                  .call = call_scatter,
                                  .start = start_scatter,
                                  .check = check_scatter};

static void prepare_alltoall(const buffers* memory, int count, int iteration) {
  prepare_blocks(memory, count, iteration);
  spoil_receive(memory, count, blocks_everywhere);
}

CALLS(alltoall, MPI_Alltoall, MPI_Ialltoall, memory->send, count, type, memory->receive, count, type)

static long check_alltoall(const buffers* memory, int count, int iteration) {
  const bench_options* options = memory->options;
  long wrong = 0;
  for (int rank = 0; rank < options->ranks; ++rank) {
    wrong += check_payload(options, block_at(memory, memory->receive, count, rank), count,
                           (payload_id){.iteration = iteration, .source = rank, .message = options->rank});
  }
  return wrong;
}

const collective bench_alltoall = {.name = "All-to-All",
                                   .send = blocks_everywhere,
                                   .receive = blocks_everywhere,
                                   .prepare = prepare_alltoall,
                                   .call = call_alltoall,
                                   .start = start_alltoall,
                                   .check = check_alltoall};

// --- sums ---

static void prepare_sum(const buffers* memory, int count, int iteration) {
  fill_summand(memory->options, memory->send, count, iteration);
  spoil_receive(memory, count, one_block);
}

CALLS(reduce, MPI_Reduce, MPI_Ireduce, memory->send, memory->receive, count, type, MPI_SUM, root)

static long check_reduce(const buffers* memory, int count, int iteration) {
  return memory->options->rank == root ? check_sum(memory->options, memory->receive, 0, count, iteration) : 0;
}

const collective bench_reduce = {.name = "Reduce",
                                 .prepare = prepare_sum,
                                 .call = call_reduce,
                                 .start = start_reduce,
                                 .check = check_reduce};

CALLS(allreduce, MPI_Allreduce, MPI_Iallreduce, memory->send, memory->receive, count, type, MPI_SUM)

static long check_allreduce(const buffers* memory, int count, int iteration) {
  return check_sum(memory->options, memory->receive, 0, count, iteration);
}

const collective bench_allreduce = {.name = "Allreduce",
                                    .prepare = prepare_sum,
                                    .call = call_allreduce,
                                    .start = start_allreduce,
                                    .check = check_allreduce};

CALLS(reduce_scatter, MPI_Reduce_scatter, MPI_Ireduce_scatter, memory->send, memory->receive, memory->counts,
      type, MPI_SUM)

static long check_reduce_scatter(const buffers* memory, int count, int iteration) {
  (void)count;
  const int rank = memory->options->rank;
  int first = 0;
  for (int before = 0; before < rank; ++before) {
    first += memory->counts[before];
  }
  return check_sum(memory->options, memory->receive, first, memory->counts[rank], iteration);
}

const collective bench_reduce_scatter = {.name = "Reduce_scatter",
                                         .prepare = prepare_sum,
                                         .call = call_reduce_scatter,
                                         .start = start_reduce_scatter,
                                         .check = check_reduce_scatter};

// --- no data ---

static void call_barrier(const buffers* memory, int count) {
  (void)memory, (void)count;
  MPI_Barrier(MPI_COMM_WORLD);
}

static void start_barrier(const buffers* memory, int count, MPI_Request* request) {
  (void)memory, (void)count;
  MPI_Ibarrier(MPI_COMM_WORLD, request);
}

const collective bench_barrier = {
    .name = "Barrier", .no_data = true, .call = call_barrier, .start = start_barrier};
