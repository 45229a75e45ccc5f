#include "offramp/kernel/time.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>

namespace offramp {
namespace {

// These must not compile: numbers without units, and products of moments.
template <typename A, typename B>
concept Adds = requires(A a, B b) {
  a + b;
};
template <typename A, typename B>
concept Multiplies = requires(A a, B b) {
  a* b;
};
template <typename A, typename B>
concept Compares = requires(A a, B b) {
  a < b;
};
static_assert(Adds<Time, Time> && Multiplies<Time, std::int64_t> && Compares<Time, Time>);
static_assert(!Adds<Time, int> && !Adds<double, Time> && !Multiplies<Time, Time> && !Compares<Time, int>);
static_assert(!std::is_convertible_v<std::int64_t, Time> && !std::is_convertible_v<Time, std::int64_t>);

TEST(Time, UnitsArePicoseconds) {
  EXPECT_EQ(Time::ns(3).count(), 3'000);
  EXPECT_EQ(Time::us(3).count(), 3'000'000);
  EXPECT_EQ(Time::ms(3).count(), 3'000'000'000);
  EXPECT_DOUBLE_EQ(Time::ms(1500).seconds(), 1.5);
  EXPECT_DOUBLE_EQ(Time::ps(1500).nanoseconds(), 1.5);
}

TEST(Time, HoldsAHundredAndSixDays) {
  constexpr std::int64_t kDay = 86'400'000;  // in milliseconds
  EXPECT_GT(Time::ms(106 * kDay), Time::ms(105 * kDay));
  EXPECT_LT(Time::ms(106 * kDay), Time::never());
}

TEST(Time, SumsDoNotDependOnTheirOrder) {
  std::mt19937_64 random(1);
  Time forward, backward;
  std::int64_t parts[100];
  for (std::int64_t& part : parts) part = static_cast<std::int64_t>(random() % 1'000'000'007);
  for (int i = 0; i < 100; ++i) forward += Time::ps(parts[i]), backward += Time::ps(parts[99 - i]);
  EXPECT_EQ(forward, backward);
}

TEST(Time, LaterAndEarlierAreMaximumAndMinimum) {
  EXPECT_EQ(later(Time::ns(1), Time::ns(2)), Time::ns(2));
  EXPECT_EQ(earlier(Time::ns(1), Time::ns(2)), Time::ns(1));
  EXPECT_EQ(later(Time::ns(1), Time::never()), Time::never());
}

TEST(Frequency, RoundsUpOncePerRunOfCycles) {
  constexpr Frequency kThird = Frequency::megahertz(300);  // 3333 1/3 ps
  EXPECT_EQ(kThird.cycles(1), Time::ps(3334));
  EXPECT_EQ(kThird.cycles(2), Time::ps(6667));
  EXPECT_EQ(kThird.cycles(3), Time::ns(10));
  EXPECT_EQ(kThird.cycles(3'000'000), Time::ms(10));
}

TEST(Frequency, ExactCyclesAreNotRounded) {
  EXPECT_EQ(Frequency::megahertz(250).cycles(7), Time::ns(28));
  EXPECT_EQ(Frequency::kilohertz(1).cycles(1), Time::ms(1));
}

TEST(Frequency, NoCyclesTakeNoTime) {
  EXPECT_EQ(Frequency::hertz(1).cycles(0), Time());
  EXPECT_EQ(Frequency::hertz(1).cycles(-5), Time());
}

TEST(Frequency, CyclesInIsTheInverseOfCycles) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 20'000; ++i) {
    const auto hertz = static_cast<std::int64_t>(1 + random() % 5'000'000'000);
    const auto n = static_cast<std::int64_t>(random() >> (31 + random() % 32)) % (hertz * 1000);
    const Frequency frequency = Frequency::hertz(hertz);
    ASSERT_EQ(frequency.cycles_in(frequency.cycles(n)), n) << hertz << " Hz";
    if (n > 0) {
      ASSERT_EQ(frequency.cycles_in(frequency.cycles(n) - Time::ps(1)), n - 1) << hertz << " Hz";
    }
  }
}

TEST(Frequency, SmallAndLargeCountsFollowOneFormula) {
  const Frequency frequency = Frequency::hertz(322'265'625);
  for (std::int64_t n = 8'999'990; n < 9'000'010; ++n) {  // around the switch to wide arithmetic
    const auto exact = static_cast<long double>(n) * 1e12L / 322'265'625.0L;
    EXPECT_GE(static_cast<long double>(frequency.cycles(n).count()), exact - 1e-3L);
    EXPECT_LT(static_cast<long double>(frequency.cycles(n).count()), exact + 1.0L);
    EXPECT_GT(frequency.cycles(n + 1), frequency.cycles(n));
  }
}

TEST(Frequency, HugeCountsSaturate) {
  EXPECT_EQ(Frequency::hertz(1).cycles(std::numeric_limits<std::int64_t>::max()), Time::never());
  EXPECT_EQ(Frequency::hertz(1).cycles(9'223'372), Time::ms(9'223'372'000));
  EXPECT_EQ(Frequency::hertz(1).cycles(9'223'373), Time::never());
}

TEST(Frequency, CyclesInHoldsTheWholeRange) {
  EXPECT_EQ(Frequency::megahertz(1000).cycles_in(Time::ms(9'000'000'000)), 9'000'000'000'000'000);
}

TEST(Bandwidth, RoundsUpOncePerTransfer) {
  constexpr Bandwidth kHundred = Bandwidth::gigabits_per_second(100);
  EXPECT_EQ(kHundred.bytes(1), Time::ps(80));
  EXPECT_EQ(kHundred.bytes(4096), Time::ps(327'680));
  constexpr Bandwidth kOdd = Bandwidth::bits_per_second(10'312'500'000);
  EXPECT_EQ(kOdd.bytes(1), Time::ps(776));  // 775.76
  EXPECT_EQ(kOdd.bytes(165), Time::ns(128));
}

TEST(Bandwidth, HugeTransfersDoNotOverflow) {
  EXPECT_EQ(Bandwidth::gigabits_per_second(1).bytes(std::int64_t{1} << 50),
            Time::ns((std::int64_t{1} << 53)));
  EXPECT_EQ(Bandwidth::gigabits_per_second(1).bytes(std::numeric_limits<std::int64_t>::max()), Time::never());
  EXPECT_EQ(Bandwidth::bits_per_second(1).bytes(std::int64_t{1} << 61), Time::never());
}

TEST(Bandwidth, IsMonotoneInBytesAndRate) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 10'000; ++i) {
    const auto rate = static_cast<std::int64_t>(1 + random() % 400'000'000'000);
    const auto bytes = static_cast<std::int64_t>(random() % (1U << 30U));
    const Bandwidth bandwidth = Bandwidth::bits_per_second(rate);
    ASSERT_LE(bandwidth.bytes(bytes), bandwidth.bytes(bytes + 1));
    ASSERT_GE(bandwidth.bytes(bytes), Bandwidth::bits_per_second(rate + 1000).bytes(bytes));
  }
}

}  // namespace
}  // namespace offramp
