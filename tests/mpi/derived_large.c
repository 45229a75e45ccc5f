// Large messages of types with gaps, packed and unpacked in pieces: types whose elements end anywhere in a
// piece, all ways to send and receive, messages shorter or longer than the receive.
#include "check.h"

enum { tag = 8, least = 17 << 20, buffered = 5, ways = 8 };

static int right, left;

struct layout {
  MPI_Datatype type;
  int count;       // elements of a message
  MPI_Aint begin;  // of their memory, from the buffer on
  size_t span;     // bytes of that memory
};

static struct layout laid_out(MPI_Datatype type) {
  struct layout l = {.type = type};
  MPI_Aint lb, extent, reach;
  int size;
  MPI_Type_commit(&l.type);
  MPI_Type_size(type, &size);
  MPI_Type_get_extent(type, &lb, &extent);
  MPI_Type_get_true_extent(type, &l.begin, &reach);
  l.count = least / size + 1;
  l.span = (size_t)(extent * (l.count - 1) + reach);
  return l;
}

// Elements of 19 bytes: with padding, and without, so that pieces end within numbers.
static MPI_Datatype record_of(const MPI_Aint at[4], MPI_Aint extent) {
  MPI_Datatype bare, type, parts[4] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT, MPI_INT};
  const int lengths[4] = {1, 1, 3, 1};
  MPI_Type_create_struct(4, lengths, at, parts, &bare);
  MPI_Type_create_resized(bare, 0, extent, &type);
  MPI_Type_free(&bare);
  return type;
}
static MPI_Datatype record(void) {
  return record_of((MPI_Aint[]){0, 8, 16, 24}, 32);
}
static MPI_Datatype dense_record(void) {
  return record_of((MPI_Aint[]){0, 1, 9, 15}, 19);
}
// One element is the whole message.
static MPI_Datatype column(void) {
  MPI_Datatype type;
  MPI_Type_vector(least / (int)sizeof(int) + 3, 1, 2, MPI_INT, &type);
  return type;
}
static MPI_Datatype dense_column(void) {
  MPI_Datatype type;
  MPI_Type_contiguous(least / (int)sizeof(int) + 3, MPI_INT, &type);
  return type;
}
static MPI_Datatype odd_bytes(void) {
  MPI_Datatype type, part;
  MPI_Type_vector(1001, 3, 5, MPI_BYTE, &part);
  MPI_Type_create_resized(part, 0, 5008, &type);
  MPI_Type_free(&part);
  return type;
}
// The blocks lie in the other order, some of them before the buffer.
static MPI_Datatype backwards(void) {
  MPI_Datatype type, part;
  const int lengths[3] = {2, 1, 3};
  const MPI_Aint at[3] = {40, 8, -32};
  MPI_Type_create_hindexed(3, lengths, at, MPI_DOUBLE, &part);
  MPI_Type_create_resized(part, -32, 96, &type);
  MPI_Type_free(&part);
  return type;
}
// Numbers of 16 bytes, an odd number of them in an element.
static MPI_Datatype wide(void) {
  MPI_Datatype type;
  MPI_Type_vector(7, 1, 2, MPI_C_DOUBLE_COMPLEX, &type);
  return type;
}

// Compares received data with the result of MPI_Unpack on the same data.
static void expect(const struct layout* l, const void* sent, int sent_count, void* memory) {
  int size, position = 0, end;
  MPI_Pack_size(sent_count, l->type, MPI_COMM_WORLD, &size);
  char* packed = malloc((size_t)size);
  MPI_Pack(sent, sent_count, l->type, packed, size, &position, MPI_COMM_WORLD);
  end = position;
  position = 0;
  MPI_Unpack(packed, end, &position, memory, sent_count, l->type, MPI_COMM_WORLD);
  free(packed);
}

// Sends to the right and receives from the left, in one of several ways.
static void exchange(const struct layout* l, int way, const void* out, int count, void* in, int room) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Request r[2];
  MPI_Status s;
  MPI_Message message;
  MPI_Datatype type;
  MPI_Comm other;
  void* attached = NULL;
  int bytes;
  MPI_Type_dup(l->type, &type);
  if (way == 0) {
    MPI_Sendrecv(out, count, type, right, tag, in, room, type, left, tag, comm, &s);
  } else if (way == 1) {  // the type is freed before its messages
    MPI_Irecv(in, room, type, left, tag, comm, &r[0]);
    MPI_Isend(out, count, type, right, tag, comm, &r[1]);
    MPI_Type_free(&type);
    MPI_Wait(&r[1], MPI_STATUS_IGNORE);
    MPI_Wait(&r[0], &s);
  } else if (way == 2) {
    MPI_Irecv(in, room, type, MPI_ANY_SOURCE, tag, comm, &r[0]);
    MPI_Ssend(out, count, type, right, tag, comm);
    MPI_Wait(&r[0], &s);
  } else if (way == 3) {
    MPI_Send_init(out, count, type, right, tag, comm, &r[0]);
    MPI_Recv_init(in, room, type, left, tag, comm, &r[1]);
    for (int start = 0; start < 2; ++start) {
      MPI_Startall(2, r);
      MPI_Wait(&r[0], MPI_STATUS_IGNORE);
      MPI_Wait(&r[1], &s);
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
  } else if (way == 4) {
    MPI_Isend(out, count, type, right, tag, comm, &r[0]);
    MPI_Mprobe(left, tag, comm, &message, &s);
    MPI_Mrecv(in, room, type, &message, &s);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  } else if (way == buffered) {  // the send is over before its data is received
    MPI_Pack_size(count, type, comm, &bytes);
    bytes += MPI_BSEND_OVERHEAD;
    attached = malloc((size_t)bytes);
    MPI_Buffer_attach(attached, bytes);
    MPI_Ibsend(out, count, type, right, tag, comm, &r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Recv(in, room, type, left, tag, comm, &s);
    MPI_Buffer_detach(&attached, &bytes);
    free(attached);
  } else if (way == 6) {  // meanwhile the sender is in a call of the library's, which waits for the receiver
    MPI_Isend(out, count, type, right, tag, comm, &r[0]);
    if (me % 2 == 0) MPI_Recv(in, room, type, left, tag, comm, &s);
    MPI_Comm_split(comm, 0, me, &other);
    if (me % 2 == 1) MPI_Recv(in, room, type, left, tag, comm, &s);
    MPI_Comm_free(&other);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  } else {  // the receive has another type, and the request of the send was freed
    MPI_Isend(out, count, type, right, tag, comm, &r[0]);
    MPI_Request_free(&r[0]);
    MPI_Probe(left, tag, comm, &s);
    MPI_Recv(in, room, type, left, tag, comm, &s);
  }
  if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
  CHECK_STATUS(s, left, tag, count, l->type);
}

// Uses only the given ways.
static void sent_and_received(MPI_Datatype type, int first_way, int step) {
  const struct layout l = laid_out(type);
  const int count = l.count - l.count / 1000;
  char *memory = malloc(4 * l.span), *out = memory - l.begin, *in = out + l.span, *blank = in + l.span,
       *wanted = blank + l.span;
  CHECK(memory != NULL);
  fill_pattern(blank + l.begin, l.span, me, me, 0);
  memcpy(wanted + l.begin, blank + l.begin, l.span);
  fill_pattern(out + l.begin, l.span, left, me, 0);
  expect(&l, out, count, wanted);
  fill_pattern(out + l.begin, l.span, me, right, 0);
  for (int way = first_way; way < ways; way += step) {
    if (way == buffered && mpich_alone()) continue;  // a longer message arrives than the receive allows
    memcpy(in + l.begin, blank + l.begin, l.span);
    exchange(&l, way, out, count, in, l.count);
    CHECK(memcmp(in + l.begin, wanted + l.begin, l.span) == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);  // the data of a send whose request was freed has arrived
  free(memory);
  MPI_Type_free(&type);
}

// Only one side has gaps. MPI_Pack of that side makes the other side's data.
static void one_sided(MPI_Datatype gaps_type, MPI_Datatype dense_type) {
  const struct layout gaps = laid_out(gaps_type), dense = laid_out(dense_type);
  const int count = gaps.count;
  char *wide = malloc(gaps.span), *wanted = malloc(gaps.span), *narrow = malloc(dense.span);
  int position = 0;
  CHECK(gaps.begin == 0 && dense.begin == 0 && dense.count == count);
  fill_pattern(narrow, dense.span, me, right, 1);
  fill_pattern(wide, gaps.span, me, me, 2);
  memcpy(wanted, wide, gaps.span);
  MPI_Sendrecv(narrow, count, dense.type, right, tag, wide, count, gaps.type, left, tag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  fill_pattern(narrow, dense.span, left, me, 1);
  MPI_Unpack(narrow, (int)dense.span, &position, wanted, count, gaps.type, MPI_COMM_WORLD);
  CHECK(memcmp(wide, wanted, gaps.span) == 0);
  memset(narrow, 0xEE, dense.span);
  MPI_Sendrecv(wide, count, gaps.type, left, tag, narrow, count, dense.type, right, tag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  VERIFY(narrow, dense.span, me, right, 1);
  free(wide);
  free(wanted);
  free(narrow);
  MPI_Type_free(&gaps_type);
  MPI_Type_free(&dense_type);
}

static void cut(void) {
  const struct layout l = laid_out(record());
  char *out = calloc(1, l.span), *in = calloc(1, l.span);
  MPI_Request r;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Isend(out, l.count, l.type, right, tag, MPI_COMM_WORLD, &r);
  int code = MPI_Recv(in, 3, l.type, left, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), class;
  MPI_Error_class(code, &class);
  CHECK_EQ(class, MPI_ERR_TRUNCATE);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  free(out);
  free(in);
  MPI_Datatype type = l.type;
  MPI_Type_free(&type);
}

CASE(derived_large) {
  right = right_of(me, np);
  left = left_of(me, np);
  sent_and_received(record(), 0, 1);
  sent_and_received(column(), 1, 4);
  sent_and_received(odd_bytes(), 3, 5);
  sent_and_received(backwards(), 0, 8);
  sent_and_received(wide(), 2, 6);
  one_sided(record(), dense_record());
  one_sided(column(), dense_column());
  cut();
}
