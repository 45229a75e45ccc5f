// Signs of life: a question to the peer now and then, at most one at a time, and a limit for its answer.
#pragma once

#include "lib/services/dpu_service/transport.hpp"

namespace offramp::dpu {

class Pulse {
 public:
  /// Not before the peer can answer. 0: nobody is asked.
  void watch(std::chrono::milliseconds limit) { limit_ = limit; }
  /// Whether a question is due; then it is taken as asked.
  bool ask(Clock::time_point now) {
    if (limit_.count() == 0 || waiting_ || now < next_) return false;
    waiting_ = true;
    asked_ = now;
    next_ = now + limit_ / 4;
    return true;
  }
  void hear() { waiting_ = false; }
  /// To be asked after all that came in has been heard.
  [[nodiscard]] bool stalled(Clock::time_point now) const { return waiting_ && now - asked_ > limit_; }

  // Within a process: what the other end has left here.
  bool asked_by_peer = false;
  bool answered = false;

 private:
  std::chrono::milliseconds limit_{0};
  bool waiting_ = false;
  Clock::time_point asked_;
  Clock::time_point next_;
};

}  // namespace offramp::dpu
