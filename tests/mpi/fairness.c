// Every message makes progress although its receiver computes, polls elsewhere, or is flooded by others.
// Ranks: at least 3.
#include <stdbool.h>
#include <time.h>

#include "check.h"

enum { small = 1000, large = 3000000, go = 3, answer = 4, flood = 5, stop = 6, pings = 40 };

static char *out, *in;

// Sleeps by the system's clock, without MPI: MPI_Wtime may be a modelled one.
static void compute(double seconds) {
  struct timespec begin, now;
  timespec_get(&begin, TIME_UTC);
  do {
    timespec_get(&now, TIME_UTC);
  } while ((double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) < seconds);
}

// Rank 1 computes, and only rarely polls for its messages. Messages between the others make progress, small
// messages to rank 1 complete without it, and large ones arrive.
static void computing_receiver(void) {
  MPI_Request request;
  if (me == 1) {
    MPI_Irecv(in, large, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request);
    for (int done = 0; !done; MPI_Test(&request, &done, MPI_STATUS_IGNORE)) compute(0.005);
    VERIFY(in, large, 0, 1, 1);
    compute(0.05);
    MPI_Recv(in, small, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    VERIFY(in, small, 0, 1, 2);
    return;
  }
  if (me == 0) {
    fill_pattern(out, large, 0, 1, 1);
    MPI_Ssend(out, large, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    fill_pattern(out, small, 0, 1, 2);
    MPI_Send(out, small, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
  }
  if (np < 3) return;
  const int peer = me == 0 ? np - 1 : 0;
  if (me != peer && (me == 0 || me == np - 1)) {
    fill_pattern(out, large, me, peer, 7);
    MPI_Sendrecv(out, large, MPI_BYTE, peer, 7, in, large, MPI_BYTE, peer, 7, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    VERIFY(in, large, peer, me, 7);
  }
}

// One poll of something unrelated to the large message; true when rank 0 has sent go.
enum looking { iprobe, improbe, test, testany, testsome, get_status, lookings };

static bool look(enum looking how, MPI_Comm other, MPI_Request* request, MPI_Message* message) {
  int flag = 0, index, indices[1];
  switch (how) {
    case iprobe:
      MPI_Iprobe(0, go, other, &flag, MPI_STATUS_IGNORE);
      break;
    case improbe:
      MPI_Improbe(0, go, other, &flag, message, MPI_STATUS_IGNORE);
      break;
    case test:
      MPI_Test(request, &flag, MPI_STATUS_IGNORE);
      break;
    case testany:
      MPI_Testany(1, request, &index, &flag, MPI_STATUS_IGNORE);
      break;
    case testsome:
      MPI_Testsome(1, request, &flag, indices, MPI_STATUSES_IGNORE);
      break;
    default:
      MPI_Request_get_status(*request, &flag, MPI_STATUS_IGNORE);
  }
  return flag != 0;
}

// Rank 1 polls one communicator only; rank 0 sends go there once its large message on another one is
// received.
static void polls_another_communicator(void) {
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  for (enum looking how = 0; how < lookings; ++how) {
    if (me == 0) {
      fill_pattern(out, large, 0, 1, (int)how);
      MPI_Ssend(out, large, MPI_BYTE, 1, (int)how, MPI_COMM_WORLD);
      MPI_Send(&np, 1, MPI_INT, 1, go, other);
    }
    if (me == 1) {
      MPI_Request first, second = MPI_REQUEST_NULL;
      MPI_Message message = MPI_MESSAGE_NULL;
      int word = 0;
      const bool probes = how == iprobe || how == improbe;
      MPI_Irecv(in, large, MPI_BYTE, 0, (int)how, MPI_COMM_WORLD, &first);
      if (!probes) MPI_Irecv(&word, 1, MPI_INT, 0, go, other, &second);
      while (!look(how, other, &second, &message)) continue;
      if (how == iprobe) MPI_Recv(&word, 1, MPI_INT, 0, go, other, MPI_STATUS_IGNORE);
      if (how == improbe) MPI_Mrecv(&word, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
      MPI_Wait(&second, MPI_STATUS_IGNORE);
      CHECK_EQ(word, np);
      MPI_Wait(&first, MPI_STATUS_IGNORE);
      VERIFY(in, large, 0, 1, (int)how);
    }
  }
  MPI_Comm_free(&other);
}

// Rank 1 calls only one-sided operations until rank 0 writes into its window, once its large message is
// received. Since Open MPI 5.0 one-sided operations through shared memory do not call its progress engine:
// the message waits for ever natively, too.
static void one_sided_load(void) {
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5
  return;
#endif
  MPI_Win window;
  MPI_Request request;
  long* memory;
  long one = 1, seen = 0;
  MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  *memory = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  if (me == 0) {
    fill_pattern(out, large, 0, 1, 9);
    MPI_Ssend(out, large, MPI_BYTE, 1, 9, MPI_COMM_WORLD);
    MPI_Accumulate(&one, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM, window);
    MPI_Win_flush(1, window);
  }
  if (me == 1) {
    MPI_Irecv(in, large, MPI_BYTE, 0, 9, MPI_COMM_WORLD, &request);
    while (seen == 0) {
      MPI_Fetch_and_op(NULL, &seen, MPI_LONG, 1, 0, MPI_NO_OP, window);
      MPI_Win_flush(1, window);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    VERIFY(in, large, 0, 1, 9);
  }
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

// All ranks flood rank 0 until it sends stop, after the last rank has got all its answers, one after the
// other. Rank 0 receives from any rank, or from the last rank alone.
static void flooded(bool anybody) {
  const int last = np - 1;
  int word = 0, got = 0, flag = 0;
  if (me == 0) {
    while (got < pings) {
      MPI_Status status;
      MPI_Recv(&word, 1, MPI_INT, anybody ? MPI_ANY_SOURCE : last, anybody ? MPI_ANY_TAG : answer,
               MPI_COMM_WORLD, &status);
      if (status.MPI_TAG == flood) continue;
      CHECK_EQ(word, got++);
      MPI_Send(&word, 1, MPI_INT, last, answer, MPI_COMM_WORLD);
    }
    for (int rank = 1; rank < last; ++rank) MPI_Send(&word, 1, MPI_INT, rank, stop, MPI_COMM_WORLD);
    for (int left = np - 2; left > 0;) {  // each rank's last message is also a stop
      MPI_Status status;
      MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      if (status.MPI_TAG == stop) --left;
    }
  } else if (me == last) {
    for (int i = 0; i < pings; ++i) {
      MPI_Send(&i, 1, MPI_INT, 0, answer, MPI_COMM_WORLD);
      MPI_Recv(&word, 1, MPI_INT, 0, answer, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK_EQ(word, i);
    }
  } else {
    while (!flag) {
      MPI_Send(&me, 1, MPI_INT, 0, flood, MPI_COMM_WORLD);
      MPI_Iprobe(0, stop, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Recv(&word, 1, MPI_INT, 0, stop, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&me, 1, MPI_INT, 0, stop, MPI_COMM_WORLD);
  }
}

CASE(fairness) {
  out = malloc(large);
  in = malloc(large);
  CHECK(out != NULL && in != NULL && np > 1);
  computing_receiver();
  polls_another_communicator();
  one_sided_load();
  flooded(true);
  MPI_Barrier(MPI_COMM_WORLD);
  flooded(false);
  free(out);
  free(in);
}
