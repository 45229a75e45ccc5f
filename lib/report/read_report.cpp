#include "lib/report/read_report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "lib/configuration/configuration_file.hpp"
#include "lib/configuration/names.hpp"
#include "lib/report/call_sites.hpp"
#include "lib/report/report.hpp"

namespace offramp {
namespace {

using Json = nlohmann::ordered_json;

// Bounds on what a file can make the reader keep. A report of 4096 ranks has 30 MiB.
constexpr std::size_t kLongestText = 1 << 16;
constexpr std::size_t kMostRows = 4096;
constexpr std::size_t kMostRanksOfReport = 1 << 20;
constexpr std::size_t kMostLanes = 64;
constexpr std::size_t kMostLinks = 1 << 20;
constexpr std::uint64_t kLargestNumber = std::uint64_t{1} << 62;

/// What is wrong with a report; does not leave this file.
struct Malformed {
  std::string text;
};

/// A value in the document, with its place for messages.
class Node {
 public:
  Node(const Json& json, std::string path) : json_(json), path_(std::move(path)) {}

  [[nodiscard]] bool has(const char* key) const { return json_.is_object() && json_.contains(key); }

  [[nodiscard]] Node at(const char* key) const {
    if (!json_.is_object()) fail("has to be an object");
    const auto found = json_.find(key);
    const std::string path = path_.empty() ? key : path_ + "." + key;
    if (found == json_.end()) throw Malformed{path + " is missing"};
    return {*found, path};
  }

  [[nodiscard]] std::uint64_t whole() const {
    if (!json_.is_number_unsigned() || json_.get<std::uint64_t>() > kLargestNumber)
      fail("has to be a whole number from 0");
    return json_.get<std::uint64_t>();
  }
  /// Of a duration in picoseconds: nanoseconds.
  [[nodiscard]] double picoseconds() const { return static_cast<double>(whole()) / 1000; }
  [[nodiscard]] double nanoseconds() const {
    if (!json_.is_number() || !(json_.get<double>() >= 0) ||
        json_.get<double>() > static_cast<double>(kLargestNumber))
      fail("has to be a number from 0");
    return json_.get<double>();
  }
  [[nodiscard]] std::string text() const {
    if (!json_.is_string()) fail("has to be a text");
    auto text = json_.get<std::string>();
    if (text.size() > kLongestText) fail("is longer than 64 KiB");
    return text;
  }

  template <typename Body>
  void each_element(std::size_t most, Body body) const {
    if (!json_.is_array()) fail("has to be a list");
    limit(most);
    std::size_t index = 0;
    for (const Json& element : json_) body(Node(element, fmt::format("{}[{}]", path_, index++)));
  }
  template <typename Body>
  void each_member(std::size_t most, Body body) const {
    if (!json_.is_object()) fail("has to be an object");
    limit(most);
    for (const auto& [key, value] : json_.items())
      body(printable(key), Node(value, fmt::format("{}.{}", path_, printable(key))));
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw Malformed{fmt::format("{} {}", path_.empty() ? "the document" : path_, what)};
  }
  void limit(std::size_t most) const {
    if (json_.size() > most) fail(fmt::format("has more than {} entries", most).c_str());
  }

  const Json& json_;
  std::string path_;
};

ReportCall read_call(const std::string& name, const Node& node) {
  return {name,
          node.at("count").whole(),
          node.at("bytes").whole(),
          node.at("offloaded").whole(),
          node.has("routed") ? node.at("routed").whole() : 0,
          node.at("declined").whole(),
          node.at("native").whole(),
          node.at("modelled_ns").nanoseconds()};
}

ReportPath read_path(const Node& node) {
  ReportPath path;
  path.on_ranks_ns = node.at("on_ranks_ps").picoseconds();
  path.in_messages_ns = node.at("in_messages_ps").picoseconds();
  if (node.has("shared_links_ps")) path.shared_links_ns = node.at("shared_links_ps").picoseconds();
  path.messages = node.at("messages").whole();
  node.at("by_rank_ps").each_element(kMostRanksOfReport, [&](const Node& n) {
    path.by_rank_ns.push_back(n.picoseconds());
  });
  node.at("longest").each_element(kMostRows, [&](const Node& n) {
    path.longest.push_back({n.at("source").whole(), n.at("destination").whole(), n.at("bytes").whole(),
                            n.at("begin_ps").picoseconds(), n.at("end_ps").picoseconds(),
                            n.has("shared_links_ps") ? n.at("shared_links_ps").picoseconds() : 0});
  });
  return path;
}

ReportWholeRun read_whole_run(const Node& node) {
  return {node.at("end_ps").picoseconds(), node.at("in_calls_ps").picoseconds(),
          node.at("sum_ps").picoseconds()};
}

ReportLane read_lane(const Node& node) {
  ReportLane lane;
  lane.backend = node.at("backend").text();
  lane.modelled_ns = node.at("modelled_time_ps").picoseconds();
  lane.communication_ns = node.at("communication_ps").picoseconds();
  if (node.has("whole_run")) lane.run = read_whole_run(node.at("whole_run"));
  if (node.has("carried_ps"))
    lane.time = {node.at("carried_ps").picoseconds(), node.at("routed_ps").picoseconds(),
                 node.at("declined_ps").picoseconds()};
  if (node.has("stands_on")) {
    const Node ground = node.at("stands_on");
    lane.footing = {ground.at("text").text(),
                    static_cast<std::int64_t>(ground.at("node_bits_per_second").whole())};
  }
  lane.given_up = node.at("given_up").whole();
  if (node.has("certificate")) lane.certificate = node.at("certificate").text();
  node.at("calls").each_member(
      kMostRows, [&](const std::string& name, const Node& n) { lane.calls.push_back(read_call(name, n)); });
  node.at("declines").each_element(kMostRows, [&](const Node& n) {
    lane.declines.push_back({n.at("operation").text(), n.at("reason").text(), n.at("count").whole()});
  });
  node.at("wire").each_member(kMostRows,
                              [&](const std::string& name, const Node& n) { lane.wire[name] = n.whole(); });
  node.at("sizes").each_element(kMostRows, [&](const Node& n) {
    lane.sizes.push_back({n.at("kind").text(), n.at("min_bytes").whole(), n.at("max_bytes").whole(),
                          n.at("count").whole(), n.at("bytes").whole(), n.at("modelled_ps").picoseconds()});
  });
  node.at("units").each_element(kMostRows, [&](const Node& n) {
    const double busy = n.at("busy_ps").picoseconds();
    lane.units.push_back({n.at("unit").text(), n.at("spans").whole(), busy,
                          n.has("in_use_ps") ? n.at("in_use_ps").picoseconds() : busy});
  });
  node.at("each_rank").each_element(kMostRanksOfReport, [&](const Node& n) {
    lane.ranks.push_back({n.at("rank").whole(), n.at("modelled_time_ps").picoseconds(),
                          n.at("communication_ps").picoseconds(),
                          n.has("certificate") ? n.at("certificate").text() : std::string()});
  });
  if (node.has("phases"))
    node.at("phases").each_element(kMostRows, [&](const Node& n) {
      lane.phases.push_back({n.at("name").text(), n.at("count").whole(), n.at("longest_ps").picoseconds()});
    });
  if (node.has("critical_path")) lane.path = read_path(node.at("critical_path"));
  if (node.has("stragglers")) {
    const Node& stragglers = node.at("stragglers");
    lane.stragglers = {stragglers.at("undisturbed_ps").picoseconds(),
                       stragglers.at("longest_held_up_ps").picoseconds()};
  }
  if (node.has("jobs"))
    node.at("jobs").each_element(kMostRanksOfReport, [&](const Node& n) {
      lane.jobs.push_back({n.at("program").text(), n.at("first_rank").whole(), n.at("ranks").whole(),
                           n.at("nodes").text(), n.at("modelled_time_ps").picoseconds(),
                           n.at("alone_ps").picoseconds()});
      if (!n.has("whole_run")) return;
      lane.jobs.back().run = read_whole_run(n.at("whole_run"));
      lane.jobs.back().free = read_whole_run(n.at("computing").at("free_run"));
    });
  if (node.has("links"))
    node.at("links").each_element(kMostLinks, [&](const Node& n) {
      lane.links.push_back({n.at("name").text(), n.at("busy_ps").picoseconds(),
                            n.at("waited_ps").picoseconds(), n.at("longest_wait_ps").picoseconds(),
                            n.at("bytes").whole()});
    });
  std::stable_sort(lane.links.begin(), lane.links.end(),
                   [](const ReportLink& a, const ReportLink& b) { return a.busy_ns > b.busy_ns; });
  return lane;
}

ReportPlace read_place(const Node& node) {
  CallSite site{node.at("object").text(), node.at("offset").whole(), node.at("symbol").text()};
  return {node.at("call").text(), node.at("communicator").text(), to_string(site), node.at("times").whole()};
}

/// When, where and with what a run was made. Older reports do not say.
void read_facts(const Node& node, RunReport& report) {
  if (node.has("date")) report.date = node.at("date").text();
  if (node.has("mpi")) report.mpi = node.at("mpi").text();
  if (node.has("ucx")) report.ucx = node.at("ucx").text();
  if (node.has("hosts"))
    node.at("hosts").each_element(kMostRanksOfReport, [&](const Node& n) {
      report.hosts.push_back(
          {n.at("name").text(), n.at("cpu").text(), n.at("cores").whole(), n.at("ranks").whole()});
    });
  if (node.has("recordings"))
    node.at("recordings").each_element(kMostRanksOfReport, [&](const Node& n) {
      report.recordings.push_back(
          {n.at("file").text(), n.at("checksum").text(), n.at("date").text(), n.at("host").text()});
    });
  if (node.has("settings"))
    node.at("settings").each_member(kMostRows, [&](const std::string& name, const Node& n) {
      report.settings.push_back({name, n.at("value").text(), n.at("source").text()});
    });
}

RunReport read_run(const Node& node) {
  RunReport report;
  report.version = node.at("offramp").text();
  if (const std::uint64_t schema = node.at("schema").whole(); schema != kReportSchema)
    throw Malformed{fmt::format("its schema is {}, and this offramp reads {}", schema, kReportSchema)};
  report.command = node.at("command").text();
  read_facts(node, report);
  report.clock = node.at("clock").text();
  report.compute = node.at("compute").text();
  report.ranks = node.at("ranks").whole();
  if (node.has("computing")) {
    const Node& computing = node.at("computing");
    report.computing = {computing.at("sum_ps").picoseconds(),
                        computing.at("largest_ps").picoseconds(),
                        {},
                        read_whole_run(computing.at("free_run"))};
    if (computing.has("between_questions")) report.computing->gaps = computing.at("between_questions").text();
  }
  report.arrival_order_dependences = node.at("arrival_order_dependences").whole();
  if (node.has("arrival_order_places")) {
    const Node& places = node.at("arrival_order_places");
    report.place_count = places.at("count").whole();
    places.at("most").each_element(kMostRows, [&](const Node& n) { report.places.push_back(read_place(n)); });
  }
  report.clock_reads = node.at("clock_reads").whole();
  if (node.has("data_certificate")) report.data_certificate = node.at("data_certificate").text();
  node.at("warnings").each_element(kMostRows, [&](const Node& n) { report.warnings.push_back(n.text()); });
  report.lanes.push_back(read_lane(node));
  node.at("compared").each_element(kMostLanes, [&](const Node& n) { report.lanes.push_back(read_lane(n)); });
  return report;
}

/// byte: as the parser counts them, from 1.
std::string place_of(std::string_view text, std::size_t byte) {
  if (byte > text.size()) return "it ends too early";
  const std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto newline = before.rfind('\n');
  const std::size_t column = newline == std::string_view::npos ? before.size() : before.size() - newline - 1;
  return fmt::format("line {}, column {}", line, column + 1);
}

}  // namespace

Result<RunReport> parse_report(std::string_view text, const std::string& file) {
  const auto failure = [&file](const std::string& what) {
    return Result<RunReport>::failure(fmt::format("{} is no report: {}", printable(file), what));
  };
  try {
    const Json document = Json::parse(text);
    if (!document.is_object() || !document.contains("offramp")) return failure("offramp wrote no such file");
    if (!document.contains("schema"))
      return failure("it has no schema; an older offramp wrote it, run the program again");
    RunReport report = read_run(Node(document, ""));
    report.file = file;
    return report;
  } catch (const Malformed& malformed) {
    return failure(malformed.text);
  } catch (const Json::parse_error& e) {
    return failure("it is not valid JSON, " + place_of(text, e.byte));
  } catch (const Json::exception&) {  // a number that no type holds, say
    return failure("a value in it is not what a report has there");
  }
}

Result<RunReport> read_report(const std::string& file) {
  const auto failure = [&file](const std::string& what) {
    return Result<RunReport>::failure(fmt::format("cannot read {}: {}", printable(file), what));
  };
  const FileText read = read_file(file, true, kLargestReport);
  if (!read.problem.empty()) return failure(read.problem);
  if (read.text.empty()) return failure("it is empty");
  return parse_report(read.text, file);
}

}  // namespace offramp
