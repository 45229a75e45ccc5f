// Figures as people read them, in the summary, in reports and on pages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace offramp {

/// A time in the unit that suits it, with four digits: "12.35 us".
std::string time_text(double nanoseconds);
/// "64 KiB", "6.3 GiB".
std::string bytes_text(double bytes);
/// A number with spaces between its thousands.
std::string count_text(double count);
/// A value as a multiple of another: "x1.81", "x0.62", "x13.7"; empty where there is nothing to divide by.
std::string ratio_text(double value, double baseline);
/// "1 rank", "4 ranks".
std::string counted(std::uint64_t count, std::string_view noun);

}  // namespace offramp
