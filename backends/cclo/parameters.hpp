// The parameters of the cclo backend, and the model's configuration derived from them.
#pragma once

#include <string_view>
#include <vector>

#include "offramp/model/backend.hpp"
#include "simulators/cclo/layout.hpp"
#include "simulators/cclo/spec.hpp"

namespace offramp::cclo {

/// In the order in which they are listed to users.
const std::vector<Parameter>& parameters();

/// The host's interface to the engine.
enum class DriverKind : std::uint8_t {
  kMapped,  // registers in the process's address space, without a runtime
  kCoyote,
  kXrt
};

/// The host's costs.
struct HostCosts {
  Time read = Time::ns(900);  // of a register
  /// Posted: the host does not wait for it.
  Time write = Time::ns(100);
  Time queue = Time::ns(30);  // to append a receive to the driver's queue
  Time call;                  // software overhead per call
  bool staged = true;         // the driver copies the user's buffers to the card and back
};

/// Words written by the driver of the second generation, which select the firmware's algorithms.
struct Tuning {
  std::uint32_t bcast_flat_ranks = 3;
  std::uint32_t reduce_flat_ranks = 4;
  std::uint32_t reduce_flat_bytes = 8192;
  std::uint32_t gather_fan_in = 2;
  std::uint32_t gather_flat_bytes = 32768;
};

/// All values of the model. Immutable once derived.
struct Configuration {
  Spec spec;
  Layout layout;
  HostCosts host;
  Tuning tuning;
  std::uint32_t rx_buffers = 0;
};
/// Settings must have been checked against parameters().
Configuration configuration_of(const Settings& settings);

/// Describes the host's interface to the engine, as a text that follows the hardware's name.
std::string_view call_interface_text(const Settings& settings);

/// As BackendDescription::without_effect.
std::vector<WithoutEffect> without_effect(const Settings& settings);

}  // namespace offramp::cclo
