// Phases by MPI_Pcontrol: with a name, without one, and with arguments that are no name.
#include "cases.h"

static void exchange(int bytes, int times) {
  static char out[100000], in[100000];
  for (int i = 0; i < times; ++i)
    MPI_Sendrecv(out, bytes, MPI_CHAR, (me + 1) % np, 1, in, bytes, MPI_CHAR, (me + np - 1) % np, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

CASE(phases) {
  CHECK_EQ(MPI_Pcontrol(1, "exchange"), MPI_SUCCESS);
  exchange(100000, 20);
  CHECK_EQ(MPI_Pcontrol(-1, "exchange"), MPI_SUCCESS);
  exchange(100000, 5);
  CHECK_EQ(MPI_Pcontrol(2, (char*)8), MPI_SUCCESS);
  exchange(8, 5);
  CHECK_EQ(PMPI_Pcontrol(-2, (char*)-4096), MPI_SUCCESS);
  CHECK_EQ(MPI_Pcontrol(0), MPI_SUCCESS);
}
