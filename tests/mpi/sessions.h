// Shared by the programs of sessions: a communicator of all ranks from a session, and traffic on it.
#ifndef TESTS_MPI_SESSIONS_H
#define TESTS_MPI_SESSIONS_H

#include "check.h"

#if MPI_VERSION >= 4 || (defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5)
#define HAS_SESSIONS 1

// MPI_Abort needs MPI_COMM_WORLD, which may not exist.
#define NEED(cond) ((cond) ? (void)0 : need_failed(#cond, __LINE__))
static inline _Noreturn void need_failed(const char* what, int line) {
  fprintf(stderr, "FAIL line %d: %s\n", line, what);
  fflush(stderr);
  _Exit(1);
}

static inline MPI_Session open_session(void) {
  MPI_Session session;
  NEED(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
  return session;
}

static inline MPI_Comm comm_of(MPI_Session session, const char* set, const char* tag) {
  MPI_Group group;
  MPI_Comm comm;
  NEED(MPI_Group_from_session_pset(session, set, &group) == MPI_SUCCESS);
  NEED(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) == MPI_SUCCESS);
  MPI_Group_free(&group);
  return comm;
}

// A ring, a derived type, a wildcard, a reduction and a persistent request.
static inline void session_traffic(MPI_Comm comm, int mark) {
  int rank, size, sum = 0, got[8] = {0}, mine[8];
  MPI_Request r;
  MPI_Datatype strided;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int i = 0; i < 8; ++i) mine[i] = 100 * rank + mark + i;
  const int right = right_of(rank, size), left = left_of(rank, size);
  MPI_Sendrecv(mine, 8, MPI_INT, right, 1, got, 8, MPI_INT, left, 1, comm, MPI_STATUS_IGNORE);
  for (int i = 0; i < 8; ++i) NEED(got[i] == 100 * left + mark + i);
  MPI_Type_vector(4, 1, 2, MPI_INT, &strided);
  MPI_Type_commit(&strided);
  memset(got, 0, sizeof got);
  MPI_Irecv(got, 1, strided, MPI_ANY_SOURCE, 2, comm, &r);
  MPI_Send(mine, 1, strided, right, 2, comm);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  for (int i = 0; i < 7; ++i) NEED(got[i] == (i % 2 == 0 ? 100 * left + mark + i : 0));
  MPI_Type_free(&strided);
  MPI_Allreduce(&mark, &sum, 1, MPI_INT, MPI_SUM, comm);
  NEED(sum == size * mark);
  MPI_Recv_init(got, 1, MPI_INT, left, 3, comm, &r);
  for (int i = 0; i < 3; ++i) {
    MPI_Start(&r);
    MPI_Send(&mine[i], 1, MPI_INT, right, 3, comm);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    NEED(got[0] == 100 * left + mark + i);
  }
  MPI_Request_free(&r);
}

static inline void close_session(MPI_Session session, MPI_Comm comm) {
  MPI_Barrier(comm);
  MPI_Comm_free(&comm);
  NEED(MPI_Session_finalize(&session) == MPI_SUCCESS);
}

static inline int sessions_end(const char* name, int rank) {
  if (rank == 0) printf("ok %s\n", name);
  return 0;
}

#else
#define HAS_SESSIONS 0
#endif

#endif
