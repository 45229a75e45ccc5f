// Thousands of unexpected messages: every rank sends 20,000 of 8 bytes and 2,000 of 4 KiB to its right
// neighbour. They are received after all have been sent: the groups in order, within a group the tags
// backwards.
#include "check.h"

enum { tags = 10 };

static void storm(int groups, int per_tag, int bytes) {
  int right = right_of(me, np), left = left_of(me, np), per_group = tags * per_tag,
      total = groups * per_group;
  char *out = malloc((size_t)total * (size_t)bytes), *in = malloc((size_t)bytes);
  MPI_Request* r = malloc((size_t)total * sizeof *r);
  for (int i = 0; i < total; ++i) {
    fill_pattern(out + i * bytes, (size_t)bytes, me, right, i);
    MPI_Isend(out + i * bytes, bytes, MPI_BYTE, right, i / per_tag, MPI_COMM_WORLD, &r[i]);
    // Lets the receivers' libraries catch up now and then; otherwise those short of resources become very
    // slow.
    if (i % 200 == 199) MPI_Barrier(MPI_COMM_WORLD);
  }
  // With all backwards, a library with a linear queue would need some 10^8 comparisons.
  for (int group = 0; group < groups; ++group)
    for (int i = (tags - 1) * per_tag; i >= 0; i -= per_tag)
      for (int k = i; k < i + per_tag; ++k) {
        int number = group * per_group + k;
        MPI_Status s;
        MPI_Recv(in, bytes, MPI_BYTE, left, number / per_tag, MPI_COMM_WORLD, &s);
        CHECK_STATUS(s, left, number / per_tag, bytes, MPI_BYTE);
        VERIFY(in, (size_t)bytes, left, me, number);
      }
  MPI_Waitall(total, r, MPI_STATUSES_IGNORE);
  free(r);
  free(out);
  free(in);
}

CASE(unexpected_storm) {
  storm(40, 50, 8);
  storm(10, 20, 4096);
  storm(40, 50, 8);
}
