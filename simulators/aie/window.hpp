// Windows as kernels see them: double buffers guarded by locks.
//
// The two values of a lock become two streams of tokens: "full" from producer to consumer, and "empty" back
// with two initial tokens (ping and pong). Acquiring waits for a token; releasing sends one. The carrier of
// the tokens is exchangeable: Network (the array in one process) or a team of ranks, with the same kernels.
#pragma once

#include <coroutine>
#include <cstdint>
#include <string_view>
#include <utility>

#include "offramp/kernel/span.hpp"
#include "offramp/kernel/task.hpp"
#include "simulators/aie/timing.hpp"

namespace offramp::aie {

/// The consumer's end of a window. Functions that need not wait may return an empty task.
class Input {
 public:
  virtual ~Input() = default;
  /// Waits for the next full window, and advances the core's clock to that time.
  virtual Task<void> wait_full() = 0;
  /// Marks the window as empty from the core's clock on.
  virtual Task<void> set_empty() = 0;
};

/// The producer's end, with the same rules.
class Output {
 public:
  virtual ~Output() = default;
  /// Waits for an empty buffer, and advances the core's clock to that time.
  virtual Task<void> wait_empty() = 0;
  /// Marks the window as full from the core's clock on.
  virtual Task<void> set_full() = 0;
};

/// A core that kernels of several operations share, as seen by one kernel. It computes for one of them at a
/// time; a kernel that waits for a lock leaves it to the others.
class CoreUnit {
 public:
  virtual ~CoreUnit() = default;
  /// The kernel computes for `duration` from `clock`; `spent` is what it has used for calls and locks since
  /// its last computation. Returns true if end() is already known. Otherwise wait() follows.
  virtual bool begin(Time clock, Time duration) = 0;
  /// Resumes the kernel when end() is known.
  virtual void wait(std::coroutine_handle<> kernel) = 0;
  /// The end of the computation that began last.
  [[nodiscard]] virtual Time end() const = 0;
  Time spent;
};

/// A core that executes a kernel: its clock and its costs.
struct Core {
  Time& clock;
  const Timing& timing;
  SpanSink* spans = nullptr;
  std::uint64_t operation = 0;
  CoreUnit* unit = nullptr;  // null: not shared with other kernels

  /// Cycles of calls and locks. A shared core counts them in `spent` until the next computation.
  void spend(double cycles) const {
    const Time span = timing.cycles(cycles);
    clock += span;
    if (unit != nullptr) unit->spent += span;
  }
  /// What compute() returns, to be awaited.
  class [[nodiscard]] Computation {
   public:
    Computation(Time& clock, CoreUnit* unit, Time duration)
        : clock_(clock), unit_(unit), duration_(duration) {}
    [[nodiscard]] bool await_ready() const { return unit_ == nullptr || unit_->begin(clock_, duration_); }
    void await_suspend(std::coroutine_handle<> kernel) const { unit_->wait(kernel); }
    void await_resume() const { clock_ = unit_ == nullptr ? clock_ + duration_ : unit_->end(); }

   private:
    Time& clock_;
    CoreUnit* unit_;
    Time duration_;
  };
  /// Computes over the elements of a window.
  [[nodiscard]] Computation compute(Time duration) const { return {clock, unit, duration}; }
  /// Records what the core did from `begin` until its clock.
  void span(std::string_view what, Time begin) const {
    if (spans != nullptr && clock > begin) spans->record({"aie.core", what, begin, clock, operation});
  }
};

/// Whether the acquire is one of several in a loop, which takes longer.
enum class Acquire : std::uint8_t { kInLoop, kSingle };

/// The remainder of an acquire or release from its lock on. co_await it immediately.
class [[nodiscard]] LockCall {
 public:
  /// begin: start of the wait. what: name in traces; empty: not recorded.
  LockCall(Core core, Time begin, Task<void> lock, std::string_view what, double cycles_after)
      : core_(core), begin_(begin), lock_(std::move(lock)), what_(what), cycles_after_(cycles_after) {}
  [[nodiscard]] bool await_ready() const { return !lock_.valid(); }
  template <typename P>
  bool await_suspend(std::coroutine_handle<P> kernel) const {
    return Task<void>::Awaiter{lock_.handle()}.await_suspend(kernel);
  }
  void await_resume() const {
    if (!what_.empty()) core_.span(what_, begin_);
    core_.spend(cycles_after_);
  }

 private:
  Core core_;
  Time begin_;
  Task<void> lock_;
  std::string_view what_;
  double cycles_after_;
};

/// Acquire: some cycles, the wait, and a few more cycles. Release: the lock flips during the call, so that a
/// waiting partner continues hand_over cycles after the start of the call.
LockCall acquire(Core core, Input& input, Acquire how);
LockCall acquire(Core core, Output& output, Acquire how);
LockCall release(Core core, Input& input);
LockCall release(Core core, Output& output);

}  // namespace offramp::aie
