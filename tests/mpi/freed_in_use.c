// Handles freed while operations still need their objects: operations and types of reductions, communicators
// of persistent requests and of matched messages, types of persistent collectives. New objects reuse the
// freed handles unless references are kept.
#include <sched.h>

#include "check.h"
#include "persistent_names.h"

enum { rounds = 20, words = 4 };

static int words_of(int count, MPI_Datatype type) {
  MPI_Count bytes;
  MPI_Type_size_x(type, &bytes);
  return count * (int)(bytes / (MPI_Count)sizeof(int));
}

static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  for (int i = 0; i < words_of(*count, *type); ++i) ((int*)inout)[i] += ((int*)in)[i];
}

static void spoil(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)in;
  for (int i = 0; i < words_of(*count, *type); ++i) ((int*)inout)[i] = -1000;
}

/// An operation and a type of the program, both freed before the end.
static void reductions(int free_type) {
  for (int round = 0; round < rounds; ++round) {
    const int in[words] = {me, 1, 2, 3};
    int out[words] = {0};
    MPI_Op op, next_op;
    MPI_Datatype type, next_type;
    MPI_Request r;
    MPI_Op_create(add, 1, &op);
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 1000 && me == 0 && round % 4 == 0; ++i) sched_yield();  // the others are still in it
    MPI_Iallreduce(in, out, words / 2, type, op, MPI_COMM_WORLD, &r);
    if (free_type) {
      MPI_Type_free(&type);
      MPI_Type_contiguous(1, MPI_INT, &next_type);
      MPI_Type_commit(&next_type);
    } else {
      MPI_Op_free(&op);
      MPI_Op_create(spoil, 1, &next_op);
    }
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Type_free(free_type ? &next_type : &type);
    MPI_Op_free(free_type ? &op : &next_op);
    CHECK_EQ(out[0], np * (np - 1) / 2);
    for (int i = 1; i < words; ++i) CHECK_EQ(out[i], i * np);
  }
}

/// Persistent requests work after their communicator's handle is freed.
static void persistent(void) {
  MPI_Comm comm, next[3];
  MPI_Request r[2];
  int in, out;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Send_init(&out, 1, MPI_INT, right_of(me, np), 3, comm, &r[0]);
  MPI_Recv_init(&in, 1, MPI_INT, left_of(me, np), 3, comm, &r[1]);
  MPI_Comm_free(&comm);
  for (int i = 0; i < 3; ++i) MPI_Comm_dup(MPI_COMM_SELF, &next[i]);
  for (int round = 0; round < rounds; ++round) {
    out = 100 * me + round;
    in = -1;
    MPI_Startall(2, r);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    CHECK_EQ(in, 100 * left_of(me, np) + round);
  }
  for (int i = 0; i < 2; ++i) MPI_Request_free(&r[i]);
  for (int i = 0; i < 3; ++i) MPI_Comm_free(&next[i]);
}

/// Each start needs the type, and the next type must not be taken for it.
static void types_of_persistent_collectives(void) {
  if (mpich_alone()) SKIP("persistent collectives of MPICH 4.0 do not work");
  for (int round = 0; round < rounds; ++round) {
    int in[words];
    char gaps[2 * words], expected[2 * words] = "a.a.a.a";
    MPI_Datatype whole, other;
    MPI_Request r;
    for (int i = 0; i < words; ++i) in[i] = me == 0 ? i : -1;
    MPI_Type_contiguous(words, MPI_INT, &whole);
    MPI_Type_commit(&whole);
    MPI_Bcast_init(in, 1, whole, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
    MPI_Type_free(&whole);
    MPI_Start(&r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Request_free(&r);
    for (int i = 0; i < words; ++i) CHECK_EQ(in[i], i);

    MPI_Type_vector(words, 1, 2, MPI_CHAR, &other);
    MPI_Type_commit(&other);
    strcpy(gaps, me == 0 ? "aaaaaaa" : ".......");
    MPI_Bcast(gaps, 1, other, 0, MPI_COMM_WORLD);
    CHECK(strcmp(gaps, me == 0 ? "aaaaaaa" : expected) == 0);
    MPI_Type_free(&other);
  }
}

/// A receive of a matched message raises its error on the communicator that was freed meanwhile.
static void matched_messages(void) {
  if (!offramp_carries()) return;  // the libraries do not retain it either
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm comm, next[3];
    MPI_Message message;
    MPI_Request r;
    int in[2] = {-1, -1}, out[2] = {me, round};
    const int fits = round % 2;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Send(out, 2, MPI_INT, right_of(me, np), 4, comm);
    MPI_Mprobe(left_of(me, np), 4, comm, &message, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
    for (int i = 0; i < 3; ++i) MPI_Comm_dup(MPI_COMM_SELF, &next[i]);
    int code = MPI_SUCCESS, kind = MPI_SUCCESS;
    if (round % 4 < 2) {
      code = MPI_Mrecv(in, 1 + fits, MPI_INT, &message, MPI_STATUS_IGNORE);
    } else {
      MPI_Imrecv(in, 1 + fits, MPI_INT, &message, &r);
      code = MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Error_class(code, &kind);
    CHECK_EQ(kind, fits ? MPI_SUCCESS : MPI_ERR_TRUNCATE);
    CHECK_EQ(in[0], left_of(me, np));
    CHECK_EQ(in[1], fits ? round : -1);
    for (int i = 0; i < 3; ++i) MPI_Comm_free(&next[i]);
  }
}

CASE(freed_in_use) {
  check_tolerated[left_comm] +=
      1;  // Open MPI: of the last request that failed after its communicator was freed
  reductions(0);
  reductions(1);
  persistent();
  types_of_persistent_collectives();
  matched_messages();
}
