// Rows with a published bound instead of a figure have no error. The plot has a line where both figures are
// equal, and one series per unit; fitted figures are series of their own.
#include "tools/commands/validation.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "lib/answers/advice/advice.hpp"
#include "lib/answers/advice/held_out.hpp"
#include "lib/base/format.hpp"
#include "tools/page/plot.hpp"

namespace offramp::tool {
namespace {

std::string figure(double value) {
  return value < 1e4 ? fmt::format("{:.5g}", value) : fmt::format("{:.0f}", value);
}

std::string error_of(const ValidationRow& row) {
  if (!row.bound.empty() || row.published == 0) return "";
  const double percent = 100 * (row.ours / row.published - 1);
  return std::abs(percent) < 0.005 ? "0" : fmt::format("{:+.2f} %", percent);
}

PlotLine& line_of(Plot& plot, std::string_view name) {
  const auto found = std::find_if(plot.lines.begin(), plot.lines.end(),
                                  [&](const PlotLine& line) { return line.name == name; });
  if (found != plot.lines.end()) return *found;
  PlotLine line{.name = std::string(name), .points = {}};
  line.joined = false;
  return plot.lines.emplace_back(std::move(line));
}

}  // namespace

std::string validation_table(const ValidationRows& rows) {
  std::string table =
      "| quantity | published | ours | error | fitted | source, reason |\n"
      "|---|---|---|---|---|---|\n";
  for (const ValidationRow& row : rows)
    table += fmt::format("| {}{}{} | {} | {} | {} | {} | {} |\n", row.quantity, row.unit.empty() ? "" : ", ",
                         row.unit, row.bound.empty() ? figure(row.published) : row.bound, figure(row.ours),
                         error_of(row), row.fitted ? "yes" : "no", row.source);
  return table;
}

std::string trust_table(const std::vector<const BackendDescription*>& backends) {
  std::string table =
      "| hardware | published figures | fitted to | compared | half of these are within | nine tenths | the "
      "worst | other machines, one rank a node | several ranks | pairs with the host | "
      "parameters, assumed, inferred or fitted |\n|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const BackendDescription* backend : backends) {
    const ValidationRows rows = backend->validation == nullptr ? ValidationRows() : backend->validation();
    const auto fitted =
        std::count_if(rows.begin(), rows.end(), [](const ValidationRow& row) { return row.fitted; });
    const auto open = std::count_if(backend->parameters.begin(), backend->parameters.end(),
                                    [](const Parameter& one) { return is_open(one.source); });
    const std::optional<ModelError> error = model_error(rows);
    const auto percent = [&](double ModelError::*part) {
      return error ? percent_text(*error.*part, 1) : std::string("-");
    };
    const auto bound = [](std::string_view side, bool several) {
      const auto found = error_bound(side, several);
      return found ? fmt::format("{} of {}", found->text(), found->machines) : std::string("unknown");
    };
    table += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} of {} |\n", backend->name,
                         rows.size(), fitted, error ? error->figures : 0, percent(&ModelError::median),
                         percent(&ModelError::nine_tenths), percent(&ModelError::largest),
                         bound(backend->name, false), bound(backend->name, true),
                         bound(fmt::format("{} over {}", backend->name, baseline_name()), false), open,
                         backend->parameters.size());
  }
  return table;
}

std::string validation_plot(const ValidationRows& rows, std::string_view backend) {
  Plot plot{.title = fmt::format("{}: ratio of the model's figures to the published ones", backend),
            .x = "published",
            .y = "ours",
            .lines = {{.name = "equal", .points = {}, .colour = "#8a8a8a"}},
            .x_base = Plot::Base::kTen};
  double least = INFINITY;
  double most = 0;
  for (const ValidationRow& row : rows) {
    if (error_of(row).empty() || row.ours <= 0) continue;
    const std::string unit(row.unit.empty() ? std::string_view("numbers") : row.unit);
    line_of(plot, unit + (row.fitted ? ", fitted" : "")).points.emplace_back(row.published, row.ours);
    least = std::min({least, row.published, row.ours});
    most = std::max({most, row.published, row.ours});
  }
  if (most > 0) plot.lines.front().points = {{least, least}, {most, most}};
  return svg(plot);
}

}  // namespace offramp::tool
