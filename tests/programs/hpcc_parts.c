// Benchmarks of HPC Challenge one by one, each a phase of its name (MPI_Pcontrol): those that the arguments
// name, in that order, with the input that HPCC reads anyway (hpccinf.txt). Built with the sources of HPCC
// 1.5.0 but for its main program, which scripts/scale-programs --record does; the file that is included below
// is one of them, whose functions nothing else can call.
#include "bench_lat_bw_1.5.2.c"

#define LATENCY_BYTES 8
#define BANDWIDTH_BYTES 2000000

static void ptrans(HPCC_Params *params) { PTRANS(params); }
static void hpl(HPCC_Params *params) {
  char *none[] = {"hpcc", NULL};
  HPL_main(1, none, &params->HPLrdata, &params->Failure);
}
static void random_access(HPCC_Params *params) { HPCC_MPIRandomAccess(params); }
static void random_access_lcg(HPCC_Params *params) { HPCC_MPIRandomAccess_LCG(params); }
static void fft(HPCC_Params *params) { HPCC_MPIFFT(params); }

// Latency and bandwidth, with as many turns and measurements as HPCC takes, but for fewer random rings and
// pairs that no time limits. The turns grow where they take less than ten ticks of the clock: a microsecond
// each at least.
static void rings(int random) {
  BenchmarkResult result;
  ring_lat_bw_loop(LATENCY_BYTES, 5, 64, random, &result);
  ring_lat_bw_loop(BANDWIDTH_BYTES, 2, 3, random, &result);
}
static void natural_ring(HPCC_Params *params) {
  (void)params;
  rings(0);
}
static void random_ring(HPCC_Params *params) {
  (void)params;
  rings(2);
}
static void ping_pong(HPCC_Params *params) {
  (void)params;
  const double unlimited = 1e6;
  double least = 0, average = 0, most = 0, lowest = 0, mean = 0, highest = 0;
  long long pairs = 0;
  cross_ping_pong_controlled(unlimited, BANDWIDTH_BYTES, 1, 1, &least, &average, &most, &lowest, &mean, &highest,
                             &pairs);
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*run)(HPCC_Params *params);
  } parts[] = {{"ptrans", ptrans},
               {"hpl", hpl},
               {"random_access", random_access},
               {"random_access_lcg", random_access_lcg},
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
