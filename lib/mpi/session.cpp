#include "lib/mpi/session.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <utility>

#include "lib/mpi/pmpi.hpp"
#include "lib/native/native.h"

namespace offramp {

MpiTable native;
MpiTable dispatch;
Session* Session::current = nullptr;

int pmpi::Type_free(MPI_Datatype* type) {
  return native.Type_free(type);
}

Session::Session(Configuration configuration, std::unique_ptr<UcxFabricBase> fabric, Observers observers,
                 std::vector<std::unique_ptr<Lane>> lanes, bool threads)
    : fabric_(std::move(fabric)),
      observers_(std::move(observers)),
      engine(*fabric_, std::move(lanes)),
      communicators(engine),
      meetings(engine),
      configuration_(std::move(configuration)),
      threads_(threads) {
  engine.log = observers_.receipts.get();
  engine.shows_payload = observers_.capture != nullptr;
  restart_compute_time();
}

// --- progress ---

int Session::progress() {
  // A step may call the MPI library, whose progress engine calls back into here.
  if (progressing_) return 0;
  progressing_ = true;
  int events = engine.progress();
  if (!polled_.empty())
    events += static_cast<int>(std::erase_if(polled_, [](const auto& step) { return step(); }));
  progressing_ = false;
  return events;
}

int Session::progress_alone() {
  if (progressing_) return 0;
  progressing_ = true;
  const int events = engine.progress();
  progressing_ = false;
  return events;
}

int Session::progress_from_library() {
  Lock guard;
  if (threads_) {
    guard = Lock(mutex_, std::try_to_lock);
    if (!guard.owns_lock()) return 0;
  }
  const int events = progress();
  if (events == 0) watch();
  return events;
}

bool Session::progress_in_place_of_library() {
  if (library_has_work_ || !polled_.empty() || ++turns_alone_ % kTurnsAlone == 0) return false;
  progress();
  return true;
}

int Session::fault_code() {
  if (fault_code_ == MPI_SUCCESS && pmpi::Add_error_code(MPI_ERR_OTHER, &fault_code_) != MPI_SUCCESS)
    return MPI_ERR_OTHER;
  const std::string text = engine.last_fault().substr(0, MPI_MAX_ERROR_STRING - 1);
  // The first one also in the clear: when several ranks end at once, Open MPI's own messages get lost at
  // times.
  if (!std::exchange(fault_told_, true)) {
    (void)std::fprintf(stderr, "%s\n", text.c_str());
    (void)std::fflush(stderr);
  }
  pmpi::Add_error_string(fault_code_, text.c_str());
  return fault_code_;
}

std::unique_ptr<BlockingRecords> Session::take_records() {
  if (records_.empty()) return std::make_unique<BlockingRecords>();
  std::unique_ptr<BlockingRecords> records = std::move(records_.back());
  records_.pop_back();
  return records;
}

// --- hang report ---

void Session::entered(Function function) {
  function_.store(static_cast<std::uint16_t>(function), std::memory_order_relaxed);
  // Not one atomic step, which would cost more than all the rest here: it only has to change.
  generation_.store(generation_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void Session::left() {
  function_.store(static_cast<std::uint16_t>(Function::kCount), std::memory_order_relaxed);
}

void Session::watch() {
  constexpr std::uint32_t kTurnsPerLook = 1024;
  if (report_requested_ != 0) {
    report_requested_ = 0;
    print_hang_report("on request");
  }
  if (configuration_.hang_timeout <= 0 || ++watches_ % kTurnsPerLook != 0) return;
  const auto now = std::chrono::steady_clock::now();
  const std::uint64_t generation = generation_.load(std::memory_order_relaxed);
  if (generation != seen_generation_) {
    seen_generation_ = generation;
    seen_since_ = now;
    return;
  }
  const double waited = std::chrono::duration<double>(now - seen_since_).count();
  const bool inside =
      function_.load(std::memory_order_relaxed) != static_cast<std::uint16_t>(Function::kCount);
  if (!inside || waited < configuration_.hang_timeout || reported_generation_ == generation) return;
  reported_generation_ = generation;
  print_hang_report(fmt::format("after {:.1f} s", waited).c_str());
}

void Session::print_hang_report(const char* why) {
  const std::uint16_t function = function_.load(std::memory_order_relaxed);
  const bool inside = function < static_cast<std::uint16_t>(Function::kCount);
  const std::string text = fmt::format(
      "offramp: rank {} of {} waits in {} ({}, backend {}):\n{}", engine.rank(), engine.ranks(),
      inside ? kFunctionNames[function] : "no MPI call", why, engine.lane(0).name(), engine.describe());
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
  (void)std::fflush(stderr);
}

// --- compute time ---

namespace {
Time cpu_time() {
  std::timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return Time::ns(static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec);
}
}  // namespace

void Session::add_compute_time() {
  if (configuration_.compute.kind == Compute::Kind::kNone) return;
  const Time spent = cpu_time() - cpu_;
  const double factor =
      configuration_.compute.kind == Compute::Kind::kFactor ? configuration_.compute.factor : 1;
  const Time modelled = Time::ps(static_cast<std::int64_t>(static_cast<double>(spent.count()) * factor));
  for (auto& lane : engine.lanes()) lane->clock += modelled;
}

void Session::add_query_time() {
  constexpr Time kQuery = Time::ns(20);  // assumed: a load from the host's own memory and a branch or two
  if (configuration_.clock != Clock::kModel) return;
  for (auto& lane : engine.lanes()) lane->clock += kQuery;
}

void Session::restart_compute_time() {
  if (configuration_.compute.kind != Compute::Kind::kNone) cpu_ = cpu_time();
}

// --- calls ---

Call::Call(Function function)
    : session(*Session::current), engine(session.engine), lock_(session.lock()), function_(function) {
  session.add_compute_time();
  session.entered(function);
  engine.function = static_cast<std::uint16_t>(function);
  Time* began = began_.data();
  for (const auto& lane : engine.lanes()) {
    *began++ = lane->clock;
    ++lane->counters.calls[engine.function].count;
  }
  if (ReceiptRecorder* const receipts = session.observers().receipts.get(); receipts != nullptr)
    number_ = receipts->enter();
}

Call::~Call() {
  const Time ended = engine.lane(0).clock;
  const char* const name = kFunctionNames[static_cast<std::size_t>(function_)];
  if (TraceRecorder* const trace = session.observers().trace.get(); trace != nullptr && ended > began_[0])
    trace->record({"MPI", name, began_[0], ended, 0});
  if (ReceiptRecorder* const receipts = session.observers().receipts.get(); receipts != nullptr)
    receipts->leave(number_, name, began_[0], ended);
  const Time* began = began_.data();
  for (const auto& lane : engine.lanes())
    lane->counters.calls[static_cast<std::uint16_t>(function_)].modelled += lane->clock - *began++;
  if (engine.certificate != nullptr) certify();
  session.left();
  session.restart_compute_time();
}

void Call::certify() {
  engine.certificate->note({static_cast<std::uint64_t>(function_)});
  for (std::size_t i = 0; i < engine.lanes().size(); ++i)
    engine.certificate->note_time(i, engine.lane(i).clock);
}

void Call::relock() {
  if (lock_.mutex() != nullptr && !lock_.owns_lock()) lock_.lock();
  engine.function = static_cast<std::uint16_t>(function_);
  if (ReceiptRecorder* const receipts = session.observers().receipts.get(); receipts != nullptr)
    receipts->resume(number_);
}

void Call::yield() {
  if (lock_.owns_lock()) lock_.unlock();
  offramp_native_progress();
  relock();
  session.watch();
}

NativeCall::NativeCall(Function function) {
  Session& session = *Session::current;
  const auto guard = session.lock();
  session.library_has_work();
  session.add_compute_time();
  session.entered(function);
  for (auto& lane : session.engine.lanes()) {
    CallCounter& counter = lane->counters.calls[static_cast<std::uint16_t>(function)];
    ++counter.count;
    ++counter.native;
  }
  if (session.engine.certificate != nullptr)
    session.engine.certificate->note({static_cast<std::uint64_t>(function)});
}

NativeCall::~NativeCall() {
  Session::current->left();
  Session::current->restart_compute_time();
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

int finish(MPI_Comm comm, Outcome outcome) {
  const int code = error_code(outcome);
  if (code != MPI_SUCCESS) pmpi::Comm_call_errhandler(comm, code);
  return code;
}

}  // namespace offramp
