/* One operation, many times, and nothing else: what a simulator of MPI takes for it.
 * usage: operations send|bcast|allreduce BYTES COUNT */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 4) {
    if (rank == 0) fputs("usage: operations send|bcast|allreduce BYTES COUNT\n", stderr);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const char* operation = argv[1];
  const int bytes = atoi(argv[2]);
  const int count = atoi(argv[3]);
  char* from = calloc(1, (size_t)bytes + 1);
  char* to = calloc(1, (size_t)bytes + 1);
  for (int i = 0; i < count; ++i) {
    if (strcmp(operation, "bcast") == 0) {
      MPI_Bcast(from, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    } else if (strcmp(operation, "allreduce") == 0) {
      MPI_Allreduce(from, to, bytes / 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    } else if (rank == 0) {
      MPI_Send(from, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
      MPI_Recv(to, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  free(from);
  free(to);
  MPI_Finalize();
  return 0;
}
