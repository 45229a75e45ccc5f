// A program that does little but small collectives: sums and broadcasts of 8 to 100 bytes with a little
// arithmetic between, as iterative solvers and minimisers make them by the hundred thousand. With more ranks
// than cores it shows the cost of a wait, and how soon a rank that others wait for gets its core.
//
// usage: small_calls [iterations]; four calls each. Prints the calls of a rank, and for each of them the wall
// time and the CPU time of all ranks together.
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { kCallsPerIteration = 4, kMost = 12 };

static double wall_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double cpu_now(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

// The work between an iteration's calls: about a microsecond.
static double arithmetic(double x) {
  for (int i = 0; i < 50; ++i) x = 0.5 * (x + (x > 1e-9 ? 2.0 / x : 1.0));
  return x;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const long iterations = argc > 1 ? atol(argv[1]) : 10000;
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  double step[kMost];
  for (int k = 0; k < kMost; ++k) step[k] = 1.0 + k;
  double mine = 1.0 + rank;
  double sum = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double wall = wall_now();
  const double cpu = cpu_now();
  for (long i = 0; i < iterations; ++i) {
    mine = arithmetic(mine);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    step[i % kMost] = sum / ranks;
    MPI_Bcast(step, kMost, MPI_DOUBLE, (int)(i % ranks), MPI_COMM_WORLD);
    double sums[3] = {mine, step[0], step[1]};
    double all[3];
    MPI_Allreduce(sums, all, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    mine = arithmetic(all[0] / ranks);
    MPI_Bcast(&mine, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  }
  double took[2] = {0, cpu_now() - cpu};
  MPI_Barrier(MPI_COMM_WORLD);
  took[0] = wall_now() - wall;
  double used = 0;
  MPI_Reduce(&took[1], &used, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  const double calls = (double)(iterations * kCallsPerIteration);
  if (rank == 0) {
    printf("%.0f calls of %d ranks: %.3f us wall, %.3f us CPU each; mean %.6f\n", calls, ranks,
           1e6 * took[0] / calls, 1e6 * used / calls, mine);
    if (fabs(mine - sqrt(2.0)) > 1e-6) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
