// Shared by the programs of this folder: the memory of a process.
#ifndef TESTS_LIMITS_MEMORY_H
#define TESTS_LIMITS_MEMORY_H

#include <unistd.h>

#include "tests/mpi/check.h"

static inline long resident_kib(void) {
  long pages = 0, resident = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  CHECK(file && fscanf(file, "%ld %ld", &pages, &resident) == 2);
  fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

#endif
