// The connections of a card's engine besides its control registers: kernels, memories, and message headers.
#pragma once

#include <cstdint>

#include "simulators/cclo/data_plane.hpp"
#include "simulators/cclo/exchange_memory.hpp"
#include "tests/cclo/card/device_memory.hpp"

namespace offramp::cclo {

/// Stream number of messages to kernels, plus their tag. 0 leads to RX buffers (read in [accl-2025]).
inline constexpr std::uint32_t kFirstStream = 9;
/// The stream switch has 8-bit destinations, so only tags up to 246 can select a kernel's stream.
inline constexpr std::uint32_t kMostStreamTag = 246;

/// A user's kernel next to an engine. Called in the order in which the engine's commands take effect.
class Kernel {
 public:
  virtual ~Kernel() = default;
  struct Supply {
    std::uint64_t bytes = 0;  // number supplied
    bool ended = false;       // the last byte is marked as the end of the kernel's stream
    Flow when;                // at the engine's port
  };
  /// Supplies words of an operand. from: when the engine can accept them.
  virtual Supply supply(MutableBytes into, Time from) = 0;
  /// Receives the words of a result, or of a message to one of the kernel's streams.
  virtual void consume(std::uint32_t stream, Bytes data, const Flow& when) = 0;
  /// First generation: acts as an external arithmetic unit. Returns the time when the result arrives.
  virtual Flow combine(Bytes a, Bytes b, MutableBytes out, const Flow& in) = 0;
};

/// The connections of one engine; implemented by OffloadEngine (machine.hpp).
class EnginePorts {
 public:
  /// Returns null if no kernel is connected.
  [[nodiscard]] virtual Kernel* kernel() = 0;
  [[nodiscard]] virtual DeviceMemory& memory() = 0;
  /// Header and payload size of the message that the team delivered last.
  struct Incoming {
    RxMessage header;
    std::uint64_t payload = 0;
  };
  [[nodiscard]] virtual const Incoming& incoming() const = 0;
  /// Sets the header of the next message passed to the team.
  virtual void outgoing(const RxMessage& header) = 0;
  /// Sends a message to a peer's kernel, bypassing the RX buffers.
  virtual void send_to_kernel(int peer, std::uint32_t stream, Bytes data, const Flow& when) = 0;

 protected:
  ~EnginePorts() = default;
};

}  // namespace offramp::cclo
