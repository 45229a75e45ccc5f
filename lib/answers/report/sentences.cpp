// A threshold decides whether a sentence is worth a line: less than 1 % without a model is not mentioned, and
// equal link rates need no remark.
#include "lib/answers/report/sentences.hpp"

#include <fmt/format.h>

#include "lib/answers/report/answer.hpp"
#include "lib/base/format.hpp"
#include "lib/programs/recording/event.hpp"

namespace offramp {

std::string other_ground_text(const Deployment& hardware, const Deployment& host) {
  if (hardware.text.empty() || host.text.empty() ||
      hardware.node_bits_per_second == host.node_bits_per_second)
    return {};
  if (hardware.node_bits_per_second == 0) return "it runs on " + hardware.text;
  constexpr double kGiga = 1e9;
  return fmt::format("it has {:g} Gb/s per node; the host has {:g} Gb/s",
                     static_cast<double>(hardware.node_bits_per_second) / kGiga,
                     static_cast<double>(host.node_bits_per_second) / kGiga);
}

std::string share_in_calls_text(std::string_view backend, Time in_calls, Time sum, Time free_in_calls) {
  return fmt::format(
      "MPI calls are {} of the run over {}, and {} of that would remain with free communication",
      percent_text(in_calls, sum), backend, percent_text(earlier(free_in_calls, in_calls), in_calls));
}

std::string unmodelled_text(const WholeRun& run) {
  constexpr double kNamed = 0.01;
  if (run.largest_share_unmodelled() < kNamed) return {};
  const std::string bytes = run.bytes_unmodelled > 0 ? bytes_text(run.bytes_unmodelled) + ", " : "";
  return fmt::format("not modelled: {}{}, {}{} of {}", run.unmodelled_function,
                     run.unmodelled_functions > 1 ? " and others" : "", bytes,
                     share_text(run.largest_share_unmodelled()),
                     run.is_unmodelled_by_time() ? "MPI time" : "all bytes");
}

std::string native_text(const recording::NativeTimes& native) {
  std::string run = "natively " + time_text(static_cast<double>(native.run));
  if (native.in_mpi > 1) return run;  // several threads at once
  return fmt::format("{}, {} of it in MPI", run, percent_text(native.in_mpi, 1, 0));
}

std::string gaps_text(Time brief, Time longer, std::string_view polling) {
  const auto as = [](bool work) { return work ? "work" : "waiting"; };
  return fmt::format(
      "between failed polls, the ranks spent {} in gaps of up to {}, counted as {}, and {} in longer ones, "
      "counted as {} (polling = {})",
      time_text(brief), time_text(static_cast<double>(recording::kBriefGap)), as(polling == "work"),
      time_text(longer), as(polling != "wait"), polling);
}

std::string place_text(std::uint64_t times, std::string_view call, std::string_view communicator,
                       std::string_view where) {
  return fmt::format("{} x {}{}{} at {}", times, call, communicator.empty() ? "" : " on ", communicator,
                     where);
}

}  // namespace offramp
