// 100,000 requests outstanding per rank: half of them receives, half sends, in one MPI_Waitall.
#include "tests/limits/memory.h"

enum { n = 50000 };

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  int right = right_of(me, np), left = left_of(me, np);
  long *in = malloc(n * sizeof *in), *out = malloc(n * sizeof *out);
  MPI_Request* r = malloc(2 * n * sizeof *r);
  MPI_Status* s = malloc(2 * n * sizeof *s);
  for (int i = 0; i < n; ++i) MPI_Irecv(&in[i], 1, MPI_LONG, left, i % 1000, MPI_COMM_WORLD, &r[i]);
  for (int i = 0; i < n; ++i) {
    out[i] = me * 1000000L + i;
    MPI_Isend(&out[i], 1, MPI_LONG, right, i % 1000, MPI_COMM_WORLD, &r[n + i]);
  }
  MPI_Waitall(2 * n, r, s);
  for (int i = 0; i < n; ++i) {
    CHECK_EQ(in[i], left * 1000000L + i);
    CHECK_STATUS(s[i], left, i % 1000, 1, MPI_LONG);
  }
  free(s), free(r), free(out), free(in);
  return check_finish("many_requests");
}
