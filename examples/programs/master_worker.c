// A master hands out tasks of unequal length to the worker that answers first, and takes their results with
// MPI_ANY_SOURCE. docs/questions.md asks which hardware suits it.
//
// usage: master_worker [TASKS [BYTES]]   tasks (default 400), bytes of a result (default 4096)

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kTaskTag = 1, kResultTag = 2, kNoTask = -1 };

static double solve(int task) {
  volatile double sum = 0;
  for (int i = 0; i < 20000 * (1 + task % 7); ++i) sum += i * 1e-9;
  return sum;
}

// Each worker begins with a result of no task.
static void hand_out(int tasks, char* result, int bytes, int workers) {
  int next = 0;
  while (workers > 0) {
    MPI_Status status;
    MPI_Recv(result, bytes, MPI_BYTE, MPI_ANY_SOURCE, kResultTag, MPI_COMM_WORLD, &status);
    const int task = next < tasks ? next++ : kNoTask;
    if (task == kNoTask) --workers;
    MPI_Send(&task, 1, MPI_INT, status.MPI_SOURCE, kTaskTag, MPI_COMM_WORLD);
  }
}

static void work(char* result, int bytes) {
  for (int size = 0;; size = bytes) {
    int task;
    MPI_Send(result, size, MPI_BYTE, 0, kResultTag, MPI_COMM_WORLD);
    MPI_Recv(&task, 1, MPI_INT, 0, kTaskTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (task == kNoTask) return;
    result[0] = (char)solve(task);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int tasks = argc > 1 ? atoi(argv[1]) : 400;
  const int bytes = argc > 2 ? atoi(argv[2]) : 4096;
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char* const result = bytes > 0 ? calloc((size_t)bytes, 1) : NULL;
  if (result == NULL) MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  if (rank == 0) {
    hand_out(tasks, result, bytes, ranks - 1);
    printf("%d tasks, %d workers\n", tasks, ranks - 1);
  } else {
    work(result, bytes);
  }
  free(result);
  MPI_Finalize();
  return EXIT_SUCCESS;
}
