// Lines of a table, "class-table CLASS WHAT", that the suite `errors` compares with those of a native run.
#ifndef TESTS_MPI_ERROR_ROWS_H
#define TESTS_MPI_ERROR_ROWS_H

#include "check.h"

static inline const char* class_name(int class) {
  static char number[20];
  switch (class) {
#define NAME(c) \
  case c:       \
    return #c;
    NAME(MPI_SUCCESS)
    NAME(MPI_ERR_BUFFER)
    NAME(MPI_ERR_COUNT)
    NAME(MPI_ERR_TYPE)
    NAME(MPI_ERR_TAG)
    NAME(MPI_ERR_COMM)
    NAME(MPI_ERR_RANK)
    NAME(MPI_ERR_REQUEST)
    NAME(MPI_ERR_ROOT)
    NAME(MPI_ERR_GROUP)
    NAME(MPI_ERR_OP)
    NAME(MPI_ERR_ARG)
    NAME(MPI_ERR_TRUNCATE)
    NAME(MPI_ERR_IN_STATUS)
    NAME(MPI_ERR_PENDING)
    NAME(MPI_ERR_OTHER)
    NAME(MPI_ERR_INTERN)
    NAME(MPI_ERR_UNKNOWN)
    NAME(MPI_ERR_KEYVAL)
    NAME(MPI_ERR_INFO)
    NAME(MPI_ERR_INFO_KEY)
    NAME(MPI_ERR_WIN)
    NAME(MPI_ERR_BASE)
    NAME(MPI_ERR_SIZE)
    NAME(MPI_ERR_DISP)
    NAME(MPI_ERR_LOCKTYPE)
    NAME(MPI_ERR_ASSERT)
    NAME(MPI_ERR_RMA_SYNC)
    NAME(MPI_ERR_RMA_CONFLICT)
    NAME(MPI_ERR_RMA_RANGE)
    NAME(MPI_ERR_RMA_ATTACH)
    NAME(MPI_ERR_RMA_SHARED)
    NAME(MPI_ERR_RMA_FLAVOR)
    NAME(MPI_ERR_FILE)
    NAME(MPI_ERR_NO_SUCH_FILE)
    NAME(MPI_ERR_FILE_EXISTS)
    NAME(MPI_ERR_AMODE)
    NAME(MPI_ERR_READ_ONLY)
    NAME(MPI_ERR_ACCESS)
    NAME(MPI_ERR_BAD_FILE)
    NAME(MPI_ERR_IO)
    NAME(MPI_ERR_NOT_SAME)
    NAME(MPI_ERR_UNSUPPORTED_OPERATION)
    NAME(MPI_ERR_UNSUPPORTED_DATAREP)
    NAME(MPI_ERR_DIMS)
    NAME(MPI_ERR_TOPOLOGY)
    NAME(MPI_ERR_NAME)
    default:
      snprintf(number, sizeof number, "class %d", class);
      return number;
  }
}

static inline int class_of(int code) {
  int class = -1;
  MPI_Error_class(code, &class);
  return class;
}

static inline void show(const char* what, int code) {
  if (me == 0) printf("class-table %-24s %s\n", class_name(class_of(code)), what);
  fflush(stdout);  // the last line shows the place of a crash
}

static inline void row(const char* call, int code, int wanted, int also, int line) {
  char text[300];
  int class = class_of(code);
  show(call, code);
  if (class == wanted || class == also) return;
  snprintf(text, sizeof text, "%s gave %s", call, class_name(class));
  check_failed(text, __FILE__, line);
}

// Without an expected class: it must equal the native one, which the suite checks.
#define SHOW(call) show(#call, call)
#define ROW(class, call) row(#call, call, class, class, __LINE__)
#define ROW2(class, also, call) row(#call, call, class, also, __LINE__)

#endif
