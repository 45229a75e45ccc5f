// A large message whose data has gaps at the sender, at the receiver, or at both. Rank 0 prints the largest
// growth of a rank's memory.
#include <sys/resource.h>

#include "tests/limits/memory.h"

// Each page has a gap at its end: one long.
enum { page = 4096, pages = 32768, words = page / 8, used = words - 1, fence = -7, tag = 1 };
static long* data;
static long before;

static long peak_kib(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

static long value(size_t number, int round) {
  return (long)number * 3 + round;
}

static void clear(void) {
  for (size_t i = 0; i < (size_t)pages * words; ++i) data[i] = fence;
}
static void fill(size_t stride, int round) {
  clear();
  for (size_t i = 0; i < (size_t)pages * used; ++i) data[i / used * stride + i % used] = value(i, round);
}
static void check(size_t stride, int round) {
  for (size_t i = 0; i < (size_t)pages * used; ++i)
    CHECK_EQ(data[i / used * stride + i % used], value(i, round));
  for (size_t i = used; stride == words && i < (size_t)pages * words; i += words) CHECK_EQ(data[i], fence);
}

struct side {
  int count;
  MPI_Datatype type;
  size_t stride;  // longs from the data of one page to that of the next one
};

static void send(const struct side* from, const struct side* to, int round) {
  MPI_Status s;
  if (me == 0) {
    fill(from->stride, round);
    MPI_Send(data, from->count, from->type, 1, tag, MPI_COMM_WORLD);
  } else {
    clear();
    MPI_Recv(data, to->count, to->type, 0, tag, MPI_COMM_WORLD, &s);
    CHECK_STATUS(s, 0, tag, to->count, to->type);
    check(to->stride, round);
  }
}

int main(int argc, char** argv) {
  MPI_Datatype bare, paged, whole;
  check_start(&argc, &argv);
  CHECK_EQ(np, 2);
  MPI_Type_contiguous(used, MPI_LONG, &bare);
  MPI_Type_create_resized(bare, 0, page, &paged);
  MPI_Type_commit(&paged);
  MPI_Type_vector(pages, used, words, MPI_LONG, &whole);
  MPI_Type_commit(&whole);
  const struct side plain = {pages * used, MPI_LONG, used}, gaps = {pages, paged, words},
                    one = {1, whole, words};
  data = malloc((size_t)pages * page);
  CHECK(data != NULL);
  clear();
  MPI_Sendrecv(&argc, 1, MPI_INT, 1 - me, tag, &before, 1, MPI_INT, 1 - me, tag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  before = resident_kib();
  send(&gaps, &gaps, 1);
  send(&gaps, &plain, 2);
  send(&plain, &gaps, 3);
  // MPICH packs whole elements.
  if (!over_mpich()) send(&one, &one, 4);
  long grown = peak_kib() - before, most;
  MPI_Reduce(&grown, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  if (me == 0) printf("grew by %ld KiB\n", most);
  if (over_mpich()) send(&one, &one, 4);
  free(data);
  MPI_Type_free(&bare);
  MPI_Type_free(&paged);
  MPI_Type_free(&whole);
  return check_finish("derived");
}
