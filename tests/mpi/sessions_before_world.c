// A session, MPI_Init beside it, and MPI_Finalize before the session ends.
#include "sessions.h"

int main(int argc, char** argv) {
#if HAS_SESSIONS
  const MPI_Session session = open_session();
  MPI_Comm comm = comm_of(session, "mpi://WORLD", "beside");
  int rank;
  session_traffic(comm, 10);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  session_traffic(MPI_COMM_WORLD, 20);
  session_traffic(MPI_COMM_SELF, 30);
  session_traffic(comm, 40);
  MPI_Finalize();
  session_traffic(comm, 50);
  close_session(session, comm);
  return sessions_end("sessions_before_world", rank);
#else
  check_start(&argc, &argv);
  return check_skip("sessions_before_world", "this MPI library has no sessions");
#endif
}
