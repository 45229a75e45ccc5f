// Rows with a published bound instead of a figure have no error. The plot has a line where both figures are
// equal, and one series per unit; fitted figures are series of their own.
#include "tools/commands/validation.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "lib/answers/advice/advice.hpp"
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
      "worst | operations measured | compared | nine tenths of these | parameters, assumed, inferred or "
      "fitted "
      "|\n|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const BackendDescription* backend : backends) {
    const ValidationRows rows = backend->validation == nullptr ? ValidationRows() : backend->validation();
    const auto fitted =
        std::count_if(rows.begin(), rows.end(), [](const ValidationRow& row) { return row.fitted; });
    const auto open = std::count_if(backend->parameters.begin(), backend->parameters.end(),
                                    [](const Parameter& one) { return is_open(one.source); });
    const ModelErrors& errors = model_errors(*backend);
    const auto percent = [](const std::optional<ModelError>& of, double ModelError::*part) {
      return of ? percent_text(*of.*part, 1) : std::string("-");
    };
    const std::size_t operations = errors.operations ? errors.operations->figures : 0;
    table += fmt::format(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} of {} |\n", backend->name, rows.size(),
        fitted, errors.all ? errors.all->figures : 0, percent(errors.all, &ModelError::median),
        percent(errors.all, &ModelError::nine_tenths), percent(errors.all, &ModelError::largest),
        operations + errors.fitted_operations, operations,
        percent(errors.operations, &ModelError::nine_tenths), open, backend->parameters.size());
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
