// The functions with large counts of MPI 4, mixed with those with int: each receives the messages of the
// other.
// Ranks: at least 2.
#include "check.h"

#if MPI_VERSION >= 4 && (!defined(OPEN_MPI) || OMPI_MAJOR_VERSION >= 6)

enum { n = 40, tag = 3 };

static int out[n], in[n];

static void fill(int seed) {
  for (int i = 0; i < n; ++i) out[i] = 1000 * me + seed + i, in[i] = -1;
}
static void check_in(int from, int seed, int count) {
  for (int i = 0; i < count; ++i) CHECK_EQ(in[i], 1000 * from + seed + i);
  for (int i = count; i < n; ++i) CHECK_EQ(in[i], -1);
}

// Every way of sending against every way of receiving.
static void send_in_way(int way, int to, MPI_Request* r) {
  static char space[n * sizeof(int) + MPI_BSEND_OVERHEAD];
  MPI_Count size;
  void* detached;
  *r = MPI_REQUEST_NULL;
  switch (way) {
    case 0:
      MPI_Send_c(out, n, MPI_INT, to, tag, MPI_COMM_WORLD);
      break;
    case 1:
      MPI_Ssend_c(out, n, MPI_INT, to, tag, MPI_COMM_WORLD);
      break;
    case 2:
      MPI_Buffer_attach_c(space, sizeof space);
      MPI_Bsend_c(out, n, MPI_INT, to, tag, MPI_COMM_WORLD);
      MPI_Buffer_detach_c(&detached, &size);
      CHECK_EQ(size, sizeof space);
      break;
    case 3:
      MPI_Isend_c(out, n, MPI_INT, to, tag, MPI_COMM_WORLD, r);
      break;
    case 4:
      MPI_Issend_c(out, n, MPI_INT, to, tag, MPI_COMM_WORLD, r);
      break;
    case 5:
      MPI_Send_init_c(out, n, MPI_INT, to, tag, MPI_COMM_WORLD, r);
      MPI_Start(r);
      break;
    case 6:
      MPI_Ssend_init_c(out, n, MPI_INT, to, tag, MPI_COMM_WORLD, r);
      MPI_Start(r);
      break;
    default:
      MPI_Send(out, n, MPI_INT, to, tag, MPI_COMM_WORLD);
  }
}

static void receive_in_way(int way, int from, MPI_Status* s) {
  MPI_Request r = MPI_REQUEST_NULL;
  MPI_Message message;
  int flag = 0;
  switch (way) {
    case 0:
      MPI_Recv_c(in, n, MPI_INT, from, tag, MPI_COMM_WORLD, s);
      return;
    case 1:
      MPI_Irecv_c(in, n, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &r);
      break;
    case 2:
      MPI_Recv_init_c(in, n, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD, &r);
      MPI_Start(&r);
      break;
    case 3:
      MPI_Mprobe(from, tag, MPI_COMM_WORLD, &message, s);
      MPI_Mrecv_c(in, n, MPI_INT, &message, s);
      return;
    case 4:
      while (!flag) MPI_Improbe(from, tag, MPI_COMM_WORLD, &flag, &message, s);
      MPI_Imrecv_c(in, n, MPI_INT, &message, &r);
      break;
    default:
      MPI_Recv(in, n, MPI_INT, from, tag, MPI_COMM_WORLD, s);
      return;
  }
  MPI_Wait(&r, s);
  if (r != MPI_REQUEST_NULL) MPI_Request_free(&r);
}

static void messages(void) {
  for (int way = 0; way < 8; ++way) {
    for (int other = 0; other < 6; ++other) {
      fill(way + other);
      if (me == 0) {
        MPI_Request r;
        send_in_way(way, 1, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        if (r != MPI_REQUEST_NULL) MPI_Request_free(&r);
      } else if (me == 1) {
        MPI_Status s = spoiled_status();
        MPI_Count count = -1;
        receive_in_way(other, 0, &s);
        check_in(0, way + other, n);
        CHECK_STATUS(s, 0, tag, n, MPI_INT);
        MPI_Get_count_c(&s, MPI_INT, &count);
        CHECK_EQ(count, n);
        MPI_Get_elements_c(&s, MPI_INT, &count);
        CHECK_EQ(count, n);
      }
    }
  }
}

static void exchanges(void) {
  const int right = right_of(me, np), left = left_of(me, np);
  MPI_Status s;
  MPI_Request r;
  fill(7);
  MPI_Sendrecv_c(out, n, MPI_INT, right, tag, in, n, MPI_INT, left, tag, MPI_COMM_WORLD, &s);
  check_in(left, 7, n);
  for (int i = 0; i < n; ++i) in[i] = out[i];
  MPI_Sendrecv_replace_c(in, n, MPI_INT, right, tag, left, tag, MPI_COMM_WORLD, &s);
  check_in(left, 7, n);
  fill(8);
  MPI_Isendrecv_c(out, n, MPI_INT, right, tag, in, n, MPI_INT, left, tag, MPI_COMM_WORLD, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  check_in(left, 8, n);
}

// Blocks of different lengths, with a gap after each: rank i sends i + 1 + the receiver's rank elements.
static void blocks(void) {
  MPI_Count *to = malloc(2 * sizeof *to * (size_t)np), *from = to + np;
  MPI_Aint *to_at = malloc(2 * sizeof *to_at * (size_t)np), *from_at = to_at + np;
  MPI_Datatype* types = malloc(sizeof(MPI_Datatype) * (size_t)np);
  const int room = 2 * np + 2;
  int* a = malloc(sizeof(int) * (size_t)(room * np));
  int* b = malloc(sizeof(int) * (size_t)(room * np));
  for (int i = 0; i < np; ++i) {
    to[i] = from[i] = me + 1 + i;
    to_at[i] = from_at[i] = i * room;
    types[i] = MPI_INT;
    for (int k = 0; k < room; ++k) a[i * room + k] = 10000 * me + 100 * i + k;
  }
  for (int way = 0; way < 3; ++way) {
    MPI_Request r = MPI_REQUEST_NULL;
    memset(b, -1, sizeof(int) * (size_t)(room * np));
    if (way == 0)
      MPI_Alltoallv_c(a, to, to_at, MPI_INT, b, from, from_at, MPI_INT, MPI_COMM_WORLD);
    else if (way == 1)
      MPI_Ialltoallv_c(a, to, to_at, MPI_INT, b, from, from_at, MPI_INT, MPI_COMM_WORLD, &r);
    else
      MPI_Alltoallv_init_c(a, to, to_at, MPI_INT, b, from, from_at, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &r);
    if (way == 2) MPI_Start(&r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    if (r != MPI_REQUEST_NULL) MPI_Request_free(&r);
    for (int i = 0; i < np; ++i)
      for (int k = 0; k < room; ++k)
        CHECK_EQ(b[i * room + k], k < me + 1 + i ? 10000 * i + 100 * me + k : -1);
  }
  for (int i = 0; i < np; ++i) to_at[i] *= (MPI_Aint)sizeof(int), from_at[i] = to_at[i];
  memset(b, -1, sizeof(int) * (size_t)(room * np));
  MPI_Alltoallw_c(a, to, to_at, types, b, from, from_at, types, MPI_COMM_WORLD);
  for (int i = 0; i < np; ++i)
    for (int k = 0; k < room; ++k) CHECK_EQ(b[i * room + k], k < me + 1 + i ? 10000 * i + 100 * me + k : -1);
  // Rank i contributes i + 1 elements.
  for (int i = 0; i < np; ++i) from[i] = i + 1, from_at[i] = i * room;
  memset(b, -1, sizeof(int) * (size_t)(room * np));
  MPI_Allgatherv_c(a, me + 1, MPI_INT, b, from, from_at, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < np; ++i)
    for (int k = 0; k < room; ++k) CHECK_EQ(b[i * room + k], k < i + 1 ? 10000 * i + k : -1);
  memset(b, -1, sizeof(int) * (size_t)(room * np));
  MPI_Gatherv_c(a, me + 1, MPI_INT, b, from, from_at, MPI_INT, np - 1, MPI_COMM_WORLD);
  if (me == np - 1)
    for (int i = 0; i < np; ++i)
      for (int k = 0; k < room; ++k) CHECK_EQ(b[i * room + k], k < i + 1 ? 10000 * i + k : -1);
  memset(b, -1, sizeof(int) * (size_t)(room * np));
  MPI_Scatterv_c(a, from, from_at, MPI_INT, b, me + 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (int k = 0; k < room; ++k) CHECK_EQ(b[k], k < me + 1 ? 100 * me + k : -1);
  memset(b, -1, sizeof(int) * (size_t)(room * np));
  MPI_Reduce_scatter_c(a, b, from, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  for (int k = 0, first = me * (me + 1) / 2; k < me + 1; ++k)
    CHECK_EQ(b[k], 10000 * (np - 1) + 100 * ((first + k) / room) + (first + k) % room);
  free(to), free(to_at), free(types), free(a), free(b);
}

static void wholes(void) {
  MPI_Request r[2];
  fill(1);
  if (me == 1) memcpy(in, out, sizeof in);
  MPI_Bcast_c(in, n, MPI_INT, 1, MPI_COMM_WORLD);
  check_in(1, 1, n);
  fill(2);
  MPI_Allreduce_c(out, in, n, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  check_in(np - 1, 2, n);
  fill(3);
  MPI_Reduce_c(out, in, n, MPI_INT, MPI_MIN, 1, MPI_COMM_WORLD);
  if (me == 1) check_in(0, 3, n);
  fill(4);
  MPI_Scan_c(out, in, n, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  check_in(me, 4, n);
  fill(5);
  MPI_Iallreduce_c(out, in, n, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &r[0]);
  MPI_Ibarrier(MPI_COMM_WORLD, &r[1]);
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  check_in(np - 1, 5, n);
  MPI_Allreduce_init_c(out, in, n, MPI_INT, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
  for (int round = 0; round < 2; ++round) {
    fill(6 + round);
    MPI_Start(&r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    check_in(np - 1, 6 + round, n);
  }
  MPI_Request_free(&r[0]);
  int* all = malloc(sizeof(int) * (size_t)np);
  MPI_Allgather_c(&me, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < np; ++i) CHECK_EQ(all[i], i);
  for (int i = 0; i < np; ++i) all[i] = 100 * me + i;
  MPI_Alltoall_c(MPI_IN_PLACE, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < np; ++i) CHECK_EQ(all[i], 100 * i + me);
  free(all);
}

static void neighbours(void) {
  MPI_Comm ring;
  MPI_Count counts[2] = {1, 2};
  MPI_Aint at[2] = {0, 4};
  int got[8] = {-1, -1, -1, -1, -1, -1, -1, -1}, mine[8];
  for (int i = 0; i < 8; ++i) mine[i] = 10 * me + i;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &np, (int[]){1}, 0, &ring);
  if (np > 2) {  // each neighbour once
    MPI_Count back[2] = {2, 1};
    MPI_Neighbor_alltoallv_c(mine, counts, at, MPI_INT, got, back, at, MPI_INT, ring);
    CHECK_EQ(got[0], 10 * left_of(me, np) + 4);
    CHECK_EQ(got[1], 10 * left_of(me, np) + 5);
    CHECK_EQ(got[4], 10 * right_of(me, np));
  }
  MPI_Comm_free(&ring);
}

// Types made with large counts, against types made with int.
static void types(void) {
  MPI_Datatype large[4], small[4];
  const MPI_Count lengths[2] = {2, 3}, places[2] = {5, 0}, bytes[2] = {20, 0};
  const int short_lengths[2] = {2, 3}, short_places[2] = {5, 0};
  const MPI_Aint short_bytes[2] = {20, 0};
  const MPI_Datatype two[2] = {MPI_INT, MPI_INT};
  MPI_Type_contiguous_c(6, MPI_INT, &large[0]), MPI_Type_contiguous(6, MPI_INT, &small[0]);
  MPI_Type_vector_c(3, 2, 4, MPI_INT, &large[1]), MPI_Type_vector(3, 2, 4, MPI_INT, &small[1]);
  MPI_Type_indexed_c(2, lengths, places, MPI_INT, &large[2]);
  MPI_Type_indexed(2, short_lengths, short_places, MPI_INT, &small[2]);
  MPI_Type_create_struct_c(2, lengths, bytes, two, &large[3]);
  MPI_Type_create_struct(2, short_lengths, short_bytes, two, &small[3]);
  for (int k = 0; k < 4; ++k) {
    MPI_Type_commit(&large[k]), MPI_Type_commit(&small[k]);
    for (int way = 0; way < 2; ++way) {
      int expected[n], position = 0;
      char packed[n * sizeof(int)];
      MPI_Datatype sent = way ? large[k] : small[k], received = way ? small[k] : large[k];
      fill(20 + k);
      if (me == 0) MPI_Send(out, 2, sent, 1, tag, MPI_COMM_WORLD);
      if (me == 1) {
        MPI_Status s;
        MPI_Count count;
        for (int i = 0; i < n; ++i) out[i] = 20 + k + i, expected[i] = -1;
        MPI_Pack(out, 2, sent, packed, sizeof packed, &position, MPI_COMM_WORLD);
        const int size = position;
        position = 0;
        MPI_Unpack(packed, size, &position, expected, 2, received, MPI_COMM_WORLD);
        MPI_Recv_c(in, 2, received, 0, tag, MPI_COMM_WORLD, &s);
        for (int i = 0; i < n; ++i) CHECK_EQ(in[i], expected[i]);
        MPI_Get_count_c(&s, received, &count);
        CHECK_EQ(count, 2);
        MPI_Get_elements_c(&s, received, &count);
        CHECK_EQ(count, size / (int)sizeof(int));
      }
      fill(30 + k);
      MPI_Bcast(me == 0 ? out : in, 1, me == 0 ? large[k] : small[k], 0, MPI_COMM_WORLD);
    }
    MPI_Type_free(&large[k]), MPI_Type_free(&small[k]);
  }
}

CASE(large_counts) {
  if (np < 2) SKIP("large_counts needs two ranks");
  messages();
  exchanges();
  blocks();
  wholes();
  neighbours();
  types();
}

#else

CASE(large_counts) {
  SKIP("this MPI library has no functions with large counts");
}

#endif
