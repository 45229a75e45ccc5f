// The loop of the bandwidth benchmarks: a lap keeps a window of messages in flight between the ranks of each
// pair. Rank r < pairs sends to rank r + pairs; only senders time. Further ranks just take part in the
// barriers.
//
// All messages of a window use one buffer, as in OSU: they carry the same data, so receives that overlap do
// no harm. With -c each message has a slot of its own. As for latency, laps are windows with -f and -c,
// otherwise all iterations.

#ifndef OFFRAMP_BENCH_WINDOW_H
#define OFFRAMP_BENCH_WINDOW_H

#include "options.h"
#include "payload.h"
#include "stopwatch.h"
#include "table.h"

enum { data_tag = 1, done_tag = 2 };

typedef struct {
  const bench_options* options;
  bool two_way;
  int pairs;
  int peer;     // -1: this rank is in no pair
  bool sender;  // the timing side; in a two-way window both sides send
  size_t slot_bytes;
  char* send;
  char* receive;
  MPI_Request* requests;
} window_side;

// Measurements of all senders together; significant on rank 0.
typedef struct {
  double mean_seconds;   // of all iterations
  double least_seconds;  // of one lap
  double most_seconds;
} window_times;

static inline window_side make_side(const bench_options* options, bool two_way) {
  const int pairs = options->info->has_pairs ? options->pairs : 1;
  const int rank = options->rank;
  window_side side = {.options = options, .two_way = two_way, .pairs = pairs, .sender = rank < pairs};
  side.peer = rank < pairs ? rank + pairs : rank < 2 * pairs ? rank - pairs : -1;
  side.slot_bytes = options->validate ? options->max_bytes : 0;
  const size_t slots = options->validate ? (size_t)options->window : 1;
  side.send = bench_allocate(options->max_bytes * slots);
  side.receive = bench_allocate(options->max_bytes * slots);
  side.requests = bench_allocate(2 * (size_t)options->window * sizeof *side.requests);
  return side;
}

static inline MPI_Request* post_receives(const window_side* side, int count, MPI_Request* request) {
  const bench_options* options = side->options;
  for (int i = 0; i < options->window; ++i) {
    MPI_Irecv(side->receive + side->slot_bytes * (size_t)i, count, options->type, side->peer, data_tag,
              MPI_COMM_WORLD, request++);
  }
  return request;
}

static inline MPI_Request* post_sends(const window_side* side, int count, MPI_Request* request) {
  const bench_options* options = side->options;
  for (int i = 0; i < options->window; ++i) {
    MPI_Isend(side->send + side->slot_bytes * (size_t)i, count, options->type, side->peer, data_tag,
              MPI_COMM_WORLD, request++);
  }
  return request;
}

static inline void wait_until(const window_side* side, const MPI_Request* end) {
  MPI_Waitall((int)(end - side->requests), side->requests, MPI_STATUSES_IGNORE);
}

// The receiver's answer ends the lap at the sender: otherwise the sender would only time its own posting.
static inline void one_way_window(const window_side* side, int count) {
  char done[4] = {0};
  if (side->sender) {
    wait_until(side, post_sends(side, count, side->requests));
    MPI_Recv(done, sizeof done, MPI_CHAR, side->peer, done_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    wait_until(side, post_receives(side, count, side->requests));
    MPI_Send(done, sizeof done, MPI_CHAR, side->peer, done_tag, MPI_COMM_WORLD);
  }
}

static inline void two_way_window(const window_side* side, int count) {
  wait_until(side, post_sends(side, count, post_receives(side, count, side->requests)));
}

static inline void windows(const window_side* side, int count, int repeat) {
  for (int i = 0; side->peer >= 0 && i < repeat; ++i) {
    if (side->two_way) {
      two_way_window(side, count);
    } else {
      one_way_window(side, count);
    }
  }
}

static inline void prepare_window(const window_side* side, const bench_size* size, int iteration) {
  for (int i = 0; i < side->options->window; ++i) {
    const size_t slot = side->slot_bytes * (size_t)i;
    const payload_id mine = {.iteration = iteration, .source = side->options->rank, .message = i};
    fill_payload(side->options, side->send + slot, size->count, mine);
    spoil_payload(side->receive + slot, size->bytes);
  }
}

static inline long check_window(const window_side* side, const bench_size* size, int iteration) {
  const bool receives = side->peer >= 0 && (side->two_way || !side->sender);
  long wrong = 0;
  for (int i = 0; receives && i < side->options->window; ++i) {
    const payload_id theirs = {.iteration = iteration, .source = side->peer, .message = i};
    wrong += check_payload(side->options, side->receive + side->slot_bytes * (size_t)i, size->count, theirs);
  }
  return wrong;
}

static inline long checked_lap(const window_side* side, const bench_size* size, int iteration,
                               stopwatch* watch) {
  prepare_window(side, size, iteration);
  MPI_Barrier(MPI_COMM_WORLD);  // the peer's filling is not timed
  start_lap(watch);
  windows(side, size->count, 1);
  end_lap(watch);
  return check_window(side, size, iteration);
}

static inline long measure_windows(const window_side* side, const bench_size* size, stopwatch* watch) {
  const bool by_itself = side->options->validate || side->options->full;
  const int windows_per_lap = by_itself ? 1 : size->iterations;
  long wrong = 0;
  windows(side, size->count, size->warmup);
  MPI_Barrier(MPI_COMM_WORLD);
  *watch = make_stopwatch();
  for (int i = 0; i < size->iterations; i += windows_per_lap) {
    if (side->options->validate) {
      wrong += checked_lap(side, size, i, watch);
    } else {
      start_lap(watch);
      windows(side, size->count, windows_per_lap);
      end_lap(watch);
    }
  }
  return wrong;
}

static inline window_times combine_senders(const window_side* side, const stopwatch* watch) {
  double total = side->sender ? watch->total : 0;
  double least = side->sender ? watch->least : (double)INT64_MAX;
  double most = side->sender ? watch->most : 0;
  window_times times = {0};
  MPI_Reduce(&total, &times.mean_seconds, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&least, &times.least_seconds, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(&most, &times.most_seconds, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  times.mean_seconds /= side->pairs;
  return times;
}

static inline double messages_per_window(const window_side* side) {
  return (double)side->options->window * (side->two_way ? 2 : 1);
}

// All pairs together.
static inline double message_rate(const window_side* side, const bench_size* size,
                                  const window_times* times) {
  return messages_per_window(side) * side->pairs * size->iterations / times->mean_seconds;
}

// MB/s, with a megabyte of 10^6 bytes as in OSU.
static inline double bandwidth(const bench_size* size, double messages_per_second) {
  return (double)size->bytes * messages_per_second / 1e6;
}

static inline void print_extremes(const window_side* side, const bench_size* size,
                                  const window_times* times) {
  const bench_options* options = side->options;
  const double messages = messages_per_window(side);
  print_value(options, bandwidth(size, messages / times->most_seconds));
  print_value(options, bandwidth(size, messages / times->least_seconds));
}

static inline void print_windows(const window_side* side, const bench_size* size, const stopwatch* watch,
                                 bool passed) {
  const bench_options* options = side->options;
  const window_times times = combine_senders(side, watch);
  if (options->rank != 0) {
    return;
  }
  const double rate = message_rate(side, size, &times);
  print_size(options, size);
  print_value(options, bandwidth(size, rate));
  if (options->info->has_pairs) {
    print_value(options, rate);
  }
  if (options->full) {
    print_extremes(side, size, &times);
  }
  end_row(options, size, passed);
}

static inline void print_window_header(const window_side* side) {
  const bench_options* options = side->options;
  const char* names[5] = {options->info->has_pairs ? "MB/s" : "Bandwidth (MB/s)"};
  int next = 1;
  if (options->info->has_pairs) {
    names[next++] = "Messages/s";
  }
  if (options->full) {  // of one window of one pair
    names[next++] = "Min (MB/s)";
    names[next++] = "Max (MB/s)";
  }
  print_title(options);
  if (options->rank == 0 && options->info->has_pairs) {
    printf("# [ pairs: %d ] [ window size: %d ]\n", side->pairs, options->window);
  }
  print_header(options, names);
}

static inline bool run_row(const void* state, const bench_size* size) {
  const window_side* side = state;
  stopwatch watch = make_stopwatch();
  const bool passed = all_valid(side->options, measure_windows(side, size, &watch));
  print_windows(side, size, &watch, passed);
  return passed;
}

// From MPI_Init to MPI_Finalize. Returns the exit status.
static inline int run_windows(int argc, char** argv, const bench_info* info, bool two_way) {
  const bench_options options = bench_start(&argc, &argv, info);
  const window_side side = make_side(&options, two_way);
  print_window_header(&side);
  const int status = run_sizes(&options, run_row, &side);
  free(side.send);
  free(side.receive);
  free(side.requests);
  MPI_Finalize();
  return status;
}

#endif
