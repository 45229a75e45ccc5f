// Progress for the MPI library, the hang report (reads the clock every 1024 idle turns), and MPI error codes.
#include "lib/run/mpi/runtime/session.hpp"

#include <fmt/core.h>

#include <cstdio>

#include "lib/run/native/pmpi.hpp"

namespace offramp {

Session* Session::current = nullptr;

Session::Session(Configuration configuration, const Registry& registry, SessionParts parts)
    : fabric_(std::move(parts.fabric)),
      engine_(*fabric_, std::move(parts.lane)),
      recorder_(std::move(parts.recorder)),
      settled_clock_(std::move(parts.settled_clock)),
      marshal_(engine_),
      sync_groups_(engine_),
      settings_(std::move(parts.settings)),
      configuration_(std::move(configuration)),
      registry_(registry),
      threads_(parts.threads),
      carries_(parts.carries),
      yields_(offramp_native_yields() != 0) {
  marshal_.moves_payload = carries_;
  marshal_.native_reductions = configuration_.reductions == Reductions::kNative;
  if (configuration_.certificate) engine_.certify();
}

std::optional<std::uint32_t> Session::end_claim(MPI_Message handle) {
  const auto found = claimed_.find(handle);
  if (found == claimed_.end()) return std::nullopt;
  const std::uint32_t request = found->second;
  claimed_.erase(found);
  return request;
}

void Session::Mutex::lock() {
  mutex_.lock();
  if (session_.recorder_ != nullptr) session_.recorder_->switch_to_this_thread();
}

bool Session::Mutex::try_lock() {
  if (!mutex_.try_lock()) return false;
  if (session_.recorder_ != nullptr) session_.recorder_->switch_to_this_thread();
  return true;
}

// --- progress ---

int Session::step_polled() {
  // A step may call the library, which calls back into progress().
  if (progressing_) return 0;
  progressing_ = true;
  const auto ended = std::erase_if(polled_, [](const auto& step) { return step(); });
  progressing_ = false;
  return static_cast<int>(ended);
}

int Session::progress_from_library() {
  // Another thread that has the lock makes progress itself. Waiting for it here could block: it may wait for
  // the library, which this thread is in.
  if (threads_ && !mutex_.try_lock()) return 0;
  const Lock guard(*this);  // locks again: the mutex is recursive
  if (threads_) mutex_.unlock();
  const int events = progress();
  if (events == 0) watch();
  return events;
}

int Session::fault_code() {
  const Lock guard(*this);
  // One code serves all faults; its text is that of the last one.
  if (fault_code_ == MPI_SUCCESS && pmpi::Add_error_code(MPI_ERR_OTHER, &fault_code_) != MPI_SUCCESS)
    return MPI_ERR_OTHER;
  const std::string text = engine_.last_fault().substr(0, MPI_MAX_ERROR_STRING - 1);
  // Also prints the first error: when several ranks end at once, Open MPI may lose its own messages.
  if (!std::exchange(fault_reported_, true)) {
    (void)std::fprintf(stderr, "%s\n", text.c_str());
    (void)std::fflush(stderr);
  }
  pmpi::Add_error_string(fault_code_, text.c_str());
  return fault_code_;
}

void Session::make_records() {
  records_.push_back(std::make_unique<BlockingRecords>());
  idle_records_ = records_.back().get();
}

// --- hang report ---

void Session::watch() {
  constexpr std::uint32_t kTurnsPerLook = 1024;
  // Set by a signal handler, which may not print.
  if (report_requested_ != 0) {
    report_requested_ = 0;
    print_hang_report("on request");
  }
  if (configuration_.hang_timeout <= 0 || ++watches_ % kTurnsPerLook != 0) return;
  const auto now = std::chrono::steady_clock::now();
  const std::uint64_t generation = generation_.load(std::memory_order_relaxed);
  // The process has entered another call since the last look, so it does not hang.
  if (generation != seen_generation_) {
    seen_generation_ = generation;
    seen_since_ = now;
    return;
  }
  const double waited = std::chrono::duration<double>(now - seen_since_).count();
  const bool inside =
      function_.load(std::memory_order_relaxed) != static_cast<std::uint16_t>(Function::kCount);
  // A rank that computes for long is no hang, and each wait is reported once.
  if (!inside || waited < configuration_.hang_timeout || reported_generation_ == generation) return;
  reported_generation_ = generation;
  print_hang_report(fmt::format("after {:.1f} s", waited).c_str());
}

void Session::print_hang_report(const char* why) {
  const std::uint16_t function = function_.load(std::memory_order_relaxed);
  const bool inside = function < static_cast<std::uint16_t>(Function::kCount);
  const std::string text = fmt::format(
      "offramp: rank {} of {} waits in {} ({}, backend {}):\n{}", engine_.rank(), engine_.ranks(),
      inside ? kFunctionNames[function] : "no MPI call", why, engine_.lane().name(), engine_.describe());
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
  (void)std::fflush(stderr);
}

// --- calls ---

NativeCall::NativeCall(Function function, CallPlace place) : function_(function) {
  Session& session = *Session::current;
  const Session::Lock guard(session);
  session.library_has_work();
  session.entered(function);
  if (session.recorder() != nullptr) session.recorder()->enter(function, place);
  CallCounter& counter = session.counter(function);
  ++counter.count;
  ++counter.native;
}

NativeCall::~NativeCall() {
  Session& session = *Session::current;
  const Session::Lock guard(session);
  session.left();
  if (session.recorder() != nullptr) session.recorder()->leave(function_);
}

bool is_outside(Session& session, MPI_Comm comm) {
  const Session::Lock guard(session);
  return comm != MPI_COMM_NULL && session.marshal().communicators.find(comm) == nullptr;
}

void note_outside(Session& session, Function function, std::int64_t count, MPI_Datatype type) {
  if (session.recorder() == nullptr) return;
  const Session::Lock guard(session);
  session.recorder()->communicates(function, session.marshal().bytes_of(count, type));
}

int error_code(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk:
    case Outcome::kCancelled:
      return MPI_SUCCESS;
    case Outcome::kTruncated:
      return MPI_ERR_TRUNCATE;
    case Outcome::kFault:
      break;
  }
  return Session::current->fault_code();
}

int raise_error(Function function, MPI_Comm comm, int code) {
  if (code != MPI_SUCCESS)
    offramp_native_raise(comm, code, kFunctionNames[static_cast<std::size_t>(function)]);
  return code;
}

}  // namespace offramp
