// The parts of the soak: random numbers, communicators, pieces of memory, ways of waiting, collectives.
#ifndef TESTS_MPI_SOAK_H
#define TESTS_MPI_SOAK_H

#include <stdbool.h>

#include "check.h"

enum { world, copy, reversed, parity, comms };
enum { most_messages = 96, most_collectives = 2, tags = 4, longest_buffered = 4096 };

static uint64_t common;  // state of the random numbers that all ranks share
static uint64_t own;     // and of this rank's own ones
static int round_number;
static MPI_Comm communicator[comms];
static char bsend_memory[most_messages * (longest_buffered + 1024)];

static inline unsigned draw(uint64_t* state, unsigned below) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return (unsigned)((*state * 0x2545F4914F6CDD1Du) >> 33) % below;
}

static inline void open_communicators(void) {
  communicator[world] = MPI_COMM_WORLD;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator[copy]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &communicator[reversed]);
  MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &communicator[parity]);
  MPI_Buffer_attach(bsend_memory, sizeof bsend_memory);
}

static inline void close_communicators(void) {
  void* memory;
  int bytes;
  MPI_Buffer_detach(&memory, &bytes);
  for (int i = copy; i < comms; ++i) MPI_Comm_free(&communicator[i]);
}

static inline int rank_in(int comm, int rank) {
  return comm == reversed ? np - 1 - rank : comm == parity ? rank / 2 : rank;
}

// ---- pieces: the memory of a message, in one block or with gaps ----

struct message {
  int source, destination;  // world ranks; may be the same
  int comm, tag, number;
  int count;
  bool words;  // of MPI_INT, else of MPI_BYTE
};

static inline int bytes_of(const struct message* m) {
  return m->words ? 4 * m->count : m->count;
}

enum { block = 64, stride = 96 };  // elements

struct piece {
  char* memory;
  size_t bytes, extent;  // bytes of the message, and of the memory
  size_t width;
  MPI_Datatype type;
  int count;
  bool stretched;
};

static inline void open_piece(struct piece* p, int count, bool words, bool stretched) {
  p->width = words ? 4 : 1;
  p->bytes = (size_t)count * p->width;
  p->type = words ? MPI_INT : MPI_BYTE;
  p->count = count;
  p->stretched = stretched && count > 0 && count % block == 0;
  p->extent = p->bytes;
  if (p->stretched) {
    MPI_Type_vector(count / block, block, stride, p->type, &p->type);
    MPI_Type_commit(&p->type);
    p->count = 1;
    p->extent = (size_t)(count / block) * stride * p->width;
  }
  p->memory = guarded_new(p->extent);
  memset(p->memory, guard_value, p->extent);
}

static inline void fill_piece(const struct piece* p, const struct message* m) {
  if (!p->stretched) {
    fill_pattern(p->memory, p->bytes, m->source, m->destination, m->number);
    return;
  }
  char* packed = malloc(p->bytes);
  fill_pattern(packed, p->bytes, m->source, m->destination, m->number);
  const size_t one = block * p->width;
  for (size_t i = 0; i * one < p->bytes; ++i)
    memcpy(p->memory + i * stride * p->width, packed + i * one, one);
  free(packed);
}

static inline void verify_piece(const struct piece* p, const struct message* m) {
  const size_t bytes = (size_t)bytes_of(m);
  if (!p->stretched) {
    VERIFY(p->memory, bytes, m->source, m->destination, m->number);
    return;
  }
  char* packed = malloc(bytes);
  const size_t one = block * p->width, step = stride * p->width;
  for (size_t i = 0; i * one < bytes; ++i) {
    memcpy(packed + i * one, p->memory + i * step, one);
    for (size_t gap = one; gap < step; ++gap) CHECK_EQ((unsigned char)p->memory[i * step + gap], guard_value);
  }
  VERIFY(packed, bytes, m->source, m->destination, m->number);
  free(packed);
}

static inline void close_piece(struct piece* p) {
  if (p->stretched) MPI_Type_free(&p->type);
  GUARDED_FREE(p->memory, p->extent);
}

// ---- waiting ----

static inline void wait_for_all(MPI_Request* requests, int count, MPI_Status* statuses) {
  static MPI_Status found[most_messages];
  int indices[most_messages], some = 0, done = 0;
  switch (draw(&own, 5)) {
    case 0:
      MPI_Waitall(count, requests, statuses);
      return;
    case 1:
      for (int i = 0; i < count; ++i) {
        int index;
        MPI_Waitany(count, requests, &index, &found[0]);
        if (index == MPI_UNDEFINED) return;
        statuses[index] = found[0];
      }
      return;
    case 2:
      for (;;) {
        MPI_Waitsome(count, requests, &some, indices, found);
        if (some == MPI_UNDEFINED) return;
        for (int i = 0; i < some; ++i) statuses[indices[i]] = found[i];
      }
    case 3:
      while (!done) MPI_Testall(count, requests, &done, statuses);
      return;
    default:
      for (int i = count - 1; i >= 0; --i) {
        for (done = 0; !done;) MPI_Test(&requests[i], &done, &statuses[i]);
      }
  }
}

// ---- collectives ----

enum operation {
  op_bcast,
  op_reduce,
  op_maximum,
  op_gather,
  op_scatter,
  op_alltoall,
  op_scan,
  op_gatherv,
  operations
};

struct collective {
  enum operation operation;
  bool waits;  // for a request
  int comm, root, count, rank, size, salt;
  int *send, *receive, *counts, *offsets;
  MPI_Request request;
};

static inline int value(const struct collective* c, int rank, int index) {
  return (rank + 1) * 1000 + index % 97 + c->salt;
}

static inline void draw_collective(struct collective* c) {
  c->operation = draw(&common, operations);
  c->waits = draw(&common, 2) == 0;
  c->comm = (int)draw(&common, comms);
  c->count = (int)draw(&common, draw(&common, 6) == 0 ? 20000 : 300);
  MPI_Comm_rank(communicator[c->comm], &c->rank);
  MPI_Comm_size(communicator[c->comm], &c->size);
  c->root = (int)(draw(&common, 1 << 16) % (unsigned)c->size);
  c->salt = (int)draw(&common, 1000);
}

static inline void start_collective(struct collective* c) {
  const MPI_Comm comm = communicator[c->comm];
  const int n = c->count, root = c->root;
  const size_t all = (size_t)n * (size_t)c->size + 1;
  c->send = malloc(all * sizeof *c->send);
  c->receive = malloc(all * sizeof *c->receive);
  c->counts = malloc((size_t)c->size * sizeof *c->counts);
  c->offsets = malloc((size_t)c->size * sizeof *c->offsets);
  c->request = MPI_REQUEST_NULL;
  for (size_t i = 0; i < all; ++i) c->send[i] = value(c, c->rank, (int)i), c->receive[i] = -1;
  for (int r = 0, at = 0; r < c->size; at += c->counts[r++]) c->counts[r] = n / (r + 1), c->offsets[r] = at;
#define EITHER(blocking, starting, ...) \
  (c->waits ? MPI_##starting(__VA_ARGS__, comm, &c->request) : MPI_##blocking(__VA_ARGS__, comm))
  int *in = c->send, *out = c->receive;
  switch (c->operation) {
    case op_bcast:
      EITHER(Bcast, Ibcast, c->rank == root ? in : out, n, MPI_INT, root);
      break;
    case op_reduce:
      EITHER(Reduce, Ireduce, in, out, n, MPI_INT, MPI_SUM, root);
      break;
    case op_maximum:
      EITHER(Allreduce, Iallreduce, in, out, n, MPI_INT, MPI_MAX);
      break;
    case op_gather:
      EITHER(Gather, Igather, in, n, MPI_INT, out, n, MPI_INT, root);
      break;
    case op_scatter:
      EITHER(Scatter, Iscatter, in, n, MPI_INT, out, n, MPI_INT, root);
      break;
    case op_alltoall:
      EITHER(Alltoall, Ialltoall, in, n, MPI_INT, out, n, MPI_INT);
      break;
    case op_scan:
      EITHER(Scan, Iscan, in, out, n, MPI_INT, MPI_SUM);
      break;
    case op_gatherv:
      EITHER(Gatherv, Igatherv, in, c->counts[c->rank], MPI_INT, out, c->counts, c->offsets, MPI_INT, root);
      break;
    default:
      CHECK(0);
  }
#undef EITHER
}

static inline void check_collective(const struct collective* c) {
  const int n = c->count, upto = c->operation == op_scan ? c->rank : c->size - 1;
  const bool at_root = c->rank == c->root;
  for (int i = 0; i < n; ++i) {
    int sum = 0;
    for (int r = 0; r <= upto; ++r) sum += value(c, r, i);
    if (c->operation == op_bcast && !at_root) CHECK_EQ(c->receive[i], value(c, c->root, i));
    if (c->operation == op_reduce && at_root) CHECK_EQ(c->receive[i], sum);
    if (c->operation == op_scan) CHECK_EQ(c->receive[i], sum);
    if (c->operation == op_maximum) CHECK_EQ(c->receive[i], value(c, c->size - 1, i));
    if (c->operation == op_scatter) CHECK_EQ(c->receive[i], value(c, c->root, c->rank * n + i));
    for (int r = 0; r < c->size; ++r) {
      if (c->operation == op_gather && at_root) CHECK_EQ(c->receive[r * n + i], value(c, r, i));
      if (c->operation == op_alltoall) CHECK_EQ(c->receive[r * n + i], value(c, r, c->rank * n + i));
      if (c->operation == op_gatherv && at_root && i < c->counts[r])
        CHECK_EQ(c->receive[c->offsets[r] + i], value(c, r, i));
    }
  }
}

static inline void finish_collective(struct collective* c) {
  if (c->waits) MPI_Wait(&c->request, MPI_STATUS_IGNORE);
  check_collective(c);
  free(c->send);
  free(c->receive);
  free(c->counts);
  free(c->offsets);
}

#endif
