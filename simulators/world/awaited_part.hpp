// What a rank awaits of an operation that several ranks take part in.
#pragma once

#include <coroutine>

namespace offramp {

/// One rank's part; awaited once, in the frame that owns it. Operations, which has all parts, completes it.
template <typename Completion, typename Operations>
class [[nodiscard]] AwaitedPart {
 public:
  AwaitedPart() = default;
  AwaitedPart& operator=(AwaitedPart&&) = delete;
  // Some operations end before they are awaited.
  [[nodiscard]] bool await_ready() const { return ready_; }
  /// The part stays in the coroutine's frame until it is resumed.
  void await_suspend(std::coroutine_handle<> waiter) { waiter_ = waiter; }
  [[nodiscard]] Completion await_resume() const { return completion_; }

 private:
  friend Operations;
  Completion completion_;
  bool ready_ = false;
  std::coroutine_handle<> waiter_;
};

}  // namespace offramp
