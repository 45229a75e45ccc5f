#include "lib/mpi/session.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <ctime>
#include <utility>

#include "lib/mpi/pmpi.hpp"

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
      notes_calls_(observers_.trace != nullptr || observers_.receipts != nullptr ||
                   configuration_.certificate || configuration_.compute.kind != Compute::Kind::kNone ||
                   engine.lanes().size() > 1),
      threads_(threads),
      yields_(offramp_native_yields() != 0) {
  engine.log = observers_.log();
  engine.shows_payload = observers_.capture != nullptr;
  restart_compute_time();
}

// --- progress ---

int Session::step_polled() {
  if (progressing_) return 0;
  progressing_ = true;
  const auto ended = std::erase_if(polled_, [](const auto& step) { return step(); });
  progressing_ = false;
  return static_cast<int>(ended);
}

int Session::progress_from_library() {
  if (threads_ && !mutex_.try_lock()) return 0;
  const Lock guard(threads_ ? &mutex_ : nullptr);
  const int events = progress();
  if (events == 0) watch();
  return events;
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

void Session::make_records() {
  records_.push_back(std::make_unique<BlockingRecords>());
  idle_records_ = records_.back().get();
}

// --- hang report ---

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

void Session::restart_compute_time() {
  if (configuration_.compute.kind != Compute::Kind::kNone) cpu_ = cpu_time();
}

// --- calls ---

struct Session::CallNotes : detail::Pooled {
  std::uint64_t number = 0;             // for its receipt
  std::array<Time, kMaxLanes> began{};  // of all lanes but the first
};

Session::CallNotes* Session::note_begin(Function function) {
  add_compute_time();
  auto notes = std::make_unique<CallNotes>();
  for (std::size_t i = 1; i < engine.lanes().size(); ++i) {
    notes->began[i] = engine.lane(i).clock;
    ++counter(i, function).count;
  }
  if (observers_.receipts != nullptr) notes->number = observers_.receipts->enter();
  return notes.release();
}

void Session::note_resumption(const CallNotes& notes) {
  if (observers_.receipts != nullptr) observers_.receipts->resume(notes.number);
}

void Session::note_end(Function function, CallNotes* notes, Time began) {
  const std::unique_ptr<CallNotes> owned(notes);
  const Time ended = engine.lane(0).clock;
  const char* const name = kFunctionNames[static_cast<std::size_t>(function)];
  if (observers_.trace != nullptr && ended > began) observers_.trace->record({"MPI", name, began, ended, 0});
  if (observers_.receipts != nullptr) observers_.receipts->leave(notes->number, name, began, ended);
  for (std::size_t i = 1; i < engine.lanes().size(); ++i)
    counter(i, function).modelled += engine.lane(i).clock - notes->began[i];
  if (engine.certificate != nullptr) certify(function);
  restart_compute_time();
}

void Session::certify(Function function) {
  engine.certificate->note({static_cast<std::uint64_t>(function)});
  for (std::size_t i = 0; i < engine.lanes().size(); ++i)
    engine.certificate->note_time(i, engine.lane(i).clock);
}

NativeCall::NativeCall(Function function) : function_(function) {
  Session& session = *Session::current;
  const auto guard = session.lock();
  session.library_has_work();
  session.add_compute_time();
  session.entered(function);
  if (session.recorder != nullptr) session.recorder->enter();
  for (auto& lane : session.engine.lanes()) {
    CallCounter& counter = lane->counters.calls[static_cast<std::uint16_t>(function)];
    ++counter.count;
    ++counter.native;
  }
  if (session.engine.certificate != nullptr)
    session.engine.certificate->note({static_cast<std::uint64_t>(function)});
}

NativeCall::~NativeCall() {
  Session& session = *Session::current;
  const auto guard = session.lock();
  session.left();
  if (session.recorder != nullptr) session.recorder->leave(function_);
  session.restart_compute_time();
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
