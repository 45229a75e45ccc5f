// Point-to-point (all completion styles, wildcards, probes, Sendrecv), Barrier, Bcast, Allreduce, Gather and
// Reduce over an intercommunicator, with the same ranks and tags on MPI_COMM_WORLD; free and merge while in
// use.
#include "check.h"

static MPI_Comm half, inter;
static int my_rank, my_size, remote, lower;

static void point_to_point(void) {
  int to = my_rank % remote, out = me * 7, in, world_in = -1;
  MPI_Status s;
  MPI_Request r[2];
  // Equal tags and (local) ranks on both communicators.
  MPI_Irecv(&world_in, 1, MPI_INT, left_of(me, np), 3, MPI_COMM_WORLD, &r[0]);
  MPI_Isend(&out, 1, MPI_INT, to, 3, inter, &r[1]);
  for (int from = 0; from < remote; ++from) {
    if (from % my_size != my_rank) continue;
    in = -1;
    MPI_Recv(&in, 1, MPI_INT, from, 3, inter, &s);
    CHECK_STATUS(s, from, 3, 1, MPI_INT);
    CHECK_EQ(in, 7 * (2 * from + lower));  // the others are the odd ranks for the even ones
  }
  MPI_Wait(&r[1], MPI_STATUS_IGNORE);
  MPI_Send(&out, 1, MPI_INT, right_of(me, np), 3, MPI_COMM_WORLD);
  MPI_Wait(&r[0], &s);
  CHECK_STATUS(s, left_of(me, np), 3, 1, MPI_INT);
  CHECK_EQ(world_in, 7 * left_of(me, np));
}

static void pairs(int bytes) {
  char *out, *in;
  MPI_Status s;
  MPI_Message message;
  if (my_rank >= remote) return;
  out = guarded_new((size_t)bytes);
  in = guarded_new((size_t)bytes);
  int other = 2 * my_rank + lower;
  fill_pattern(out, (size_t)bytes, me, other, bytes);
  MPI_Sendrecv(out, bytes, MPI_BYTE, my_rank, 4, in, bytes, MPI_BYTE, my_rank, 4, inter, &s);
  CHECK_STATUS(s, my_rank, 4, bytes, MPI_BYTE);
  VERIFY(in, (size_t)bytes, other, me, bytes);
  memset(in, 0, (size_t)bytes);
  MPI_Request r;
  MPI_Isend(out, bytes, MPI_BYTE, my_rank, 5, inter, &r);
  MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, inter, &s);
  CHECK_STATUS(s, my_rank, 5, bytes, MPI_BYTE);
  MPI_Mprobe(MPI_ANY_SOURCE, 5, inter, &message, &s);
  CHECK_STATUS(s, my_rank, 5, bytes, MPI_BYTE);
  MPI_Mrecv(in, bytes, MPI_BYTE, &message, &s);
  VERIFY(in, (size_t)bytes, other, me, bytes);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  GUARDED_FREE(out, (size_t)bytes);
  GUARDED_FREE(in, (size_t)bytes);
}

// The root is on one side, then on the other.
static void collectives(void) {
  for (int side = 0; side < 2; ++side) {
    int in_root_group = side == lower, root = in_root_group ? MPI_PROC_NULL : 0, word = -1, sum = -1;
    int* all = malloc((size_t)np * sizeof *all);
    if (in_root_group && my_rank == 0) root = MPI_ROOT;
    if (root == MPI_ROOT) word = 40 + side;
    MPI_Barrier(inter);
    MPI_Bcast(&word, 1, MPI_INT, root, inter);
    CHECK_EQ(word, !in_root_group || root == MPI_ROOT ? 40 + side : -1);
    MPI_Reduce(&me, &sum, 1, MPI_INT, MPI_SUM, root, inter);
    int want = 0;
    for (int i = 0; i < remote; ++i) want += 2 * i + lower;
    CHECK_EQ(sum, root == MPI_ROOT ? want : -1);
    MPI_Gather(&me, 1, MPI_INT, all, 1, MPI_INT, root, inter);
    for (int i = 0; i < remote && root == MPI_ROOT; ++i) CHECK_EQ(all[i], 2 * i + lower);
    sum = -1;
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, inter);
    CHECK_EQ(sum, want);
    free(all);
  }
}

CASE(intercomm) {
  if (np < 2) SKIP("needs two ranks");
  for (int round = 0; round < 5; ++round) {
    MPI_Comm whole;
    int odd = me % 2;
    lower = !odd;
    MPI_Comm_split(MPI_COMM_WORLD, odd, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, odd ? 0 : 1, 12, &inter);
    MPI_Comm_rank(inter, &my_rank);
    MPI_Comm_size(inter, &my_size);
    MPI_Comm_remote_size(inter, &remote);
    CHECK(my_size == (np + 1 - odd) / 2 && my_size + remote == np);
    point_to_point();
    pairs(0);
    pairs(100);
    pairs(200000);
    collectives();
    MPI_Intercomm_merge(inter, odd, &whole);
    comm_traffic(whole, round);
    MPI_Comm_free(&whole);
    MPI_Comm_free(&half);
    pairs(3000);
    MPI_Comm_free(&inter);
  }
}
