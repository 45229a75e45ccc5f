// Dynamic processes beside ordinary traffic: spawn, accept and connect, join. In each case rank 0 is in a
// call that returns only after rank 1 has received a large message of rank 0, so the call itself has to send
// it. Traffic to the new processes, also on the merged communicator, and disconnecting.
#include <fcntl.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "check.h"

enum { bytes = 8 << 20, tag_large = 1, tag_text = 2 };

static char* buf;
static MPI_Request large;

// Rank 0 calls this before it blocks, rank 1 before it releases rank 0.
static void begin_large(int mark) {
  fill_pattern(buf, bytes, 0, 1, mark);
  MPI_Isend(buf, bytes, MPI_BYTE, 1, tag_large, MPI_COMM_WORLD, &large);
}
static void end_large(void) {
  MPI_Wait(&large, MPI_STATUS_IGNORE);
}
static void take_large(int mark) {
  memset(buf, 0, 4096);
  MPI_Recv(buf, bytes, MPI_BYTE, 0, tag_large, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  VERIFY(buf, bytes, 0, 1, mark);
}

// Both sides of a new intercommunicator of one process each.
static void talk(MPI_Comm inter, int high) {
  MPI_Comm whole;
  MPI_Request r;
  MPI_Status s;
  int out = 11 + high, in = -1, sum = -1, rank;
  MPI_Sendrecv(&out, 1, MPI_INT, 0, 7, &in, 1, MPI_INT, 0, 7, inter, &s);
  CHECK_STATUS(s, 0, 7, 1, MPI_INT);
  CHECK_EQ(in, 12 - high);
  MPI_Allreduce(&out, &sum, 1, MPI_INT, MPI_SUM, inter);
  CHECK_EQ(sum, 12 - high);
  MPI_Intercomm_merge(inter, high, &whole);
  MPI_Comm_rank(whole, &rank);
  CHECK_EQ(rank, high);
  in = -1;
  MPI_Irecv(&in, 1, MPI_INT, 1 - rank, 8, whole, &r);
  MPI_Send(&out, 1, MPI_INT, 1 - rank, 8, whole);
  MPI_Wait(&r, &s);
  CHECK_STATUS(s, 1 - rank, 8, 1, MPI_INT);
  CHECK_EQ(in, 12 - high);
  MPI_Allreduce(&out, &sum, 1, MPI_INT, MPI_SUM, whole);
  CHECK_EQ(sum, 23);
  MPI_Barrier(whole);
  MPI_Comm_free(&whole);
}

static void wait_for(const char* path) {
  for (int i = 0; access(path, F_OK) != 0; ++i) {
    CHECK(i < 60000);
    usleep(1000);
  }
}

// The child starts MPI when rank 1 has the message: until then rank 0 is inside MPI_Comm_spawn.
static void spawn(char* self) {
  char flag[64];
  snprintf(flag, sizeof flag, "/tmp/dynamic_processes.%d", (int)getpid());
  MPI_Bcast(flag, sizeof flag, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (me == 0) {
    MPI_Comm inter;
    int code = -1;
    char* arguments[] = {"child", flag, NULL};
    begin_large(1);
    MPI_Comm_spawn(self, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter, &code);
    CHECK_EQ(code, MPI_SUCCESS);
    end_large();
    talk(inter, 0);
    begin_large(2);
    MPI_Send(NULL, 0, MPI_BYTE, 0, 9, inter);
    MPI_Comm_disconnect(&inter);
    end_large();
    unlink(flag);
  } else if (me == 1) {
    int file;
    take_large(1);
    file = open(flag, O_CREAT | O_WRONLY, 0600);
    CHECK(file >= 0);
    close(file);
    take_large(2);
  }
}

static int child(int* argc, char*** argv) {
  MPI_Comm parent;
  wait_for((*argv)[2]);
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &np);
  CHECK(me == 0 && np == 1);
  MPI_Comm_get_parent(&parent);
  CHECK(parent != MPI_COMM_NULL);
  talk(parent, 1);
  MPI_Recv(NULL, 0, MPI_BYTE, 0, 9, parent, MPI_STATUS_IGNORE);
  MPI_Comm_disconnect(&parent);
  MPI_Finalize();
  return 0;
}

// Rank 0 accepts and rank 1 connects, then the other way round; rank 0 blocks first.
static void connect_and_accept(int zero_accepts) {
  char port[MPI_MAX_PORT_NAME];
  MPI_Comm inter;
  int accepts = (me == 0) == zero_accepts;
  if (me > 1) return;
  if (accepts) {
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, 1 - me, tag_text, MPI_COMM_WORLD);
  } else {
    MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 1 - me, tag_text, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (me == 0) begin_large(3);
  if (me == 1) take_large(3);
  if (accepts) {
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
  } else {
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
  }
  if (me == 0) end_large();
  talk(inter, me);
  MPI_Comm_disconnect(&inter);
  if (accepts) MPI_Close_port(port);
}

static void join(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  socklen_t length;
  int at, fd = -1;
  MPI_Comm inter;
  // An abstract name: no file is left behind.
  snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "dynamic_processes.%d", (int)getpid());
  MPI_Bcast(&address, sizeof address, MPI_BYTE, 0, MPI_COMM_WORLD);
  if (me > 1) return;
  length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(address.sun_path + 1));
  at = socket(AF_UNIX, SOCK_STREAM, 0);
  CHECK(at >= 0);
  if (me == 0) {
    CHECK_EQ(bind(at, (struct sockaddr*)&address, length), 0);
    CHECK_EQ(listen(at, 1), 0);
    MPI_Send(NULL, 0, MPI_BYTE, 1, tag_text, MPI_COMM_WORLD);
    fd = accept(at, NULL, NULL);
    CHECK(fd >= 0);
    begin_large(4);
  } else {
    MPI_Recv(NULL, 0, MPI_BYTE, 0, tag_text, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(connect(at, (struct sockaddr*)&address, length), 0);
    fd = at;
    take_large(4);
  }
  MPI_Comm_join(fd, &inter);
  CHECK(inter != MPI_COMM_NULL);
  if (me == 0) end_large();
  talk(inter, me);
  MPI_Comm_disconnect(&inter);
  close(fd);
  if (me == 0) close(at);
}

// MPICH 4.0 over UCX has none: there MPI_Open_port, MPI_Comm_spawn and MPI_Comm_join fail.
static int has_dynamic_processes(void) {
  char port[MPI_MAX_PORT_NAME];
  if (!over_mpich()) return 1;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int works = MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS;
  if (works) MPI_Close_port(port);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  return works;
}

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "child") == 0) return child(&argc, &argv);
  check_start(&argc, &argv);
  if (np < 2) return check_skip("dynamic_processes", "needs two ranks");
  if (!has_dynamic_processes()) return check_skip("dynamic_processes", "MPI_Open_port fails");
  buf = malloc(bytes);
  spawn(argv[0]);
  comm_traffic(MPI_COMM_WORLD, 1);
  connect_and_accept(1);
  connect_and_accept(0);
  join();
  comm_traffic(MPI_COMM_WORLD, 2);
  free(buf);
  return check_finish("dynamic_processes");
}
