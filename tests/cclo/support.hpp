// Helpers of the cclo tests.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/cclo/cclo.hpp"
#include "simulators/cclo/message.hpp"
#include "tests/cluster.hpp"
#include "tests/timed_cluster.hpp"

namespace offramp::cclo {

using Buffer = std::vector<std::byte>;

inline std::string hex(std::span<const std::byte> bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const std::byte b : bytes) {
    out += kDigits[std::to_integer<std::size_t>(b >> 4)];
    out += kDigits[std::to_integer<std::size_t>(b & std::byte{15})];
  }
  return out;
}

using Values = std::vector<std::pair<std::string, Settings::Value>>;

/// The defaults without software around the calls: the engine's and the host's own times.
inline Settings settings_with(const Values& values) {
  Settings settings = Settings::defaults(cclo_backend().parameters);
  settings.set("driver", {0, "mapped"});
  for (const auto& [name, value] : values) settings.set(name, value);
  return settings;
}
// Values of settings, for lists of them.
inline Settings::Value word(const std::string& text) {
  return {0, text};
}
inline Settings::Value number(double value) {
  return {value, {}};
}

/// The program's buffers are in the card's memory: the engine's own times.
inline Values on_device(Values values = {}) {
  values.emplace_back("data", word("device"));
  return values;
}

/// The first generation over UDP, where the engine adds nothing to the wire.
inline Spec udp_spec() {
  Spec spec;
  spec.transport = Transport::kUdp;
  spec.engine = Bandwidth::gigabits_per_second(128);
  spec.overhead = framing_of(spec.transport);
  spec.latency = kLatency;
  return spec;
}
/// The second generation over RDMA.
inline Spec gen2_spec() {
  Spec spec;
  spec.generation = Generation::kSecond;
  spec.transport = Transport::kRdma;
  spec.max_packet = max_packet_of(spec.generation);
  spec.overhead = framing_of(spec.transport);
  spec.engine = kRdmaBandwidth;
  spec.rx_buffer_bytes = rx_buffer_bytes_of(spec.generation);
  return spec;
}

}  // namespace offramp::cclo
