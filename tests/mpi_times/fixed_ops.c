// A fixed list of operations on three ranks. Prints the modelled time after each as "time STEP rank RANK
// PICOSECONDS"; -1 when no backend is on. The same list is in tests/core/fixed_ops.hpp.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { longest = 300000, most = 30000 };

static int me, np, left, right;
static char in[8][longest], out[longest];
static int ints[3 * most], results[3 * most];
static int64_t (*modelled_time)(void);

static void report(const char* what, int size, int root) {
  char tail[16] = "";
  if (root >= 0) snprintf(tail, sizeof tail, "/%d", root);
  printf("time %s/%d%s rank %d %lld\n", what, size, tail, me,
         modelled_time != NULL ? (long long)modelled_time() : -1LL);
}

static void expect(int ok) {
  if (!ok) MPI_Abort(MPI_COMM_WORLD, 1);
}

static void around(const char* what, int bytes, int synchronous) {
  if (me != 0) MPI_Recv(in[0], bytes, MPI_BYTE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (synchronous)
    MPI_Ssend(out, bytes, MPI_BYTE, right, 1, MPI_COMM_WORLD);
  else
    MPI_Send(out, bytes, MPI_BYTE, right, 1, MPI_COMM_WORLD);
  if (me == 0) MPI_Recv(in[0], bytes, MPI_BYTE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  report(what, bytes, -1);
}

static void neighbours(int bytes) {
  MPI_Request r[2];
  MPI_Irecv(in[0], bytes, MPI_BYTE, left, 2, MPI_COMM_WORLD, &r[0]);
  MPI_Isend(out, bytes, MPI_BYTE, right, 2, MPI_COMM_WORLD, &r[1]);
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  report("neighbours", bytes, -1);
}

static void window(int bytes) {
  MPI_Request r[8];
  for (int i = 0; i < 8 && me < 2; ++i) {
    if (me == 0)
      MPI_Irecv(in[i], bytes, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &r[i]);
    else
      MPI_Isend(out, bytes, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &r[i]);
  }
  for (int i = 7; i >= 0 && me < 2; --i) MPI_Wait(&r[i], MPI_STATUS_IGNORE);
  report("window", bytes, -1);
}

static void exchange(int bytes) {
  MPI_Sendrecv(out, bytes, MPI_BYTE, right, 4, in[0], bytes, MPI_BYTE, left, 4, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  report("sendrecv", bytes, -1);
}

static void bcast(int bytes, int root) {
  MPI_Bcast(in[0], bytes, MPI_BYTE, root, MPI_COMM_WORLD);
  report("bcast", bytes, root);
}

static void reduce(int count, int root) {
  for (int i = 0; i < count; ++i) ints[i] = me + 1;
  MPI_Reduce(ints, results, count, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
  expect(me != root || results[count - 1] == 6);
  report("reduce", count, root);
}

static void gather(int count, int root, int in_place) {
  for (int i = 0; i < count; ++i) ints[i] = me;
  for (int i = 0; i < 3 * count; ++i) results[i] = root;
  const int here = in_place && me == root;
  MPI_Gather(here ? MPI_IN_PLACE : ints, count, MPI_INT, results, count, MPI_INT, root, MPI_COMM_WORLD);
  for (int i = 0; i < 3 * count && me == root; ++i) expect(results[i] == i / count);
  report("gather", count, root);
}

// The collectives without a root, and Scatter from rank 1.
static void everywhere(int count) {
  for (int i = 0; i < 3 * count; ++i) ints[i] = me;
  MPI_Allreduce(ints, results, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(results[count - 1] == 3);
  report("allreduce", count, -1);
  MPI_Allgather(ints, count, MPI_INT, results, count, MPI_INT, MPI_COMM_WORLD);
  expect(results[3 * count - 1] == 2);
  report("allgather", count, -1);
  MPI_Alltoall(ints, count, MPI_INT, results, count, MPI_INT, MPI_COMM_WORLD);
  expect(results[3 * count - 1] == 2);
  report("alltoall", count, -1);
  MPI_Reduce_scatter_block(ints, results, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(results[count - 1] == 3);
  report("reduce_scatter", count, -1);
  MPI_Scatter(ints, count, MPI_INT, results, count, MPI_INT, 1, MPI_COMM_WORLD);
  expect(results[count - 1] == 1);
  report("scatter", count, -1);
  MPI_Barrier(MPI_COMM_WORLD);
  report("barrier", count, -1);
}

int main(int argc, char** argv) {
  static const int sent[] = {0, 8, 1000, 65536, 65537, 300000}, synchronous[] = {8, 100000};
  static const int bcasts[] = {4, 5000, 100000}, reduced[] = {1, 1000, 30000}, gathered[] = {1, 700, 20000};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &np);
  if (np != 3) {
    fprintf(stderr, "fixed_ops needs 3 ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  right = (me + 1) % np;
  left = (me + np - 1) % np;
  *(void**)&modelled_time = dlsym(RTLD_DEFAULT, "offramp_modelled_time_ps");

  for (int i = 0; i < 6; ++i) around("send", sent[i], 0);
  for (int i = 0; i < 2; ++i) around("ssend", synchronous[i], 1);
  neighbours(100);
  neighbours(70000);
  window(4096);
  window(100000);
  exchange(5000);
  for (int i = 0; i < 3; ++i)
    for (int root = 0; root < np; ++root) bcast(bcasts[i], root);
  for (int i = 0; i < 3; ++i)
    for (int root = 0; root < np; ++root) reduce(reduced[i], root);
  for (int i = 0; i < 3; ++i)
    for (int root = 0; root < np; ++root) gather(gathered[i], root, gathered[i] == 700);
  for (int i = 0; i < 3; ++i) everywhere(gathered[i]);
  MPI_Finalize();
  return 0;
}
