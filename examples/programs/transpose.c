// Fourier transforms of the rows of a square matrix, then of its columns: each rank has a strip of rows, and
// MPI_Alltoall transposes the matrix in between. docs/questions.md asks which hardware suits it.
//
// usage: transpose [POINTS [TURNS]]   points per side, a power of two (default 512), turns (default 4)

#include <complex.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

// In place, radix 2, unnormalised.
static void transform(double complex* x, int points) {
  for (int i = 1, j = 0; i < points; ++i) {
    int bit = points >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      const double complex swapped = x[i];
      x[i] = x[j];
      x[j] = swapped;
    }
  }
  for (int length = 2; length <= points; length <<= 1) {
    const double complex root = cexp(-2 * acos(-1) * I / length);
    for (int begin = 0; begin < points; begin += length) {
      double complex factor = 1;
      for (int k = begin; k < begin + length / 2; ++k) {
        const double complex even = x[k], odd = x[k + length / 2] * factor;
        x[k] = even + odd;
        x[k + length / 2] = even - odd;
        factor *= root;
      }
    }
  }
}

// rows: of this rank. The blocks for one rank are packed behind each other in `packed`.
static void transpose(double complex* strip, double complex* packed, int points, int rows) {
  const int block = rows * rows;
  for (int peer = 0; peer < points / rows; ++peer) {
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < rows; ++column)
        packed[peer * block + column * rows + row] = strip[row * points + peer * rows + column];
    }
  }
  MPI_Alltoall(packed, block, MPI_C_DOUBLE_COMPLEX, strip, block, MPI_C_DOUBLE_COMPLEX, MPI_COMM_WORLD);
  for (int i = 0; i < points * rows; ++i) packed[i] = strip[i];
  for (int peer = 0; peer < points / rows; ++peer) {
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < rows; ++column)
        strip[row * points + peer * rows + column] = packed[peer * block + row * rows + column];
    }
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int points = argc > 1 ? atoi(argv[1]) : 512;
  const int turns = argc > 2 ? atoi(argv[2]) : 4;
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int rows = points / ranks;
  if (rows < 1 || points % ranks != 0 || (points & (points - 1)) != 0) {
    if (rank == 0) fprintf(stderr, "transpose: the points are a power of two and a multiple of the ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const size_t all = (size_t)points * (size_t)rows;
  double complex* const strip = malloc(all * sizeof *strip);
  double complex* const packed = malloc(all * sizeof *packed);
  if (strip == NULL || packed == NULL) MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  for (size_t i = 0; i < all; ++i) strip[i] = (double)((i * 7 + (size_t)rank) % 13);
  for (int turn = 0; turn < turns; ++turn) {
    MPI_Pcontrol(1, "rows");
    for (int row = 0; row < rows; ++row) transform(strip + (size_t)row * (size_t)points, points);
    MPI_Pcontrol(-1, "rows");
    MPI_Pcontrol(2, "transpose");
    transpose(strip, packed, points, rows);
    MPI_Pcontrol(-2, "transpose");
    for (int row = 0; row < rows; ++row) transform(strip + (size_t)row * (size_t)points, points);
    for (size_t i = 0; i < all; ++i) strip[i] /= points;
  }
  double mine = cabs(strip[0]), sum = 0;
  MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%d x %d points, %d turns, sum of the strips' first points %.6f\n", points, points, turns, sum);
  free(strip);
  free(packed);
  MPI_Finalize();
  return EXIT_SUCCESS;
}
