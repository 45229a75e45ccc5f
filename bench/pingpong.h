// The loop of the latency benchmarks: half the round trip of MPI_Send and MPI_Recv between the ranks of each
// pair. Rank r < pairs begins, rank r + pairs answers; the row shows the mean over those that begin. Further
// ranks just take part in the barriers.
//
// Without -f and -c all iterations are one lap, since reading a clock is not negligible beside a small
// message. With them each round trip is a lap, and the data is made and checked outside of it.

#ifndef OFFRAMP_BENCH_PINGPONG_H
#define OFFRAMP_BENCH_PINGPONG_H

#include "options.h"
#include "payload.h"
#include "stopwatch.h"
#include "table.h"

enum { tag = 1 };

typedef struct {
  const bench_options* options;
  int pairs;
  int peer;    // -1: this rank is in no pair
  bool first;  // begins, and measures
  char* send;
  char* receive;
} pingpong_side;

// Times of one message, in microseconds; significant on rank 0.
typedef struct {
  double mean;
  double least;
  double most;
} pingpong_times;

static inline pingpong_side make_pingpong(const bench_options* options) {
  const int pairs = options->info->has_pairs ? options->pairs : 1;
  const int rank = options->rank;
  return (pingpong_side){.options = options,
                         .pairs = pairs,
                         .peer = rank < pairs       ? rank + pairs
                                 : rank < 2 * pairs ? rank - pairs
                                                    : -1,
                         .first = rank < pairs,
                         .send = bench_allocate(options->max_bytes),
                         .receive = bench_allocate(options->max_bytes)};
}

static inline void round_trips(const pingpong_side* side, int count, int repeat) {
  const MPI_Datatype type = side->options->type;
  const int peer = side->peer;
  for (int i = 0; peer >= 0 && i < repeat; ++i) {
    if (side->first) {
      MPI_Send(side->send, count, type, peer, tag, MPI_COMM_WORLD);
      MPI_Recv(side->receive, count, type, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(side->receive, count, type, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(side->send, count, type, peer, tag, MPI_COMM_WORLD);
    }
  }
}

static inline long checked_round_trip(const pingpong_side* side, int count, int iteration, stopwatch* watch) {
  const bench_options* options = side->options;
  const payload_id mine = {.iteration = iteration, .source = options->rank};
  const payload_id other = {.iteration = iteration, .source = side->peer};
  fill_payload(options, side->send, count, mine);
  spoil_payload(side->receive, (size_t)count * options->type_bytes);
  MPI_Barrier(MPI_COMM_WORLD);  // the peer's filling does not count as latency
  start_lap(watch);
  round_trips(side, count, 1);
  end_lap(watch);
  return side->peer >= 0 ? check_payload(options, side->receive, count, other) : 0;
}

static inline long measure_round_trips(const pingpong_side* side, const bench_size* size, stopwatch* watch) {
  long wrong = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  round_trips(side, size->count, size->warmup);
  *watch = make_stopwatch();
  if (!side->options->validate && !side->options->full) {
    start_lap(watch);
    round_trips(side, size->count, size->iterations);
    end_lap(watch);
    return wrong;
  }
  for (int i = 0; i < size->iterations; ++i) {
    if (side->options->validate) {
      wrong += checked_round_trip(side, size->count, i, watch);
    } else {
      start_lap(watch);
      round_trips(side, size->count, 1);
      end_lap(watch);
    }
  }
  return wrong;
}

// In microseconds. A lap is a round trip; latency is half of it.
static inline pingpong_times combine_pairs(const pingpong_side* side, const stopwatch* watch,
                                           int iterations) {
  double total = side->first ? watch->total : 0;
  double least = side->first ? watch->least : (double)INT64_MAX;
  double most = side->first ? watch->most : 0;
  pingpong_times times = {0};
  MPI_Reduce(&total, &times.mean, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&least, &times.least, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(&most, &times.most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  times.mean *= 1e6 / (2.0 * iterations * side->pairs);
  times.least *= 1e6 / 2;
  times.most *= 1e6 / 2;
  return times;
}

static inline void print_latency(const pingpong_side* side, const bench_size* size, const stopwatch* watch,
                                 bool passed) {
  const bench_options* options = side->options;
  const pingpong_times times = combine_pairs(side, watch, size->iterations);
  if (options->rank != 0) {
    return;
  }
  print_size(options, size);
  print_value(options, times.mean);
  if (options->full) {
    print_value(options, times.least);
    print_value(options, times.most);
  }
  end_row(options, size, passed);
}

static inline void print_latency_header(const pingpong_side* side) {
  static const char* const brief[] = {"Latency (us)", NULL};
  static const char* const full[] = {"Latency (us)", "Min Latency (us)", "Max Latency (us)", NULL};
  const bench_options* options = side->options;
  print_title(options);
  if (options->rank == 0 && options->info->has_pairs) {
    printf("# [ pairs: %d ]\n", side->pairs);
  }
  print_header(options, options->full ? full : brief);
}

static inline bool run_row(const void* state, const bench_size* size) {
  const pingpong_side* side = state;
  stopwatch watch = make_stopwatch();
  const bool passed = all_valid(side->options, measure_round_trips(side, size, &watch));
  print_latency(side, size, &watch, passed);
  return passed;
}

// From MPI_Init to MPI_Finalize. Returns the exit status.
static inline int run_pingpong(int argc, char** argv, const bench_info* info) {
  const bench_options options = bench_start(&argc, &argv, info);
  const pingpong_side side = make_pingpong(&options);
  print_latency_header(&side);
  const int status = run_sizes(&options, run_row, &side);
  free(side.send);
  free(side.receive);
  MPI_Finalize();
  return status;
}

#endif
