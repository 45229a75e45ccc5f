// The benchmark of one collective. CMake builds it with each loop (BENCH_LOOP) and operation
// (BENCH_OPERATION). "Size" is that of a message or of one rank's block; for reduce_scatter it is the whole
// vector.
#include "collective.h"

int main(int argc, char** argv) {
  return BENCH_LOOP(argc, argv, &BENCH_OPERATION);
}
