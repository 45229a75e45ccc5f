// Sentences that several outputs share: on the ground of a comparison, on the time in MPI calls, and on
// places in the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/answers/replay/replay_result.hpp"
#include "lib/programs/recording/native_times.hpp"
#include "offramp/kernel/time.hpp"
#include "offramp/model/machine.hpp"

namespace offramp {

/// What makes a comparison one between different machines: "it has 200 Gb/s out of a node, where the host has
/// 100 Gb/s", or that hardware does not stand on the nodes. Empty: both have the same, or it is not known.
std::string other_ground_text(const Deployment& hardware, const Deployment& host);

/// "MPI calls are 8.0 % of the run over host, and 35.0 % of that is waiting for other ranks' computing, which
/// no hardware changes". in_calls, sum: of all ranks together, of the run; free_in_calls: with communication
/// that takes no time.
std::string share_in_calls_text(std::string_view backend, Time in_calls, Time sum, Time free_in_calls);
/// "not modelled: MPI_Send, 20 MiB, 99 % of all bytes". Empty below 1 % of time and bytes.
std::string unmodelled_text(const WholeRun& run);
/// "natively 622 ms, 11 % of it in MPI".
std::string native_text(const recording::NativeTimes& native);
/// What CPU time between questions that found nothing counts as. polling: the value of the key.
std::string gaps_text(Time brief, Time longer, std::string_view polling);

/// As many places as a summary or a report in text names.
constexpr std::size_t kShownPlaces = 3;
/// "1800 x MPI_Irecv on MPI_COMM_WORLD at wildcards+0x2365".
std::string place_text(std::uint64_t times, std::string_view call, std::string_view communicator,
                       std::string_view where);

}  // namespace offramp
