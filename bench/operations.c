/* One operation, many times: for measuring a simulator of MPI.
 * usage: operations send|pingpong|bcast|allreduce|alltoall BYTES COUNT [GROUP]
 * pingpong: between the ranks of each pair. bcast: from one rank after the other, so that none runs ahead.
 * GROUP: collectives run in communicators of so many ranks, all at once. Prints the processor's seconds from
 * the first rank's begin to the last one's end, without start and end of MPI and without one operation
 * before, which sets things up. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef struct {
  MPI_Comm group;
  int ranks;                   /* of the group */
  int world_rank, world_ranks; /* of MPI_COMM_WORLD */
  int bytes;
  int round;       /* of the operation */
  char *from, *to; /* a block for each rank of the group */
} Work;

/* Simulators intercept the C library's functions of time. */
static double processor_time(void) {
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void send_one(const Work* w) {
  if (w->world_rank == 0) MPI_Send(w->from, w->bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
  if (w->world_rank == 1) MPI_Recv(w->to, w->bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void pingpong(const Work* w) {
  const int peer = w->world_rank ^ 1;
  if (peer >= w->world_ranks) return;
  if (w->world_rank < peer) MPI_Send(w->from, w->bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
  MPI_Recv(w->to, w->bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (w->world_rank > peer) MPI_Send(w->from, w->bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
}

static void bcast(const Work* w) {
  MPI_Bcast(w->from, w->bytes, MPI_CHAR, w->round % w->ranks, w->group);
}

static void allreduce(const Work* w) {
  MPI_Allreduce(w->from, w->to, w->bytes / 4, MPI_INT, MPI_SUM, w->group);
}

static void alltoall(const Work* w) {
  MPI_Alltoall(w->from, w->bytes, MPI_CHAR, w->to, w->bytes, MPI_CHAR, w->group);
}

typedef void (*Operation)(const Work*);

static Operation operation_of(const char* name) {
  static const struct {
    const char* name;
    Operation run;
  } all[] = {{"send", send_one},
             {"pingpong", pingpong},
             {"bcast", bcast},
             {"allreduce", allreduce},
             {"alltoall", alltoall}};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    if (strcmp(name, all[i].name) == 0) return all[i].run;
  }
  return NULL;
}

static Work work_of(int bytes, int group) {
  Work w = {.bytes = bytes, .group = MPI_COMM_WORLD};
  MPI_Comm_rank(MPI_COMM_WORLD, &w.world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &w.world_ranks);
  if (group > 0 && group < w.world_ranks) MPI_Comm_split(MPI_COMM_WORLD, w.world_rank / group, 0, &w.group);
  MPI_Comm_size(w.group, &w.ranks);
  return w;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const Operation operation = argc >= 4 ? operation_of(argv[1]) : NULL;
  Work w = work_of(argc >= 4 ? atoi(argv[2]) : 0, argc >= 5 ? atoi(argv[4]) : 0);
  if (operation == NULL) {
    if (w.world_rank == 0)
      fputs("usage: operations send|pingpong|bcast|allreduce|alltoall BYTES COUNT [GROUP]\n", stderr);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int count = atoi(argv[3]);
  const size_t blocks = operation == alltoall ? (size_t)w.ranks : 1;
  w.from = calloc(blocks, (size_t)w.bytes + 1);
  w.to = calloc(blocks, (size_t)w.bytes + 1);
  operation(&w);
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = processor_time();
  for (w.round = 0; w.round < count; ++w.round) operation(&w);
  double end = processor_time(), first = 0, last = 0;
  MPI_Reduce(&begin, &first, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (w.world_rank == 0) printf("seconds %.9f\n", last - first);
  free(w.from);
  free(w.to);
  MPI_Finalize();
  return 0;
}
