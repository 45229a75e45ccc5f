// Windows to and from the host's memory (GMIO): a DMA of the interface row moves one window after the other
// at the rate that this kernel gets of the memory's.
#pragma once

#include <array>
#include <cstddef>

#include "simulators/aie/window.hpp"

namespace offramp::aie {

/// Rates in bytes per second. The array's ports carry at most port each, and all of them together at most
/// total in one direction.
struct HostPath {
  double port = 4e9;             // published: 4 GB/s per stream
  double total = 5.4e9;          // measured: 10.9 GB/s both ways; half of it assumed for each
  int ports = 32;                // published: 16 columns with two each
  Time latency = Time::ns(200);  // assumed: interface, NoC and memory, one way

  /// Of one kernel when `users` of them move data at the same time.
  [[nodiscard]] double rate(int users) const;
  [[nodiscard]] Time transfer(std::size_t bytes, int users) const;
};

/// Windows that come from the host, double-buffered: the next is on its way as soon as a buffer is free.
class HostSource final : public Input {
 public:
  /// begin: when the host has handed over the descriptor.
  HostSource(Time& clock, Time begin, Time latency, Time per_window)
      : clock_(clock), next_(begin + latency), per_window_(per_window) {}
  Task<void> wait_full() override;
  Task<void> set_empty() override;

 private:
  Time& clock_;
  Time next_;  // the DMA is free
  Time per_window_;
  std::array<Time, 2> freed_;
  std::size_t taken_ = 0;
  std::size_t emptied_ = 0;
};

/// Windows that go to the host.
class HostSink final : public Output {
 public:
  HostSink(Time& clock, Time latency, Time per_window)
      : clock_(clock), latency_(latency), per_window_(per_window) {}
  Task<void> wait_empty() override;
  Task<void> set_full() override;
  /// When the last window is in the host's memory.
  [[nodiscard]] Time done() const { return filled_ == 0 ? clock_ : drained_[(filled_ - 1) & 1U] + latency_; }

 private:
  Time& clock_;
  Time latency_;
  Time per_window_;
  std::array<Time, 2> drained_;
  std::size_t filled_ = 0;
};

/// Windows that nobody waits for: a result that stays, or goes to a reader that is never late.
class OpenOutput final : public Output {
 public:
  Task<void> wait_empty() override;
  Task<void> set_full() override;
};

}  // namespace offramp::aie
