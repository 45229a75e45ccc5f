// Completes and starts lists with Offramp's requests, with Open MPI's semantics for such lists. Other lists
// go to the library; waiting for them uses its testing functions, with turns of Offramp's fabric in between.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>
#include <vector>

#include "lib/run/native/mpich_inner.hpp"
#include "lib/run/native/world_comm.hpp"

namespace offramp::mpich {
namespace {

bool has_ours(int count, const MPI_Request* requests) {
  return count > 0 && requests != nullptr && std::any_of(requests, requests + count, is_ours);
}

bool is_active(MPI_Request ours_or_null) {
  return offramp_native_request_inactive(ours_or_null) == 0;
}
bool is_done(MPI_Request ours_or_null) {
  return ours_or_null == MPI_REQUEST_NULL || is_complete(at(ours_or_null));
}
/// A request of Offramp that is active and complete.
bool has_ended(MPI_Request handle) {
  return is_ours(handle) && is_active(handle) && is_complete(at(handle));
}
int error_of(MPI_Request handle) {
  return has_ended(handle) ? at(handle).status.MPI_ERROR : MPI_SUCCESS;
}

MPI_Status* place_in(MPI_Status* statuses, int i) {
  return statuses != MPI_STATUSES_IGNORE ? &statuses[i] : MPI_STATUS_IGNORE;
}

/// Settles a request and raises the error of its operation. Returns the error.
int retire_one(MPI_Request& handle, MPI_Status* status, const char* function) {
  const int error = error_of(handle);
  const MPI_Comm comm = error != MPI_SUCCESS ? at(handle).comm : MPI_COMM_NULL;
  if (error != MPI_SUCCESS) {
    MPI_Request gone = handle;  // the error handler may read the program's handle
    fill_status(handle, status, true);
    if (at(handle).persistent == 0) handle = MPI_REQUEST_NULL;
    offramp_native_raise(comm, error, function);
    (void)retire(gone, MPI_STATUS_IGNORE, true);
    return error;
  }
  (void)retire(handle, status, true);
  return MPI_SUCCESS;
}

/// MPI_Waitall of the library's requests, with turns in between. It uses MPI_Testsome because MPI_Testall of
/// MPICH 4.0 fails during a persistent collective. Requests that have ended are not tested again: MPICH does
/// not treat a persistent collective as inactive. Like MPICH's, it waits for all requests even if some fail.
int wait_for_theirs(int count, MPI_Request* requests, MPI_Status* statuses) {
  std::vector<MPI_Request> left(requests, requests + count);
  std::vector<int> places(left.size());
  std::vector<MPI_Status> library_statuses(left.size());
  int result = MPI_SUCCESS;
  for (int i = 0; i < count; ++i) fill_status(MPI_REQUEST_NULL, place_in(statuses, i), false);
  for (;; progress_turn()) {
    int ended = 0;
    for (MPI_Status& status : library_statuses) status.MPI_ERROR = MPI_SUCCESS;
    const int code = library.Testsome(count, left.data(), &ended, places.data(), library_statuses.data());
    if (code != MPI_SUCCESS) result = code;
    if (ended == MPI_UNDEFINED || (code != MPI_SUCCESS && ended <= 0)) return result;
    for (std::size_t i = 0; i < static_cast<std::size_t>(ended); ++i) {
      requests[places[i]] = std::exchange(left[static_cast<std::size_t>(places[i])], MPI_REQUEST_NULL);
      if (statuses != MPI_STATUSES_IGNORE) statuses[places[i]] = library_statuses[i];
    }
  }
}

std::atomic<bool> has_partitioned = false;

/// MPI_Testall of the library's requests. For complete partitioned requests MPICH's function reports an error
/// that does not exist, so programs with such requests are tested one by one. Others are not, because only
/// MPI_Testall progresses file requests. ended: the number of complete requests at the start of the list,
/// from an earlier test.
int test_all_theirs(int count, MPI_Request* requests, MPI_Status* statuses, int* flag, int& ended) {
  if (!has_partitioned) return library.Testall(count, requests, flag, statuses);
  *flag = 0;
  for (; ended < count; ++ended) {
    int complete = 1;
    if (requests[ended] != MPI_REQUEST_NULL) {
      const int code = library.Request_get_status(requests[ended], &complete, MPI_STATUS_IGNORE);
      if (code != MPI_SUCCESS) return code;
    }
    if (complete == 0) return MPI_SUCCESS;
  }
  *flag = 1;
  return library.Waitall(count, requests, statuses);
}

/// The library's requests in a list.
class Theirs {
 public:
  Theirs(int count, const MPI_Request* requests) {
    for (int i = 0; i < count; ++i) {
      if (is_ours(requests[i]) || requests[i] == MPI_REQUEST_NULL) continue;
      handles.push_back(requests[i]);
      places.push_back(i);
    }
    statuses.resize(handles.size());
    indices.resize(handles.size());
  }
  [[nodiscard]] bool empty() const { return handles.empty(); }
  [[nodiscard]] int size() const { return static_cast<int>(handles.size()); }
  // Copies the handles back to the program's list: the library has set those of completed requests to null.
  void put_back(MPI_Request* requests) const {
    for (std::size_t i = 0; i < handles.size(); ++i) requests[places[i]] = handles[i];
  }
  /// MPI_Waitall of these requests. Fills `statuses`.
  int wait_all() { return wait_for_theirs(size(), handles.data(), statuses.data()); }
  /// MPI_Testall of these requests. Fills `statuses`.
  int test_all(int* flag) {
    for (MPI_Status& status : statuses) status.MPI_ERROR = MPI_SUCCESS;
    return test_all_theirs(size(), handles.data(), statuses.data(), flag, ended_);
  }

  std::vector<MPI_Request> handles;
  std::vector<int> places;
  std::vector<MPI_Status> statuses;
  std::vector<int> indices;

 private:
  int ended_ = 0;
};

/// The first request that ended with an error, or count.
int first_failed(int count, const MPI_Request* requests) {
  return static_cast<int>(std::find_if(requests, requests + count,
                                       [](MPI_Request handle) { return error_of(handle) != MPI_SUCCESS; }) -
                          requests);
}

bool all_done(int count, const MPI_Request* requests) {
  return std::all_of(requests, requests + count,
                     [](MPI_Request handle) { return !is_ours(handle) || is_done(handle); });
}

/// Ends MPI_Waitall or MPI_Testall: all have ended, or one has failed. theirs: with the results, if `asked`.
int retire_all(int count, MPI_Request* requests, MPI_Status* statuses, const Theirs& theirs, bool asked,
               int code, const char* function) {
  const int failed = first_failed(count, requests);
  const MPI_Comm comm = failed < count ? at(requests[failed]).comm : MPI_COMM_NULL;
  std::vector<MPI_Request> gone;  // released after the error handler
  for (int i = 0; i < count; ++i) {
    MPI_Request& handle = requests[i];
    if (handle != MPI_REQUEST_NULL && !is_ours(handle)) {
      // MPI's value for a request that has neither failed nor completed when the call fails.
      if (!asked && statuses != MPI_STATUSES_IGNORE) statuses[i].MPI_ERROR = MPI_ERR_PENDING;
    } else if (!is_done(handle)) {
      if (statuses != MPI_STATUSES_IGNORE) statuses[i].MPI_ERROR = MPI_ERR_PENDING;
    } else if (i == failed && at(handle).persistent == 0) {
      fill_status(handle, place_in(statuses, i), false);
      gone.push_back(handle);
      handle = MPI_REQUEST_NULL;
    } else {
      (void)retire(handle, place_in(statuses, i), false);
    }
  }
  if (asked) {
    theirs.put_back(requests);
    for (int i = 0; i < theirs.size() && statuses != MPI_STATUSES_IGNORE; ++i)
      statuses[theirs.places[static_cast<std::size_t>(i)]] = theirs.statuses[static_cast<std::size_t>(i)];
  }
  if (failed == count) return code;
  offramp_native_raise(comm, MPI_ERR_IN_STATUS, function);
  for (MPI_Request& handle : gone) (void)retire(handle, MPI_STATUS_IGNORE, false);
  return MPI_ERR_IN_STATUS;
}

// --- the library's ---
// An empty status has the error MPI_SUCCESS by the standard; MPICH does not set the field.

void complete_empty(MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE || status->MPI_SOURCE != MPI_ANY_SOURCE || status->MPI_TAG != MPI_ANY_TAG)
    return;
  if (offramp_native_status_bytes(status) == 0) status->MPI_ERROR = MPI_SUCCESS;
}

int test_theirs(MPI_Request* request, int* flag, MPI_Status* status) {
  const int code = library.Test(request, flag, status);
  if (code == MPI_SUCCESS && *flag != 0) complete_empty(status);
  return code;
}

void clear_errors(int count, MPI_Status* statuses) {
  for (int i = 0; i < count && statuses != MPI_STATUSES_IGNORE; ++i) statuses[i].MPI_ERROR = MPI_SUCCESS;
}

// --- one ---

int wait(MPI_Request* request, MPI_Status* status) {
  if (request == nullptr || !is_ours(*request)) {
    if (request == nullptr) return library.Wait(request, status);
    for (int flag = 0; has_progress(); progress_turn()) {
      const int code = test_theirs(request, &flag, status);
      if (code != MPI_SUCCESS || flag != 0) return code;
    }
    const int code = library.Wait(request, status);
    if (code == MPI_SUCCESS) complete_empty(status);
    return code;
  }
  while (!is_done(*request)) progress_turn();
  return retire_one(*request, status, "MPI_Wait");
}

int test(MPI_Request* request, int* flag, MPI_Status* status) {
  if (request == nullptr || flag == nullptr) return library.Test(request, flag, status);
  if (!is_ours(*request)) {
    if (has_progress()) progress_turn();
    return test_theirs(request, flag, status);
  }
  if (!is_done(*request)) progress_turn();
  *flag = is_done(*request) ? 1 : 0;
  return *flag != 0 ? retire_one(*request, status, "MPI_Test") : MPI_SUCCESS;
}

int get_status(MPI_Request request, int* flag, MPI_Status* status) {
  if (flag == nullptr) return library.Request_get_status(request, flag, status);
  if (!is_ours(request)) {
    if (has_progress()) progress_turn();
    const int code = library.Request_get_status(request, flag, status);
    if (code == MPI_SUCCESS && *flag != 0) complete_empty(status);
    return code;
  }
  if (!is_done(request)) progress_turn();
  *flag = is_done(request) ? 1 : 0;
  if (*flag != 0) fill_status(request, status, true);
  return MPI_SUCCESS;
}

int free_request(MPI_Request* request) {
  if (request == nullptr || !is_ours(*request)) return library.Request_free(request);
  if (*request == kCompleted) {
    *request = MPI_REQUEST_NULL;
  } else {
    release(*request);
  }
  return MPI_SUCCESS;
}

int cancel_request(MPI_Request* request) {
  if (request == nullptr || !is_ours(*request)) return library.Cancel(request);
  if (*request != kCompleted) cancel(*request);
  return MPI_SUCCESS;
}

// --- all ---

int wait_all(int count, MPI_Request requests[], MPI_Status statuses[]) {
  if (!has_ours(count, requests)) {
    clear_errors(count, statuses);
    if (!has_progress() || count <= 0 || requests == nullptr)
      return library.Waitall(count, requests, statuses);
    return wait_for_theirs(count, requests, statuses);
  }
  // A failed request ends the wait, as in Open MPI, even if others are still pending.
  while (!all_done(count, requests) && first_failed(count, requests) == count) progress_turn();
  Theirs theirs(count, requests);
  int code = MPI_SUCCESS;
  bool asked = first_failed(count, requests) == count || all_done(count, requests);
  if (asked && !theirs.empty()) code = theirs.wait_all();
  return retire_all(count, requests, statuses, theirs, asked, code, "MPI_Waitall");
}

int test_all(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  if (!has_ours(count, requests) || flag == nullptr) {
    if (has_progress()) progress_turn();
    clear_errors(count, statuses);
    if (flag == nullptr || count <= 0 || requests == nullptr)
      return library.Testall(count, requests, flag, statuses);
    int ended = 0;
    return test_all_theirs(count, requests, statuses, flag, ended);
  }
  *flag = 0;
  if (!all_done(count, requests)) progress_turn();
  const bool failed = first_failed(count, requests) < count;
  if (!failed && !all_done(count, requests)) return MPI_SUCCESS;
  Theirs theirs(count, requests);
  const bool asked = !failed;
  int code = MPI_SUCCESS;
  *flag = 1;
  if (asked && !theirs.empty()) {
    code = theirs.test_all(flag);
    if (code == MPI_SUCCESS && *flag == 0) return MPI_SUCCESS;
  }
  return retire_all(count, requests, statuses, theirs, asked, code, "MPI_Testall");
}

// --- any ---

/// Checks a list once. Returns true if the call can return. *index: the request that has ended, or
/// MPI_UNDEFINED if none is active.
bool look_any(int count, MPI_Request* requests, Theirs& theirs, int* index, MPI_Status* status,
              const char* function, int& code) {
  code = MPI_SUCCESS;
  // Offramp's requests are tested first, because that needs no call of the library.
  MPI_Request* const ended = std::find_if(requests, requests + count, has_ended);
  if (ended != requests + count) {
    *index = static_cast<int>(ended - requests);
    code = retire_one(*ended, status, function);
    return true;
  }
  int flag = 1;
  int which = MPI_UNDEFINED;
  if (!theirs.empty()) code = library.Testany(theirs.size(), theirs.handles.data(), &which, &flag, status);
  if (code != MPI_SUCCESS || (flag != 0 && which != MPI_UNDEFINED)) {
    *index = which != MPI_UNDEFINED ? theirs.places[static_cast<std::size_t>(which)] : MPI_UNDEFINED;
    theirs.put_back(requests);
    return true;
  }
  const bool waits = std::any_of(requests, requests + count,
                                 [](MPI_Request handle) { return is_ours(handle) && is_active(handle); });
  if (flag == 0 || waits) return false;
  *index = MPI_UNDEFINED;
  fill_status(MPI_REQUEST_NULL, status, true);
  return true;
}

/// Completes the library's result.
int fill_any_status(int code, const int* index, MPI_Status* status) {
  if (code == MPI_SUCCESS && index != nullptr && *index == MPI_UNDEFINED)
    fill_status(MPI_REQUEST_NULL, status, true);
  return code;
}

int wait_any(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  const bool ours = has_ours(count, requests);
  if (index == nullptr || (!ours && (!has_progress() || count <= 0 || requests == nullptr)))
    return fill_any_status(library.Waitany(count, requests, index, status), index, status);
  Theirs theirs(count, requests);
  int code = MPI_SUCCESS;
  while (!look_any(count, requests, theirs, index, status, "MPI_Waitany", code)) progress_turn();
  return code;
}

int test_any(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  if (!has_ours(count, requests) || index == nullptr || flag == nullptr) {
    if (has_progress()) progress_turn();
    const int code = library.Testany(count, requests, index, flag, status);
    return flag != nullptr && *flag != 0 ? fill_any_status(code, index, status) : code;
  }
  Theirs theirs(count, requests);
  int code = MPI_SUCCESS;
  bool found = look_any(count, requests, theirs, index, status, "MPI_Testany", code);
  if (!found) {
    progress_turn();
    found = look_any(count, requests, theirs, index, status, "MPI_Testany", code);
  }
  *flag = found ? 1 : 0;
  if (!found) *index = MPI_UNDEFINED;
  return code;
}

// --- some ---

/// Settles all requests that have ended. *outcount: MPI_UNDEFINED if none is active.
int look_some(int count, MPI_Request* requests, Theirs& theirs, int* outcount, int* indices,
              MPI_Status* statuses, const char* function) {
  int theirs_ended = MPI_UNDEFINED;
  int code = MPI_SUCCESS;
  if (!theirs.empty()) {
    for (MPI_Status& status : theirs.statuses) status.MPI_ERROR = MPI_SUCCESS;
    code = library.Testsome(theirs.size(), theirs.handles.data(), &theirs_ended, theirs.indices.data(),
                            theirs.statuses.data());
    if (code != MPI_SUCCESS && theirs_ended == MPI_UNDEFINED) return code;
  }
  int ended = 0;
  int error = MPI_SUCCESS;
  MPI_Comm comm = MPI_COMM_NULL;
  bool waits = false;
  std::vector<MPI_Request> gone;
  for (int i = 0; i < count; ++i) {
    MPI_Request& handle = requests[i];
    if (!is_ours(handle) || !is_active(handle)) continue;
    waits = true;
    if (!is_complete(at(handle))) continue;
    MPI_Status* const status = place_in(statuses, ended);
    indices[ended++] = i;
    if (error == MPI_SUCCESS && (error = at(handle).status.MPI_ERROR) != MPI_SUCCESS) {
      comm = at(handle).comm;
      if (at(handle).persistent == 0) {
        fill_status(handle, status, false);
        gone.push_back(handle);
        handle = MPI_REQUEST_NULL;
        continue;
      }
    }
    (void)retire(handle, status, false);
  }
  for (int i = 0; theirs_ended != MPI_UNDEFINED && i < theirs_ended; ++i) {
    const auto place = static_cast<std::size_t>(theirs.indices[static_cast<std::size_t>(i)]);
    requests[theirs.places[place]] = theirs.handles[place];
    if (statuses != MPI_STATUSES_IGNORE) statuses[ended] = theirs.statuses[static_cast<std::size_t>(i)];
    indices[ended++] = theirs.places[place];
  }
  *outcount = waits || theirs_ended != MPI_UNDEFINED ? ended : MPI_UNDEFINED;
  if (error == MPI_SUCCESS) return code;
  offramp_native_raise(comm, MPI_ERR_IN_STATUS, function);
  for (MPI_Request& handle : gone) (void)retire(handle, MPI_STATUS_IGNORE, false);
  return MPI_ERR_IN_STATUS;
}

int wait_some(int count, MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[]) {
  const bool ours = has_ours(count, requests);
  if (outcount == nullptr || indices == nullptr ||
      (!ours && (!has_progress() || count <= 0 || requests == nullptr)))
    return library.Waitsome(count, requests, outcount, indices, statuses);
  Theirs theirs(count, requests);
  for (;; progress_turn()) {
    const int code = look_some(count, requests, theirs, outcount, indices, statuses, "MPI_Waitsome");
    if (code != MPI_SUCCESS || *outcount != 0) return code;
  }
}

int test_some(int count, MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[]) {
  if (!has_ours(count, requests) || outcount == nullptr || indices == nullptr) {
    if (has_progress()) progress_turn();
    return library.Testsome(count, requests, outcount, indices, statuses);
  }
  Theirs theirs(count, requests);
  const int code = look_some(count, requests, theirs, outcount, indices, statuses, "MPI_Testsome");
  if (code != MPI_SUCCESS || *outcount != 0) return code;
  progress_turn();
  return look_some(count, requests, theirs, outcount, indices, statuses, "MPI_Testsome");
}

// --- start ---

int start_request(MPI_Request* request) {
  if (request == nullptr || !is_ours(*request)) return library.Start(request);
  if (offramp_native_request_startable(*request) == 0) {
    offramp_native_raise(mpi_world(), MPI_ERR_REQUEST, "MPI_Start");
    return MPI_ERR_REQUEST;
  }
  const MPI_Comm comm = at(*request).comm;
  const int code = start(*request);
  if (code != MPI_SUCCESS) offramp_native_raise(comm, code, "MPI_Start");
  return code;
}

int start_all(int count, MPI_Request requests[]) {
  if (!has_ours(count, requests)) return library.Startall(count, requests);
  for (int i = 0; i < count; ++i) {
    if (const int code = start_request(&requests[i]); code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

#ifdef OFFRAMP_HAS_Parrived
template <auto Entry, typename Pointer>
struct Partitioned;
template <auto Entry, typename... Arguments>
struct Partitioned<Entry, int (*)(Arguments...)> {
  static int init(Arguments... arguments) {
    has_partitioned = true;
    return (library.*Entry)(arguments...);
  }
};

/// A program may poll until the partition has arrived, and the sender may be waiting for Offramp's fabric.
int has_arrived(MPI_Request request, int partition, int* flag) {
  if (has_progress()) progress_turn();
  return library.Parrived(request, partition, flag);
}
#endif

// --- messages ---

bool is_own_message(const MPI_Message* message) {
  return message != nullptr && kind_of(*message) == kMessageKind;
}

/// Offramp's messages only come here with invalid arguments, which the library reports for any message.
template <typename Form>
int receive_matched(void* buffer, typename Form::Count count, MPI_Datatype type, MPI_Message* message,
                    MPI_Status* status) {
  MPI_Message any = MPI_MESSAGE_NO_PROC;
  return (library.*Form::Mrecv)(buffer, count, type, is_own_message(message) ? &any : message, status);
}
template <typename Form>
int start_receive_matched(void* buffer, typename Form::Count count, MPI_Datatype type, MPI_Message* message,
                          MPI_Request* request) {
  MPI_Message any = MPI_MESSAGE_NO_PROC;
  return (library.*Form::Imrecv)(buffer, count, type, is_own_message(message) ? &any : message, request);
}

}  // namespace

void replace_completion(MpiTable& table) {
  table.Wait = wait;
  table.Test = test;
  table.Request_get_status = get_status;
  table.Request_free = free_request;
  table.Cancel = cancel_request;
  table.Waitall = wait_all;
  table.Testall = test_all;
  table.Waitany = wait_any;
  table.Testany = test_any;
  table.Waitsome = wait_some;
  table.Testsome = test_some;
  table.Start = start_request;
  table.Startall = start_all;
#ifdef OFFRAMP_HAS_Parrived
  table.Parrived = has_arrived;
  table.Psend_init = Partitioned<&MpiTable::Psend_init, decltype(table.Psend_init)>::init;
  table.Precv_init = Partitioned<&MpiTable::Precv_init, decltype(table.Precv_init)>::init;
#endif
  table.Mrecv = receive_matched<IntForm>;
  table.Imrecv = start_receive_matched<IntForm>;
  table.Mrecv_c = receive_matched<LargeForm>;
  table.Imrecv_c = start_receive_matched<LargeForm>;
}

}  // namespace offramp::mpich
