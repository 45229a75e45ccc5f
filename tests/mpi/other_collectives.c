// The collectives beside Bcast, Reduce and Gather, blocking and nonblocking, with MPI_IN_PLACE where it
// exists, with point-to-point messages outstanding: simple correctness.
#include "check.h"

enum { most = 64, block = 3 };

static int *send, *recv, counts[most], starts[most];
static MPI_Request r;

#define RUN(i_form, Name, name, ...)                \
  do {                                              \
    if (i_form) {                                   \
      MPI_I##name(__VA_ARGS__, MPI_COMM_WORLD, &r); \
      MPI_Wait(&r, MPI_STATUS_IGNORE);              \
    } else {                                        \
      MPI_##Name(__VA_ARGS__, MPI_COMM_WORLD);      \
    }                                               \
  } while (0)

static void clear(void) {
  for (int i = 0; i < np * np * block + np; ++i) send[i] = recv[i] = -1;
}

// Rank k contributes counts[k] = k + 1 ints.
static int ragged(void) {
  int total = 0;
  for (int k = 0; k < np; ++k) {
    counts[k] = k + 1;
    starts[k] = total;
    total += counts[k];
  }
  return total;
}

static void reductions(int i_form, int in_place) {
  int triangle = np * (np - 1) / 2;
  clear();
  for (int k = 0; k < np * block; ++k) (in_place ? recv : send)[k] = me + k;
  RUN(i_form, Allreduce, allreduce, in_place ? MPI_IN_PLACE : send, recv, np * block, MPI_INT, MPI_SUM);
  for (int k = 0; k < np * block; ++k) CHECK_EQ(recv[k], triangle + np * k);
  clear();
  for (int k = 0; k < np * block; ++k) (in_place ? recv : send)[k] = me + k;
  RUN(i_form, Reduce_scatter_block, reduce_scatter_block, in_place ? MPI_IN_PLACE : send, recv, block,
      MPI_INT, MPI_SUM);
  for (int k = 0; k < block; ++k) CHECK_EQ(recv[k], triangle + np * (me * block + k));
  int total = ragged();
  clear();
  for (int k = 0; k < total; ++k) (in_place ? recv : send)[k] = me + k;
  RUN(i_form, Reduce_scatter, reduce_scatter, in_place ? MPI_IN_PLACE : send, recv, counts, MPI_INT, MPI_SUM);
  for (int k = 0; k < counts[me]; ++k) CHECK_EQ(recv[k], triangle + np * (starts[me] + k));
  clear();
  (in_place ? recv : send)[0] = me + 1;
  RUN(i_form, Scan, scan, in_place ? MPI_IN_PLACE : send, recv, 1, MPI_INT, MPI_SUM);
  CHECK_EQ(recv[0], (me + 1) * (me + 2) / 2);
  clear();
  (in_place ? recv : send)[0] = me + 1;
  RUN(i_form, Exscan, exscan, in_place ? MPI_IN_PLACE : send, recv, 1, MPI_INT, MPI_SUM);
  if (me > 0) CHECK_EQ(recv[0], me * (me + 1) / 2);
}

static void rooted(int i_form, int in_place, int root) {
  int total = ragged(), at_root = me == root;
  clear();
  for (int k = 0; k < np * block && at_root; ++k) send[k] = root * 1000 + k;
  RUN(i_form, Scatter, scatter, send, block, MPI_INT, at_root && in_place ? MPI_IN_PLACE : recv, block,
      MPI_INT, root);
  for (int k = 0; k < block && !(at_root && in_place); ++k) CHECK_EQ(recv[k], root * 1000 + me * block + k);
  clear();
  for (int k = 0; k < total && at_root; ++k) send[k] = root * 1000 + k;
  RUN(i_form, Scatterv, scatterv, send, counts, starts, MPI_INT, at_root && in_place ? MPI_IN_PLACE : recv,
      counts[me], MPI_INT, root);
  for (int k = 0; k < counts[me] && !(at_root && in_place); ++k)
    CHECK_EQ(recv[k], root * 1000 + starts[me] + k);
  clear();
  for (int k = 0; k < counts[me]; ++k) send[k] = me * 100 + k;
  if (at_root && in_place) memcpy(recv + starts[me], send, (size_t)counts[me] * sizeof *send);
  RUN(i_form, Gatherv, gatherv, at_root && in_place ? MPI_IN_PLACE : send, counts[me], MPI_INT, recv, counts,
      starts, MPI_INT, root);
  for (int from = 0; from < np && at_root; ++from)
    for (int k = 0; k < counts[from]; ++k) CHECK_EQ(recv[starts[from] + k], from * 100 + k);
}

static void all_gathers(int i_form, int in_place) {
  clear();
  for (int k = 0; k < block; ++k) (in_place ? recv + me * block : send)[k] = me * 10 + k;
  RUN(i_form, Allgather, allgather, in_place ? MPI_IN_PLACE : send, block, MPI_INT, recv, block, MPI_INT);
  for (int k = 0; k < np * block; ++k) CHECK_EQ(recv[k], k / block * 10 + k % block);
  ragged();
  clear();
  for (int k = 0; k < counts[me]; ++k) (in_place ? recv + starts[me] : send)[k] = me * 100 + k;
  RUN(i_form, Allgatherv, allgatherv, in_place ? MPI_IN_PLACE : send, counts[me], MPI_INT, recv, counts,
      starts, MPI_INT);
  for (int from = 0; from < np; ++from)
    for (int k = 0; k < counts[from]; ++k) CHECK_EQ(recv[starts[from] + k], from * 100 + k);
}

// Rank a sends block ints 100 * a + 10 * b + k to rank b.
static void all_to_all(int i_form, int in_place) {
  MPI_Datatype types[most];
  int bytes[most];
  for (int kind = 0; kind < 3; ++kind) {
    clear();
    for (int k = 0; k < np; ++k) {
      counts[k] = block;
      starts[k] = k * block;
      bytes[k] = k * block * (int)sizeof(int);
      types[k] = MPI_INT;
    }
    for (int k = 0; k < np * block; ++k)
      (in_place ? recv : send)[k] = 100 * me + 10 * (k / block) + k % block;
    const void* from = in_place ? MPI_IN_PLACE : send;
    if (kind == 0) RUN(i_form, Alltoall, alltoall, from, block, MPI_INT, recv, block, MPI_INT);
    if (kind == 1)
      RUN(i_form, Alltoallv, alltoallv, from, counts, starts, MPI_INT, recv, counts, starts, MPI_INT);
    if (kind == 2) RUN(i_form, Alltoallw, alltoallw, from, counts, bytes, types, recv, counts, bytes, types);
    for (int k = 0; k < np * block; ++k) CHECK_EQ(recv[k], 100 * (k / block) + 10 * me + k % block);
  }
}

static void barriers(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Ibarrier(MPI_COMM_WORLD, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
}

CASE(other_collectives) {
  if (np > most) SKIP("too many ranks");
  send = malloc((size_t)(np * np * block + np) * sizeof *send);
  recv = malloc((size_t)(np * np * block + np) * sizeof *recv);
  for (int round = 0; round < 20; ++round) {
    int i_form = round % 2, in_place = round / 2 % 2, late = -1;
    MPI_Request message;
    MPI_Isend(&round, 1, MPI_INT, right_of(me, np), 5, MPI_COMM_WORLD, &message);
    reductions(i_form, in_place);
    for (int root = 0; root < np; ++root) rooted(i_form, in_place, root);
    all_gathers(i_form, in_place);
    all_to_all(i_form, in_place);
    barriers();
    MPI_Recv(&late, 1, MPI_INT, left_of(me, np), 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(late, round);
    MPI_Wait(&message, MPI_STATUS_IGNORE);
  }
  free(send);
  free(recv);
}
