/* What messages and collectives of this machine take over its own MPI library: the figures that `offramp
 * calibrate` fits the host backend to. An ordinary MPI program; rank 0 prints lines "measured PLACE NAME
 * BYTES SECONDS", medians each. The place is `node`: two ranks of one node, `network`: ranks of two nodes,
 * `rank`: one rank alone, or `all` ranks together. A line "placed NODES RANKS" says how many ranks each node
 * has, in blocks of neighbours; 0 ranks if they are placed in another way.
 *
 * usage: offramp-measure SECONDS, how long to look at each figure. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBatch = 8, kWindow = 64, kFewest = 15, kMost = 20000, kLargest = 4 << 20, kBeyondCache = 64 << 20 };

static int rank, ranks;
static int peer;          /* the rank that rank 0 exchanges messages with */
static const char* place; /* of what is measured */
static double limit;      /* s */
static char* buffer;
static char* other;

typedef void (*Action)(size_t bytes);

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void print(const char* name, size_t bytes, double seconds) {
  if (rank == 0) printf("measured %s %s %zu %.9g\n", place, name, bytes, seconds);
}

/* The median over as many turns as the time allows; the same number on all ranks. The slowest rank counts. */
static double median_of(Action action, size_t bytes, int apart) {
  double* samples = malloc(kMost * sizeof *samples);
  if (samples == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  double begin = MPI_Wtime();
  for (int i = 0; i < 3; ++i) action(bytes); /* the first ones pay for connections and pages */
  double each = (MPI_Wtime() - begin) / 3;
  MPI_Bcast(&each, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  int turns = each * kMost < limit ? kMost : (int)(limit / each);
  if (turns < kFewest) turns = kFewest;
  for (int i = 0; i < turns; ++i) {
    if (apart) MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    action(bytes);
    samples[i] = MPI_Wtime() - begin;
  }
  if (apart) MPI_Allreduce(MPI_IN_PLACE, samples, turns, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  qsort(samples, (size_t)turns, sizeof *samples, by_value);
  const double median = samples[turns / 2];
  free(samples);
  return median;
}

/* --- messages, between rank 0 and its peer --- */

static void round_trip(size_t bytes) {
  if (rank != 0 && rank != peer) return;
  for (int i = 0; i < kBatch; ++i) {
    if (rank == 0) MPI_Send(buffer, (int)bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    MPI_Recv(other, (int)bytes, MPI_BYTE, rank == 0 ? peer : 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == peer) MPI_Send(buffer, (int)bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  }
}

/* A window of messages whose receives are posted, and what of it the calls alone take. */
static double posting, sending;

static void window(size_t bytes) {
  MPI_Request requests[kWindow];
  if (rank != 0 && rank != peer) return;
  double begin = MPI_Wtime();
  if (rank == peer) {
    for (int i = 0; i < kWindow; ++i)
      MPI_Irecv(other + (size_t)i * 64, (int)bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[i]);
    posting = (MPI_Wtime() - begin) / kWindow;
    MPI_Send(buffer, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
    MPI_Send(buffer, 0, MPI_BYTE, 0, 3, MPI_COMM_WORLD);
    return;
  }
  MPI_Recv(buffer, 0, MPI_BYTE, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  begin = MPI_Wtime();
  for (int i = 0; i < kWindow; ++i)
    MPI_Isend(buffer, (int)bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[i]);
  sending = (MPI_Wtime() - begin) / kWindow;
  MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
  MPI_Recv(buffer, 0, MPI_BYTE, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void measure_calls(void) {
  enum { kTurns = 201 };
  double of_posting[kTurns], of_sending[kTurns];
  for (int i = 0; i < kTurns; ++i) {
    window(8);
    of_posting[i] = posting;
    of_sending[i] = sending;
  }
  MPI_Bcast(of_posting, kTurns, MPI_DOUBLE, peer, MPI_COMM_WORLD);
  qsort(of_posting, kTurns, sizeof *of_posting, by_value);
  qsort(of_sending, kTurns, sizeof *of_sending, by_value);
  print("posting", 8, of_posting[kTurns / 2]);
  print("sending", 8, of_sending[kTurns / 2]);
}

/* Whether a send ends although there is no receive. */
static int is_eager(size_t bytes) {
  int done = 0;
  if (rank == 0) {
    MPI_Request request;
    MPI_Isend(buffer, (int)bytes, MPI_BYTE, peer, 4, MPI_COMM_WORLD, &request);
    const double begin = MPI_Wtime();
    while (!done && MPI_Wtime() - begin < 2e-3) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    MPI_Send(&done, 1, MPI_INT, peer, 5, MPI_COMM_WORLD);
    if (!done) MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (rank == peer) {
    MPI_Recv(&done, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(other, (int)bytes, MPI_BYTE, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Bcast(&done, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return done;
}

static void measure_messages(const char* where, int with) {
  place = where;
  peer = with;
  for (size_t bytes = 8; bytes <= kLargest; bytes *= bytes < 65536 ? 8 : 4)
    print("message", bytes, median_of(round_trip, bytes, 0) / (2 * kBatch));
  print("rate", 8, median_of(window, 8, 0) / kWindow);
  measure_calls();
  size_t eager = 0, beyond = kLargest;
  while (beyond - eager > eager / 64 + 1) {
    const size_t middle = eager + (beyond - eager) / 2;
    if (is_eager(middle)) {
      eager = middle;
    } else {
      beyond = middle;
    }
  }
  print("eager", eager, 0);
}

/* --- memory, of one rank alone or of all ranks of rank 0's node at once --- */

static void copy(size_t bytes) {
  if (rank == 0) memcpy(other, buffer, bytes);
}

static int shares_node; /* with rank 0 */

static void copy_at_once(size_t bytes) {
  if (shares_node) memcpy(other, buffer, bytes);
}

static void combine(size_t bytes) {
  if (rank == 0) MPI_Reduce_local(buffer, other, (int)(bytes / sizeof(double)), MPI_DOUBLE, MPI_SUM);
}

/* --- collectives, of all ranks --- */

static void bcast(size_t bytes) {
  MPI_Bcast(buffer, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void reduce(size_t bytes) {
  MPI_Reduce(buffer, other, (int)(bytes / sizeof(double)), MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void allreduce(size_t bytes) {
  MPI_Allreduce(buffer, other, (int)(bytes / sizeof(double)), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void gather(size_t bytes) {
  MPI_Gather(buffer, (int)bytes, MPI_BYTE, other, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void measure_collectives(void) {
  static const struct {
    const char* name;
    Action action;
  } kCollectives[] = {{"bcast", bcast}, {"reduce", reduce}, {"allreduce", allreduce}, {"gather", gather}};
  for (size_t i = 0; i < sizeof kCollectives / sizeof *kCollectives; ++i) {
    const int grows = kCollectives[i].action == gather;
    for (size_t bytes = 8; bytes <= 1 << 20; bytes *= bytes == 8 ? 128 : 32) {
      if (!grows || bytes * (size_t)ranks <= kBeyondCache)
        print(kCollectives[i].name, bytes, median_of(kCollectives[i].action, bytes, 1));
    }
  }
}

/* --- where the ranks are --- */

/* The first rank of the node of each rank. */
static int* find_nodes(void) {
  MPI_Comm node;
  int first = rank;
  int* nodes = malloc((size_t)ranks * sizeof *nodes);
  if (nodes == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Bcast(&first, 1, MPI_INT, 0, node);
  MPI_Allgather(&first, 1, MPI_INT, nodes, 1, MPI_INT, MPI_COMM_WORLD);
  MPI_Comm_free(&node);
  return nodes;
}

static void print_placement(const int* nodes) {
  int count = 0, per_node = 0, is_regular = 1;
  for (int i = 0; i < ranks; ++i) {
    count += nodes[i] == i;
    per_node += nodes[i] == 0;
  }
  for (int i = 0; i < ranks; ++i) is_regular = is_regular && nodes[i] == i / per_node * per_node;
  if (rank == 0) printf("placed %d %d\n", count, is_regular ? per_node : 0);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  limit = argc > 1 ? atof(argv[1]) : 0;
  buffer = calloc(1, kBeyondCache);
  other = calloc(1, kBeyondCache);
  if (ranks < 2 || limit <= 0 || buffer == NULL || other == NULL) {
    if (rank == 0) fprintf(stderr, "usage: mpirun -n RANKS offramp-measure SECONDS, with 2 ranks at least\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  int* const nodes = find_nodes();
  int neighbour = 0, distant = 0, together = 0; /* 0: there is none */
  for (int i = ranks - 1; i > 0; --i) *(nodes[i] == 0 ? &neighbour : &distant) = i;
  for (int i = 0; i < ranks; ++i) together += nodes[i] == 0;
  print_placement(nodes);
  shares_node = nodes[rank] == 0;
  free(nodes);
  if (neighbour > 0) measure_messages("node", neighbour);
  if (distant > 0) measure_messages("network", distant);
  place = "rank";
  print("copy", kBeyondCache, median_of(copy, kBeyondCache, 0));
  print("combine", kBeyondCache, median_of(combine, kBeyondCache, 0));
  place = "node";
  if (neighbour > 0)
    print("copies", (size_t)together * kBeyondCache, median_of(copy_at_once, kBeyondCache, 1));
  place = "all";
  measure_collectives();
  free(buffer);
  free(other);
  return MPI_Finalize();
}
