// Traffic (named messages and Bcast) on communicators from dup, dup_with_info, idup, split, split_type,
// create and create_group; equal tags on different communicators never mix, not even for wildcards; ranks
// reversed by the split key; MPI_COMM_SELF; comparison and translation of ranks.
#include "check.h"

static void finished(MPI_Comm* comm, int mark) {
  comm_traffic(*comm, mark);
  comm_traffic(MPI_COMM_WORLD, mark + 1000);
  MPI_Comm_free(comm);
  CHECK(*comm == MPI_COMM_NULL);
}

static void dups(void) {
  MPI_Comm comm, second;
  MPI_Request r;
  MPI_Info info;
  int result;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
  CHECK_EQ(result, MPI_CONGRUENT);
  MPI_Comm_dup(comm, &second);
  finished(&comm, 1);
  finished(&second, 2);  // outlives what it was made from
  MPI_Info_create(&info);
  MPI_Info_set(info, "colour", "green");
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
  MPI_Info_free(&info);
  finished(&comm, 3);
  MPI_Comm_idup(MPI_COMM_WORLD, &comm, &r);
  comm_traffic(MPI_COMM_WORLD, 4);  // while the new one is being made
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  finished(&comm, 5);
}

static void splits(void) {
  MPI_Comm comm;
  int rank, size;
  MPI_Comm_split(MPI_COMM_WORLD, 7, -me, &comm);
  MPI_Comm_rank(comm, &rank);
  CHECK_EQ(rank, np - 1 - me);
  CHECK_EQ(world_rank(comm, 0), np - 1);
  finished(&comm, 10);
  MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &comm);
  MPI_Comm_size(comm, &size);
  CHECK_EQ(size, (np + 1 - me % 2) / 2);
  finished(&comm, 11);
  MPI_Comm_split(MPI_COMM_WORLD, me == 0 ? MPI_UNDEFINED : 1, (me * 5) % np, &comm);
  CHECK((comm == MPI_COMM_NULL) == (me == 0));
  if (me != 0) comm_traffic(comm, 12), MPI_Comm_free(&comm);
  MPI_Comm_split(MPI_COMM_WORLD, me, 0, &comm);  // each rank alone
  finished(&comm, 13);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -me, MPI_INFO_NULL, &comm);
  finished(&comm, 14);
}

static void groups(void) {
  MPI_Group world, odd, turned;
  MPI_Comm comm;
  int *order = malloc((size_t)np * sizeof *order), range[1][3] = {{np > 1 ? 1 : 0, np - 1, 2}};
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  for (int i = 0; i < np; ++i) order[i] = (i + 1) % np;
  MPI_Group_incl(world, np, order, &turned);
  MPI_Group_range_incl(world, 1, range, &odd);
  MPI_Comm_create(MPI_COMM_WORLD, turned, &comm);
  CHECK_EQ(world_rank(comm, 0), 1 % np);
  finished(&comm, 20);
  MPI_Comm_create(MPI_COMM_WORLD, odd, &comm);
  if (comm != MPI_COMM_NULL) comm_traffic(comm, 21), MPI_Comm_free(&comm);
  if (me % 2 == 1) {  // only members call this one
    MPI_Comm_create_group(MPI_COMM_WORLD, odd, 33, &comm);
    comm_traffic(comm, 22);
    MPI_Comm_free(&comm);
  }
  MPI_Comm_create_group(MPI_COMM_WORLD, turned, 34, &comm);
  finished(&comm, 23);
  MPI_Group_free(&world);
  MPI_Group_free(&turned);
  MPI_Group_free(&odd);
  free(order);
}

// One message on each of several communicators, same source and tag, received in the opposite order.
static void no_mixing(int wild) {
  enum { n = 8 };
  MPI_Comm comms[n];
  MPI_Request r[2 * n];
  MPI_Status s[2 * n];
  int out[n], in[n];
  for (int c = 0; c < n; ++c) MPI_Comm_dup(c ? comms[c - 1] : MPI_COMM_WORLD, &comms[c]);
  for (int c = 0; c < n; ++c) {
    out[c] = me * 100 + c;
    MPI_Isend(&out[c], 1, MPI_INT, right_of(me, np), 5, comms[c], &r[n + c]);
  }
  for (int c = n - 1; c >= 0; --c)
    MPI_Irecv(&in[c], 1, MPI_INT, wild ? MPI_ANY_SOURCE : left_of(me, np), wild ? MPI_ANY_TAG : 5, comms[c],
              &r[c]);
  MPI_Waitall(2 * n, r, s);
  for (int c = 0; c < n; ++c) {
    CHECK_EQ(in[c], left_of(me, np) * 100 + c);
    CHECK_STATUS(s[c], left_of(me, np), 5, 1, MPI_INT);
    MPI_Comm_free(&comms[c]);
  }
}

// Sources and destinations count in the communicator's ranks, so does the status.
static void reversed_ranks(void) {
  MPI_Comm comm;
  MPI_Status s;
  int rank, other;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &comm);
  MPI_Comm_rank(comm, &rank);
  for (int from = 0; from < np; ++from)
    for (int to = 0; to < np; ++to) {
      MPI_Request r = MPI_REQUEST_NULL;
      if (rank == from) MPI_Isend(&me, 1, MPI_INT, to, from, comm, &r);
      if (rank == to) {
        MPI_Recv(&other, 1, MPI_INT, MPI_ANY_SOURCE, from, comm, &s);
        CHECK_STATUS(s, from, from, 1, MPI_INT);
        CHECK_EQ(other, np - 1 - from);
      }
      MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
  MPI_Comm_free(&comm);
}

static void to_oneself(MPI_Comm comm, int rank) {
  enum { n = 100000 };
  char *out = guarded_new(n), *in = guarded_new(n), buffer[1000 + MPI_BSEND_OVERHEAD], *detached;
  MPI_Request r[2];
  MPI_Status s;
  int size;
  for (int bytes = 1; bytes <= n; bytes *= 10) {
    fill_pattern(out, (size_t)bytes, rank, rank, bytes);
    MPI_Isend(out, bytes, MPI_BYTE, rank, 1, comm, &r[0]);
    MPI_Irecv(in, n, MPI_BYTE, rank, 1, comm, &r[1]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Wait(&r[1], &s);
    CHECK_STATUS(s, rank, 1, bytes, MPI_BYTE);
    VERIFY(in, (size_t)bytes, rank, rank, bytes);
    memset(in, 0, (size_t)bytes);
    MPI_Sendrecv(out, bytes, MPI_BYTE, rank, 2, in, n, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &s);
    CHECK_STATUS(s, rank, 2, bytes, MPI_BYTE);
    VERIFY(in, (size_t)bytes, rank, rank, bytes);
  }
  MPI_Buffer_attach(buffer, sizeof buffer);
  fill_pattern(out, 1000, rank, rank, 9);
  MPI_Bsend(out, 1000, MPI_BYTE, rank, 3, comm);
  MPI_Recv(in, n, MPI_BYTE, rank, 3, comm, &s);
  VERIFY(in, 1000, rank, rank, 9);
  MPI_Buffer_detach(&detached, &size);
  GUARDED_FREE(out, n);
  GUARDED_FREE(in, n);
}

CASE(communicators) {
  dups();
  splits();
  groups();
  no_mixing(0);
  no_mixing(1);
  reversed_ranks();
  to_oneself(MPI_COMM_SELF, 0);
  to_oneself(MPI_COMM_WORLD, me);
}
