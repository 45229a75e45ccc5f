// A backend as a live run asks it: its verdicts, and its messages on the live clock.
#pragma once

#include <memory>
#include <utility>

#include "lib/live_clock/live_messages.hpp"

namespace offramp {

/// Units for any hardware.
struct ManyUnits : Units {
  ManyUnits() : Units(1024) {}  // a tinsel machine of 48 boards has 870
};

class LiveBackend {
 public:
  explicit LiveBackend(std::unique_ptr<Backend> backend) : backend_(std::move(backend)), live_(*backend_) {}

  Departure depart(const Transfer& transfer, Time issued, Units& units) {
    const Departure departure = live_.depart(transfer, issued, units);
    departed_ = departure.stamp;
    return departure;
  }
  Stamp match(const Transfer& transfer, const Stamp& departure, Time posted) {
    return live_.match(transfer, departure, posted);
  }
  /// By a program that waits for the message from the moment on at which it posts the receive.
  Time receive(const Transfer& transfer, const Stamp& departure, Time posted, Units& units) {
    return live_.receive(transfer, departure, posted, posted, units);
  }
  /// Of the message that departed last.
  Time complete_send(const Stamp& reply, Units& units) {
    return live_.complete_send(departed_, reply, units);
  }

  [[nodiscard]] Verdict supports(const Operation& operation) const { return backend_->supports(operation); }
  [[nodiscard]] Time post_receive_cost() const { return backend_->post_receive_cost(); }
  [[nodiscard]] WireCounters wire() const { return backend_->wire(); }
  [[nodiscard]] std::string_view failure(const Stamp& stamp) const { return backend_->failure(stamp); }
  [[nodiscard]] std::size_t units() const { return live_.units(); }
  void forget(std::uint64_t context) { backend_->forget(context); }
  Task<Outcome> collective(const Operation& operation, Team& team, CollectiveBuffers buffers) {
    return backend_->collective(operation, team, buffers);
  }
  [[nodiscard]] Backend& backend() { return *backend_; }

 private:
  std::unique_ptr<Backend> backend_;
  LiveMessages live_;
  Stamp departed_;
};

inline std::unique_ptr<LiveBackend> live(std::unique_ptr<Backend> backend) {
  return std::make_unique<LiveBackend>(std::move(backend));
}

}  // namespace offramp
