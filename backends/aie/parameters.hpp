// The parameters of the array, and the values that they set.
#pragma once

#include "offramp/model/parameter.hpp"
#include "simulators/aie/collectives.hpp"

namespace offramp::aie {

/// A reduce with a multicast, or pairwise exchanges.
enum class AllreduceDesign : std::uint8_t { kTree, kButterfly };

/// The largest window that compiled in [aie-thesis] 4.6.3.
inline constexpr std::size_t kLargestWindow = 8192;

/// All values of the model, from the parameters. Immutable in use.
struct Setup {
  ArraySpec array;
  /// With the clock in MHz.
  Timing timing{{}, 1250};
  Placement placement = Placement::kAuto;
  int arity = 2;
  std::size_t window = kLargestWindow;  // largest window, in bytes
  bool best_window = true;              // use smaller windows where they are faster
  Code kernels = Code::kScalar;         // of reductions
  Code copies = Code::kVector;          // of everything else
  GatherDesign gather = GatherDesign::kPacked;
  AllreduceDesign allreduce = AllreduceDesign::kTree;
  bool host_data = true;  // messages are in the host's memory instead of the tiles
  HostPath host;
  /// The host's time to begin or end an operation. Assumed.
  Time command = Time::ns(500);
  /// The rate of loading graphs: [am009], about.
  Bandwidth configuration = Bandwidth::gigabits_per_second(12);
  std::size_t eager_limit = 65536;
  /// The rate of copies of unexpected messages. Assumed.
  Bandwidth bounce = Bandwidth::gigabits_per_second(80);
};
/// Settings must have been checked against parameters().
Setup setup_of(const Settings& settings);

}  // namespace offramp::aie
