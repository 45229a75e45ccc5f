// MPI chapter 3.7: completion. If all requests of a call are Offramp's, the call completes them here.
// Otherwise the MPI library's own functions complete Offramp's requests too, alone or mixed with the
// library's. In both cases the modelled time of completion remains to be accounted. Requests that end with
// their completion report it through their release. Persistent requests stay, so the functions below look at
// those that the call completed.
#include <algorithm>
#include <array>

#include "lib/run/mpi/runtime/completion_events.hpp"
#include "lib/run/mpi/runtime/request.hpp"
#include "lib/run/native/native.h"
#include "lib/run/native/pmpi.hpp"

namespace offramp {
namespace {

/// Marks a completed request of Offramp's as seen by the program.
void observe(MPI_Request handle) {
  if (offramp_native_request_is_own(handle) != 0) request_in(offramp_native_request_body(handle)).observe();
}

/// The call returned these requests as complete. Persistent ones still have their handles.
void observe_persistent(int count, const MPI_Request* requests) {
  std::for_each(requests, requests + count, observe);
}

/// Returns true for the request of a carried operation. Operations that end within their call get the MPI
/// library's complete request. Whether that happens may depend on the fabric, so both count alike.
bool is_carried_request(MPI_Request handle) {
  return handle == offramp_native_request_completed() || offramp_native_request_is_own(handle) != 0;
}

/// Counts a failed poll of a carried request: the program's next step depends on the time of the poll.
void count_poll(Session& session, int count, const MPI_Request* requests) {
  if (session.carries() && std::any_of(requests, requests + count, is_carried_request))
    session.engine().count_arrival_order_dependence(Dependence::kPolling);
}

/// Counts a call in which several carried requests could have completed first.
void count_choice(InterposedCall& call, int count, const MPI_Request* requests) {
  if (!call.session.carries()) return;
  int carried = 0;
  for (int i = 0; i < count && carried < 2; ++i) carried += is_carried_request(requests[i]) ? 1 : 0;
  if (carried > 1) call.engine.count_arrival_order_dependence(Dependence::kChoice);
}

/// The index of the first incomplete request, or count. Negative if the library has to complete the requests.
int first_pending(int count, const MPI_Request* requests) {
  return requests != nullptr ? offramp_native_requests_look(count, requests) : -1;
}

/// Waits for all requests like a blocking call. Returns false if the MPI library has to finish the wait. That
/// is the case if several threads may wait, since it lets only one of them drive the fabric, and if a request
/// fails. Complete requests before the first pending one are observed meanwhile.
[[gnu::always_inline]] inline bool wait_for(InterposedCall& call, int count, const MPI_Request* requests)
    REQUIRES(session_lock) {
  Session& session = call.session;
  if (session.has_threads() || !session.library_is_idle()) return false;
  int pending = first_pending(count, requests);
  if (pending < 0) return false;
  const std::uint64_t failed = session.failed_requests();
  // Requests complete in any order, and are observed in the order of the list.
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

/// For polls that the program will repeat: checks whether all requests are complete.
[[gnu::always_inline]] inline Answer are_complete(Session& session, int count, const MPI_Request* requests) {
  session_lock.assume_held();  // a Call has the lock, or the program has one thread
  const int pending = first_pending(count, requests);
  if (pending < 0) return Answer::kAskLibrary;
  if (pending == count) return Answer::kYes;
  const std::uint64_t completions = session.engine().completions();
  // The library has work of its own, which only its own test drives.
  if (!session.progress_in_place_of_library()) return Answer::kAskLibrary;
  // Nothing has completed since the look, so the answer is the same without another look.
  if (session.engine().completions() == completions) return Answer::kNo;
  if (offramp_native_requests_first_pending(pending, count, requests) < count) return Answer::kNo;
  return first_pending(count, requests) == count ? Answer::kYes : Answer::kAskLibrary;  // or it has failed
}

/// The number of pending requests. 0 unless all are Offramp's and pending.
int all_pending(int count, const MPI_Request* requests) {
  int pending = 0;
  for (int i = 0; i < count; ++i) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    if (offramp_native_request_pending(requests[i]) == 0) return 0;
    ++pending;
  }
  return pending;
}

/// Returns true if MPI_Testany or MPI_Testsome fails without a call of the MPI library: all requests are
/// Offramp's, and none has completed.
[[gnu::always_inline]] inline bool is_refused(Session& session, int count, const MPI_Request* requests,
                                              const int* answer) {
  if (requests == nullptr || answer == nullptr || !session.carries()) return false;
  session_lock.assume_held();  // as in are_complete()
  const int pending = all_pending(count, requests);
  if (pending == 0) return false;
  const std::uint64_t completions = session.engine().completions();
  if (!session.progress_in_place_of_library()) return false;
  if (session.engine().completions() != completions && all_pending(count, requests) == 0) return false;
  if (pending > 1) session.engine().count_arrival_order_dependence(Dependence::kChoice);
  return true;
}

/// A poll before its Call exists. Most repeated polls fail and are only counted. The program's memory
/// accesses should overlap with this path, so each instruction counts.
class EarlyPoll {
 public:
  [[gnu::always_inline]] EarlyPoll(Function function, CallPlace place, int count, const MPI_Request* requests)
      : session_(*Session::current),
        function_(function),
        site_(place.site),
        count_(count),
        requests_(requests),
        is_possible_(session_.is_repeated_poll() && requests != nullptr && count > 0) {}

  /// If a backend carries the calls: refuses(session) returns true if the poll fails.
  [[gnu::always_inline]] bool is_refused(auto refuses) {
    if (!is_possible_ || !session_.carries()) return false;
    was_polled_ = true;
    session_.engine().enter(static_cast<std::uint16_t>(function_), site_);
    bool refused = false;
    {
      // The library may call exported functions of MPI, which are no calls of the program.
      const ProgramRecorder::NestedCall nested;
      refused = refuses(session_);
    }
    if (refused) session_.count_failed_poll(function_);
    return refused;
  }
  /// If the program is only recorded: calls the library. finds_nothing() checks its result.
  [[gnu::always_inline]] bool fails(MPI_Status* wanted, auto library, auto finds_nothing) {
    if (!is_possible_ || session_.carries() || count_ > kMost) return false;
    bool nothing = false;
    {
      const ProgramRecorder::NestedCall nested;
      nothing = poll(wanted, library, finds_nothing);
    }
    if (nothing) session_.count_failed_poll(function_);
    return nothing;
  }
  /// Likewise within a Call: only successful polls are recorded as events.
  [[gnu::always_inline]] bool fails(InterposedCall& call, MPI_Status* wanted, auto library,
                                    auto finds_nothing) {
    if (was_polled_ || session_.carries() || session_.has_threads() || requests_ == nullptr || count_ < 1 ||
        count_ > kMost)
      return false;
    return call.unlocked([&] { return poll(wanted, library, finds_nothing); });
  }

  [[nodiscard]] bool was_polled() const { return was_polled_; }
  /// The requests before the library was called.
  [[nodiscard]] const MPI_Request* requests() const { return requests_; }
  /// The result of the library, which is called now if it has not been.
  [[gnu::always_inline]] int answer(InterposedCall& call, CompletionEvents& events, MPI_Status* wanted,
                                    auto library) {
    if (!was_polled_ || call.session.carries()) {
      MPI_Status* const library_status = events.statuses(wanted);
      return call.unlocked([&] { return library(library_status); });
    }
    events.set_statuses(library_status_);
    return code_;
  }

 private:
  static constexpr int kMost = 8;

  [[gnu::always_inline]] bool poll(MPI_Status* wanted, auto library, auto finds_nothing) {
    // The library clears the handles of completed requests, and the events need the old ones.
    std::copy_n(requests_, count_, kept_.begin());
    requests_ = kept_.data();
    library_status_ = wanted == MPI_STATUSES_IGNORE ? statuses_.data() : wanted;
    was_polled_ = true;
    code_ = library(library_status_);
    return code_ == MPI_SUCCESS && finds_nothing();
  }

  Session& session_;
  Function function_;
  const void* site_;
  int count_;
  const MPI_Request* requests_;
  bool is_possible_;
  bool was_polled_ = false;
  int code_ = MPI_SUCCESS;
  MPI_Status* library_status_ = nullptr;
  std::array<MPI_Request, kMost> kept_;
  std::array<MPI_Status, kMost> statuses_;
};

/// The program will poll again.
void found_nothing(InterposedCall& call) {
  if (call.recorder() != nullptr) call.recorder()->polled(call.function());
}

void observe_listed(int outcount, const int* indices, const MPI_Request* requests) {
  if (outcount == MPI_UNDEFINED) return;
  for (int i = 0; i < outcount; ++i) observe(requests[indices[i]]);
}

/// Returns true if the call completed requests: the error belongs to an operation instead of the arguments.
bool completes(int code) {
  if (code == MPI_SUCCESS) return true;
  int kind = MPI_SUCCESS;
  pmpi::Error_class(code, &kind);
  // With these classes, MPI has rejected the arguments, and no request has completed.
  return kind != MPI_ERR_REQUEST && kind != MPI_ERR_ARG && kind != MPI_ERR_COUNT && kind != MPI_ERR_COMM;
}

/// MPI_Wait and MPI_Waitall. settle: releases the requests, all complete, and returns how many stay. library:
/// the MPI library's own function.
[[gnu::always_inline]] inline int wait(InterposedCall& call, int count, MPI_Request* requests,
                                       MPI_Status* statuses, auto settle, auto library)
    REQUIRES(session_lock) {
  // The handles are noted before the library releases them.
  CompletionEvents events(call, count, requests);
  if (wait_for(call, count, requests)) {
    if (settle() != 0) observe_persistent(count, requests);
    events.record_all();
    return MPI_SUCCESS;
  }
  // The events need statuses for wildcards, also where the program ignores them.
  MPI_Status* const library_status = events.statuses(statuses);
  const int code = call.unlocked([&] { return library(library_status); });
  if (requests != nullptr && count > 0) observe_persistent(count, requests);
  if (code == MPI_SUCCESS) {
    events.record_all();
  } else if (requests != nullptr && completes(code)) {
    events.record_finished(count, requests);
  }
  return code;
}

/// MPI_Test and MPI_Testall, likewise. place: CallPlace::here() of the function.
[[gnu::always_inline]] inline int test(Function function, CallPlace place, int count, MPI_Request* requests,
                                       int* flag, MPI_Status* statuses, auto settle, auto library) {
  EarlyPoll early(function, place, count, flag != nullptr ? requests : nullptr);
  Answer answer = Answer::kAskLibrary;
  const auto refuses = [&](Session& session) {
    answer = are_complete(session, count, requests);
    if (answer != Answer::kNo) return false;
    *flag = 0;
    count_poll(session, count, requests);
    return true;
  };
  const auto nothing = [&] { return *flag == 0; };
  if (early.is_refused(refuses) || early.fails(statuses, library, nothing)) return MPI_SUCCESS;
  InterposedCall call(function, place);
  if ((flag != nullptr && !early.was_polled() && refuses(call.session)) ||
      (answer == Answer::kAskLibrary && early.fails(call, statuses, library, nothing))) {
    found_nothing(call);
    return MPI_SUCCESS;
  }
  CompletionEvents events(call, count, early.was_polled() ? early.requests() : requests);
  if (answer == Answer::kYes) {
    *flag = 1;
    if (settle() != 0) observe_persistent(count, requests);
    events.record_all();
    return MPI_SUCCESS;
  }
  if (const int code = early.answer(call, events, statuses, library); code != MPI_SUCCESS) {
    if (requests != nullptr && completes(code)) events.record_finished(count, requests);
    return code;
  }
  if (*flag != 0) {
    observe_persistent(count, requests);
    events.record_all();
  } else {
    count_poll(call.session, count, requests);
    found_nothing(call);
  }
  return MPI_SUCCESS;
}

}  // namespace

namespace api {

int Wait(MPI_Request* request, MPI_Status* status) {
  InterposedCall call(Function::kWait);
  return wait(
      call, 1, request, status, [&] { return offramp_native_request_settle(request, status); },
      [&](MPI_Status* library_status) { return native.Wait(request, library_status); });
}

int Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  InterposedCall call(Function::kWaitall);
  return wait(
      call, count, requests, statuses,
      [&] { return offramp_native_requests_settle(count, requests, statuses); },
      [&](MPI_Status* library_status) { return native.Waitall(count, requests, library_status); });
}

int Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  InterposedCall call(Function::kWaitany);
  if (requests != nullptr) count_choice(call, count, requests);
  CompletionEvents events(call, count, requests);
  MPI_Status* const library_status = events.statuses(status);
  const int code = call.unlocked([&] { return native.Waitany(count, requests, index, library_status); });
  if (index != nullptr && completes(code) && *index != MPI_UNDEFINED) {
    if (code == MPI_SUCCESS) observe(requests[*index]);
    events.record_some({index, 1}, recording::kAny);
  }
  return code;
}

int Waitsome(int count, MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[]) {
  InterposedCall call(Function::kWaitsome);
  if (requests != nullptr) count_choice(call, count, requests);
  CompletionEvents events(call, count, requests);
  MPI_Status* const library_status = events.statuses(statuses);
  const int code =
      call.unlocked([&] { return native.Waitsome(count, requests, outcount, indices, library_status); });
  if (code == MPI_SUCCESS) observe_listed(*outcount, indices, requests);
  if (completes(code) && *outcount != MPI_UNDEFINED)
    events.record_some({indices, static_cast<std::size_t>(*outcount)}, recording::kSome);
  return code;
}

int Test(MPI_Request* request, int* flag, MPI_Status* status) {
  return test(
      Function::kTest, CallPlace::here(), 1, request, flag, status,
      [&] { return offramp_native_request_settle(request, status); },
      [&](MPI_Status* library_status) { return native.Test(request, flag, library_status); });
}

int Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  return test(
      Function::kTestall, CallPlace::here(), count, requests, flag, statuses,
      [&] { return offramp_native_requests_settle(count, requests, statuses); },
      [&](MPI_Status* library_status) { return native.Testall(count, requests, flag, library_status); });
}

int Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  const auto library = [&](MPI_Status* library_status) {
    return native.Testany(count, requests, index, flag, library_status);
  };
  int* const answer = index != nullptr ? flag : nullptr;
  const auto nothing = [&] {
    *flag = 0;
    *index = MPI_UNDEFINED;
    return MPI_SUCCESS;
  };
  const auto refuses = [&](Session& session) { return is_refused(session, count, requests, answer); };
  EarlyPoll early(Function::kTestany, CallPlace::here(), count, answer != nullptr ? requests : nullptr);
  const auto is_no = [&] { return *flag == 0; };
  if (early.is_refused(refuses) || early.fails(status, library, is_no)) return nothing();
  InterposedCall call(Function::kTestany);
  if ((!early.was_polled() && refuses(call.session)) || early.fails(call, status, library, is_no)) {
    found_nothing(call);
    return nothing();
  }
  if (requests != nullptr) count_choice(call, count, requests);
  CompletionEvents events(call, count, early.was_polled() ? early.requests() : requests);
  const int code = early.answer(call, events, status, library);
  if (code != MPI_SUCCESS) {
    if (answer != nullptr && completes(code) && *index != MPI_UNDEFINED)
      events.record_some({index, 1}, recording::kAny);
    return code;
  }
  if (*flag == 0) {
    found_nothing(call);
    return nothing();
  }
  if (*index != MPI_UNDEFINED) {
    observe(requests[*index]);
    events.record_some({index, 1}, recording::kAny);
  }
  return code;
}

int Testsome(int count, MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[]) {
  const auto library = [&](MPI_Status* library_status) {
    return native.Testsome(count, requests, outcount, indices, library_status);
  };
  int* const answer = indices != nullptr ? outcount : nullptr;
  const auto refuses = [&](Session& session) { return is_refused(session, count, requests, answer); };
  EarlyPoll early(Function::kTestsome, CallPlace::here(), count, answer != nullptr ? requests : nullptr);
  const auto is_none = [&] { return *outcount == 0; };
  if (early.is_refused(refuses) || early.fails(statuses, library, is_none)) {
    *outcount = 0;
    return MPI_SUCCESS;
  }
  InterposedCall call(Function::kTestsome);
  if ((!early.was_polled() && refuses(call.session)) || early.fails(call, statuses, library, is_none)) {
    *outcount = 0;
    found_nothing(call);
    return MPI_SUCCESS;
  }
  if (requests != nullptr) count_choice(call, count, requests);
  CompletionEvents events(call, count, early.was_polled() ? early.requests() : requests);
  const int code = early.answer(call, events, statuses, library);
  if (code != MPI_SUCCESS) {
    if (answer != nullptr && completes(code) && *outcount > 0)
      events.record_some({indices, static_cast<std::size_t>(*outcount)}, recording::kSome);
    return code;
  }
  if (*outcount == 0) found_nothing(call);
  observe_listed(*outcount, indices, requests);
  if (*outcount > 0) events.record_some({indices, static_cast<std::size_t>(*outcount)}, recording::kSome);
  return code;
}

int Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  InterposedCall call(Function::kRequest_get_status);
  const int code = call.unlocked([&] { return native.Request_get_status(request, flag, status); });
  if (code != MPI_SUCCESS) return code;
  if (*flag != 0) {
    // MPI_Request_get_status keeps the request. The program has seen its completion, and a later wait changes
    // nothing.
    observe(request);
    if (call.recorder() != nullptr)
      call.recorder()->wait(call.function(), recorded_of(call.session, request));
  } else {
    count_poll(call.session, 1, &request);
    found_nothing(call);
  }
  return code;
}

int Request_free(MPI_Request* request) {
  InterposedCall call(Function::kRequest_free);
  if (call.recorder() != nullptr && request != nullptr) {
    call.recorder()->free(call.function(), recorded_of(call.session, *request));
    // The library may give the handle to another request from now on.
    if (!call.session.carries()) call.session.tracked().remove(*request);
  }
  return call.unlocked([&] { return native.Request_free(request); });
}

int Cancel(MPI_Request* request) {
  InterposedCall call(Function::kCancel);
  if (call.recorder() != nullptr && request != nullptr)
    call.recorder()->cancel(call.function(), recorded_of(call.session, *request));
  return call.unlocked([&] { return native.Cancel(request); });
}

}  // namespace api
}  // namespace offramp
