// Rank 0 sends many small messages to rank 1, which first receives the last one: it arrives although none
// before it was received. Rank 1 prints the growth of its memory until then. argv: messages, bytes of each,
// and whether they are received at all before MPI_Finalize.
#include "tests/limits/memory.h"

enum { ordinary = 1, last = 2 };

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  CHECK(argc == 4 && np == 2);
  int messages = atoi(argv[1]), bytes = atoi(argv[2]), received = atoi(argv[3]);
  char* buffer = malloc((size_t)bytes);
  for (int i = 0; i < 600; ++i) {  // the transport's own memory is included after that
    if (me == 0) MPI_Send(buffer, bytes, MPI_BYTE, 1, ordinary, MPI_COMM_WORLD);
    if (me == 1) MPI_Recv(buffer, bytes, MPI_BYTE, 0, ordinary, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  long before = resident_kib();
  if (me == 0) {
    for (int i = 0; i < messages; ++i) {
      fill_pattern(buffer, (size_t)bytes, 0, 1, i);
      MPI_Send(buffer, bytes, MPI_BYTE, 1, ordinary, MPI_COMM_WORLD);
    }
    MPI_Send(NULL, 0, MPI_BYTE, 1, last, MPI_COMM_WORLD);
  } else {
    MPI_Recv(NULL, 0, MPI_BYTE, 0, last, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("grew by %ld KiB\n", resident_kib() - before);
    for (int i = 0; i < messages && received; ++i) {
      MPI_Recv(buffer, bytes, MPI_BYTE, 0, ordinary, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      VERIFY(buffer, (size_t)bytes, 0, 1, i);
    }
  }
  free(buffer);
  return check_finish("unreceived");
}
