// A pool of messages for collective algorithms. Records are large, and their construction would dominate the
// time of small collectives. Called under the engine's lock.
#pragma once

#include <coroutine>
#include <memory>
#include <utility>
#include <vector>

#include "lib/run/engine/records.hpp"

namespace offramp {

/// One message of an algorithm: its record, and the coroutine that waits for it.
struct TeamMessage {
  SendRecord send;
  ReceiveRecord receive;
  bool sending = false;
  std::coroutine_handle<> waiter;

  [[nodiscard]] bool done() const { return sending ? send.done : receive.done; }
  /// Resumes the waiter, if any. It is forgotten first, since the coroutine may use this message for another
  /// wait.
  void resume() {
    if (waiter != nullptr) std::exchange(waiter, nullptr).resume();
  }
};

/// Grows to the largest number of messages in use at once, and keeps them.
class MessagePool {
 public:
  /// Returns a free message, which the pool owns. The caller returns it with release().
  TeamMessage* acquire() {
    if (free_.empty()) {
      all_.push_back(std::make_unique<TeamMessage>());
      return all_.back().get();
    }
    TeamMessage* message = free_.back();
    free_.pop_back();
    return message;
  }
  void release(TeamMessage* message) { free_.push_back(message); }

 private:
  std::vector<std::unique_ptr<TeamMessage>> all_;
  std::vector<TeamMessage*> free_;
};

}  // namespace offramp
