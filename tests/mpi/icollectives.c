// Ibcast, Ireduce and Igather: several in flight, on one and on two communicators, with point-to-point
// messages among them, completed in other orders than started, small and large, IN_PLACE; a rank that
// completes its own part first still serves the others.
#include "check.h"

enum { n = 6, longest = 300000 };

static char *word[n], *mine[n], *all[n];
static int *in, *out;
static int right, left;

static void start(MPI_Comm comm, int bytes, int round, int i, MPI_Request r[3]) {
  int root = (round + i) % np, ints = bytes / 4, part = bytes / np;
  int* values = (int*)mine[i];
  for (int k = 0; k < ints; ++k) values[k] = me * 3 + k + i;
  if (me == root) fill_pattern(word[i], (size_t)bytes, root, i, round);
  MPI_Ibcast(word[i], bytes, MPI_BYTE, root, comm, &r[0]);
  MPI_Ireduce(mine[i], me == root ? all[i] : NULL, ints, MPI_INT, MPI_SUM, root, comm, &r[1]);
  char* gathered = all[i] + longest;
  fill_pattern(mine[i] + longest, (size_t)part, me, root, i);
  if (me == root && i % 2) {
    memcpy(gathered + me * part, mine[i] + longest, (size_t)part);
    MPI_Igather(MPI_IN_PLACE, 0, MPI_BYTE, gathered, part, MPI_BYTE, root, comm, &r[2]);
  } else {
    MPI_Igather(mine[i] + longest, part, MPI_BYTE, gathered, part, MPI_BYTE, root, comm, &r[2]);
  }
}

static void verify(int bytes, int round, int i) {
  int root = (round + i) % np, ints = bytes / 4, part = bytes / np;
  VERIFY(word[i], (size_t)bytes, root, i, round);
  if (me != root) return;
  for (int k = 0; k < ints; ++k) CHECK_EQ(((int*)all[i])[k], 3 * np * (np - 1) / 2 + np * (k + i));
  for (int rank = 0; rank < np; ++rank) VERIFY(all[i] + longest + rank * part, (size_t)part, rank, root, i);
}

static void messages(MPI_Comm comm, int i, MPI_Request r[2]) {
  out[i] = me * 100 + i;
  in[i] = -1;
  MPI_Irecv(&in[i], 1, MPI_INT, i % 2 ? MPI_ANY_SOURCE : left, i, comm, &r[0]);
  MPI_Isend(&out[i], 1, MPI_INT, right, i, comm, &r[1]);
}

static void complete(int round, MPI_Request* r, int count) {
  int index;
  if (round % 4 == 0) MPI_Waitall(count, r, MPI_STATUSES_IGNORE);
  for (int k = count - 1; k >= 0 && round % 4 == 1; --k) MPI_Wait(&r[k], MPI_STATUS_IGNORE);
  for (int k = 0; k < count && round % 4 == 2; ++k) MPI_Waitany(count, r, &index, MPI_STATUS_IGNORE);
  for (int k = 0; k < count && round % 4 == 3; ++k)  // every rank in another order
    MPI_Wait(&r[(k * 7 + me * 5) % count], MPI_STATUS_IGNORE);
}

static void flight(MPI_Comm first, MPI_Comm second, int bytes, int round) {
  MPI_Request r[5 * n + 1];
  for (int i = 0; i < n; ++i) {
    MPI_Comm comm = i % 2 ? second : first;
    if (i % 3 == 0) messages(comm, i, &r[5 * i + 3]);
    start(comm, bytes, round, i, &r[5 * i]);
    if (i % 3 != 0) messages(comm, i, &r[5 * i + 3]);
  }
  MPI_Ibarrier(first, &r[5 * n]);
  complete(round, r, 5 * n + 1);
  for (int i = 0; i < n; ++i) {
    CHECK_EQ(in[i], left * 100 + i);
    verify(bytes, round, i);
  }
}

// Blocking traffic while a nonblocking collective is open; some ranks complete it much later.
static void left_open(int round) {
  MPI_Request r[3];
  start(MPI_COMM_WORLD, 50000, round, 0, r);
  if (me % 2) MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
  comm_traffic(MPI_COMM_WORLD, round);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me % 2 == 0) MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
  verify(50000, round, 0);
}

CASE(icollectives) {
  static const int sizes[] = {0, 8, 400, 4000, 20000, longest};
  MPI_Comm dup;
  right = right_of(me, np);
  left = left_of(me, np);
  in = malloc(n * sizeof *in);
  out = malloc(n * sizeof *out);
  for (int i = 0; i < n; ++i) {
    word[i] = malloc(longest);
    mine[i] = malloc(2 * longest);
    all[i] = malloc(2 * longest + (size_t)np);
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  for (int s = 0; s < 6; ++s)
    for (int round = 0; round < 8; ++round)
      flight(MPI_COMM_WORLD, round < 4 ? MPI_COMM_WORLD : dup, sizes[s], round);
  for (int round = 0; round < 10; ++round) left_open(round);
  MPI_Comm_free(&dup);
  for (int i = 0; i < n; ++i) {
    free(word[i]);
    free(mine[i]);
    free(all[i]);
  }
  free(in);
  free(out);
}
