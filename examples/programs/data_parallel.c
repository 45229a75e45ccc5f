// A step of data-parallel training: the gradients of one layer after the other, from the last to the first.
// While the next layer is computed, MPI_Iallreduce sums the bucket of the last one over all ranks.
// docs/questions.md asks which hardware suits it.
//
// usage: data_parallel [LAYERS [FLOATS [STEPS]]]   layers (default 8), floats of a bucket (default 262144),
// steps (default 3)

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kPasses = 4 };

static void backward(float* gradient, int count) {
  for (int pass = 0; pass < kPasses; ++pass) {
    for (int i = 0; i < count; ++i) gradient[i] = gradient[i] * 0.5F + 1;
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int layers = argc > 1 ? atoi(argv[1]) : 8;
  const int count = argc > 2 ? atoi(argv[2]) : 262144;
  const int steps = argc > 3 ? atoi(argv[3]) : 3;
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (layers < 1 || count < 1) MPI_Abort(MPI_COMM_WORLD, 2);
  float* const gradients = calloc((size_t)layers * (size_t)count, sizeof(float));
  MPI_Request* const requests = malloc((size_t)layers * sizeof *requests);
  if (gradients == NULL || requests == NULL) MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  float rate = 0.5F;
  MPI_Bcast(&rate, 1, MPI_FLOAT, 0, MPI_COMM_WORLD);
  for (int step = 0; step < steps; ++step) {
    for (int layer = layers - 1; layer >= 0; --layer) {
      float* const bucket = gradients + (size_t)layer * (size_t)count;
      backward(bucket, count);
      MPI_Iallreduce(MPI_IN_PLACE, bucket, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &requests[layer]);
    }
    MPI_Waitall(layers, requests, MPI_STATUSES_IGNORE);
    for (size_t i = 0; i < (size_t)layers * (size_t)count; ++i) gradients[i] *= rate / (float)ranks;
  }
  if (rank == 0)
    printf("%d layers of %d floats, %d steps, first gradient %.6f\n", layers, count, steps, gradients[0]);
  free(gradients);
  free(requests);
  MPI_Finalize();
  return EXIT_SUCCESS;
}
