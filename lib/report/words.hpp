// Figures as people read them, in the summary, in reports and on pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "offramp/kernel/time.hpp"
#include "offramp/model/machine.hpp"

namespace offramp {

/// A time in the unit that suits it, with four digits: "12.35 us".
std::string time_text(double nanoseconds);
std::string time_text(Time time);
/// "64 KiB", "6.3 GiB".
std::string bytes_text(double bytes);
std::string bytes_text(std::uint64_t bytes);
/// A number with spaces between its thousands.
std::string count_text(double count);
std::string count_text(std::uint64_t count);
/// A value as a multiple of another: "x1.81", "x0.62", "x13.7"; empty where there is nothing to divide by.
std::string ratio_text(double value, double baseline);
std::string ratio_text(Time value, Time baseline);
/// "1 rank", "4 ranks".
std::string counted(std::uint64_t count, std::string_view noun);
/// "rank 3", "ranks 0, 1, 2 and 9 more"
std::string ranks_text(std::span<const std::size_t> ranks);
/// "and 9 more", behind what is shown of a list.
std::string and_more_text(std::uint64_t left_out);
/// A part of a whole, or of nothing, in percent: "73.0 %". What is not all is never rounded to 100, and what
/// is not nothing never to 0.
std::string percent_text(double part, double whole, int digits = 1);
std::string percent_text(Time part, Time whole);

/// What makes a comparison one between different machines: "it has 200 Gb/s out of a node, where the host has
/// 100 Gb/s", or that hardware does not stand on the nodes. Empty: both have the same, or it is not known.
std::string other_ground_text(const Footing& hardware, const Footing& host);

/// "MPI calls are 8.0 % of the run over host, and 35.0 % of that is waiting for other ranks' computing, which
/// no hardware changes". in_calls, sum: of all ranks together, of the run; free_in_calls: with communication
/// that takes no time.
std::string share_in_calls_text(std::string_view backend, Time in_calls, Time sum, Time free_in_calls);
/// What CPU time between questions that found nothing counts as. polling: the value of the key.
std::string gaps_text(Time brief, Time longer, std::string_view polling);

/// As many places as a summary or a report in text names.
constexpr std::size_t kShownPlaces = 3;
/// "1800 x MPI_Irecv on MPI_COMM_WORLD at wildcards+0x2365".
std::string place_text(std::uint64_t times, std::string_view call, std::string_view communicator,
                       std::string_view where);

}  // namespace offramp
