// A program that uses MPI by sessions alone: two at a time, and the first one ends before the second.
#include "sessions.h"

int main(int argc, char** argv) {
#if HAS_SESSIONS
  (void)argc, (void)argv;
  const MPI_Session first = open_session();
  MPI_Comm one = comm_of(first, "mpi://WORLD", "one"), self = comm_of(first, "mpi://SELF", "self"), half,
           twin;
  int rank;
  MPI_Comm_rank(one, &rank);
  session_traffic(one, 10);
  session_traffic(self, 20);
  const MPI_Session second = open_session();
  MPI_Comm two = comm_of(second, "mpi://WORLD", "two");
  session_traffic(two, 30);
  session_traffic(one, 40);
  MPI_Comm_split(one, rank % 2, 0, &half);
  MPI_Comm_dup(half, &twin);
  session_traffic(half, 50);
  session_traffic(twin, 60);
  MPI_Comm_free(&half);
  MPI_Comm_free(&twin);
  MPI_Comm_free(&self);
  close_session(first, one);
  session_traffic(two, 70);
  close_session(second, two);
  return sessions_end("sessions_alone", rank);
#else
  check_start(&argc, &argv);
  return check_skip("sessions_alone", "this MPI library has no sessions");
#endif
}
