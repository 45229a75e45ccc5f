// Errors found during a call between ranks 0 and 1. Without an argument each must return its class. With the
// name of a function, its error ends the job, and the MPI library's message names the function.
#include "check.h"

enum { kLong = 100000, kShort = 10 };

static char out[2 * kLong], in[2 * kLong];
static MPI_Comm comm;  // a communicator for each mistake

static int bsend(void) {  // no buffer is attached
  return me == 0 ? MPI_Bsend(out, kLong, MPI_CHAR, 1, 0, comm) : MPI_SUCCESS;
}

static int ibsend(void) {
  MPI_Request r;
  return me == 0 ? MPI_Ibsend(out, kLong, MPI_CHAR, 1, 0, comm, &r) : MPI_SUCCESS;
}

static int start(void) {
  MPI_Request r;
  if (me != 0) return MPI_SUCCESS;
  MPI_Bsend_init(out, kLong, MPI_CHAR, 1, 0, comm, &r);
  return MPI_Start(&r);
}

static int startall(void) {
  MPI_Request r;
  if (me != 0) return MPI_SUCCESS;
  MPI_Bsend_init(out, kLong, MPI_CHAR, 1, 0, comm, &r);
  return MPI_Startall(1, &r);
}

static int send_long(void) {
  return MPI_Send(out, 2 * kShort, MPI_CHAR, 1, 0, comm);
}

static int receive(void) {
  return me == 0 ? send_long() : MPI_Recv(in, kShort, MPI_CHAR, 0, 0, comm, MPI_STATUS_IGNORE);
}

static int exchange(void) {
  return MPI_Sendrecv(out, 2 * kShort, MPI_CHAR, 1 - me, 0, in, kShort, MPI_CHAR, 1 - me, 0, comm,
                      MPI_STATUS_IGNORE);
}

static int matched_receive(void) {
  MPI_Message message;
  if (me == 0) return send_long();
  MPI_Mprobe(0, 0, comm, &message, MPI_STATUS_IGNORE);
  return MPI_Mrecv(in, kShort, MPI_CHAR, &message, MPI_STATUS_IGNORE);
}

static int wait(void) {
  MPI_Request r;
  if (me == 0) return send_long();
  MPI_Irecv(in, kShort, MPI_CHAR, 0, 0, comm, &r);
  return MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static int test(void) {
  MPI_Request r;
  int flag = 0, code = MPI_SUCCESS;
  if (me == 0) return send_long();
  MPI_Irecv(in, kShort, MPI_CHAR, 0, 0, comm, &r);
  while (!flag && code == MPI_SUCCESS) code = MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
  return code;
}

static int scatter(void) {  // the root's own block exceeds its receive
  return MPI_Scatter(out, 2 * kShort, MPI_CHAR, in, me == 0 ? kShort : 2 * kShort, MPI_CHAR, 0, comm);
}

static const struct {
  const char* function;
  int (*make)(void);
  int by;     // the rank that gets the error; negative: both
  int class;  // MPI_SUCCESS: natively no error, or the others wait for ever
} mistakes[] = {{"MPI_Bsend", bsend, 0, MPI_ERR_BUFFER},
                {"MPI_Ibsend", ibsend, 0, MPI_ERR_BUFFER},
                {"MPI_Start", start, 0, MPI_SUCCESS},
                {"MPI_Startall", startall, 0, MPI_SUCCESS},
                {"MPI_Recv", receive, 1, MPI_ERR_TRUNCATE},
                {"MPI_Sendrecv", exchange, -1, MPI_ERR_TRUNCATE},
                {"MPI_Mrecv", matched_receive, 1, MPI_ERR_TRUNCATE},
                {"MPI_Wait", wait, 1, MPI_ERR_TRUNCATE},
                {"MPI_Test", test, 1, MPI_ERR_TRUNCATE},
                {"MPI_Scatter", scatter, 0, MPI_SUCCESS}};

static int class_of(int code) {
  int class;
  MPI_Error_class(code, &class);
  return class;
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  if (np < 2) return check_skip("fatal_errors", "needs two ranks");
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; ++i) {
    int chosen = argc > 1 && strcmp(argv[1], mistakes[i].function) == 0;
    if (argc > 1 ? !chosen : mistakes[i].class == MPI_SUCCESS) continue;
    MPI_Comm_split(MPI_COMM_WORLD, me / 2, me, &comm);  // ranks 0 and 1 only
    if (!chosen) {
      MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
      // A matched message has no communicator any more: MPICH raises errors of MPI_Mrecv elsewhere.
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
      MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    }
    int code = me < 2 ? mistakes[i].make() : MPI_SUCCESS;
    int concerned = mistakes[i].by < 0 ? me < 2 : me == mistakes[i].by;
    if (!chosen) CHECK_EQ(class_of(code), concerned ? mistakes[i].class : MPI_SUCCESS);
    MPI_Comm_free(&comm);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return check_finish("fatal_errors");
}
