// MPICH 4 through its public interface: progress, Offramp's own requests and messages, errors.
#include <dlfcn.h>
#include <link.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "lib/run/native/mpich_inner.hpp"

char* offramp_mpich_requests = nullptr;
uintptr_t offramp_mpich_code_begin = 0;
uintptr_t offramp_mpich_code_bytes = 0;

namespace offramp {
namespace mpich {

MpiTable library;

namespace {

static_assert(sizeof(offramp_mpich_request) <= kOfframpRequestBytes);

offramp_callbacks callbacks;

// --- memory of requests ---

// Handles are indices, so the number of requests is bounded by their 26 bits. Addresses cost nothing until
// they have memory.
constexpr std::size_t kMostRequests = std::size_t{1} << kOfframpHandleBits;
constexpr std::size_t kLeastRequests = std::size_t{1} << 20;
std::size_t reserved = 0;  // reserved addresses, in cache lines
std::size_t usable = 0;    // cache lines with memory
std::size_t used = 1;      // cache lines in use; the first is the shared complete request
std::vector<MPI_Request>& made_requests() {
  static auto& made = *new std::vector<MPI_Request>;  // used until the process ends
  return made;
}

/// Reserves addresses for requests, fewer if address space is limited.
bool reserve() {
  for (std::size_t lines = kMostRequests; offramp_mpich_requests == nullptr && lines >= kLeastRequests;
       lines /= 2) {
    void* const at = mmap(nullptr, lines * kOfframpRequestAlignment, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) continue;
    offramp_mpich_requests = static_cast<char*>(at);
    reserved = lines;
  }
  return offramp_mpich_requests != nullptr;
}

bool grow(std::size_t lines) {
  constexpr std::size_t kStep = std::size_t{1} << 14;  // 1 MiB
  if (used + lines <= usable) return true;
  const std::size_t more = std::max(kStep, lines);
  if (usable + more > reserved) return false;
  char* const at = offramp_mpich_requests + usable * kOfframpRequestAlignment;
  if (mprotect(at, more * kOfframpRequestAlignment, PROT_READ | PROT_WRITE) != 0) return false;
  usable += more;
  return true;
}

// --- progress ---

int (*progress_callback)() = nullptr;
MPI_Request turned = MPI_REQUEST_NULL;  // never completes: testing it drives progress

int query_empty_status(void*, MPI_Status* status) {
  PMPI_Status_set_elements(status, MPI_BYTE, 0);
  PMPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
int free_nothing(void*) {
  return MPI_SUCCESS;
}
int cancel_nothing(void*, int) {
  return MPI_SUCCESS;
}

// True if the ranks of this node have fewer cores than there are ranks.
bool shares_cores() {
  const char* const ranks = std::getenv("MPI_LOCALNRANKS");  // set by the launcher
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (ranks == nullptr || sched_getaffinity(0, sizeof cores, &cores) != 0) return false;
  return std::strtol(ranks, nullptr, 10) > CPU_COUNT(&cores);
}

void (*on_fatal_error_callback)(const char* function) = nullptr;

// --- messages ---

struct MatchedMessage {
  MPI_Comm comm = MPI_COMM_NULL;
  void* payload = nullptr;  // null: unused
};
std::mutex messages_mutex;
std::vector<MatchedMessage>& messages() {
  static auto& all = *new std::vector<MatchedMessage>;
  return all;
}
MatchedMessage message_of(MPI_Message handle) {
  const std::scoped_lock guard(messages_mutex);
  return messages()[static_cast<unsigned>(handle) & kOfframpHandleMask];
}

// --- the library's code ---

int find_code(dl_phdr_info* object, std::size_t, void* address) {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    const uintptr_t begin = object->dlpi_addr + part.p_vaddr;
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0 || wanted - begin >= part.p_memsz) continue;
    offramp_mpich_code_begin = begin;
    offramp_mpich_code_bytes = part.p_memsz;
    return 1;
  }
  return 0;
}

}  // namespace

bool has_progress() {
  return progress_callback != nullptr;
}

const offramp_callbacks& session_callbacks() {
  return callbacks;
}

void turn_library() {
  int flag = 0;
  if (turned == MPI_REQUEST_NULL)
    PMPI_Grequest_start(query_empty_status, free_nothing, cancel_nothing, nullptr, &turned);
  library.Request_get_status(turned, &flag, MPI_STATUS_IGNORE);
}

void progress_turn() {
  // Offramp is asked first, because the program usually waits for one of its messages.
  const int events = progress_callback != nullptr ? progress_callback() : 0;
  turn_library();
  if (events == 0 && offramp_native_yields() != 0) sched_yield();
}

void fill_status(MPI_Request handle, MPI_Status* status, bool alone) {
  if (status == MPI_STATUS_IGNORE) return;
  if (offramp_native_request_inactive(handle) != 0) {
    offramp_native_status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, 0);
    status->MPI_ERROR = MPI_SUCCESS;
    return;
  }
  // MPI leaves MPI_ERROR alone in calls for one request, and sets it in those for several.
  const int before = status->MPI_ERROR;
  *status = at(handle).status;
  if (alone) status->MPI_ERROR = before;
}

void release(MPI_Request& handle) {
  const MPI_Request own = std::exchange(handle, MPI_REQUEST_NULL);
  const offramp_mpich_request& r = at(own);
  // An incomplete active request is freed by the program and recycled when it completes.
  callbacks.released(offramp_native_request_body(own), r.active != 0 && !is_complete(r) ? 1 : 0);
}

void cancel(MPI_Request own) {
  callbacks.cancel(offramp_native_request_body(own));
}

int start(MPI_Request own) {
  return callbacks.start(offramp_native_request_body(own));
}

bool retire(MPI_Request& handle, MPI_Status* status, bool alone) {
  const bool inactive = offramp_native_request_inactive(handle) != 0;
  fill_status(handle, status, alone && !inactive);
  if (inactive) return false;
  if (handle == kCompleted) {
    handle = MPI_REQUEST_NULL;
    return false;
  }
  offramp_mpich_request& r = at(handle);
  if (r.persistent == 0) {
    release(handle);
    return false;
  }
  r.active = 0;
  return true;
}

void replace_communicator(MPI_Comm old, MPI_Comm (*make)(MPI_Comm)) {
  // The communicators that stand in for freed ones. Only called with the session's lock.
  static std::vector<MPI_Comm> made;
  std::vector<MPI_Comm*> users;
  for (const MPI_Request handle : made_requests()) users.push_back(&at(handle).comm);
  const std::scoped_lock guard(messages_mutex);
  for (MatchedMessage& message : messages()) users.push_back(&message.comm);
  const auto is_used = [&users](MPI_Comm comm) {
    return std::any_of(users.begin(), users.end(), [comm](const MPI_Comm* user) { return *user == comm; });
  };
  std::erase_if(made,
                [&](MPI_Comm& comm) { return !is_used(comm) && library.Comm_free(&comm) == MPI_SUCCESS; });
  if (!is_used(old)) return;
  made.push_back(make(old));
  for (MPI_Comm* const user : users) {
    if (*user == old) *user = made.back();
  }
}

}  // namespace mpich

void replace_natives(MpiTable& table) {
  mpich::library = table;
  // The address range of the library shows whether a call comes from within it (offramp_native_is_inside()).
  dl_iterate_phdr(mpich::find_code, reinterpret_cast<void*>(&PMPI_Get_library_version));
  mpich::replace_completion(table);
  mpich::replace_handles(table);
  mpich::replace_blocking(table);
}

}  // namespace offramp

using namespace offramp::mpich;  // NOLINT(google-build-using-namespace): what follows are functions of C

extern "C" {

// --- the library ---

int offramp_native_supports(int (*get_library_version)(char* version, int* length)) {
  static char version[65536];
  int length = 0;
  const int code = get_library_version(version, &length);
  version[sizeof version - 1] = '\0';
  constexpr const char* kName = "MPICH Version:";
  if (code != MPI_SUCCESS || std::strncmp(version, kName, std::strlen(kName)) != 0) return 0;
  return std::strtol(version + std::strlen(kName), nullptr, 10) == 4 ? 1 : 0;
}

const char* offramp_native_name(void) {
  return "MPICH 4";
}

int offramp_native_session_meets_init(void) {
  return 1;
}

int offramp_native_reduce_local(const void* in, void* inout, int count, MPI_Datatype type, MPI_Op op) {
  return PMPI_Reduce_local(in, inout, count, type, op);
}

void offramp_native_reduce_apart(MPI_Comm) {}

const char* offramp_native_check(void) {
  if (offramp_native_supports(PMPI_Get_library_version) == 0) return "the MPI library is not MPICH 4";
  if (!reserve() || !grow(1)) return "there are no addresses for its requests";
  at(kCompleted).complete = 1;
  at(kCompleted).active = 1;
  offramp_native_status_set(&at(kCompleted).status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, 0);
  return nullptr;
}

/* UCX if the library uses it. */
const void* offramp_native_inner_library(void) {
  const void* const ucx = dlsym(RTLD_DEFAULT, "ucs_debug_disable_signals");
  return ucx != nullptr ? ucx : reinterpret_cast<const void*>(&PMPI_Get_library_version);
}

// --- progress ---

int offramp_native_progress_register(int (*callback)(void)) {
  progress_callback = callback;
  return 0;
}

int offramp_native_progress_unregister(int (*callback)(void)) {
  if (progress_callback != callback) return -1;
  progress_callback = nullptr;
  if (turned == MPI_REQUEST_NULL) return 0;
  PMPI_Grequest_complete(turned);
  return library.Wait(&turned, MPI_STATUS_IGNORE);
}

void offramp_native_progress(void) {
  if (progress_callback != nullptr) progress_callback();
  turn_library();
}

/* MPICH itself never yields. */
int offramp_native_yields(void) {
  static const bool yields = shares_cores();
  return yields ? 1 : 0;
}

// --- requests ---

void offramp_native_open(const offramp_callbacks* functions) {
  callbacks = *functions;
}

MPI_Request offramp_native_request_make(size_t body_bytes) {
  const std::size_t lines =
      (kOfframpRequestBytes + body_bytes + kOfframpRequestAlignment - 1) / kOfframpRequestAlignment;
  if (!grow(lines)) return MPI_REQUEST_NULL;
  const auto handle = static_cast<MPI_Request>(kRequestKind | static_cast<unsigned>(used));
  used += lines;
  at(handle).comm = MPI_COMM_NULL;
  made_requests().push_back(handle);
  return handle;
}

void offramp_native_request_begin(MPI_Request handle, MPI_Comm comm, int persistent) {
  offramp_mpich_request& r = at(handle);
  r.comm = comm;
  r.persistent = persistent != 0 ? 1 : 0;
  r.active = persistent != 0 ? 0 : 1;
  r.complete = persistent != 0 ? 1 : 0;
  r.status.MPI_ERROR = MPI_SUCCESS;
}
void offramp_native_request_end(MPI_Request handle) {
  at(handle).comm = MPI_COMM_NULL;
}
MPI_Request offramp_native_request_completed(void) {
  return kCompleted;
}
/* Shared requests are built-in objects. */
int offramp_native_request_is_shared(MPI_Request theirs) {
  constexpr unsigned kBuiltin = 1;
  return static_cast<unsigned>(theirs) >> 30 == kBuiltin ? 1 : 0;
}
int offramp_native_request_is_own(MPI_Request handle) {
  return is_own(handle) ? 1 : 0;
}
int offramp_native_request_inactive(MPI_Request handle) {
  return handle == MPI_REQUEST_NULL || (is_own(handle) && at(handle).active == 0) ? 1 : 0;
}
int offramp_native_request_startable(MPI_Request handle) {
  return is_own(handle) && at(handle).persistent != 0 && at(handle).active == 0 ? 1 : 0;
}
MPI_Comm offramp_native_request_comm(MPI_Request own) {
  return at(own).comm;
}
void offramp_native_request_activate(MPI_Request handle) {
  offramp_mpich_request& r = at(handle);
  r.complete = 0;
  r.active = 1;
  r.status.MPI_ERROR = MPI_SUCCESS;
}
void offramp_native_request_finish(MPI_Request handle, int source, int tag, int error, size_t bytes,
                                   int cancelled) {
  offramp_mpich_request& r = at(handle);
  offramp_native_status_set(&r.status, source, tag, bytes, cancelled);
  r.status.MPI_ERROR = error;
  // Pairs with is_complete(): another thread that sees the completion sees the status.
  __atomic_store_n(&r.complete, 1, __ATOMIC_RELEASE);
}

int offramp_native_request_complete(MPI_Request handle) {
  if (is_ours(handle)) return is_complete(at(handle)) ? 1 : 0;
  int flag = 1;
  if (handle != MPI_REQUEST_NULL) library.Request_get_status(handle, &flag, MPI_STATUS_IGNORE);
  return flag;
}
int offramp_native_request_pending(MPI_Request handle) {
  return is_own(handle) && !is_complete(at(handle)) ? 1 : 0;
}
int offramp_native_request_error(MPI_Request handle) {
  if (is_ours(handle)) return at(handle).status.MPI_ERROR;
  MPI_Status status{};
  int flag = 0;
  library.Request_get_status(handle, &flag, &status);
  return status.MPI_ERROR;
}

/* MPICH refuses to free the request of a collective. */
void offramp_native_request_drop(MPI_Request request) {
  library.Wait(&request, MPI_STATUS_IGNORE);
}

int offramp_native_requests_first_pending(int from, int count, const MPI_Request* requests) {
  while (from < count && (requests[from] == MPI_REQUEST_NULL || is_complete(at(requests[from])))) ++from;
  return from;
}

int offramp_native_requests_look(int count, const MPI_Request* requests) {
  int first = count;
  // From the back, so that the last assignment is the first incomplete request.
  for (int i = count - 1; i >= 0; --i) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    if (!is_ours(requests[i]) || at(requests[i]).status.MPI_ERROR != MPI_SUCCESS) return -1;
    if (!is_complete(at(requests[i]))) first = i;
  }
  return first;
}

int offramp_native_requests_settle(int count, MPI_Request* requests, MPI_Status* statuses) {
  int stay = 0;
  for (int i = 0; i < count; ++i)
    stay += retire(requests[i], statuses != MPI_STATUSES_IGNORE ? &statuses[i] : MPI_STATUS_IGNORE, false)
                ? 1
                : 0;
  return stay;
}

int offramp_native_request_settle(MPI_Request* request, MPI_Status* status) {
  return retire(*request, status, true) ? 1 : 0;
}

// --- errors ---

void offramp_native_watch_fatal_errors(void (*callback)(const char* function)) {
  on_fatal_error_callback = callback;
}

/* MPICH's own text would name the function called here. */
void offramp_native_raise(MPI_Comm comm, int code, const char* function) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  PMPI_Comm_get_errhandler(comm, &handler);
  const bool fatal = handler == MPI_ERRORS_ARE_FATAL;
  PMPI_Errhandler_free(&handler);
  if (fatal) {
    if (on_fatal_error_callback != nullptr) on_fatal_error_callback(function);
    (void)std::fprintf(stderr, "offramp: An error occurred in %s, which ends the job\n", function);
    (void)std::fflush(stderr);
  }
  PMPI_Comm_call_errhandler(comm, code);
}

// --- matched messages ---

MPI_Message offramp_native_message_take(MPI_Comm comm, void* payload, int, size_t) {
  const std::scoped_lock guard(messages_mutex);
  // Free places are reused, so handles stay small.
  std::vector<MatchedMessage>& all = messages();
  auto free =
      std::find_if(all.begin(), all.end(), [](const MatchedMessage& m) { return m.payload == nullptr; });
  if (free == all.end()) free = all.emplace(all.end());
  *free = {comm, payload};
  return static_cast<MPI_Message>(kMessageKind | static_cast<unsigned>(free - all.begin()));
}
void* offramp_native_message_payload(MPI_Message message) {
  return message_of(message).payload;
}
MPI_Comm offramp_native_message_comm(MPI_Message message) {
  return message_of(message).comm;
}
void offramp_native_message_release(MPI_Message message) {
  const std::scoped_lock guard(messages_mutex);
  messages()[static_cast<unsigned>(message) & kOfframpHandleMask] = {};
}

}  // extern "C"
