// Both ranks of a pair MPI_Send 1 KiB to each other, ten deep, before either receives. The standard does not
// promise that this ends; every implementation in use buffers that much, and programs rely on it.
#include "check.h"

enum { depth = 10, bytes = 1024 };

CASE(eager_head_to_head) {
  char out[bytes], in[bytes];
  int other = me ^ 1;
  for (int round = 0; round < 50 && other < np; ++round) {
    for (int i = 0; i < depth; ++i) {
      fill_pattern(out, bytes, me, other, i + round);
      MPI_Send(out, bytes, MPI_BYTE, other, i % 2, MPI_COMM_WORLD);
    }
    for (int i = 0; i < depth; ++i) {
      int k = i < depth / 2 ? 2 * i + 1 : 2 * (i - depth / 2);  // odd tags first
      MPI_Recv(in, bytes, MPI_BYTE, other, k % 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      VERIFY(in, bytes, other, me, k + round);
    }
  }
}
