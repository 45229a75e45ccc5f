// Two clocks read side by side: the wall clock and the modelled host clock of this rank.
//
// The wall clock is CLOCK_MONOTONIC, not MPI_Wtime: the latter may itself return modelled time. The modelled
// clock is looked up at run time, so that the same binary runs natively and with libofframp.so preloaded or
// linked.
//
// A lap is one timed region. Reading the modelled clock stays outside the wall-clock region on both ends.

#ifndef OFFRAMP_BENCH_STOPWATCH_H
#define OFFRAMP_BENCH_STOPWATCH_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

typedef int64_t (*modelled_clock)(void);

typedef struct {
  int64_t total;
  int64_t least;  // of one lap
  int64_t most;
} lap_times;

typedef struct {
  modelled_clock clock;  // NULL without the library
  int64_t wall_begin;
  int64_t model_begin;
  int64_t model_end;
  int64_t laps;
  lap_times wall;   // ns
  lap_times model;  // ps
} stopwatch;

static inline modelled_clock find_modelled_clock(void) {
  void* symbol = dlsym(RTLD_DEFAULT, "offramp_modelled_time_ps");
  modelled_clock clock = NULL;
  memcpy(&clock, &symbol, sizeof clock);  // ISO C has no cast from void * to a function pointer
  return clock;
}

static inline int64_t wall_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline stopwatch make_stopwatch(modelled_clock clock) {
  const lap_times none = {.least = INT64_MAX, .most = INT64_MIN};
  return (stopwatch){.clock = clock, .wall = none, .model = none};
}

static inline void add_lap(lap_times* times, int64_t lap) {
  times->total += lap;
  times->least = lap < times->least ? lap : times->least;
  times->most = lap > times->most ? lap : times->most;
}

static inline void start_lap(stopwatch* watch) {
  watch->model_begin = watch->clock == NULL ? 0 : watch->clock();
  watch->wall_begin = wall_ns();
}

static inline void end_lap(stopwatch* watch) {
  const int64_t wall_end = wall_ns();
  watch->model_end = watch->clock == NULL ? 0 : watch->clock();
  add_lap(&watch->wall, wall_end - watch->wall_begin);
  add_lap(&watch->model, watch->model_end - watch->model_begin);
  ++watch->laps;
}

// A library that is switched off has the symbol but a clock that never left 0 (or says -1).
static inline bool clock_runs(const stopwatch* watch) {
  return watch->model_end > 0;
}

#endif
