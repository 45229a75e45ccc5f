// A two-dimensional transform spread over the ranks, compared with a transform by one process. Transposed
// output, and back again: every step has an all-to-all of FFTW's own.
//
// usage: fftw [ROWS COLUMNS TIMES]
#include <fftw3-mpi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double noise(ptrdiff_t i, ptrdiff_t j) {
  return sin(0.37 * (double)(i * 131 + j * 17)) + (double)((i * 7 + j * 3) % 11);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  fftw_mpi_init();
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const ptrdiff_t n0 = argc == 4 ? atol(argv[1]) : 96;
  const ptrdiff_t n1 = argc == 4 ? atol(argv[2]) : 80;
  const int times = argc == 4 ? atoi(argv[3]) : 20;
  if (n0 <= 0 || n1 <= 0 || times <= 0) MPI_Abort(MPI_COMM_WORLD, 2);
  ptrdiff_t rows, first, columns, first_column;
  const ptrdiff_t room =
      fftw_mpi_local_size_2d_transposed(n0, n1, MPI_COMM_WORLD, &rows, &first, &columns, &first_column);
  fftw_complex* part = fftw_alloc_complex((size_t)room);
  fftw_complex* whole = fftw_alloc_complex((size_t)(n0 * n1));
  fftw_plan forward = fftw_mpi_plan_dft_2d(n0, n1, part, part, MPI_COMM_WORLD, FFTW_FORWARD,
                                           FFTW_ESTIMATE | FFTW_MPI_TRANSPOSED_OUT);
  fftw_plan backward = fftw_mpi_plan_dft_2d(n0, n1, part, part, MPI_COMM_WORLD, FFTW_BACKWARD,
                                            FFTW_ESTIMATE | FFTW_MPI_TRANSPOSED_IN);
  fftw_plan serial = fftw_plan_dft_2d((int)n0, (int)n1, whole, whole, FFTW_FORWARD, FFTW_ESTIMATE);
  for (ptrdiff_t i = 0; i < n0; ++i) {
    for (ptrdiff_t j = 0; j < n1; ++j) {
      whole[i * n1 + j][0] = noise(i, j);
      whole[i * n1 + j][1] = -noise(j, i);
    }
  }
  for (ptrdiff_t i = 0; i < rows; ++i) {
    for (ptrdiff_t j = 0; j < n1; ++j) {
      part[i * n1 + j][0] = noise(first + i, j);
      part[i * n1 + j][1] = -noise(j, first + i);
    }
  }
  fftw_execute(forward);
  fftw_execute(serial);
  double worst[2] = {0, 0}, all[2];
  for (ptrdiff_t j = 0; j < columns; ++j) {
    for (ptrdiff_t i = 0; i < n0; ++i) {
      const fftw_complex* want = &whole[i * n1 + first_column + j];
      worst[0] =
          fmax(worst[0], fabs(part[j * n0 + i][0] - (*want)[0]) + fabs(part[j * n0 + i][1] - (*want)[1]));
    }
  }
  for (int k = 0; k < times; ++k) {
    fftw_execute(backward);
    for (ptrdiff_t i = 0; i < rows * n1; ++i) {
      part[i][0] /= (double)(n0 * n1);
      part[i][1] /= (double)(n0 * n1);
    }
    if (k < times - 1) fftw_execute(forward);
  }
  for (ptrdiff_t i = 0; i < rows; ++i)
    for (ptrdiff_t j = 0; j < n1; ++j)
      worst[1] = fmax(worst[1], fabs(part[i * n1 + j][0] - noise(first + i, j)));
  MPI_Allreduce(worst, all, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0)
    printf("fftw spectrum %s, back again %s\n", all[0] < 1e-8 ? "right" : "wrong",
           all[1] < 1e-10 ? "right" : "wrong");
  fftw_destroy_plan(forward);
  fftw_destroy_plan(backward);
  fftw_destroy_plan(serial);
  fftw_free(part);
  fftw_free(whole);
  fftw_mpi_cleanup();
  MPI_Finalize();
  return all[0] < 1e-8 && all[1] < 1e-10 ? 0 : 1;
}
