// Large messages outstanding while a rank is in a call that blocks for other reasons: collectives,
// communicator and window construction, fences. Each rank of a pair plays both parts:
//   A: Isend, blocking call, Wait against Recv, blocking call
//   B: Send, blocking call against Irecv, blocking call, Wait
//   C: Isend, blocking call, Wait against Irecv, blocking call, Wait
#include "check.h"

enum { bytes = 8 << 20 };

static char* buf;
static MPI_Win shared;

static void barrier(void) {
  MPI_Barrier(MPI_COMM_WORLD);
}

static void split(void) {
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &comm);
  MPI_Comm_free(&comm);
}

static void dup(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_free(&comm);
}

static void cart(void) {
  MPI_Comm comm;
  int dims[1] = {np}, periods[1] = {0};
  MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm);
  MPI_Comm_free(&comm);
}

static void disconnect(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_disconnect(&comm);
}

static void window(void) {
  static int cell;
  MPI_Win win;
  MPI_Win_create(&cell, sizeof cell, sizeof cell, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_free(&win);
}

static void fence(void) {
  MPI_Win_fence(0, shared);
}

static void allreduce(void) {
  int one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK_EQ(sum, np);
}

static void bcast_and_reduce(void) {
  int word = me, sum = 0;
  for (int root = 0; root < np; ++root) {
    word = me;
    MPI_Bcast(&word, 1, MPI_INT, root, MPI_COMM_WORLD);
    CHECK_EQ(word, root);
    MPI_Reduce(&me, &sum, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
  }
}

static void nonblocking_collective(void) {
  MPI_Request r;
  MPI_Ibarrier(MPI_COMM_WORLD, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
}

// Ranks in pairs; a rank without a partner only makes the blocking call.
static void pair(char variant, int even_sends, void (*blocking)(void)) {
  int other = me ^ 1, sends = (me % 2 == 0) == even_sends;
  MPI_Request r;
  if (other >= np) {
    blocking();
    return;
  }
  if (sends) {
    fill_pattern(buf, bytes, me, other, variant);
    if (variant == 'B') MPI_Send(buf, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD);
    if (variant != 'B') MPI_Isend(buf, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, &r);
    blocking();
    if (variant != 'B') MPI_Wait(&r, MPI_STATUS_IGNORE);
    return;
  }
  memset(buf, 0, 4096);
  if (variant == 'A') MPI_Recv(buf, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (variant != 'A') MPI_Irecv(buf, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, &r);
  blocking();
  if (variant != 'A') MPI_Wait(&r, MPI_STATUS_IGNORE);
  VERIFY(buf, bytes, other, me, variant);
}

// Rank 0 enters the call late, after messages with all ranks that are in it or will be.
static void late_root(void (*blocking)(void)) {
  MPI_Request r = MPI_REQUEST_NULL;
  if (me == 0) {
    for (int from = 1; from < np; ++from) {
      MPI_Recv(buf, bytes / 4, MPI_BYTE, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      VERIFY(buf, bytes / 4, from, 0, 2);
    }
  } else {
    fill_pattern(buf, bytes / 4, me, 0, 2);
    MPI_Isend(buf, bytes / 4, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &r);
  }
  blocking();
  MPI_Wait(&r, MPI_STATUS_IGNORE);
}

CASE(native_blocking) {
  void (*const calls[])(void) = {barrier,    split,
                                 dup,        cart,
                                 disconnect, window,
                                 allreduce,  bcast_and_reduce,
                                 fence,      nonblocking_collective};
  static int cell;
  if (np < 2) SKIP("needs two ranks");
  buf = malloc(bytes);
  MPI_Win_create(&cell, sizeof cell, sizeof cell, MPI_INFO_NULL, MPI_COMM_WORLD, &shared);
  MPI_Win_fence(0, shared);
  for (size_t c = 0; c < sizeof calls / sizeof *calls; ++c) {
    for (int variant = 'A'; variant <= 'C'; ++variant) {
      pair((char)variant, c % 2 == 0, calls[c]);
      if (c < 2) pair((char)variant, c % 2 != 0, calls[c]);
    }
    late_root(calls[c]);
  }
  MPI_Win_free(&shared);
  free(buf);
}
