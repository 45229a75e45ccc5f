// 300 Isends and 300 Irecvs outstanding per rank, to and from all other ranks, with many tags and sizes,
// posted and completed in (reproducible) random order; once with receives first, once with sends first.
#include "check.h"

enum { n = 300 };

static char *in[n], *out[n];
static MPI_Request r[2 * n];
static MPI_Status s[2 * n];

static int size_of(int source, int i) {
  static const int sizes[] = {8, 0, 100, 3000, 8, 5000, 64, 1, 20000, 200};
  return sizes[(i + source) % 10];
}

static void shuffle(int* order, int count, uint64_t seed) {
  for (int i = 0; i < count; ++i) order[i] = i;
  for (int i = count - 1; i > 0; --i) {
    int k = (int)(pattern_word(seed, (size_t)i) % (uint64_t)(i + 1)), held = order[i];
    order[i] = order[k];
    order[k] = held;
  }
}

static int dest_of(int rank, int i) {
  return (rank + 1 + i % (np > 1 ? np - 1 : 1)) % np;
}

// Message i of rank r goes to dest_of(r, i), so a rank's message i comes from the source with that
// destination.
static int source_of(int rank, int i) {
  return (rank + 2 * np - 1 - i % (np > 1 ? np - 1 : 1)) % np;
}

static void post_receives(const int* order) {
  for (int k = 0; k < n; ++k) {
    int i = order[k];
    MPI_Irecv(in[i], 20000, MPI_BYTE, source_of(me, i), i, MPI_COMM_WORLD, &r[i]);
  }
}

static void post_sends(const int* order, int round) {
  for (int k = 0; k < n; ++k) {
    int i = order[k], to = dest_of(me, i), bytes = size_of(me, i);
    fill_pattern(out[i], (size_t)bytes, me, to, i + round);
    MPI_Isend(out[i], bytes, MPI_BYTE, to, i, MPI_COMM_WORLD, &r[n + i]);
  }
}

static void complete(int round, const int* order) {
  if (round % 3 == 0) MPI_Waitall(2 * n, r, s);
  for (int k = 0; k < 2 * n && round % 3 == 1; ++k) MPI_Wait(&r[order[k]], &s[order[k]]);
  for (int k = 0; k < 2 * n && round % 3 == 2; ++k) {
    int index;
    MPI_Status one;
    MPI_Waitany(2 * n, r, &index, &one);
    s[index] = one;
  }
}

CASE(outstanding_300) {
  int receives[n], sends[n], completions[2 * n];
  for (int i = 0; i < n; ++i) in[i] = malloc(20000), out[i] = malloc(20000);
  for (int round = 0; round < 12; ++round) {
    shuffle(receives, n, pattern_seed(me, 1, round));
    shuffle(sends, n, pattern_seed(me, 2, round));
    shuffle(completions, 2 * n, pattern_seed(me, 3, round));
    if (round % 2) post_receives(receives);
    post_sends(sends, round);
    if (round % 2 == 0) post_receives(receives);
    complete(round, completions);
    for (int i = 0; i < n; ++i) {
      int from = source_of(me, i), bytes = size_of(from, i);
      CHECK_STATUS(s[i], from, i, bytes, MPI_BYTE);
      VERIFY(in[i], (size_t)bytes, from, me, i + round);
    }
  }
  for (int i = 0; i < n; ++i) {
    free(in[i]);
    free(out[i]);
  }
}
