// Stacks with makecontext() and swapcontext(). The kernel limits the number of mappings, so only the first
// kGuarded stacks have guard pages. For the others, a word at the low end of the stack shows afterwards
// whether it has overflowed (is_whole()).
#include "lib/services/tinsel_threads/fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace offramp::tinsel {
namespace {

constexpr std::size_t kGuarded = 16384;  // Linux allows a process about 65530 mappings
constexpr std::uint64_t kLowest = 0x5a17ed0f5ac4b0a7;

void starts_switch([[maybe_unused]] void** shadow, [[maybe_unused]] const void* stack,
                   [[maybe_unused]] std::size_t bytes) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(shadow, stack, bytes);
#endif
}
void ends_switch([[maybe_unused]] void* shadow, [[maybe_unused]] const void** stack,
                 [[maybe_unused]] std::size_t* bytes) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(shadow, stack, bytes);
#endif
}

}  // namespace

Stacks::~Stacks() {
  if (memory_ != nullptr) munmap(memory_, mapped_);
}

bool Stacks::reserve(std::size_t count, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  bytes_ = (bytes + page - 1) / page * page;
  stride_ = bytes_ + page;
  mapped_ = count * stride_;
  void* const memory = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return false;
  memory_ = static_cast<std::byte*>(memory);
  return true;
}

std::byte* Stacks::acquire() {
  if (unused_.empty()) {
    std::byte* const begin = memory_ + next_ * stride_;
    if (next_ < kGuarded) (void)mprotect(begin, stride_ - bytes_, PROT_NONE);
    ++next_;
    unused_.push_back(begin + (stride_ - bytes_));
  }
  std::byte* const stack = unused_.back();
  unused_.pop_back();
  std::memcpy(stack, &kLowest, sizeof kLowest);
  return stack;
}

bool Stacks::is_whole(const std::byte* stack) {
  return std::memcmp(stack, &kLowest, sizeof kLowest) == 0;
}

void Fiber::begin(unsigned high, unsigned low) {
  auto* const self = reinterpret_cast<Fiber*>(std::uintptr_t{high} << 32U | low);
  ends_switch(nullptr, &self->resumer_stack_, &self->resumer_bytes_);
  self->entry_(self->argument_);
}

void Fiber::prepare(std::byte* stack, std::size_t bytes, void (*entry)(void*), void* argument) {
  entry_ = entry;
  argument_ = argument;
  stack_ = stack;
  bytes_ = bytes;
  (void)getcontext(&own_);
  own_.uc_stack.ss_sp = stack;
  own_.uc_stack.ss_size = bytes;
  own_.uc_link = nullptr;
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  makecontext(&own_, reinterpret_cast<void (*)()>(begin), 2, static_cast<unsigned>(self >> 32U),
              static_cast<unsigned>(self & 0xffffffffU));
}

void Fiber::resume() {
  void* shadow = nullptr;
  starts_switch(&shadow, stack_, bytes_);
  (void)swapcontext(&resumer_, &own_);
  ends_switch(shadow, nullptr, nullptr);
}

void Fiber::pause() {
  starts_switch(&shadow_, resumer_stack_, resumer_bytes_);
  (void)swapcontext(&own_, &resumer_);
  ends_switch(shadow_, &resumer_stack_, &resumer_bytes_);
}

void Fiber::leave() {
  starts_switch(nullptr, resumer_stack_, resumer_bytes_);
  (void)setcontext(&resumer_);
}

}  // namespace offramp::tinsel
