// Half of a round trip, measured by MPI_Wtime over many, as benchmarks do. Prints it, for tests with a known
// value.
#include "check.h"

CASE(timed_pingpong) {
  enum { rounds = 100, bytes = 1024 };
  char buffer[bytes] = {0};
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; me < 2 && np > 1 && i < rounds; ++i) {
    if (me == 0) MPI_Send(buffer, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(buffer, bytes, MPI_CHAR, 1 - me, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (me == 1) MPI_Send(buffer, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
  }
  const double end = MPI_Wtime();
  CHECK(end >= start);
  if (me == 0) printf("half a round trip of %d bytes: %.6f us\n", bytes, (end - start) / (2 * rounds) * 1e6);
}
