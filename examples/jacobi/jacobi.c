// Heat in a square plate: Jacobi's method, one strip of rows per rank. An ordinary MPI program, which knows
// nothing of Offramp. docs/tutorial.md runs it.
//
// usage: jacobi [POINTS [STEPS]]   points per side (default 256), steps at most (default 100)

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { up_tag = 1, down_tag = 2 };

typedef struct {
  int points;  // of the plate's side; the border is fixed
  int rows;    // of this rank, without the two that belong to its neighbours
  int above;   // ranks; MPI_PROC_NULL beyond the plate
  int below;
  double* now;
  double* next;
} strip;

static double* row_of(const strip* s, double* plate, int row) {
  return plate + (size_t)row * (size_t)s->points;
}

static strip make_strip(int points, int rank, int ranks) {
  strip s = {.points = points, .rows = points / ranks + (rank < points % ranks)};
  s.above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  s.below = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  const size_t all = (size_t)(s.rows + 2) * (size_t)points;
  s.now = calloc(all, sizeof(double));
  s.next = calloc(all, sizeof(double));
  if (s.now == NULL || s.next == NULL) MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  for (int row = 0; row < s.rows + 2; ++row) {  // the left border is hot
    row_of(&s, s.now, row)[0] = row_of(&s, s.next, row)[0] = 1;
  }
  return s;
}

static void exchange_borders(const strip* s) {
  MPI_Sendrecv(row_of(s, s->now, 1), s->points, MPI_DOUBLE, s->above, up_tag, row_of(s, s->now, s->rows + 1),
               s->points, MPI_DOUBLE, s->below, up_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(row_of(s, s->now, s->rows), s->points, MPI_DOUBLE, s->below, down_tag, row_of(s, s->now, 0),
               s->points, MPI_DOUBLE, s->above, down_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// Returns the largest change of a point.
static double step(strip* s) {
  double most = 0;
  const int first = s->above == MPI_PROC_NULL ? 2 : 1;
  const int last = s->below == MPI_PROC_NULL ? s->rows - 1 : s->rows;
  for (int row = first; row <= last; ++row) {
    const double* const here = row_of(s, s->now, row);
    double* const out = row_of(s, s->next, row);
    for (int i = 1; i < s->points - 1; ++i) {
      out[i] = 0.25 * (here[i - 1] + here[i + 1] + here[i - s->points] + here[i + s->points]);
      const double change = out[i] > here[i] ? out[i] - here[i] : here[i] - out[i];
      most = change > most ? change : most;
    }
  }
  double* const swapped = s->now;
  s->now = s->next;
  s->next = swapped;
  return most;
}

static double heat_of(const strip* s) {
  double heat = 0;
  for (int row = 1; row <= s->rows; ++row) {
    for (int i = 0; i < s->points; ++i) heat += row_of(s, s->now, row)[i];
  }
  return heat;
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int input[2] = {argc > 1 ? atoi(argv[1]) : 256, argc > 2 ? atoi(argv[2]) : 100};
  MPI_Bcast(input, 2, MPI_INT, 0, MPI_COMM_WORLD);
  if (input[0] < 3 * ranks || input[0] > 1 << 14) {
    if (rank == 0) fprintf(stderr, "jacobi: from %d to %d points\n", 3 * ranks, 1 << 14);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  strip s = make_strip(input[0], rank, ranks);
  const double begin = MPI_Wtime();
  int steps = 0;
  double change = 1;
  while (steps < input[1] && change > 1e-6) {
    exchange_borders(&s);
    const double mine = step(&s);
    MPI_Allreduce(&mine, &change, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    ++steps;
  }
  const double seconds = MPI_Wtime() - begin;
  const double mine = heat_of(&s);
  double* const all = malloc((size_t)ranks * sizeof *all);
  MPI_Gather(&mine, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    double heat = 0;
    for (int i = 0; i < ranks; ++i) heat += all[i];
    printf("%d x %d points, %d ranks: %d steps, last change %.6f, heat %.6f\n", s.points, s.points, ranks,
           steps, change, heat);
    printf("time of the loop: %.6f ms\n", 1e3 * seconds);
  }
  free(all);
  free(s.now);
  free(s.next);
  MPI_Finalize();
  return EXIT_SUCCESS;
}
