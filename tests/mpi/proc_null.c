// Every point-to-point function with MPI_PROC_NULL: it succeeds at once, leaves buffers alone, and receives
// and probes give source MPI_PROC_NULL, tag MPI_ANY_TAG and count 0. probe.c has the probes.
#include "check.h"

static const int nobody = MPI_PROC_NULL;

static void blocking(void) {
  int value = 17;
  MPI_Status s = spoiled_status();
  MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Send(&value, 1, MPI_INT, nobody, 1, comm);
  MPI_Bsend(&value, 1, MPI_INT, nobody, 1, comm);
  MPI_Ssend(&value, 1, MPI_INT, nobody, 1, comm);
  MPI_Rsend(&value, 1, MPI_INT, nobody, 1, comm);
  MPI_Recv(&value, 1, MPI_INT, nobody, 1, comm, &s);
  CHECK_STATUS(s, MPI_PROC_NULL, MPI_ANY_TAG, 0, MPI_INT);
  s = spoiled_status();
  MPI_Recv(&value, 1, MPI_INT, nobody, MPI_ANY_TAG, comm, &s);
  CHECK_STATUS(s, MPI_PROC_NULL, MPI_ANY_TAG, 0, MPI_INT);
  MPI_Recv(&value, 1, MPI_INT, nobody, 1, comm, MPI_STATUS_IGNORE);
  s = spoiled_status();
  MPI_Sendrecv(&value, 1, MPI_INT, nobody, 1, &value, 1, MPI_INT, nobody, 1, comm, &s);
  CHECK_STATUS(s, MPI_PROC_NULL, MPI_ANY_TAG, 0, MPI_INT);
  s = spoiled_status();
  MPI_Sendrecv_replace(&value, 1, MPI_INT, nobody, 1, nobody, 1, comm, &s);
  CHECK_STATUS(s, MPI_PROC_NULL, MPI_ANY_TAG, 0, MPI_INT);
  CHECK_EQ(value, 17);
}

static void nonblocking(void) {
  int value = 17, flag = 0, index = -1;
  MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Request r[6];
  MPI_Status s[6];
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 6; ++i) s[i] = spoiled_status();
    MPI_Isend(&value, 1, MPI_INT, nobody, 1, comm, &r[0]);
    MPI_Ibsend(&value, 1, MPI_INT, nobody, 1, comm, &r[1]);
    MPI_Issend(&value, 1, MPI_INT, nobody, 1, comm, &r[2]);
    MPI_Irsend(&value, 1, MPI_INT, nobody, 1, comm, &r[3]);
    MPI_Irecv(&value, 1, MPI_INT, nobody, 1, comm, &r[4]);
    MPI_Irecv(&value, 1, MPI_INT, nobody, MPI_ANY_TAG, comm, &r[5]);
    if (round == 0) {
      MPI_Waitall(6, r, s);
    } else if (round == 1) {
      for (int i = 0; i < 6; ++i) MPI_Wait(&r[i], &s[i]);
    } else if (round == 2) {
      for (int i = 0; i < 6; ++i)
        for (flag = 0; !flag;) MPI_Test(&r[i], &flag, &s[i]);
    } else {
      MPI_Waitany(2, r + 4, &index, &s[4]);
      CHECK(index == 0 || index == 1);
      MPI_Waitany(2, r + 4, &index, &s[5]);
      for (int i = 0; i < 4; ++i) MPI_Request_free(&r[i]);
    }
    CHECK_STATUS(s[4], MPI_PROC_NULL, MPI_ANY_TAG, 0, MPI_INT);
    CHECK_STATUS(s[5], MPI_PROC_NULL, MPI_ANY_TAG, 0, MPI_INT);
    for (int i = 0; i < 6; ++i) CHECK(r[i] == MPI_REQUEST_NULL);
  }
  CHECK_EQ(value, 17);
}

static void persistent(void) {
  int value = 17;
  MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Request r[5];
  MPI_Status s[5];
  MPI_Send_init(&value, 1, MPI_INT, nobody, 1, comm, &r[0]);
  MPI_Bsend_init(&value, 1, MPI_INT, nobody, 1, comm, &r[1]);
  MPI_Ssend_init(&value, 1, MPI_INT, nobody, 1, comm, &r[2]);
  MPI_Rsend_init(&value, 1, MPI_INT, nobody, 1, comm, &r[3]);
  MPI_Recv_init(&value, 1, MPI_INT, nobody, 1, comm, &r[4]);
  for (int round = 0; round < 3; ++round) {
    s[4] = spoiled_status();
    MPI_Startall(5, r);
    MPI_Waitall(5, r, s);
    // MPICH 4.0 gives an empty status.
    CHECK_STATUS(s[4], over_mpich() ? MPI_ANY_SOURCE : MPI_PROC_NULL, MPI_ANY_TAG, 0, MPI_INT);
    for (int i = 0; i < 5; ++i) CHECK(r[i] != MPI_REQUEST_NULL);
  }
  MPI_Start(&r[4]);
  MPI_Wait(&r[4], &s[4]);
  for (int i = 0; i < 5; ++i) MPI_Request_free(&r[i]);
  CHECK_EQ(value, 17);
}

// Messages with MPI_PROC_NULL do not mix with others.
static void beside_others(void) {
  int in[3] = {-1, -1, -1}, out = me;
  MPI_Request r[6];
  MPI_Status s[6];
  MPI_Irecv(&in[0], 1, MPI_INT, nobody, 2, MPI_COMM_WORLD, &r[0]);
  MPI_Irecv(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &r[1]);
  MPI_Irecv(&in[2], 1, MPI_INT, nobody, MPI_ANY_TAG, MPI_COMM_WORLD, &r[2]);
  MPI_Isend(&out, 1, MPI_INT, nobody, 2, MPI_COMM_WORLD, &r[3]);
  MPI_Isend(&out, 1, MPI_INT, right_of(me, np), 2, MPI_COMM_WORLD, &r[4]);
  MPI_Isend(&out, 1, MPI_INT, nobody, 2, MPI_COMM_WORLD, &r[5]);
  MPI_Waitall(6, r, s);
  CHECK(in[0] == -1 && in[1] == left_of(me, np) && in[2] == -1);
  CHECK_STATUS(s[0], MPI_PROC_NULL, MPI_ANY_TAG, 0, MPI_INT);
  CHECK_STATUS(s[1], left_of(me, np), 2, 1, MPI_INT);
}

CASE(proc_null) {
  static char space[100 + MPI_BSEND_OVERHEAD];
  void* detached;
  int size;
  MPI_Buffer_attach(space, sizeof space);
  blocking();
  nonblocking();
  persistent();
  MPI_Buffer_detach(&detached, &size);
  beside_others();
}
