#include "simulators/aie/host_path.hpp"

#include <algorithm>

namespace offramp::aie {

double HostPath::rate(int users) const {
  const int per_port = (users + ports - 1) / ports;
  return std::min(port / per_port, total / users);
}

Time HostPath::transfer(std::size_t bytes, int users) const {
  return Time::ps(static_cast<std::int64_t>(static_cast<double>(bytes) * 1e12 / rate(users) + 0.5));
}

Task<void> HostSource::wait_full() {
  if (taken_ >= 2) next_ = later(next_, freed_[taken_ & 1U]);
  next_ += per_window_;
  ++taken_;
  clock_ = later(clock_, next_);
  co_return;
}

Task<void> HostSource::set_empty() {
  freed_[emptied_++ & 1U] = clock_;
  co_return;
}

Task<void> HostSink::wait_empty() {
  if (filled_ >= 2) clock_ = later(clock_, drained_[filled_ & 1U]);
  co_return;
}

Task<void> HostSink::set_full() {
  const Time free = filled_ == 0 ? Time() : drained_[(filled_ - 1) & 1U];
  drained_[filled_++ & 1U] = later(clock_, free) + per_window_;
  co_return;
}

Task<void> OpenOutput::wait_empty() {
  co_return;
}

Task<void> OpenOutput::set_full() {
  co_return;
}

}  // namespace offramp::aie
