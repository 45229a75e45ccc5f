// Shared by the benchmarks of collectives: the buffers, the operations, and the two loops for them,
// blocking.c and overlap.c.

#ifndef OFFRAMP_BENCH_COLLECTIVE_H
#define OFFRAMP_BENCH_COLLECTIVE_H

#include <stdlib.h>

#include "options.h"

enum { root = 0 };

typedef struct {
  const bench_options* options;
  void* send;
  void* receive;
  int* counts;  // elements of each rank's share of one vector
} buffers;

// The size of a buffer, in blocks of the row's size.
typedef enum { one_block, blocks_at_root, blocks_everywhere } extent;

typedef struct {
  extent send;
  extent receive;
  void (*prepare)(const buffers* memory, int count, int iteration);  // before an iteration, with -c
  void (*call)(const buffers* memory, int count);
  void (*start)(const buffers* memory, int count, MPI_Request* request);  // the nonblocking form
  long (*check)(const buffers* memory, int count, int iteration);  // returns the number of wrong elements
} collective;

// One per MPI function, in collectives.c. "Size" is that of a message or of one rank's block; for
// reduce_scatter it is the whole vector, as in OSU.
extern const collective bench_allgather;
extern const collective bench_allreduce;
extern const collective bench_alltoall;
extern const collective bench_barrier;  // without buffers
extern const collective bench_bcast;
extern const collective bench_gather;
extern const collective bench_reduce;
extern const collective bench_reduce_scatter;
extern const collective bench_scatter;

// Whole programs, from MPI_Init to MPI_Finalize. Return the exit status.
int run_collective(int argc, char** argv, const bench_info* info, const collective* what);
int run_overlap(int argc, char** argv, const bench_info* info, const collective* what);

typedef struct {
  double sum;
  double least;
  double most;
} over_ranks;

// Significant on rank 0.
static inline over_ranks reduce_over_ranks(double value) {
  over_ranks result = {0};
  MPI_Reduce(&value, &result.sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&value, &result.least, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(&value, &result.most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return result;
}

static inline size_t blocks_of(const bench_options* options, extent blocks) {
  const bool many = blocks == blocks_everywhere || (blocks == blocks_at_root && options->rank == root);
  return many ? (size_t)options->ranks : 1;
}

static inline buffers allocate_buffers(const bench_options* options, const collective* what) {
  return (buffers){.options = options,
                   .send = bench_allocate(options->max_bytes * blocks_of(options, what->send)),
                   .receive = bench_allocate(options->max_bytes * blocks_of(options, what->receive)),
                   .counts = bench_allocate((size_t)options->ranks * sizeof(int))};
}

static inline void free_buffers(buffers* memory) {
  free(memory->send);
  free(memory->receive);
  free(memory->counts);
}

// If the vector does not divide evenly, the first ranks get one element more.
static inline void share_out(const buffers* memory, int count) {
  const int ranks = memory->options->ranks;
  for (int rank = 0; rank < ranks; ++rank) {
    memory->counts[rank] = count / ranks + (rank < count % ranks);
  }
}

#endif
