// Heat in a square plate: each rank has a block, and writes its four borders into its neighbours' memory by
// MPI_Put. halo_neighbors.c does the same by MPI_Neighbor_alltoallw. docs/questions.md compares the two.
//
// usage: halo_put [POINTS [STEPS]]   points per side (default 1024), steps (default 200)

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kDown, kUp, kLeft, kRight, kSides };
static const double kPi = 3.14159265358979323846;

typedef struct {
  MPI_Comm grid;
  int rows, columns;            // of this rank, without the borders that belong to its neighbours
  int first_row, first_column;  // in the plate, counted from 0
  MPI_Datatype row, column;
  int peers[kSides];
  MPI_Datatype types[kSides];
  size_t from[kSides], to[kSides];  // a border here, and its place at the neighbour
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
      fprintf(stderr, "halo_put: %d x %d ranks do not divide %d points\n", dimensions[0], dimensions[1],
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
  MPI_Cart_shift(b.grid, 0, 1, &b.peers[kDown], &b.peers[kUp]);
  MPI_Cart_shift(b.grid, 1, 1, &b.peers[kLeft], &b.peers[kRight]);
  const size_t from[kSides] = {at(&b, 1, 1), at(&b, b.rows, 1), at(&b, 1, 1), at(&b, 1, b.columns)};
  const size_t to[kSides] = {at(&b, b.rows + 1, 1), at(&b, 0, 1), at(&b, 1, b.columns + 1), at(&b, 1, 0)};
  for (int side = 0; side < kSides; ++side) {
    b.types[side] = side == kDown || side == kUp ? b.row : b.column;
    b.from[side] = from[side];
    b.to[side] = to[side];
  }
  return b;
}

// offset: of the plane in the window. The two planes alternate, so one fence for each step is enough: the
// neighbours write into a plane while this rank reads the other one.
static void exchange(const block* b, const double* plane, size_t offset, MPI_Win window) {
  for (int side = 0; side < kSides; ++side)
    MPI_Put(plane + b->from[side], 1, b->types[side], b->peers[side], (MPI_Aint)(offset + b->to[side]), 1,
            b->types[side], window);
  MPI_Win_fence(0, window);
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
  double* planes;
  MPI_Win window;
  MPI_Win_allocate((MPI_Aint)(2 * all * sizeof(double)), sizeof(double), MPI_INFO_NULL, b.grid, &planes,
                   &window);
  for (size_t i = 0; i < 2 * all; ++i) planes[i] = 0;
  double* now = planes;
  double* next = planes + all;
  for (int row = 1; row <= b.rows; ++row) {
    for (int column = 1; column <= b.columns; ++column)
      now[at(&b, row, column)] = wave(&b, points, row, column);
  }
  MPI_Win_fence(0, window);
  MPI_Pcontrol(1, "steps");  // offramp replay --phase steps
  for (int step = 0; step < steps; ++step) {
    exchange(&b, now, (size_t)(now - planes), window);
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
  MPI_Win_free(&window);
  MPI_Type_free(&b.row);
  MPI_Type_free(&b.column);
  MPI_Comm_free(&b.grid);
  MPI_Finalize();
  return error < 1e-12 ? EXIT_SUCCESS : EXIT_FAILURE;
}
