// Shared by all programs in this folder: checks that end the job, patterned buffers, guarded memory.
// An ordinary test is a case (cases.h). One that needs a process of its own, because of what it does at the
// beginning or the end of MPI, has a main: it calls check_start, tests, and returns check_finish("its name").
#ifndef TESTS_MPI_CHECK_H
#define TESTS_MPI_CHECK_H

#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// One of each in a program of several files.
__attribute__((weak)) int me;  // rank in MPI_COMM_WORLD
__attribute__((weak)) int np;  // its size

static inline _Noreturn void check_failed(const char* what, const char* file, int line) {
  fprintf(stderr, "FAIL %s:%d rank %d: %s\n", file, line, me, what);
  fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

static inline void check_equal(long long a, long long b, const char* a_text, const char* b_text,
                               const char* file, int line) {
  char text[512];
  if (a == b) return;
  snprintf(text, sizeof text, "%s == %s (%lld, %lld)", a_text, b_text, a, b);
  check_failed(text, file, line);
}

#define CHECK(cond) ((cond) ? (void)0 : check_failed(#cond, __FILE__, __LINE__))
#define CHECK_EQ(a, b) check_equal((long long)(a), (long long)(b), #a, #b, __FILE__, __LINE__)

static inline void check_ranks(void) {
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &np);
}

static inline void check_start(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  check_ranks();
}

// The barrier makes "ok" mean that every rank came this far.
static inline int check_finish(const char* name) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) {
    printf("ok %s\n", name);
    fflush(stdout);
  }
  MPI_Finalize();
  return 0;
}

// ---- native faults of an MPI library: the check is left out, with the fault beside it ----

static inline int offramp_carries(void) {
  const char* (*backend)(void);
  *(void**)&backend = dlsym(dlopen(NULL, RTLD_LAZY), "offramp_backend");
  return backend != NULL && strcmp(backend(), "off") != 0;
}
// MPICH, with or without Offramp: for functions that Offramp leaves to the library.
static inline int over_mpich(void) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(version, &length);
  return strncmp(version, "MPICH", 5) == 0;
}
// MPICH by itself: for functions that Offramp carries.
static inline int mpich_alone(void) {
  return over_mpich() && !offramp_carries();
}

static inline int check_skip(const char* name, const char* why) {
  if (me == 0) printf("note: %s\n", why);
  return check_finish(name);
}

// ---- patterned buffers: every byte depends on source, destination, tag and index ----

static inline uint64_t pattern_seed(int source, int dest, int tag) {
  uint64_t h = (uint64_t)(source + 3) * 0x9E3779B97F4A7C15u;
  h = (h ^ (h >> 29) ^ (uint64_t)(dest + 5)) * 0xBF58476D1CE4E5B9u;
  h = (h ^ (h >> 31) ^ (uint64_t)(tag + 7)) * 0x94D049BB133111EBu;
  return h;
}

static inline uint64_t pattern_word(uint64_t seed, size_t index) {
  uint64_t x = seed + (uint64_t)index * 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93u;
  return x ^ (x >> 32);
}

static inline void fill_pattern(void* buf, size_t bytes, int source, int dest, int tag) {
  uint64_t seed = pattern_seed(source, dest, tag);
  for (size_t i = 0; i < bytes; i += 8) {
    uint64_t word = pattern_word(seed, i / 8);
    memcpy((char*)buf + i, &word, bytes - i < 8 ? bytes - i : 8);
  }
}

// Index of the first wrong byte, or -1.
static inline long long pattern_mismatch(const void* buf, size_t bytes, int source, int dest, int tag) {
  uint64_t seed = pattern_seed(source, dest, tag);
  const unsigned char* have = buf;
  for (size_t i = 0; i < bytes; i += 8) {
    uint64_t word = pattern_word(seed, i / 8);
    size_t n = bytes - i < 8 ? bytes - i : 8;
    if (memcmp(have + i, &word, n) == 0) continue;
    for (size_t k = 0; k < n; ++k)
      if (have[i + k] != ((unsigned char*)&word)[k]) return (long long)(i + k);
  }
  return -1;
}

static inline void check_pattern(const void* buf, size_t bytes, int source, int dest, int tag,
                                 const char* file, int line) {
  char text[256];
  long long at = pattern_mismatch(buf, bytes, source, dest, tag);
  if (at < 0) return;
  snprintf(text, sizeof text, "payload of %zu bytes from %d to %d, tag %d, wrong from byte %lld", bytes,
           source, dest, tag, at);
  check_failed(text, file, line);
}

#define VERIFY(buf, bytes, source, dest, tag) check_pattern(buf, bytes, source, dest, tag, __FILE__, __LINE__)

// ---- guarded memory: writes outside the buffer are found when it is freed ----

enum { guard_bytes = 64, guard_value = 0xA5 };

static inline void* guarded_new(size_t bytes) {
  char* base = malloc(bytes + 2 * guard_bytes);
  CHECK(base);
  memset(base, guard_value, bytes + 2 * guard_bytes);
  return base + guard_bytes;
}

static inline void check_guards(const void* buf, size_t bytes, const char* file, int line) {
  const unsigned char* before = (const unsigned char*)buf - guard_bytes;
  const unsigned char* after = (const unsigned char*)buf + bytes;
  for (int i = 0; i < guard_bytes; ++i)
    if (before[i] != guard_value || after[i] != guard_value)
      check_failed("memory beside a buffer was overwritten", file, line);
}

#define CHECK_GUARDS(buf, bytes) check_guards(buf, bytes, __FILE__, __LINE__)
#define GUARDED_FREE(buf, bytes) \
  (check_guards(buf, bytes, __FILE__, __LINE__), free((char*)(buf)-guard_bytes))

// ---- statuses ----

static inline void check_status(const MPI_Status* s, int source, int tag, int count, MPI_Datatype type,
                                const char* file, int line) {
  int n = -77, cancelled = -77;
  MPI_Get_count(s, type, &n);
  MPI_Test_cancelled(s, &cancelled);
  check_equal(s->MPI_SOURCE, source, "status.MPI_SOURCE", "source", file, line);
  check_equal(s->MPI_TAG, tag, "status.MPI_TAG", "tag", file, line);
  check_equal(n, count, "MPI_Get_count", "count", file, line);
  check_equal(cancelled, 0, "MPI_Test_cancelled", "0", file, line);
}

#define CHECK_STATUS(s, source, tag, count, type) \
  check_status(&(s), source, tag, count, type, __FILE__, __LINE__)
#define CHECK_EMPTY(s) check_status(&(s), MPI_ANY_SOURCE, MPI_ANY_TAG, 0, MPI_BYTE, __FILE__, __LINE__)

// Keeps a field that a call forgets to set from being right by chance.
static inline MPI_Status spoiled_status(void) {
  MPI_Status s;
  memset(&s, 0x5A, sizeof s);
  return s;
}

// ---- neighbours, and a round of traffic usable on every intracommunicator ----

static inline int right_of(int rank, int size) {
  return (rank + 1) % size;
}
static inline int left_of(int rank, int size) {
  return (rank + size - 1) % size;
}

// World rank of a communicator's rank, or MPI_UNDEFINED.
static inline int world_rank(MPI_Comm comm, int rank) {
  MPI_Group of_comm, of_world;
  int world;
  MPI_Comm_group(comm, &of_comm);
  MPI_Comm_group(MPI_COMM_WORLD, &of_world);
  MPI_Group_translate_ranks(of_comm, 1, &rank, of_world, &world);
  MPI_Group_free(&of_comm);
  MPI_Group_free(&of_world);
  return world;
}

// A ring of named messages and a Bcast from every root. The mark identifies the communicator.
static inline void comm_traffic(MPI_Comm comm, int mark) {
  int rank, size, got[3];
  MPI_Status s;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  int right = right_of(rank, size), left = left_of(rank, size);
  int mine[3] = {world_rank(comm, rank), right, mark};
  MPI_Sendrecv(mine, 3, MPI_INT, right, 5, got, 3, MPI_INT, left, 5, comm, &s);
  CHECK_STATUS(s, left, 5, 3, MPI_INT);
  CHECK_EQ(got[0], world_rank(comm, left));
  CHECK_EQ(got[1], rank);
  CHECK_EQ(got[2], mark);
  for (int root = 0; root < size; ++root) {
    int word[2] = {-1, -1};
    if (rank == root) word[0] = mine[0], word[1] = mark;
    MPI_Bcast(word, 2, MPI_INT, root, comm);
    CHECK_EQ(word[0], world_rank(comm, root));
    CHECK_EQ(word[1], mark);
  }
}

#include "cases.h"

#endif
