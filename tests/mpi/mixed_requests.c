// Arrays that mix point-to-point requests with nonblocking collectives, generalized and persistent requests,
// in every completion function: places of statuses, indices, and which requests are left or cleared.
#include "check.h"

enum {
  i_recv,
  i_barrier,
  i_send,
  i_allreduce,
  i_grequest,
  i_bcast,
  i_persistent_recv,
  i_null,
  i_reduce,
  i_persistent_send,
  i_gather,
  i_big_recv,
  i_big_send,
  n
};

enum way {
  w_waitall,
  w_testall,
  w_waitany,
  w_testany,
  w_waitsome,
  w_testsome,
  w_wait,
  w_test,
  w_status,
  ways
};
enum { big = 200000 };

static int right, left;
static int in, out, total, all_of, word, p_in, p_out, *gathered;
static char *big_in, *big_out;
static MPI_Request r[n], persistent[2], generalized;
static MPI_Status s[n];
static int queries, frees;

static int query(void* state, MPI_Status* status) {
  ++queries;
  MPI_Status_set_elements(status, MPI_INT, *(int*)state);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = 77;
  status->MPI_TAG = 88;
  return MPI_SUCCESS;
}

static int freed(void* state) {
  (void)state;
  ++frees;
  return MPI_SUCCESS;
}

static int cancel(void* state, int complete) {
  (void)state;
  (void)complete;
  return MPI_SUCCESS;
}

static void start(int round, int* elements) {
  out = me * 100 + round;
  p_out = me * 200 + round;
  in = p_in = total = -1;
  all_of = 0;
  word = me == round % np ? round : -1;
  *elements = 5 + round;
  queries = frees = 0;
  fill_pattern(big_out, big, me, right, round);
  memset(big_in, 0, big);
  for (int i = 0; i < n; ++i) {
    r[i] = MPI_REQUEST_NULL;
    s[i] = spoiled_status();
  }
  MPI_Irecv(&in, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &r[i_recv]);
  MPI_Ibarrier(MPI_COMM_WORLD, &r[i_barrier]);
  MPI_Isend(&out, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &r[i_send]);
  MPI_Iallreduce(&out, &all_of, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[i_allreduce]);
  MPI_Grequest_start(query, freed, cancel, elements, &r[i_grequest]);
  generalized = r[i_grequest];
  MPI_Ibcast(&word, 1, MPI_INT, round % np, MPI_COMM_WORLD, &r[i_bcast]);
  MPI_Ireduce(&out, &total, 1, MPI_INT, MPI_MAX, (round + 1) % np, MPI_COMM_WORLD, &r[i_reduce]);
  MPI_Igather(&out, 1, MPI_INT, gathered, 1, MPI_INT, 0, MPI_COMM_WORLD, &r[i_gather]);
  MPI_Irecv(big_in, big, MPI_BYTE, left, 2, MPI_COMM_WORLD, &r[i_big_recv]);
  MPI_Isend(big_out, big, MPI_BYTE, right, 2, MPI_COMM_WORLD, &r[i_big_send]);
  r[i_persistent_recv] = persistent[0];
  r[i_persistent_send] = persistent[1];
  MPI_Start(&r[i_persistent_recv]);
  MPI_Start(&r[i_persistent_send]);
}

static void note(int index, const MPI_Status* status, int* done) {
  CHECK(index >= 0 && index < n && index != i_null && !done[index]++);
  s[index] = *status;
}

static void by_any(int test) {
  int done[n] = {0}, index, flag = 1;
  MPI_Status one;
  for (int left_over = n - 1; left_over > 0;) {
    one = spoiled_status();
    if (test) MPI_Testany(n, r, &index, &flag, &one);
    if (!test) MPI_Waitany(n, r, &index, &one);
    if (!flag) continue;
    note(index, &one, done);
    --left_over;
  }
  MPI_Waitany(n, r, &index, &one);  // the others are null or inactive
  CHECK_EQ(index, MPI_UNDEFINED);
}

static void by_some(int test) {
  int done[n] = {0}, count, indices[n];
  MPI_Status some[n];
  for (int left_over = n - 1; left_over > 0; left_over -= count) {
    if (test) MPI_Testsome(n, r, &count, indices, some);
    if (!test) MPI_Waitsome(n, r, &count, indices, some);
    CHECK(count >= !test && count <= left_over);
    for (int k = 0; k < count; ++k) note(indices[k], &some[k], done);
  }
  MPI_Testsome(n, r, &count, indices, some);
  CHECK_EQ(count, MPI_UNDEFINED);
}

static void one_by_one(enum way way) {
  for (int i = n - 1; i >= 0; --i) {
    if (way == w_wait) MPI_Wait(&r[i], &s[i]);
    for (int flag = 0; way == w_test && !flag;) MPI_Test(&r[i], &flag, &s[i]);
    if (way != w_status) continue;
    for (int flag = 0; !flag;) MPI_Request_get_status(r[i], &flag, &s[i]);
    CHECK((r[i] == MPI_REQUEST_NULL) == (i == i_null));
    MPI_Wait(&r[i], MPI_STATUS_IGNORE);
  }
}

// An incomplete generalized request delays "all", but not "any" or "some".
static void straggler_delay(void) {
  int flag = 1;
  for (int i = 0; i < 20; ++i) {
    MPI_Testall(n, r, &flag, s);
    CHECK(!flag);
    MPI_Test(&r[i_grequest], &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
  }
  MPI_Request_get_status(r[i_grequest], &flag, MPI_STATUS_IGNORE);
  CHECK(!flag && frees == 0);
}

static void finish(enum way way) {
  int flag = 0;
  MPI_Grequest_complete(generalized);
  if (way == w_waitall) MPI_Waitall(n, r, s);
  while (way == w_testall && !flag) MPI_Testall(n, r, &flag, s);
  if (way == w_waitany || way == w_testany) by_any(way == w_testany);
  if (way == w_waitsome || way == w_testsome) by_some(way == w_testsome);
  if (way >= w_wait) one_by_one(way);
}

static void check_results(enum way way, int round) {
  CHECK_EQ(in, left * 100 + round);
  CHECK_EQ(p_in, left * 200 + round);
  CHECK_EQ(all_of, np * (np - 1) / 2 * 100 + np * round);
  CHECK_EQ(word, round);
  CHECK_EQ(total, me == (round + 1) % np ? (np - 1) * 100 + round : -1);
  for (int i = 0; i < np && me == 0; ++i) CHECK_EQ(gathered[i], i * 100 + round);
  VERIFY(big_in, big, left, me, round);
  CHECK_STATUS(s[i_recv], left, 1, 1, MPI_INT);
  CHECK_STATUS(s[i_persistent_recv], left, 3, 1, MPI_INT);
  CHECK_STATUS(s[i_big_recv], left, 2, big, MPI_BYTE);
  CHECK_STATUS(s[i_grequest], 77, 88, 5 + round, MPI_INT);
  CHECK(queries >= 1 && frees == 1);
  if (way == w_waitall || way == w_testall || way >= w_wait) CHECK_EMPTY(s[i_null]);
  for (int i = 0; i < n; ++i)
    CHECK((r[i] == MPI_REQUEST_NULL) == (i != i_persistent_recv && i != i_persistent_send));
}

CASE(mixed_requests) {
  int elements;
  right = right_of(me, np);
  left = left_of(me, np);
  gathered = malloc((size_t)np * sizeof *gathered);
  big_in = malloc(big);
  big_out = malloc(big);
  MPI_Recv_init(&p_in, 1, MPI_INT, left, 3, MPI_COMM_WORLD, &persistent[0]);
  MPI_Send_init(&p_out, 1, MPI_INT, right, 3, MPI_COMM_WORLD, &persistent[1]);
  for (int round = 0; round < 5 * ways; ++round) {
    start(round, &elements);
    if (round % ways == w_testall || round % ways == w_waitall) straggler_delay();
    finish(round % ways);
    check_results(round % ways, round);
  }
  MPI_Request_free(&persistent[0]);
  MPI_Request_free(&persistent[1]);
  free(gathered);
  free(big_in);
  free(big_out);
}
