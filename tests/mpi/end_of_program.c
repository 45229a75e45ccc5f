// The end of programs: MPI in callbacks of attributes of MPI_COMM_SELF, which MPI_Finalize calls first, with
// earlier operations pending; MPI_Finalize in an exit handler; the program's own signal handlers.
#include <signal.h>

#include "check.h"

static MPI_Comm comm;
static MPI_Request cancelled, received, sent, started, freed;
static int in[4], out;
static volatile sig_atomic_t hung_up;
static int called;

static void on_hang_up(int signal_number) {
  (void)signal_number;
  hung_up = 1;
}

static int last_words(MPI_Comm self, int key, void* value, void* state) {
  (void)self;
  (void)key;
  (void)value;
  (void)state;
  MPI_Status status;
  int flag = 0, sum = 0, finalized = 1;
  MPI_Finalized(&finalized);
  CHECK(!finalized);
  MPI_Cancel(&cancelled);
  MPI_Wait(&cancelled, &status);
  MPI_Test_cancelled(&status, &flag);
  CHECK(flag);
  MPI_Send(&me, 1, MPI_INT, right_of(me, np), 1, comm);
  MPI_Wait(&received, MPI_STATUS_IGNORE);
  CHECK_EQ(in[1], left_of(me, np));
  MPI_Recv(&in[2], 1, MPI_INT, left_of(me, np), 2, comm, MPI_STATUS_IGNORE);
  CHECK_EQ(in[2], left_of(me, np));
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  MPI_Start(&started);
  MPI_Send(&me, 1, MPI_INT, right_of(me, np), 3, comm);
  MPI_Wait(&started, MPI_STATUS_IGNORE);
  CHECK_EQ(in[3], left_of(me, np));
  MPI_Request_free(&started);
  MPI_Request_free(&freed);
  MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm);
  CHECK_EQ(sum, np * (np - 1) / 2);
  ++called;
  return MPI_SUCCESS;
}

/// After the destructors of all objects that were first used later.
static void at_exit(void) {
  double values[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, sums[3] = {0};
  MPI_Datatype type;
  MPI_Type_vector(3, 1, 2, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  MPI_Bcast(values, 1, type, 0, MPI_COMM_WORLD);
  MPI_Type_free(&type);
  MPI_Allreduce(values, sums, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < 3; ++i) CHECK(sums[i] == (i + 1.0) * np);
  int largest = -1;
  MPI_Sendrecv(&me, 1, MPI_INT, right_of(me, np), 0, &in[0], 1, MPI_INT, left_of(me, np), 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  CHECK_EQ(in[0], left_of(me, np));
  MPI_Allreduce(&me, &largest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  CHECK_EQ(largest, np - 1);
  check_finish("end_of_program");
  if (called != 1) _Exit(1);
}

int main(int argc, char** argv) {
  struct sigaction now;
  int key;
  atexit(at_exit);
  signal(SIGHUP, on_hang_up);
  check_start(&argc, &argv);
  sigaction(SIGHUP, NULL, &now);
  CHECK(now.sa_handler == on_hang_up);
  raise(SIGHUP);
  CHECK(hung_up);

  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, last_words, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  out = me;
  MPI_Irecv(&in[0], 1, MPI_INT, left_of(me, np), 9, comm, &cancelled);
  MPI_Irecv(&in[1], 1, MPI_INT, left_of(me, np), 1, comm, &received);
  MPI_Isend(&out, 1, MPI_INT, right_of(me, np), 2, comm, &sent);
  MPI_Recv_init(&in[3], 1, MPI_INT, left_of(me, np), 3, comm, &started);
  MPI_Irecv(&in[0], 0, MPI_INT, left_of(me, np), 8, comm, &freed);
  return 0;
}
