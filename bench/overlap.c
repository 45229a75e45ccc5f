// The loop of the nonblocking collectives, by OSU's method: first the operation alone (pure communication),
// then again with a computation of that length between the call and the wait. The time that the operation
// then adds to the computation was not hidden:
//
//   overlap = 100 - 100 * (overall - (compute - test)) / pure
//
// All times are MPI_Wtime's, on which the computation spins, so they are the machine's. For modelled overlap,
// a program has to compute for a given time; this one computes for as long as an earlier measurement took.

#include "collective.h"

typedef struct {
  double overall;  // all in seconds, of one iteration
  double compute;
  double pure;
  double start;  // the call itself
  double test;   // MPI_Test during the computation
  double wait;
} overlap_times;

// The vector is small: the clock decides how long the computation takes.
static void work(void) {
  enum { elements = 64 };
  static volatile float vector[elements];
  for (int i = 0; i < elements; ++i) {
    vector[i] = vector[i] * 0.5f + (float)i;
  }
}

static double compute_for(double seconds) {
  const double begin = MPI_Wtime();
  double now = begin;
  while (now - begin < seconds) {
    work();
    now = MPI_Wtime();
  }
  return now - begin;
}

// With -t the computation is cut into parts with an MPI_Test after each. Returns the time of the tests.
static double compute_and_test(const bench_options* options, double seconds, MPI_Request* request) {
  double testing = 0;
  for (int i = 0; i < options->tests; ++i) {
    int done = 0;
    compute_for(seconds / (options->tests + 1));
    const double begin = MPI_Wtime();
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
    testing += MPI_Wtime() - begin;
  }
  compute_for(seconds / (options->tests + 1));
  return testing;
}

static double pure_time(const buffers* memory, const collective* what, const bench_size* size) {
  double total = 0;
  for (int i = 0; i < size->warmup + size->iterations; ++i) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    what->start(memory, size->count, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    total += i < size->warmup ? 0 : MPI_Wtime() - begin;
  }
  return total / size->iterations;
}

static void overlapped(const buffers* memory, const collective* what, const bench_size* size, double seconds,
                       overlap_times* times) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  what->start(memory, size->count, &request);
  const double started = MPI_Wtime();
  const double testing = compute_and_test(memory->options, seconds, &request);
  const double computed = MPI_Wtime();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  const double end = MPI_Wtime();
  times->overall += (end - begin) / size->iterations;
  times->compute += (computed - started) / size->iterations;
  times->start += (started - begin) / size->iterations;
  times->test += testing / size->iterations;
  times->wait += (end - computed) / size->iterations;
}

static long measure(const buffers* memory, const collective* what, const bench_size* size,
                    overlap_times* times) {
  const bool validate = memory->options->validate;
  long wrong = 0;
  share_out(memory, size->count);
  const double pure = pure_time(memory, what, size);
  *times = (overlap_times){.pure = pure};
  for (int i = 0; i < size->warmup + size->iterations; ++i) {
    if (i == size->warmup) {
      *times = (overlap_times){.pure = pure};
    }
    if (validate) {
      what->prepare(memory, size->count, i);
    }
    overlapped(memory, what, size, pure, times);
    if (validate) {
      wrong += what->check(memory, size->count, i);
    }
  }
  return wrong;
}

static double overlap_percent(const overlap_times* mean) {
  const double exposed = mean->overall - (mean->compute - mean->test);
  const double percent = mean->pure > 0 ? 100 - 100 * exposed / mean->pure : 0;
  return percent < 0 ? 0 : percent > 100 ? 100 : percent;
}

static void print_overlap(const bench_options* options, const bench_size* size, const overlap_times* mine,
                          bool passed) {
  const double us = 1e6 / options->ranks;
  const over_ranks pure = reduce_over_ranks(mine->pure);
  const overlap_times mean = {.overall = reduce_over_ranks(mine->overall).sum * us,
                              .compute = reduce_over_ranks(mine->compute).sum * us,
                              .pure = pure.sum * us,
                              .start = reduce_over_ranks(mine->start).sum * us,
                              .test = reduce_over_ranks(mine->test).sum * us,
                              .wait = reduce_over_ranks(mine->wait).sum * us};
  if (options->rank != 0) {
    return;
  }
  print_size(options, size);
  print_value(options, mean.overall);
  print_value(options, mean.compute);
  print_value(options, mean.pure);
  print_value(options, overlap_percent(&mean));
  if (options->full) {
    print_value(options, mean.start);
    print_value(options, mean.test);
    print_value(options, mean.wait);
    print_value(options, pure.least * 1e6);
    print_value(options, pure.most * 1e6);
  }
  end_row(options, size, passed);
}

static bool run_row(const void* state, const bench_size* size) {
  const collective_program* program = state;
  const buffers* memory = &program->memory;
  overlap_times times;
  const bool passed = all_valid(memory->options, measure(memory, program->what, size, &times));
  print_overlap(memory->options, size, &times, passed);
  return passed;
}

int run_overlap(int argc, char** argv, const collective* what) {
  static const char* const brief[] = {"Overall(us)", "Compute(us)", "Pure Comm.(us)", "Overlap(%)", NULL};
  static const char* const full[] = {
      "Overall(us)",  "Compute(us)",  "Pure Comm.(us)", "Overlap(%)",    "Coll. Init(us)",
      "MPI_Test(us)", "MPI_Wait(us)", "Min Comm.(us)",  "Max Comm.(us)", NULL};
  char title[64];
  snprintf(title, sizeof title, "Non-blocking %s Latency", what->name);
  const bench_info info = {.title = title, BENCH_OVERLAP_DEFAULTS, .no_data = what->no_data};
  return run_collective(argc, argv, &info, what, brief, full, run_row);
}
