// A thread of control with a stack of its own, within one thread of the process: runs when it is resumed,
// until it pauses or returns.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <vector>

namespace offramp::tinsel {

/// Stacks of one size in one piece of memory. As many as the kernel has mappings for have a page below them
/// that must not be touched; of the others the lowest word is looked at.
class Stacks {
 public:
  Stacks() = default;
  ~Stacks();
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  /// False: there is no memory for so many.
  bool reserve(std::size_t count, std::size_t bytes);
  /// Not more than were reserved.
  std::byte* take();
  void give_back(std::byte* stack) { unused_.push_back(stack); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// Whether the lowest word is as it was when the stack was taken.
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
  /// entry(argument) begins with the first resume(); it must end with leave().
  void prepare(std::byte* stack, std::size_t bytes, void (*entry)(void*), void* argument);
  /// Runs it until it pauses.
  void resume();
  /// From within: back to resume(), to go on here with the next one.
  void pause();
  /// From within: back to resume(), for ever.
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
