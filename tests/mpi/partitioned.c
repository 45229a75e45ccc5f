// Partitioned communication, its requests in lists with those of messages and collectives.
// Ranks: at least 2.
#include "check.h"

#if MPI_VERSION >= 4 || (defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5)

enum { parts = 4, each = 100, rounds = 3, large = 1 << 18 };

static int out[parts * each], in[parts * each];

// The sender marks its partitions ready one by one, several at once, or by a list.
static void make_ready(int round, MPI_Request request) {
  if (round == 0)
    for (int i = parts - 1; i >= 0; --i) MPI_Pready(i, request);
  else if (round == 1)
    MPI_Pready_range(0, parts - 1, request);
  else
    MPI_Pready_list(parts, (int[]){2, 0, 3, 1}, request);
}

static void wait_in_way(int round, int count, MPI_Request* r) {
  int flag = 0, index, done = 0, indices[4];
  if (round == 0) {
    MPI_Waitall(count, r, MPI_STATUSES_IGNORE);
  } else if (round == 1) {
    for (int i = 0; i < count; ++i) {
      MPI_Waitany(count, r, &index, MPI_STATUS_IGNORE);
      CHECK(index >= 0 && index < count);
    }
  } else {
    while (!flag) {
      MPI_Testsome(count, r, &done, indices, MPI_STATUSES_IGNORE);
      flag = done == MPI_UNDEFINED;
    }
  }
}

// Around a ring; Offramp carries one half, the library the other. All ranks take part: for the first of these
// messages, the progress of Open MPI 5.0.7 makes communicators of all ranks, and waits for ranks that have
// none.
static void mixed(void) {
  static int token, got;
  MPI_Request r[4];
  const int right = right_of(me, np), left = left_of(me, np);
  MPI_Psend_init(out, parts, each, MPI_INT, right, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
  MPI_Precv_init(in, parts, each, MPI_INT, left, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]);
  MPI_Send_init(&token, 1, MPI_INT, right, 8, MPI_COMM_WORLD, &r[2]);
  MPI_Recv_init(&got, 1, MPI_INT, left, 8, MPI_COMM_WORLD, &r[3]);
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < parts * each; ++i) out[i] = 1000 * (me + round) + i, in[i] = -1;
    token = me + round;
    MPI_Startall(4, r);
    make_ready(round, r[0]);
    wait_in_way(round, 4, r);
    CHECK_EQ(got, left + round);
    for (int i = 0; i < parts * each; ++i) CHECK_EQ(in[i], 1000 * (left + round) + i);
  }
  for (int i = 0; i < 4; ++i) MPI_Request_free(&r[i]);
}

// While rank 1 polls for a partition, rank 0 sends it a message that is too long to complete without it.
static void asking(void) {
  static char long_out[large], long_in[large];
  MPI_Request r[2];
  int flag = 0;
  if (me == 0) {
    out[0] = 5;
    MPI_Psend_init(out, 1, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
    MPI_Start(&r[0]);
    fill_pattern(long_out, large, 0, 1, 3);
    MPI_Ssend(long_out, large, MPI_CHAR, 1, 3, MPI_COMM_WORLD);
    MPI_Pready(0, r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Request_free(&r[0]);
  } else if (me == 1) {
    in[0] = -1;
    MPI_Precv_init(in, 1, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
    MPI_Irecv(long_in, large, MPI_CHAR, 0, 3, MPI_COMM_WORLD, &r[1]);
    MPI_Start(&r[0]);
    while (!flag) MPI_Parrived(r[0], 0, &flag);
    CHECK_EQ(in[0], 5);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    VERIFY(long_in, large, 0, 1, 3);
    MPI_Request_free(&r[0]);
  }
}

// With Open MPI 5.0.7 such a message makes communicators of all ranks, so all send one.
static void to_itself(void) {
  MPI_Request r[2];
  MPI_Psend_init(out, parts, each, MPI_INT, me, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
  MPI_Precv_init(in, parts, each, MPI_INT, me, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]);
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < parts * each; ++i) out[i] = 100 * round + i, in[i] = -1;
    MPI_Startall(2, r);
    make_ready(round, r[0]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < parts * each; ++i) CHECK_EQ(in[i], 100 * round + i);
  }
  MPI_Request_free(&r[0]);
  MPI_Request_free(&r[1]);
}

CASE(partitioned) {
  if (np < 2) SKIP("partitioned communication needs two ranks");
#ifdef OPEN_MPI
  check_tolerated[left_comm] += 2;  // which the library makes for the whole request
#endif
  mixed();
  to_itself();
  asking();
  MPI_Barrier(MPI_COMM_WORLD);
}

#else

CASE(partitioned) {
  SKIP("this MPI library has no partitioned communication");
}

#endif
