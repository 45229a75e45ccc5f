// Persistent collectives match by the order of their _init calls: each rank starts them in an order of its
// own, with other collectives between the starts.
#include "check.h"
#include "persistent_names.h"

enum { kinds = 6, rounds = 12 };

typedef struct {
  int same[2], token, sum, largest, mine;
  int *all, *counts, *places;
  MPI_Request r[kinds];
} collectives;

static void init(collectives* c, MPI_Comm comm) {
  const MPI_Info no = MPI_INFO_NULL;
  c->all = malloc(3 * (size_t)np * sizeof(int));
  c->counts = c->all + np;
  c->places = c->counts + np;
  for (int i = 0; i < np; ++i) c->counts[i] = 1, c->places[i] = i;
  MPI_Bcast_init(&c->same[0], 1, MPI_INT, 0, comm, no, &c->r[0]);
  MPI_Bcast_init(&c->same[1], 1, MPI_INT, 0, comm, no, &c->r[1]);
  MPI_Barrier_init(comm, no, &c->r[2]);
  MPI_Allreduce_init(&c->mine, &c->sum, 1, MPI_INT, MPI_SUM, comm, no, &c->r[3]);
#if MPI_VERSION >= 4 && (!defined(OPEN_MPI) || OMPI_MAJOR_VERSION >= 6)
  MPI_Allreduce_init_c(&c->mine, &c->largest, 1, MPI_INT, MPI_MAX, comm, no, &c->r[4]);
#else
  MPI_Allreduce_init(&c->mine, &c->largest, 1, MPI_INT, MPI_MAX, comm, no, &c->r[4]);
#endif
  MPI_Allgatherv_init(&c->mine, 1, MPI_INT, c->all, c->counts, c->places, MPI_INT, comm, no, &c->r[5]);
}

static void fill(collectives* c, int seed) {
  for (int i = 0; i < 2; ++i) c->same[i] = me == 0 ? seed + 10 + i : -1;
  c->sum = c->largest = -1;
  c->mine = seed + me;
  for (int i = 0; i < np; ++i) c->all[i] = -1;
}

static void check(const collectives* c, int seed) {
  CHECK_EQ(c->same[0], seed + 10);
  CHECK_EQ(c->same[1], seed + 11);
  CHECK_EQ(c->sum, np * seed + np * (np - 1) / 2);
  CHECK_EQ(c->largest, seed + np - 1);
  for (int i = 0; i < np; ++i) CHECK_EQ(c->all[i], seed + i);
}

static void end(collectives* c) {
  for (int k = 0; k < kinds; ++k) MPI_Request_free(&c->r[k]);
  free(c->all);
}

// The k-th of them that this rank starts.
static int turn(int k, int round) {
  return (k * (me % 2 != 0 ? kinds - 1 : 1) + me + round) % kinds;
}

CASE(persistent_order) {
  const MPI_Comm world = MPI_COMM_WORLD;
  MPI_Comm other;
  collectives a, b;
  init(&a, world);
  MPI_Comm_dup(world, &other);
  init(&b, other);
  // Requests keep their communicator. Open MPI 4.1 itself crashes when they are started then.
  const int freed_early = offramp_carries();
  if (freed_early) MPI_Comm_free(&other);
  for (int round = 0; round < rounds; ++round) {
    MPI_Request shuffled[kinds], others[2];
    int between[2] = {-1, -1}, got[2], after;
    fill(&a, 1000 * round);
    fill(&b, 1000 * round + 500);
    for (int k = 0; k < kinds; ++k) {
      const int now = turn(k, round);
      if (k == me % kinds) {
        between[0] = round;
        MPI_Iallreduce(&between[0], &got[0], 1, MPI_INT, MPI_SUM, world, &others[0]);
      }
      MPI_Start(&a.r[now]);
      if (k == kinds - 1) {
        between[1] = me == 0 ? 77 : -1;
        MPI_Ibcast(&between[1], 1, MPI_INT, 0, world, &others[1]);
      }
    }
    for (int k = 0; k < kinds; ++k) shuffled[k] = b.r[turn(k, round)];
    MPI_Startall(kinds, shuffled);
    MPI_Allreduce(&me, &after, 1, MPI_INT, MPI_MAX, world);  // stays open beside all of them
    CHECK_EQ(after, np - 1);
    MPI_Waitall(2, others, MPI_STATUSES_IGNORE);
    MPI_Waitall(kinds, shuffled, MPI_STATUSES_IGNORE);
    for (int k = 0; k < kinds; ++k) MPI_Wait(&a.r[turn(k, round)], MPI_STATUS_IGNORE);
    CHECK_EQ(got[0], np * round);
    CHECK_EQ(between[1], 77);
    check(&a, 1000 * round);
    check(&b, 1000 * round + 500);
  }
  end(&a);
  end(&b);
  if (!freed_early) MPI_Comm_free(&other);
}
