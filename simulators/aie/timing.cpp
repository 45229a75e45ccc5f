// Scalar loops cost a fixed number of cycles per element, as in the compiler report of [aie-thesis]. Vector
// code handles 32 bytes per step, and its busiest unit determines the time of a step. The units are two loads
// per cycle, the vector operation of each input, and accesses that meet in one double bank.
#include "simulators/aie/timing.hpp"

#include <algorithm>

namespace offramp::aie {
namespace {

// Bytes of a word on a stream.
constexpr std::size_t kWord = 4;
constexpr std::size_t kVector = 32;  // bytes per load or store

// Rounded up.
std::size_t parts(std::size_t bytes, std::size_t size) {
  return (bytes + size - 1) / size;
}

}  // namespace

Time Timing::stream(std::size_t bytes, int header_words) const {
  const std::size_t words = std::max<std::size_t>(parts(bytes, kWord), 1);
  return cycles(costs_.word * static_cast<double>(words + static_cast<std::size_t>(header_words)));
}

Time Timing::reduce(Code code, int inputs, std::size_t elements, std::size_t bytes, int operations,
                    int meeting) const {
  if (code == Code::kScalar) {
    // Each operation of a function beyond the first costs one more cycle per input and element.
    const double element = inputs == 0
                               ? costs_.leaf_element
                               : costs_.outer_element + (costs_.input_element + operations - 1) * inputs;
    return cycles(element * static_cast<double>(elements));
  }
  // Each step overlaps two loads, one vector operation, and one store; the busiest unit determines its time.
  // All inputs and own data, two loads per cycle.
  const int loads = (inputs + 2) / 2;
  const int cycles_per_step = std::max({loads, inputs * operations, meeting});
  return cycles(static_cast<double>(cycles_per_step) * static_cast<double>(bytes) / kVector +
                costs_.vector_fill);
}

Time Timing::copy(Code code, std::size_t bytes, bool own) const {
  if (code == Code::kVector) return cycles(static_cast<double>(bytes) / kVector + costs_.vector_fill);
  const double element = own ? costs_.leaf_element : costs_.input_element;
  return cycles(element * static_cast<double>(parts(bytes, kWord)));
}

}  // namespace offramp::aie
