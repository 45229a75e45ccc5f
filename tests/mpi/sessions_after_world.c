// A session of some of the ranks beside MPI_COMM_WORLD: one ends before MPI_Finalize, one after it, on rank 0
// alone.
#include "sessions.h"

int main(int argc, char** argv) {
#if HAS_SESSIONS
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  session_traffic(MPI_COMM_WORLD, 10);
  const MPI_Session first = open_session();
  MPI_Comm comm = comm_of(first, "mpi://WORLD", "beside");
  session_traffic(comm, 20);
  session_traffic(MPI_COMM_WORLD, 30);
  close_session(first, comm);
  session_traffic(MPI_COMM_WORLD, 40);
  if (rank != 0) {
    MPI_Finalize();
    return 0;
  }
  const MPI_Session second = open_session();
  MPI_Comm self = comm_of(second, "mpi://SELF", "self");
  session_traffic(self, 50);
  MPI_Finalize();
  session_traffic(self, 60);
  close_session(second, self);
  return sessions_end("sessions_after_world", rank);
#else
  check_start(&argc, &argv);
  return check_skip("sessions_after_world", "this MPI library has no sessions");
#endif
}
