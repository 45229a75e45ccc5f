// Shared by the benchmarks of collectives: the buffers, the operations, and the two loops for them,
// blocking.c and overlap.c. CMakeLists.txt lists the programs.

#ifndef OFFRAMP_BENCH_COLLECTIVE_H
#define OFFRAMP_BENCH_COLLECTIVE_H

#include <stdlib.h>

#include "options.h"
#include "table.h"

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
  const char* name;
  bool no_data;
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
extern const collective bench_barrier;
extern const collective bench_bcast;
extern const collective bench_gather;
extern const collective bench_reduce;
extern const collective bench_reduce_scatter;
extern const collective bench_scatter;

// A program around one operation.
typedef struct {
  buffers memory;
  const collective* what;
} collective_program;

// Whole programs, from MPI_Init to MPI_Finalize. Return the exit status.
int run_blocking(int argc, char** argv, const collective* what);
int run_overlap(int argc, char** argv, const collective* what);

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

// The part of both loops. `brief` and `full` are the columns, the latter with -f.
static inline int run_collective(int argc, char** argv, const bench_info* info, const collective* what,
                                 const char* const* brief, const char* const* full, bench_row run_row) {
  const bench_options options = bench_start(&argc, &argv, info);
  const collective_program program = {.memory = allocate_buffers(&options, what), .what = what};
  print_title(&options);
  print_header(&options, options.full ? full : brief);
  const int status = run_sizes(&options, run_row, &program);
  free(program.memory.send);
  free(program.memory.receive);
  free(program.memory.counts);
  MPI_Finalize();
  return status;
}

// If the vector does not divide evenly, the first ranks get one element more.
static inline void share_out(const buffers* memory, int count) {
  const int ranks = memory->options->ranks;
  for (int rank = 0; rank < ranks; ++rank) {
    memory->counts[rank] = count / ranks + (rank < count % ranks);
  }
}

#endif
