// The range of a ratio assumes that both models are off by the error that nine tenths of their comparisons
// with measurements stay below (operation_errors()). Fitted figures do not count as comparisons. If either
// model has no comparison, the certainty is unknown, and the answer gives the reason.
#include <fmt/format.h>

#include <cmath>

#include "lib/answers/advice/answer_parts.hpp"
#include "lib/base/text_format.hpp"

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

/// "not known: no operation was ever measured on zrlmpi". Empty if the errors of both models are known.
std::string unknown_errors_text(const BackendDescription& side, const BackendDescription& base) {
  for (const BackendDescription* backend : {&side, &base}) {
    const OperationErrors errors = operation_errors(*backend);
    if (errors.compared > 0) continue;
    return errors.measured == 0
               ? fmt::format("not known: no operation was ever measured on {}", backend->name)
               : fmt::format("not known: {} is fitted to all {} operations measured on it", backend->name,
                             errors.measured);
  }
  return {};
}

}  // namespace

void add_range(ReportAnswer& answer, const std::optional<RatioRange>& range, const BackendDescription& side,
               const BackendDescription& base) {
  answer.sure = unknown_errors_text(side, base);
  if (!range) return;
  answer.earliest = times(answer.baseline, range->low);
  answer.latest = times(answer.baseline, range->high);
  const auto error = [](const BackendDescription& backend) {
    return percent_text(operation_errors(backend).nine_tenths, 1, 0);
  };
  answer.sure = fmt::format("{}: {} if {} is {} off", answer.holds ? "it holds" : "open", range_text(*range),
                            side.name, error(side));
  if (&side != &base) answer.sure += fmt::format(", {} {}", base.name, error(base));
}

void add_memory(std::vector<std::string>& texts, const std::optional<RatioRange>& memory) {
  if (!memory || memory->high - memory->low < kWorthwhile) return;
  const auto gains = [](double ratio) { return ratio < 1 - kWorthwhile; };
  texts.insert(gains(memory->low) == gains(memory->high) ? texts.end() : texts.begin(),
               range_text(*memory) + " by the range of the nodes' memory");
}

}  // namespace offramp
