// Chapter 3.7: completion. Where all that a call is about is Offramp's, it is completed here; the rest is for
// the MPI library's own functions, which complete our requests, too, alone or mixed with its own. Either way
// what is left to do is the modelled time. Requests that end with their completion tell us through their
// release; for persistent ones, which stay, the functions below look at those that the call reported.
#include <algorithm>

#include "lib/mpi/runtime/completion_events.hpp"
#include "lib/mpi/runtime/request.hpp"
#include "lib/native/native.h"
#include "lib/native/pmpi.hpp"

namespace offramp {
namespace {

/// If it is one of ours and done, the program has learnt of it.
void observe(MPI_Request handle) {
  if (offramp_native_request_is_own(handle) != 0) request_in(offramp_native_request_body(handle)).observe();
}

/// The call reported these requests as complete; persistent ones still have their handles.
void observe_persistent(int count, const MPI_Request* requests) {
  std::for_each(requests, requests + count, observe);
}

/// Stands for an operation that we carry. What was over when its call returned has the MPI library's complete
/// request; whether it has may depend on the fabric, and so must make no difference.
bool is_carried_request(MPI_Request handle) {
  return handle == offramp_native_request_completed() || offramp_native_request_is_own(handle) != 0;
}

/// A request of ours was asked for and was not complete: what happens next depends on when the program asked.
void count_poll(Call& call, int count, const MPI_Request* requests) {
  if (call.session.carries() && std::any_of(requests, requests + count, is_carried_request))
    call.engine.count_arrival_order_dependence(Dependence::kPolling);
}

/// Several of our requests could have been the one that completed first.
void count_choice(Call& call, int count, const MPI_Request* requests) {
  if (!call.session.carries()) return;
  int carried = 0;
  for (int i = 0; i < count && carried < 2; ++i) carried += is_carried_request(requests[i]) ? 1 : 0;
  if (carried > 1) call.engine.count_arrival_order_dependence(Dependence::kChoice);
}

/// Of these requests the first that is not complete, or count. Negative: completing them is the library's.
int first_pending(int count, const MPI_Request* requests) {
  return requests != nullptr ? offramp_native_requests_look(count, requests) : -1;
}

/// Waits for all these requests, as a blocking call waits. False: the MPI library has to do what is left. It
/// also does where several threads may wait, of which it lets only one turn the fabric, and when a request
/// fails, which ends the wait for the others. What is complete up to the first that is not is observed while
/// that is waited for.
[[gnu::always_inline]] inline bool wait_for(Call& call, int count, const MPI_Request* requests) {
  Session& session = call.session;
  if (session.has_threads() || !session.library_is_idle()) return false;
  int pending = first_pending(count, requests);
  if (pending < 0) return false;
  const std::uint64_t failed = session.failed_requests();
  int observed = 0;
  call.wait([&] {
    pending = offramp_native_requests_first_pending(pending, count, requests);
    if (pending == count || session.failed_requests() != failed) return true;
    for (; observed < pending; ++observed) observe(requests[observed]);
    return false;
  });
  return session.failed_requests() == failed;
}

enum class Answer { kYes, kNo, kAskLibrary };

/// Whether all these requests are complete, for a question that the program will ask again.
[[gnu::always_inline]] inline Answer are_complete(Call& call, int count, const MPI_Request* requests) {
  const int pending = first_pending(count, requests);
  if (pending < 0) return Answer::kAskLibrary;
  if (pending == count) return Answer::kYes;
  if (!call.session.progress_in_place_of_library()) return Answer::kAskLibrary;
  if (offramp_native_requests_first_pending(pending, count, requests) < count) return Answer::kNo;
  return first_pending(count, requests) == count ? Answer::kYes : Answer::kAskLibrary;  // or it has failed
}

/// How many of these requests are pending; 0 if they are not all ours and pending.
int all_pending(int count, const MPI_Request* requests) {
  int pending = 0;
  for (int i = 0; i < count; ++i) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    if (offramp_native_request_pending(requests[i]) == 0) return 0;
    ++pending;
  }
  return pending;
}

/// The answer to MPI_Testany and MPI_Testsome is no, and the MPI library need not be asked: all these
/// requests are ours, and none has completed by now.
bool is_refused(Call& call, int count, const MPI_Request* requests, const int* answer) {
  if (requests == nullptr || answer == nullptr || !call.session.carries()) return false;
  const int pending = all_pending(count, requests);
  if (pending == 0 || !call.session.progress_in_place_of_library() || all_pending(count, requests) == 0)
    return false;
  if (pending > 1) call.engine.count_arrival_order_dependence(Dependence::kChoice);
  return true;
}

/// The program will ask again.
void found_nothing(Call& call) {
  if (call.recorder() != nullptr) call.recorder()->polled(call.function());
  call.session.add_query_time();
}

void observe_listed(int outcount, const int* indices, const MPI_Request* requests) {
  if (outcount == MPI_UNDEFINED) return;
  for (int i = 0; i < outcount; ++i) observe(requests[indices[i]]);
}

/// The call got as far as completing something: an error is that of an operation, not of its arguments.
bool completes(int code) {
  if (code == MPI_SUCCESS) return true;
  int kind = MPI_SUCCESS;
  pmpi::Error_class(code, &kind);
  return kind != MPI_ERR_REQUEST && kind != MPI_ERR_ARG && kind != MPI_ERR_COUNT && kind != MPI_ERR_COMM;
}

/// MPI_Wait and MPI_Waitall. settle: lets go of the requests, all complete; how many stay. library: its own
/// function.
template <typename Settle, typename Library>
[[gnu::always_inline]] inline int wait(Call& call, int count, MPI_Request* requests, MPI_Status* statuses,
                                       Settle settle, Library library) {
  CompletionEvents events(call, count, requests);
  if (wait_for(call, count, requests)) {
    if (settle() != 0) observe_persistent(count, requests);
    events.all();
    return MPI_SUCCESS;
  }
  MPI_Status* const told = events.statuses(statuses);
  const int code = call.unlocked([&] { return library(told); });
  if (requests != nullptr && count > 0) observe_persistent(count, requests);
  if (code == MPI_SUCCESS) {
    events.all();
  } else if (requests != nullptr && completes(code)) {
    events.all_completed(count, requests);
  }
  return code;
}

/// MPI_Test and MPI_Testall, likewise.
template <typename Settle, typename Library>
[[gnu::always_inline]] inline int test(Call& call, int count, MPI_Request* requests, int* flag,
                                       MPI_Status* statuses, Settle settle, Library library) {
  const Answer answer = flag != nullptr ? are_complete(call, count, requests) : Answer::kAskLibrary;
  if (answer == Answer::kNo) {
    *flag = 0;
    count_poll(call, count, requests);
    found_nothing(call);
    return MPI_SUCCESS;
  }
  CompletionEvents events(call, count, requests);
  if (answer == Answer::kYes) {
    *flag = 1;
    if (settle() != 0) observe_persistent(count, requests);
    events.all();
    return MPI_SUCCESS;
  }
  MPI_Status* const told = events.statuses(statuses);
  if (const int code = call.unlocked([&] { return library(told); }); code != MPI_SUCCESS) {
    if (requests != nullptr && completes(code)) events.all_completed(count, requests);
    return code;
  }
  if (*flag != 0) {
    observe_persistent(count, requests);
    events.all();
  } else {
    count_poll(call, count, requests);
    found_nothing(call);
  }
  return MPI_SUCCESS;
}

}  // namespace

namespace face {

int Wait(MPI_Request* request, MPI_Status* status) {
  Call call(Function::kWait);
  return wait(
      call, 1, request, status, [&] { return offramp_native_request_settle(request, status); },
      [&](MPI_Status* told) { return native.Wait(request, told); });
}

int Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  Call call(Function::kWaitall);
  return wait(
      call, count, requests, statuses,
      [&] { return offramp_native_requests_settle(count, requests, statuses); },
      [&](MPI_Status* told) { return native.Waitall(count, requests, told); });
}

int Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  Call call(Function::kWaitany);
  if (requests != nullptr) count_choice(call, count, requests);
  CompletionEvents events(call, count, requests);
  MPI_Status* const told = events.statuses(status);
  const int code = call.unlocked([&] { return native.Waitany(count, requests, index, told); });
  if (index != nullptr && completes(code) && *index != MPI_UNDEFINED) {
    if (code == MPI_SUCCESS) observe(requests[*index]);
    events.some({index, 1}, recording::kAny);
  }
  return code;
}

int Waitsome(int count, MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[]) {
  Call call(Function::kWaitsome);
  if (requests != nullptr) count_choice(call, count, requests);
  CompletionEvents events(call, count, requests);
  MPI_Status* const told = events.statuses(statuses);
  const int code = call.unlocked([&] { return native.Waitsome(count, requests, outcount, indices, told); });
  if (code == MPI_SUCCESS) observe_listed(*outcount, indices, requests);
  if (completes(code) && *outcount != MPI_UNDEFINED)
    events.some({indices, static_cast<std::size_t>(*outcount)}, recording::kSome);
  return code;
}

int Test(MPI_Request* request, int* flag, MPI_Status* status) {
  Call call(Function::kTest);
  return test(
      call, 1, request, flag, status, [&] { return offramp_native_request_settle(request, status); },
      [&](MPI_Status* told) { return native.Test(request, flag, told); });
}

int Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  Call call(Function::kTestall);
  return test(
      call, count, requests, flag, statuses,
      [&] { return offramp_native_requests_settle(count, requests, statuses); },
      [&](MPI_Status* told) { return native.Testall(count, requests, flag, told); });
}

int Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  Call call(Function::kTestany);
  int* const answer = index != nullptr ? flag : nullptr;
  if (is_refused(call, count, requests, answer)) {
    *flag = 0;
    *index = MPI_UNDEFINED;
    found_nothing(call);
    return MPI_SUCCESS;
  }
  if (requests != nullptr) count_choice(call, count, requests);
  CompletionEvents events(call, count, requests);
  MPI_Status* const told = events.statuses(status);
  const int code = call.unlocked([&] { return native.Testany(count, requests, index, flag, told); });
  if (code != MPI_SUCCESS) {
    if (answer != nullptr && completes(code) && *index != MPI_UNDEFINED)
      events.some({index, 1}, recording::kAny);
    return code;
  }
  if (*flag == 0) {
    *index = MPI_UNDEFINED;
    found_nothing(call);
  } else if (*index != MPI_UNDEFINED) {
    observe(requests[*index]);
    events.some({index, 1}, recording::kAny);
  }
  return code;
}

int Testsome(int count, MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[]) {
  Call call(Function::kTestsome);
  int* const answer = indices != nullptr ? outcount : nullptr;
  if (is_refused(call, count, requests, answer)) {
    *outcount = 0;
    found_nothing(call);
    return MPI_SUCCESS;
  }
  if (requests != nullptr) count_choice(call, count, requests);
  CompletionEvents events(call, count, requests);
  MPI_Status* const told = events.statuses(statuses);
  const int code = call.unlocked([&] { return native.Testsome(count, requests, outcount, indices, told); });
  if (code != MPI_SUCCESS) {
    if (answer != nullptr && completes(code) && *outcount > 0)
      events.some({indices, static_cast<std::size_t>(*outcount)}, recording::kSome);
    return code;
  }
  if (*outcount == 0) found_nothing(call);
  observe_listed(*outcount, indices, requests);
  if (*outcount > 0) events.some({indices, static_cast<std::size_t>(*outcount)}, recording::kSome);
  return code;
}

int Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  Call call(Function::kRequest_get_status);
  const int code = call.unlocked([&] { return native.Request_get_status(request, flag, status); });
  if (code != MPI_SUCCESS) return code;
  if (*flag != 0) {
    observe(request);
    if (call.recorder() != nullptr)
      call.recorder()->wait(call.function(), recorded_of(call.session, request));
  } else {
    count_poll(call, 1, &request);
    found_nothing(call);
  }
  return code;
}

int Request_free(MPI_Request* request) {
  Call call(Function::kRequest_free);
  if (call.recorder() != nullptr && request != nullptr) {
    call.recorder()->free(call.function(), recorded_of(call.session, *request));
    if (!call.session.carries()) call.session.tracked().remove(*request);
  }
  return call.unlocked([&] { return native.Request_free(request); });
}

int Cancel(MPI_Request* request) {
  Call call(Function::kCancel);
  if (call.recorder() != nullptr && request != nullptr)
    call.recorder()->cancel(call.function(), recorded_of(call.session, *request));
  return call.unlocked([&] { return native.Cancel(request); });
}

}  // namespace face
}  // namespace offramp
