// Payloads from 0 to 16 MiB and one byte around the sizes where implementations change protocol: blocking and
// nonblocking, the message before the receive and the receive before the message, one way and both ways at
// once.
#include "check.h"

enum { largest = 16 << 20, tag = 4 };

static char *in, *out;

static int right, left;

static void begin(int bytes, int round) {
  memset(in, 0, (size_t)bytes < 4096 ? 4096 : 64);
  fill_pattern(out, (size_t)bytes, me, right, round);
}

static void end(int bytes, int round, const MPI_Status* s) {
  CHECK_STATUS(*s, left, tag, bytes, MPI_BYTE);
  VERIFY(in, (size_t)bytes, left, me, round);
  if (bytes) in[bytes - 1] ^= 1;  // old contents must not pass for a later message
}

// Blocking, one link of the ring after the other.
static void blocking(int bytes) {
  MPI_Status s;
  begin(bytes, 1);
  for (int from = 0; from < np; ++from) {
    if (me == from) MPI_Send(out, bytes, MPI_BYTE, right, tag, MPI_COMM_WORLD);
    if (left == from) {
      MPI_Recv(in, bytes, MPI_BYTE, left, tag, MPI_COMM_WORLD, &s);
      end(bytes, 1, &s);
    }
  }
}

static void unexpected(int bytes) {
  MPI_Status s;
  MPI_Request r;
  begin(bytes, 2);
  MPI_Isend(out, bytes, MPI_BYTE, right, tag, MPI_COMM_WORLD, &r);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Recv(in, bytes, MPI_BYTE, left, tag, MPI_COMM_WORLD, &s);
  end(bytes, 2, &s);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void expected(int bytes) {
  MPI_Status s;
  MPI_Request r;
  begin(bytes, 3);
  MPI_Irecv(in, largest, MPI_BYTE, left, tag, MPI_COMM_WORLD, &r);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(out, bytes, MPI_BYTE, right, tag, MPI_COMM_WORLD);
  MPI_Wait(&r, &s);
  end(bytes, 3, &s);
}

// With both neighbours in both directions; at two ranks that is the same link twice.
static void both_ways(int bytes) {
  int half = largest / 2;
  MPI_Request r[4];
  MPI_Status s[4];
  begin(bytes, 4);
  if (bytes > half) return;
  fill_pattern(out + half, (size_t)bytes, me, left, 5);
  MPI_Isend(out, bytes, MPI_BYTE, right, tag, MPI_COMM_WORLD, &r[2]);
  MPI_Isend(out + half, bytes, MPI_BYTE, left, tag + 1, MPI_COMM_WORLD, &r[3]);
  MPI_Irecv(in + half, half, MPI_BYTE, right, tag + 1, MPI_COMM_WORLD, &r[0]);
  MPI_Irecv(in, half, MPI_BYTE, left, tag, MPI_COMM_WORLD, &r[1]);
  MPI_Waitall(4, r, s);
  end(bytes, 4, &s[1]);
  CHECK_STATUS(s[0], right, tag + 1, bytes, MPI_BYTE);
  VERIFY(in + half, (size_t)bytes, right, me, 5);
}

static void one_size(int bytes) {
  if (np > 1) blocking(bytes);
  unexpected(bytes);
  if (np > 1) expected(bytes);
  both_ways(bytes);
  CHECK_GUARDS(in, largest);
}

CASE(sizes) {
  static const int around[] = {1,    64,   93,    128,   256,   512,    1024,   2048,   4096,
                               8192, 8256, 16384, 32768, 65536, 131072, 262144, 524288, 1 << 20};
  static const int large[] = {3 << 20, 8 << 20, largest};
  right = right_of(me, np);
  left = left_of(me, np);
  in = guarded_new(largest);
  out = guarded_new(largest);
  for (size_t i = 0; i < sizeof around / sizeof *around; ++i)
    for (int off = -1; off <= 1; ++off) one_size(around[i] + off);
  for (size_t i = 0; i < sizeof large / sizeof *large; ++i) one_size(large[i]);
  GUARDED_FREE(in, largest);
  GUARDED_FREE(out, largest);
}
