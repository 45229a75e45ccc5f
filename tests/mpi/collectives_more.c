// Hard cases of the collectives beside Bcast, Reduce and Gather: types with gaps (also in place), user
// operations that do not commute, blocks of zero or very different sizes, large blocks, many nonblocking
// collectives at once on several communicators.
#include "check.h"

enum { gap = 2, block = 5, rounds = 3 };

// x -> a x + b modulo 2^32; composition is not commutative.
typedef struct {
  uint32_t a, b;
} Map;

static Map then(Map first, Map second) {
  Map out = {first.a * second.a, first.b * second.a + second.b};
  return out;
}

static void compose(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((Map*)inout)[i] = then(((Map*)in)[i], ((Map*)inout)[i]);
}

static Map map_of(int rank, int i) {
  Map m = {2 * (uint32_t)(rank + i) + 3, (uint32_t)(7 * rank + i)};
  return m;
}

static Map product(int first, int last, int i) {
  Map m = {1, 0};
  for (int r = first; r <= last; ++r) m = then(m, map_of(r, i));
  return m;
}

#define CHECK_MAP(have, want) (CHECK_EQ((have).a, (want).a), CHECK_EQ((have).b, (want).b))

static void non_commutative(MPI_Comm comm, int count) {
  int rank, size;
  MPI_Op op;
  MPI_Datatype type;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Op_create(compose, 0, &op);
  MPI_Type_contiguous(2, MPI_UINT32_T, &type);
  MPI_Type_commit(&type);
  size_t all = (size_t)(count * size + 1);
  Map *in = malloc(all * sizeof *in), *out = malloc(all * sizeof *out);
  CHECK(in && out);
  for (int i = 0; i < count * size; ++i) in[i] = map_of(rank, i);
  MPI_Allreduce(in, out, count, type, op, comm);
  for (int i = 0; i < count; ++i) CHECK_MAP(out[i], product(0, size - 1, i));
  memcpy(out, in, all * sizeof *in);
  MPI_Scan(MPI_IN_PLACE, out, count, type, op, comm);
  for (int i = 0; i < count; ++i) CHECK_MAP(out[i], product(0, rank, i));
  Map untouched = {77, 78};
  for (int i = 0; i < count; ++i) out[i] = untouched;
  MPI_Exscan(in, out, count, type, op, comm);
  for (int i = 0; i < count; ++i) CHECK_MAP(out[i], rank == 0 ? untouched : product(0, rank - 1, i));
  MPI_Reduce_scatter_block(in, out, count, type, op, comm);
  for (int i = 0; i < count; ++i) CHECK_MAP(out[i], product(0, size - 1, rank * count + i));
  int* counts = malloc((size_t)size * sizeof *counts);
  CHECK(counts);
  for (int r = 0; r < size; ++r) counts[r] = r == 0 ? count : r % 2 ? 0 : count / 2;
  int start = 0;
  for (int r = 0; r < rank; ++r) start += counts[r];
  MPI_Reduce_scatter(in, out, counts, type, op, comm);
  for (int i = 0; i < counts[rank]; ++i) CHECK_MAP(out[i], product(0, size - 1, start + i));
  for (int root = 0; root < size; ++root) {
    MPI_Reduce(in, out, count, type, op, root, comm);
    for (int i = 0; i < count && rank == root; ++i) CHECK_MAP(out[i], product(0, size - 1, i));
  }
  free(counts);
  free(in);
  free(out);
  MPI_Type_free(&type);
  MPI_Op_free(&op);
}

// One element is two ints with a gap between; its extent adds another gap.
static MPI_Datatype holes(void) {
  MPI_Datatype pair, type;
  MPI_Type_vector(2, 1, gap, MPI_INT, &pair);
  MPI_Type_create_resized(pair, 0, 2 * gap * (MPI_Aint)sizeof(int), &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&pair);
  return type;
}
enum { ints_each = 2 * gap };

static int value(int from, int to, int i) {
  return from * 10000 + to * 100 + i;
}
static void put(int* buf, int at, int from, int to) {
  for (int i = 0; i < 2; ++i) buf[at * ints_each + i * gap] = value(from, to, i);
}
static void check(const int* buf, int at, int from, int to) {
  for (int i = 0; i < ints_each; ++i)
    CHECK_EQ(buf[at * ints_each + i], i % gap ? -9 : value(from, to, i / gap));
}
static int* fresh(int elements) {
  int* buf = malloc((size_t)(elements * ints_each + 1) * sizeof *buf);
  CHECK(buf);
  for (int i = 0; i < elements * ints_each; ++i) buf[i] = -9;
  return buf;
}

static void with_holes(int in_place) {
  MPI_Datatype type = holes();
  int *send = fresh(np), *recv = fresh(np), *counts = malloc((size_t)np * 2 * sizeof *counts);
  CHECK(counts);
  int* starts = counts + np;
  for (int r = 0; r < np; ++r) counts[r] = 1, starts[r] = np - 1 - r;  // backwards
  put(in_place ? recv : send, in_place ? me : 0, me, 0);
  MPI_Allgather(in_place ? MPI_IN_PLACE : send, 1, type, recv, 1, type, MPI_COMM_WORLD);
  for (int r = 0; r < np; ++r) check(recv, r, r, 0);
  free(recv);
  recv = fresh(np);
  put(in_place ? recv : send, in_place ? starts[me] : 0, me, 0);
  MPI_Allgatherv(in_place ? MPI_IN_PLACE : send, 1, type, recv, counts, starts, type, MPI_COMM_WORLD);
  for (int r = 0; r < np; ++r) check(recv, starts[r], r, 0);
  free(recv);
  recv = fresh(np);
  for (int r = 0; r < np; ++r) put(in_place ? recv : send, r, me, r);
  MPI_Alltoall(in_place ? MPI_IN_PLACE : send, 1, type, recv, 1, type, MPI_COMM_WORLD);
  for (int r = 0; r < np; ++r) check(recv, r, r, me);
  free(recv);
  recv = fresh(np);
  for (int r = 0; r < np; ++r) put(in_place ? recv : send, starts[r], me, r);
  MPI_Alltoallv(in_place ? MPI_IN_PLACE : send, counts, starts, type, recv, counts, starts, type,
                MPI_COMM_WORLD);
  for (int r = 0; r < np; ++r) check(recv, starts[r], r, me);
  for (int root = 0; root < np; ++root) {
    int here = in_place && me == root;
    for (int r = 0; r < np; ++r) put(send, r, root, r);
    free(recv);
    recv = fresh(np);
    MPI_Scatter(send, 1, type, here ? MPI_IN_PLACE : recv, 1, type, root, MPI_COMM_WORLD);
    if (!here) check(recv, 0, root, me);
    for (int r = 0; r < np; ++r) put(send, starts[r], root, r);
    free(recv);
    recv = fresh(np);
    MPI_Scatterv(send, counts, starts, type, here ? MPI_IN_PLACE : recv, 1, type, root, MPI_COMM_WORLD);
    if (!here) check(recv, 0, root, me);
    free(recv);
    recv = fresh(np);
    put(here ? recv : send, here ? starts[me] : 0, me, root);
    MPI_Gatherv(here ? MPI_IN_PLACE : send, 1, type, recv, counts, starts, type, root, MPI_COMM_WORLD);
    for (int r = 0; r < np && me == root; ++r) check(recv, starts[r], r, root);
  }
  free(send);
  free(recv);
  free(counts);
  MPI_Type_free(&type);
}

// Rank i sends (i + j) % 3 * scale bytes to rank j: as bytes on one side, as other types on the other.
static void ragged(int scale) {
  size_t room = (size_t)(3 * scale * np + 8);
  char *send = guarded_new(room), *recv = guarded_new(room);
  int *n = malloc((size_t)np * 4 * sizeof *n), *send_at = n + np, *recv_n = n + 2 * np, *recv_at = n + 3 * np;
  MPI_Datatype* types = malloc((size_t)np * 2 * sizeof *types);
  CHECK(n && types);
  for (int r = 0; r < np; ++r) {
    n[r] = (me + r) % 3 * scale;
    send_at[r] = recv_at[r] = r * 3 * scale;
    fill_pattern(send + send_at[r], (size_t)n[r], me, r, scale);
    recv_n[r] = n[r] / 8;
    types[r] = MPI_BYTE;
    types[np + r] = MPI_DOUBLE;
  }
  MPI_Alltoallw(send, n, send_at, types, recv, recv_n, recv_at, types + np, MPI_COMM_WORLD);
  for (int r = 0; r < np; ++r) VERIFY(recv + recv_at[r], (size_t)n[r], r, me, scale);
  memset(recv, 0, room);
  MPI_Alltoallv(send, n, send_at, MPI_BYTE, recv, n, recv_at, MPI_BYTE, MPI_COMM_WORLD);
  for (int r = 0; r < np; ++r) VERIFY(recv + recv_at[r], (size_t)n[r], r, me, scale);
  CHECK_GUARDS(recv, room);
  GUARDED_FREE(send, room);
  GUARDED_FREE(recv, room);
  free(n);
  free(types);
}

static void many_at_once(void) {
  enum { kinds = 6 };
  MPI_Comm comms[rounds];
  MPI_Request requests[rounds * kinds];
  int in[rounds][64], sum[rounds], prefix[rounds], all[rounds][64], moved[rounds][64], mine[rounds],
      before = 0;
  if (np > 64) return;
  for (int k = 0; k < rounds; ++k) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[k]);
    for (int r = 0; r < np; ++r) in[k][r] = k * 1000 + me * 10 + r;
    MPI_Request* q = requests + k * kinds;
    MPI_Iallreduce(&in[k][0], &sum[k], 1, MPI_INT, MPI_SUM, comms[k], q++);
    MPI_Iscan(&in[k][0], &prefix[k], 1, MPI_INT, MPI_MAX, comms[k], q++);
    MPI_Iallgather(&in[k][0], 1, MPI_INT, all[k], 1, MPI_INT, comms[k], q++);
    MPI_Ialltoall(in[k], 1, MPI_INT, moved[k], 1, MPI_INT, comms[k], q++);
    MPI_Iscatter(in[k], 1, MPI_INT, &mine[k], 1, MPI_INT, np - 1, comms[k], q++);
    MPI_Ibarrier(comms[k], q++);
  }
  MPI_Sendrecv(&me, 1, MPI_INT, (me + 1) % np, 5, &before, 1, MPI_INT, (me + np - 1) % np, 5, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  CHECK_EQ(before, (me + np - 1) % np);
  for (int done = 0; done < rounds * kinds; ++done) {
    int index;
    MPI_Waitany(rounds * kinds, requests, &index, MPI_STATUS_IGNORE);
    CHECK(index != MPI_UNDEFINED && requests[index] == MPI_REQUEST_NULL);
  }
  for (int k = 0; k < rounds; ++k) {
    CHECK_EQ(sum[k], np * k * 1000 + 10 * np * (np - 1) / 2);
    CHECK_EQ(prefix[k], k * 1000 + me * 10);
    CHECK_EQ(mine[k], k * 1000 + (np - 1) * 10 + me);
    for (int r = 0; r < np; ++r) {
      CHECK_EQ(all[k][r], k * 1000 + r * 10);
      CHECK_EQ(moved[k][r], k * 1000 + r * 10 + me);
    }
    MPI_Comm_free(&comms[k]);
  }
}

static void large(void) {
  enum { count = 300000 };
  double *in = malloc(count * sizeof *in), *out = malloc(count * sizeof *out);
  CHECK(in && out);
  for (int i = 0; i < count; ++i) in[i] = me + i;
  MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) CHECK(out[i] == np - 1 + i);
  MPI_Allreduce(MPI_IN_PLACE, in, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) CHECK(in[i] == (double)np * i + np * (np - 1) / 2);
  free(in);
  free(out);
}

CASE(collectives_more) {
  non_commutative(MPI_COMM_WORLD, block);
  non_commutative(MPI_COMM_WORLD, 3000);
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &half);  // ranks in reverse order
  non_commutative(half, block);
  MPI_Comm_free(&half);
  with_holes(0);
  with_holes(1);
  ragged(8);
  ragged(80000);
  many_at_once();
  large();
  for (int k = 0; k < 100; ++k) MPI_Barrier(MPI_COMM_WORLD);
}
