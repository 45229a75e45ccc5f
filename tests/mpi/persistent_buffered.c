// A buffered send of 16 KiB is started again while its previous message may be in flight; the MPI library may
// replace the request behind the program's handle. The data is the same each time, because Open MPI 4.1 sends
// stale bytes (see persistent.c).
#include "check.h"

enum { bytes = 16384, rounds = 8 };

CASE(persistent_buffered) {
  static char out[bytes], in[bytes];
  const int room_bytes = rounds * (bytes + MPI_BSEND_OVERHEAD), right = right_of(me, np),
            left = left_of(me, np);
  char *room = malloc((size_t)room_bytes), *detached;
  int size;
  MPI_Request send, receive;
  MPI_Status s;
  MPI_Buffer_attach(room, room_bytes);
  memset(out, 'x', bytes);
  MPI_Bsend_init(out, bytes, MPI_BYTE, right, 1, MPI_COMM_WORLD, &send);
  MPI_Recv_init(in, bytes, MPI_BYTE, left, 1, MPI_COMM_WORLD, &receive);
  for (int round = 0; round < rounds; ++round) {
    MPI_Start(&send);
    MPI_Wait(&send, &s);
  }
  for (int round = 0; round < rounds; ++round) {
    memset(in, 0, bytes);
    MPI_Start(&receive);
    MPI_Wait(&receive, &s);
    CHECK_STATUS(s, left, 1, bytes, MPI_BYTE);
    CHECK(in[0] == 'x' && in[bytes - 1] == 'x');
  }
  MPI_Request_free(&send);
  MPI_Request_free(&receive);
  MPI_Buffer_detach(&detached, &size);
  CHECK(detached == room);
  free(room);
}
