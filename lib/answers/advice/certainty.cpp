#include "lib/answers/advice/answer_parts.hpp"

#include <fmt/format.h>

#include <cmath>

#include "lib/base/text_format.hpp"

namespace offramp {
namespace {

Time times(Time time, double factor) {
  return Time::ps(std::llround(static_cast<double>(time.count()) * factor));
}

}  // namespace

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

void add_range(ReportAnswer& answer, const RatioRange& range, const BackendDescription& side,
               const BackendDescription& base) {
  answer.earliest = times(answer.baseline, range.low);
  answer.latest = times(answer.baseline, range.high);
  const auto error = [](const BackendDescription& backend) {
    return percent_text(operation_errors(backend).nine_tenths, 1, 0);
  };
  answer.sure = fmt::format("{}: {:.2f} to {:.2f} if {} is off by {}",
                            answer.holds ? "the answer holds" : "open", range.low, range.high, side.name,
                            error(side));
  if (&side != &base) answer.sure += fmt::format(" and {} by {}", base.name, error(base));
}

void add_memory(std::vector<std::string>& texts, const std::optional<RatioRange>& memory) {
  if (!memory) return;
  const std::string low = fmt::format("{:.2f}", memory->low);
  const std::string high = fmt::format("{:.2f}", memory->high);
  const auto gains = [](double ratio) { return ratio < 1 - kWorthwhile; };
  if (low != high)
    texts.insert(gains(memory->low) == gains(memory->high) ? texts.end() : texts.begin(),
                 fmt::format("{} to {} by the range of the nodes' memory", low, high));
}

}  // namespace offramp
