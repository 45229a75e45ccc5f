// Heat in a square plate: each rank has a block, and exchanges its four borders with its neighbours by
// MPI_Neighbor_alltoallw. halo_put.c does the same by MPI_Put. docs/questions.md compares the two.
//
// usage: halo_neighbors [POINTS [STEPS]]   points per side (default 1024), steps (default 200)

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kDown, kUp, kLeft, kRight, kSides };  // the order of a Cartesian communicator's neighbours
static const double kPi = 3.14159265358979323846;

typedef struct {
  MPI_Comm grid;
  int rows, columns;            // of this rank, without the borders that belong to its neighbours
  int first_row, first_column;  // in the plate, counted from 0
  MPI_Datatype row, column;
  MPI_Datatype types[kSides];
  MPI_Aint sent[kSides], received[kSides];  // in bytes
} block;

static size_t at(const block* b, int row, int column) {
  return (size_t)row * (size_t)(b->columns + 2) + (size_t)column;
}

static block make_block(int points) {
  block b;
  int ranks, rank, dimensions[2] = {0, 0}, place[2];
  const int periods[2] = {0, 0};
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 2, dimensions);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dimensions, periods, 0, &b.grid);
  MPI_Comm_rank(b.grid, &rank);
  MPI_Cart_coords(b.grid, rank, 2, place);
  if (points % dimensions[0] != 0 || points % dimensions[1] != 0) {
    if (rank == 0)
      fprintf(stderr, "halo_neighbors: %d x %d ranks do not divide %d points\n", dimensions[0], dimensions[1],
              points);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  b.rows = points / dimensions[0];
  b.columns = points / dimensions[1];
  b.first_row = place[0] * b.rows;
  b.first_column = place[1] * b.columns;
  MPI_Type_contiguous(b.columns, MPI_DOUBLE, &b.row);
  MPI_Type_vector(b.rows, 1, b.columns + 2, MPI_DOUBLE, &b.column);
  MPI_Type_commit(&b.row);
  MPI_Type_commit(&b.column);
  const size_t sent[kSides] = {at(&b, 1, 1), at(&b, b.rows, 1), at(&b, 1, 1), at(&b, 1, b.columns)};
  const size_t received[kSides] = {at(&b, 0, 1), at(&b, b.rows + 1, 1), at(&b, 1, 0),
                                   at(&b, 1, b.columns + 1)};
  for (int side = 0; side < kSides; ++side) {
    b.types[side] = side == kDown || side == kUp ? b.row : b.column;
    b.sent[side] = (MPI_Aint)(sent[side] * sizeof(double));
    b.received[side] = (MPI_Aint)(received[side] * sizeof(double));
  }
  return b;
}

static void exchange(const block* b, double* plane) {
  static const int counts[kSides] = {1, 1, 1, 1};
  MPI_Neighbor_alltoallw(plane, counts, b->sent, b->types, plane, counts, b->received, b->types, b->grid);
}

// Each point becomes the mean of its four neighbours.
static void relax(const block* b, const double* now, double* next) {
  const int width = b->columns + 2;
  for (int row = 1; row <= b->rows; ++row) {
    const double* const here = now + at(b, row, 0);
    double* const out = next + at(b, row, 0);
    for (int i = 1; i <= b->columns; ++i)
      out[i] = 0.25 * (here[i - 1] + here[i + 1] + here[i - width] + here[i + width]);
  }
}

// A wave that is 0 at the edge of the plate. A step multiplies it by decay().
static double wave(const block* b, int points, int row, int column) {
  return sin(3 * kPi * (b->first_row + row) / (points + 1)) *
         sin(5 * kPi * (b->first_column + column) / (points + 1));
}
static double decay(int points) {
  return 0.5 * (cos(3 * kPi / (points + 1)) + cos(5 * kPi / (points + 1)));
}

// The largest difference from the exact result after these steps, on all ranks.
static double error_after(const block* b, int points, int steps, const double* plane) {
  const double factor = pow(decay(points), steps);
  double mine = 0, all;
  for (int row = 1; row <= b->rows; ++row) {
    for (int column = 1; column <= b->columns; ++column)
      mine = fmax(mine, fabs(plane[at(b, row, column)] - factor * wave(b, points, row, column)));
  }
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, b->grid);
  return all;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int points = argc > 1 ? atoi(argv[1]) : 1024;
  const int steps = argc > 2 ? atoi(argv[2]) : 200;
  block b = make_block(points);
  const size_t all = at(&b, b.rows + 2, 0);
  double* now = calloc(all, sizeof(double));
  double* next = calloc(all, sizeof(double));
  if (now == NULL || next == NULL) MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  for (int row = 1; row <= b.rows; ++row) {
    for (int column = 1; column <= b.columns; ++column)
      now[at(&b, row, column)] = wave(&b, points, row, column);
  }
  MPI_Pcontrol(1, "steps");  // offramp replay --phase steps
  for (int step = 0; step < steps; ++step) {
    exchange(&b, now);
    relax(&b, now, next);
    double* const swapped = now;
    now = next;
    next = swapped;
  }
  MPI_Pcontrol(-1);
  const double error = error_after(&b, points, steps, now);
  int rank;
  MPI_Comm_rank(b.grid, &rank);
  if (rank == 0)
    printf("%d x %d points, %d steps, error %.1e: %s\n", points, points, steps, error,
           error < 1e-12 ? "right" : "wrong");
  free(now);
  free(next);
  MPI_Type_free(&b.row);
  MPI_Type_free(&b.column);
  MPI_Comm_free(&b.grid);
  MPI_Finalize();
  return error < 1e-12 ? EXIT_SUCCESS : EXIT_FAILURE;
}
