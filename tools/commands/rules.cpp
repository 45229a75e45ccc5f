// A file that fails does not end the others, but the exit code reports it. Operations that stay unfinished by
// these rules are listed on standard error, beside the times of the others.
#include "tools/commands/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "lib/answers/loggops/loggops.hpp"
#include "lib/base/text_format.hpp"
#include "tools/command_line/tool.hpp"

namespace offramp::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kLogGopsim = "loggopsim";

/// The part after the colon. `nullopt` for another name.
std::optional<std::string_view> values_in(std::string_view text) {
  if (!text.starts_with(kLogGopsim)) return std::nullopt;
  text.remove_prefix(kLogGopsim.size());
  if (text.empty()) return text;
  return text[0] == ':' ? std::optional(text.substr(1)) : std::nullopt;
}

Json json_of(const std::string& file, const trace::LogGopsTimes& times,
             const trace::LogGopsParameters& with) {
  return {{"file", printable(file)},
          {"rules", kLogGopsim},
          {"parameters",
           {{"L", with.latency},
            {"o", with.overhead},
            {"g", with.gap},
            {"G", with.gap_per_byte},
            {"O", with.overhead_per_byte},
            {"S", with.eager_limit}}},
          {"each_rank_ns", times.ends},
          {"left", times.left}};
}

/// Prints all ranks if they are few, otherwise the last one, as LogGOPSim does.
void print_times(const trace::LogGopsTimes& times) {
  constexpr std::size_t kMostShown = 16;
  if (times.ends.size() <= kMostShown) {
    fmt::print("rank  ends after (ns)\n");
    for (std::size_t rank = 0; rank < times.ends.size(); ++rank)
      fmt::print("{:<4}  {}\n", rank, times.ends[rank]);
    return;
  }
  const auto last = std::max_element(times.ends.begin(), times.ends.end());
  fmt::print("the last of {} ranks, rank {}, ends after {} ns\n", times.ends.size(),
             last - times.ends.begin(), *last);
}

}  // namespace

std::string is_rules(const std::string& text) {
  const auto values = values_in(text);
  if (!values) return fmt::format("unknown rules {}; known: loggopsim", in_quotes(text));
  const auto parameters = trace::parse_loggops(*values);
  return parameters ? std::string() : parameters.error();
}

int replay_by_rules(const ReplayToolOptions& options) {
  const auto parameters = trace::parse_loggops(*values_in(options.rules));
  Json each = Json::array();
  int code = kDone;
  for (const std::string& file : options.files) {
    const auto program = trace::open_program(file);
    const auto times = program ? trace::run_by_loggops(*program, *parameters) : failure("");
    if (!times) {
      warn(program ? fmt::format("{}: {}", printable(file), times.error()) : program.error());
      code = kUsage;
      continue;
    }
    for (const std::string& left : times->left) warn(fmt::format("{}: {}", printable(file), left));
    if (!times->left.empty()) code = kUsage;
    if (options.json) {
      each.push_back(json_of(file, *times, *parameters));
    } else {
      if (options.files.size() > 1) fmt::print("{}\n", printable(file));
      print_times(*times);
    }
  }
  if (options.json && !each.empty()) fmt::print("{}\n", (each.size() == 1 ? each[0] : each).dump(2));
  return code;
}

}  // namespace offramp::tool
