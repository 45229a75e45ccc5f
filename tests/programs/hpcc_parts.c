// Benchmarks of HPC Challenge one by one, each in a phase of its name (MPI_Pcontrol): those that the
// arguments name, in that order, with HPCC's usual input (hpccinf.txt). scripts/scale-programs --record
// builds it with the sources of HPCC 1.5.0 except for its main program; it includes one of them below, for
// its static functions.
#include "bench_lat_bw_1.5.2.c"

#define LATENCY_BYTES 8
#define BANDWIDTH_BYTES 2000000

static void ptrans(HPCC_Params* params) {
  PTRANS(params);
}
static void hpl(HPCC_Params* params) {
  char* none[] = {"hpcc", NULL};
  HPL_main(1, none, &params->HPLrdata, &params->Failure);
}
static void random_access(HPCC_Params* params) {
  HPCC_MPIRandomAccess(params);
}
static void fft(HPCC_Params* params) {
  HPCC_MPIFFT(params);
}

// HPCC takes 8 turns with LATENCY_BYTES, and more if they take less than ten microseconds; here the first 8
// are enough. Of its random rings, and of the measurements of each, it uses the first ones.
static void natural_ring(HPCC_Params* params) {
  (void)params;
  BenchmarkResult result;
  ring_lat_bw_loop(LATENCY_BYTES, 2, 64, 0, &result);
  ring_lat_bw_loop(BANDWIDTH_BYTES, 2, 3, 0, &result);
}
static void random_ring(HPCC_Params* params) {
  (void)params;
  BenchmarkResult result;
  ring_lat_bw_loop(BANDWIDTH_BYTES, 1, 3, 3, &result);
}

// Each rank with each other one: HPCC uses as many pairs as it has time for.
static void ping_pong(HPCC_Params* params) {
  (void)params;
  const double unlimited = 1e6;
  double least = 0, average = 0, most = 0, lowest = 0, mean = 0, highest = 0;
  long long pairs = 0;
  cross_ping_pong_controlled(unlimited, BANDWIDTH_BYTES, 1, 1, &least, &average, &most, &lowest, &mean,
                             &highest, &pairs);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(HPCC_Params* params);
  } parts[] = {{"ptrans", ptrans},
               {"hpl", hpl},
               {"random_access", random_access},
               {"fft", fft},
               {"natural_ring", natural_ring},
               {"random_ring", random_ring},
               {"ping_pong", ping_pong}};
  MPI_Init(&argc, &argv);
  static HPCC_Params params;
  if (HPCC_Init(&params)) MPI_Abort(MPI_COMM_WORLD, 1);
  OutFile = stderr;
  wtick = 1e-6;
  for (int argument = 1; argument < argc; ++argument) {
    size_t part = 0;
    while (part < sizeof parts / sizeof *parts && strcmp(parts[part].name, argv[argument]) != 0) ++part;
    if (part == sizeof parts / sizeof *parts) MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(1, parts[part].name);
    parts[part].run(&params);
    MPI_Pcontrol(-1);
  }
  HPCC_Finalize(&params);
  MPI_Finalize();
  return 0;
}
