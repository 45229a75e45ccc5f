// Collectives with the same arguments, again and again, while the meaning of the arguments changes: contents
// of buffers and arrays, and handles that MPI uses again for a new communicator, type, or operation.
#include "check.h"

enum { rounds = 40 };

static int sum_of_ranks(void) {
  return np * (np - 1) / 2;
}

static void new_contents(void) {
  enum { large = 20000 };
  static double in[large], out[large];
  for (int i = 0; i < rounds; ++i) {
    const int count = i % 8 == 7 ? large : 1 + i % 2;
    for (int k = 0; k < count; ++k) in[k] = me + i + k % 10, out[k] = -1;
    MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int k = 0; k < count; ++k) CHECK_EQ(out[k], sum_of_ranks() + np * (i + k % 10));
    MPI_Reduce(i % 3 || me ? in : MPI_IN_PLACE, i % 3 ? out : in, count, MPI_DOUBLE, MPI_MAX, 0,
               MPI_COMM_WORLD);
    if (me == 0) CHECK_EQ((i % 3 ? out : in)[0], np - 1 + i);
    in[0] = me == i % np ? i : -1;
    MPI_Bcast(in, count, MPI_DOUBLE, i % np, MPI_COMM_WORLD);
    CHECK_EQ(in[0], i);
  }
}

static void new_arrays(void) {
  static int in[3 * 64], out[3 * 64], counts[64], places[64];
  for (int i = 0; i < rounds && np <= 64; ++i) {
    int all = 0;
    for (int k = 0; k < np; ++k) places[k] = all, counts[k] = (i / 2 + k) % 3, all += counts[k];
    for (int k = 0; k < all; ++k) in[k] = i + k, out[k] = -1;
    MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int k = 0; k < counts[me]; ++k) CHECK_EQ(out[k], np * (i + places[me] + k));
    for (int k = 0; k < 3; ++k) in[k] = 100 * me + i;
    MPI_Allgatherv(in, counts[me], MPI_INT, out, counts, places, MPI_INT, MPI_COMM_WORLD);
    for (int k = 0; k < np; ++k)
      for (int n = 0; n < counts[k]; ++n) CHECK_EQ(out[places[k] + n], 100 * k + i);
  }
}

// Each communicator is freed before the next one is made, so that it gets the same handle.
static void new_communicators(void) {
  int mine = me, sum, rank, size, list[64];
  for (int i = 0; i < rounds && np <= 64; ++i) {
    const int part = i % 2 ? me % 2 : me < np / 2;
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, part, i % 3 ? me : -me, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int again = 0; again < 5; ++again) {
      int expected = 0;
      MPI_Allgather(&mine, 1, MPI_INT, list, 1, MPI_INT, comm);
      CHECK_EQ(list[rank], me);
      for (int k = 0; k < size; ++k) expected += list[k];
      MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
      CHECK_EQ(sum, expected);
    }
    MPI_Comm_free(&comm);
  }
}

static void new_types(void) {
  char data[64];
  for (int i = 0; i < rounds; ++i) {
    MPI_Datatype type;
    const int bytes = 1 + i % 7, step = 1 + i % 3;  // a step of 1 is contiguous
    MPI_Type_vector(bytes, 1, step, MPI_CHAR, &type);
    MPI_Type_commit(&type);
    for (int again = 0; again < 2; ++again) {
      memset(data, me == 0 ? i : 99, sizeof data);
      MPI_Bcast(data, 1, type, 0, MPI_COMM_WORLD);
      for (int k = 0; k < (int)sizeof data; ++k)
        CHECK_EQ(data[k], me == 0 || (k % step == 0 && k / step < bytes) ? i : 99);
    }
    MPI_Type_free(&type);
  }
}

static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
  (void)type;
}

static void first(void* in, void* inout, int* count, MPI_Datatype* type) {
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] = ((int*)in)[i];
  (void)type;
}

static void new_operations(void) {
  int mine = me, result;
  for (int i = 0; i < rounds; ++i) {
    MPI_Op op;
    MPI_Op_create(i % 2 ? first : add, i % 2 == 0, &op);
    for (int again = 0; again < 2; ++again) {
      MPI_Allreduce(&mine, &result, 1, MPI_INT, op, MPI_COMM_WORLD);
      CHECK_EQ(result, i % 2 ? 0 : sum_of_ranks());
    }
    MPI_Op_free(&op);
  }
}

CASE(repeated_calls) {
  new_contents();
  new_arrays();
  new_communicators();
  new_types();
  new_operations();
}
