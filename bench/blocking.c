// The loop of the blocking collectives. Each iteration is a barrier, then one timed call, so that ranks enter
// the call together and the barrier is not timed. The row shows the mean over the ranks of each rank's mean;
// -f adds the fastest and the slowest rank.

#include "collective.h"
#include "stopwatch.h"

static long measure(const buffers* memory, const collective* what, const bench_size* size, stopwatch* watch) {
  const bool validate = memory->options->validate;
  long wrong = 0;
  share_out(memory, size->count);
  for (int i = 0; i < size->warmup + size->iterations; ++i) {
    if (i == size->warmup) {
      *watch = make_stopwatch();
    }
    if (validate) {
      what->prepare(memory, size->count, i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    start_lap(watch);
    what->call(memory, size->count);
    end_lap(watch);
    if (validate) {
      wrong += what->check(memory, size->count, i);
    }
  }
  return wrong;
}

static void print_collective(const bench_options* options, const bench_size* size, const stopwatch* watch,
                             bool passed) {
  const over_ranks mean = reduce_over_ranks(watch->total * 1e6 / (double)watch->laps);
  if (options->rank != 0) {
    return;
  }
  print_size(options, size);
  print_value(options, mean.sum / options->ranks);
  if (options->full) {
    print_value(options, mean.least);
    print_value(options, mean.most);
  }
  end_row(options, size, passed);
}

static bool run_row(const void* state, const bench_size* size) {
  const collective_program* program = state;
  const buffers* memory = &program->memory;
  stopwatch watch = make_stopwatch();
  const bool passed = all_valid(memory->options, measure(memory, program->what, size, &watch));
  print_collective(memory->options, size, &watch, passed);
  return passed;
}

int run_blocking(int argc, char** argv, const collective* what) {
  static const char* const brief[] = {"Avg Latency (us)", NULL};
  static const char* const full[] = {"Avg Latency (us)", "Min Latency (us)", "Max Latency (us)", NULL};
  char title[64];
  snprintf(title, sizeof title, "%s Latency", what->name);
  const bench_info info = {.title = title, BENCH_COLLECTIVE_DEFAULTS, .no_data = what->no_data};
  return run_collective(argc, argv, &info, what, brief, full, run_row);
}
