// The loop of every collective benchmark. Each iteration is a barrier, then one timed call, so that ranks
// enter the call together and the barrier costs nothing in either column. The row shows the mean over the
// ranks of each rank's mean; -f adds the fastest and the slowest rank.

#ifndef OFFRAMP_BENCH_COLLECTIVE_H
#define OFFRAMP_BENCH_COLLECTIVE_H

#include "options.h"
#include "payload.h"
#include "stopwatch.h"
#include "table.h"

enum { root = 0 };

typedef struct {
  const bench_options* options;
  void* send;
  void* receive;
} buffers;

typedef struct {
  bool receive_per_rank;  // the receive buffer holds a block from every rank
  void (*prepare)(const buffers* memory, int count, int iteration);  // before an iteration, with -c
  void (*call)(const buffers* memory, int count);
  long (*check)(const buffers* memory, int count, int iteration);  // returns the number of wrong elements
} collective;

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

static inline long measure_collective(const buffers* memory, const collective* what, const bench_size* size,
                                      stopwatch* watch) {
  long wrong = 0;
  for (int i = 0; i < size->warmup + size->iterations; ++i) {
    if (i == size->warmup) {
      *watch = make_stopwatch(watch->clock);
    }
    if (memory->options->validate) {
      what->prepare(memory, size->count, i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    start_lap(watch);
    what->call(memory, size->count);
    end_lap(watch);
    if (memory->options->validate) {
      wrong += what->check(memory, size->count, i);
    }
  }
  return wrong;
}

static inline void print_collective(const bench_options* options, const bench_size* size,
                                    const stopwatch* watch, bool passed) {
  const over_ranks wall = reduce_over_ranks((double)watch->wall.total / 1e3 / (double)watch->laps);
  const over_ranks model = reduce_over_ranks((double)watch->model.total / 1e6 / (double)watch->laps);
  const bool known = reduce_over_ranks(clock_runs(watch)).most > 0;
  if (options->rank != 0) {
    return;
  }
  print_size(size);
  print_value(options, wall.sum / options->ranks);
  print_modelled(options, known, model.sum / options->ranks);
  if (options->full) {
    print_value(options, wall.least);
    print_value(options, wall.most);
    print_modelled(options, known, model.least);
    print_modelled(options, known, model.most);
  }
  end_row(options, size, passed);
}

static inline void print_collective_header(const bench_options* options) {
  static const char* const brief[] = {"Avg Latency (us)", "Modelled (us)", NULL};
  static const char* const full[] = {"Avg Latency (us)",
                                     "Modelled (us)",
                                     "Min Latency (us)",
                                     "Max Latency (us)",
                                     "Min Modelled (us)",
                                     "Max Modelled (us)",
                                     NULL};
  print_title(options);
  print_header(options, options->full ? full : brief);
}

static inline int run_collective(const bench_options* options, const collective* what) {
  const size_t blocks = what->receive_per_rank && options->rank == root ? (size_t)options->ranks : 1;
  const buffers memory = {.options = options,
                          .send = bench_allocate(options->max_bytes),
                          .receive = bench_allocate(options->max_bytes * blocks)};
  stopwatch watch = make_stopwatch(find_modelled_clock());
  int status = EXIT_SUCCESS;
  bench_size size;
  print_collective_header(options);
  for (bool more = bench_first_size(options, &size); more; more = bench_next_size(options, &size)) {
    const bool passed = all_valid(options, measure_collective(&memory, what, &size, &watch));
    print_collective(options, &size, &watch, passed);
    if (!passed) {
      status = report_invalid(options, &size);
      break;
    }
  }
  free(memory.send);
  free(memory.receive);
  return status;
}

#endif
