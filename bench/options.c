#define _GNU_SOURCE

#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { exit_usage = 2, digits_option = 256, most_digits = 9 };

static const struct {
  const char* argument;
  const char* name;
  size_t bytes;
} datatypes[] = {
    {"mpi_char", "MPI_CHAR", sizeof(char)},
    {"mpi_int", "MPI_INT", sizeof(int)},
    {"mpi_float", "MPI_FLOAT", sizeof(float)},
};

// MPI handles are not constant expressions in every MPI, so they stay out of the table.
static MPI_Datatype datatype_handle(size_t index) {
  const MPI_Datatype handles[] = {MPI_CHAR, MPI_INT, MPI_FLOAT};
  return handles[index];
}

static _Noreturn void leave(int status) {
  MPI_Finalize();
  exit(status);
}

static _Noreturn void usage_error(const bench_options* options, const char* format, ...) {
  if (options->rank == 0) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "error: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "; -h lists the options\n");
    va_end(arguments);
  }
  leave(exit_usage);
}

static void print_help(const bench_options* options, const char* program) {
  const bench_info* info = options->info;
  printf("Usage: mpirun -n %s %s [options]\n\n", info->collective || info->has_pairs ? "N" : "2", program);
  if (!info->no_data) {
    printf("  -m [MIN:]MAX   message sizes in bytes, doubling from MIN (default 1:%zu)\n", info->max_bytes);
  }
  printf("  -i N           iterations for every size (default %d, above %d bytes %d)\n", info->iterations,
         large_message, info->large_iterations);
  printf("  -x N           warm-up iterations for every size (default %d, above %d bytes %d)\n", info->warmup,
         large_message, info->large_warmup);
  if (info->has_window) {
    printf("  -W N           messages in flight (default 64)\n");
  }
  if (info->has_pairs) {
    printf("  -p N           pairs that send (default: half the ranks)\n");
  }
  if (info->has_tests) {
    printf("  -t N           calls of MPI_Test during the computation (default 0)\n");
  }
  if (!info->no_data) {
    printf("  -T TYPE        mpi_char, mpi_int or mpi_float (default mpi_char)\n");
    printf("  -c             check the data of every iteration; a fault ends the run with status 1\n");
  }
  printf("  -f             full listing: minimum, maximum and iterations too (%s)\n",
         info->collective ? "over the ranks" : "over the iterations, each timed by itself");
  printf("  --digits N     digits behind the decimal point (default 2)\n");
  printf("  -h             this text\n\n");
  printf("Times are those of MPI_Wtime.%s\n",
         info->has_tests ? "" : " With offramp run --clock settled they are modelled ones.");
}

// `text` must be all digits: strtoull alone would take "-1" and "12k".
static unsigned long long parse_number(const bench_options* options, const char* name, const char* text,
                                       unsigned long long least, unsigned long long most) {
  char* end = NULL;
  errno = 0;
  const unsigned long long value = strtoull(text, &end, 10);
  const bool digits_only = *text != '\0' && strspn(text, "0123456789") == strlen(text);
  if (!digits_only || errno != 0 || value < least || value > most) {
    usage_error(options, "%s %s: expected a number from %llu to %llu", name, text, least, most);
  }
  return value;
}

// MAX, MIN:MAX, MIN: or :MAX; a missing part keeps its default.
static void parse_sizes(bench_options* options, char* text) {
  char* colon = strchr(text, ':');
  char* max_text = colon == NULL ? text : colon + 1;
  if (colon != NULL) {
    *colon = '\0';
  }
  if (colon != NULL && *text != '\0') {
    options->min_bytes = (size_t)parse_number(options, "-m", text, 0, INT_MAX);
  }
  if (colon == NULL || *max_text != '\0') {
    options->max_bytes = (size_t)parse_number(options, "-m", max_text, 0, INT_MAX);
  }
  if (colon == NULL && options->max_bytes < options->min_bytes) {
    options->min_bytes = options->max_bytes;
  }
  if (options->min_bytes > options->max_bytes) {
    usage_error(options, "-m %zu:%zu: the first size is above the last", options->min_bytes,
                options->max_bytes);
  }
}

static void set_datatype(bench_options* options, const char* argument) {
  for (size_t i = 0; i < sizeof datatypes / sizeof datatypes[0]; ++i) {
    if (strcasecmp(argument, datatypes[i].argument) == 0) {
      options->type = datatype_handle(i);
      options->type_name = datatypes[i].name;
      options->type_bytes = datatypes[i].bytes;
      return;
    }
  }
  usage_error(options, "-T %s: expected mpi_char, mpi_int or mpi_float", argument);
}

static void apply_option(bench_options* options, int letter, char* argument, const char* program) {
  switch (letter) {
    case 'm':
      parse_sizes(options, argument);
      break;
    case 'i':
      options->iterations = (int)parse_number(options, "-i", argument, 1, INT_MAX / 2);
      break;
    case 'x':
      options->warmup = (int)parse_number(options, "-x", argument, 0, INT_MAX / 2);
      break;
    case 'W':
      options->window = (int)parse_number(options, "-W", argument, 1, 1 << 20);
      break;
    case 'p':
      options->pairs = (int)parse_number(options, "-p", argument, 1, INT_MAX / 2);
      break;
    case 't':
      options->tests = (int)parse_number(options, "-t", argument, 0, 1 << 20);
      break;
    case 'T':
      set_datatype(options, argument);
      break;
    case 'f':
      options->full = true;
      break;
    case 'c':
      options->validate = true;
      break;
    case digits_option:
      options->digits = (int)parse_number(options, "--digits", argument, 0, most_digits);
      break;
    case 'h':
      if (options->rank == 0) {
        print_help(options, program);
      }
      leave(EXIT_SUCCESS);
    default:
      usage_error(options, "an option is unknown or lacks its value");
  }
}

static void parse_arguments(bench_options* options, int argc, char** argv) {
  static const struct option long_options[] = {{"digits", required_argument, NULL, digits_option},
                                               {"help", no_argument, NULL, 'h'},
                                               {NULL, 0, NULL, 0}};
  char letters[32];
  snprintf(letters, sizeof letters, "i:x:fh%s%s%s%s", options->info->no_data ? "" : "m:T:c",
           options->info->has_window ? "W:" : "", options->info->has_pairs ? "p:" : "",
           options->info->has_tests ? "t:" : "");
  opterr = options->rank == 0;  // getopt prints the bad option once
  for (int letter; (letter = getopt_long(argc, argv, letters, long_options, NULL)) != -1;) {
    apply_option(options, letter, optarg, argv[0]);
  }
  if (optind < argc) {
    usage_error(options, "unexpected argument %s", argv[optind]);
  }
}

static void check_ranks(bench_options* options) {
  if (options->info->has_pairs) {
    if (options->pairs == 0) {
      options->pairs = options->ranks / 2;
    }
    if (options->pairs == 0 || options->pairs > options->ranks / 2) {
      usage_error(options, "%d pairs need at least %d ranks, there are %d", options->pairs,
                  2 * options->pairs, options->ranks);
    }
  } else if (options->info->collective && options->ranks < 2) {
    usage_error(options, "this benchmark needs at least 2 ranks");
  } else if (!options->info->collective && options->ranks != 2) {
    usage_error(options, "this benchmark needs exactly 2 ranks, there are %d", options->ranks);
  }
}

bench_options bench_start(int* argc, char*** argv, const bench_info* info) {
  bench_options options = {
      .info = info, .min_bytes = 1, .max_bytes = info->max_bytes, .warmup = -1, .window = 64, .digits = 2};
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &options.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &options.ranks);
  set_datatype(&options, "mpi_char");
  parse_arguments(&options, *argc, *argv);
  check_ranks(&options);
  return options;
}

static void fill_size(const bench_options* options, bench_size* size, size_t bytes) {
  const bool large = bytes > large_message;
  const bench_info* info = options->info;
  size->count = (int)(bytes / options->type_bytes);
  size->bytes = (size_t)size->count * options->type_bytes;
  size->iterations = large ? info->large_iterations : info->iterations;
  size->warmup = large ? info->large_warmup : info->warmup;
  if (options->iterations > 0) {
    size->iterations = options->iterations;
  }
  if (options->warmup >= 0) {
    size->warmup = options->warmup;
  }
}

static bool take_size(const bench_options* options, bench_size* size, size_t bytes) {
  while (bytes != 0 && bytes < options->type_bytes) {
    bytes *= 2;
  }
  if (bytes > options->max_bytes) {
    return false;
  }
  fill_size(options, size, bytes);
  return true;
}

bool bench_first_size(const bench_options* options, bench_size* size) {
  if (options->info->no_data) {
    fill_size(options, size, 0);
    return true;
  }
  return take_size(options, size, options->min_bytes);
}

bool bench_next_size(const bench_options* options, bench_size* size) {
  return !options->info->no_data && take_size(options, size, size->bytes == 0 ? 1 : 2 * size->bytes);
}

void* bench_allocate(size_t bytes) {
  const size_t page = 4096;
  const size_t rounded = (bytes / page + 1) * page;
  void* memory = bytes > SIZE_MAX - page ? NULL : aligned_alloc(page, rounded);
  if (memory == NULL) {
    fprintf(stderr, "error: no memory for a buffer of %zu bytes; a smaller -m or -W may help\n", bytes);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    abort();
  }
  return memset(memory, 0, rounded);
}
