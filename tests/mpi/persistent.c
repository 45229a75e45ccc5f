// Send_init, Bsend_init, Ssend_init, Rsend_init and Recv_init with Start and Startall over many rounds, mixed
// with ordinary calls at the other end; waiting for, testing and freeing inactive requests; Request_free
// while active.
#include "check.h"

enum { n = 6, rounds = 40, longest = 100000, tag = 30 };

static int sizes[n] = {0, 8, 1000, 5000, 100000, 40};
static char *in[n], *out[n];
static int right, left;

typedef int init_function(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

static void check_inactive(MPI_Request* r) {
  MPI_Status s = spoiled_status(), many[2] = {spoiled_status(), spoiled_status()};
  MPI_Request pair[2] = {*r, MPI_REQUEST_NULL};
  int flag = 0, index = 0, count = 0, indices[2];
  MPI_Wait(r, &s);
  CHECK_EMPTY(s);
  s = spoiled_status();
  MPI_Test(r, &flag, &s);
  CHECK(flag && *r != MPI_REQUEST_NULL);
  CHECK_EMPTY(s);
  flag = 0;
  s = spoiled_status();
  MPI_Request_get_status(*r, &flag, &s);
  CHECK(flag);
  CHECK_EMPTY(s);
  MPI_Waitall(2, pair, many);
  CHECK_EMPTY(many[0]);
  CHECK_EMPTY(many[1]);
  MPI_Waitany(2, pair, &index, &s);
  CHECK_EQ(index, MPI_UNDEFINED);
  MPI_Testany(2, pair, &index, &flag, &s);
  CHECK(flag && index == MPI_UNDEFINED);
  MPI_Waitsome(2, pair, &count, indices, many);
  CHECK_EQ(count, MPI_UNDEFINED);
  MPI_Testsome(2, pair, &count, indices, many);
  CHECK_EQ(count, MPI_UNDEFINED);
  MPI_Testall(2, pair, &flag, many);
  CHECK(flag && pair[0] == *r);
}

static void fill_round(int round) {
  for (int i = 0; i < n; ++i) {
    fill_pattern(out[i], (size_t)sizes[i], me, right, round * n + i);
    memset(in[i], 0, (size_t)sizes[i]);
  }
}

static void verify_round(int round, const MPI_Status* s) {
  for (int i = 0; i < n; ++i) {
    VERIFY(in[i], (size_t)sizes[i], left, me, round * n + i);
    if (s) CHECK_STATUS(s[i], left, tag + i, sizes[i], MPI_BYTE);
  }
}

static void finish_some(MPI_Request* r) {
  int count, indices[2 * n];
  MPI_Status s[2 * n];
  for (int left_over = 2 * n; left_over > 0; left_over -= count) {
    MPI_Waitsome(2 * n, r, &count, indices, s);
    CHECK(count > 0);
    for (int k = 0; k < count; ++k)
      if (indices[k] < n) CHECK_STATUS(s[k], left, tag + indices[k], sizes[indices[k]], MPI_BYTE);
  }
  MPI_Waitsome(2 * n, r, &count, indices, s);
  CHECK_EQ(count, MPI_UNDEFINED);
}

static void finish_any(MPI_Request* r) {
  int index, seen[2 * n] = {0};
  for (int k = 0; k < 2 * n; ++k) {
    MPI_Waitany(2 * n, r, &index, MPI_STATUS_IGNORE);
    CHECK(index >= 0 && !seen[index]++);
    CHECK(r[index] != MPI_REQUEST_NULL);  // inactive, but still there
  }
}

static void both_persistent(init_function* init) {
  MPI_Request r[2 * n];
  MPI_Status s[2 * n];
  for (int i = 0; i < n; ++i) {
    MPI_Recv_init(in[i], sizes[i], MPI_BYTE, left, tag + i, MPI_COMM_WORLD, &r[i]);
    init(out[i], sizes[i], MPI_BYTE, right, tag + i, MPI_COMM_WORLD, &r[n + i]);
  }
  check_inactive(&r[0]);
  check_inactive(&r[n]);
  for (int round = 0; round < rounds; ++round) {
    int way = round % 4, done = 0;
    fill_round(round);
    if (way == 0)
      MPI_Startall(n, r);
    else
      for (int i = n - 1; i >= 0; --i) MPI_Start(&r[i]);
    if (init == MPI_Rsend_init) MPI_Barrier(MPI_COMM_WORLD);
    if (way == 1)
      MPI_Startall(n, r + n);
    else
      for (int i = 0; i < n; ++i) MPI_Start(&r[n + i]);
    if (way == 0) MPI_Waitall(2 * n, r, s);
    if (way == 1)
      while (!done) MPI_Testall(2 * n, r, &done, s);
    if (way == 2) finish_some(r);
    if (way == 3) finish_any(r);
    verify_round(round, way < 2 ? s : NULL);
    if (init == MPI_Bsend_init) MPI_Barrier(MPI_COMM_WORLD);  // see below
  }
  check_inactive(&r[1]);
  for (int i = 0; i < 2 * n; ++i) {
    MPI_Request_free(&r[i]);
    CHECK(r[i] == MPI_REQUEST_NULL);
  }
}

// Open MPI 4.1.4 itself sends stale bytes when a Bsend_init request is started a second time and its message
// is above the eager limit or finds no free fragment. So larger ones are started once each, and the repeated
// rounds keep to small messages with a barrier in between.
static void buffered(void) {
  int kept[n];
  MPI_Request r;
  fill_round(3);
  for (int i = 0; i < n; ++i) {
    MPI_Bsend_init(out[i], sizes[i], MPI_BYTE, right, tag + i, MPI_COMM_WORLD, &r);
    MPI_Start(&r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Recv(in[i], sizes[i], MPI_BYTE, left, tag + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Request_free(&r);
  }
  verify_round(3, NULL);
  for (int i = 0; i < n; ++i) {
    kept[i] = sizes[i];
    if (sizes[i] > 200) sizes[i] = 200;
  }
  both_persistent(MPI_Bsend_init);
  memcpy(sizes, kept, sizeof sizes);
}

// A persistent end against an ordinary one, in both directions.
static void one_persistent(int sender) {
  MPI_Request r[2];
  MPI_Status s;
  if (sender)
    MPI_Send_init(out[3], sizes[3], MPI_BYTE, right, tag, MPI_COMM_WORLD, &r[0]);
  else
    MPI_Recv_init(in[3], longest, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &r[0]);
  for (int round = 0; round < rounds; ++round) {
    fill_round(round);
    MPI_Start(&r[0]);
    if (sender)
      MPI_Irecv(in[3], longest, MPI_BYTE, left, tag, MPI_COMM_WORLD, &r[1]);
    else
      MPI_Isend(out[3], sizes[3], MPI_BYTE, right, tag, MPI_COMM_WORLD, &r[1]);
    MPI_Wait(&r[!sender], MPI_STATUS_IGNORE);
    MPI_Wait(&r[sender], &s);
    if (sender) CHECK(r[1] == MPI_REQUEST_NULL && r[0] != MPI_REQUEST_NULL);
    VERIFY(in[3], (size_t)sizes[3], left, me, round * n + 3);
    // A wildcard would match the message of a neighbour that is already in the next round.
    if (!sender) MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Request_free(&r[0]);
}

// A send freed while active still arrives.
static void free_active(void) {
  MPI_Request r;
  fill_round(7);
  for (int i = 0; i < n; ++i) {
    MPI_Send_init(out[i], sizes[i], MPI_BYTE, right, tag + i, MPI_COMM_WORLD, &r);
    MPI_Start(&r);
    MPI_Request_free(&r);
    CHECK(r == MPI_REQUEST_NULL);
  }
  for (int i = n - 1; i >= 0; --i)
    MPI_Recv(in[i], longest, MPI_BYTE, left, tag + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  verify_round(7, NULL);
  MPI_Barrier(MPI_COMM_WORLD);  // all messages arrive before any buffer is freed
}

CASE(persistent) {
  init_function* const inits[3] = {MPI_Send_init, MPI_Ssend_init, MPI_Rsend_init};
  right = right_of(me, np);
  left = left_of(me, np);
  int space = 1 << 20;
  void* attached = malloc((size_t)space);
  MPI_Buffer_attach(attached, space);
  for (int i = 0; i < n; ++i) in[i] = guarded_new(longest), out[i] = guarded_new(longest);
  for (int i = 0; i < 3; ++i) both_persistent(inits[i]);
  buffered();
  one_persistent(0);
  one_persistent(1);
  free_active();
  for (int i = 0; i < n; ++i) {
    GUARDED_FREE(in[i], longest);
    GUARDED_FREE(out[i], longest);
  }
  MPI_Buffer_detach(&attached, &space);
  free(attached);
}
