// Times laps by MPI_Wtime, as OSU does: the machine's time, or modelled time with `offramp run --clock
// settled`. A lap is one timed region.

#ifndef OFFRAMP_BENCH_STOPWATCH_H
#define OFFRAMP_BENCH_STOPWATCH_H

#include <mpi.h>
#include <stdint.h>

typedef struct {
  double begin;  // of the lap
  int64_t laps;
  double total;  // of all laps, in seconds
  double least;  // of one lap
  double most;
} stopwatch;

static inline stopwatch make_stopwatch(void) {
  return (stopwatch){.least = INT64_MAX};
}

static inline void start_lap(stopwatch* watch) {
  watch->begin = MPI_Wtime();
}

static inline void end_lap(stopwatch* watch) {
  const double lap = MPI_Wtime() - watch->begin;
  watch->total += lap;
  watch->least = lap < watch->least ? lap : watch->least;
  watch->most = lap > watch->most ? lap : watch->most;
  ++watch->laps;
}

#endif
