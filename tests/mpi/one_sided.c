// Every access to the memory of another rank, with every way to wait for it, in windows of every kind.
#include "check.h"

enum { cells = 600 };  // more than the MPI library sends in one small message

static int64_t *memory, *mine, *got;
static MPI_Win win;

static void clear(void) {
  MPI_Win_fence(0, win);
  for (int i = 0; i < cells; ++i) memory[i] = 0;
  for (int i = 0; i < cells; ++i) mine[i] = 1000 * me + i;
  MPI_Win_fence(0, win);
}

static void ready(void) {
  MPI_Barrier(MPI_COMM_WORLD);
}

static void with_fences(void) {
  int64_t one = 1, old = -1, none = 0;
  int to = right_of(me, np), from = left_of(me, np);
  clear();
  MPI_Put(mine, cells, MPI_INT64_T, to, 0, cells, MPI_INT64_T, win);
  MPI_Put(mine, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1, MPI_INT64_T, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < cells; ++i) CHECK_EQ(memory[i], 1000 * from + i);
  MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
  MPI_Accumulate(mine, cells, MPI_INT64_T, to, 0, cells, MPI_INT64_T, MPI_SUM, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < cells; ++i) CHECK_EQ(memory[i], 2 * (1000 * from + i));
  MPI_Win_fence(0, win);
  MPI_Get_accumulate(mine, cells, MPI_INT64_T, got, cells, MPI_INT64_T, to, 0, cells, MPI_INT64_T,
                     MPI_REPLACE, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < cells; ++i) CHECK_EQ(got[i], 2 * mine[i]);
  for (int i = 0; i < cells; ++i) CHECK_EQ(memory[i], 1000 * from + i);
  MPI_Win_fence(0, win);
  MPI_Fetch_and_op(&one, &old, MPI_INT64_T, to, 7, MPI_SUM, win);
  MPI_Win_fence(0, win);
  CHECK_EQ(old, mine[7]);
  // Open MPI 4.1 crashes in one of 8 bytes if the kernel copies no memory between processes.
  MPI_Compare_and_swap(&none, &mine[8], &got[0], MPI_INT32_T, to, 8, win);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  CHECK_EQ(memory[7], 1000 * from + 8);
  CHECK(*(int32_t*)got == *(int32_t*)&mine[8] && *(int32_t*)&memory[8] == 0);
}

static void with_locks(void) {
  int to = right_of(me, np);
  clear();
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win);
  MPI_Put(mine, cells, MPI_INT64_T, to, 0, cells, MPI_INT64_T, win);
  MPI_Win_flush_local(to, win);
  MPI_Put(mine, 1, MPI_INT64_T, to, 0, 1, MPI_INT64_T, win);
  MPI_Win_flush(to, win);
  MPI_Get(got, cells, MPI_INT64_T, to, 0, cells, MPI_INT64_T, win);
  MPI_Win_unlock(to, win);
  for (int i = 0; i < cells; ++i) CHECK_EQ(got[i], mine[i]);
  ready();
  MPI_Win_lock_all(0, win);
  MPI_Accumulate(mine, 1, MPI_INT64_T, to, 0, 1, MPI_INT64_T, MPI_SUM, win);
  MPI_Win_flush_local_all(win);
  MPI_Accumulate(mine, 1, MPI_INT64_T, to, 1, 1, MPI_INT64_T, MPI_SUM, win);
  MPI_Win_flush_all(win);
  MPI_Win_flush_all(win);  // nothing to wait for
  MPI_Win_sync(win);
  MPI_Win_unlock_all(win);
  ready();
  CHECK_EQ(memory[0], 2 * 1000 * left_of(me, np));
  CHECK_EQ(memory[1], 2 * 1000 * left_of(me, np) + 1);
}

static void with_requests(void) {
  MPI_Request all[2];
  int to = right_of(me, np), flag = 0;
  clear();
  MPI_Win_lock_all(0, win);
  MPI_Rput(mine, cells, MPI_INT64_T, to, 0, cells, MPI_INT64_T, win, &all[0]);
  MPI_Wait(&all[0], MPI_STATUS_IGNORE);
  MPI_Win_flush(to, win);
  MPI_Rget(got, cells, MPI_INT64_T, to, 0, cells, MPI_INT64_T, win, &all[0]);
  while (!flag) MPI_Test(&all[0], &flag, MPI_STATUS_IGNORE);
  for (int i = 0; i < cells; ++i) CHECK_EQ(got[i], mine[i]);
  MPI_Raccumulate(mine, 4, MPI_INT64_T, to, 0, 4, MPI_INT64_T, MPI_SUM, win, &all[0]);
  MPI_Rget_accumulate(mine, 4, MPI_INT64_T, got, 4, MPI_INT64_T, to, 4, 4, MPI_INT64_T, MPI_SUM, win,
                      &all[1]);
  MPI_Waitall(2, all, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 4; ++i) CHECK_EQ(got[i], mine[4 + i]);
  MPI_Win_unlock_all(win);
}

static void with_epochs(void) {
  MPI_Group world, source, target;
  int to = right_of(me, np), from = left_of(me, np), flag = 0;
  clear();
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &from, &source);
  MPI_Group_incl(world, 1, &to, &target);
  for (int round = 0; round < 2; ++round) {
    MPI_Win_post(source, 0, win);
    MPI_Win_start(target, 0, win);
    MPI_Put(mine, cells, MPI_INT64_T, to, 0, cells, MPI_INT64_T, win);
    MPI_Win_complete(win);
    if (round == 0) MPI_Win_wait(win);
    while (round == 1 && !flag) MPI_Win_test(win, &flag);
    for (int i = 0; i < cells; ++i) CHECK_EQ(memory[i], 1000 * from + i);
  }
  MPI_Group_free(&world);
  MPI_Group_free(&source);
  MPI_Group_free(&target);
}

static void all_ways(void) {
  with_fences();
  with_locks();
  with_requests();
  with_epochs();
  MPI_Win_free(&win);
}

CASE(one_sided) {
  const MPI_Aint size = cells * sizeof *memory;
  if (np < 2) SKIP("needs two ranks");
  mine = malloc(size);
  got = malloc(size);
  memory = malloc(size);
  int64_t* const own = memory;
  MPI_Win_create(memory, size, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  all_ways();
  MPI_Win_allocate(size, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  all_ways();
  free(own);
  free(mine);
  free(got);
}
