// Completes the status of a null or inactive request. The standard's empty status has the error MPI_SUCCESS.
// Open MPI 4.1 does not set that field, so a program that reads it sees arbitrary values from the stack.
#include "lib/run/native/table.hpp"

namespace offramp {
namespace {

MpiTable library;

void complete(int code, MPI_Status* status) {
  if (code == MPI_SUCCESS && status != MPI_STATUS_IGNORE) status->MPI_ERROR = MPI_SUCCESS;
}

bool is_inactive(const MPI_Request* request) {
  return request != nullptr && offramp_native_request_inactive(*request) != 0;
}

int wait(MPI_Request* request, MPI_Status* status) {
  const bool empty = is_inactive(request);
  const int code = library.Wait(request, status);
  if (empty) complete(code, status);
  return code;
}

int test(MPI_Request* request, int* flag, MPI_Status* status) {
  const bool empty = is_inactive(request);
  const int code = library.Test(request, flag, status);
  if (empty) complete(code, status);
  return code;
}

int get_status(MPI_Request request, int* flag, MPI_Status* status) {
  const bool empty = is_inactive(&request);
  const int code = library.Request_get_status(request, flag, status);
  if (empty) complete(code, status);
  return code;
}

int wait_any(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  const int code = library.Waitany(count, requests, index, status);
  if (code == MPI_SUCCESS && index != nullptr && *index == MPI_UNDEFINED) complete(code, status);
  return code;
}

int test_any(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  const int code = library.Testany(count, requests, index, flag, status);
  if (code == MPI_SUCCESS && *flag != 0 && *index == MPI_UNDEFINED) complete(code, status);
  return code;
}

}  // namespace

void replace_natives(MpiTable& table) {
  library = table;
  table.Wait = wait;
  table.Test = test;
  table.Request_get_status = get_status;
  table.Waitany = wait_any;
  table.Testany = test_any;
}

}  // namespace offramp
