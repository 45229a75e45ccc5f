// Derived datatypes against type maps written down by hand: every constructor, negative strides, permuted
// blocks, lb != 0, interleaved elements, counts above one. Each layout is sent to plain ints, received from
// plain ints, and sent to every other layout of the same signature. derived_more.c has the special cases.
#include "check.h"

enum { most = 24, area = 40000, middle = 8000, tag = 3 };

// Positions are in ints; at[] in type map order.
struct layout {
  const char* name;
  MPI_Datatype type;
  int n, extent, at[most];
};

static struct layout layouts[24];
static int layout_count;
static int *from_area, *to_area, *plain;

static void add(const char* name, MPI_Datatype type, int extent, int n, const int* at) {
  struct layout* l = &layouts[layout_count++];
  MPI_Aint lb, bytes;
  l->name = name;
  l->type = type;
  l->n = n;
  l->extent = extent;
  memcpy(l->at, at, (size_t)n * sizeof *at);
  MPI_Type_commit(&l->type);
  MPI_Type_get_extent(type, &lb, &bytes);
  CHECK_EQ(bytes, extent * 4);
}

#define ADD(name, type, extent, ...)                               \
  do {                                                             \
    const int at_[] = {__VA_ARGS__};                               \
    add(name, type, extent, (int)(sizeof at_ / sizeof *at_), at_); \
  } while (0)

static void make_vectors(void) {
  MPI_Datatype t, u;
  MPI_Type_contiguous(6, MPI_INT, &t);
  ADD("contiguous", t, 6, 0, 1, 2, 3, 4, 5);
  MPI_Type_vector(3, 2, 4, MPI_INT, &t);
  ADD("vector", t, 10, 0, 1, 4, 5, 8, 9);
  MPI_Type_vector(6, 1, -2, MPI_INT, &t);
  ADD("negative vector", t, 11, 0, -2, -4, -6, -8, -10);
  MPI_Type_create_hvector(6, 1, 12, MPI_INT, &t);
  ADD("hvector", t, 16, 0, 3, 6, 9, 12, 15);
  MPI_Type_create_hvector(3, 2, -12, MPI_INT, &t);
  ADD("negative hvector", t, 8, 0, 1, -3, -2, -6, -5);
  MPI_Type_vector(6, 1, 13, MPI_INT, &u);
  MPI_Type_create_resized(u, 0, 48, &t);
  MPI_Type_free(&u);
  ADD("interleaved", t, 12, 0, 13, 26, 39, 52, 65);
}

static void make_indexed(void) {
  MPI_Datatype t;
  MPI_Aint bytes[3] = {28, 4, 16};
  int permuted[2] = {4, 0}, lengths[2] = {2, 4}, three[3] = {7, 1, 4}, with_empty[3] = {2, 0, 4},
      far[3] = {3, 90, 6};
  MPI_Type_indexed(2, lengths, permuted, MPI_INT, &t);
  ADD("permuted indexed", t, 6, 4, 5, 0, 1, 2, 3);
  MPI_Type_indexed(3, with_empty, far, MPI_INT, &t);
  ADD("indexed with an empty block, lb != 0", t, 7, 3, 4, 6, 7, 8, 9);
  MPI_Type_create_indexed_block(3, 2, three, MPI_INT, &t);
  ADD("indexed_block", t, 8, 7, 8, 1, 2, 4, 5);
  MPI_Type_create_hindexed_block(3, 2, bytes, MPI_INT, &t);
  ADD("hindexed_block", t, 8, 7, 8, 1, 2, 4, 5);
  int mixed[3] = {1, 3, 2};
  MPI_Type_create_hindexed(3, mixed, bytes, MPI_INT, &t);
  ADD("hindexed", t, 7, 7, 1, 2, 3, 4, 5);
}

static void make_others(void) {
  MPI_Datatype t, u, parts[3] = {MPI_INT, MPI_INT, MPI_INT};
  MPI_Aint bytes[3] = {8, -12, 20};
  int lengths[3] = {1, 3, 2}, sizes[2] = {4, 5}, subsizes[2] = {2, 3}, starts[2] = {1, 2};
  int gsize = 12, distribution = MPI_DISTRIBUTE_CYCLIC, argument = 1, procs = 2;
  MPI_Type_create_struct(3, lengths, bytes, parts, &t);
  ADD("struct", t, 10, 2, -3, -2, -1, 5, 6);
  MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &t);
  ADD("subarray C", t, 20, 7, 8, 9, 12, 13, 14);
  MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_INT, &t);
  ADD("subarray Fortran", t, 20, 9, 10, 13, 14, 17, 18);
  MPI_Type_create_darray(2, 1, 1, &gsize, &distribution, &argument, &procs, MPI_ORDER_C, MPI_INT, &t);
  ADD("darray", t, 12, 1, 3, 5, 7, 9, 11);
  MPI_Type_contiguous(6, MPI_INT, &u);
  MPI_Type_create_resized(u, -8, 44, &t);
  MPI_Type_free(&u);
  ADD("resized", t, 11, 0, 1, 2, 3, 4, 5);
  MPI_Type_dup(layouts[layout_count - 3].type, &t);
  ADD("dup", t, 20, 9, 10, 13, 14, 17, 18);
  MPI_Type_vector(2, 1, 2, MPI_INT, &u);
  MPI_Type_create_hvector(3, 1, -20, u, &t);
  MPI_Type_free(&u);
  ADD("vector of vector", t, 13, 0, 2, -5, -3, -10, -8);
  MPI_Type_indexed(2, (int[]){1, 1}, (int[]){2, 0}, MPI_INT, &u);
  MPI_Type_contiguous(3, u, &t);
  MPI_Type_free(&u);
  ADD("contiguous of permuted", t, 9, 2, 0, 5, 3, 8, 6);
}

static int position(const struct layout* l, int k) {
  return middle + k / l->n * l->extent + l->at[k % l->n];
}

static void exchange(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                     MPI_Datatype in_type, MPI_Status* s) {
  MPI_Sendrecv(out, out_count, out_type, right_of(me, np), tag, in, in_count, in_type, left_of(me, np), tag,
               MPI_COMM_WORLD, s);
}

static int value(int rank, int k) {
  return rank * 100000 + k + 1;
}

static void to_plain(const struct layout* l, int count) {
  MPI_Status s;
  int total = count * l->n, left = left_of(me, np);
  for (int i = 0; i < area; ++i) from_area[i] = -7;
  for (int k = 0; k < total; ++k) from_area[position(l, k)] = value(me, k);
  exchange(from_area + middle, count, l->type, plain, total + 1, MPI_INT, &s);
  CHECK_STATUS(s, left, tag, total, MPI_INT);
  for (int k = 0; k < total; ++k) CHECK_EQ(plain[k], value(left, k));
}

static void check_placed(const struct layout* l, int count, int sender) {
  int total = count * l->n;
  for (int k = 0; k < total; ++k) {
    CHECK_EQ(to_area[position(l, k)], value(sender, k));
    to_area[position(l, k)] = -9;
  }
  for (int i = 0; i < area; ++i) CHECK_EQ(to_area[i], -9);
}

static void from_plain(const struct layout* l, int count) {
  MPI_Status s;
  int elements, left = left_of(me, np);
  for (int k = 0; k < count * l->n; ++k) plain[k] = value(me, k);
  exchange(plain, count * l->n, MPI_INT, to_area + middle, count, l->type, &s);
  CHECK_STATUS(s, left, tag, count, l->type);
  MPI_Get_elements(&s, l->type, &elements);
  CHECK_EQ(elements, count * l->n);
  check_placed(l, count, left);
}

static void to_other(const struct layout* l, const struct layout* other, int count) {
  MPI_Status s;
  for (int k = 0; k < count * l->n; ++k) from_area[position(l, k)] = value(me, k);
  exchange(from_area + middle, count, l->type, to_area + middle, count, other->type, &s);
  CHECK_STATUS(s, left_of(me, np), tag, count, other->type);
  check_placed(other, count, left_of(me, np));
}

CASE(derived_types) {
  static const int counts[] = {0, 1, 2, 5, 1000};
  from_area = malloc(area * sizeof *from_area);
  to_area = malloc(area * sizeof *to_area);
  plain = malloc(area * sizeof *plain);
  for (int i = 0; i < area; ++i) to_area[i] = -9;
  make_vectors();
  make_indexed();
  make_others();
  for (int i = 0; i < layout_count; ++i) {
    for (int c = 0; c < 5; ++c) {
      to_plain(&layouts[i], counts[c]);
      from_plain(&layouts[i], counts[c]);
    }
    for (int j = 0; j < layout_count; ++j) to_other(&layouts[i], &layouts[j], (i + j) % 2 ? 3 : 300);
  }
  for (int i = 0; i < layout_count; ++i) MPI_Type_free(&layouts[i].type);
  free(from_area);
  free(to_area);
  free(plain);
}
