// Makes, uses and frees 1,000 communicators one after the other: memory does not grow with their number.
#include "tests/limits/memory.h"

static void cycles(int count) {
  for (int i = 0; i < count; ++i) {
    MPI_Comm comm;
    if (i % 2)
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    else
      MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &comm);
    comm_traffic(comm, i);
    MPI_Comm_free(&comm);
  }
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  cycles(200);
  long before = resident_kib();
  cycles(1000);
  printf("grew by %ld KiB\n", resident_kib() - before);
  return check_finish("communicators");
}
