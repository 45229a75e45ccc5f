// MPI_ANY_SOURCE and MPI_ANY_TAG with hundreds of messages of all other ranks at once: every message exactly
// once, in order per source (or per source and tag), blocking and with receives posted ahead, also beside a
// named receive of the same messages.
#include "check.h"

enum { per_sender = 300, window = 50, tags = 7, longest = 9000 };

struct head {
  int source, sequence;
};

static int bytes_of(int source, int sequence) {
  static const int sizes[] = {8, 16, 100, 8, 2000, 8, 9000};
  return sizes[(source + sequence) % 7];
}

// Nonblocking, since the receiver may take the tags in another order.
static void send_all(int to) {
  char* bufs = malloc((size_t)per_sender * longest);
  MPI_Request r[per_sender];
  for (int i = 0; i < per_sender; ++i) {
    char* buf = bufs + i * longest;
    struct head h = {me, i};
    fill_pattern(buf, (size_t)bytes_of(me, i), me, to, i);
    memcpy(buf, &h, sizeof h);
    MPI_Isend(buf, bytes_of(me, i), MPI_BYTE, to, i % tags, MPI_COMM_WORLD, &r[i]);
  }
  MPI_Waitall(per_sender, r, MPI_STATUSES_IGNORE);
  free(bufs);
}

static struct head verify_message(char* buf, const MPI_Status* s) {
  struct head h;
  char first[8];
  memcpy(&h, buf, sizeof h);
  CHECK_EQ(s->MPI_SOURCE, h.source);
  CHECK_EQ(s->MPI_TAG, h.sequence % tags);
  CHECK_STATUS(*s, h.source, h.sequence % tags, bytes_of(h.source, h.sequence), MPI_BYTE);
  fill_pattern(first, 8, h.source, me, h.sequence);
  memcpy(buf, first, 8);
  VERIFY(buf, (size_t)bytes_of(h.source, h.sequence), h.source, me, h.sequence);
  return h;
}

static void any_source_any_tag(void) {
  char* buf = guarded_new(longest);
  int* next = calloc((size_t)np, sizeof *next);
  for (int i = 0; i < (np - 1) * per_sender; ++i) {
    MPI_Status s = spoiled_status();
    MPI_Recv(buf, longest, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
    struct head h = verify_message(buf, &s);
    CHECK_EQ(h.sequence, next[h.source]++);
  }
  for (int r = 0; r < np; ++r) CHECK_EQ(next[r], r == me ? 0 : per_sender);
  free(next);
  GUARDED_FREE(buf, longest);
}

static void any_source_one_tag(void) {
  char* buf = guarded_new(longest);
  int* next = malloc((size_t)np * sizeof *next);
  for (int tag = tags - 1; tag >= 0; --tag) {
    int count = (per_sender - tag + tags - 1) / tags * (np - 1);
    for (int r = 0; r < np; ++r) next[r] = tag;
    for (int i = 0; i < count; ++i) {
      MPI_Status s;
      MPI_Recv(buf, longest, MPI_BYTE, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &s);
      struct head h = verify_message(buf, &s);
      CHECK_EQ(h.sequence, next[h.source]);
      next[h.source] += tags;
    }
  }
  free(next);
  GUARDED_FREE(buf, longest);
}

static void one_source_any_tag(void) {
  char* buf = guarded_new(longest);
  for (int i = 0; i < per_sender; ++i)
    for (int from = np - 1; from >= 0; --from) {
      MPI_Status s;
      if (from == me) continue;
      MPI_Recv(buf, longest, MPI_BYTE, from, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
      struct head h = verify_message(buf, &s);
      CHECK(h.source == from && h.sequence == i);
    }
  GUARDED_FREE(buf, longest);
}

// Receives match in the order of posting, in any order of completion.
static void posted_ahead(int named) {
  int total = (np - 1) * per_sender, *next = calloc((size_t)np, sizeof *next);
  char* bufs = malloc((size_t)window * longest);
  MPI_Request r[window];
  MPI_Status s[window];
  for (int done = 0; done < total;) {
    int n = total - done < window ? total - done : window;
    if (named) n = n / (np - 1) * (np - 1);
    for (int i = 0; i < n; ++i) {
      int from = (me + 1 + i % (np - 1)) % np;
      MPI_Irecv(bufs + i * longest, longest, MPI_BYTE, named ? from : MPI_ANY_SOURCE, MPI_ANY_TAG,
                MPI_COMM_WORLD, &r[i]);
    }
    MPI_Waitall(n, r, s);
    for (int i = 0; i < n; ++i) {
      struct head h = verify_message(bufs + i * longest, &s[i]);
      CHECK_EQ(h.sequence, next[h.source]++);
    }
    done += n;
  }
  for (int i = 0; i < np; ++i) CHECK_EQ(next[i], i == me ? 0 : per_sender);
  free(next);
  free(bufs);
}

// A wildcard posted before a named receive matches the first message; one posted after it the second.
static void wildcard_beside_named(int from, int to) {
  int first = -1, second = -1, one = 1, two = 2;
  MPI_Request r[2];
  for (int named_first = 0; named_first < 2; ++named_first) {
    if (me == to) {
      MPI_Irecv(&first, 1, MPI_INT, named_first ? from : MPI_ANY_SOURCE, 20, MPI_COMM_WORLD, &r[0]);
      MPI_Irecv(&second, 1, MPI_INT, named_first ? MPI_ANY_SOURCE : from, 20, MPI_COMM_WORLD, &r[1]);
      MPI_Send(NULL, 0, MPI_BYTE, from, 21, MPI_COMM_WORLD);
      MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
      CHECK(first == 1 && second == 2);
    } else if (me == from) {
      MPI_Recv(NULL, 0, MPI_BYTE, to, 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(&one, 1, MPI_INT, to, 20, MPI_COMM_WORLD);
      MPI_Send(&two, 1, MPI_INT, to, 20, MPI_COMM_WORLD);
    }
  }
}

CASE(wildcards) {
  if (np < 2) SKIP("needs two ranks");
  for (int receiver = 0; receiver < np; ++receiver)
    for (int kind = 0; kind < 5; ++kind) {
      if (me != receiver) send_all(receiver);
      if (me == receiver && kind == 0) any_source_any_tag();
      if (me == receiver && kind == 1) any_source_one_tag();
      if (me == receiver && kind == 2) one_source_any_tag();
      if (me == receiver && kind >= 3) posted_ahead(kind == 4);
      MPI_Barrier(MPI_COMM_WORLD);  // or the wildcards of this test could match messages of the next one
    }
  for (int from = 0; from < np; ++from) wildcard_beside_named(from, right_of(from, np));
}
