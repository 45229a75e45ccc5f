// The differences of BlueField-3 to the defaults, which are those of BlueField-2. The sources of all values
// are in backends/dpu/parameters.cpp.
#include "simulators/dpu/platform.hpp"

namespace offramp::dpu {

CardSpec bluefield2() {
  return {};
}

CardSpec bluefield3() {
  CardSpec card;
  card.pair = Time::ns(1068);
  card.import = Time::ns(30968);
  card.combine = megabytes_per_second(25'000);
  card.arm_copy = megabytes_per_second(31'500);
  card.eager_limit = 6728;
  card.link = Bandwidth::gigabits_per_second(200);  // as in the measured systems; the card supports 400
  card.pcie = megabytes_per_second(52'000);
  card.dram = megabytes_per_second(76'800);  // inferred: two channels of DDR5-4800
  card.dma_write = megabytes_per_second(30'000);
  return card;
}

}  // namespace offramp::dpu
