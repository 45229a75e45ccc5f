// Chapter 3.7: completion. Where all that a call is about is Offramp's, it is completed here; the rest is for
// the MPI library's own functions, which complete our requests, too, alone or mixed with its own. Either way
// what is left to do is the modelled time. Requests that end with their completion tell us through their
// release; for persistent ones, which stay, the functions below look at those that the call reported.
#include <algorithm>
#include <array>

#include "lib/run/mpi/runtime/completion_events.hpp"
#include "lib/run/mpi/runtime/request.hpp"
#include "lib/run/native/native.h"
#include "lib/run/native/pmpi.hpp"

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
void count_poll(Session& session, int count, const MPI_Request* requests) {
  if (session.carries() && std::any_of(requests, requests + count, is_carried_request))
    session.engine().count_arrival_order_dependence(Dependence::kPolling);
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
[[gnu::always_inline]] inline bool wait_for(Call& call, int count, const MPI_Request* requests)
    REQUIRES(session_lock) {
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
[[gnu::always_inline]] inline Answer are_complete(Session& session, int count, const MPI_Request* requests) {
  session_lock.assume_held();  // by a Call, or the program has one thread
  const int pending = first_pending(count, requests);
  if (pending < 0) return Answer::kAskLibrary;
  if (pending == count) return Answer::kYes;
  const std::uint64_t completions = session.engine().completions();
  if (!session.progress_in_place_of_library()) return Answer::kAskLibrary;
  if (session.engine().completions() == completions) return Answer::kNo;
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

/// A question before there is a Call for it. Most of those that a program asks again find nothing, and are
/// only counted: where the processor is to have memory accesses of the program's next to them under way, each
/// instruction counts.
class EarlyQuestion {
 public:
  [[gnu::always_inline]] EarlyQuestion(Function function, CallPlace place, int count,
                                       const MPI_Request* requests)
      : session_(*Session::current),
        function_(function),
        site_(place.site),
        count_(count),
        requests_(requests),
        is_possible_(session_.asks_again() && requests != nullptr && count > 0) {}

  /// Where Offramp carries: refuses(session) says that the answer is no.
  template <typename Refuses>
  [[gnu::always_inline]] bool is_refused(Refuses refuses) {
    if (!is_possible_ || !session_.carries()) return false;
    is_asked_ = true;
    session_.engine().enter(static_cast<std::uint16_t>(function_), site_);
    bool refused = false;
    {
      const ProgramRecorder::Within within;
      refused = refuses(session_);
    }
    if (refused) session_.found_nothing_again(function_);
    return refused;
  }
  /// Where the library carries all: it is asked. finds_nothing() looks at its answer.
  template <typename Library, typename FindsNothing>
  [[gnu::always_inline]] bool is_in_vain(MPI_Status* wanted, Library library, FindsNothing finds_nothing) {
    if (!is_possible_ || session_.carries() || count_ > kMost) return false;
    bool nothing = false;
    {
      const ProgramRecorder::Within within;
      nothing = ask(wanted, library, finds_nothing);
    }
    if (nothing) session_.found_nothing_again(function_);
    return nothing;
  }
  /// The same in a Call: only what completes something is a matter of events.
  template <typename Library, typename FindsNothing>
  [[gnu::always_inline]] bool is_in_vain(Call& call, MPI_Status* wanted, Library library,
                                         FindsNothing finds_nothing) {
    if (is_asked_ || session_.carries() || session_.has_threads() || requests_ == nullptr || count_ < 1 ||
        count_ > kMost)
      return false;
    return call.unlocked([&] { return ask(wanted, library, finds_nothing); });
  }

  [[nodiscard]] bool is_asked() const { return is_asked_; }
  /// As they were before the library was asked.
  [[nodiscard]] const MPI_Request* requests() const { return requests_; }
  /// The answer of the library, which is asked now if it has not been.
  template <typename Library>
  [[gnu::always_inline]] int answer(Call& call, CompletionEvents& events, MPI_Status* wanted,
                                    Library library) {
    if (!is_asked_ || call.session.carries()) {
      MPI_Status* const told = events.statuses(wanted);
      return call.unlocked([&] { return library(told); });
    }
    events.has_told(told_);
    return code_;
  }

 private:
  static constexpr int kMost = 8;

  template <typename Library, typename FindsNothing>
  [[gnu::always_inline]] bool ask(MPI_Status* wanted, Library library, FindsNothing finds_nothing) {
    std::copy_n(requests_, count_, kept_.begin());
    requests_ = kept_.data();
    told_ = wanted == MPI_STATUSES_IGNORE ? statuses_.data() : wanted;
    is_asked_ = true;
    code_ = library(told_);
    return code_ == MPI_SUCCESS && finds_nothing();
  }

  Session& session_;
  Function function_;
  const void* site_;
  int count_;
  const MPI_Request* requests_;
  bool is_possible_;
  bool is_asked_ = false;
  int code_ = MPI_SUCCESS;
  MPI_Status* told_ = nullptr;
  std::array<MPI_Request, kMost> kept_;
  std::array<MPI_Status, kMost> statuses_;
};

/// The program will ask again.
void found_nothing(Call& call) {
  if (call.recorder() != nullptr) call.recorder()->polled(call.function());
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
                                       Settle settle, Library library) REQUIRES(session_lock) {
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

/// MPI_Test and MPI_Testall, likewise. place: CallPlace::here() of the function.
template <typename Settle, typename Library>
[[gnu::always_inline]] inline int test(Function function, CallPlace place, int count, MPI_Request* requests,
                                       int* flag, MPI_Status* statuses, Settle settle, Library library) {
  EarlyQuestion early(function, place, count, flag != nullptr ? requests : nullptr);
  Answer answer = Answer::kAskLibrary;
  const auto refuses = [&](Session& session) {
    answer = are_complete(session, count, requests);
    if (answer != Answer::kNo) return false;
    *flag = 0;
    count_poll(session, count, requests);
    return true;
  };
  const auto nothing = [&] { return *flag == 0; };
  if (early.is_refused(refuses) || early.is_in_vain(statuses, library, nothing)) return MPI_SUCCESS;
  Call call(function, place);
  if ((flag != nullptr && !early.is_asked() && refuses(call.session)) ||
      (answer == Answer::kAskLibrary && early.is_in_vain(call, statuses, library, nothing))) {
    found_nothing(call);
    return MPI_SUCCESS;
  }
  CompletionEvents events(call, count, early.is_asked() ? early.requests() : requests);
  if (answer == Answer::kYes) {
    *flag = 1;
    if (settle() != 0) observe_persistent(count, requests);
    events.all();
    return MPI_SUCCESS;
  }
  if (const int code = early.answer(call, events, statuses, library); code != MPI_SUCCESS) {
    if (requests != nullptr && completes(code)) events.all_completed(count, requests);
    return code;
  }
  if (*flag != 0) {
    observe_persistent(count, requests);
    events.all();
  } else {
    count_poll(call.session, count, requests);
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
  return test(
      Function::kTest, CallPlace::here(), 1, request, flag, status,
      [&] { return offramp_native_request_settle(request, status); },
      [&](MPI_Status* told) { return native.Test(request, flag, told); });
}

int Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  return test(
      Function::kTestall, CallPlace::here(), count, requests, flag, statuses,
      [&] { return offramp_native_requests_settle(count, requests, statuses); },
      [&](MPI_Status* told) { return native.Testall(count, requests, flag, told); });
}

int Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  const auto library = [&](MPI_Status* told) { return native.Testany(count, requests, index, flag, told); };
  int* const answer = index != nullptr ? flag : nullptr;
  const auto nothing = [&] {
    *flag = 0;
    *index = MPI_UNDEFINED;
    return MPI_SUCCESS;
  };
  const auto refuses = [&](Session& session) { return is_refused(session, count, requests, answer); };
  EarlyQuestion early(Function::kTestany, CallPlace::here(), count, answer != nullptr ? requests : nullptr);
  const auto is_no = [&] { return *flag == 0; };
  if (early.is_refused(refuses) || early.is_in_vain(status, library, is_no)) return nothing();
  Call call(Function::kTestany);
  if ((!early.is_asked() && refuses(call.session)) || early.is_in_vain(call, status, library, is_no)) {
    found_nothing(call);
    return nothing();
  }
  if (requests != nullptr) count_choice(call, count, requests);
  CompletionEvents events(call, count, early.is_asked() ? early.requests() : requests);
  const int code = early.answer(call, events, status, library);
  if (code != MPI_SUCCESS) {
    if (answer != nullptr && completes(code) && *index != MPI_UNDEFINED)
      events.some({index, 1}, recording::kAny);
    return code;
  }
  if (*flag == 0) {
    found_nothing(call);
    return nothing();
  }
  if (*index != MPI_UNDEFINED) {
    observe(requests[*index]);
    events.some({index, 1}, recording::kAny);
  }
  return code;
}

int Testsome(int count, MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[]) {
  const auto library = [&](MPI_Status* told) {
    return native.Testsome(count, requests, outcount, indices, told);
  };
  int* const answer = indices != nullptr ? outcount : nullptr;
  const auto refuses = [&](Session& session) { return is_refused(session, count, requests, answer); };
  EarlyQuestion early(Function::kTestsome, CallPlace::here(), count, answer != nullptr ? requests : nullptr);
  const auto is_none = [&] { return *outcount == 0; };
  if (early.is_refused(refuses) || early.is_in_vain(statuses, library, is_none)) {
    *outcount = 0;
    return MPI_SUCCESS;
  }
  Call call(Function::kTestsome);
  if ((!early.is_asked() && refuses(call.session)) || early.is_in_vain(call, statuses, library, is_none)) {
    *outcount = 0;
    found_nothing(call);
    return MPI_SUCCESS;
  }
  if (requests != nullptr) count_choice(call, count, requests);
  CompletionEvents events(call, count, early.is_asked() ? early.requests() : requests);
  const int code = early.answer(call, events, statuses, library);
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
    count_poll(call.session, 1, &request);
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
