// MPI begins with a session on some ranks and with MPI_Init on the others.
#include <stdlib.h>

#include "sessions.h"

int main(int argc, char** argv) {
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40200000
  check_start(&argc, &argv);
  return check_skip("sessions_on_some", "MPICH 4.2 ends with a fault in MPI_Finalize");
#elif HAS_SESSIONS
  const char* const names[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"};
  MPI_Session session = MPI_SESSION_NULL;
  int rank;
  for (int i = 0; i < 3; ++i) {
    const char* const own = getenv(names[i]);
    if (own == NULL) continue;
    if (atoi(own) % 2 == 1) session = open_session();
    break;
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  session_traffic(MPI_COMM_WORLD, 10);
  session_traffic(MPI_COMM_SELF, 20);
  if (session != MPI_SESSION_NULL) MPI_Session_finalize(&session);
  session_traffic(MPI_COMM_WORLD, 30);
  MPI_Finalize();
  return sessions_end("sessions_on_some", rank);
#else
  check_start(&argc, &argv);
  return check_skip("sessions_on_some", "this MPI library has no sessions");
#endif
}
