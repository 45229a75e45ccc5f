// Messages of a rank to itself by every kind of call, beside messages between the ranks.
#include "check.h"

static void blocking(size_t bytes) {
  char* out = guarded_new(bytes);
  char* in = guarded_new(bytes);
  fill_pattern(out, bytes, me, me, 1);
  MPI_Sendrecv(out, (int)bytes, MPI_CHAR, me, 1, in, (int)bytes, MPI_CHAR, me, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  VERIFY(in, bytes, me, me, 1);
  GUARDED_FREE(out, bytes);
  GUARDED_FREE(in, bytes);
}

/// Either the receive or the send comes first.
static void nonblocking(int receive_first, int synchronous) {
  int out = 100 + me;
  int in = -1;
  MPI_Request requests[2];
  if (receive_first) MPI_Irecv(&in, 1, MPI_INT, me, 2, MPI_COMM_WORLD, &requests[0]);
  if (synchronous)
    MPI_Issend(&out, 1, MPI_INT, me, 2, MPI_COMM_WORLD, &requests[1]);
  else
    MPI_Isend(&out, 1, MPI_INT, me, 2, MPI_COMM_WORLD, &requests[1]);
  if (!receive_first) MPI_Irecv(&in, 1, MPI_INT, me, 2, MPI_COMM_WORLD, &requests[0]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK_EQ(in, 100 + me);
}

static void persistent(void) {
  int out = 0;
  int in = -1;
  MPI_Request requests[2];
  MPI_Send_init(&out, 1, MPI_INT, me, 3, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(&in, 1, MPI_INT, me, 3, MPI_COMM_WORLD, &requests[1]);
  for (int round = 0; round < 3; ++round) {
    out = round;
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK_EQ(in, round);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

static void around(void) {
  const int left = left_of(me, np);
  int in = -1;
  MPI_Sendrecv(&me, 1, MPI_INT, right_of(me, np), 4, &in, 1, MPI_INT, left, 4, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  CHECK_EQ(in, left);
}

/// Each also carries a rank's own block to itself.
static void collectives(MPI_Comm comm) {
  int members = 0;
  int self = 0;
  MPI_Comm_size(comm, &members);
  MPI_Comm_rank(comm, &self);
  int* out = malloc((size_t)members * sizeof(int));
  int* in = malloc((size_t)members * sizeof(int));
  for (int i = 0; i < members; ++i) out[i] = 10 * self + i;
  MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm);
  for (int i = 0; i < members; ++i) CHECK_EQ(in[i], 10 * i + self);
  MPI_Allgather(out, 1, MPI_INT, in, 1, MPI_INT, comm);
  for (int i = 0; i < members; ++i) CHECK_EQ(in[i], 10 * i);
  MPI_Gather(&self, 1, MPI_INT, in, 1, MPI_INT, 0, comm);
  MPI_Scatter(in, 1, MPI_INT, out, 1, MPI_INT, 0, comm);
  CHECK_EQ(out[0], self);
  int sum = 0;
  MPI_Allreduce(&self, &sum, 1, MPI_INT, MPI_SUM, comm);
  CHECK_EQ(sum, members * (members - 1) / 2);
  free(out);
  free(in);
}

CASE(self_messages) {
  blocking(0);
  blocking(8);
  blocking(100000);
  for (int kind = 0; kind < 4; ++kind) nonblocking(kind & 1, kind & 2);
  persistent();
  around();
  collectives(MPI_COMM_WORLD);
  collectives(MPI_COMM_SELF);
}
