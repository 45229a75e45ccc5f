// The status of a request that is null or inactive: the standard's empty status in all fields, for any
// previous contents. Also outputs that a call defines although nothing has completed.
#include "check.h"

enum { kMarked = 0x5A5A5A5A };

// The standard's empty status has MPI_SUCCESS, but its list of calls that set the field omits it. Open MPI
// 4.1 leaves the error unchanged, MPICH 4.0 in lists, too.
static void check_empty(const MPI_Status* s) {
  CHECK_EMPTY(*s);
  if (offramp_carries()) CHECK_EQ(s->MPI_ERROR, MPI_SUCCESS);
}
static void check_empty_of_list(const MPI_Status* s) {
  CHECK_EMPTY(*s);
  if (!mpich_alone()) CHECK_EQ(s->MPI_ERROR, MPI_SUCCESS);
}

// Every call for a single request. `request` is null or inactive, and does not change.
static void single(MPI_Request request) {
  MPI_Request r = request;
  int flag = 0;
  MPI_Status s = spoiled_status();
  MPI_Request_get_status(r, &flag, &s);
  CHECK(flag);
  check_empty(&s);
  s = spoiled_status();
  flag = 0;
  MPI_Test(&r, &flag, &s);
  CHECK(flag && r == request);
  check_empty(&s);
  s = spoiled_status();
  MPI_Wait(&r, &s);
  CHECK(r == request);
  check_empty(&s);
}

// Every call for lists, with inactive requests only.
static void lists(MPI_Request a, MPI_Request b) {
  MPI_Request r[2] = {a, b};
  MPI_Status s = spoiled_status(), many[2];
  int index = 7, flag = 0, count = 7, indices[2] = {7, 7};
  MPI_Waitany(2, r, &index, &s);
  CHECK_EQ(index, MPI_UNDEFINED);
  check_empty(&s);
  s = spoiled_status();
  index = 7;
  MPI_Testany(2, r, &index, &flag, &s);
  CHECK(flag && index == MPI_UNDEFINED);
  if (!mpich_alone()) check_empty(&s);  // MPICH 4.0 forgets it here
  many[0] = many[1] = spoiled_status();
  MPI_Waitall(2, r, many);
  for (int i = 0; i < 2; ++i) check_empty_of_list(&many[i]);
  many[0] = many[1] = spoiled_status();
  flag = 0;
  MPI_Testall(2, r, &flag, many);
  CHECK(flag);
  for (int i = 0; i < 2; ++i) check_empty_of_list(&many[i]);
  MPI_Waitsome(2, r, &count, indices, many);
  CHECK_EQ(count, MPI_UNDEFINED);
  count = 7;
  MPI_Testsome(2, r, &count, indices, many);
  CHECK_EQ(count, MPI_UNDEFINED);
  CHECK(r[0] == a && r[1] == b);
}

// Outputs that the standard defines although nothing has completed.
static void not_yet(void) {
  MPI_Request r;
  MPI_Message message;
  MPI_Status s;
  int in = 0, flag = 7, index = 7, count = 7, indices[1];
  MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &r);
  MPI_Test(&r, &flag, &s);
  CHECK_EQ(flag, 0);
  flag = 7;
  MPI_Testany(1, &r, &index, &flag, &s);
  CHECK(flag == 0 && index == MPI_UNDEFINED);
  MPI_Testsome(1, &r, &count, indices, &s);
  CHECK_EQ(count, 0);
  flag = 7;
  MPI_Request_get_status(r, &flag, &s);
  CHECK_EQ(flag, 0);
  flag = 7;
  MPI_Iprobe(MPI_ANY_SOURCE, 78, MPI_COMM_WORLD, &flag, &s);
  CHECK_EQ(flag, 0);
  flag = 7;
  MPI_Improbe(MPI_ANY_SOURCE, 78, MPI_COMM_WORLD, &flag, &message, &s);
  CHECK_EQ(flag, 0);
  MPI_Barrier(MPI_COMM_WORLD);  // all have polled before the first send
  MPI_Send(&me, 1, MPI_INT, right_of(me, np), 77, MPI_COMM_WORLD);
  for (flag = 0; !flag;) MPI_Request_get_status(r, &flag, &s);
  CHECK_STATUS(s, left_of(me, np), 77, 1, MPI_INT);
  CHECK(r != MPI_REQUEST_NULL && in == left_of(me, np));
  MPI_Wait(&r, &s);
  CHECK_STATUS(s, left_of(me, np), 77, 1, MPI_INT);
}

// A single completion leaves the status's error unchanged, as natively.
static void error_stays(void) {
  MPI_Request r;
  MPI_Status s = spoiled_status();
  int in = 0;
  MPI_Irecv(&in, 1, MPI_INT, left_of(me, np), 5, MPI_COMM_WORLD, &r);
  MPI_Send(&me, 1, MPI_INT, right_of(me, np), 5, MPI_COMM_WORLD);
  MPI_Wait(&r, &s);
  CHECK_STATUS(s, left_of(me, np), 5, 1, MPI_INT);
  CHECK_EQ(s.MPI_ERROR, kMarked);
  s = spoiled_status();
  MPI_Send(&me, 1, MPI_INT, right_of(me, np), 6, MPI_COMM_WORLD);
  MPI_Probe(left_of(me, np), 6, MPI_COMM_WORLD, &s);
  CHECK_EQ(s.MPI_ERROR, kMarked);
  MPI_Recv(&in, 1, MPI_INT, left_of(me, np), 6, MPI_COMM_WORLD, &s);
  CHECK_EQ(s.MPI_ERROR, kMarked);
}

CASE(empty_status) {
  MPI_Request send, receive, nobody;
  MPI_Send_init(&np, 1, MPI_INT, me, 1, MPI_COMM_WORLD, &send);
  MPI_Recv_init(&np, 1, MPI_INT, me, 1, MPI_COMM_WORLD, &receive);
  MPI_Recv_init(&np, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &nobody);
  single(MPI_REQUEST_NULL);
  single(send);
  single(receive);
  single(nobody);
  lists(MPI_REQUEST_NULL, MPI_REQUEST_NULL);
  lists(send, MPI_REQUEST_NULL);
  lists(receive, nobody);
  MPI_Request_free(&send);
  MPI_Request_free(&receive);
  MPI_Request_free(&nobody);
  not_yet();
  if (!mpich_alone()) error_stays();  // MPICH 4.0 sets it
}
