// Half the round trip of MPI_Send and MPI_Recv between two ranks.
//
// Without -f and -c all iterations make one lap: reading a clock takes as long as part of a small message.
// With them each round trip is a lap of its own, and the data is made and checked outside it.

#define _GNU_SOURCE  // clock_gettime and RTLD_DEFAULT, in stopwatch.h

#include "options.h"
#include "payload.h"
#include "stopwatch.h"
#include "table.h"

enum { tag = 1 };

typedef struct {
  const bench_options* options;
  char* send;
  char* receive;
} buffers;

static void round_trips(const buffers* memory, int count, int repeat) {
  const MPI_Datatype type = memory->options->type;
  const bool first = memory->options->rank == 0;
  const int peer = first ? 1 : 0;
  for (int i = 0; i < repeat; ++i) {
    if (first) {
      MPI_Send(memory->send, count, type, peer, tag, MPI_COMM_WORLD);
      MPI_Recv(memory->receive, count, type, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(memory->receive, count, type, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(memory->send, count, type, peer, tag, MPI_COMM_WORLD);
    }
  }
}

static long checked_round_trip(const buffers* memory, int count, int iteration, stopwatch* watch) {
  const bench_options* options = memory->options;
  const payload_id mine = {.iteration = iteration, .source = options->rank};
  const payload_id other = {.iteration = iteration, .source = 1 - options->rank};
  fill_payload(options, memory->send, count, mine);
  spoil_payload(memory->receive, (size_t)count * options->type_bytes);
  MPI_Barrier(MPI_COMM_WORLD);  // the peer's filling must not be timed as latency
  start_lap(watch);
  round_trips(memory, count, 1);
  end_lap(watch);
  return check_payload(options, memory->receive, count, other);
}

static long measure(const buffers* memory, const bench_size* size, stopwatch* watch) {
  long wrong = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  round_trips(memory, size->count, size->warmup);
  *watch = make_stopwatch(watch->clock);
  if (!memory->options->validate && !memory->options->full) {
    start_lap(watch);
    round_trips(memory, size->count, size->iterations);
    end_lap(watch);
    return wrong;
  }
  for (int i = 0; i < size->iterations; ++i) {
    if (memory->options->validate) {
      wrong += checked_round_trip(memory, size->count, i, watch);
    } else {
      start_lap(watch);
      round_trips(memory, size->count, 1);
      end_lap(watch);
    }
  }
  return wrong;
}

static void print_row(const bench_options* options, const bench_size* size, const stopwatch* watch,
                      bool passed) {
  const double wall_us = 1e3 * 2;  // a lap is a round trip in ns; latency is half of it
  const double model_us = 1e6 * 2;
  const bool known = clock_runs(watch);
  if (options->rank != 0) {
    return;
  }
  print_size(size);
  print_value(options, (double)watch->wall.total / wall_us / size->iterations);
  print_modelled(options, known, (double)watch->model.total / model_us / size->iterations);
  if (options->full) {
    print_value(options, (double)watch->wall.least / wall_us);
    print_value(options, (double)watch->wall.most / wall_us);
    print_modelled(options, known, (double)watch->model.least / model_us);
    print_modelled(options, known, (double)watch->model.most / model_us);
  }
  end_row(options, size, passed);
}

static int run(const bench_options* options) {
  static const char* const brief[] = {"Latency (us)", "Modelled (us)", NULL};
  static const char* const full[] = {"Latency (us)",
                                     "Modelled (us)",
                                     "Min Latency (us)",
                                     "Max Latency (us)",
                                     "Min Modelled (us)",
                                     "Max Modelled (us)",
                                     NULL};
  const buffers memory = {.options = options,
                          .send = bench_allocate(options->max_bytes),
                          .receive = bench_allocate(options->max_bytes)};
  stopwatch watch = make_stopwatch(find_modelled_clock());
  int status = EXIT_SUCCESS;
  bench_size size;
  print_title(options);
  print_header(options, options->full ? full : brief);
  for (bool more = bench_first_size(options, &size); more; more = bench_next_size(options, &size)) {
    const bool passed = all_valid(options, measure(&memory, &size, &watch));
    print_row(options, &size, &watch, passed);
    if (!passed) {
      status = report_invalid(options, &size);
      break;
    }
  }
  free(memory.send);
  free(memory.receive);
  return status;
}

int main(int argc, char** argv) {
  static const bench_info info = {.title = "Latency", BENCH_LATENCY_DEFAULTS};
  const bench_options options = bench_start(&argc, &argv, &info);
  const int status = run(&options);
  MPI_Finalize();
  return status;
}
