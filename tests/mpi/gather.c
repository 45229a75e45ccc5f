// MPI_Gather: every root, sizes from 0 to 4 MiB per rank, every predefined datatype, MPI_IN_PLACE, derived
// types that differ between the ends, unused arguments away from the root, sub-communicators, many in a row.
#include "types.h"

static void bytes_to(MPI_Comm comm, int root, int bytes, int in_place, int round) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  size_t total = (size_t)bytes * (size_t)size;
  char *mine = guarded_new((size_t)bytes), *all = rank == root ? guarded_new(total) : NULL;
  fill_pattern(mine, (size_t)bytes, rank, root, round);
  if (rank == root && in_place) {
    memcpy(all + (size_t)rank * (size_t)bytes, mine, (size_t)bytes);
    MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, bytes, MPI_BYTE, root, comm);
  } else if (rank == root) {
    MPI_Gather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, root, comm);
  } else {
    MPI_Gather(mine, bytes, MPI_BYTE, NULL, 0, MPI_DATATYPE_NULL, root, comm);
  }
  VERIFY(mine, (size_t)bytes, rank, root, round);
  GUARDED_FREE(mine, (size_t)bytes);
  if (rank != root) return;
  for (int r = 0; r < size; ++r) VERIFY(all + (size_t)r * (size_t)bytes, (size_t)bytes, r, root, round);
  GUARDED_FREE(all, total);
}

static void every_size(MPI_Comm comm) {
  static const int sizes[] = {0,    1,    3,     8,     100,    1000,    1024,   4095,
                              4097, 6000, 16384, 65536, 100001, 1 << 20, 4 << 20};
  int size;
  MPI_Comm_size(comm, &size);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
    for (int root = 0; root < size; ++root) bytes_to(comm, root, sizes[i], ((int)i + root) % 2, (int)i);
}

static void every_type(void) {
  struct basic basics[max_basic];
  int n = basic_types(basics);
  for (int t = 0; t < n; ++t) {
    struct basic* b = &basics[t];
    int root = t % np, count = t % 2 ? 3 : 2000, total = count * np;
    char *mine = guarded_new((size_t)count * b->size), *all = guarded_new((size_t)total * b->size);
    for (int i = 0; i < count; ++i) b->set(mine + (size_t)i * b->size, (i + me * 13) % 101);
    MPI_Gather(mine, count, b->type, all, count, b->type, root, MPI_COMM_WORLD);
    for (int i = 0; i < total; ++i) {
      const char* at = all + (size_t)i * b->size;
      if (me == root) CHECK(b->is(at, (i % count + i / count * 13) % 101));
      if (me != root) CHECK_EQ((unsigned char)*at, guard_value);
    }
    GUARDED_FREE(mine, (size_t)count * b->size);
    GUARDED_FREE(all, (size_t)total * b->size);
  }
}

// Each rank sends a column of its block; the root stores the received elements with gaps.
static void derived(int n) {
  MPI_Datatype column, spaced;
  int* block = malloc((size_t)n * 4 * sizeof *block);
  MPI_Type_vector(n, 1, 4, MPI_INT, &column);
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spaced);
  MPI_Type_commit(&column);
  MPI_Type_commit(&spaced);
  for (int i = 0; i < 4 * n; ++i) block[i] = me * 1000000 + i;
  for (int root = 0; root < np; ++root) {
    size_t bytes = (size_t)np * (size_t)n * 2 * sizeof(int);
    int* all = guarded_new(bytes);
    memset(all, 0, bytes);
    MPI_Gather(block + 1, 1, column, all, n, spaced, root, MPI_COMM_WORLD);
    for (int i = 0; i < np * n && me == root; ++i) {
      CHECK_EQ(all[2 * i], i / n * 1000000 + i % n * 4 + 1);
      CHECK_EQ(all[2 * i + 1], 0);
    }
    GUARDED_FREE(all, bytes);
  }
  MPI_Type_free(&column);
  MPI_Type_free(&spaced);
  free(block);
}

// The root receives whole triples, the others send single ints, and one rank uses a type of its own.
static void different_types(void) {
  MPI_Datatype triple;
  MPI_Type_contiguous(3, MPI_INT, &triple);
  MPI_Type_commit(&triple);
  for (int root = 0; root < np; ++root) {
    int mine[6] = {me, 1, 2, 3, 4, me + 5};
    int* all = calloc((size_t)np * 6, sizeof *all);
    if (me % 2)
      MPI_Gather(mine, 6, MPI_INT, all, 2, triple, root, MPI_COMM_WORLD);
    else
      MPI_Gather(mine, 2, triple, all, 6, MPI_INT, root, MPI_COMM_WORLD);
    for (int r = 0; r < np && me == root; ++r) {
      CHECK(all[6 * r] == r && all[6 * r + 1] == 1 && all[6 * r + 4] == 4 && all[6 * r + 5] == r + 5);
    }
    free(all);
  }
  MPI_Type_free(&triple);
}

// Equal signatures from different constructors: pairs of ints, and a struct with an empty block of doubles.
static void same_signature(void) {
  MPI_Datatype half_empty, word;
  MPI_Type_create_struct(2, (int[]){1, 0}, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE},
                         &half_empty);
  MPI_Type_create_resized(half_empty, 0, sizeof(int), &word);
  MPI_Type_commit(&word);
  for (int root = 0; root < np; ++root) {
    int mine[2] = {me, me + 1};
    int* all = malloc((size_t)np * 2 * sizeof *all);
    for (int pair = 0; pair < 2; ++pair) {
      memset(all, -1, (size_t)np * 2 * sizeof *all);
      const MPI_Datatype other = pair ? MPI_2INT : word;
      const int count = pair ? 1 : 2;
      if (me == root)
        MPI_Gather(mine, count, other, all, count, other, root, MPI_COMM_WORLD);
      else
        MPI_Gather(mine, 2, MPI_INT, all, 2, MPI_INT, root, MPI_COMM_WORLD);
      for (int r = 0; r < np && me == root; ++r) CHECK(all[2 * r] == r && all[2 * r + 1] == r + 1);
    }
    // Empty messages.
    MPI_Gather(mine, 0, me == root ? MPI_DOUBLE : MPI_INT, all, 0, MPI_DOUBLE, root, MPI_COMM_WORLD);
    free(all);
  }
  MPI_Type_free(&word);
  MPI_Type_free(&half_empty);
}

static void back_to_back(void) {
  int* all = malloc((size_t)np * sizeof *all);
  for (int i = 0; i < 400; ++i) {
    int mine = me * 1000 + i, root = i % np;
    MPI_Gather(&mine, 1, MPI_INT, all, 1, MPI_INT, root, MPI_COMM_WORLD);
    for (int r = 0; r < np && me == root; ++r) CHECK_EQ(all[r], r * 1000 + i);
  }
  for (int i = 0; i < 200; ++i) {  // other ranks may be ahead of the root
    int mine = me * 1000 - i;
    MPI_Gather(&mine, 1, MPI_INT, all, 1, MPI_INT, np - 1, MPI_COMM_WORLD);
    for (int r = 0; r < np && me == np - 1; ++r) CHECK_EQ(all[r], r * 1000 - i);
  }
  free(all);
}

static void subsets(void) {
  MPI_Comm half, reversed;
  MPI_Comm_split(MPI_COMM_WORLD, me % 2, 0, &half);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &reversed);
  every_size(half);
  for (int root = 0; root < np; ++root) bytes_to(reversed, root, 3000, root % 2, 60);
  bytes_to(MPI_COMM_SELF, 0, 3000, 0, 61);
  MPI_Comm_free(&half);
  MPI_Comm_free(&reversed);
}

CASE(gather) {
  every_size(MPI_COMM_WORLD);
  every_type();
  derived(1);
  derived(50);
  derived(30000);
  different_types();
  same_signature();
  back_to_back();
  subsets();
}
