// Element-wise arithmetic on the types of the lanes. Half-precision numbers are computed as floats and then
// rounded; compute_halves() explains why this is exact.
#include "tests/cclo/card/datapath.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

namespace offramp::cclo {
namespace {

constexpr std::uint32_t kRecordHead = 7;  // words

template <typename T>
T load(Bytes from, std::size_t index) {
  T value;
  std::memcpy(&value, from.data() + index * sizeof(T), sizeof(T));
  return value;
}
template <typename T>
void store(MutableBytes to, std::size_t index, T value) {
  std::memcpy(to.data() + index * sizeof(T), &value, sizeof(T));
}

template <typename T>
T sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {  // wraps around, as the hardware adders do
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  } else {
    return a + b;
  }
}

template <typename T, typename Function>
void each(Bytes a, Bytes b, MutableBytes out, Function function) {
  for (std::size_t i = 0; i < out.size() / sizeof(T); ++i)
    store<T>(out, i, function(load<T>(a, i), load<T>(b, i)));
}

template <typename T>
void compute_of(bool largest, Bytes a, Bytes b, MutableBytes out) {
  if (largest) {
    each<T>(a, b, out, [](T x, T y) { return x > y ? x : y; });
  } else {
    each<T>(a, b, out, sum<T>);
  }
}

/// A float has more than twice as many digits as a half, so rounding the sum twice equals rounding it once.
void compute_halves(bool largest, Bytes a, Bytes b, MutableBytes out) {
  each<std::uint16_t>(a, b, out, [largest](std::uint16_t x, std::uint16_t y) {
    const float fx = float_of(x);
    const float fy = float_of(y);
    if (largest) return fx > fy ? x : y;
    return half_of(fx + fy);
  });
}

}  // namespace

std::uint16_t half_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<std::uint16_t>(sign | 0x7e00U);   // NaN
  if (magnitude >= 0x477ff000U) return static_cast<std::uint16_t>(sign | 0x7c00U);  // at least 65520
  const std::uint32_t exponent = magnitude >> 23;
  std::uint32_t kept = 0;
  std::uint32_t shift = 13;
  if (exponent >= 113) {  // at least 2^-14
    kept = magnitude - (112U << 23);
  } else {
    if (exponent < 102) return static_cast<std::uint16_t>(sign);  // below half of the smallest number
    kept = (magnitude & 0x7fffffU) | 0x800000U;
    shift = 126 - exponent;
  }
  const std::uint32_t half = kept >> shift;
  const std::uint32_t rest = kept & ((1U << shift) - 1);
  const std::uint32_t middle = 1U << (shift - 1);
  const bool up = rest > middle || (rest == middle && (half & 1U) != 0);
  return static_cast<std::uint16_t>(sign | (half + (up ? 1U : 0U)));
}

float float_of(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
  const std::uint32_t exponent = half >> 10 & 0x1fU;
  std::uint32_t fraction = half & 0x3ffU;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  if (fraction == 0) return std::bit_cast<float>(sign);
  std::uint32_t scaled = 113;
  for (; (fraction & 0x400U) == 0; fraction <<= 1) --scaled;
  return std::bit_cast<float>(sign | scaled << 23 | (fraction & 0x3ffU) << 13);
}

ArithmeticRecord read_record(const IoSpace& space, std::uint32_t address) {
  const auto word = [&](std::uint32_t i) { return space.peek(address + 4 * i); };
  ArithmeticRecord record;
  record.plain_bytes = word(0);
  record.compressed_bytes = word(1);
  record.ratio_log = word(2) & 31U;
  record.compressor = word(3);
  record.decompressor = word(4);
  record.functions = std::min(word(5), ArithmeticRecord::kMostFunctions);
  record.computes_compressed = word(6) != 0;
  for (std::uint32_t i = 0; i < record.functions; ++i) record.lanes[i] = word(kRecordHead + i);
  return record;
}

void cast(std::uint32_t lane, Bytes in, MutableBytes out) {
  if (lane == 0) {
    for (std::size_t i = 0; i < std::min(out.size() / 2, in.size() / 4); ++i)
      store<std::uint16_t>(out, i, half_of(load<float>(in, i)));
    return;
  }
  for (std::size_t i = 0; i < std::min(out.size() / 4, in.size() / 2); ++i)
    store<float>(out, i, float_of(load<std::uint16_t>(in, i)));
}

void compute(std::uint32_t lane, Bytes a, Bytes b, MutableBytes out) {
  const MutableBytes room = out.first(std::min({out.size(), a.size(), b.size()}));
  const std::uint32_t known = lane < 10 ? lane : 0;
  const bool largest = known >= 5;
  switch (known % 5) {
    case 1:
      return compute_of<double>(largest, a, b, room);
    case 2:
      return compute_of<std::int32_t>(largest, a, b, room);
    case 3:
      return compute_of<std::int64_t>(largest, a, b, room);
    case 4:
      return compute_halves(largest, a, b, room);
    default:
      return compute_of<float>(largest, a, b, room);
  }
}

}  // namespace offramp::cclo
