// Windows as kernels see them: double buffers guarded by locks.
//
// A lock's two values become two streams of tokens: "full" from producer to consumer and "empty" back, of
// which two are there at first (ping and pong). Acquiring waits for a token, releasing sends one. Who carries
// the tokens is open: the network in this folder (array.hpp's tiles in one process) or a team of ranks; the
// kernels are the same.
#pragma once

#include <coroutine>
#include <cstdint>
#include <string_view>
#include <utility>

#include "offramp/kernel/span.hpp"
#include "offramp/kernel/task.hpp"
#include "simulators/aie/timing.hpp"

namespace offramp::aie {

/// The consumer's end of a window. Functions that have nothing to wait for may return an empty task.
class Input {
 public:
  virtual ~Input() = default;
  /// Takes the core's clock to when the next window is full, if that is later.
  virtual Task<void> wait_full() = 0;
  /// The window is empty from the core's clock on.
  virtual Task<void> set_empty() = 0;
};

/// The producer's end. The same holds for it.
class Output {
 public:
  virtual ~Output() = default;
  virtual Task<void> wait_empty() = 0;
  virtual Task<void> set_full() = 0;
};

/// A core that kernels of several operations share, as one of these kernels sees it: it computes for one of
/// them at a time. Waiting for a lock leaves it to the others.
class CoreUnit {
 public:
  virtual ~CoreUnit() = default;
  /// The kernel, whose clock shows that, computes for a while; before that it has spent `spent` on calls and
  /// locks. True: end() is known already. False: wait() comes next.
  virtual bool begin(Time clock, Time duration) = 0;
  virtual void wait(std::coroutine_handle<> kernel) = 0;
  [[nodiscard]] virtual Time end() const = 0;
  Time spent;
};

/// One core that runs a kernel: where it stands, and what it costs.
struct Core {
  Time& clock;
  const Timing& timing;
  SpanSink* spans = nullptr;
  std::uint64_t operation = 0;
  CoreUnit* unit = nullptr;  // null: the kernel has it to itself

  void spend(double cycles) const {
    const Time span = timing.cycles(cycles);
    clock += span;
    if (unit != nullptr) unit->spent += span;
  }
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
  /// Goes over the elements of a window.
  [[nodiscard]] Computation compute(Time duration) const { return {clock, unit, duration}; }
  void span(std::string_view what, Time begin) const {
    if (spans != nullptr && clock > begin) spans->record({"aie.core", what, begin, clock, operation});
  }
};

enum class Acquire : std::uint8_t { kInLoop, kSingle };

/// The rest of an acquire or a release that has come to its lock. Awaited at once.
class [[nodiscard]] LockCall {
 public:
  /// begin: of the wait. what: its name in traces; empty: none is recorded.
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

/// Acquire: some cycles, the wait, and a few more. Release: the lock flips within the call, so that a waiting
/// partner goes on hand_over cycles after the call began.
LockCall acquire(Core core, Input& input, Acquire how);
LockCall acquire(Core core, Output& output, Acquire how);
LockCall release(Core core, Input& input);
LockCall release(Core core, Output& output);

}  // namespace offramp::aie
