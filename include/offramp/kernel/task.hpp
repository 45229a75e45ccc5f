// Task<T>: the one coroutine type of the project.
//
// A task starts when it is awaited, passed to a Scheduler, or started with start(): exactly one of them,
// once. It resumes its awaiter when it ends. Inside a simulation it carries its Process, so that delay(),
// channels, and spans find the local clock; an awaited task inherits the process of its awaiter.
//
// Thread rule: tasks are not thread-safe. A waiting task may be resumed on another thread, but only after the
// call that last ran it (start(), resume(), Scheduler::run()) has returned.
//
// A coroutine's parameters are copied into its frame, a lambda's captures are not: write lambdas that are
// coroutines without captures, and pass arguments instead.
//
// g++ 12 destroys some objects twice (found with AddressSanitizer). In a coroutine, for types with a
// non-trivial destructor, avoid:
//   - a temporary of an aggregate type in an expression with co_await: co_await out.write(Packet{...}), also
//     ({...}); name it first and move it, or add a constructor to the type
//   - co_await inside the braces that initialise an aggregate: Packet p{co_await in.read()}
//   - co_await in an arm of ?: of such a type: ready ? co_await in.read() : Token()
#pragma once

#include <cassert>
#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "offramp/kernel/frame_pool.hpp"

namespace offramp {

struct Process;

template <typename T = void>
class Task;

/// Keeps exceptions of tasks on this thread. Errors are values in this code base, so an exception means that
/// memory is exhausted. The task stops, and its awaiters wait for ever, until their owner destroys them all.
/// Without an object of this class, an exception in a task ends the process.
class TaskErrors {
 public:
  TaskErrors& operator=(TaskErrors&&) = delete;
  ~TaskErrors() { innermost_ = outer_; }

  /// Throws the first exception, if there was one.
  void rethrow() const {
    if (first_ != nullptr) std::rethrow_exception(first_);
  }
  /// Adds the exception that is being handled.
  static void add() noexcept {
    if (innermost_ == nullptr) std::terminate();
    if (innermost_->first_ == nullptr) innermost_->first_ = std::current_exception();
  }

 private:
  static constinit inline thread_local TaskErrors* innermost_ = nullptr;
  TaskErrors* outer_ = std::exchange(innermost_, this);
  std::exception_ptr first_;
};

namespace detail {

/// The part of a promise that is independent of the result's type. Frames come from the frame pool.
struct PromiseBase : Pooled {
  std::coroutine_handle<> continuation = nullptr;  // set once the awaiter is suspended
  Process* process = nullptr;
  /// The callback of start(), and its argument.
  void (*on_end)(void*) = nullptr;
  void* on_end_argument = nullptr;

  /// Runs when the body has ended: calls the callback, and continues with the awaiter.
  struct FinalAwaiter {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <typename P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> self) const noexcept {
      PromiseBase& promise = self.promise();
      // The callback may destroy the frame, so `next` is read before.
      const std::coroutine_handle<> next = promise.continuation;
      if (promise.on_end != nullptr) promise.on_end(promise.on_end_argument);
      if (next == nullptr) return std::noop_coroutine();
      return next;
    }
    void await_resume() const noexcept {}
  };

  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
  [[nodiscard]] FinalAwaiter final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept {
    // The frame ends here. Its awaiter stays suspended, because it could not use a result that is missing.
    TaskErrors::add();
    continuation = std::noop_coroutine();  // instead of the awaiter
    on_end = nullptr;
  }
};

/// Keeps the result until result() moves it out.
template <typename T>
struct Promise : PromiseBase {
  std::optional<T> value;
  Task<T> get_return_object();
  template <typename U = T>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
  T result() {
    assert(value.has_value() && "the task has not ended");
    return std::move(*value);
  }
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() const noexcept {}
  void result() const noexcept {}
};

}  // namespace detail

/// Owns the coroutine's frame. Movable, not copyable; an empty task has no frame.
template <typename T>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  Task() = default;
  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      reset();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Task() { reset(); }

  /// True if the task has a frame, ended or not.
  [[nodiscard]] bool valid() const { return handle_ != nullptr; }
  /// True once the body has ended. result() is then allowed.
  [[nodiscard]] bool done() const { return handle_ != nullptr && handle_.done(); }
  [[nodiscard]] Handle handle() const { return handle_; }

  /// Runs the task from outside any coroutine until it first waits. The callback (if any) runs once at its
  /// end and may destroy the task; if the task never waits, it runs before start() returns.
  void start(void (*on_end)(void*) = nullptr, void* argument = nullptr) {
    assert(valid() && !done());
    handle_.promise().on_end = on_end;
    handle_.promise().on_end_argument = argument;
    handle_.resume();
  }

  /// The value of a completed task. Call it once: the value is moved out.
  T result() { return handle_.promise().result(); }

  /// Destroys the frame, ended or waiting. Whatever would resume a waiting frame must drop its handle. Must
  /// not be called from inside the task.
  void reset() {
    if (handle_ != nullptr) std::exchange(handle_, nullptr).destroy();
  }

  // Runs the awaited task like a call and suspends the awaiter only if it waits. Symmetric transfer would
  // avoid the nesting, but g++ emits it as a tail call in optimised builds only; otherwise each task of a
  // loop that never waits would grow the stack.
  struct Awaiter {
    Handle handle;
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <typename P>
    bool await_suspend(std::coroutine_handle<P> awaiting) const noexcept {
      assert(handle != nullptr && !handle.done() && "a task is awaited once");
      handle.promise().process = awaiting.promise().process;
      handle.resume();
      if (handle.done()) return handle.promise().continuation != nullptr;  // an error stops the awaiter, too
      handle.promise().continuation = awaiting;
      return true;
    }
    T await_resume() const { return handle.promise().result(); }
  };
  /// The task keeps its frame and the result, also when a temporary is awaited: its owner destroys them.
  Awaiter operator co_await() const& noexcept { return Awaiter{handle_}; }
  Awaiter operator co_await() && noexcept { return Awaiter{handle_}; }

 private:
  Handle handle_ = nullptr;
};

template <typename T>
Task<T> detail::Promise<T>::get_return_object() {
  return Task<T>(Task<T>::Handle::from_promise(*this));
}
inline Task<void> detail::Promise<void>::get_return_object() {
  return Task<void>(Task<void>::Handle::from_promise(*this));
}

}  // namespace offramp
