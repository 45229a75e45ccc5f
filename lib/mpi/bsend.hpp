// The buffer of MPI_Bsend. Messages are copied to memory of our own; the program's buffer only bounds them,
// by MPI's accounting: a message occupies its packed size and MPI_BSEND_OVERHEAD until it has left.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>

#include "lib/core/engine.hpp"

namespace offramp {

/// Used by one thread at a time.
class BsendBuffer {
 public:
  void attach(std::size_t size) { size_ = size; }
  void detach() { size_ = 0; }
  [[nodiscard]] bool empty() const { return used_ == 0; }

  /// Sends a copy of the data; false when the buffer has no room.
  bool send(Engine& engine, SendArguments arguments);

 private:
  struct Message;
  std::size_t size_ = 0;
  std::size_t used_ = 0;
};

}  // namespace offramp
