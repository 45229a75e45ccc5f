// Functional model of the data path of a call: casting lanes and arithmetic unit. Times are computed by
// CardProcessor. Plain values and functions, for any thread.
#pragma once

#include <array>
#include <cstdint>

#include "offramp/model/message.hpp"
#include "simulators/cclo/io_space.hpp"

namespace offramp::cclo {

/// The word at 0x48 of a call: which operands are of the compressed type, and whether messages are.
inline constexpr std::uint32_t kOperand0Compressed = 0x1;
inline constexpr std::uint32_t kOperand1Compressed = 0x2;
inline constexpr std::uint32_t kResultCompressed = 0x4;
inline constexpr std::uint32_t kMessagesCompressed = 0x8;

/// The nearest half-precision number (binary16), ties to even. Overflow gives infinity. Keeps NaN.
std::uint16_t half_of(float value);
float float_of(std::uint16_t half);

/// An arithmetic configuration of the second generation, decoded as in hardware (read in [accl-2025]).
struct ArithmeticRecord {
  static constexpr std::uint32_t kMostFunctions = 10;
  std::uint32_t plain_bytes = 1;  // per element
  std::uint32_t compressed_bytes = 1;
  std::uint32_t ratio_log = 0;  // one compressed element represents 2^ratio_log elements
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

/// The data path of a call: its arithmetic configuration, flags, and function (second generation).
struct Datapath {
  ArithmeticRecord record;
  std::uint32_t compression = 0;  // flags k...Compressed
  std::uint32_t streams = 0;      // flags k...Stream
  std::uint32_t function = 0;

  [[nodiscard]] bool compressed(std::uint32_t which) const { return (compression & which) != 0; }
  [[nodiscard]] bool streamed(std::uint32_t which) const { return (streams & which) != 0; }
  /// Returns whether the call neither casts data nor exchanges data with a kernel.
  [[nodiscard]] bool plain() const { return compression == 0 && streams == 0; }
  [[nodiscard]] std::uint32_t lane() const {
    return function < ArithmeticRecord::kMostFunctions ? record.lanes[function] : 0;
  }
};

/// A compression lane: 0 casts float to half, all others half to float (read in [accl-2025]). Converts as
/// many elements as `out` has room for.
void cast(std::uint32_t lane, Bytes in, MutableBytes out);
/// A lane of the arithmetic unit: sums (0 to 4) and maxima (5 to 9) of f32, f64, i32, i64, f16. Other lanes
/// compute the f32 sum (read in [accl-2025]). Whole elements only; out may be an operand.
void compute(std::uint32_t lane, Bytes a, Bytes b, MutableBytes out);

}  // namespace offramp::cclo
