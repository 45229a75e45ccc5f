// The role's ports of the engine: a command begins a call, the data follows, and a feedback ends it.
#pragma once

#include <cstdint>

#include "offramp/kernel/channel.hpp"
#include "simulators/zrlmpi/header.hpp"

namespace offramp::zrlmpi {

/// [zrlmpi-protocol] MPI_Interface: 72 bits.
struct Command {
  MpiCall call = MpiCall::kSendInt;
  std::uint32_t count = 0;  // words
  std::uint32_t rank = 0;   // peer
};

/// One byte per event (read in [zrlmpi-src]).
enum class Feedback : std::uint8_t {
  kOk = 1,    // the call is complete
  kFail = 2,  // the role must stream the same buffer again
};

/// A call uses one command, so one entry per FIFO suffices.
struct RolePorts {
  explicit RolePorts(Scheduler& scheduler)
      : command(scheduler, 1), data(scheduler, 1), feedback(scheduler, 1) {}

  Channel<Command> command;
  Channel<std::uint64_t> data;  // number of bytes that the role begins to stream
  Channel<Feedback> feedback;
};

}  // namespace offramp::zrlmpi
