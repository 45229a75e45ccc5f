// Probe, Iprobe, Mprobe, Improbe, Mrecv and Imrecv with and without wildcards: contents of statuses, unknown
// sizes, zero bytes, order of messages; receives and probes no longer find a matched message;
// MPI_MESSAGE_NO_PROC.
#include "check.h"

enum { n = 12, tag = 60 };

static const int sizes[n] = {0, 1, 8, 100, 1000, 4096, 5000, 20000, 65536, 0, 300000, 16};

static void send_all(int to) {
  MPI_Request r[n];
  char* bufs[n];
  for (int i = 0; i < n; ++i) {
    bufs[i] = malloc((size_t)sizes[i] + 1);
    fill_pattern(bufs[i], (size_t)sizes[i], me, to, i);
    MPI_Isend(bufs[i], sizes[i], MPI_BYTE, to, tag + i, MPI_COMM_WORLD, &r[i]);
  }
  MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
  for (int i = 0; i < n; ++i) free(bufs[i]);
}

enum way { w_probe, w_iprobe, w_mprobe, w_improbe, w_mixed, ways };

// Probes for a message, then receives exactly that one.
static void take(enum way way, int source, int wanted_tag, int from, int i) {
  MPI_Status seen = spoiled_status(), got = spoiled_status();
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Request r;
  int flag = 0, bytes = -1;
  if (way == w_mixed) {
    MPI_Probe(source, wanted_tag, MPI_COMM_WORLD, &seen);
    CHECK_STATUS(seen, from, tag + i, sizes[i], MPI_BYTE);
    way = i % 2 ? w_mprobe : w_improbe;
  }
  if (way == w_probe) MPI_Probe(source, wanted_tag, MPI_COMM_WORLD, &seen);
  while (way == w_iprobe && !flag) MPI_Iprobe(source, wanted_tag, MPI_COMM_WORLD, &flag, &seen);
  if (way == w_mprobe) MPI_Mprobe(source, wanted_tag, MPI_COMM_WORLD, &message, &seen);
  while (way == w_improbe && !flag) MPI_Improbe(source, wanted_tag, MPI_COMM_WORLD, &flag, &message, &seen);
  CHECK_STATUS(seen, from, tag + i, sizes[i], MPI_BYTE);
  MPI_Get_count(&seen, MPI_BYTE, &bytes);
  char* buf = guarded_new((size_t)bytes);
  if (message == MPI_MESSAGE_NULL) {
    MPI_Recv(buf, bytes, MPI_BYTE, seen.MPI_SOURCE, seen.MPI_TAG, MPI_COMM_WORLD, &got);
  } else if (i % 3) {
    MPI_Mrecv(buf, bytes, MPI_BYTE, &message, &got);
  } else {
    MPI_Imrecv(buf, bytes, MPI_BYTE, &message, &r);
    CHECK(message == MPI_MESSAGE_NULL);
    MPI_Wait(&r, &got);
  }
  CHECK(message == MPI_MESSAGE_NULL);
  CHECK_STATUS(got, from, tag + i, bytes, MPI_BYTE);
  VERIFY(buf, (size_t)bytes, from, me, i);
  GUARDED_FREE(buf, (size_t)bytes);
}

static void all_ways(int from, int to) {
  for (int way = 0; way < ways; ++way)
    for (int kind = 0; kind < 4; ++kind) {
      if (me == from) send_all(to);
      // ANY_TAG must find the first unreceived message; named tags go backwards.
      for (int k = 0; k < n && me == to; ++k) {
        int i = kind % 2 ? k : n - 1 - k;
        take(way, kind / 2 ? MPI_ANY_SOURCE : from, kind % 2 ? MPI_ANY_TAG : tag + i, from, i);
      }
    }
}

static void nothing_there(void) {
  MPI_Message message;
  int flag = 1;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  CHECK(!flag);
  flag = 1;
  MPI_Improbe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
  CHECK(!flag);
}

// Other calls no longer find a matched message, but its successor.
static void out_of_reach(int from, int to, int bytes) {
  int *out = malloc(3 * (size_t)bytes), *in = malloc((size_t)bytes), ints = bytes / 4;
  MPI_Request r[3];
  if (me == from) {
    for (int i = 0; i < 3; ++i) {
      out[i * ints] = i;
      MPI_Isend(out + i * ints, ints, MPI_INT, to, tag, MPI_COMM_WORLD, &r[i]);
    }
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
  } else if (me == to) {
    MPI_Message first, second;
    MPI_Status s;
    MPI_Mprobe(from, tag, MPI_COMM_WORLD, &first, &s);
    MPI_Mprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &second, MPI_STATUS_IGNORE);
    MPI_Recv(in, ints, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(in[0], 2);
    MPI_Mrecv(in, ints, MPI_INT, &second, MPI_STATUS_IGNORE);
    CHECK_EQ(in[0], 1);
    MPI_Mrecv(in, ints, MPI_INT, &first, &s);
    CHECK_EQ(in[0], 0);
    CHECK_STATUS(s, from, tag, ints, MPI_INT);
  }
  free(out);
  free(in);
}

// A posted receive takes the message before a later probe can see it.
static void posted_first(int from, int to) {
  int in[2] = {0, 0}, out[2] = {1, 2};
  MPI_Request r;
  MPI_Status s;
  if (me == to) {
    MPI_Irecv(&in[0], 1, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD, &r);
    MPI_Send(NULL, 0, MPI_BYTE, from, 1, MPI_COMM_WORLD);
    MPI_Probe(from, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
    CHECK_EQ(s.MPI_TAG, 21);
    MPI_Recv(&in[1], 1, MPI_INT, from, 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&r, &s);
    CHECK(s.MPI_TAG == 20 && in[0] == 1 && in[1] == 2);
  } else if (me == from) {
    MPI_Recv(NULL, 0, MPI_BYTE, to, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&out[0], 1, MPI_INT, to, 20, MPI_COMM_WORLD);
    MPI_Send(&out[1], 1, MPI_INT, to, 21, MPI_COMM_WORLD);
  }
}

static void no_process(void) {
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status s = spoiled_status();
  MPI_Request r;
  int flag = 0, untouched = 9;
  MPI_Probe(MPI_PROC_NULL, 5, MPI_COMM_WORLD, &s);
  CHECK_STATUS(s, MPI_PROC_NULL, MPI_ANY_TAG, 0, MPI_INT);
  s = spoiled_status();
  MPI_Iprobe(MPI_PROC_NULL, 5, MPI_COMM_WORLD, &flag, &s);
  CHECK(flag);
  CHECK_STATUS(s, MPI_PROC_NULL, MPI_ANY_TAG, 0, MPI_INT);
  for (int kind = 0; kind < 2; ++kind) {
    s = spoiled_status();
    flag = 0;
    if (kind) MPI_Improbe(MPI_PROC_NULL, 5, MPI_COMM_WORLD, &flag, &message, &s);
    if (!kind) MPI_Mprobe(MPI_PROC_NULL, 5, MPI_COMM_WORLD, &message, &s);
    CHECK(flag == kind && message == MPI_MESSAGE_NO_PROC);
    CHECK_STATUS(s, MPI_PROC_NULL, MPI_ANY_TAG, 0, MPI_INT);
    s = spoiled_status();
    if (kind) MPI_Mrecv(&untouched, 1, MPI_INT, &message, &s);
    if (!kind) MPI_Imrecv(&untouched, 1, MPI_INT, &message, &r), MPI_Wait(&r, &s);
    CHECK(message == MPI_MESSAGE_NULL && untouched == 9);
    CHECK_STATUS(s, MPI_PROC_NULL, MPI_ANY_TAG, 0, MPI_INT);
  }
}

// Probes for messages of unknown sizes, from all ranks at once.
static void any_source(int receiver) {
  int count = 100;
  for (int i = 0; i < count && me != receiver; ++i) {
    int out[100];
    for (int k = 0; k <= i; ++k) out[k] = me * 1000 + i;
    MPI_Send(out, i + 1, MPI_INT, receiver, tag, MPI_COMM_WORLD);
  }
  if (me != receiver) return;
  int* next = calloc((size_t)np, sizeof *next);
  for (int i = 0; i < count * (np - 1); ++i) {
    MPI_Status s;
    MPI_Message message;
    int ints, in[100];
    MPI_Mprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &message, &s);
    MPI_Get_count(&s, MPI_INT, &ints);
    CHECK_EQ(ints, ++next[s.MPI_SOURCE]);
    MPI_Mrecv(in, ints, MPI_INT, &message, MPI_STATUS_IGNORE);
    for (int k = 0; k < ints; ++k) CHECK_EQ(in[k], s.MPI_SOURCE * 1000 + ints - 1);
  }
  free(next);
}

CASE(probe) {
  nothing_there();
  no_process();
  MPI_Barrier(MPI_COMM_WORLD);
  for (int from = 0; from < np && np > 1; ++from) {
    int to = right_of(from, np);
    all_ways(from, to);
    out_of_reach(from, to, 16);
    out_of_reach(from, to, 200000);
    posted_first(from, to);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (np > 1) any_source(np - 1);
  MPI_Barrier(MPI_COMM_WORLD);
  nothing_there();
}
