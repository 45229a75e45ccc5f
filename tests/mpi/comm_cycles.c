// 300 communicators made and freed one after the other with traffic on each, several kept meanwhile, so that
// internal identifiers are reused: nothing of an earlier communicator may appear on a later one.
#include "check.h"

enum { cycles = 300, kept = 4 };

CASE(comm_cycles) {
  MPI_Comm comm, keep[kept];
  for (int k = 0; k < kept; ++k) keep[k] = MPI_COMM_NULL;
  for (int i = 0; i < cycles; ++i) {
    if (i % 3 == 2)
      MPI_Comm_split(MPI_COMM_WORLD, me % (1 + i % 2), -me, &comm);
    else
      MPI_Comm_dup(i % 3 ? MPI_COMM_WORLD : i > kept ? keep[i % kept] : MPI_COMM_WORLD, &comm);
    comm_traffic(comm, i);
    if (i % 7 != 0) {
      MPI_Comm_free(&comm);
      continue;
    }
    MPI_Comm* slot = &keep[i / 7 % kept];
    if (i % 3 == 2) {  // only whole worlds are kept: later ones are made from them
      MPI_Comm_free(&comm);
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    }
    if (*slot != MPI_COMM_NULL) {
      comm_traffic(*slot, -i);
      MPI_Comm_free(slot);
    }
    *slot = comm;
    if (i == 0)
      for (int k = 1; k < kept; ++k) MPI_Comm_dup(comm, &keep[k]);
  }
  for (int k = 0; k < kept; ++k) {
    comm_traffic(keep[k], k);
    MPI_Comm_free(&keep[k]);
  }
}
