// The range of a ratio: that of pairs measured on one machine, or both models off in opposite directions,
// each by its bound (held_out.hpp). If a bound is missing, the certainty is unknown, and the answer gives the
// reason.
#include <fmt/format.h>

#include <cmath>

#include "lib/answers/advice/answer_parts.hpp"
#include "lib/base/format.hpp"

namespace offramp {
namespace {

/// "12 to 25 % shorter", "0.6 % shorter to 0.9 % slower", "21 % to 2.4 times slower"
std::string range_text(const RatioRange& range) {
  constexpr std::string_view kSlower = " slower";
  std::string first = slower_text(range.low);
  std::string last = slower_text(range.high);
  if (range.high < 1) std::swap(first, last);
  if (first == last) return first;
  if (first.substr(first.find(' ')) == last.substr(last.find(' '))) {
    first.resize(first.find(' '));
  } else if (first.ends_with(kSlower)) {
    first.resize(first.size() - kSlower.size());
  }
  return fmt::format("{} to {}", first, last);
}

Time times(Time time, double factor) {
  return Time::ps(std::llround(static_cast<double>(time.count()) * factor));
}

}  // namespace

void add_range(ReportAnswer& answer, const std::optional<RatioRange>& range, const RatioError& error,
               const Reference& reference, const std::string& noise) {
  answer.sure = error.is_known() ? std::string() : error.text();
  if (!range) return;
  answer.earliest = times(reference.time, range->low);
  answer.latest = times(reference.time, range->high);
  answer.sure =
      fmt::format("{}: {}{} ({}{})", answer.holds ? "it holds" : "open", range_text(*range),
                  reference.name.empty() ? "" : fmt::format(" than {}", reference.name), error.text(), noise);
}

std::string noise_text(const Weighing& all) {
  if (all.is_noise_unknown) return "; noise of computing unknown: record --repeat 5";
  constexpr double kShown = 0.0005;
  if (all.noise.value_or(0) < kShown) return {};
  return fmt::format("; noise of computing {}", percent_text(*all.noise, 1));
}

void add_memory(std::vector<std::string>& texts, const std::optional<RatioRange>& memory) {
  if (!memory || memory->high - memory->low < kWorthwhile) return;
  texts.insert(pays(memory->low) == pays(memory->high) ? texts.end() : texts.begin(),
               range_text(*memory) + " by the range of the nodes' memory");
}

}  // namespace offramp
