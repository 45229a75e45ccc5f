// Windows to and from host memory (GMIO). DMAs of the interface row move windows one by one through their
// ports, and all of them share the NoC and the memory.
#pragma once

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>

#include "offramp/kernel/arbiter.hpp"
#include "simulators/aie/window.hpp"

namespace offramp::aie {

/// Each direction has its own ports and its own share of the memory's rate.
struct HostPath {
  Bandwidth port = Bandwidth::gigabits_per_second(32);  // published: 4 GB/s per stream
  Bandwidth total =
      Bandwidth::bits_per_second(43'200'000'000);  // measured: 10.8 GB/s both ways; half of it assumed each
  int ports = 32;                                  // published: two in each of 16 columns
  Time latency = Time::ns(200);                    // assumed: interface, NoC, and memory, one way
  Time turnaround = Time::ns(59);  // fitted: one pair of ports moves 6.5 GB/s in windows of 1 KB

  /// Time of a window in its port, and in memory.
  [[nodiscard]] Time port_time(std::size_t bytes) const {
    return port.bytes(static_cast<std::int64_t>(bytes)) + turnaround;
  }
  /// All ports share this rate.
  [[nodiscard]] Time total_time(std::size_t bytes) const {
    return total.bytes(static_cast<std::int64_t>(bytes));
  }
};

/// Buffers per window.
inline constexpr std::size_t kBuffers = 2;

/// One direction of a port, used by one kernel for windows of one size. Subclasses may share the port.
class HostPort {
 public:
  virtual ~HostPort() = default;
  /// Requests the transfer of a window to or from buffer 0 or 1.
  virtual void start(std::size_t buffer, Time at) = 0;

  /// What end() returns, to be awaited.
  class [[nodiscard]] End {
   public:
    End(HostPort& port, std::size_t buffer) : port_(port), buffer_(buffer) {}
    [[nodiscard]] bool await_ready() const { return port_.ended(buffer_); }
    void await_suspend(std::coroutine_handle<> kernel) const { port_.wait(buffer_, kernel); }
    [[nodiscard]] Time await_resume() const { return port_.end_of(buffer_); }

   private:
    HostPort& port_;
    std::size_t buffer_;
  };
  /// The end of the transfer. co_await it at most once per start().
  End end(std::size_t buffer) { return {*this, buffer}; }

 protected:
  /// These answer for the last transfer of a buffer. end_of() is only valid once it has ended.
  [[nodiscard]] virtual bool ended(std::size_t buffer) const = 0;
  /// Resumes the kernel once the transfer has ended.
  virtual void wait(std::size_t buffer, std::coroutine_handle<> kernel) = 0;
  [[nodiscard]] virtual Time end_of(std::size_t buffer) const = 0;
};

/// A port and memory that no other kernel uses.
class OwnHostPort final : public HostPort {
 public:
  /// window: bytes of each transfer.
  OwnHostPort(const HostPath& path, std::size_t window)
      : port_time_(path.port_time(window)), total_time_(path.total_time(window)) {}
  void start(std::size_t buffer, Time at) override;

 protected:
  [[nodiscard]] bool ended(std::size_t) const override { return true; }
  void wait(std::size_t, std::coroutine_handle<>) override {}
  [[nodiscard]] Time end_of(std::size_t buffer) const override { return ends_[buffer]; }

 private:
  Time port_time_;
  Time total_time_;
  Time port_free_;
  Arbiter total_;
  std::array<Time, 2> ends_;
};

/// Windows from the host, double-buffered: the next one is requested when a buffer is free. Begins at the
/// core's clock, when the host has passed the descriptor.
class HostSource final : public Input {
 public:
  /// windows: how many will come. The first two are requested at once.
  HostSource(Time& clock, HostPort& port, const HostPath& path, std::size_t window, std::size_t windows);
  Task<void> wait_full() override;
  Task<void> set_empty() override {
    const std::size_t buffer = emptied_++;
    if (buffer + kBuffers < windows_) port_.start(buffer & 1U, clock_);
    return {};
  }

 private:
  Time& clock_;
  HostPort& port_;
  Time latency_;
  /// Interval of windows through the port.
  Time pace_;
  /// When the last window was there.
  Time last_;
  /// Windows in all, and those that the kernel has taken and emptied.
  std::size_t windows_;
  std::size_t taken_ = 0;
  std::size_t emptied_ = 0;
};

/// Windows to the host.
class HostSink final : public Output {
 public:
  HostSink(Time& clock, HostPort& port, const HostPath& path)
      : clock_(clock), port_(port), latency_(path.latency) {}
  Task<void> wait_empty() override;
  Task<void> set_full() override {
    port_.start(filled_++ & 1U, clock_);
    return {};
  }
  /// Advances the clock to when the last window is in host memory. Call once, at the end.
  Task<void> drain();

 private:
  /// From the third window on, a buffer has to be free.
  Task<void> wait_for_window();

  Time& clock_;
  HostPort& port_;
  Time latency_;
  std::size_t filled_ = 0;
};

/// Windows without a waiting consumer: a result that stays, or goes to a reader that is never late.
class OpenOutput final : public Output {
 public:
  Task<void> wait_empty() override { return {}; }
  Task<void> set_full() override { return {}; }
};

}  // namespace offramp::aie
