// Processes beside the ranks that keep the cores busy, and end with the process that started them.
#ifndef TESTS_MPI_BUSY_H
#define TESTS_MPI_BUSY_H

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kMostBusy = 8 };

static pid_t busy[kMostBusy];
static int busy_count;

// Three for every core, at most eight.
static inline void keep_cores_busy(void) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  busy_count = cores > 2 ? kMostBusy : (int)(3 * cores);
  pid_t parent = getpid();
  for (int i = 0; i < busy_count; ++i) {
    busy[i] = fork();
    if (busy[i] < 0) {
      busy_count = i;
      return;
    }
    if (busy[i] > 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (volatile unsigned long turns = 0; getppid() == parent; turns = turns + 1) {
    }
    _exit(0);
  }
}

static inline void end_busy(void) {
  for (int i = 0; i < busy_count; ++i) kill(busy[i], SIGKILL);
  for (int i = 0; i < busy_count; ++i) waitpid(busy[i], NULL, 0);
}

#endif
