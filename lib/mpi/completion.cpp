// Chapter 3.7: completion. The MPI library's own functions complete our requests, alone or mixed with its
// own; what is left to do here is the modelled time. Requests that end with their completion tell us through
// their release; for persistent ones, which stay, the functions below look at those that the call reported.
#include <algorithm>

#include "lib/mpi/request.hpp"
#include "lib/native/native.h"

namespace offramp {
namespace {

/// The call reported this request as complete; a persistent one still has its handle.
void observe_persistent(Call& call, MPI_Request handle) {
  if (handle == MPI_REQUEST_NULL) return;
  (void)call;
  if (Request* request = own_request(handle); request != nullptr && request->done()) request->observe();
}

/// Stands for an operation that we carry. What was over when its call returned has the MPI library's complete
/// request; whether it has may depend on the fabric, and so must make no difference.
bool is_carried(MPI_Request handle) {
  return handle != MPI_REQUEST_NULL &&
         (handle == offramp_native_request_completed() || own_request(handle) != nullptr);
}

/// A request of ours was asked for and was not complete: what happens next depends on when the program asked.
void count_poll(Call& call, int count, const MPI_Request* requests) {
  if (std::any_of(requests, requests + count, is_carried))
    call.engine.count_arrival_order_dependence(Dependence::kPolling);
}

/// Several of our requests could have been the one that completed first.
void count_choice(Call& call, int count, const MPI_Request* requests) {
  int carried = 0;
  for (int i = 0; i < count && carried < 2; ++i) carried += is_carried(requests[i]) ? 1 : 0;
  if (carried > 1) call.engine.count_arrival_order_dependence(Dependence::kChoice);
}

bool all_pending(int count, const MPI_Request* requests) {
  int pending = 0;
  for (int i = 0; i < count; ++i) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    if (offramp_native_request_pending(requests[i]) == 0) return false;
    ++pending;
  }
  return pending > 0;
}

/// The answer to MPI_Test and its like is no, and the MPI library need not be asked: all these requests are
/// ours, and none has completed by now.
bool is_refused(Call& call, int count, const MPI_Request* requests, const int* answer) {
  return requests != nullptr && answer != nullptr && all_pending(count, requests) &&
         call.session.progress_in_place_of_library() && all_pending(count, requests);
}

/// The library's answer to a question about requests; or, in its place, ours, which is no.
template <typename Body>
int ask(Call& call, int count, const MPI_Request* requests, int* answer, Body library) {
  if (!is_refused(call, count, requests, answer)) return call.unlocked(library);
  *answer = 0;
  return MPI_SUCCESS;
}

void observe_listed(Call& call, int outcount, const int* indices, const MPI_Request* requests) {
  if (outcount == MPI_UNDEFINED) return;
  for (int i = 0; i < outcount; ++i) observe_persistent(call, requests[indices[i]]);
}

}  // namespace

namespace face {

int Wait(MPI_Request* request, MPI_Status* status) {
  Call call(Function::kWait);
  const int code = call.unlocked([&] { return native.Wait(request, status); });
  if (request != nullptr) observe_persistent(call, *request);
  return code;
}

int Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  Call call(Function::kWaitall);
  const int code = call.unlocked([&] { return native.Waitall(count, requests, statuses); });
  for (int i = 0; requests != nullptr && i < count; ++i) observe_persistent(call, requests[i]);
  return code;
}

int Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  Call call(Function::kWaitany);
  if (requests != nullptr) count_choice(call, count, requests);
  const int code = call.unlocked([&] { return native.Waitany(count, requests, index, status); });
  if (code == MPI_SUCCESS && index != nullptr && *index != MPI_UNDEFINED)
    observe_persistent(call, requests[*index]);
  return code;
}

int Waitsome(int count, MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[]) {
  Call call(Function::kWaitsome);
  if (requests != nullptr) count_choice(call, count, requests);
  const int code =
      call.unlocked([&] { return native.Waitsome(count, requests, outcount, indices, statuses); });
  if (code == MPI_SUCCESS) observe_listed(call, *outcount, indices, requests);
  return code;
}

int Test(MPI_Request* request, int* flag, MPI_Status* status) {
  Call call(Function::kTest);
  const int code = ask(call, 1, request, flag, [&] { return native.Test(request, flag, status); });
  if (code != MPI_SUCCESS) return code;
  if (*flag != 0) {
    observe_persistent(call, *request);
  } else {
    count_poll(call, 1, request);
    call.session.add_query_time();
  }
  return code;
}

int Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  Call call(Function::kTestall);
  const int code =
      ask(call, count, requests, flag, [&] { return native.Testall(count, requests, flag, statuses); });
  if (code != MPI_SUCCESS) return code;
  if (*flag == 0) {
    count_poll(call, count, requests);
    call.session.add_query_time();
    return code;
  }
  for (int i = 0; i < count; ++i) observe_persistent(call, requests[i]);
  return code;
}

int Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  Call call(Function::kTestany);
  if (requests != nullptr) count_choice(call, count, requests);
  int* const answer = index != nullptr ? flag : nullptr;
  const int code = ask(call, count, requests, answer,
                       [&] { return native.Testany(count, requests, index, flag, status); });
  if (code != MPI_SUCCESS) return code;
  if (*flag == 0) {
    *index = MPI_UNDEFINED;
    call.session.add_query_time();
  } else if (*index != MPI_UNDEFINED) {
    observe_persistent(call, requests[*index]);
  }
  return code;
}

int Testsome(int count, MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[]) {
  Call call(Function::kTestsome);
  if (requests != nullptr) count_choice(call, count, requests);
  int* const answer = indices != nullptr ? outcount : nullptr;
  const int code = ask(call, count, requests, answer,
                       [&] { return native.Testsome(count, requests, outcount, indices, statuses); });
  if (code != MPI_SUCCESS) return code;
  if (*outcount == 0) call.session.add_query_time();
  observe_listed(call, *outcount, indices, requests);
  return code;
}

int Request_free(MPI_Request* request) {
  Call call(Function::kRequest_free);
  return call.unlocked([&] { return native.Request_free(request); });
}

int Cancel(MPI_Request* request) {
  Call call(Function::kCancel);
  return call.unlocked([&] { return native.Cancel(request); });
}

}  // namespace face
}  // namespace offramp
