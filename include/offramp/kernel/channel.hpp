// Channel<T>: a bounded FIFO with one writer and one reader, both processes of one scheduler.
//
// Every token carries the time at which it becomes visible, and every slot the time at which the reader freed
// it. A read advances the reader's clock to the token's time. A write into a full channel advances the
// writer's clock to the time of the freed slot: back-pressure costs time as on an AXI stream. Only
// construction allocates, from the frame pool. Used by the scheduler's thread.
#pragma once

#include <cassert>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "offramp/kernel/frame_pool.hpp"
#include "offramp/kernel/scheduler.hpp"

namespace offramp {

/// T is movable; tokens are moved, never copied. Name a token of an aggregate type with a destructor and move
/// it in, instead of writing a temporary: see task.hpp on g++ 12.
template <typename T>
class Channel {
  template <bool kTimed>
  class ReadAwaiter;
  class WriteAwaiter;

 public:
  /// capacity in tokens, at least 1. A token's time is the writer's clock plus latency.
  explicit Channel(Scheduler& scheduler, std::size_t capacity, Time latency = {})
      : scheduler_(scheduler), slots_(allocate(capacity)), capacity_(capacity), latency_(latency) {
    assert(capacity > 0);
    for (std::size_t i = 0; i < capacity_; ++i) std::construct_at(slots_ + i);
  }
  Channel& operator=(Channel&&) = delete;
  ~Channel() {
    reset();
    detail::FramePool::release(slots_, capacity_ * sizeof(Slot));
  }

  [[nodiscard]] std::size_t capacity() const { return capacity_; }

  /// co_await write(token): waits for a free slot. The token then becomes visible `latency` after the
  /// writer's clock.
  auto write(T token) { return WriteAwaiter(*this, std::move(token), kAfterLatency); }
  /// As write(), but the token becomes visible at the given time, or when the slot was freed if that is
  /// later.
  auto write_at(T token, Time visible) { return WriteAwaiter(*this, std::move(token), visible); }
  /// co_await read(): waits for a token.
  auto read() { return ReadAwaiter<false>(*this, Time::never()); }
  /// co_await read_until(t): the token, or nullopt with the clock at t if no token becomes visible by t. A
  /// deadline in the past checks what is visible now; Time::never() waits as read() does.
  auto read_until(Time deadline) { return ReadAwaiter<true>(*this, deadline); }

  /// Restores the state after construction, dropping tokens, times, and waiting processes. Call it between
  /// Scheduler::clear() and the next network, never while a process waits here.
  void reset() {
    while (size_ > 0) drop_front();
    for (std::size_t i = 0; i < capacity_; ++i) slots_[i].freed = {};
    read_ = write_ = 0;
    reader_ = writer_ = nullptr;
  }

 private:
  static constexpr Time kAfterLatency = Time::ps(-1);  // real times are not negative

  /// A slot keeps both times: `visible` for the reader of its token, `freed` for the writer of the next one.
  struct Slot {
    Time visible;
    Time freed;
    union {
      T token;  // valid while the slot is between read_ and write_
    };
    Slot() {}   // NOLINT(modernize-use-equals-default): a union with members
    ~Slot() {}  // NOLINT(modernize-use-equals-default)
  };
  static_assert(alignof(Slot) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__,
                "coroutine frames are not aligned further");

  static Slot* allocate(std::size_t capacity) {
    return static_cast<Slot*>(detail::FramePool::allocate(capacity * sizeof(Slot)));
  }

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] bool full() const { return size_ == capacity_; }
  [[nodiscard]] std::size_t after(std::size_t slot) const { return slot + 1 == capacity_ ? 0 : slot + 1; }
  [[nodiscard]] Time front_visible() const { return slots_[read_].visible; }

  /// Stores a token in a free slot, advances the writer's clock to the slot's release, and wakes the reader.
  void push(T&& token, Time at, Process& writer) {
    Slot& slot = slots_[write_];
    // Back-pressure: the writer could not write before the reader had freed this slot.
    writer.clock = later(writer.clock, slot.freed);
    slot.visible = at == kAfterLatency ? writer.clock + latency_ : later(at, slot.freed);
    std::construct_at(&slot.token, std::move(token));
    write_ = after(write_);
    ++size_;
    if (reader_ != nullptr) scheduler_.ready(std::exchange(reader_, nullptr));
  }

  /// Moves the oldest token out, advances the reader's clock to it, and wakes the writer.
  T pop(Process& reader) {
    Slot& slot = slots_[read_];
    reader.clock = later(reader.clock, slot.visible);
    slot.freed = reader.clock;
    T token = std::move(slot.token);
    drop_front();
    if (writer_ != nullptr) scheduler_.ready(std::exchange(writer_, nullptr));
    return token;
  }

  void drop_front() {
    std::destroy_at(&slots_[read_].token);
    read_ = after(read_);
    --size_;
  }

  // The awaiters are classes with constructors because g++ 12 destroys parts of an aggregate temporary in a
  // co_await expression twice. Their destructors leave the channel alone: it may be destroyed before the
  // frame.
  class [[nodiscard]] WriteAwaiter {
   public:
    WriteAwaiter(Channel& channel, T&& token, Time visible)
        : channel_(channel), token_(std::move(token)), visible_(visible) {}
    WriteAwaiter& operator=(WriteAwaiter&&) = delete;
    ~WriteAwaiter() = default;
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <typename P>
    bool await_suspend(std::coroutine_handle<P> self) {
      process_ = self.promise().process;
      // A channel with a free slot does not suspend the writer: await_resume() stores the token at once.
      if (!channel_.full()) return false;
      assert(channel_.writer_ == nullptr && "a channel has one writer");
      channel_.writer_ = self;
      return true;
    }
    void await_resume() { channel_.push(std::move(token_), visible_, *process_); }

   private:
    Channel& channel_;
    T token_;
    Time visible_;
    Process* process_ = nullptr;
  };

  /// Takes the place of a TimedWait in reads without a deadline, which then need no memory for it.
  struct NoWait {};

  template <bool kTimed>
  class [[nodiscard]] ReadAwaiter {
   public:
    ReadAwaiter(Channel& channel, Time deadline) : channel_(channel), deadline_(deadline) {}
    ReadAwaiter& operator=(ReadAwaiter&&) = delete;
    ~ReadAwaiter() = default;
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <typename P>
    bool await_suspend(std::coroutine_handle<P> self) {
      process_ = self.promise().process;
      // A deadline in the past means the present.
      if constexpr (kTimed) deadline_ = later(deadline_, process_->clock);
      if (!channel_.empty()) return false;
      assert(channel_.reader_ == nullptr && "a channel has one reader");
      channel_.reader_ = self;
      if constexpr (kTimed) {
        if (deadline_ != Time::never()) {
          wait_ = {deadline_, process_->id, self};
          channel_.scheduler_.add_timed(&wait_);
        }
      }
      return true;
    }
    auto await_resume() {
      if constexpr (!kTimed) {
        return channel_.pop(*process_);
      } else {
        // The deadline came first. The reader leaves the channel, so that no later token resumes this frame.
        if (wait_.fired) channel_.reader_ = nullptr;
        if (wait_.handle != nullptr && !wait_.fired) channel_.scheduler_.withdraw_timed(&wait_);
        // A token is here, but the hardware sees it only after the deadline: it stays for the next read.
        if (wait_.fired || channel_.front_visible() > deadline_) {
          process_->clock = deadline_;
          return std::optional<T>();
        }
        return std::optional<T>(channel_.pop(*process_));
      }
    }

   private:
    Channel& channel_;
    Time deadline_;
    [[no_unique_address]] std::conditional_t<kTimed, Scheduler::TimedWait, NoWait> wait_;
    Process* process_ = nullptr;
  };

  Scheduler& scheduler_;
  Slot* slots_;
  std::size_t capacity_;
  std::size_t read_ = 0;
  std::size_t write_ = 0;
  std::size_t size_ = 0;
  Time latency_;
  std::coroutine_handle<> reader_ = nullptr;
  std::coroutine_handle<> writer_ = nullptr;
};

}  // namespace offramp
