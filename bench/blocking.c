// The loop of the blocking collectives. Each iteration is a barrier, then one timed call, so that ranks enter
// the call together and the barrier is not timed. The row shows the mean over the ranks of each rank's mean;
// -f adds the fastest and the slowest rank.

#include "collective.h"
#include "stopwatch.h"
#include "table.h"

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

static void print_collective_header(const bench_options* options) {
  static const char* const brief[] = {"Avg Latency (us)", NULL};
  static const char* const full[] = {"Avg Latency (us)", "Min Latency (us)", "Max Latency (us)", NULL};
  print_title(options);
  print_header(options, options->full ? full : brief);
}

int run_collective(int argc, char** argv, const bench_info* info, const collective* what) {
  const bench_options options = bench_start(&argc, &argv, info);
  buffers memory = allocate_buffers(&options, what);
  stopwatch watch = make_stopwatch();
  int status = EXIT_SUCCESS;
  bench_size size;
  print_collective_header(&options);
  for (bool more = bench_first_size(&options, &size); more; more = bench_next_size(&options, &size)) {
    const bool passed = all_valid(&options, measure(&memory, what, &size, &watch));
    print_collective(&options, &size, &watch, passed);
    if (!passed) {
      status = report_invalid(&options, &size);
      break;
    }
  }
  free_buffers(&memory);
  MPI_Finalize();
  return status;
}
