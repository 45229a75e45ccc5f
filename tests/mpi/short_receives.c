// Messages that fill only the first part of a receive's derived type. The memory after it must stay
// untouched: here it is a page that cannot be read.
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

// Blocks of 4, 1, 2, 3, 1, 2, 3 ... integers, six apart: elements of a long type.
enum { blocks = 64, apart = 6, most = 4 + 2 * blocks, tag = 5, fence = -7 };

static MPI_Datatype far_type;
static int place[most];  // of each integer of the type
static int ints;
static char* page;  // that can be read; the next one cannot
static long page_bytes;

static void make_type(void) {
  int lengths[blocks], places[blocks];
  for (int i = 0; i < blocks; ++i) {
    lengths[i] = i == 0 ? 4 : i % 3 + 1;
    places[i] = apart * i;
    for (int j = 0; j < lengths[i] && ints < most; ++j) place[ints++] = places[i] + j;
  }
  MPI_Type_indexed(blocks, lengths, places, MPI_INT, &far_type);
  MPI_Type_commit(&far_type);
}

// The address for a receive of `count` integers: the last one ends at the fence.
static int* room_for(int count) {
  int* const ends = (int*)(page + page_bytes);
  for (int* at = (int*)page; at < ends; ++at) *at = fence;
  return count > 0 ? ends - place[count - 1] - 1 : ends;
}

static void check_room(const int* room, int count, int from) {
  int next = 0;
  for (int at = 0; count > 0 && at <= place[count - 1]; ++at) {
    const int arrived = at == place[next];
    CHECK_EQ(room[at], arrived ? 1000 * from + next : fence);
    next += arrived;
  }
  for (const int* at = (const int*)page; count > 0 && at < room; ++at) CHECK_EQ(*at, fence);
}

// Receives in one of the ways.
static void receive(int way, int* room, const int* sent, int count) {
  const int from = left_of(me, np), to = right_of(me, np);
  const MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Request r, s = MPI_REQUEST_NULL;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  int got = -1, found = 0;
  if (way == 0) {
    MPI_Irecv(room, 1, far_type, from, tag, comm, &r);
    MPI_Send(sent, count, MPI_INT, to, tag, comm);
    MPI_Wait(&r, &status);
  } else if (way == 1) {
    MPI_Sendrecv(sent, count, MPI_INT, to, tag, room, 1, far_type, from, tag, comm, &status);
  } else if (way == 2) {
    MPI_Recv_init(room, 1, far_type, from, tag, comm, &r);
    MPI_Start(&r);
    MPI_Send(sent, count, MPI_INT, to, tag, comm);
    MPI_Wait(&r, &status);
    MPI_Request_free(&r);
  } else {
    MPI_Isend(sent, count, MPI_INT, to, tag, comm, &s);
    if (way == 3) {
      MPI_Recv(room, 1, far_type, MPI_ANY_SOURCE, tag, comm, &status);
    } else if (way == 4) {
      MPI_Mprobe(from, tag, comm, &message, &status);
      MPI_Mrecv(room, 1, far_type, &message, &status);
    } else if (way == 5) {
      while (!found) MPI_Improbe(from, tag, comm, &found, &message, &status);
      MPI_Imrecv(room, 1, far_type, &message, &r);
      MPI_Wait(&r, &status);
#if MPI_VERSION >= 4 && (!defined(OPEN_MPI) || OMPI_MAJOR_VERSION >= 6)
    } else if (way == 6) {
      MPI_Recv_c(room, 1, far_type, from, tag, comm, &status);
#endif
    } else {
      MPI_Probe(from, tag, comm, &status);
      MPI_Recv(room, 1, far_type, from, tag, comm, &status);
    }
    MPI_Wait(&s, MPI_STATUS_IGNORE);
  }
  MPI_Get_elements(&status, far_type, &got);
  CHECK_EQ(got, count);
}

CASE(short_receives) {
  int sent[most];
  ints = 0;
  make_type();
  page_bytes = sysconf(_SC_PAGESIZE);
  page = mmap(NULL, 2 * (size_t)page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED);
  mprotect(page + page_bytes, (size_t)page_bytes, PROT_NONE);
  for (int i = 0; i < most; ++i) sent[i] = 1000 * me + i;
  for (int way = 0; way < 8; ++way) {
    for (int count = 0; count <= ints; count += count < 12 ? 1 : 23) {
      int* const room = room_for(count);
      receive(way, room, sent, count);
      check_room(room, count, left_of(me, np));
    }
  }
  munmap(page, 2 * (size_t)page_bytes);
  MPI_Type_free(&far_type);
}
