// Processes and the scheduler that runs them.
//
// A process is a coroutine with its own local clock. There is no global clock and no event queue: the
// scheduler resumes ready processes, in any order, until all wait. Time stamps are independent of that order
// (a Kahn network); tests verify it by shuffling. Timeouts need one more rule: when every process waits, the
// earliest deadline fires (ties: the process spawned first). This is exact, since nothing earlier can still
// happen.
//
// Requirements on a network with timeouts:
// - Every token becomes visible at or after its writer's clock.
// - Every process begins at or after the clock of the process that spawns it.
// - Processes are spawned in a fixed order: from outside, or all by one process.
#pragma once

#include <cassert>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "offramp/kernel/random.hpp"
#include "offramp/kernel/span.hpp"
#include "offramp/kernel/task.hpp"
#include "offramp/kernel/time.hpp"

namespace offramp {

class Scheduler;

/// The state of one running process. Owned by its scheduler; valid until clear() or the scheduler's end.
struct Process {
  std::string_view name;
  Time clock;
  std::uint32_t id = 0;  // counts from 1 in the order of spawn()
  Scheduler* scheduler = nullptr;
  SpanSink* spans = nullptr;
  std::uint64_t operation = 0;

  /// Records a span that ends now, if a sink is attached.
  void span(std::string_view what, Time begin) const {
    if (spans != nullptr) spans->record({name, what, begin, clock, operation});
  }
};

/// Not thread-safe; one scheduler per simulated network. Channels and wires may be destroyed before or after
/// it, but not while it runs. Allocates only when the number of processes exceeds its previous maximum.
class Scheduler {
 public:
  Scheduler() = default;
  /// A non-zero seed shuffles the ready queue, to test that results are independent of the order.
  explicit Scheduler(std::uint64_t shuffle_seed) : shuffle_(shuffle_seed) {}
  Scheduler& operator=(Scheduler&&) = delete;
  ~Scheduler() { clear(); }

  /// Adds a process that begins at the given time, once run() reaches it. The name is a literal. The
  /// reference is valid until clear(), also after the process has ended.
  Process& spawn(std::string_view name, Task<void> body, Time begin = {}) {
    assert(body.valid() && !body.done());
    if (count_ == records_.size()) records_.push_back(std::make_unique<Record>());
    Record& record = *records_[count_++];
    record.process = {name, begin, static_cast<std::uint32_t>(count_), this, spans_, operation_};
    record.body = std::move(body);
    record.body.handle().promise().process = &record.process;
    ready(record.body.handle());
    return record.process;
  }

  /// Sets the sink and operation id of processes spawned from now on. The sink must outlive them; nullptr:
  /// none.
  void observe(SpanSink* sink, std::uint64_t operation) { spans_ = sink, operation_ = operation; }

  /// Runs until no process can continue. Returns true if all have ended, false if some wait for a token. May
  /// be called again after more spawn()s. Must not be called from a process.
  bool run() {
    assert(!running_);
    running_ = true;
    do drain();
    while (fire_earliest_deadline());
    running_ = false;
    for (std::size_t i = 0; i < count_; ++i) {
      if (!records_[i]->body.done()) return false;
    }
    return true;
  }

  /// Drops all processes, ended or waiting, and keeps the memory for the next network. A channel may be
  /// reused; if a process was waiting in it, call Channel::reset() first.
  void clear() {
    assert(!running_);
    for (std::size_t i = 0; i < count_; ++i) records_[i]->body.reset();
    count_ = 0;
    queue_head_ = queue_size_ = 0;
    timed_.clear();
  }

  /// Queues a suspended coroutine of one of the processes. For awaiters; once per suspension.
  void ready(std::coroutine_handle<> handle) {
    if (queue_size_ == queue_.size()) grow_queue();
    queue_[(queue_head_ + queue_size_++) & (queue_.size() - 1)] = handle;
  }

  /// A wait with a deadline, owned by the awaiter. Firing or withdrawing removes it from the list.
  struct TimedWait {
    Time deadline;
    std::uint32_t process_id = 0;
    std::coroutine_handle<> handle;
    bool fired = false;
    std::size_t place = 0;  // used by the scheduler
  };
  /// Adds a wait of a suspended process. The awaiter keeps it alive until it fires or is withdrawn.
  void add_timed(TimedWait* wait) {
    wait->place = timed_.size();
    timed_.push_back(wait);
  }
  /// Removes a wait that has not fired, because its process got a token first.
  void withdraw_timed(const TimedWait* wait) {
    assert(wait->place < timed_.size() && timed_[wait->place] == wait);
    // The last entry fills the gap. The order of the list has no meaning: firing searches all of it.
    TimedWait* last = timed_.back();
    last->place = wait->place;
    timed_[wait->place] = last;
    timed_.pop_back();
  }

 private:
  /// Process and coroutine together: the coroutine's promise points to the process, so neither moves.
  struct Record {
    Process process;
    Task<void> body;
  };

  /// Resumes ready processes until all wait or have ended.
  void drain() {
    while (queue_size_ > 0) {
      const std::size_t mask = queue_.size() - 1;
      // Any queued process may continue next; a test that shuffles must get the same times.
      if (shuffle_ != 0)
        std::swap(queue_[queue_head_], queue_[(queue_head_ + xorshift(shuffle_) % queue_size_) & mask]);
      const std::coroutine_handle<> handle = queue_[queue_head_];
      queue_head_ = (queue_head_ + 1) & mask;
      --queue_size_;
      handle.resume();
    }
  }

  /// Ends the wait with the earliest deadline. Returns false if no process has a deadline.
  bool fire_earliest_deadline() {
    TimedWait* first = nullptr;
    for (TimedWait* wait : timed_) {
      if (first == nullptr || wait->deadline < first->deadline ||
          (wait->deadline == first->deadline && wait->process_id < first->process_id)) {
        first = wait;
      }
    }
    if (first == nullptr) return false;
    first->fired = true;
    withdraw_timed(first);
    ready(first->handle);
    return true;
  }

  /// Doubles the ring: the masks above need a power of two. The oldest entry moves to index 0.
  void grow_queue() {  // the size stays a power of two
    std::vector<std::coroutine_handle<>> grown(queue_.empty() ? 16 : 2 * queue_.size());
    for (std::size_t i = 0; i < queue_size_; ++i) grown[i] = queue_[(queue_head_ + i) & (queue_.size() - 1)];
    queue_.swap(grown);
    queue_head_ = 0;
  }

  std::vector<std::unique_ptr<Record>> records_;  // the first count_ are in use
  std::size_t count_ = 0;
  std::vector<std::coroutine_handle<>> queue_;  // a ring
  std::size_t queue_head_ = 0;
  std::size_t queue_size_ = 0;
  std::vector<TimedWait*> timed_;
  SpanSink* spans_ = nullptr;
  std::uint64_t operation_ = 0;
  std::uint64_t shuffle_ = 0;
  bool running_ = false;
};

namespace detail {

/// The awaitables behind delay() and this_process(). Both find the process through the coroutine's promise.
class DelayAwaiter {
 public:
  explicit DelayAwaiter(Time span) : span_(span) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <typename P>
  bool await_suspend(std::coroutine_handle<P> self) const noexcept {
    assert(self.promise().process != nullptr && "only inside a process");
    self.promise().process->clock += span_;
    return false;  // never really suspends
  }
  void await_resume() const noexcept {}

 private:
  Time span_;
};

class SelfAwaiter {
 public:
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <typename P>
  bool await_suspend(std::coroutine_handle<P> self) noexcept {
    process_ = self.promise().process;
    return false;
  }
  [[nodiscard]] Process& await_resume() const noexcept {
    assert(process_ != nullptr && "only inside a process");
    return *process_;
  }

 private:
  Process* process_ = nullptr;
};

}  // namespace detail

/// co_await delay(t) advances the calling process's clock by t, and no other clock.
[[nodiscard]] inline detail::DelayAwaiter delay(Time span) {
  return detail::DelayAwaiter(span);
}

/// co_await this_process() returns the process in which the coroutine runs.
[[nodiscard]] inline detail::SelfAwaiter this_process() {
  return {};
}

}  // namespace offramp
