#include "tools/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lib/core/names.hpp"
#include "tools/tool.hpp"

namespace offramp::tool {

// --- numbers as people read them ---

std::string time_text(double ns) {
  constexpr std::array<std::pair<double, const char*>, 4> kUnits = {
      {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {0, "ns"}}};
  for (const auto& [from, unit] : kUnits) {
    if (ns < from) continue;
    const double value = from > 0 ? ns / from : ns;
    const int digits = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
    return value == 0 ? "0" : fmt::format("{:.{}f} {}", value, digits, unit);
  }
  return "0";
}

std::string bytes_text(double bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  const bool whole = bytes == std::floor(bytes);
  return fmt::format("{:.{}f} {}", bytes, whole || unit == 0 ? 0 : bytes >= 100 ? 0 : 1, kUnits.at(unit));
}

std::string count_text(double count) {
  const std::string digits = fmt::format("{:.0f}", count);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ' ';
    out += digits[i];
  }
  return out;
}

std::string against_text(double value, double baseline) {
  if (baseline <= 0) return "";
  const double ratio = value / baseline;
  if (ratio >= 3) return fmt::format("{:.{}f} times", ratio, ratio < 100 ? 1 : 0);
  return fmt::format("{:+.1f} %", 100 * (ratio - 1));
}

std::string size_class_text(const ReportSize& size) {
  if (size.min_bytes == size.max_bytes) return fmt::format("{} B", size.min_bytes);
  if (size.min_bytes < 1024) return fmt::format("{} to {} B", size.min_bytes, size.max_bytes);
  return fmt::format("from {}", bytes_text(static_cast<double>(size.min_bytes)));
}

// --- what the page and the text have in common ---

std::vector<ShownLane> shown_lanes(const std::vector<RunReport>& reports) {
  std::vector<ShownLane> lanes;
  for (const RunReport& report : reports) {
    for (const ReportLane& lane : report.lanes) lanes.push_back({lane.backend, &report, &lane});
  }
  const std::vector<ShownLane> plain = lanes;
  for (ShownLane& lane : lanes) {
    const auto same = std::count_if(plain.begin(), plain.end(), [&](const ShownLane& other) {
      return other.label == lane.lane->backend;
    });
    if (same > 1) lane.label += " (" + lane.run->file + ")";
  }
  const auto host = std::find_if(lanes.begin(), lanes.end(),
                                 [](const ShownLane& lane) { return lane.lane->backend == "host"; });
  if (host != lanes.end()) host->baseline = true;
  return lanes;
}

const ShownLane* baseline_of(const std::vector<ShownLane>& lanes) {
  const auto found = std::find_if(lanes.begin(), lanes.end(), [](const ShownLane& l) { return l.baseline; });
  return found == lanes.end() || found->lane->communication_ns <= 0 ? nullptr : &*found;
}

Carried carried(const ReportLane& lane) {
  Carried sum;
  for (const ReportCall& call : lane.calls) {
    sum.offloaded += static_cast<double>(call.offloaded);
    sum.declined += static_cast<double>(call.declined);
    sum.routed += static_cast<double>(call.routed);
    sum.native += static_cast<double>(call.native);
  }
  return sum;
}

std::string headline(const std::vector<ShownLane>& lanes) {
  const ShownLane* const host = baseline_of(lanes);
  if (host == nullptr || lanes.size() < 2)
    return fmt::format("{} over {}: {} of communication.",
                       lanes.front().run->ranks == 1 ? "One rank" : "Modelled", lanes.front().label,
                       time_text(lanes.front().lane->communication_ns));
  const ShownLane* best = nullptr;
  for (const ShownLane& lane : lanes) {
    if (lane.lane->backend == host->lane->backend) continue;  // a second host is no hardware to gain from
    if (best == nullptr || lane.lane->communication_ns < best->lane->communication_ns) best = &lane;
  }
  if (best == nullptr) return fmt::format("Only plain hosts: {}.", time_text(host->lane->communication_ns));
  const double ratio = best->lane->communication_ns / host->lane->communication_ns;
  if (ratio < 0.9995)
    return fmt::format("{} would save {:.0f} % of the communication time.", best->label,
                       std::max(1.0, 100 * (1 - ratio)));
  if (ratio < 1.0005) return fmt::format("{} would take as long as a plain host.", best->label);
  if (lanes.size() == 2)
    return fmt::format("{} would not save anything: it takes {:.2f} times as long as a plain host.",
                       best->label, ratio);
  return fmt::format(
      "None of this hardware would save anything: the nearest, {}, takes {:.2f} times as long as a plain "
      "host.",
      best->label, ratio);
}

std::vector<std::string> warnings_of(const std::vector<RunReport>& reports) {
  std::vector<std::string> warnings;
  const RunReport& first = reports.front();
  for (const RunReport& report : reports) {
    const std::string where = reports.size() > 1 ? report.file + ": " : "";
    for (const std::string& warning : report.warnings) warnings.push_back(where + warning);
    if (report.lanes.size() == 1 && report.arrival_order_dependences > 0)
      warnings.push_back(
          where + fmt::format("the modelled time depends on arrival order or polling at {} places and may "
                              "differ from run to run",
                              report.arrival_order_dependences));
    if (report.lanes.front().given_up > 0)
      warnings.push_back(where + fmt::format("{} could not repair the faults of {} operations",
                                             report.lanes.front().backend, report.lanes.front().given_up));
    double routed = 0;
    for (const ReportLane& lane : report.lanes) routed = std::max(routed, carried(lane).routed);
    if (routed > 0)
      warnings.push_back(where +
                         fmt::format("routes gave {:.0f} operations to other backends than the lane's own, "
                                     "in every lane: no lane is that hardware alone",
                                     routed));
    if (report.compute != "none")
      warnings.push_back(where +
                         "CPU time between MPI calls was added: modelled times depend on the machine");
    if (report.ranks != first.ranks)
      warnings.push_back(
          where + fmt::format("a run on {} ranks is compared with one on {}", report.ranks, first.ranks));
    if (report.command != first.command)
      warnings.push_back(where + "the command is not that of the first report");
    if (report.data_certificate != first.data_certificate && !report.data_certificate.empty() &&
        !first.data_certificate.empty())
      warnings.push_back(where + "the program sent or received other data than in the first report");
  }
  return warnings;
}

// --- text ---

namespace {

/// Text columns: the first to the left, the others to the right.
class Columns {
 public:
  explicit Columns(std::vector<std::string> heads) { add(std::move(heads)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void print() const {
    std::vector<std::size_t> widths;
    for (const auto& row : rows_) {
      widths.resize(std::max(widths.size(), row.size()));
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    for (const auto& row : rows_) {
      std::string line;
      for (std::size_t i = 0; i < row.size(); ++i)
        line +=
            i == 0 ? fmt::format("{:<{}}", row[i], widths[i]) : fmt::format("  {:>{}}", row[i], widths[i]);
      fmt::print("{}\n", line);
    }
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

void print_overview(const std::vector<ShownLane>& lanes) {
  const ShownLane* const host = baseline_of(lanes);
  Columns table({"", "communication", "to host", "modelled time", "carried", "declined", "native"});
  for (const ShownLane& shown : lanes) {
    const Carried sum = carried(*shown.lane);
    const bool compared = host != nullptr && &shown != host;
    table.add({printable(shown.label), time_text(shown.lane->communication_ns),
               compared ? against_text(shown.lane->communication_ns, host->lane->communication_ns) : "",
               time_text(shown.lane->modelled_ns), fmt::format("{:.1f} %", 100 * sum.share()),
               count_text(sum.declined), count_text(sum.native)});
  }
  table.print();
}

void print_calls(const std::vector<ShownLane>& lanes) {
  std::vector<std::string> heads = {"call", "count", "bytes"};
  for (const ShownLane& shown : lanes) heads.push_back(printable(shown.label));
  Columns table(std::move(heads));
  std::vector<ReportCall> calls = lanes.front().lane->calls;
  std::stable_sort(calls.begin(), calls.end(),
                   [](const ReportCall& a, const ReportCall& b) { return a.modelled_ns > b.modelled_ns; });
  for (const ReportCall& call : calls) {
    std::vector<std::string> row = {call.name, count_text(static_cast<double>(call.count)),
                                    bytes_text(static_cast<double>(call.bytes))};
    for (const ShownLane& shown : lanes) {
      const auto same = std::find_if(shown.lane->calls.begin(), shown.lane->calls.end(),
                                     [&](const ReportCall& other) { return other.name == call.name; });
      row.push_back(same == shown.lane->calls.end() ? "" : time_text(same->modelled_ns));
    }
    table.add(std::move(row));
  }
  table.print();
}

void print_text(const std::vector<RunReport>& reports) {
  const std::vector<ShownLane> lanes = shown_lanes(reports);
  for (const RunReport& report : reports)
    fmt::print("{}: {} ranks: {}\n", printable(report.file), report.ranks, printable(report.command));
  fmt::print("{}\n\n", printable(headline(lanes)));
  print_overview(lanes);
  fmt::print("\nTime in calls, all ranks together:\n");
  print_calls(lanes);
  for (const ShownLane& shown : lanes) {
    for (const ReportDecline& decline : shown.lane->declines)
      fmt::print("{}: declined {} x {}: {}\n", printable(shown.label), decline.count,
                 printable(decline.operation), printable(decline.reason));
  }
  for (const ShownLane& shown : lanes) {
    if (!shown.lane->certificate.empty())
      fmt::print("{}: certificate {}\n", printable(shown.label), printable(shown.lane->certificate));
  }
  for (const std::string& warning : warnings_of(reports))
    fmt::print("warning: {}\n", printable(warning, 400));
}

}  // namespace

int report(const ReportOptions& options) {
  if (const std::string problem = options.html.empty() ? "" : option_problem("--html", options.html);
      !problem.empty()) {
    complain(problem);
    return kUsage;
  }
  std::vector<RunReport> reports;
  for (const std::string& file : options.files) {
    Result<RunReport> report = read_report(file);
    if (!report) {
      complain(report.error());
      return kUsage;
    }
    reports.push_back(std::move(*report));
  }
  if (options.html.empty()) {
    print_text(reports);
    return kDone;
  }
  return write_file(options.html, report_page(reports));
}

}  // namespace offramp::tool
