// When the program ends, it holds all memory that it may have, except a few MiB.
#include <sys/resource.h>

#include "tests/limits/memory.h"

enum { n = 20000, most_pieces = 16384, spare_pieces = 256, piece = 16 << 10, small_piece = 256 };

static void hold_memory(void) {
  static void* pieces[most_pieces];
  int count = 0;
  unsigned long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  CHECK(file && fscanf(file, "%lu", &pages) == 1);
  fclose(file);
  struct rlimit limit;
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + ((rlim_t)16 << 20);
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  while (count < most_pieces && (pieces[count] = malloc(piece)) != NULL) ++count;
  CHECK(count > spare_pieces && count < most_pieces);
  for (volatile void* small = pieces; small != NULL;) small = malloc(small_piece);
  for (int i = 0; i < spare_pieces; ++i) free(pieces[i]);
}

int main(int argc, char** argv) {
  static int in[n], out[n];
  static MPI_Request r[2 * n];
  check_start(&argc, &argv);
  int right = right_of(me, np), left = left_of(me, np);
  for (int i = 0; i < n; ++i) MPI_Irecv(&in[i], 1, MPI_INT, left, i % 1000, MPI_COMM_WORLD, &r[i]);
  for (int i = 0; i < n; ++i) {
    out[i] = me * n + i;
    MPI_Isend(&out[i], 1, MPI_INT, right, i % 1000, MPI_COMM_WORLD, &r[n + i]);
  }
  MPI_Waitall(2 * n, r, MPI_STATUSES_IGNORE);
  for (int i = 0; i < n; ++i) CHECK_EQ(in[i], left * n + i);
  hold_memory();
  return check_finish("little_memory");
}
