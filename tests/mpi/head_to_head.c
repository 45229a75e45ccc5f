// Every rank sends large messages to its neighbours in both directions at once, by Isend and by Sendrecv,
// receives posted after the sends; several deep.
#include "check.h"

enum { depth = 4, bytes = 2 << 20 };

static char *in[2 * depth], *out[2 * depth];

static void everybody(int size) {
  MPI_Request r[4 * depth];
  int ends[2] = {right_of(me, np), left_of(me, np)};
  for (int i = 0; i < 2 * depth; ++i) {
    fill_pattern(out[i], (size_t)size, me, ends[i % 2], i);
    MPI_Isend(out[i], size, MPI_BYTE, ends[i % 2], i, MPI_COMM_WORLD, &r[i]);
  }
  // The left neighbour's messages to its right, and the right one's to its left.
  for (int i = 2 * depth - 1; i >= 0; --i)
    MPI_Irecv(in[i], size, MPI_BYTE, ends[!(i % 2)], i, MPI_COMM_WORLD, &r[2 * depth + i]);
  MPI_Waitall(4 * depth, r, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 2 * depth; ++i) VERIFY(in[i], (size_t)size, ends[!(i % 2)], me, i);
}

static void sendrecv_both_ways(int size) {
  int other = me ^ 1;
  if (other >= np) return;
  for (int i = 0; i < depth; ++i) {
    fill_pattern(out[i], (size_t)size, me, other, i);
    MPI_Sendrecv(out[i], size, MPI_BYTE, other, 1, in[i], size, MPI_BYTE, other, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    VERIFY(in[i], (size_t)size, other, me, i);
  }
}

CASE(head_to_head) {
  static const int sizes[] = {0, 100, 5000, 65536, bytes};
  for (int i = 0; i < 2 * depth; ++i) in[i] = malloc(bytes), out[i] = malloc(bytes);
  for (int k = 0; k < 5; ++k) {
    everybody(sizes[k]);
    sendrecv_both_ways(sizes[k]);
  }
  for (int i = 0; i < 2 * depth; ++i) {
    free(in[i]);
    free(out[i]);
  }
}
