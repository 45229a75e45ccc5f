// Random traffic against a checker. Every rank draws the same plan for a round (all messages on all
// communicators, and the collectives beside them) and, by itself, the details of its own part: kind of send
// and receive, layout in memory, order, way of waiting. All received data is compared with the plan.
// usage: soak [--rounds N] [--seconds S] [--seed N] [--growth KIB]
//   With --seconds the memory of each process is looked at: after the first quarter it may grow by KIB at
//   most.
#include "soak.h"

#include <stdbool.h>
#include <unistd.h>

static int rounds = 40, growth = 32768;
static double seconds = 0;

// ---- point-to-point ----

enum receiving { named_first, named_after, any_first, probing, receivings };

struct plan {
  enum receiving how;
  int count;
  struct message message[most_messages];
};

static int draw_bytes(void) {
  switch (draw(&common, 12)) {
    case 0:
      return 0;
    case 8:
    case 9:
      return (int)draw(&common, 4096);
    case 10:
      return (int)draw(&common, 70000);
    case 11:
      return (int)draw(&common, draw(&common, 4) == 0 ? 1200000 : 300000);
    default:
      return (int)draw(&common, 64);
  }
}

static void draw_plan(struct plan* plan) {
  plan->how = draw(&common, receivings);
  plan->count = 1 + (int)draw(&common, np < 12 ? 6 * (unsigned)np : most_messages);
  for (int i = 0; i < plan->count; ++i) {
    struct message* m = &plan->message[i];
    m->source = (int)draw(&common, (unsigned)np);
    m->destination = (int)draw(&common, (unsigned)np);
    m->comm = (int)draw(&common, comms);
    if (m->comm == parity && m->source % 2 != m->destination % 2) m->comm = world;
    m->tag = (int)draw(&common, tags);
    const int bytes = draw_bytes();
    m->number = round_number * most_messages + i;
    // A receive from any source does not know the type that will arrive.
    m->words = plan->how < any_first && draw(&common, 2) == 0;
    m->count = m->words ? bytes / 4 : bytes;
  }
}

// A message in flight: memory, request, and the planned message.
struct transfer {
  struct piece piece;
  MPI_Request request;
  bool persistent;
  int tag;  // of a receive: MPI_ANY_TAG or one tag
  const struct message* message;
};

struct traffic {
  struct transfer send[most_messages], receive[most_messages];
  int sends, receives;
};

static void start_send(struct transfer* t, const struct message* m, bool receives_are_posted) {
  const struct piece* p = &t->piece;
  const int to = rank_in(m->comm, m->destination);
  const MPI_Comm comm = communicator[m->comm];
  t->persistent = false;
  switch (draw(&own, 6)) {
    case 0:
      MPI_Issend(p->memory, p->count, p->type, to, m->tag, comm, &t->request);
      return;
    case 1:
      if (bytes_of(m) <= longest_buffered) {
        MPI_Ibsend(p->memory, p->count, p->type, to, m->tag, comm, &t->request);
        return;
      }
      break;
    case 2:
      MPI_Send_init(p->memory, p->count, p->type, to, m->tag, comm, &t->request);
      t->persistent = true;
      MPI_Start(&t->request);
      return;
    case 3:
      if (receives_are_posted && m->destination != me) {
        MPI_Send(p->memory, p->count, p->type, to, m->tag, comm);
        t->request = MPI_REQUEST_NULL;
        return;
      }
      break;
    default:
      break;
  }
  MPI_Isend(p->memory, p->count, p->type, to, m->tag, comm, &t->request);
}

static void start_sends(struct traffic* traffic, const struct plan* plan, bool receives_are_posted) {
  traffic->sends = 0;
  for (int i = 0; i < plan->count; ++i) {
    const struct message* m = &plan->message[i];
    if (m->source != me) continue;
    struct transfer* t = &traffic->send[traffic->sends++];
    open_piece(&t->piece, m->count, m->words, draw(&own, 2) == 0);
    fill_piece(&t->piece, m);
    start_send(t, m, receives_are_posted);
  }
}

static void start_named_receives(struct traffic* traffic, const struct plan* plan) {
  for (int i = 0; i < plan->count; ++i) {
    const struct message* m = &plan->message[i];
    if (m->destination != me) continue;
    struct transfer* t = &traffic->receive[traffic->receives++];
    open_piece(&t->piece, m->count, m->words, draw(&own, 2) == 0);
    t->message = m;
    t->persistent = draw(&own, 4) == 0;
    const int from = rank_in(m->comm, m->source);
    const struct piece* p = &t->piece;
    if (t->persistent) {
      MPI_Recv_init(p->memory, p->count, p->type, from, m->tag, communicator[m->comm], &t->request);
      MPI_Start(&t->request);
    } else {
      MPI_Irecv(p->memory, p->count, p->type, from, m->tag, communicator[m->comm], &t->request);
    }
  }
}

// The number of planned messages to this rank on a communicator, of one tag or all; and the longest of them.
static int incoming(const struct plan* plan, int comm, int tag, int* longest) {
  int count = 0;
  *longest = 0;
  for (int i = 0; i < plan->count; ++i) {
    const struct message* m = &plan->message[i];
    if (m->destination != me || m->comm != comm || (tag != MPI_ANY_TAG && tag != m->tag)) continue;
    ++count;
    if (bytes_of(m) > *longest) *longest = bytes_of(m);
  }
  return count;
}

static void start_any_receives(struct traffic* traffic, const struct plan* plan, int comm, int tag) {
  int longest;
  for (int left = incoming(plan, comm, tag, &longest); left > 0; --left) {
    struct transfer* t = &traffic->receive[traffic->receives++];
    open_piece(&t->piece, longest, false, false);
    t->persistent = false;
    t->tag = tag;
    MPI_Irecv(t->piece.memory, t->piece.count, t->piece.type, MPI_ANY_SOURCE, tag, communicator[comm],
              &t->request);
  }
}

// The first planned message from that source that this rank has not received yet.
static const struct message* take(const struct plan* plan, bool* taken, int comm, int source, int tag) {
  for (int i = 0; i < plan->count; ++i) {
    const struct message* m = &plan->message[i];
    if (taken[i] || m->destination != me || m->comm != comm || rank_in(comm, m->source) != source) continue;
    if (tag != MPI_ANY_TAG && m->tag != tag) continue;
    taken[i] = true;
    return m;
  }
  check_failed("a message that was never sent", __FILE__, __LINE__);
}

static void check_received(const struct piece* piece, const struct message* m, const MPI_Status* status) {
  CHECK_STATUS(*status, rank_in(m->comm, m->source), m->tag, m->count, m->words ? MPI_INT : MPI_BYTE);
  verify_piece(piece, m);
}

// Receives with the same wildcards matched messages in the order in which both were made.
static void check_any_receives(struct traffic* traffic, const struct plan* plan, const MPI_Status* statuses,
                               const int* comm_of) {
  bool taken[most_messages] = {false};
  for (int i = 0; i < traffic->receives; ++i)
    check_received(&traffic->receive[i].piece,
                   take(plan, taken, comm_of[i], statuses[i].MPI_SOURCE, traffic->receive[i].tag),
                   &statuses[i]);
}

static void probe_and_receive(const struct plan* plan, bool* taken, int comm) {
  const MPI_Comm c = communicator[comm];
  const unsigned way = draw(&own, 4);
  MPI_Message handle = MPI_MESSAGE_NULL;
  MPI_Status found = spoiled_status(), status = spoiled_status();
  int flag = 0, bytes;
  if (way == 0) MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, c, &found);
  if (way == 1) MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, c, &handle, &found);
  while (way == 2 && !flag) MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, c, &flag, &found);
  while (way == 3 && !flag) MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, c, &flag, &handle, &found);
  MPI_Get_count(&found, MPI_BYTE, &bytes);
  struct piece piece;
  open_piece(&piece, bytes, false, false);
  if (handle != MPI_MESSAGE_NULL) {
    MPI_Mrecv(piece.memory, bytes, MPI_BYTE, &handle, &status);
  } else {
    MPI_Recv(piece.memory, bytes, MPI_BYTE, found.MPI_SOURCE, found.MPI_TAG, c, &status);
  }
  check_received(&piece, take(plan, taken, comm, found.MPI_SOURCE, MPI_ANY_TAG), &status);
  close_piece(&piece);
}

static void finish(struct transfer* transfers, int count, MPI_Status* statuses) {
  MPI_Request requests[most_messages];
  for (int i = 0; i < count; ++i) requests[i] = transfers[i].request;
  wait_for_all(requests, count, statuses);
  for (int i = 0; i < count; ++i) {
    if (transfers[i].persistent) MPI_Request_free(&requests[i]);
    CHECK(requests[i] == MPI_REQUEST_NULL);
  }
}

static void exchange(const struct plan* plan) {
  static struct traffic traffic;
  static MPI_Status statuses[most_messages];
  int comm_of[most_messages], longest;
  bool taken[most_messages] = {false};
  traffic.receives = 0;
  if (plan->how == named_first) start_named_receives(&traffic, plan);
  if (plan->how == any_first) {
    for (int comm = 0; comm < comms; ++comm) {
      const int before = traffic.receives;
      const bool by_tag = draw(&own, 2) == 0;
      if (!by_tag) start_any_receives(&traffic, plan, comm, MPI_ANY_TAG);
      for (int tag = 0; by_tag && tag < tags; ++tag) start_any_receives(&traffic, plan, comm, tag);
      for (int i = before; i < traffic.receives; ++i) comm_of[i] = comm;
    }
  }
  start_sends(&traffic, plan, plan->how == named_first || plan->how == any_first);
  if (plan->how == named_after) start_named_receives(&traffic, plan);
  if (plan->how == probing) {
    for (int comm = 0; comm < comms; ++comm)
      for (int left = incoming(plan, comm, MPI_ANY_TAG, &longest); left > 0; --left)
        probe_and_receive(plan, taken, comm);
  }
  finish(traffic.receive, traffic.receives, statuses);
  if (plan->how == any_first) check_any_receives(&traffic, plan, statuses, comm_of);
  for (int i = 0; i < traffic.receives; ++i) {
    if (plan->how < any_first)
      check_received(&traffic.receive[i].piece, traffic.receive[i].message, &statuses[i]);
    close_piece(&traffic.receive[i].piece);
  }
  finish(traffic.send, traffic.sends, statuses);
  for (int i = 0; i < traffic.sends; ++i) close_piece(&traffic.send[i].piece);
  // The next round's messages must not meet receives that take anything.
  if (plan->how >= any_first) MPI_Barrier(MPI_COMM_WORLD);
}

// ---- the whole ----

static long resident_kib(void) {
  long pages = 0, resident = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL);
  CHECK_EQ(fscanf(file, "%ld %ld", &pages, &resident), 2);
  fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void one_round(void) {
  static struct plan plan;
  struct collective beside[most_collectives];
  draw_plan(&plan);
  const int collectives = (int)draw(&common, most_collectives + 1);
  for (int i = 0; i < collectives; ++i) {
    draw_collective(&beside[i]);
    start_collective(&beside[i]);
  }
  exchange(&plan);
  for (int i = 0; i < collectives; ++i) finish_collective(&beside[i]);
  if (draw(&common, 8) == 0) {
    MPI_Comm_free(&communicator[copy]);
    MPI_Comm_dup(MPI_COMM_WORLD, &communicator[copy]);
  }
}

static bool goes_on(double begun) {
  int more = seconds > 0 ? MPI_Wtime() - begun < seconds : round_number < rounds;
  if (seconds > 0) MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return more;
}

int main(int argc, char** argv) {
  uint64_t seed = 1;
  check_start(&argc, &argv);
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--rounds") == 0) rounds = atoi(argv[i + 1]);
    if (strcmp(argv[i], "--seconds") == 0) seconds = atof(argv[i + 1]);
    if (strcmp(argv[i], "--seed") == 0) seed = strtoull(argv[i + 1], NULL, 10);
    if (strcmp(argv[i], "--growth") == 0) growth = atoi(argv[i + 1]);
  }
  common = pattern_seed(0, 0, (int)seed) | 1;
  own = pattern_seed(me + 1, 0, (int)seed) | 1;
  open_communicators();
  const double begun = MPI_Wtime();
  long early = 0;
  for (round_number = 0; goes_on(begun); ++round_number) {
    one_round();
    if (early == 0 && seconds > 0 && MPI_Wtime() - begun > seconds / 4) early = resident_kib();
  }
  long grown = early > 0 ? resident_kib() - early : 0, most = 0;
  close_communicators();
  MPI_Reduce(&grown, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  if (me == 0)
    printf("%d rounds, seed %llu; memory grew by %ld KiB\n", round_number, (unsigned long long)seed, most);
  if (me == 0) CHECK(most <= growth);
  return check_finish("soak");
}
