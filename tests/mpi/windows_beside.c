// Windows beside messages: shared, dynamic and attached memory, requests of both kinds in one array,
// MPI_Win_test, and a lock that is granted only after a large message of the waiting rank has been received.
#include "check.h"

enum { bytes = 8 << 20, cells = 64 };

static char* buf;

static void requests(void) {
  int *memory, values[cells], got[cells], in = -1;
  MPI_Win win;
  MPI_Request all[3];
  int to = right_of(me, np), from = left_of(me, np);
  MPI_Win_allocate(cells * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  for (int i = 0; i < cells; ++i) values[i] = 100 * me + i;
  MPI_Win_lock_all(0, win);
  MPI_Irecv(&in, 1, MPI_INT, from, 1, MPI_COMM_WORLD, &all[0]);
  MPI_Rput(values, cells, MPI_INT, to, 0, cells, MPI_INT, win, &all[1]);
  MPI_Isend(&me, 1, MPI_INT, to, 1, MPI_COMM_WORLD, &all[2]);
  MPI_Waitall(3, all, MPI_STATUSES_IGNORE);
  CHECK_EQ(in, from);
  MPI_Win_flush(to, win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Rget(got, cells, MPI_INT, to, 0, cells, MPI_INT, win, &all[0]);
  MPI_Wait(&all[0], MPI_STATUS_IGNORE);
  for (int i = 0; i < cells; ++i) CHECK_EQ(got[i], 100 * me + i);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

static void shared_memory(void) {
  MPI_Comm node;
  MPI_Win win;
  int *own, *other, rank, size, unit;
  MPI_Aint length;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &rank);
  MPI_Comm_size(node, &size);
  MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, node, &own, &win);
  MPI_Win_fence(0, win);
  *own = 70 + rank;
  MPI_Win_fence(0, win);
  MPI_Win_shared_query(win, right_of(rank, size), &length, &unit, &other);
  CHECK_EQ(*other, 70 + right_of(rank, size));
  comm_traffic(node, 2);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
  MPI_Comm_free(&node);
}

static void dynamic_memory(void) {
  MPI_Win win;
  int cell = -1;
  MPI_Aint here, there;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_attach(win, &cell, sizeof cell);
  MPI_Get_address(&cell, &here);
  MPI_Sendrecv(&here, 1, MPI_AINT, left_of(me, np), 3, &there, 1, MPI_AINT, right_of(me, np), 3,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Win_fence(0, win);
  MPI_Put(&me, 1, MPI_INT, right_of(me, np), there, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  CHECK_EQ(cell, left_of(me, np));
  MPI_Win_detach(win, &cell);
  MPI_Win_free(&win);
}

static void test_epoch(MPI_Win win, const int* memory) {
  MPI_Group world, one;
  int peer = me ^ 1;
  if (peer >= np) return;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &peer, &one);
  if (me % 2 == 0) {
    int flag = 0;
    MPI_Win_post(one, 0, win);
    while (!flag) MPI_Win_test(win, &flag);
    CHECK_EQ(memory[1], peer);
  } else {
    MPI_Win_start(one, 0, win);
    MPI_Put(&me, 1, MPI_INT, peer, 1, 1, MPI_INT, win);
    MPI_Win_complete(win);
  }
  MPI_Group_free(&one);
  MPI_Group_free(&world);
}

// Rank 1 holds the lock until it has received the message that rank 0 sends before it requests the lock.
static void lock_late(MPI_Win win) {
  MPI_Request r;
  int word = 5;
  if (np < 2 || me > 1) return;
  if (me == 1) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    MPI_Send(NULL, 0, MPI_BYTE, 0, 4, MPI_COMM_WORLD);
    MPI_Recv(buf, bytes, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    VERIFY(buf, bytes, 0, 1, 5);
    MPI_Win_unlock(1, win);
  } else {
    MPI_Recv(NULL, 0, MPI_BYTE, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    fill_pattern(buf, bytes, 0, 1, 5);
    MPI_Isend(buf, bytes, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &r);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    MPI_Put(&word, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
    MPI_Win_unlock(1, win);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
  }
}

CASE(windows_beside) {
  int* memory;
  MPI_Win win;
  buf = malloc(bytes);
  requests();
  shared_memory();
  dynamic_memory();
  MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  memory[0] = memory[1] = -1;
  MPI_Barrier(MPI_COMM_WORLD);
  test_epoch(win, memory);
  MPI_Barrier(MPI_COMM_WORLD);
  lock_late(win);
  MPI_Win_free(&win);
  free(buf);
}
