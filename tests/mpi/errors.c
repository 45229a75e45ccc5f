// Mistakes under MPI_ERRORS_RETURN with their expected error classes, printed as `class-table` lines by rank
// 0; a user's error handler; everything works as before afterwards. The classes are those of Open MPI 4.1; a
// line with two classes accepts both. truncation.c tests messages that are too long, errors_more.c windows,
// files and freed handles.
#include "error_rows.h"

static int value, flag, many[4];
static MPI_Request r;
static MPI_Status s;

#define WORLD MPI_COMM_WORLD

// Mistakes for each function that starts a send; `...` is the request argument, if any.
#define SEND_ROWS(Name, ...)                                                         \
  ROW(MPI_ERR_COUNT, Name(&value, -1, MPI_INT, 0, 1, WORLD __VA_ARGS__));            \
  ROW(MPI_ERR_TYPE, Name(&value, 1, MPI_DATATYPE_NULL, 0, 1, WORLD __VA_ARGS__));    \
  ROW(MPI_ERR_RANK, Name(&value, 1, MPI_INT, np, 1, WORLD __VA_ARGS__));             \
  ROW(MPI_ERR_RANK, Name(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, WORLD __VA_ARGS__)); \
  ROW(MPI_ERR_RANK, Name(&value, 1, MPI_INT, -77, 1, WORLD __VA_ARGS__));            \
  ROW(MPI_ERR_TAG, Name(&value, 1, MPI_INT, 0, -77, WORLD __VA_ARGS__));             \
  ROW(MPI_ERR_TAG, Name(&value, 1, MPI_INT, 0, MPI_ANY_TAG, WORLD __VA_ARGS__));     \
  ROW(MPI_ERR_COMM, Name(&value, 1, MPI_INT, 0, 1, MPI_COMM_NULL __VA_ARGS__))

#define RAW_ROW(Name, ...) ROW(MPI_ERR_TYPE, Name(&value, 1, raw, 0, 1, WORLD __VA_ARGS__))

// Open MPI 4.1 does not check this.
#define UNCHECKED_ROW(Name)                                               \
  r = MPI_REQUEST_NULL;                                                   \
  ROW2(MPI_ERR_TYPE, MPI_SUCCESS, Name(&value, 1, raw, 0, 1, WORLD, &r)); \
  if (r != MPI_REQUEST_NULL) MPI_Request_free(&r)

#define RECV_ROWS(Name, last)                                               \
  ROW(MPI_ERR_COUNT, Name(&value, -1, MPI_INT, 0, 1, WORLD, last));         \
  ROW(MPI_ERR_TYPE, Name(&value, 1, MPI_DATATYPE_NULL, 0, 1, WORLD, last)); \
  ROW(MPI_ERR_RANK, Name(&value, 1, MPI_INT, np, 1, WORLD, last));          \
  ROW(MPI_ERR_RANK, Name(&value, 1, MPI_INT, -77, 1, WORLD, last));         \
  ROW(MPI_ERR_TAG, Name(&value, 1, MPI_INT, 0, -77, WORLD, last));          \
  ROW(MPI_ERR_COMM, Name(&value, 1, MPI_INT, 0, 1, MPI_COMM_NULL, last));   \
  ROW(MPI_ERR_TYPE, Name(&value, 1, raw, 0, 1, WORLD, last))

#define COMMA_REQUEST , &r

static void point_to_point(MPI_Datatype raw) {
  SEND_ROWS(MPI_Send, );
  SEND_ROWS(MPI_Bsend, );
  SEND_ROWS(MPI_Ssend, );
  SEND_ROWS(MPI_Rsend, );
  SEND_ROWS(MPI_Isend, COMMA_REQUEST);
  SEND_ROWS(MPI_Ibsend, COMMA_REQUEST);
  SEND_ROWS(MPI_Issend, COMMA_REQUEST);
  SEND_ROWS(MPI_Irsend, COMMA_REQUEST);
  SEND_ROWS(MPI_Send_init, COMMA_REQUEST);
  SEND_ROWS(MPI_Bsend_init, COMMA_REQUEST);
  SEND_ROWS(MPI_Ssend_init, COMMA_REQUEST);
  SEND_ROWS(MPI_Rsend_init, COMMA_REQUEST);
  RECV_ROWS(MPI_Recv, &s);
  RECV_ROWS(MPI_Irecv, &r);
  RECV_ROWS(MPI_Recv_init, &r);
  RAW_ROW(MPI_Send, );
  RAW_ROW(MPI_Bsend, );
  RAW_ROW(MPI_Ssend, );
  RAW_ROW(MPI_Rsend, );
  RAW_ROW(MPI_Isend, COMMA_REQUEST);
  RAW_ROW(MPI_Ibsend, COMMA_REQUEST);
  RAW_ROW(MPI_Issend, COMMA_REQUEST);
  RAW_ROW(MPI_Irsend, COMMA_REQUEST);
  RAW_ROW(MPI_Send_init, COMMA_REQUEST);
  UNCHECKED_ROW(MPI_Bsend_init);
  UNCHECKED_ROW(MPI_Ssend_init);
  UNCHECKED_ROW(MPI_Rsend_init);
}

static void sendrecv_and_probe(void) {
  int v[2];
  MPI_Message message;
  ROW(MPI_ERR_COUNT, MPI_Sendrecv(v, -1, MPI_INT, 0, 1, v + 1, 1, MPI_INT, 0, 1, WORLD, &s));
  ROW(MPI_ERR_COUNT, MPI_Sendrecv(v, 1, MPI_INT, 0, 1, v + 1, -1, MPI_INT, 0, 1, WORLD, &s));
  ROW(MPI_ERR_TYPE, MPI_Sendrecv(v, 1, MPI_INT, 0, 1, v + 1, 1, MPI_DATATYPE_NULL, 0, 1, WORLD, &s));
  ROW(MPI_ERR_RANK, MPI_Sendrecv(v, 1, MPI_INT, np, 1, v + 1, 1, MPI_INT, 0, 1, WORLD, &s));
  ROW(MPI_ERR_RANK, MPI_Sendrecv(v, 1, MPI_INT, 0, 1, v + 1, 1, MPI_INT, np, 1, WORLD, &s));
  ROW(MPI_ERR_TAG, MPI_Sendrecv(v, 1, MPI_INT, 0, -7, v + 1, 1, MPI_INT, 0, 1, WORLD, &s));
  ROW(MPI_ERR_TAG, MPI_Sendrecv(v, 1, MPI_INT, 0, 1, v + 1, 1, MPI_INT, 0, -7, WORLD, &s));
  ROW(MPI_ERR_COMM, MPI_Sendrecv(v, 1, MPI_INT, 0, 1, v + 1, 1, MPI_INT, 0, 1, MPI_COMM_NULL, &s));
  ROW(MPI_ERR_COUNT, MPI_Sendrecv_replace(v, -1, MPI_INT, 0, 1, 0, 1, WORLD, &s));
  ROW(MPI_ERR_RANK, MPI_Sendrecv_replace(v, 1, MPI_INT, np, 1, 0, 1, WORLD, &s));
  ROW(MPI_ERR_RANK, MPI_Sendrecv_replace(v, 1, MPI_INT, 0, 1, np, 1, WORLD, &s));
  ROW(MPI_ERR_COMM, MPI_Sendrecv_replace(v, 1, MPI_INT, 0, 1, 0, 1, MPI_COMM_NULL, &s));
  ROW(MPI_ERR_RANK, MPI_Probe(np, 1, WORLD, &s));
  ROW(MPI_ERR_TAG, MPI_Probe(0, -7, WORLD, &s));
  ROW(MPI_ERR_RANK, MPI_Iprobe(np, 1, WORLD, &flag, &s));
  ROW(MPI_ERR_TAG, MPI_Iprobe(0, -7, WORLD, &flag, &s));
  ROW(MPI_ERR_RANK, MPI_Mprobe(np, 1, WORLD, &message, &s));
  ROW(MPI_ERR_TAG, MPI_Mprobe(0, -7, WORLD, &message, &s));
  ROW(MPI_ERR_RANK, MPI_Improbe(np, 1, WORLD, &flag, &message, &s));
  ROW(MPI_ERR_TAG, MPI_Improbe(0, -7, WORLD, &flag, &message, &s));
}

static void requests(void) {
  int index;
  MPI_Request null = MPI_REQUEST_NULL;
  ROW(MPI_ERR_REQUEST, MPI_Start(&null));
  ROW(MPI_ERR_REQUEST, MPI_Startall(1, &null));
  ROW(MPI_ERR_REQUEST, MPI_Cancel(&null));
  ROW(MPI_ERR_REQUEST, MPI_Request_free(&null));
  ROW2(MPI_ERR_ARG, MPI_ERR_COUNT, MPI_Waitall(-1, &null, &s));
  ROW2(MPI_ERR_ARG, MPI_ERR_COUNT, MPI_Testall(-1, &null, &flag, &s));
  ROW2(MPI_ERR_ARG, MPI_ERR_COUNT, MPI_Waitany(-1, &null, &index, &s));
  ROW2(MPI_ERR_ARG, MPI_ERR_COUNT, MPI_Testany(-1, &null, &index, &flag, &s));
  ROW2(MPI_ERR_ARG, MPI_ERR_COUNT, MPI_Waitsome(-1, &null, &index, many, &s));
  ROW2(MPI_ERR_ARG, MPI_ERR_COUNT, MPI_Testsome(-1, &null, &index, many, &s));
  ROW2(MPI_ERR_ARG, MPI_ERR_COUNT, MPI_Startall(-1, &null));
}

static void collectives(MPI_Datatype raw) {
  int v[2];
  ROW(MPI_ERR_COUNT, MPI_Bcast(v, -1, MPI_INT, 0, WORLD));
  ROW(MPI_ERR_ROOT, MPI_Bcast(v, 1, MPI_INT, np, WORLD));
  ROW(MPI_ERR_ROOT, MPI_Bcast(v, 1, MPI_INT, -7, WORLD));
  ROW(MPI_ERR_TYPE, MPI_Bcast(v, 1, MPI_DATATYPE_NULL, 0, WORLD));
  ROW(MPI_ERR_TYPE, MPI_Bcast(v, 1, raw, 0, WORLD));
  ROW(MPI_ERR_COMM, MPI_Bcast(v, 1, MPI_INT, 0, MPI_COMM_NULL));
  // MPICH 4.0 does not check this count, and the program crashes.
  if (!over_mpich()) ROW(MPI_ERR_COUNT, MPI_Reduce(v, v + 1, -1, MPI_INT, MPI_SUM, 0, WORLD));
  ROW(MPI_ERR_ROOT, MPI_Reduce(v, v + 1, 1, MPI_INT, MPI_SUM, np, WORLD));
  ROW2(MPI_ERR_TYPE, MPI_ERR_OP, MPI_Reduce(v, v + 1, 1, MPI_DATATYPE_NULL, MPI_SUM, 0, WORLD));
  ROW(MPI_ERR_OP, MPI_Reduce(v, v + 1, 1, MPI_INT, MPI_OP_NULL, 0, WORLD));
  ROW(MPI_ERR_OP, MPI_Reduce(v, v + 1, 1, MPI_FLOAT, MPI_BAND, 0, WORLD));
  ROW(MPI_ERR_OP, MPI_Reduce(v, v + 1, 1, MPI_INT, MPI_MAXLOC, 0, WORLD));
  ROW(MPI_ERR_OP, MPI_Reduce(v, v + 1, 1, MPI_C_FLOAT_COMPLEX, MPI_MAX, 0, WORLD));
  ROW(MPI_ERR_OP, MPI_Reduce(v, v + 1, 1, MPI_WCHAR, MPI_SUM, 0, WORLD));
  ROW(MPI_ERR_OP, MPI_Reduce(v, v + 1, 1, MPI_WCHAR, MPI_LAND, 0, WORLD));
  ROW2(MPI_ERR_OP, MPI_SUCCESS,
       MPI_Reduce(v, v + 1, 1, MPI_INTEGER, MPI_LOR, 0, WORLD));  // MPICH lets it pass
  ROW(MPI_ERR_OP, MPI_Reduce(v, v + 1, 1, MPI_PACKED, MPI_BXOR, 0, WORLD));
  ROW(MPI_ERR_BUFFER, MPI_Allreduce(v, v, 2, MPI_INT, MPI_SUM, WORLD));
  ROW(MPI_ERR_COMM, MPI_Reduce(v, v + 1, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_NULL));
  ROW(MPI_ERR_COUNT, MPI_Gather(v, -1, MPI_INT, v, -1, MPI_INT, 0, WORLD));
  ROW(MPI_ERR_ROOT, MPI_Gather(v, 1, MPI_INT, v, 1, MPI_INT, np, WORLD));
  ROW(MPI_ERR_TYPE, MPI_Gather(v, 1, MPI_DATATYPE_NULL, v, 1, MPI_DATATYPE_NULL, 0, WORLD));
  ROW(MPI_ERR_COMM, MPI_Gather(v, 1, MPI_INT, v, 1, MPI_INT, 0, MPI_COMM_NULL));
  ROW(MPI_ERR_COUNT, MPI_Ibcast(v, -1, MPI_INT, 0, WORLD, &r));
  ROW(MPI_ERR_ROOT, MPI_Ibcast(v, 1, MPI_INT, np, WORLD, &r));
  ROW(MPI_ERR_TYPE, MPI_Ibcast(v, 1, MPI_DATATYPE_NULL, 0, WORLD, &r));
  ROW(MPI_ERR_OP, MPI_Ireduce(v, v + 1, 1, MPI_INT, MPI_OP_NULL, 0, WORLD, &r));
  ROW(MPI_ERR_ROOT, MPI_Ireduce(v, v + 1, 1, MPI_INT, MPI_SUM, np, WORLD, &r));
  ROW(MPI_ERR_ROOT, MPI_Igather(v, 1, MPI_INT, v, 1, MPI_INT, np, WORLD, &r));
  ROW(MPI_ERR_OP, MPI_Reduce_local(v, v + 1, 1, MPI_INT, MPI_OP_NULL));
  ROW(MPI_ERR_OP, MPI_Reduce_local(v, v + 1, 1, MPI_FLOAT, MPI_BAND));
}

static int handled, handled_class;

static void handler(MPI_Comm* comm, int* code, ...) {
  CHECK(*comm == MPI_COMM_WORLD);
  ++handled;
  handled_class = class_of(*code);
}

static void user_handler(void) {
  MPI_Errhandler own, old;
  MPI_Comm_get_errhandler(WORLD, &old);
  MPI_Comm_create_errhandler(handler, &own);
  MPI_Comm_set_errhandler(WORLD, own);
  ROW(MPI_ERR_RANK, MPI_Send(&value, 1, MPI_INT, np, 1, WORLD));
  CHECK(handled == 1 && handled_class == MPI_ERR_RANK);
  ROW(MPI_ERR_TAG, MPI_Irecv(&value, 1, MPI_INT, 0, -7, WORLD, &r));
  CHECK(handled == 2 && handled_class == MPI_ERR_TAG);
  ROW(MPI_ERR_ROOT, MPI_Bcast(&value, 1, MPI_INT, np, WORLD));
  CHECK(handled == 3 && handled_class == MPI_ERR_ROOT);
  int big[100] = {0};
  MPI_Request send;
  // The send first: Open MPI 4.1.4 silently truncates a small message to oneself if its receive is already
  // posted.
  MPI_Isend(big, 100, MPI_INT, right_of(me, np), 8, WORLD, &send);
  MPI_Irecv(&value, 1, MPI_INT, left_of(me, np), 8, WORLD, &r);
  ROW(MPI_ERR_TRUNCATE, MPI_Wait(&r, &s));
  CHECK(handled == 4 && handled_class == MPI_ERR_TRUNCATE);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  MPI_Request both[2];
  MPI_Status statuses[2];
  MPI_Isend(big, 100, MPI_INT, right_of(me, np), 8, WORLD, &both[0]);
  MPI_Irecv(&value, 1, MPI_INT, left_of(me, np), 8, WORLD, &both[1]);
  ROW(MPI_ERR_IN_STATUS, MPI_Waitall(2, both, statuses));
  CHECK(class_of(statuses[1].MPI_ERROR) == MPI_ERR_TRUNCATE);
  // Open MPI passes the error of the request to the handler, MPICH the return value of the call.
  CHECK(handled == 5 && handled_class == (over_mpich() ? MPI_ERR_IN_STATUS : MPI_ERR_TRUNCATE));
  if (both[0] != MPI_REQUEST_NULL) MPI_Wait(&both[0], MPI_STATUS_IGNORE);
  MPI_Comm_set_errhandler(WORLD, old);
  MPI_Errhandler_free(&own);
  MPI_Errhandler_free(&old);
}

CASE(errors) {
  MPI_Datatype raw;
  MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN);
  MPI_Type_contiguous(3, MPI_INT, &raw);  // never committed
  point_to_point(raw);
  sendrecv_and_probe();
  requests();
  collectives(raw);
  comm_traffic(WORLD, 1);
  user_handler();
  comm_traffic(WORLD, 2);
  MPI_Type_free(&raw);
  MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_ARE_FATAL);
}
