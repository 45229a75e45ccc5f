// MPI_Reduce: every predefined operation on every datatype it is defined for, every root, from one element to
// 4 MiB, MPI_IN_PLACE, untouched buffers elsewhere, sub-communicators, many in a row; MPI_Reduce_local. All
// values are exact in every type, so every order of combination gives the same bits.
#include "types.h"

enum op_kind { k_max, k_min, k_sum, k_prod, k_land, k_band, k_lor, k_bor, k_lxor, k_bxor, kinds };

static MPI_Op op_of(enum op_kind kind) {
  MPI_Op const ops[kinds] = {MPI_MAX,  MPI_MIN, MPI_SUM, MPI_PROD, MPI_LAND,
                             MPI_BAND, MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR};
  return ops[kind];
}

static int families_of(enum op_kind kind) {
  int integer = f_integer | f_fortran_integer;
  switch (kind) {
    case k_max:
    case k_min:
      return integer | f_floating | f_multi;
    case k_sum:
    case k_prod:
      return integer | f_floating | f_multi | f_complex;
    case k_land:
    case k_lor:
    case k_lxor:
      return f_integer | f_logical;
    default:
      return integer | f_byte | f_multi;
  }
}

// Small enough to keep all sums and products of a few ranks within a signed char.
static int input(enum op_kind kind, int rank, int i) {
  switch (kind) {
    case k_max:
    case k_min:
      return (i * 7 + rank * 31) % 127;
    case k_sum:
      return (i + rank * 3) % (100 / (np < 100 ? np : 100) + 1);
    case k_prod:
      return rank < 4 ? 1 + (i + rank) % 3 : 1;
    case k_land:
      return i % 3 == 0 ? 1 : (i + rank) % 3;
    case k_lor:
      return i % 3 == 0 ? 0 : (i + rank) % 3 % 2;
    case k_lxor:
      return (i + rank) % 2;
    default:
      return (i * 5 + rank * 17) % 128;
  }
}

static int combine(enum op_kind kind, int a, int b) {
  switch (kind) {
    case k_max:
      return a > b ? a : b;
    case k_min:
      return a < b ? a : b;
    case k_land:
      return a && b;
    case k_lor:
      return a || b;
    case k_lxor:
      return !a != !b;
    case k_band:
      return a & b;
    case k_bor:
      return a | b;
    default:
      return a ^ b;
  }
}

static void check_element(const struct basic* b, enum op_kind kind, const char* at, int i) {
  union {
    long double align;
    char bytes[32];
  } sum, next;
  if (kind != k_sum && kind != k_prod) {
    int want = input(kind, 0, i);
    if (np == 1 && b->family != f_logical) {
      CHECK(b->is(at, want));  // the result is the operand
      return;
    }
    for (int rank = 1; rank < np; ++rank) want = combine(kind, want, input(kind, rank, i));
    CHECK(b->is(at, want));
    return;
  }
  b->set(&sum, input(kind, 0, i));
  for (int rank = 1; rank < np; ++rank) {
    b->set(&next, input(kind, rank, i));
    (kind == k_sum ? b->add : b->mul)(&sum, &next);
  }
  CHECK(b->same(at, &sum));
}

// MPICH 4.0 reads at the address MPI_IN_PLACE where the root is not rank 0 and the contribution is long.
static int may_be_in_place(int root, size_t bytes) {
  return root == 0 || bytes <= 2048 || !mpich_alone();
}

static void reduce_once(const struct basic* b, enum op_kind kind, int root, int count, int in_place) {
  size_t bytes = (size_t)count * b->size;
  char *mine = guarded_new(bytes), *result = guarded_new(bytes), *data = mine;
  in_place = in_place && may_be_in_place(root, bytes);
  if (in_place && me == root) data = result;
  for (int i = 0; i < count; ++i) b->set(data + (size_t)i * b->size, input(kind, me, i));
  MPI_Reduce(in_place && me == root ? MPI_IN_PLACE : mine, result, count, b->type, op_of(kind), root,
             MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) {
    if (me == root) check_element(b, kind, result + (size_t)i * b->size, i);
    if (data == mine) CHECK(b->is(mine + (size_t)i * b->size, input(kind, me, i)));
  }
  for (size_t i = 0; i < bytes && me != root; ++i) CHECK_EQ((unsigned char)result[i], guard_value);
  GUARDED_FREE(mine, bytes);
  GUARDED_FREE(result, bytes);
}

static void every_op_and_type(void) {
  static const int counts[] = {1, 3, 64, 1000, 5000};
  struct basic basics[max_basic];
  int n = basic_types(basics), turn = 0;
  for (int kind = 0; kind < kinds; ++kind)
    for (int t = 0; t < n; ++t) {
      if (!(basics[t].family & families_of(kind))) continue;
      for (int again = 0; again < 2; ++again, ++turn)
        reduce_once(&basics[t], kind, turn % np, counts[turn % 5], turn / np % 2);
    }
}

static void every_root_and_size(void) {
  static const int counts[] = {0, 1, 2, 511, 512, 513, 4096, 8193, 65536, 1 << 19};
  struct basic basics[max_basic];
  int n = basic_types(basics), t = 0;
  while (t < n && basics[t].type != MPI_DOUBLE) ++t;
  for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c)
    for (int root = 0; root < np; ++root) reduce_once(&basics[t], k_sum, root, counts[c], (int)c % 2);
}

static void minloc_maxloc(void) {
  struct pair pairs[max_pair];
  int n = pair_types(pairs);
  for (int t = 0; t < n; ++t)
    for (int kind = 0; kind < 4; ++kind) {
      enum { count = 100 };
      struct pair* p = &pairs[t];
      int root = (t + kind) % np, in_place = kind / 2 && may_be_in_place(root, count * p->size);
      char *mine = guarded_new(count * p->size), *result = guarded_new(count * p->size);
      for (int i = 0; i < count; ++i)
        p->set((in_place && me == root ? result : mine) + (size_t)i * p->size, (i + me) % 3, 50 - me);
      MPI_Reduce(in_place && me == root ? MPI_IN_PLACE : mine, result, count, p->type,
                 kind % 2 ? MPI_MAXLOC : MPI_MINLOC, root, MPI_COMM_WORLD);
      for (int i = 0; i < count && me == root; ++i) {
        int best = i % 3, at = 50;
        for (int r = 1; r < np; ++r) {
          int v = (i + r) % 3;
          if (kind % 2 ? v > best : v < best) best = v, at = 50 - r;
          if (v == best && 50 - r < at) at = 50 - r;  // the smaller index wins a tie
        }
        CHECK(p->is(result + (size_t)i * p->size, best, at));
      }
      GUARDED_FREE(mine, count * p->size);
      GUARDED_FREE(result, count * p->size);
    }
}

// Receive buffers need not exist away from the root.
static void null_result_elsewhere(void) {
  for (int root = 0; root < np; ++root) {
    int mine = me + 1, sum = 0;
    MPI_Reduce(&mine, me == root ? &sum : NULL, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    CHECK_EQ(sum, me == root ? np * (np + 1) / 2 : 0);
    // And their description there is ignored.
    int both = me + 1;
    MPI_Request r;
    for (int again = 0; again < 2; ++again) {
      const void* from = me == root ? MPI_IN_PLACE : &mine;
      void* to = me == root ? (void*)&both : MPI_IN_PLACE;
      both = me + 1;
      if (again == 0) MPI_Reduce(from, to, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
      if (again == 1) MPI_Ireduce(from, to, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD, &r);
      if (again == 1) MPI_Wait(&r, MPI_STATUS_IGNORE);
      CHECK_EQ(both, me == root ? np * (np + 1) / 2 : me + 1);
    }
  }
}

static void back_to_back(void) {
  for (int i = 0; i < 400; ++i) {
    int mine[2] = {me + i, -i}, sum[2] = {7, 7}, root = i % np;
    MPI_Reduce(mine, sum, 2, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    if (me == root) CHECK(sum[0] == np * (np - 1) / 2 + np * i && sum[1] == -np * i);
    if (me != root) CHECK(sum[0] == 7 && sum[1] == 7);
  }
}

static void subsets(void) {
  MPI_Comm comm;
  for (int kind = 0; kind < 2; ++kind) {
    int rank, size;
    MPI_Comm_split(MPI_COMM_WORLD, kind ? 0 : me % 2, -me, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int root = 0; root < size; ++root) {
      long mine = 1L << world_rank(comm, rank), bits = 0, want = 0;
      for (int r = 0; r < size; ++r) want |= 1L << world_rank(comm, r);
      MPI_Reduce(&mine, &bits, 1, MPI_LONG, MPI_BOR, root, comm);
      CHECK_EQ(bits, rank == root ? want : 0);
    }
    MPI_Comm_free(&comm);
  }
}

static void local(void) {
  struct basic basics[max_basic];
  int n = basic_types(basics);
  char a[32 * 9], b[32 * 9];
  for (int t = 0; t < n; ++t)
    for (int kind = 0; kind < kinds; ++kind) {
      struct basic* ty = &basics[t];
      if (!(ty->family & families_of(kind)) || kind == k_sum || kind == k_prod) continue;
      for (int i = 0; i < 9; ++i) ty->set(a + (size_t)i * ty->size, input(kind, 0, i));
      for (int i = 0; i < 9; ++i) ty->set(b + (size_t)i * ty->size, input(kind, 1, i));
      MPI_Reduce_local(a, b, 9, ty->type, op_of(kind));
      for (int i = 0; i < 9; ++i)
        CHECK(ty->is(b + (size_t)i * ty->size, combine(kind, input(kind, 0, i), input(kind, 1, i))));
    }
}

CASE(reduce) {
  every_op_and_type();
  every_root_and_size();
  minloc_maxloc();
  null_result_elsewhere();
  back_to_back();
  subsets();
  local();
}
