// Many ranks on few cores: rings, broadcasts and sums. Prints the seconds of rank 0.
#include "tests/mpi/check.h"

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  double begin = MPI_Wtime();
  for (int i = 0; i < 20; ++i) {
    int mine = me + i, sum = -1, got = -1;
    comm_traffic(MPI_COMM_WORLD, i);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQ(sum, np * (np - 1) / 2 + np * i);
    MPI_Sendrecv(&mine, 1, MPI_INT, right_of(me, np), i, &got, 1, MPI_INT, left_of(me, np), i, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK_EQ(got, left_of(me, np) + i);
  }
  if (me == 0) printf("took %.3f s\n", MPI_Wtime() - begin);
  return check_finish("crowd");
}
