// A buffer for a few messages, reused while other processes keep the cores busy: received messages free their
// space, although the sender has little time to notice. Natively no send is refused.

#include "busy.h"
#include "check.h"

enum { kRounds = 20 };

typedef enum { blocking, immediate, persistent } Kind;

static void send_buffered(Kind kind, const char* data, int bytes, int tag) {
  MPI_Request r = MPI_REQUEST_NULL;
  switch (kind) {
    case blocking:
      CHECK_EQ(MPI_Bsend(data, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD), MPI_SUCCESS);
      break;
    case immediate:
      CHECK_EQ(MPI_Ibsend(data, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &r), MPI_SUCCESS);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
      break;
    case persistent:
      MPI_Bsend_init(data, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &r);
      CHECK_EQ(MPI_Start(&r), MPI_SUCCESS);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
      MPI_Request_free(&r);
  }
}

// Rank 0 sends two to rank 1, which fill the buffer; after the barrier there is room for two again.
static void rounds(Kind kind, int bytes) {
  char *data = malloc((size_t)bytes), *space = NULL;
  void* got;
  int size = 2 * (bytes + MPI_BSEND_OVERHEAD);
  space = malloc((size_t)size);
  MPI_Buffer_attach(space, size);
  for (int i = 0; i < kRounds; ++i) {
    for (int tag = 0; tag < 2 && me == 0; ++tag) {
      fill_pattern(data, (size_t)bytes, 0, 1, 2 * i + tag);
      send_buffered(kind, data, bytes, tag);
    }
    for (int tag = 0; tag < 2 && me == 1; ++tag) {
      MPI_Recv(data, bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      VERIFY(data, (size_t)bytes, 0, 1, 2 * i + tag);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Buffer_detach(&got, &size);
  CHECK(got == space);
  free(space);
  free(data);
}

CASE(bsend_busy) {
  if (np < 2) SKIP("needs two ranks");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (me == 0) keep_cores_busy();
  rounds(blocking, 16384);
  rounds(immediate, 16384);
  rounds(persistent, 16384);
  rounds(blocking, 100);
  rounds(blocking, 100000);
  if (me == 0) end_busy();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}
