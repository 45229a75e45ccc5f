// The command line shared by the mpi_* benchmarks: OSU-style options, and the sizes and iterations that
// follow from them.
//
// Every program calls bench_start() first. It initialises MPI, parses on every rank, prints on rank 0, and
// ends the program after -h, a bad option, or a wrong number of ranks.

#ifndef OFFRAMP_BENCH_OPTIONS_H
#define OFFRAMP_BENCH_OPTIONS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

enum { large_message = 8192 };  // bytes; above this the "large" iteration counts apply

// A benchmark's properties for the command line.
typedef struct {
  const char* title;  // "Latency", as in "# Offramp MPI Latency Test"
  size_t max_bytes;   // default upper end of the sizes
  int iterations;     // defaults for messages up to large_message ...
  int warmup;
  int large_iterations;  // ... and above it
  int large_warmup;
  bool has_window;  // accepts -W
  bool has_pairs;   // accepts -p; any number of ranks from 2
  bool collective;  // any number of ranks from 2; otherwise exactly 2 unless has_pairs
  bool has_tests;   // accepts -t
  bool no_data;     // one row without a size; no -m, -T and -c
} bench_info;

// Defaults of the families, as in OSU.
#define BENCH_LATENCY_DEFAULTS \
  .max_bytes = 4u << 20, .iterations = 10000, .warmup = 100, .large_iterations = 1000, .large_warmup = 10
#define BENCH_BANDWIDTH_DEFAULTS                                                                     \
  .max_bytes = 4u << 20, .iterations = 100, .warmup = 10, .large_iterations = 20, .large_warmup = 2, \
  .has_window = true
#define BENCH_COLLECTIVE_DEFAULTS                                                                        \
  .max_bytes = 1u << 20, .iterations = 1000, .warmup = 100, .large_iterations = 100, .large_warmup = 10, \
  .collective = true
#define BENCH_OVERLAP_DEFAULTS BENCH_COLLECTIVE_DEFAULTS, .has_tests = true

typedef struct {
  const bench_info* info;
  int rank;  // in MPI_COMM_WORLD
  int ranks;
  size_t min_bytes;
  size_t max_bytes;
  int iterations;  // 0: by size
  int warmup;      // -1: by size
  int window;
  int pairs;
  int tests;   // MPI_Test calls during a computation
  int digits;  // after the decimal point
  bool full;
  bool validate;
  MPI_Datatype type;
  const char* type_name;
  size_t type_bytes;
} bench_options;

// One line of the table.
typedef struct {
  size_t bytes;  // a multiple of the datatype's size; without data 0
  int count;     // elements
  int iterations;
  int warmup;
} bench_size;

bench_options bench_start(int* argc, char*** argv, const bench_info* info);

// Sets the first size, or the one after `bytes`. Sizes double; sizes below one element are left out. Returns
// false at the end.
bool bench_first_size(const bench_options* options, bench_size* size);
bool bench_next_size(const bench_options* options, bench_size* size);

// Zeroed, page-aligned memory; at least one byte, so that a message of 0 bytes has an address. Aborts on
// failure.
void* bench_allocate(size_t bytes);

#endif
