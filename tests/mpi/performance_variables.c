// The performance variables of MPI_T: each can be found by name, has one index, and can be read and released;
// the list only grows. tests/suites/reports.py checks the variables that Offramp adds.
#include "check.h"

static int count_variables(void) {
  int count = -1;
  CHECK_EQ(MPI_T_pvar_get_num(&count), MPI_SUCCESS);
  return count;
}

static int info(int index, char* name, int* kind, MPI_Datatype* type, int* bind, int* readonly,
                int* continuous) {
  int verbosity, atomic, name_length = 256, text_length = 0;
  MPI_T_enum values;
  int code = MPI_T_pvar_get_info(index, name, &name_length, &verbosity, kind, type, &values, NULL,
                                 &text_length, bind, readonly, continuous, &atomic);
  if (code == MPI_SUCCESS) CHECK(name_length == (int)strlen(name) + 1 && text_length > 0);
  return code;
}

static void look_at(int index) {
  char name[256];
  int kind, bind, readonly, continuous, found = -1, elements = 0;
  MPI_Datatype type;
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handle;
  // Open MPI leaves gaps for variables of components that were closed.
  if (info(index, name, &kind, &type, &bind, &readonly, &continuous) != MPI_SUCCESS) return;
  if (MPI_T_pvar_get_index(name, kind, &found) == MPI_SUCCESS) CHECK_EQ(found, index);
  if (strncmp(name, "offramp_", 8) != 0) return;
  unsigned long long value = 77, again = 77;
  CHECK(type == MPI_UNSIGNED_LONG_LONG && bind == MPI_T_BIND_NO_OBJECT);
  CHECK_EQ(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
  CHECK_EQ(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &elements), MPI_SUCCESS);
  CHECK_EQ(elements, 1);
  if (continuous) {
    CHECK_EQ(MPI_T_pvar_start(session, handle), MPI_T_ERR_PVAR_NO_STARTSTOP);
    CHECK_EQ(MPI_T_pvar_reset(session, handle), MPI_T_ERR_PVAR_NO_WRITE);
    CHECK_EQ(MPI_T_pvar_read(session, handle, &value), MPI_SUCCESS);
    if (me == 0) printf("%s %llu\n", name, value);
  } else {
    comm_traffic(MPI_COMM_WORLD, index);
    CHECK_EQ(MPI_T_pvar_read(session, handle, &value), MPI_SUCCESS);
    CHECK_EQ(value, 0);  // not started yet
    CHECK_EQ(MPI_T_pvar_start(session, handle), MPI_SUCCESS);
    comm_traffic(MPI_COMM_WORLD, index);
    CHECK_EQ(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    CHECK_EQ(MPI_T_pvar_read(session, handle, &value), MPI_SUCCESS);
    comm_traffic(MPI_COMM_WORLD, index);
    CHECK_EQ(MPI_T_pvar_readreset(session, handle, &again), MPI_SUCCESS);
    CHECK_EQ(again, value);  // stopped
    CHECK_EQ(MPI_T_pvar_read(session, handle, &again), MPI_SUCCESS);
    CHECK_EQ(again, 0);
    again = 5;
    CHECK_EQ(MPI_T_pvar_write(session, handle, &again), MPI_SUCCESS);
    CHECK_EQ(MPI_T_pvar_reset(session, handle), MPI_SUCCESS);
    CHECK_EQ(MPI_T_pvar_read(session, handle, &again), MPI_SUCCESS);
    CHECK_EQ(again, 0);
    if (me == 0) printf("%s %llu\n", name, value);
  }
  MPI_T_pvar_handle copy = handle;
  CHECK_EQ(MPI_T_pvar_handle_free(session, &handle), MPI_SUCCESS);
  CHECK(handle == MPI_T_PVAR_HANDLE_NULL);
  CHECK_EQ(MPI_T_pvar_handle_alloc(session, index, NULL, &copy, &elements), MPI_SUCCESS);
  CHECK_EQ(MPI_T_pvar_session_free(&session), MPI_SUCCESS);  // releases its handles
  CHECK(session == MPI_T_PVAR_SESSION_NULL);
}

CASE(performance_variables) {
  int provided, before, count;
  CHECK_EQ(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
  before = count_variables();
  count = count_variables();
  CHECK(count >= before);
  for (int i = 0; i < count; ++i) look_at(i);
  CHECK(MPI_T_pvar_get_index("no_such_variable", MPI_T_PVAR_CLASS_COUNTER, &count) != MPI_SUCCESS);
}
