// A program that drops privileges after MPI_Init: the kernel copies nothing more between its processes.
// Messages of all sizes still arrive, whole and in pieces, also into pages that the program has protected to
// detect writes.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/mpi/check.h"

enum { largest = 24 << 20 };

static volatile sig_atomic_t writes;
static char* guarded;

static void allow_write(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  char* const page = (char*)((uintptr_t)info->si_addr & ~(uintptr_t)4095);
  if (page < guarded || page >= guarded + largest || mprotect(page, 4096, PROT_READ | PROT_WRITE) != 0)
    _exit(3);
  writes = writes + 1;
}

static void exchange(char* out, char* in, int bytes, MPI_Datatype type, int count, size_t extent) {
  fill_pattern(out, extent, me, right_of(me, np), bytes);
  MPI_Sendrecv(out, count, type, right_of(me, np), 1, in, count, type, left_of(me, np), 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

static void exchange_all(char* out, char* in) {
  const int sizes[] = {100, 9000, 100000, 4 << 20};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    exchange(out, in, sizes[i], MPI_BYTE, sizes[i], (size_t)sizes[i]);
    VERIFY(in, (size_t)sizes[i], left_of(me, np), me, sizes[i]);
    MPI_Bcast(in, sizes[i], MPI_BYTE, 0, MPI_COMM_WORLD);
    long mine = me + 1, sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQ(sum, (long)np * (np + 1) / 2);
  }
  // With gaps, and large enough to be packed in pieces.
  MPI_Datatype gaps;
  MPI_Type_vector(largest / 4096, 3000, 4096, MPI_BYTE, &gaps);
  MPI_Type_commit(&gaps);
  exchange(out, in, 7, gaps, 1, largest);
  char* const expected = malloc(largest);
  fill_pattern(expected, largest, left_of(me, np), me, 7);
  for (int block = 0; block < largest / 4096; ++block)
    CHECK(memcmp(in + 4096 * block, expected + 4096 * block, 3000) == 0);
  free(expected);
  MPI_Type_free(&gaps);
}

int main(int argc, char** argv) {
  const struct sock_filter program[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
                                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
                                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const struct sock_fprog filter = {sizeof program / sizeof *program, (struct sock_filter*)program};
  struct sigaction action = {.sa_sigaction = allow_write, .sa_flags = SA_SIGINFO};
  check_start(&argc, &argv);
  char* const out = malloc(largest);
  guarded = mmap(NULL, largest, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(out != NULL && guarded != MAP_FAILED);
  sigaction(SIGSEGV, &action, NULL);
  exchange_all(out, guarded);
  CHECK(writes > 0);
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
  exchange_all(out, guarded);
  return check_finish("refused_copies");
}
