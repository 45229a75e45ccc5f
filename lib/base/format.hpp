// Formats times, sizes, counts, ratios, and shares for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "offramp/kernel/time.hpp"

namespace offramp {

/// A time with four digits in a suitable unit: "12.35 us".
std::string time_text(double nanoseconds);
std::string time_text(Time time);
/// "64 KiB", "6.3 GiB".
std::string bytes_text(double bytes);
std::string bytes_text(std::uint64_t bytes);
/// A number with spaces between thousands: "12 345".
std::string count_text(double count);
std::string count_text(std::uint64_t count);
/// A value as a multiple of a baseline: "x1.81", "x0.62", "x13.7". Empty if the baseline is not positive.
std::string ratio_text(double value, double baseline);
std::string ratio_text(Time value, Time baseline);
/// "1 rank", "4 ranks".
std::string counted(std::uint64_t count, std::string_view noun);
/// "rank 3", "ranks 0, 1, 2 and 9 more"
std::string ranks_text(std::span<const std::size_t> ranks);
/// "and 9 more", after the printed part of a list.
std::string and_more_text(std::uint64_t left_out);
/// A share in percent: "73.0 %"; 0 if the whole is 0. Only a complete share is printed as 100, only an empty
/// one as 0.
std::string percent_text(double part, double whole, int digits = 1);
std::string percent_text(Time part, Time whole);

}  // namespace offramp
