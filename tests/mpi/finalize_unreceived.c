// Small messages that are never received before MPI_Finalize. The standard forbids that, but real programs do
// it, and every library lets them end.
#include "check.h"

int main(int argc, char** argv) {
  static char space[4096 + 4 * MPI_BSEND_OVERHEAD];
  MPI_Request r;
  check_start(&argc, &argv);
  if (mpich_alone()) return check_skip("finalize_unreceived", "from 4.2 on MPICH ends with an error");
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 3 && np > 1; ++i) MPI_Send(&i, 1, MPI_INT, right_of(me, np), i, MPI_COMM_WORLD);
  MPI_Buffer_attach(space, sizeof space);
  if (np > 1) MPI_Bsend(space, 0, MPI_BYTE, right_of(me, np), 9, MPI_COMM_WORLD);
  if (np > 1)
    MPI_Isend(&me, 1, MPI_INT, right_of(me, np), 10, MPI_COMM_WORLD, &r), MPI_Wait(&r, MPI_STATUS_IGNORE);
  return check_finish("finalize_unreceived");
}
