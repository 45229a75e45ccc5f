// Heartbeats: occasional probes to the peer, at most one at a time, with a time limit for the answer.
#pragma once

#include "lib/services/dpu_service/transport.hpp"

namespace offramp::dpu {

class Pulse {
 public:
  /// Call it when the peer can answer. limit = 0: sends no probes.
  void watch(std::chrono::milliseconds limit) { limit_ = limit; }
  /// Returns true if a probe is due, and counts it as sent.
  bool starts_probe(Clock::time_point now) {
    if (limit_.count() == 0 || waiting_ || now < next_) return false;
    waiting_ = true;
    asked_ = now;
    next_ = now + limit_ / 4;
    return true;
  }
  void on_reply() { waiting_ = false; }
  /// Call it after processing all received data.
  [[nodiscard]] bool stalled(Clock::time_point now) const { return waiting_ && now - asked_ > limit_; }

  // For peers in one process: set by the other end.
  bool asked_by_peer = false;
  bool answered = false;

 private:
  std::chrono::milliseconds limit_{0};
  bool waiting_ = false;
  Clock::time_point asked_;
  Clock::time_point next_;
};

}  // namespace offramp::dpu
