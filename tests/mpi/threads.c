// MPI_THREAD_MULTIPLE: four threads per rank send and receive at once. They use one communicator with their
// own tags, also with ANY_SOURCE in one of them; communicators of their own; Isend and Waitall; probes. In
// one test a thread is in a native Barrier on a duplicated communicator meanwhile.
#include <pthread.h>

#include "check.h"

enum { threads = 4, rounds = 150, longest = 20000 };

struct job {
  int id;
  MPI_Comm comm;
  int tag, wild;
};

static int size_of(int round) {
  static const int sizes[] = {4, 1000, 0, 5000, 64, 20000};
  return sizes[round % 6];
}

// Sendrecv round the ring.
static void* ring(void* argument) {
  struct job* job = argument;
  int rank, size;
  MPI_Comm_rank(job->comm, &rank);
  MPI_Comm_size(job->comm, &size);
  int right = right_of(rank, size), left = left_of(rank, size), mark = 1000 * job->id;
  char *in = guarded_new(longest), *out = guarded_new(longest);
  for (int round = 0; round < rounds; ++round) {
    int bytes = size_of(round);
    MPI_Status s;
    fill_pattern(out, (size_t)bytes, rank, right, mark + round);
    MPI_Sendrecv(out, bytes, MPI_BYTE, right, job->tag, in, bytes, MPI_BYTE,
                 job->wild ? MPI_ANY_SOURCE : left, job->tag, job->comm, &s);
    CHECK_STATUS(s, left, job->tag, bytes, MPI_BYTE);
    VERIFY(in, (size_t)bytes, left, rank, mark + round);
  }
  GUARDED_FREE(in, longest);
  GUARDED_FREE(out, longest);
  return NULL;
}

// A window of Isends and Irecvs at a time.
static void* windows(void* argument) {
  enum { width = 16 };
  struct job* job = argument;
  int rank, size;
  MPI_Comm_rank(job->comm, &rank);
  MPI_Comm_size(job->comm, &size);
  int right = right_of(rank, size), left = left_of(rank, size);
  char *in = malloc(width * longest), *out = malloc(width * longest);
  MPI_Request r[2 * width];
  for (int round = 0; round < rounds / 10; ++round) {
    for (int i = 0; i < width; ++i)
      MPI_Irecv(in + i * longest, longest, MPI_BYTE, left, job->tag, job->comm, &r[i]);
    for (int i = 0; i < width; ++i) {
      fill_pattern(out + i * longest, (size_t)size_of(i), rank, right, job->id * 100 + i);
      MPI_Isend(out + i * longest, size_of(i), MPI_BYTE, right, job->tag, job->comm, &r[width + i]);
    }
    MPI_Waitall(2 * width, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < width; ++i)
      VERIFY(in + i * longest, (size_t)size_of(i), left, rank, job->id * 100 + i);
  }
  free(in);
  free(out);
  return NULL;
}

// Matched probes make probing safe beside other threads.
static void* probes(void* argument) {
  struct job* job = argument;
  char *in = malloc(longest), *out = malloc(longest);
  for (int round = 0; round < rounds; ++round) {
    MPI_Request r;
    MPI_Message message;
    MPI_Status s;
    int bytes;
    fill_pattern(out, (size_t)size_of(round), me, right_of(me, np), job->id + round);
    MPI_Isend(out, size_of(round), MPI_BYTE, right_of(me, np), job->tag, job->comm, &r);
    MPI_Mprobe(MPI_ANY_SOURCE, job->tag, job->comm, &message, &s);
    MPI_Get_count(&s, MPI_BYTE, &bytes);
    CHECK_EQ(bytes, size_of(round));
    MPI_Mrecv(in, bytes, MPI_BYTE, &message, &s);
    VERIFY(in, (size_t)bytes, left_of(me, np), me, job->id + round);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
  }
  free(in);
  free(out);
  return NULL;
}

static void* barriers(void* argument) {
  struct job* job = argument;
  int sum, one = 1;
  for (int round = 0; round < 40; ++round) {
    MPI_Barrier(job->comm);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, job->comm);
    CHECK_EQ(sum, np);
  }
  return NULL;
}

// The barrier ends only after rank 0's other threads have received the messages of all ranks.
static void* late_barrier(void* argument) {
  struct job* job = argument;
  MPI_Barrier(job->comm);
  return NULL;
}

// A user-defined operation may call MPI functions that do not communicate.
static void multiply(void* in, void* inout, int* count, MPI_Datatype* type) {
  MPI_Datatype pair;
  (void)type;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Type_free(&pair);
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] *= ((int*)in)[i] + (MPI_Wtime() < 0);
}

static void operations(void) {
  MPI_Op op;
  MPI_Op_create(multiply, 1, &op);
  for (int round = 0; round < 20; ++round) {
    int two = 2, product = 0;
    MPI_Allreduce(&two, &product, 1, MPI_INT, op, MPI_COMM_WORLD);
    CHECK_EQ(product, 1 << np);
  }
  MPI_Op_free(&op);
}

static void run(void* (*const bodies[threads])(void*), struct job jobs[threads]) {
  pthread_t handles[threads];
  for (int t = 0; t < threads; ++t) CHECK(!pthread_create(&handles[t], NULL, bodies[t], &jobs[t]));
  for (int t = 0; t < threads; ++t) pthread_join(handles[t], NULL);
}

static void barrier_beside_traffic(MPI_Comm dup) {
  pthread_t handle;
  struct job job = {0, dup, 0, 0}, others = {3, MPI_COMM_WORLD, 70, 0};
  if (me != 0) CHECK(!pthread_create(&handle, NULL, late_barrier, &job));
  ring(&others);
  windows(&others);
  if (me == 0) MPI_Barrier(dup);
  if (me != 0) pthread_join(handle, NULL);
}

THREADED_CASE(threads) {
  void* (*const rings[threads])(void*) = {ring, ring, ring, ring};
  void* (*const mixed[threads])(void*) = {ring, windows, probes, barriers};
  struct job jobs[threads];
  MPI_Comm dups[threads];
  for (int t = 0; t < threads; ++t) {
    MPI_Comm_dup(MPI_COMM_WORLD, &dups[t]);
    jobs[t] = (struct job){t, MPI_COMM_WORLD, 50 + t, t == 1};
  }
  run(rings, jobs);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int t = 0; t < threads; ++t) jobs[t] = (struct job){t, dups[t], 5, t % 2};
  run(rings, jobs);
  for (int t = 0; t < threads; ++t) jobs[t] = (struct job){t, t < 3 ? MPI_COMM_WORLD : dups[3], 60 + t, 0};
  run(mixed, jobs);
  barrier_beside_traffic(dups[0]);
  operations();
  for (int t = 0; t < threads; ++t) MPI_Comm_free(&dups[t]);
}
