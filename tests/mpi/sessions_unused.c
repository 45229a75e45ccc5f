// A program that could begin with a session, and begins with MPI_Init on all ranks.
#include "sessions.h"

int main(int argc, char** argv) {
#if HAS_SESSIONS
  const int never = 1000;
  const MPI_Session session = argc > never ? open_session() : MPI_SESSION_NULL;
  check_start(&argc, &argv);
  session_traffic(MPI_COMM_WORLD, 10);
  session_traffic(MPI_COMM_SELF, 20);
  CHECK(session == MPI_SESSION_NULL);
  return check_finish("sessions_unused");
#else
  check_start(&argc, &argv);
  return check_skip("sessions_unused", "this MPI library has no sessions");
#endif
}
