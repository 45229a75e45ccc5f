// MPI_Wtime never goes back and always advances, even without other calls; MPI_Wtick is positive; time
// advances across messages.
#include "check.h"

CASE(wtime) {
  double start = MPI_Wtime(), last = start;
  CHECK(MPI_Wtick() > 0 && MPI_Wtick() <= 1);
  for (int i = 0; i < 100000; ++i) {
    double now = MPI_Wtime();
    CHECK(now >= last);
    last = now;
  }
  for (int round = 0; round < 3; ++round) {
    double t0 = MPI_Wtime();
    long turns = 0;
    while (MPI_Wtime() - t0 < 1e-3) CHECK(++turns < 100000000);
  }
  // Time also advances with a poll in between that never succeeds.
  for (int way = 0; way < 4; ++way) {
    int flag = 0, index, count, indices[1];
    MPI_Request never;
    MPI_Irecv(&flag, 0, MPI_INT, me, 9, MPI_COMM_WORLD, &never);
    for (double t0 = MPI_Wtime(); MPI_Wtime() - t0 < 1e-4 && !flag;) {
      if (way == 0) MPI_Test(&never, &flag, MPI_STATUS_IGNORE);
      if (way == 1) MPI_Testany(1, &never, &index, &flag, MPI_STATUS_IGNORE);
      if (way == 2) MPI_Testsome(1, &never, &count, indices, MPI_STATUSES_IGNORE);
      if (way == 3) MPI_Iprobe(me, 8, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    CHECK(!flag);
    MPI_Cancel(&never);
    MPI_Wait(&never, MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < 100; ++i) {
    int got = -1;
    double before = MPI_Wtime();
    MPI_Sendrecv(&i, 1, MPI_INT, right_of(me, np), 1, &got, 1, MPI_INT, left_of(me, np), 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK(MPI_Wtime() >= before && got == i);
  }
  // Waiting for a late message, and polling for one, take time too.
  double wait = MPI_Wtime();
  if (me == 0)
    while (MPI_Wtime() - wait < 2e-3) {
    }
  for (int to = 1; to < np && me == 0; ++to) MPI_Send(&me, 1, MPI_INT, to, 2, MPI_COMM_WORLD);
  for (int flag = 0; me != 0 && !flag;) MPI_Iprobe(0, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  int word;
  if (me != 0) MPI_Recv(&word, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(MPI_Wtime() > start);
}
