// Persistent collectives: each is started repeatedly with new contents of the same buffers, several at once,
// together with messages in one array; a user-defined reduction; neighbours.
#include "check.h"
#include "persistent_names.h"

enum { rounds = 4, block = 3, kinds = 18 };

static int *out, *in[kinds], *counts, *displs;
static MPI_Datatype *types, pair_type;
static MPI_Request r[kinds];
static MPI_Op own_op;

static void larger(void* a, void* b, int* n, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *n; ++i)
    if (((int*)a)[i] > ((int*)b)[i]) ((int*)b)[i] = ((int*)a)[i];
}

static int value(int rank, int round, int i) {
  return 100000 * rank + 1000 * round + i;
}

static void init(void) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  const MPI_Info no = MPI_INFO_NULL;
  MPI_Barrier_init(comm, no, &r[0]);
  MPI_Bcast_init(in[1], block, MPI_INT, np - 1, comm, no, &r[1]);
  MPI_Reduce_init(out, in[2], block, MPI_INT, MPI_SUM, 0, comm, no, &r[2]);
  MPI_Allreduce_init(out, in[3], block, MPI_INT, MPI_MAX, comm, no, &r[3]);
  MPI_Scan_init(out, in[4], block, MPI_INT, MPI_SUM, comm, no, &r[4]);
  MPI_Exscan_init(out, in[5], block, MPI_INT, MPI_SUM, comm, no, &r[5]);
  MPI_Reduce_scatter_block_init(out, in[6], block, MPI_INT, MPI_SUM, comm, no, &r[6]);
  MPI_Reduce_scatter_init(out, in[7], counts, MPI_INT, MPI_SUM, comm, no, &r[7]);
  MPI_Gather_init(out, block, MPI_INT, in[8], block, MPI_INT, 0, comm, no, &r[8]);
  MPI_Gatherv_init(out, block, MPI_INT, in[9], counts, displs, MPI_INT, 0, comm, no, &r[9]);
  MPI_Scatter_init(out, block, MPI_INT, in[10], block, MPI_INT, 0, comm, no, &r[10]);
  MPI_Scatterv_init(out, counts, displs, MPI_INT, in[11], block, MPI_INT, 0, comm, no, &r[11]);
  MPI_Allgather_init(out, 1, pair_type, in[12], 1, pair_type, comm, no, &r[12]);
  MPI_Allgatherv_init(out, block, MPI_INT, in[13], counts, displs, MPI_INT, comm, no, &r[13]);
  MPI_Alltoall_init(out, block, MPI_INT, in[14], block, MPI_INT, comm, no, &r[14]);
  MPI_Alltoallv_init(out, counts, displs, MPI_INT, in[15], counts, displs, MPI_INT, comm, no, &r[15]);
  for (int i = 0; i < np; ++i) displs[np + i] = displs[i] * (int)sizeof(int);
  MPI_Alltoallw_init(out, counts, displs + np, types, in[16], counts, displs + np, types, comm, no, &r[16]);
  MPI_Allreduce_init(out, in[17], block, MPI_INT, own_op, comm, no, &r[17]);
}

static void fill(int round) {
  for (int i = 0; i < np * block; ++i) out[i] = value(me, round, i);
  for (int k = 0; k < kinds; ++k)
    for (int i = 0; i < np * block; ++i) in[k][i] = -1;
  for (int i = 0; i < block; ++i) in[1][i] = me == np - 1 ? value(me, round, i) : -1;
}

static void check_block(const int* have, int from, int round, int first) {
  for (int i = 0; i < block; ++i) CHECK_EQ(have[i], value(from, round, first + i));
}

static void check_sums(const int* have, int ranks, int round, int first) {
  for (int i = 0; i < block; ++i)
    CHECK_EQ(have[i], 100000 * (ranks * (ranks - 1) / 2) + ranks * (1000 * round + first + i));
}

static void check_all(int round) {
  check_block(in[1], np - 1, round, 0);
  if (me == 0) check_sums(in[2], np, round, 0);
  if (me != 0) CHECK_EQ(in[2][0], -1);
  check_block(in[3], np - 1, round, 0);
  check_sums(in[4], me + 1, round, 0);
  if (me > 0) check_sums(in[5], me, round, 0);
  check_sums(in[6], np, round, me * block);
  check_sums(in[7], np, round, me * block);
  check_block(in[10], 0, round, me * block);
  check_block(in[11], 0, round, me * block);
  for (int i = 0; i < np; ++i) {
    if (me == 0) check_block(in[8] + i * block, i, round, 0);
    if (me == 0) check_block(in[9] + i * block, i, round, 0);
    CHECK_EQ(in[12][i * block], value(i, round, 0));
    CHECK_EQ(in[12][i * block + 1], -1);  // a gap of the type
    CHECK_EQ(in[12][i * block + 2], value(i, round, 2));
    check_block(in[13] + i * block, i, round, 0);
    for (int k = 14; k <= 16; ++k) check_block(in[k] + i * block, i, round, me * block);
  }
  check_block(in[17], np - 1, round, 0);
}

static void neighbours(void) {
  MPI_Comm ring;
  MPI_Request request;
  int dims[1] = {np}, periods[1] = {1}, got[2], mine;
  MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
  MPI_Neighbor_allgather_init(&mine, 1, MPI_INT, got, 1, MPI_INT, ring, MPI_INFO_NULL, &request);
  for (int round = 0; round < rounds; ++round) {
    mine = value(me, round, 0);
    got[0] = got[1] = -1;
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_EQ(got[0], value(left_of(me, np), round, 0));
    CHECK_EQ(got[1], value(right_of(me, np), round, 0));
  }
  MPI_Request_free(&request);
  MPI_Comm_free(&ring);
}

// Types that MPI ignores here may be invalid.
static void ignored_types(void) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  const MPI_Info no = MPI_INFO_NULL;
  const MPI_Datatype junk = (MPI_Datatype)(intptr_t)0x11;
  const MPI_Datatype at_root = me == 0 ? MPI_INT : junk;
  MPI_Datatype *junks = malloc((size_t)np * sizeof *junks), *ints = malloc((size_t)np * sizeof *ints);
  int *ones = malloc((size_t)np * sizeof *ones), *places = malloc((size_t)np * sizeof *places);
  int *bytes = malloc((size_t)np * sizeof *bytes), *all = malloc((size_t)np * sizeof *all);
  for (int i = 0; i < np; ++i) {
    junks[i] = junk;
    ints[i] = MPI_INT;
    ones[i] = 1;
    places[i] = i;
    bytes[i] = i * (int)sizeof(int);
  }
  for (int kind = 0; kind < 8; ++kind) {
    MPI_Request q;
    int mine = kind == 2 || kind == 3 ? -1 : me;
    for (int i = 0; i < np; ++i) all[i] = kind == 2 || kind == 3 ? i : -1;
    if (kind >= 4) all[me] = kind < 6 ? me : 100 * me + me;
    for (int i = 0; i < np && kind >= 6; ++i) all[i] = 100 * me + i;
    if (kind == 0) MPI_Gather_init(&mine, 1, MPI_INT, all, 1, at_root, 0, comm, no, &q);
    if (kind == 1) MPI_Gatherv_init(&mine, 1, MPI_INT, all, ones, places, at_root, 0, comm, no, &q);
    if (kind == 2) MPI_Scatter_init(all, 1, at_root, &mine, 1, MPI_INT, 0, comm, no, &q);
    if (kind == 3) MPI_Scatterv_init(all, ones, places, at_root, &mine, 1, MPI_INT, 0, comm, no, &q);
    if (kind == 4) MPI_Allgather_init(MPI_IN_PLACE, 0, junk, all, 1, MPI_INT, comm, no, &q);
    if (kind == 5) MPI_Allgatherv_init(MPI_IN_PLACE, 0, junk, all, ones, places, MPI_INT, comm, no, &q);
    if (kind == 6)
      MPI_Alltoallv_init(MPI_IN_PLACE, ones, places, junk, all, ones, places, MPI_INT, comm, no, &q);
    if (kind == 7) MPI_Alltoallw_init(MPI_IN_PLACE, ones, bytes, junks, all, ones, bytes, ints, comm, no, &q);
    MPI_Start(&q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Request_free(&q);
    CHECK_EQ(mine, me);
    for (int i = 0; i < np && (kind >= 4 || (kind < 2 && me == 0)); ++i)
      CHECK_EQ(all[i], kind < 6 ? i : 100 * i + me);
  }
  free(junks);
  free(ints);
  free(ones);
  free(places);
  free(bytes);
  free(all);
}

CASE(persistent_collectives) {
  MPI_Datatype gap;
  int flag;
  // MPICH 4.0: MPI_Test reports inactive ones as incomplete, MPI_Testall fails while one is in flight, and
  // MPI_Gather_init and MPI_Scatter_init read the contents of the buffers at that time.
  if (mpich_alone()) SKIP("persistent collectives of MPICH 4.0 do not work");
  out = malloc((size_t)(np * block) * sizeof *out);
  for (int k = 0; k < kinds; ++k) in[k] = malloc((size_t)(np * block) * sizeof(int));
  counts = malloc((size_t)np * sizeof *counts);
  displs = malloc((size_t)np * 2 * sizeof *displs);
  types = malloc((size_t)np * sizeof *types);
  for (int i = 0; i < np; ++i) counts[i] = block, displs[i] = i * block, types[i] = MPI_INT;
  MPI_Type_vector(2, 1, 2, MPI_INT, &gap);
  MPI_Type_create_resized(gap, 0, block * sizeof(int), &pair_type);
  MPI_Type_commit(&pair_type);
  MPI_Type_free(&gap);
  MPI_Op_create(larger, 1, &own_op);
  fill(0);
  init();
  for (int k = 0; k < kinds; ++k) {         // nothing has begun: inactive requests are complete
    if (k == 17 && over_mpich()) continue;  // the library carries a user-defined reduction
    MPI_Test(&r[k], &flag, MPI_STATUS_IGNORE);
    CHECK(flag && r[k] != MPI_REQUEST_NULL);
  }
  for (int round = 0; round < rounds; ++round) {
    int word = -1;
    MPI_Request all[kinds + 2];
    fill(round);
    memcpy(all, r, sizeof r);
    if (round % 2 == 0) MPI_Startall(kinds, all);
    for (int k = 0; round % 2 != 0 && k < kinds; ++k) MPI_Start(&all[k]);
    MPI_Irecv(&word, 1, MPI_INT, left_of(me, np), 1, MPI_COMM_WORLD, &all[kinds]);
    MPI_Isend(&round, 1, MPI_INT, right_of(me, np), 1, MPI_COMM_WORLD, &all[kinds + 1]);
    if (round < 2) MPI_Waitall(kinds + 2, all, MPI_STATUSES_IGNORE);
    for (int k = kinds + 1; round == 2 && k >= 0; --k) MPI_Wait(&all[k], MPI_STATUS_IGNORE);
    const int tested = over_mpich() ? kinds - 1 : kinds + 2;  // MPI_Testall of MPICH 4.0 fails with its own
    for (flag = 0; round == 3 && !flag;) MPI_Testall(tested, all, &flag, MPI_STATUSES_IGNORE);
    if (round == 3) MPI_Waitall(kinds + 2 - tested, all + tested, MPI_STATUSES_IGNORE);
    CHECK_EQ(word, round);
    for (int k = 0; k < kinds; ++k) CHECK(all[k] == r[k]);
    check_all(round);
  }
  for (int k = 0; k < kinds; ++k) {
    MPI_Request_free(&r[k]);
    CHECK(r[k] == MPI_REQUEST_NULL);
    free(in[k]);
  }
  MPI_Op_free(&own_op);
  MPI_Type_free(&pair_type);  // Open MPI 4.1 itself crashes if this is earlier
  neighbours();
  ignored_types();
  free(out);
  free(counts);
  free(displs);
  free(types);
}
