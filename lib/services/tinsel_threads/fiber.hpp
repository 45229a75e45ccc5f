// A flow of control with its own stack, within one thread of the process. Runs until it pauses or returns.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <vector>

namespace offramp::tinsel {

/// Stacks of one size in one block of memory. As many as the kernel's mappings allow have a guard page below
/// them; for the others the lowest word is checked.
class Stacks {
 public:
  Stacks() = default;
  ~Stacks();
  Stacks& operator=(Stacks&&) = delete;

  /// Returns false if there is not enough memory.
  bool reserve(std::size_t count, std::size_t bytes);
  /// At most as many as were reserved.
  std::byte* acquire();
  void release(std::byte* stack) { unused_.push_back(stack); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// Returns true if the lowest word is unchanged since acquire().
  [[nodiscard]] static bool is_whole(const std::byte* stack);

 private:
  std::byte* memory_ = nullptr;
  std::size_t mapped_ = 0;
  std::size_t bytes_ = 0;  // without the page
  std::size_t stride_ = 0;
  std::size_t next_ = 0;
  std::vector<std::byte*> unused_;
};

class Fiber {
 public:
  /// entry(argument) begins with the first resume(). It must end with leave().
  void prepare(std::byte* stack, std::size_t bytes, void (*entry)(void*), void* argument);
  /// Runs the fiber until it pauses.
  void resume();
  /// Called by the fiber: returns to resume(). The next resume() continues here.
  void pause();
  /// Called by the fiber: returns to resume() for good.
  void leave();

 private:
  static void begin(unsigned high, unsigned low);

  ucontext_t own_{};
  ucontext_t resumer_{};
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
  std::byte* stack_ = nullptr;
  std::size_t bytes_ = 0;
  void* shadow_ = nullptr;  // for AddressSanitizer
  const void* resumer_stack_ = nullptr;
  std::size_t resumer_bytes_ = 0;
};

}  // namespace offramp::tinsel
