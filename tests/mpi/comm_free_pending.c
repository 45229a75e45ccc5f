// Communicators freed while receives and sends on them are pending: the operations complete later, and new
// communicators, which may reuse their identifiers, are not affected. Comm_disconnect.
#include "check.h"

enum { late = 4 };

static int right, left;

static void pending(int bytes, int send_first) {
  MPI_Comm comm, between[late];
  MPI_Request r[2];
  MPI_Status s[2];
  char *in = guarded_new((size_t)bytes), *out = guarded_new((size_t)bytes);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  fill_pattern(out, (size_t)bytes, me, right, bytes);

  if (send_first) MPI_Isend(out, bytes, MPI_BYTE, right, 1, comm, &r[1]);
  if (send_first) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Irecv(in, bytes, MPI_BYTE, left, 1, comm, &r[0]);
  if (!send_first) MPI_Barrier(MPI_COMM_WORLD);
  if (!send_first) MPI_Isend(out, bytes, MPI_BYTE, right, 1, comm, &r[1]);
  MPI_Comm_free(&comm);
  CHECK(comm == MPI_COMM_NULL);
  for (int i = 0; i < late; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &between[i]);
    comm_traffic(between[i], i);
  }
  MPI_Waitall(2, r, s);
  CHECK_STATUS(s[0], left, 1, bytes, MPI_BYTE);
  VERIFY(in, (size_t)bytes, left, me, bytes);
  for (int i = 0; i < late; ++i) {
    comm_traffic(between[i], i);
    MPI_Comm_free(&between[i]);
  }
  GUARDED_FREE(in, (size_t)bytes);
  GUARDED_FREE(out, (size_t)bytes);
}

// Freed between start and match of messages of both protocols: one send has completed, one has not.
static void receives_first(void) {
  MPI_Comm comm, other;
  MPI_Request r[3];
  int in[2] = {-1, -1}, out = me * 3, got = -1;
  MPI_Status s;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Irecv(&in[0], 1, MPI_INT, left, 2, comm, &r[0]);
  MPI_Irecv(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, 3, comm, &r[1]);
  MPI_Isend(&out, 1, MPI_INT, right, 2, comm, &r[2]);
  MPI_Wait(&r[2], MPI_STATUS_IGNORE);
  MPI_Isend(&out, 1, MPI_INT, right, 3, comm, &r[2]);
  MPI_Comm_free(&comm);
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Sendrecv(&me, 1, MPI_INT, right, 2, &got, 1, MPI_INT, left, 2, other, MPI_STATUS_IGNORE);
  CHECK_EQ(got, left);
  MPI_Wait(&r[1], &s);
  CHECK_STATUS(s, left, 3, 1, MPI_INT);
  MPI_Wait(&r[0], &s);
  CHECK_STATUS(s, left, 2, 1, MPI_INT);
  CHECK(in[0] == left * 3 && in[1] == left * 3);
  MPI_Wait(&r[2], MPI_STATUS_IGNORE);
  MPI_Comm_free(&other);
}

// One rank may free it long before the other has received.
static void uneven(int bytes) {
  MPI_Comm comm, next;
  MPI_Request r;
  char* buf = malloc((size_t)bytes);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (me == 0 && np > 1) {
    fill_pattern(buf, (size_t)bytes, 0, 1, 4);
    MPI_Isend(buf, bytes, MPI_BYTE, 1, 4, comm, &r);
    MPI_Comm_free(&comm);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
  } else if (me == 1) {
    MPI_Recv(buf, bytes, MPI_BYTE, 0, 4, comm, MPI_STATUS_IGNORE);
    VERIFY(buf, (size_t)bytes, 0, 1, 4);
    MPI_Comm_free(&comm);
  } else {
    MPI_Comm_free(&comm);
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &next);
  comm_traffic(next, 5);
  MPI_Comm_free(&next);
  free(buf);
}

static void disconnect(int i) {
  MPI_Comm comm;
  int in = -1;
  MPI_Request r;
  MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 ? me : -me, &comm);
  comm_traffic(comm, i);
  int rank;
  MPI_Comm_rank(comm, &rank);
  MPI_Isend(&me, 1, MPI_INT, right_of(rank, np), 0, comm, &r);
  MPI_Recv(&in, 1, MPI_INT, left_of(rank, np), 0, comm, MPI_STATUS_IGNORE);
  CHECK_EQ(in, world_rank(comm, left_of(rank, np)));
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  const int inactive = !mpich_alone();  // its MPI_Comm_disconnect waits for ever
  if (inactive) MPI_Send_init(&me, 1, MPI_INT, right_of(rank, np), 1, comm, &r);
  MPI_Comm_disconnect(&comm);
  CHECK(comm == MPI_COMM_NULL);
  if (inactive) MPI_Request_free(&r);
}

CASE(comm_free_pending) {
  right = right_of(me, np);
  left = left_of(me, np);
  for (int i = 0; i < 4; ++i) {
    pending(8, i % 2);
    pending(4000, i % 2);
    pending(300000, i % 2);
    pending(2 << 20, i % 2);
    receives_first();
    uneven(100);
    uneven(1 << 20);
    disconnect(i);
  }
}
