// The output, in the layout of OSU: lines that start with #, then a size in 10 columns and values in 20 each.
// The value comes second, so that a reader needs no other flag. Only rank 0 prints.

#ifndef OFFRAMP_BENCH_TABLE_H
#define OFFRAMP_BENCH_TABLE_H

#include <stdio.h>
#include <stdlib.h>

#include "options.h"

enum { size_width = 10, value_width = 20 };

static inline void print_title(const bench_options* options) {
  if (options->rank == 0) {
    printf("# Offramp MPI %s Test\n", options->info->title);
    if (!options->info->no_data) {
      printf("# Datatype: %s.\n", options->type_name);
    }
  }
}

// `names` ends with NULL; the columns of -f and -c follow.
static inline void print_header(const bench_options* options, const char* const* names) {
  if (options->rank != 0) {
    return;
  }
  printf("%-*s", size_width, options->info->no_data ? "#" : "# Size");
  for (; *names != NULL; ++names) {
    printf("%*s", value_width, *names);
  }
  if (options->full) {
    printf("%*s", value_width, "Iterations");
  }
  if (options->validate) {
    printf("%*s", value_width, "Validation");
  }
  printf("\n");
  fflush(stdout);
}

static inline void print_size(const bench_options* options, const bench_size* size) {
  if (options->info->no_data) {
    printf("%*s", size_width, "");
  } else {
    printf("%-*zu", size_width, size->bytes);
  }
}

static inline void print_value(const bench_options* options, double value) {
  printf("%*.*f", value_width, options->digits, value);
}

static inline void end_row(const bench_options* options, const bench_size* size, bool passed) {
  if (options->full) {
    printf("%*d", value_width, size->iterations);
  }
  if (options->validate) {
    printf("%*s", value_width, passed ? "Pass" : "Fail");
  }
  printf("\n");
  fflush(stdout);
}

// Returns one answer on every rank: whether all of them received the right data for this size.
static inline bool all_valid(const bench_options* options, long wrong) {
  if (!options->validate) {
    return true;
  }
  long total = 0;
  MPI_Allreduce(&wrong, &total, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  return total == 0;
}

// A benchmark of one size measures, and prints a row. Returns whether all ranks received the right data.
typedef bool (*bench_row)(const void* state, const bench_size* size);

static inline int report_invalid(const bench_options* options, const bench_size* size) {
  if (options->rank == 0) {
    fprintf(stderr, "DATA VALIDATION ERROR: %s Test received wrong data at message size %zu\n",
            options->info->title, size->bytes);
  }
  return EXIT_FAILURE;
}

// All sizes, up to one with wrong data. Returns the exit status.
static inline int run_sizes(const bench_options* options, bench_row run_row, const void* state) {
  bench_size size;
  for (bool more = bench_first_size(options, &size); more; more = bench_next_size(options, &size)) {
    if (!run_row(state, &size)) {
      return report_invalid(options, &size);
    }
  }
  return EXIT_SUCCESS;
}

#endif
