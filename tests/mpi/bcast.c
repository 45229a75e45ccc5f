// MPI_Bcast: every root, sizes from 0 to 4 MiB, every predefined datatype, derived datatypes with gaps, and
// different types with equal signatures. Also sub-communicators, hundreds of broadcasts without a barrier,
// and pending point-to-point messages on the same communicator.
#include "types.h"

static void bytes_from(MPI_Comm comm, int root, int bytes, int round) {
  int rank;
  MPI_Comm_rank(comm, &rank);
  char* buf = guarded_new((size_t)bytes);
  if (rank == root) fill_pattern(buf, (size_t)bytes, root, 0, round);
  MPI_Bcast(buf, bytes, MPI_BYTE, root, comm);
  VERIFY(buf, (size_t)bytes, root, 0, round);
  GUARDED_FREE(buf, (size_t)bytes);
}

static void every_size(MPI_Comm comm) {
  static const int sizes[] = {0,    1,    2,     7,     64,     255,     256,     1000,    2047,
                              2049, 8192, 16384, 65535, 131072, 1000000, 1 << 20, 3000001, 4 << 20};
  int size;
  MPI_Comm_size(comm, &size);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
    for (int root = 0; root < size; ++root) bytes_from(comm, root, sizes[i], (int)i);
}

static void every_type(void) {
  static const int counts[] = {1, 5, 3000};
  struct basic basics[max_basic];
  int n = basic_types(basics);
  for (int t = 0; t < n; ++t) {
    struct basic* b = &basics[t];
    int root = t % np, count = counts[t % 3];
    char* buf = guarded_new((size_t)count * b->size);
    if (me == root)
      for (int i = 0; i < count; ++i) b->set(buf + (size_t)i * b->size, (i + t) % 101);
    MPI_Bcast(buf, count, b->type, root, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) CHECK(b->is(buf + (size_t)i * b->size, (i + t) % 101));
    GUARDED_FREE(buf, (size_t)count * b->size);
  }
}

static void every_pair_type(void) {
  struct pair pairs[max_pair];
  int n = pair_types(pairs);
  for (int t = 0; t < n; ++t) {
    char* buf = guarded_new(20 * pairs[t].size);
    if (me == t % np)
      for (int i = 0; i < 20; ++i) pairs[t].set(buf + (size_t)i * pairs[t].size, i, -t);
    MPI_Bcast(buf, 20, pairs[t].type, t % np, MPI_COMM_WORLD);
    for (int i = 0; i < 20; ++i) CHECK(pairs[t].is(buf + (size_t)i * pairs[t].size, i, -t));
    GUARDED_FREE(buf, 20 * pairs[t].size);
  }
}

// Every third int is sent; the two between keep their values.
static void with_gaps(int count) {
  MPI_Datatype third;
  int* buf = guarded_new((size_t)count * 12);
  MPI_Type_create_resized(MPI_INT, 0, 12, &third);
  MPI_Type_commit(&third);
  for (int root = 0; root < np; ++root) {
    for (int i = 0; i < 3 * count; ++i) buf[i] = i % 3 || me == root ? i + me * 1000000 : -1;
    MPI_Bcast(buf, count, third, root, MPI_COMM_WORLD);
    for (int i = 0; i < 3 * count; ++i) CHECK_EQ(buf[i], i + (i % 3 ? me : root) * 1000000);
  }
  MPI_Type_free(&third);
  GUARDED_FREE(buf, (size_t)count * 12);
}

// A column of a matrix at the root, a row elsewhere.
static void different_types(void) {
  enum { n = 12 };
  MPI_Datatype column;
  int matrix[n][n];
  MPI_Type_vector(n, 1, n, MPI_INT, &column);
  MPI_Type_commit(&column);
  for (int root = 0; root < np; ++root) {
    for (int i = 0; i < n * n; ++i) matrix[i / n][i % n] = me == root ? i : -1;
    if (me == root)
      MPI_Bcast(&matrix[0][2], 1, column, root, MPI_COMM_WORLD);
    else
      MPI_Bcast(&matrix[3][0], n, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < n; ++i) CHECK_EQ(me == root ? matrix[i][2] : matrix[3][i], i * n + 2);
    for (int i = 0; i < n; ++i) CHECK_EQ(matrix[5][i], me == root ? 5 * n + i : -1);
  }
  MPI_Type_free(&column);
}

static void back_to_back(void) {
  for (int i = 0; i < 400; ++i) {
    int word[3] = {0, 0, 0}, root = i % np, count = 1 + i % 3;
    if (me == root)
      for (int k = 0; k < count; ++k) word[k] = i * 3 + k;
    MPI_Bcast(word, count, MPI_INT, root, MPI_COMM_WORLD);
    for (int k = 0; k < 3; ++k) CHECK_EQ(word[k], k < count ? i * 3 + k : 0);
  }
  for (int i = 0; i < 100; ++i) {  // one root running ahead
    int word = me == 0 ? i : -1;
    MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK_EQ(word, i);
  }
}

// Sent messages and posted receives stay unmatched during broadcasts, and must not exchange data with them.
static void beside_messages(void) {
  int right = right_of(me, np), left = left_of(me, np), in[2] = {-1, -1}, out[2] = {me, me + 100};
  MPI_Request r[3];
  MPI_Irecv(&in[0], 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &r[0]);
  MPI_Isend(&out[1], 1, MPI_INT, right, 1, MPI_COMM_WORLD, &r[1]);
  for (int root = 0; root < np; ++root) bytes_from(MPI_COMM_WORLD, root, 4 + root * 5000, root);
  MPI_Isend(&out[0], 1, MPI_INT, right, 0, MPI_COMM_WORLD, &r[2]);
  MPI_Recv(&in[1], 1, MPI_INT, left, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
  CHECK(in[0] == left && in[1] == left + 100);
}

static void subsets(void) {
  MPI_Comm half, reversed, front;
  MPI_Comm_split(MPI_COMM_WORLD, me % 2, 0, &half);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &reversed);
  MPI_Comm_split(MPI_COMM_WORLD, me < np - 1 ? 0 : MPI_UNDEFINED, 0, &front);
  every_size(half);
  comm_traffic(reversed, 3);
  for (int root = 0; root < np; ++root) bytes_from(reversed, root, 70000, 9);
  if (front != MPI_COMM_NULL) {
    bytes_from(front, 0, 5000, 2);
    MPI_Comm_free(&front);
  }
  bytes_from(MPI_COMM_SELF, 0, 5000, 2);
  MPI_Comm_free(&half);
  MPI_Comm_free(&reversed);
}

CASE(bcast) {
  every_size(MPI_COMM_WORLD);
  every_type();
  every_pair_type();
  with_gaps(1);
  with_gaps(1000);
  with_gaps(100000);
  different_types();
  back_to_back();
  if (np > 1) beside_messages();
  subsets();
}
