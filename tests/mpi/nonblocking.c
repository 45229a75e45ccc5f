// Isend, Ibsend, Issend, Irsend and Irecv completed by every member of the Wait and Test family, by
// Request_get_status and by Request_free; MPI_STATUS(ES)_IGNORE; null requests in arrays and arrays without
// an active request. Every rank sends to its right neighbour and receives from its left one.
#include "check.h"

enum { messages = 6, room = 300000, tag_base = 40 };
enum method {
  m_wait,
  m_test,
  m_waitall,
  m_testall,
  m_waitany,
  m_testany,
  m_waitsome,
  m_testsome,
  m_status,
  methods
};

typedef int isend_function(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

static const int sizes[messages] = {0, 1, 100, 5000, 70000, 300000};
static char *in[messages], *out[messages];

static void wait_each(int n, MPI_Request* r, MPI_Status* s) {
  for (int i = n - 1; i >= 0; --i) MPI_Wait(&r[i], s ? &s[i] : MPI_STATUS_IGNORE);
}

static void test_each(int n, MPI_Request* r, MPI_Status* s) {
  for (int i = 0; i < n; ++i)
    for (int done = 0; !done;) MPI_Test(&r[i], &done, s ? &s[i] : MPI_STATUS_IGNORE);
}

static void any_each(int n, MPI_Request* r, MPI_Status* s, int test) {
  MPI_Status one;
  int index, done = 1;
  for (int left = n; left > 0;) {
    if (test) {
      MPI_Testany(n, r, &index, &done, s ? &one : MPI_STATUS_IGNORE);
      if (!done) CHECK_EQ(index, MPI_UNDEFINED);
    } else {
      MPI_Waitany(n, r, &index, s ? &one : MPI_STATUS_IGNORE);
    }
    if (!done) continue;
    CHECK(index >= 0 && index < n && r[index] == MPI_REQUEST_NULL);
    if (s) s[index] = one;
    --left;
  }
}

static void some_each(int n, MPI_Request* r, MPI_Status* s, int test) {
  MPI_Status some[2 * messages];
  int count, indices[2 * messages];
  for (int left = n; left > 0;) {
    if (test)
      MPI_Testsome(n, r, &count, indices, s ? some : MPI_STATUSES_IGNORE);
    else
      MPI_Waitsome(n, r, &count, indices, s ? some : MPI_STATUSES_IGNORE);
    CHECK(count >= !test && count <= left);
    for (int i = 0; i < count; ++i) {
      CHECK(r[indices[i]] == MPI_REQUEST_NULL);
      if (s) s[indices[i]] = some[i];
    }
    left -= count;
  }
}

static void status_each(int n, MPI_Request* r, MPI_Status* s) {
  for (int i = 0; i < n; ++i) {
    MPI_Status seen = spoiled_status();
    for (int done = 0; !done;) MPI_Request_get_status(r[i], &done, &seen);
    CHECK(r[i] != MPI_REQUEST_NULL);  // the request stays
    MPI_Wait(&r[i], s ? &s[i] : MPI_STATUS_IGNORE);
    if (s && i < messages) CHECK(s[i].MPI_SOURCE == seen.MPI_SOURCE && s[i].MPI_TAG == seen.MPI_TAG);
  }
}

static void complete(enum method method, int n, MPI_Request* r, MPI_Status* s) {
  int done = 0;
  switch (method) {
    case m_wait:
      wait_each(n, r, s);
      break;
    case m_test:
      test_each(n, r, s);
      break;
    case m_waitall:
      MPI_Waitall(n, r, s ? s : MPI_STATUSES_IGNORE);
      break;
    case m_testall:
      while (!done) MPI_Testall(n, r, &done, s ? s : MPI_STATUSES_IGNORE);
      break;
    case m_waitany:
      any_each(n, r, s, 0);
      break;
    case m_testany:
      any_each(n, r, s, 1);
      break;
    case m_waitsome:
      some_each(n, r, s, 0);
      break;
    case m_testsome:
      some_each(n, r, s, 1);
      break;
    default:
      status_each(n, r, s);
  }
}

static void exchange(isend_function* isend, enum method method, int with_status, int seed) {
  int right = right_of(me, np), left = left_of(me, np);
  MPI_Request r[2 * messages];
  MPI_Status s[2 * messages];
  for (int i = 0; i < messages; ++i) {
    memset(in[i], 0, room);
    MPI_Irecv(in[i], room, MPI_BYTE, left, tag_base + i, MPI_COMM_WORLD, &r[i]);
  }
  if (isend == MPI_Irsend) MPI_Barrier(MPI_COMM_WORLD);  // now every receive is posted
  for (int i = 0; i < messages; ++i) {
    fill_pattern(out[i], (size_t)sizes[i], me, right, seed + i);
    isend(out[i], sizes[i], MPI_BYTE, right, tag_base + i, MPI_COMM_WORLD, &r[messages + i]);
  }
  complete(method, 2 * messages, r, with_status ? s : NULL);
  for (int i = 0; i < 2 * messages; ++i) CHECK(r[i] == MPI_REQUEST_NULL);
  for (int i = 0; i < messages; ++i) {
    VERIFY(in[i], (size_t)sizes[i], left, me, seed + i);
    if (with_status) CHECK_STATUS(s[i], left, tag_base + i, sizes[i], MPI_BYTE);
  }
}

static void every_way(void) {
  isend_function* const isends[4] = {MPI_Isend, MPI_Ibsend, MPI_Issend, MPI_Irsend};
  int seed = 1000;
  for (int mode = 0; mode < 4; ++mode)
    for (int method = 0; method < methods; ++method)
      for (int with_status = 0; with_status < 2; ++with_status)
        exchange(isends[mode], method, with_status, seed += 10);
}

// A single active pair between null requests.
static void null_among_active(void) {
  int right = right_of(me, np), left = left_of(me, np), value = 0, index = -1, count = -1, indices[5];
  MPI_Request r[5];
  MPI_Status s[5];
  for (int round = 0; round < 3; ++round) {
    int mine = me * 10 + round;
    for (int i = 0; i < 5; ++i) r[i] = MPI_REQUEST_NULL, s[i] = spoiled_status();
    MPI_Irecv(&value, 1, MPI_INT, left, 6, MPI_COMM_WORLD, &r[3]);
    MPI_Send(&mine, 1, MPI_INT, right, 6, MPI_COMM_WORLD);
    if (round == 0) {
      MPI_Waitall(5, r, s);
      for (int i = 0; i < 5; ++i)
        if (i != 3) CHECK_EMPTY(s[i]);
      CHECK_STATUS(s[3], left, 6, 1, MPI_INT);
    } else if (round == 1) {
      MPI_Waitany(5, r, &index, &s[0]);
      CHECK_EQ(index, 3);
      CHECK_STATUS(s[0], left, 6, 1, MPI_INT);
    } else {
      MPI_Waitsome(5, r, &count, indices, s);
      CHECK(count == 1 && indices[0] == 3);
      CHECK_STATUS(s[0], left, 6, 1, MPI_INT);
    }
    CHECK_EQ(value, left * 10 + round);
  }
}

static void nothing_active(int n) {
  MPI_Request r[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status s[3], one = spoiled_status();
  int flag = 0, index = 0, count = 0, indices[3];
  for (int i = 0; i < 3; ++i) s[i] = spoiled_status();
  MPI_Waitall(n, r, s);
  for (int i = 0; i < n; ++i) CHECK_EMPTY(s[i]);
  MPI_Testall(n, r, &flag, s);
  CHECK(flag);
  MPI_Waitany(n, r, &index, &one);
  CHECK_EQ(index, MPI_UNDEFINED);
  CHECK_EMPTY(one);
  one = spoiled_status();
  flag = index = 0;
  MPI_Testany(n, r, &index, &flag, &one);
  CHECK(flag && index == MPI_UNDEFINED);
  CHECK_EMPTY(one);
  MPI_Waitsome(n, r, &count, indices, s);
  CHECK_EQ(count, MPI_UNDEFINED);
  count = 0;
  MPI_Testsome(n, r, &count, indices, s);
  CHECK_EQ(count, MPI_UNDEFINED);
}

static void null_alone(void) {
  MPI_Request r = MPI_REQUEST_NULL;
  MPI_Status s = spoiled_status();
  int flag = 0;
  MPI_Wait(&r, &s);
  CHECK_EMPTY(s);
  s = spoiled_status();
  MPI_Test(&r, &flag, &s);
  CHECK(flag);
  CHECK_EMPTY(s);
  flag = 0;
  s = spoiled_status();
  MPI_Request_get_status(r, &flag, &s);
  CHECK(flag);
  CHECK_EMPTY(s);
}

// Freed requests still complete. Only its buffer shows the completion of a freed receive.
static void freed_requests(int bytes) {
  static char late[room];
  int right = right_of(me, np), left = left_of(me, np), flag;
  MPI_Request r;
  fill_pattern(out[0], (size_t)bytes, me, right, bytes);
  memset(late, 0, room);
  MPI_Irecv(late, bytes, MPI_BYTE, left, 50, MPI_COMM_WORLD, &r);
  MPI_Request_free(&r);
  CHECK(r == MPI_REQUEST_NULL);
  MPI_Isend(out[0], bytes, MPI_BYTE, right, 50, MPI_COMM_WORLD, &r);
  MPI_Request_free(&r);
  CHECK(r == MPI_REQUEST_NULL);
  for (long turns = 0; turns < 20000000; ++turns) {  // no clock: MPI_Wtime may be modelled
    MPI_Iprobe(left, 51, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    if (pattern_mismatch(late, (size_t)bytes, left, me, bytes) < 0) break;
  }
  VERIFY(late, (size_t)bytes, left, me, bytes);
  MPI_Barrier(MPI_COMM_WORLD);  // all messages have arrived, so all send buffers are free
}

CASE(nonblocking) {
  int space = 4 << 20;
  void* attached = malloc((size_t)space);
  MPI_Buffer_attach(attached, space);
  for (int i = 0; i < messages; ++i) in[i] = guarded_new(room), out[i] = guarded_new(room);
  every_way();
  null_among_active();
  null_alone();
  nothing_active(3);
  nothing_active(0);
  freed_requests(64);
  freed_requests(room);
  for (int i = 0; i < messages; ++i) {
    GUARDED_FREE(in[i], room);
    GUARDED_FREE(out[i], room);
  }
  MPI_Buffer_detach(&attached, &space);
  free(attached);
}
