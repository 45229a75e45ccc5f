// What an engine is connected to besides its control registers: kernels, memories, and messages as they
// come. Engines that are driven by a library's plans and collectives have none of it.
#pragma once

#include <cstdint>

#include "simulators/cclo/data_plane.hpp"
#include "simulators/cclo/device_memory.hpp"
#include "simulators/cclo/exchange_memory.hpp"

namespace offramp::cclo {

/// Messages to kernels carry their tag and this as their stream; 0 is to the RX buffers (read in
/// [accl-2025]).
inline constexpr std::uint32_t kFirstStream = 9;
/// Destinations in the stream switch have 8 bits: tags up to 246 name a kernel's stream.
inline constexpr std::uint32_t kMostStreamTag = 246;

/// A user's kernel beside an engine. Called in the order in which the engine's commands take effect.
class Kernel {
 public:
  virtual ~Kernel() = default;
  struct Supply {
    std::uint64_t bytes = 0;  // of what was asked for
    bool ended = false;       // the kernel has marked the last of them as the end of its stream
    Flow when;                // at the engine's port
  };
  /// Words for an operand, from when the engine can take them on.
  virtual Supply supply(MutableBytes into, Time from) = 0;
  /// Words of a result, or of a message to one of its streams.
  virtual void take(std::uint32_t stream, Bytes data, const Flow& when) = 0;
  /// First generation: an arithmetic unit outside of the engine. Returns when the result comes.
  virtual Flow combine(Bytes a, Bytes b, MutableBytes out, const Flow& in) = 0;
};

class EnginePorts {
 public:
  /// Null: nothing is connected.
  [[nodiscard]] virtual Kernel* kernel() = 0;
  [[nodiscard]] virtual DeviceMemory& memory() = 0;
  /// The header of the message that the team gave last, and its bytes.
  struct Incoming {
    RxMessage header;
    std::uint64_t payload = 0;
  };
  [[nodiscard]] virtual const Incoming& incoming() const = 0;
  /// The header of the message that the team gets next.
  virtual void outgoing(const RxMessage& header) = 0;
  /// A message to a kernel of a peer: it passes no RX buffer.
  virtual void send_to_kernel(int peer, std::uint32_t stream, Bytes data, const Flow& when) = 0;

 protected:
  ~EnginePorts() = default;
};

}  // namespace offramp::cclo
