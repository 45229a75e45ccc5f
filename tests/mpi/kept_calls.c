// Collectives whose arguments look like those of an earlier call: handles that are used again for other
// communicators, also inside a delete callback; other error handlers and names; MPI_IN_PLACE and a buffer in
// turns; one buffer with other counts, operations, and roots.
#include "check.h"

enum { cycles = 60, values = 4 };

static int sum(int value, MPI_Comm comm) {
  static int in, out;  // one address for all calls
  in = value;
  out = -1;
  MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm);
  return out;
}

static void check_sums(int value, MPI_Comm comm) {
  int size;
  MPI_Comm_size(comm, &size);
  for (int i = 0; i < 3; ++i) CHECK_EQ(sum(value, comm), value * size);
}

static int on_delete(MPI_Comm comm, int key, void* value, void* extra) {
  (void)key, (void)value, (void)extra;
  check_sums(1, comm);
  return MPI_SUCCESS;
}

/// One buffer, each time with another count, operation, and root.
static void same_buffer(int cycle, MPI_Comm comm) {
  int data[values] = {me, me, me, me}, lowest = me, highest = me, size;
  MPI_Comm_size(comm, &size);
  for (int i = 0; i < size; ++i) {
    const int world = world_rank(comm, i);
    if (world < lowest) lowest = world;
    if (world > highest) highest = world;
  }
  const int count = 1 + cycle % values;
  for (int i = 0; i < 2; ++i)
    MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_INT, cycle % 2 ? MPI_MAX : MPI_MIN, comm);
  for (int i = 0; i < values; ++i) CHECK_EQ(data[i], i >= count ? me : cycle % 2 ? highest : lowest);
  for (int i = 0; i < values; ++i) data[i] = me;
  MPI_Bcast(data, count, MPI_INT, cycle % size, comm);
  for (int i = 0; i < values; ++i) CHECK_EQ(data[i], i < count ? world_rank(comm, cycle % size) : me);
}

/// Often gets the handle that was just freed.
static void intercommunicator(void) {
  MPI_Comm half, inter;
  MPI_Comm_split(MPI_COMM_WORLD, me > 0, me, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, me > 0 ? 0 : 1, 9, &inter);
  CHECK_EQ(sum(1, inter), me > 0 ? 1 : np - 1);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

CASE(kept_calls) {
  int key;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, NULL);
  for (int cycle = 0; cycle < cycles; ++cycle) {
    MPI_Comm comm, twin;
    MPI_Errhandler handler;
    MPI_Comm_split(MPI_COMM_WORLD, cycle % 2 ? me % 2 : 0, cycle % 3 ? me : -me, &comm);
    check_sums(1, comm);
    MPI_Comm_create_errhandler(no_handler, &handler);
    MPI_Comm_set_errhandler(comm, cycle % 2 ? handler : MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);
    MPI_Comm_set_name(comm, cycle % 2 ? "odd" : "even");
    check_sums(2, comm);
    MPI_Comm_dup(comm, &twin);
    check_sums(3, twin);
    check_sums(4, comm);
    MPI_Comm_free(&twin);
    same_buffer(cycle, comm);
    if (cycle % 5 == 0) MPI_Comm_set_attr(comm, key, NULL);
    MPI_Comm_free(&comm);
    if (np > 1 && cycle % 7 == 0) intercommunicator();
  }
  MPI_Comm_free_keyval(&key);
}
