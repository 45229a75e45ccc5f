// The subcommand: reads reports and shows them as text, table, or page.
#include "tools/text/report.hpp"

#include <fmt/format.h>

#include <utility>

#include "tools/command_line/command.hpp"
#include "tools/command_line/options.hpp"
#include "tools/command_line/setup.hpp"
#include "tools/command_line/tool.hpp"
#include "tools/launch/places.hpp"
#include "tools/text/report_tables.hpp"

namespace offramp::tool {

int report(const ReportOptions& options) {
  check_file_of("--html", options.html);
  // Reports that cannot be read are named, and the others are shown.
  std::vector<RunReport> reports;
  int code = kDone;
  for (const std::string& file : options.files) {
    Result<RunReport> report = read_report(file);
    if (report) {
      Places places(report->objects);
      for (ReportLane& lane : report->lanes) {
        if (lane.accounts) name_places(*lane.accounts, places);
      }
      reports.push_back(std::move(*report));
    } else {
      warn(report.error());
      code = kUsage;
    }
  }
  if (reports.empty()) return kUsage;
  if (!options.table.empty()) {
    fmt::print("{}", report_table(reports, options.table));
    for (const std::string& text : missing_in_table(reports, options.table)) warn(text);
    return code;
  }
  if (options.html.empty()) {
    print_reports(reports);
    return code;
  }
  const int written = write_file(options.html, report_page(reports));
  return written == kDone ? code : written;
}

namespace {

class ReportCommand final : public Command {
 public:
  explicit ReportCommand(CLI::App& app) : Command(app) {
    add_value(app, "files", options_.files, "FILE", "reports written by run, replay, or advise with --report")
        ->required();
    add_html(app, options_.html);
    add_value(app, "--table", options_.table, "TABLE",
              fmt::format("print one table as comma-separated values, with times in ns: {}",
                          fmt::join(report_table_names(), ", ")))
        ->check(one_of(report_table_names()));
  }
  int execute(std::vector<std::string>) override {
    if (!options_.html.empty() && !options_.table.empty())
      return refuse("--table and --html cannot be combined");
    return report(options_);
  }

 private:
  ReportOptions options_;
};

const Registered<ReportCommand> report_command(
    {.name = "report",
     .place = 100,
     .summary = "show or compare reports, as text or as a web page",
     .exits = {
         {kUsage, "a file is not a report (the others are shown), or the folder of --html does not exist"},
         {kNotWritten}}});

}  // namespace

}  // namespace offramp::tool
