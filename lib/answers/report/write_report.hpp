// Writes reports (docs/report.md), and the parts of them that commands print.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "lib/answers/report/call_table.hpp"
#include "lib/answers/report/run_report.hpp"

namespace offramp {

/// Indented; what is no UTF-8 is replaced. The report has a lane.
std::string report_text(const RunReport& report);
/// What ranks send to the one that puts their parts together: the same in one line, without receipts.
std::string encode(const RunReport& report);

/// Long lists of an output. Their elements are made and written one by one, since a list may have one for
/// each rank, and a tree of them takes ten times the memory of their text.
class LongLists {
 public:
  using MakeElement = std::function<nlohmann::ordered_json(std::size_t index)>;
  /// Returns what stands in the output for a list. Lists come in the order of the output.
  nlohmann::ordered_json add(std::size_t size, MakeElement element);
  /// Writes the output with its lists, as dump(2) would; invalid UTF-8 is replaced.
  void write(const nlohmann::ordered_json& output,
             const std::function<void(std::string_view piece)>& sink) const;

 private:
  struct List {
    std::size_t size;
    MakeElement element;
  };
  std::vector<List> lists_;
};

/// The parts of a report, with the fields of docs/report.md.
nlohmann::ordered_json json_of(const ReportAnswer& answer);
/// lists: gets the long ones, and the lane must outlive it. Null: the output contains them.
nlohmann::ordered_json json_of(const ReportLane& lane, LongLists* lists = nullptr);
nlohmann::ordered_json json_of(const std::vector<ReportCallRow>& rows);
/// When, where and with what it was made, and "computing" where it is known.
nlohmann::ordered_json json_of_facts(const RunReport& report);
nlohmann::ordered_json json_of(const Deployment& deployment);
nlohmann::ordered_json json_of(const WireCounters& wire);
nlohmann::ordered_json json_of(const ReportDependences& dependences);

}  // namespace offramp
