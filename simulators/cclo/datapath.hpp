// What data go through between a call's operands and its result: the lanes that cast, and the arithmetic
// unit. Functional; the times are the Processor's. Plain values and functions: any thread.
#pragma once

#include <array>
#include <cstdint>

#include "offramp/model/message.hpp"
#include "simulators/cclo/io_space.hpp"

namespace offramp::cclo {

/// A number of half precision (IEEE 754 binary16) nearest to a float; of two the even one. Too large a number
/// becomes an infinity; what is no number stays none.
std::uint16_t half_of(float value);
float float_of(std::uint16_t half);

/// An arithmetic configuration of the second generation as the hardware reads it (read in [accl-2025]).
struct ArithmeticRecord {
  static constexpr std::uint32_t kMostFunctions = 10;
  std::uint32_t plain_bytes = 1;  // of an element
  std::uint32_t compressed_bytes = 1;
  std::uint32_t ratio_log = 0;  // one compressed element stands for 2^ratio_log
  std::uint32_t compressor = 0;
  std::uint32_t decompressor = 0;
  std::uint32_t functions = 0;
  bool computes_compressed = false;
  std::array<std::uint32_t, kMostFunctions> lanes{};

  [[nodiscard]] std::uint64_t bytes(std::uint64_t elements, bool compressed) const {
    return compressed ? (elements >> ratio_log) * compressed_bytes : elements * plain_bytes;
  }
};
ArithmeticRecord read_record(const IoSpace& space, std::uint32_t address);

/// What the words of a call make of its data, beside where they are (second generation).
struct Datapath {
  ArithmeticRecord record;
  std::uint32_t compression = 0;  // k...Compressed
  std::uint32_t streams = 0;      // k...Stream
  std::uint32_t function = 0;

  [[nodiscard]] bool compressed(std::uint32_t which) const { return (compression & which) != 0; }
  [[nodiscard]] bool streamed(std::uint32_t which) const { return (streams & which) != 0; }
  /// Nothing is cast, and nothing comes from a kernel or goes there.
  [[nodiscard]] bool plain() const { return compression == 0 && streams == 0; }
  [[nodiscard]] std::uint32_t lane() const {
    return function < ArithmeticRecord::kMostFunctions ? record.lanes[function] : 0;
  }
};

/// A compression lane: 0 makes halves of floats, everything else floats of halves (read in [accl-2025]). As
/// many elements as `out` has room for.
void cast(std::uint32_t lane, Bytes in, MutableBytes out);
/// A lane of the arithmetic unit: sums (0 to 4) and maxima (5 to 9) of f32, f64, i32, i64, f16; everything
/// else is the sum of f32 (read in [accl-2025]). Whole elements; out may be one of the operands.
void compute(std::uint32_t lane, Bytes a, Bytes b, MutableBytes out);

}  // namespace offramp::cclo
