// MPI_Buffer_attach and detach: accounting with MPI_Pack_size and MPI_BSEND_OVERHEAD, MPI_ERR_BUFFER when the
// space is exhausted, reuse of space; detach waits for messages in flight and returns the attached buffer;
// Ibsend.
#include "check.h"

static int error_class(int code) {
  int class;
  MPI_Error_class(code, &class);
  return class;
}

static void* attach(int bytes) {
  void* space = malloc((size_t)bytes);
  CHECK(space);
  MPI_Buffer_attach(space, bytes);
  return space;
}

static void detach(void* space, int bytes) {
  void* got = NULL;
  int size = -1;
  MPI_Buffer_detach(&got, &size);
  CHECK(got == space && size == bytes);
  free(space);
}

static int room_for(int messages, int count, MPI_Datatype type) {
  int bytes;
  MPI_Pack_size(count, type, MPI_COMM_WORLD, &bytes);
  return messages * (bytes + MPI_BSEND_OVERHEAD);
}

// The space that the standard asks for is enough while all of them are unreceived. The send buffer may be
// reused at once.
static void accounting(int messages, int count) {
  int right = right_of(me, np), left = left_of(me, np), bytes = room_for(messages, count, MPI_INT);
  int* buf = malloc((size_t)count * sizeof *buf);
  void* space = attach(bytes);
  for (int i = 0; i < messages; ++i) {
    for (int k = 0; k < count; ++k) buf[k] = me * 1000 + i + k;
    MPI_Bsend(buf, count, MPI_INT, right, i, MPI_COMM_WORLD);
    memset(buf, 0, (size_t)count * sizeof *buf);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = messages - 1; i >= 0; --i) {
    MPI_Recv(buf, count, MPI_INT, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int k = 0; k < count; ++k) CHECK_EQ(buf[k], left * 1000 + i + k);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  detach(space, bytes);
  free(buf);
}

// Room for two messages only, used again and again.
static void reuse(int count) {
  int right = right_of(me, np), left = left_of(me, np), bytes = room_for(2, count, MPI_INT), *in, *out;
  void* space = attach(bytes);
  in = malloc((size_t)count * sizeof *in);
  out = malloc((size_t)count * sizeof *out);
  for (int i = 0; i < 200; ++i) {
    out[0] = out[count - 1] = me + i;
    MPI_Bsend(out, count, MPI_INT, right, 1, MPI_COMM_WORLD);
    MPI_Recv(in, count, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in[0] == left + i && in[count - 1] == left + i);
    // After the neighbour has received, our space is free only after some time; detach waits for that.
    if (i % 2) {
      detach(space, bytes);
      space = attach(bytes);
    }
  }
  detach(space, bytes);
  free(in);
  free(out);
}

// A failed Bsend on its own communicator: Open MPI 4.1.4 counts it as a message, so nothing sent later on the
// same communicator to the same rank is ever delivered there.
static MPI_Comm own_communicator(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return comm;
}

// A message above the whole space never fits, even with all others delivered; afterwards everything works as
// before.
static void too_big(void) {
  int right = right_of(me, np), left = left_of(me, np), bytes = 2000 + MPI_BSEND_OVERHEAD, code, in = -1;
  static char big[100000];  // small ones may pass without any buffer
  MPI_Request r;
  MPI_Comm comm = own_communicator();
  void* space = attach(bytes);
  code = MPI_Bsend(big, sizeof big, MPI_BYTE, right, 2, comm);
  CHECK_EQ(error_class(code), MPI_ERR_BUFFER);
  code = MPI_Ibsend(big, sizeof big, MPI_BYTE, right, 2, comm, &r);
  CHECK_EQ(error_class(code), MPI_ERR_BUFFER);
  MPI_Bsend(&me, 1, MPI_INT, right, 3, MPI_COMM_WORLD);
  MPI_Recv(&in, 1, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK_EQ(in, left);
  detach(space, bytes);
  code = MPI_Bsend(big, sizeof big, MPI_BYTE, right, 7, comm);  // nothing attached
  CHECK_EQ(error_class(code), MPI_ERR_BUFFER);
  MPI_Comm_free(&comm);
}

// Together the two messages exceed the space. The second is refused unless the first has already left.
static void too_many(void) {
  int right = right_of(me, np), left = left_of(me, np), bytes = 2000 + MPI_BSEND_OVERHEAD, code, second;
  char big[1900] = {0};
  MPI_Comm comm = own_communicator();
  void* space = attach(bytes);
  code = MPI_Bsend(big, sizeof big, MPI_BYTE, right, 4, comm);
  CHECK_EQ(code, MPI_SUCCESS);
  code = MPI_Bsend(big, sizeof big, MPI_BYTE, right, 5, comm);
  CHECK(code == MPI_SUCCESS || error_class(code) == MPI_ERR_BUFFER);
  MPI_Sendrecv(&code, 1, MPI_INT, right, 6, &second, 1, MPI_INT, left, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Recv(big, sizeof big, MPI_BYTE, left, 4, comm, MPI_STATUS_IGNORE);
  if (second == MPI_SUCCESS) MPI_Recv(big, sizeof big, MPI_BYTE, left, 5, comm, MPI_STATUS_IGNORE);
  detach(space, bytes);
  MPI_Comm_free(&comm);
}

// detach returns when the messages have left the space, so overwriting it is safe.
static void detach_waits(int count) {
  int right = right_of(me, np), left = left_of(me, np), bytes = room_for(3, count, MPI_BYTE);
  char *out = malloc((size_t)count), *landing = malloc(3 * (size_t)count);
  MPI_Request r[3];
  void *space = attach(bytes), *got;
  int size;
  for (int i = 0; i < 3; ++i) {
    fill_pattern(out, (size_t)count, me, right, i);
    MPI_Ibsend(out, count, MPI_BYTE, right, i, MPI_COMM_WORLD, &r[i]);
    MPI_Wait(&r[i], MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < 3; ++i) MPI_Irecv(landing + i * count, count, MPI_BYTE, left, i, MPI_COMM_WORLD, &r[i]);
  MPI_Buffer_detach(&got, &size);
  CHECK(got == space && size == bytes);
  memset(space, 0xFF, (size_t)bytes);
  MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 3; ++i) VERIFY(landing + i * count, (size_t)count, left, me, i);
  free(landing);
  free(space);
  free(out);
}

static void derived(void) {
  MPI_Datatype third;
  int right = right_of(me, np), left = left_of(me, np), out[300], in[100];
  MPI_Type_create_resized(MPI_INT, 0, 12, &third);
  MPI_Type_commit(&third);
  int bytes = room_for(1, 100, third);
  void* space = attach(bytes);
  for (int i = 0; i < 300; ++i) out[i] = me + i;
  MPI_Bsend(out, 100, third, right, 1, MPI_COMM_WORLD);
  MPI_Recv(in, 100, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < 100; ++i) CHECK_EQ(in[i], left + 3 * i);
  detach(space, bytes);
  MPI_Type_free(&third);
}

CASE(bsend_buffers) {
  check_tolerated[left_comm] += 2;  // Open MPI 4.1 keeps the communicator of a refused MPI_Bsend
  accounting(1, 1);
  accounting(50, 3);
  accounting(20, 1000);
  accounting(4, 100000);
  reuse(10);
  reuse(20000);
  too_big();
  too_many();
  detach_waits(100);
  detach_waits(300000);
  derived();
}
