// The buffer of MPI_Bsend. Messages are copied to memory of Offramp; the program's buffer only limits their
// size. By MPI's accounting, each occupies its packed size plus MPI_BSEND_OVERHEAD until it is sent.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>

#include "lib/run/engine/engine.hpp"
#include "lib/run/mpi/marshal/marshal_context.hpp"

namespace offramp {

class Session;

/// Used by one thread at a time.
class BsendBuffer {
 public:
  /// The size in bytes that MPI's rules count against. Calls are paired.
  void attach(std::size_t size) { size_ = size; }
  void detach() { size_ = 0; }
  /// All messages sent through the buffer have left.
  [[nodiscard]] bool empty() const { return messages_.front() == nullptr; }

  /// Sends a copy of the data. Returns false if the buffer has no room, even after progress.
  bool send(Session& session, SendArguments arguments) REQUIRES(session_lock);

 private:
  /// A message that has not left yet, with its copy of the data.
  struct BufferedMessage {
    SendRecord record;
    std::unique_ptr<std::byte[]> data;
    std::size_t occupied = 0;
    BsendBuffer* buffer = nullptr;
    ListLink<BufferedMessage> link;
  };

  // Open MPI's eager limit between processes of one node. It sends such messages without using the buffer,
  // even if no buffer is attached.
  static constexpr std::size_t kUncounted = 4096;

  static std::size_t occupied_by(std::size_t bytes) {
    return bytes > kUncounted ? bytes + MPI_BSEND_OVERHEAD : 0;
  }
  [[nodiscard]] bool has_room(std::size_t bytes) const {
    const std::size_t occupied = occupied_by(bytes);
    return occupied == 0 || used_ + occupied <= size_;
  }
  void drain(Session& session, std::size_t bytes) const REQUIRES(session_lock);

  std::size_t size_ = 0;
  std::size_t used_ = 0;
  InFlight<BufferedMessage, &BufferedMessage::link> messages_;
};

}  // namespace offramp
