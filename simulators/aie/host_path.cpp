// A transfer ends when both the port and the memory, which all ports share, have moved it; the port serves
// its windows one by one. Reads are prefetched into two buffers, so only the first two windows have the full
// latency. Later ones follow at the port's pace. On the way out the latency counts once, when the last
// windows are drained.
#include "simulators/aie/host_path.hpp"

#include <algorithm>

namespace offramp::aie {

void OwnHostPort::start(std::size_t buffer, Time at) {
  const Time begin = later(at, port_free_);
  port_free_ = ends_[buffer] = later(begin + port_time_, total_.acquire(begin, total_time_).end);
}

HostSource::HostSource(Time& clock, HostPort& port, const HostPath& path, std::size_t window,
                       std::size_t windows)
    : clock_(clock), port_(port), latency_(path.latency), pace_(path.port_time(window)), windows_(windows) {
  // Both buffers are requested at once.
  for (std::size_t buffer = 0; buffer < std::min(kBuffers, windows); ++buffer) port.start(buffer, clock);
}

/// The first windows need the full latency from memory. Later ones are already in flight when a buffer
/// becomes free, but arrive in order.
Task<void> HostSource::wait_full() {
  Time there = co_await port_.end(taken_ & 1U);
  if (taken_ < kBuffers) there += latency_;
  if (taken_ > 0) there = later(there, last_ + pace_);
  ++taken_;
  last_ = there;
  clock_ = later(clock_, there);
}

Task<void> HostSink::wait_empty() {
  return filled_ < kBuffers ? Task<void>() : wait_for_window();
}

Task<void> HostSink::wait_for_window() {
  clock_ = later(clock_, co_await port_.end(filled_ & 1U));
}

Task<void> HostSink::drain() {
  // The last two windows may still be on their way.
  for (std::size_t window = filled_ - std::min(kBuffers, filled_); window < filled_; ++window) {
    const Time end = co_await port_.end(window & 1U);
    clock_ = later(clock_, end + latency_);
  }
  filled_ = 0;
}

}  // namespace offramp::aie
