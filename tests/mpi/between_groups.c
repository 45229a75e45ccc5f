// Two groups of ranks exchange data over an intercommunicator. Each message and collective moves 256 KiB, so
// that what is left out of a recording shows.
// Ranks: at least 2.
#include "check.h"

enum { bytes = 1 << 18 };

static void messages(MPI_Comm inter, int peer, char* out, char* in) {
  MPI_Request r[2];
  MPI_Status s;
  int got = -1, sum = 2 * peer + !(me % 2);
  if (me % 2 == 0) {
    MPI_Send(out, bytes, MPI_BYTE, peer, 5, inter);
  } else {
    MPI_Recv(in, bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, inter, &s);
    CHECK_STATUS(s, peer, 5, bytes, MPI_BYTE);
    VERIFY(in, bytes, sum, me, bytes);
  }
  MPI_Irecv(in, bytes, MPI_BYTE, MPI_ANY_SOURCE, 6, inter, &r[0]);
  MPI_Isend(out, bytes, MPI_BYTE, peer, 6, inter, &r[1]);
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  VERIFY(in, bytes, sum, me, bytes);
  MPI_Send_init(&me, 1, MPI_INT, peer, 7, inter, &r[0]);
  MPI_Recv_init(&got, 1, MPI_INT, MPI_ANY_SOURCE, 7, inter, &r[1]);
  for (int i = 0; i < 2; ++i) {
    got = -1;
    MPI_Startall(2, r);
    MPI_Wait(&r[1], &s);
    CHECK_STATUS(s, peer, 7, 1, MPI_INT);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    CHECK_EQ(got, sum);
  }
  MPI_Request_free(&r[0]);
  MPI_Request_free(&r[1]);
}

static void collectives(MPI_Comm inter, int my_rank, int remote, char* out, char* in) {
  MPI_Request r;
  int counts[2], one = 1, gathered = 0;
  int root = me % 2 ? 0 : my_rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
  MPI_Barrier(inter);
  MPI_Bcast(out, bytes, MPI_BYTE, root, inter);
  MPI_Gather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root, inter);
  MPI_Scatter(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root, inter);
  MPI_Reduce(&one, &gathered, 1, MPI_INT, MPI_SUM, root, inter);
  CHECK_EQ(gathered, root == MPI_ROOT ? remote : 0);
  MPI_Allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, inter);
  MPI_Ialltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, inter, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  counts[0] = counts[1] = remote;
  if (np == 2) MPI_Reduce_scatter_block(counts, &gathered, 1, MPI_INT, MPI_SUM, inter);
  if (np == 2) CHECK_EQ(gathered, 1);
}

CASE(between_groups) {
  MPI_Comm half, inter, twin;
  MPI_Request duplication;
  int my_rank, remote;
  if (np < 2) SKIP("needs two ranks");
  MPI_Comm_split(MPI_COMM_WORLD, me % 2, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, me % 2 ? 0 : 1, 12, &inter);
  MPI_Comm_rank(inter, &my_rank);
  MPI_Comm_remote_size(inter, &remote);
  char* out = malloc((size_t)bytes * (size_t)(np + 1));
  char* in = malloc((size_t)bytes * (size_t)(np + 1));
  if (my_rank < remote) {
    fill_pattern(out, bytes, me, 2 * my_rank + !(me % 2), bytes);
    messages(inter, my_rank, out, in);
  }
  // A nonblocking duplicate is carried, too.
  MPI_Comm_idup(inter, &twin, &duplication);
  MPI_Wait(&duplication, MPI_STATUS_IGNORE);
  if (my_rank < remote) messages(twin, my_rank, out, in);
  MPI_Barrier(twin);
  MPI_Comm_free(&twin);
  memset(out, 1, (size_t)bytes * (size_t)(np + 1));
  collectives(inter, my_rank, remote, out, in);
  free(out);
  free(in);
  MPI_Comm_disconnect(&inter);
  MPI_Comm_free(&half);
}
