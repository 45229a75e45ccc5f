// MPI_Reduce (and Ireduce, Allreduce, Reduce_local) with user-defined operations on derived types:
// commutative and not (2x2 matrix product, composition of affine maps), a type with gaps and one whose data
// starts after its address, long vectors, every root. The function is called with the given datatype and
// never touches gaps.
#include "check.h"

struct matrix {
  uint64_t a, b, c, d;
};

struct affine {
  uint32_t scale;
  char gap[4];
  uint32_t shift;
};

static MPI_Datatype matrix_type, affine_type, late_type;
static int calls;

static struct matrix times(struct matrix x, struct matrix y) {
  return (struct matrix){x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c,
                         x.c * y.b + x.d * y.d};
}

static void multiply(void* in, void* inout, int* length, MPI_Datatype* type) {
  struct matrix *x = in, *y = inout;
  CHECK(*type == matrix_type);
  for (int i = 0; i < *length; ++i) y[i] = times(x[i], y[i]);
  ++calls;
}

static void compose(void* in, void* inout, int* length, MPI_Datatype* type) {
  struct affine *x = in, *y = inout;
  CHECK(*type == affine_type);
  for (int i = 0; i < *length; ++i) {
    y[i].shift = x[i].scale * y[i].shift + x[i].shift;
    y[i].scale *= x[i].scale;
  }
}

// The larger absolute value; the element is the second of two ints.
static void largest(void* in, void* inout, int* length, MPI_Datatype* type) {
  int *x = in, *y = inout;
  CHECK(*type == late_type);
  for (int i = 0; i < *length; ++i)
    if (abs(x[2 * i + 1]) > abs(y[2 * i + 1])) y[2 * i + 1] = x[2 * i + 1];
}

static struct matrix matrix_of(int rank, int i) {
  return (struct matrix){1 + (uint64_t)rank, (uint64_t)i, 3 * (uint64_t)rank + 2, 7 + (uint64_t)i * 5};
}

static void matrices(MPI_Op op, int count, int root, int how) {
  size_t bytes = (size_t)count * sizeof(struct matrix);
  struct matrix *mine = guarded_new(bytes), *product = guarded_new(bytes);
  MPI_Request r;
  for (int i = 0; i < count; ++i) mine[i] = matrix_of(me, i);
  if (how == 1 && me == root) memcpy(product, mine, bytes);
  const void* send = how == 1 && me == root ? MPI_IN_PLACE : mine;
  if (how < 2) MPI_Reduce(send, product, count, matrix_type, op, root, MPI_COMM_WORLD);
  if (how == 2) MPI_Ireduce(send, product, count, matrix_type, op, root, MPI_COMM_WORLD, &r);
  if (how == 2) MPI_Wait(&r, MPI_STATUS_IGNORE);
  if (how == 3) MPI_Allreduce(send, product, count, matrix_type, op, MPI_COMM_WORLD);
  for (int i = 0; i < count && (me == root || how == 3); ++i) {
    struct matrix want = matrix_of(0, i);
    for (int rank = 1; rank < np; ++rank) want = times(want, matrix_of(rank, i));
    CHECK(memcmp(&want, &product[i], sizeof want) == 0);
  }
  GUARDED_FREE(mine, bytes);
  GUARDED_FREE(product, bytes);
}

static void affine_maps(MPI_Op op, int count, int root) {
  struct affine *mine = malloc((size_t)count * sizeof *mine), *all = malloc((size_t)count * sizeof *all);
  memset(all, 0x3C, (size_t)count * sizeof *all);
  for (int i = 0; i < count; ++i)
    mine[i] = (struct affine){(uint32_t)(me + 2 + i), "abc", (uint32_t)(me * 9 + 1)};
  MPI_Reduce(mine, all, count, affine_type, op, root, MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) {
    uint32_t scale = (uint32_t)(2 + i);
    uint32_t shift = 1;
    for (int rank = 1; rank < np && me == root; ++rank) {
      shift += scale * (uint32_t)(rank * 9 + 1);
      scale *= (uint32_t)(rank + 2 + i);
    }
    if (me == root) CHECK(all[i].scale == scale && all[i].shift == shift);
    for (int k = 0; k < 4 && me != root; ++k) CHECK_EQ(all[i].gap[k], 0x3C);
    CHECK(memcmp(mine[i].gap, "abc", 4) == 0);
  }
  free(mine);
  free(all);
}

static void late_data(MPI_Op op, int count, int root) {
  size_t bytes = (size_t)count * 8;
  int *mine = guarded_new(bytes), *all = guarded_new(bytes);
  for (int i = 0; i < 2 * count; ++i) mine[i] = i % 2 ? (me == i % np ? -i : i / 2) : -1, all[i] = -2;
  MPI_Reduce(mine, all, count, late_type, op, root, MPI_COMM_WORLD);
  for (int i = 1; i < 2 * count && me == root; i += 2) CHECK_EQ(all[i], -i);
  for (int i = 0; i < 2 * count && me != root; ++i) CHECK_EQ(all[i], -2);
  GUARDED_FREE(mine, bytes);
  GUARDED_FREE(all, bytes);
}

static void local(MPI_Op op) {
  struct matrix x = matrix_of(1, 2), y = matrix_of(3, 4), want = times(x, y);
  int before = calls;
  MPI_Reduce_local(&x, &y, 1, matrix_type, op);
  CHECK(calls == before + 1 && memcmp(&want, &y, sizeof want) == 0);
}

static void make_types(void) {
  MPI_Datatype bare, parts[2] = {MPI_UINT32_T, MPI_UINT32_T};
  MPI_Aint at[2] = {0, 8};
  int lengths[2] = {1, 1}, one = 1, displacement = 1;
  MPI_Type_contiguous(4, MPI_UINT64_T, &matrix_type);
  MPI_Type_create_struct(2, lengths, at, parts, &affine_type);
  MPI_Type_indexed(1, &one, &displacement, MPI_INT, &bare);
  MPI_Type_create_resized(bare, 0, 8, &late_type);
  MPI_Type_free(&bare);
  MPI_Type_commit(&matrix_type);
  MPI_Type_commit(&affine_type);
  MPI_Type_commit(&late_type);
}

CASE(reduce_user) {
  MPI_Op product, composition, maximum;
  make_types();
  MPI_Op_create(multiply, 0, &product);
  MPI_Op_create(compose, 0, &composition);
  MPI_Op_create(largest, 1, &maximum);
  static const int counts[] = {1, 7, 300, 5000};
  for (int root = 0; root < np; ++root)
    for (int c = 0; c < 4; ++c) {
      for (int how = 0; how < 4; ++how) matrices(product, counts[c], root, how);
      affine_maps(composition, counts[c], root);
      late_data(maximum, counts[c], root);
    }
  for (int i = 0; i < 100; ++i) matrices(product, 1 + i % 3, i % np, i % 2);
  matrices(product, 100000, np - 1, 0);
  local(product);
  MPI_Op_free(&product);
  MPI_Op_free(&composition);
  MPI_Op_free(&maximum);
  MPI_Type_free(&matrix_type);
  MPI_Type_free(&affine_type);
  MPI_Type_free(&late_type);
}
