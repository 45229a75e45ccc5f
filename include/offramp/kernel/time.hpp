// Modelled time: a position or a span on the modelled clock, in whole picoseconds.
//
// Integer sums are associative, so results are independent of the order in which a model adds its parts. 64
// bits cover 106 days. Rates convert to time once per transfer, rounding up, and never per byte. Plain
// values: any thread.
#pragma once

#include <cassert>
#include <compare>
#include <cstdint>
#include <limits>

namespace offramp {

/// Arithmetic does not check for overflow: keep sums below 106 days.
class Time {
 public:
  constexpr Time() = default;
  /// Positions or spans in the named unit. The value must fit into 64 bits of picoseconds.
  static constexpr Time ps(std::int64_t value) { return Time(value); }
  static constexpr Time ns(std::int64_t value) { return Time(value * 1000); }
  static constexpr Time us(std::int64_t value) { return Time(value * 1000 * 1000); }
  static constexpr Time ms(std::int64_t value) { return Time(value * 1000 * 1000 * 1000); }
  /// Later than every event. For comparisons only: adding to it overflows.
  static constexpr Time never() { return Time(std::numeric_limits<std::int64_t>::max()); }

  /// In picoseconds.
  [[nodiscard]] constexpr std::int64_t count() const { return ps_; }
  /// For output and ratios only: a double is exact up to 2^53 ps, which is 2.5 hours.
  [[nodiscard]] constexpr double seconds() const { return static_cast<double>(ps_) * 1e-12; }
  [[nodiscard]] constexpr double nanoseconds() const { return static_cast<double>(ps_) * 1e-3; }

  constexpr Time& operator+=(Time other) { return ps_ += other.ps_, *this; }
  constexpr Time& operator-=(Time other) { return ps_ -= other.ps_, *this; }
  friend constexpr Time operator+(Time a, Time b) { return Time(a.ps_ + b.ps_); }
  friend constexpr Time operator-(Time a, Time b) { return Time(a.ps_ - b.ps_); }
  friend constexpr Time operator*(Time a, std::int64_t n) { return Time(a.ps_ * n); }
  friend constexpr Time operator*(std::int64_t n, Time a) { return a * n; }
  /// The number of whole spans b in a.
  friend constexpr std::int64_t operator/(Time a, Time b) { return a.ps_ / b.ps_; }
  friend constexpr auto operator<=>(Time, Time) = default;

 private:
  explicit constexpr Time(std::int64_t value) : ps_(value) {}
  std::int64_t ps_ = 0;
};

/// The later and the earlier of two times: max and min, in the words of a timeline.
constexpr Time later(Time a, Time b) {
  return a < b ? b : a;
}
constexpr Time earlier(Time a, Time b) {
  return a < b ? a : b;
}

namespace detail {
__extension__ typedef __int128 Wide;  // NOLINT(modernize-use-using): the extension marker needs a typedef

inline constexpr std::int64_t kPicosecondsPerSecond = 1'000'000'000'000;
inline constexpr std::int64_t kNarrow = 9'000'000;  // 64-bit arithmetic is sufficient up to here

/// n / rate seconds, rounded up to a picosecond. Negative counts yield zero; times beyond 64 bits yield
/// Time::never().
constexpr Time time_at_rate(Wide n, std::int64_t rate_per_second) {
  if (n <= 0) return {};
  if (n <= kNarrow) {  // much faster
    // Cannot overflow: n * 10^12 is at most 9e18, and a rate adds less than 2^63 to it.
    const auto scaled = static_cast<std::uint64_t>(n) * static_cast<std::uint64_t>(kPicosecondsPerSecond);
    const auto rate = static_cast<std::uint64_t>(rate_per_second);
    return Time::ps(static_cast<std::int64_t>((scaled + rate - 1) / rate));
  }
  const Wide exact = (n * kPicosecondsPerSecond + rate_per_second - 1) / rate_per_second;
  return exact < Time::never().count() ? Time::ps(static_cast<std::int64_t>(exact)) : Time::never();
}
}  // namespace detail

/// The clock of a modelled unit, in hertz, greater than zero.
class Frequency {
 public:
  static constexpr Frequency hertz(std::int64_t value) { return Frequency(value); }
  static constexpr Frequency kilohertz(std::int64_t value) { return Frequency(value * 1000); }
  static constexpr Frequency megahertz(std::int64_t value) { return Frequency(value * 1000 * 1000); }

  /// In hertz.
  [[nodiscard]] constexpr std::int64_t count() const { return hertz_; }
  /// The duration of n cycles, rounded up to a picosecond once in total.
  [[nodiscard]] constexpr Time cycles(std::int64_t n) const {
    if (cycle_ > Time() && n <= detail::kNarrow) return n > 0 ? n * cycle_ : Time();
    return detail::time_at_rate(n, hertz_);
  }
  /// Number of whole cycles in a span (not negative). cycles_in(cycles(n)) is n below one terahertz.
  [[nodiscard]] constexpr std::int64_t cycles_in(Time span) const {
    std::int64_t product = 0;
    if (!__builtin_mul_overflow(span.count(), hertz_, &product))
      return product / detail::kPicosecondsPerSecond;
    return static_cast<std::int64_t>(static_cast<detail::Wide>(span.count()) * hertz_ /
                                     detail::kPicosecondsPerSecond);
  }

 private:
  explicit constexpr Frequency(std::int64_t value) : hertz_(value) {
    assert(value > 0);
    if (detail::kPicosecondsPerSecond % value == 0) cycle_ = Time::ps(detail::kPicosecondsPerSecond / value);
  }
  std::int64_t hertz_;
  Time cycle_;  // 0: not a whole number of picoseconds
};

/// The rate of a bus or a link, in bits per second, greater than zero.
class Bandwidth {
 public:
  static constexpr Bandwidth bits_per_second(std::int64_t value) { return Bandwidth(value); }
  static constexpr Bandwidth gigabits_per_second(std::int64_t value) {
    return Bandwidth(value * 1'000'000'000);
  }

  /// In bits per second.
  [[nodiscard]] constexpr std::int64_t count() const { return bits_; }
  /// The transfer time of n bytes, rounded up to a picosecond once in total.
  [[nodiscard]] constexpr Time bytes(std::int64_t n) const {
    return detail::time_at_rate(static_cast<detail::Wide>(n) * 8, bits_);
  }

 private:
  explicit constexpr Bandwidth(std::int64_t value) : bits_(value) { assert(value > 0); }
  std::int64_t bits_;
};

}  // namespace offramp
