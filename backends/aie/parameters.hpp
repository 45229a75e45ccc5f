// The parameters of the array, and the values that they set.
#pragma once

#include "offramp/model/parameter.hpp"
#include "simulators/aie/collectives.hpp"

namespace offramp::aie {

enum class AllreduceDesign : std::uint8_t { kTree, kButterfly };

/// The largest window that compiled in [aie-thesis] 4.6.3.
inline constexpr std::size_t kLargestWindow = 8192;

struct Setup {
  ArraySpec array;
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
  Time command = Time::ns(500);
  Bandwidth configuration = Bandwidth::gigabits_per_second(12);
  std::size_t eager_limit = 65536;
  Bandwidth bounce = Bandwidth::gigabits_per_second(80);
};
Setup setup_of(const Settings& settings);

}  // namespace offramp::aie
