// A stencil in two dimensions: each rank has a block of the plane, exchanges its four borders with its
// neighbours and computes; then all ranks agree on the largest change. docs/questions.md asks which hardware
// suits it.
//
// usage: halo [POINTS [STEPS]]   points per side (default 512), steps (default 100)

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kLeft, kRight, kDown, kUp, kSides };

typedef struct {
  MPI_Comm grid;
  int rows, columns;  // of this rank, without the borders that belong to its neighbours
  int peers[kSides];
  MPI_Datatype column;
} block;

static double* at(const block* b, double* plane, int row, int column) {
  return plane + (size_t)row * (size_t)(b->columns + 2) + (size_t)column;
}

static block make_block(int points) {
  block b;
  int ranks, dimensions[2] = {0, 0};
  const int periods[2] = {0, 0};
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 2, dimensions);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dimensions, periods, 0, &b.grid);
  MPI_Cart_shift(b.grid, 0, 1, &b.peers[kDown], &b.peers[kUp]);
  MPI_Cart_shift(b.grid, 1, 1, &b.peers[kLeft], &b.peers[kRight]);
  b.rows = points / dimensions[0];
  b.columns = points / dimensions[1];
  MPI_Type_vector(b.rows, 1, b.columns + 2, MPI_DOUBLE, &b.column);
  MPI_Type_commit(&b.column);
  return b;
}

// The tag is the side on which the receiver has its border.
static void exchange(const block* b, double* plane) {
  MPI_Request requests[2 * kSides];
  MPI_Irecv(at(b, plane, 1, 0), 1, b->column, b->peers[kLeft], kLeft, b->grid, &requests[0]);
  MPI_Irecv(at(b, plane, 1, b->columns + 1), 1, b->column, b->peers[kRight], kRight, b->grid, &requests[1]);
  MPI_Irecv(at(b, plane, 0, 1), b->columns, MPI_DOUBLE, b->peers[kDown], kDown, b->grid, &requests[2]);
  MPI_Irecv(at(b, plane, b->rows + 1, 1), b->columns, MPI_DOUBLE, b->peers[kUp], kUp, b->grid, &requests[3]);
  MPI_Isend(at(b, plane, 1, 1), 1, b->column, b->peers[kLeft], kRight, b->grid, &requests[4]);
  MPI_Isend(at(b, plane, 1, b->columns), 1, b->column, b->peers[kRight], kLeft, b->grid, &requests[5]);
  MPI_Isend(at(b, plane, 1, 1), b->columns, MPI_DOUBLE, b->peers[kDown], kUp, b->grid, &requests[6]);
  MPI_Isend(at(b, plane, b->rows, 1), b->columns, MPI_DOUBLE, b->peers[kUp], kDown, b->grid, &requests[7]);
  MPI_Waitall(2 * kSides, requests, MPI_STATUSES_IGNORE);
}

// Returns the largest change of a point of this rank.
static double relax(const block* b, double* now, double* next) {
  double most = 0;
  for (int row = 1; row <= b->rows; ++row) {
    for (int column = 1; column <= b->columns; ++column) {
      const double mean = 0.25 * (*at(b, now, row - 1, column) + *at(b, now, row + 1, column) +
                                  *at(b, now, row, column - 1) + *at(b, now, row, column + 1));
      most = fmax(most, fabs(mean - *at(b, now, row, column)));
      *at(b, next, row, column) = mean;
    }
  }
  return most;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int points = argc > 1 ? atoi(argv[1]) : 512;
  const int steps = argc > 2 ? atoi(argv[2]) : 100;
  block b = make_block(points);
  const size_t all = (size_t)(b.rows + 2) * (size_t)(b.columns + 2);
  double* now = calloc(all, sizeof(double));
  double* next = calloc(all, sizeof(double));
  if (now == NULL || next == NULL || b.rows < 1 || b.columns < 1) MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  if (b.peers[kDown] == MPI_PROC_NULL) {  // one border of the plane is hot
    for (int column = 0; column < b.columns + 2; ++column)
      *at(&b, now, 0, column) = *at(&b, next, 0, column) = 1;
  }
  double change = 0;
  for (int step = 0; step < steps; ++step) {
    exchange(&b, now);
    const double mine = relax(&b, now, next);
    MPI_Allreduce(&mine, &change, 1, MPI_DOUBLE, MPI_MAX, b.grid);
    double* const swapped = now;
    now = next;
    next = swapped;
  }
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("%d x %d points, %d steps, last change %.6f\n", points, points, steps, change);
  free(now);
  free(next);
  MPI_Type_free(&b.column);
  MPI_Comm_free(&b.grid);
  MPI_Finalize();
  return EXIT_SUCCESS;
}
