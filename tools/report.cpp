// What a lane is called (traits_of(), difference()), the sentences that text and page have in common
// (headline() and others), the text, and the subcommand. The page is in report_page.cpp.
#include "tools/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>

#include "lib/configuration/names.hpp"
#include "lib/report/accounts.hpp"
#include "lib/report/link_loads.hpp"
#include "tools/command.hpp"
#include "tools/options.hpp"
#include "tools/replay_output.hpp"
#include "tools/report_tables.hpp"
#include "tools/tool.hpp"

namespace offramp::tool {

std::string size_class_text(std::uint64_t least, std::uint64_t most) {
  if (least == most) return fmt::format("{} B", least);
  if (least < 1024) return fmt::format("{} to {} B", least, most);
  return fmt::format("from {}", bytes_text(least));
}

// --- what the page and the text have in common ---

namespace {

/// What does not tell two settings apart: names of files, and what only says what to write.
bool tells_nothing(const std::string& key) {
  constexpr std::array<std::string_view, 10> kKeys = {"report",  "trace",        "capture", "receipts",
                                                      "summary", "certificate",  "details", "compare",
                                                      "backend", "faults.record"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

/// Something that may tell a lane from another one.
struct Trait {
  std::string value;
  std::string text;  // for the label
};

/// The last part of a path.
std::string name_of(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

/// What was run or replayed, on how many ranks, and the settings that matter for a lane: the general ones and
/// those of its backend.
std::map<std::string, Trait> traits_of(const ShownLane& lane) {
  std::map<std::string, Trait> found;
  for (const SettingInForce& setting : lane.run->settings) {
    const auto dot = setting.key.find('.');
    const std::string section = dot == std::string::npos ? "" : setting.key.substr(0, dot);
    const bool general =
        section.empty() || section == "faults" || section == "network" || section == "stragglers";
    const bool own = section == lane.lane->backend;
    if (tells_nothing(setting.key) || (!general && !own)) continue;
    found[setting.key] = {setting.value, fmt::format("{} {}", own ? setting.key.substr(dot + 1) : setting.key,
                                                     setting.value.empty() ? "empty" : setting.value)};
  }
  found["ranks"] = {fmt::format("{}", lane.run->ranks), counted(lane.run->ranks, "rank")};
  if (lane.run->recordings.empty()) {
    const std::string& command = lane.run->command;
    const std::size_t end = std::min(command.find(' '), command.size());
    found["program"] = {command, name_of(command.substr(0, end)) + command.substr(end)};
    return found;
  }
  for (const RecordingFacts& recording : lane.run->recordings) {
    Trait& all = found["recording"];
    all.value += recording.checksum.empty() ? recording.file : recording.checksum;
    all.text += (all.text.empty() ? "" : " + ") + name_of(recording.file);
  }
  return found;
}

/// "link 200 Gb/s, profile gen2": in what a lane differs from others of its backend; empty where that does
/// not tell it apart, or takes too many words.
std::string difference(const ShownLane& lane, const std::vector<const ShownLane*>& others) {
  constexpr std::size_t kMost = 3;
  constexpr std::size_t kLongest = 60;
  std::vector<std::string> parts;
  const auto own = traits_of(lane);
  std::set<std::string> keys;
  for (const ShownLane* other : others) {
    bool differs = false;
    const auto theirs = traits_of(*other);
    for (const auto& [key, trait] : own) {
      const auto found = theirs.find(key);
      if (found != theirs.end() && found->second.value == trait.value) continue;
      differs = true;
      keys.insert(key);
    }
    if (!differs) return {};
  }
  parts.reserve(keys.size());
  for (const std::string& key : keys) parts.push_back(own.at(key).text);
  const std::string text = fmt::format("{}", fmt::join(parts, ", "));
  return parts.size() > kMost || text.size() > kLongest ? std::string() : text;
}

/// What a second program, or other hardware, changes.
std::string difference_in_words(const ShownLane& before, const ShownLane& after) {
  std::map<std::string, std::array<const ReportCall*, 2>> calls;
  for (const ReportCall& call : before.lane->calls) calls[call.name][0] = &call;
  for (const ReportCall& call : after.lane->calls) calls[call.name][1] = &call;
  Time most;
  std::string what;
  for (const auto& [name, pair] : calls) {
    const CallCounter none;
    const CallCounter& one = pair[0] == nullptr ? none : *pair[0];
    const CallCounter& other = pair[1] == nullptr ? none : *pair[1];
    const Time time = later(one.modelled, other.modelled) - earlier(one.modelled, other.modelled);
    if (time <= most) continue;
    most = time;
    what = fmt::format(
        "; {}, all ranks together: {}{} {}", name,
        one.count == other.count
            ? std::string()
            : fmt::format(
                  "{} {}, ",
                  counted(std::max(one.count, other.count) - std::min(one.count, other.count), "call"),
                  other.count < one.count ? "fewer" : "more"),
        time_text(most), other.modelled < one.modelled ? "less" : "more");
  }
  const Time time = after.lane->communication;
  const Time base = before.lane->communication;
  return fmt::format("{} takes {} of the communication time of {} ({} instead of {}){}.", after.label,
                     base > Time() ? ratio_text(time, base) : "more than nothing", before.label,
                     time_text(time), time_text(base), what);
}

}  // namespace

std::vector<ShownLane> shown_lanes(const std::vector<RunReport>& reports) {
  std::vector<ShownLane> lanes;
  for (const RunReport& report : reports) {
    for (const ReportLane& lane : report.lanes) lanes.push_back({lane.backend, &report, &lane});
  }
  const std::vector<ShownLane> plain = lanes;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    std::vector<const ShownLane*> others;
    for (const ShownLane& other : plain) {
      if (&other != &plain[i] && other.label == plain[i].label) others.push_back(&other);
    }
    if (others.empty()) continue;
    const std::string apart = difference(plain[i], others);
    lanes[i].label += fmt::format(" ({})", apart.empty() ? lanes[i].run->file : apart);
  }
  const auto host = std::find_if(lanes.begin(), lanes.end(),
                                 [](const ShownLane& lane) { return lane.lane->backend == "host"; });
  if (host != lanes.end()) host->baseline = true;
  return lanes;
}

const ShownLane* baseline_of(const std::vector<ShownLane>& lanes) {
  const auto found = std::find_if(lanes.begin(), lanes.end(), [](const ShownLane& l) { return l.baseline; });
  return found == lanes.end() || found->lane->communication <= Time() ? nullptr : &*found;
}

CallCounter sum_of(const std::vector<ReportCall>& calls) {
  CallCounter sum;
  for (const ReportCall& call : calls) sum += call;
  return sum;
}

std::string why_not_carried(const ShownLane& shown) {
  return not_carried_text(shown.label, shown.lane->time, shown.lane->declines);
}

namespace {

/// That the two sides do not stand on the same machine.
std::string of_the_ground(const Footing& hardware, const Footing& host) {
  std::string text = other_ground_text(hardware, host);
  if (text.empty()) return text;
  text.front() = 'I';  // "it"
  return " " + text + ".";
}

/// What the communication over the host is of the run, what of it no hardware changes, and what the
/// communication alone takes over other hardware. Empty: the computing is not known, or part of all times.
std::string of_the_run(const ShownLane& host, const ShownLane* other) {
  const std::optional<WholeRun>& run = host.lane->run;
  if (!run || !host.run->computing || run->in_calls <= Time()) return {};
  std::string text =
      " " + share_in_calls_text(host.label, run->in_calls, run->sum, host.run->computing->free.in_calls);
  if (other != nullptr)
    text += fmt::format("; without computing {} would take {} of {}", other->label,
                        ratio_text(other->lane->communication, host.lane->communication), host.label);
  return text + ".";
}

/// By the whole run where both have one, since that is what counts.
bool is_better(const ShownLane& one, const ShownLane& other) {
  if (one.lane->run && other.lane->run) return one.lane->run->end < other.lane->run->end;
  return one.lane->communication < other.lane->communication;
}

/// Two reports of the same recordings, or of runs of one command.
bool is_same_program(const RunReport& one, const RunReport& other) {
  const auto alike = [](const RecordingFacts& a, const RecordingFacts& b) {
    return a.checksum.empty() ? a.file == b.file : a.checksum == b.checksum;
  };
  return one.command == other.command && one.ranks == other.ranks &&
         std::equal(one.recordings.begin(), one.recordings.end(), other.recordings.begin(),
                    other.recordings.end(), alike);
}

std::string of_communication(const std::vector<ShownLane>& lanes, const ShownLane*& best) {
  const ShownLane* const host = baseline_of(lanes);
  if (lanes.size() < 2)
    return fmt::format("{} over {}: {} of communication.",
                       lanes.front().run->ranks == 1 ? "One rank" : "Modelled", lanes.front().label,
                       time_text(lanes.front().lane->communication));
  const bool one_backend = std::all_of(lanes.begin(), lanes.end(), [&](const ShownLane& lane) {
    return lane.lane->backend == lanes.front().lane->backend;
  });
  // Where there are several programs, the change of each is given for the hardware that comes first.
  std::vector<ShownLane> firsts;
  for (const ShownLane& lane : lanes) {
    if (firsts.empty() || lane.run != firsts.back().run) firsts.push_back(lane);
  }
  const bool same_hardware = std::all_of(firsts.begin(), firsts.end(), [&](const ShownLane& lane) {
    return lane.lane->backend == lanes.front().lane->backend;
  });
  const auto runs_other = [&](const ShownLane& lane) {
    return !is_same_program(*lane.run, *lanes.front().run);
  };
  if (same_hardware && std::any_of(firsts.begin(), firsts.end(), runs_other))
    return difference_in_words(firsts.front(), firsts[1]);
  if (host == nullptr || one_backend) {
    const auto fastest = std::min_element(lanes.begin() + 1, lanes.end(), [](const auto& a, const auto& b) {
      return a.lane->communication < b.lane->communication;
    });
    return difference_in_words(lanes.front(), *fastest);
  }
  std::size_t idle = 0;  // hardware that does not carry the program
  std::string refusal;
  for (const ShownLane& lane : lanes) {
    if (lane.lane->backend == host->lane->backend) continue;  // a second host is no hardware to gain from
    if (!lane.lane->time.carries_program()) {
      ++idle;
      refusal = why_not_carried(lane);
      continue;
    }
    if (best == nullptr || is_better(lane, *best)) best = &lane;
  }
  if (best == nullptr)
    return idle == 1 ? refusal + "." : fmt::format("None of this hardware carries this program.");
  const bool whole = host->lane->run && best->lane->run && host->lane->run->end > Time();
  const double ratio = whole ? share(best->lane->run->end, host->lane->run->end)
                             : share(best->lane->communication, host->lane->communication);
  if (ratio < 0.9995)
    return fmt::format("{} would save {} of the {}.", best->label, percent_text(1 - ratio, 1, whole ? 1 : 0),
                       whole ? "run" : "communication time");
  if (ratio < 1.0005) return fmt::format("{} would take as long as a plain host.", best->label);
  const std::string_view what = whole ? "the run takes" : "it takes";
  if (lanes.size() == 2)
    return fmt::format("{} would not save anything: {} {:.2f} times as long as over a plain host.",
                       best->label, what, ratio);
  return fmt::format(
      "None of this hardware would save anything: over the nearest{}, {}, {} {:.2f} times as long as over a "
      "plain host.",
      idle > 0 ? " that carries the program" : "", best->label, what, ratio);
}

}  // namespace

std::string headline(const std::vector<ShownLane>& lanes) {
  const RunReport& first = *lanes.front().run;
  if (!first.advice.empty() && lanes.back().run == &first) return first.advice.front();
  const ShownLane* best = nullptr;
  std::string text = of_communication(lanes, best);
  const ShownLane* const host = baseline_of(lanes);
  if (best != nullptr && host != nullptr) {
    text += of_the_ground(best->lane->footing, host->lane->footing);
    if (!host->lane->footing.text.empty())
      text += fmt::format(" The host stands on {}.", host->lane->footing.text);
  }
  return text + of_the_run(host == nullptr ? lanes.front() : *host, best);
}

std::vector<std::string> facts_of(const RunReport& report) {
  std::vector<std::string> lines;
  std::vector<std::string> versions = {"offramp " + report.version};
  if (!report.mpi.empty()) versions.push_back(report.mpi);
  if (!report.ucx.empty()) versions.push_back("UCX " + report.ucx);
  const std::string with = fmt::format("{}", fmt::join(versions, ", "));
  lines.push_back(report.date.empty() ? with : fmt::format("{}, {}", report.date, with));
  for (const RecordingFacts& recording : report.recordings)
    lines.push_back(fmt::format("replay of {}{}{}{}", recording.file,
                                recording.checksum.empty() ? "" : fmt::format(" ({})", recording.checksum),
                                recording.date.empty() ? "" : ", recorded " + recording.date,
                                recording.host.empty() ? "" : " on " + recording.host));
  for (const ReportHost& host : report.hosts)
    lines.push_back(fmt::format("{} on {}: {}{}", host.ranks == 0 ? "replayed" : counted(host.ranks, "rank"),
                                host.name, host.cpu.empty() ? "" : host.cpu + ", ",
                                counted(host.cores, "core")));
  std::vector<std::string> set;
  for (const SettingInForce& setting : report.settings) {
    const bool names_hardware = setting.key == "backend" || setting.key == "compare";
    if (!setting.is_default() && (names_hardware || !tells_nothing(setting.key)))
      set.push_back(fmt::format("{} = {} ({})", setting.key, setting.value, setting.source));
  }
  if (!set.empty()) lines.push_back(fmt::format("set: {}", fmt::join(set, "; ")));
  return lines;
}

std::vector<std::string> warnings_of(const std::vector<RunReport>& reports) {
  std::vector<std::string> warnings;
  const RunReport& first = reports.front();
  for (const RunReport& report : reports) {
    const std::string where = reports.size() > 1 ? report.file + ": " : "";
    for (const std::string& warning : report.warnings) warnings.push_back(where + warning);
    if (report.lanes.size() == 1 && report.arrival_order_dependences > 0)
      warnings.push_back(
          where + fmt::format("the modelled time depends on arrival order or polling, {}, and may differ "
                              "from run to run",
                              counted(report.arrival_order_dependences, "time")));
    if (report.lanes.front().given_up > 0)
      warnings.push_back(where + fmt::format("{} could not repair the faults of {}",
                                             report.lanes.front().backend,
                                             counted(report.lanes.front().given_up, "operation")));
    std::uint64_t routed = 0;
    for (const ReportLane& lane : report.lanes) routed = std::max(routed, sum_of(lane.calls).routed);
    if (routed > 0)
      warnings.push_back(where + fmt::format("routes gave {} to other backends than the lane's own, "
                                             "in every lane: no lane is that hardware alone",
                                             counted(routed, "operation")));
    if (report.compute != "none")
      warnings.push_back(where +
                         "CPU time between MPI calls was added: modelled times depend on the machine" +
                         (report.recordings.empty() ? "" : " that recorded it"));
    if (report.ranks != first.ranks)
      warnings.push_back(where + fmt::format("a run on {} is compared with one on {}",
                                             counted(report.ranks, "rank"), first.ranks));
    if (report.command != first.command)
      warnings.push_back(where + "the command is not that of the first report");
    if (report.data_certificate != first.data_certificate && !report.data_certificate.empty() &&
        !first.data_certificate.empty())
      warnings.push_back(where + "the program sent or received other data than in the first report");
  }
  return warnings;
}

std::string ranks_of(const ReportJob& job) {
  return job.ranks == 1 ? fmt::format("{}", job.first_rank)
                        : fmt::format("{}-{}", job.first_rank, job.first_rank + job.ranks - 1);
}

std::string whole_run_of(const ShownLane& shown, const ReportJob& job) {
  if (!job.run) return {};
  return fmt::format("{} on ranks {}: with its computing {}; {}", job.program, ranks_of(job),
                     time_text(job.run->end),
                     share_in_calls_text(shown.label, job.run->in_calls, job.run->sum,
                                         job.computing ? job.computing->free.in_calls : Time()));
}

std::string stragglers_of(const ReportLane& lane) {
  const Time without = lane.stragglers->undisturbed;
  const Time cost = later(lane.modelled_time, without) - earlier(lane.modelled_time, without);
  return fmt::format(
      "stragglers: {} {} than without them, {} of the time; one processor was held up for up to {}",
      time_text(cost), lane.modelled_time < without ? "shorter" : "longer",
      percent_text(cost, lane.modelled_time), time_text(lane.stragglers->longest));
}

// --- text ---

namespace {

constexpr std::size_t kLongestHeadline = 1000;  // characters

/// Text columns: the first to the left, the others to the right.
class Columns {
 public:
  explicit Columns(std::vector<std::string> heads) { add(std::move(heads)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void print() const {
    for (const std::string& line : lines()) fmt::print("{}\n", line);
  }
  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::size_t> widths;
    for (const auto& row : rows_) {
      widths.resize(std::max(widths.size(), row.size()));
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::vector<std::string> all;
    for (const auto& row : rows_) {
      std::string& line = all.emplace_back();
      for (std::size_t i = 0; i < row.size(); ++i)
        line +=
            i == 0 ? fmt::format("{:<{}}", row[i], widths[i]) : fmt::format("  {:>{}}", row[i], widths[i]);
    }
    return all;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace

std::vector<std::string> account_lines(const ReportAccounts& accounts) {
  std::vector<std::string> heads = {"function", "calls", "time"};
  for (const TimeKindName& kind : kTimeKinds) heads.emplace_back(kind.head);
  Columns table(std::move(heads));
  const auto row = [&](const std::string& name, const std::string& calls, const TimeParts& parts) {
    std::vector<std::string> cells = {name, calls, time_text(parts.sum())};
    for (const TimeKindName& kind : kTimeKinds)
      cells.push_back(parts.of(kind.kind) > Time() ? percent_text(parts.of(kind.kind), parts.sum()) : "-");
    table.add(std::move(cells));
  };
  TimeParts sum;
  for (const ReportAccount& account : accounts.functions) {
    sum += account.parts;
    if (account.parts.sum() > Time())
      row(printable(account.function), count_text(account.calls), account.parts);
  }
  row("all", "", sum);
  return table.lines();
}

std::vector<std::string> traffic_lines(const std::vector<ReportTraffic>& traffic, std::uint64_t ranks) {
  constexpr std::uint64_t kMostInMatrix = 16;
  constexpr std::size_t kMostPairs = 8;
  if (traffic.empty()) return {};
  if (ranks > kMostInMatrix) {
    Columns table({"from", "to", "messages", "bytes"});
    for (std::size_t i = 0; i < std::min(kMostPairs, traffic.size()); ++i)
      table.add({fmt::format("{}", traffic[i].source), fmt::format("{}", traffic[i].destination),
                 count_text(traffic[i].messages), bytes_text(traffic[i].bytes)});
    return table.lines();
  }
  std::vector<std::string> heads = {"from, to"};
  for (std::uint64_t rank = 0; rank < ranks; ++rank) heads.push_back(fmt::format("{}", rank));
  Columns table(std::move(heads));
  for (std::uint64_t from = 0; from < ranks; ++from) {
    std::vector<std::string> cells = {fmt::format("{}", from)};
    for (std::uint64_t to = 0; to < ranks; ++to) {
      const auto pair = std::find_if(traffic.begin(), traffic.end(), [&](const ReportTraffic& one) {
        return one.source == from && one.destination == to;
      });
      cells.push_back(pair == traffic.end() ? "-" : bytes_text(pair->bytes));
    }
    table.add(std::move(cells));
  }
  return table.lines();
}

namespace {

void print_accounts(const ShownLane& shown) {
  if (!shown.lane->accounts) return;
  fmt::print("\n{}: {}\n", printable(shown.label), accounts_text(*shown.lane->accounts));
  for (const std::string& line : account_lines(*shown.lane->accounts)) fmt::print("{}\n", line);
}

/// The traffic over the first hardware that has it: the program sends the same over all.
void print_traffic(const std::vector<ShownLane>& lanes) {
  const auto first = std::find_if(lanes.begin(), lanes.end(), [](const ShownLane& shown) {
    return shown.lane->accounts && !shown.lane->accounts->traffic.empty();
  });
  if (first == lanes.end()) return;
  fmt::print("\nBytes of the program's own messages, without those of collectives:\n");
  for (const std::string& line : traffic_lines(first->lane->accounts->traffic, first->run->ranks))
    fmt::print("{}\n", line);
}

/// What calls of one function are before and after a change.
struct Change {
  std::string name;
  CallCounter before;
  CallCounter after;
  [[nodiscard]] Time difference() const {
    return later(before.modelled, after.modelled) - earlier(before.modelled, after.modelled);
  }
};

/// Those that differ most first.
std::vector<Change> changes_between(const ReportLane& before, const ReportLane& after) {
  std::map<std::string, Change> changes;
  for (const ReportCall& call : before.calls) changes[call.name].before = call;
  for (const ReportCall& call : after.calls) changes[call.name].after = call;
  std::vector<Change> all;
  for (auto& [name, change] : changes) {
    change.name = name;
    all.push_back(std::move(change));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Change& a, const Change& b) { return a.difference() > b.difference(); });
  return all;
}

/// "16 000 -> 40"; one of them where both are the same.
std::string arrow(std::string before, std::string after) {
  return before == after ? std::move(before) : fmt::format("{} -> {}", before, after);
}

void print_changes(const ShownLane& before, const ShownLane& after) {
  fmt::print("\nFrom {} to {}:\n", printable(before.label), printable(after.label));
  if (before.lane->run && after.lane->run && before.lane->run->end > Time())
    fmt::print("the run takes {}: {} instead of {}\n",
               ratio_text(after.lane->run->end, before.lane->run->end), time_text(after.lane->run->end),
               time_text(before.lane->run->end));
  Columns table({"call", "calls", "bytes of one", "time", "difference"});
  const auto size = [](const CallCounter& counter) {
    return counter.count == 0 ? std::string("-") : bytes_text(counter.bytes / counter.count);
  };
  for (const Change& change : changes_between(*before.lane, *after.lane))
    table.add({printable(change.name), arrow(count_text(change.before.count), count_text(change.after.count)),
               arrow(size(change.before), size(change.after)),
               arrow(time_text(change.before.modelled), time_text(change.after.modelled)),
               change.difference() == Time()
                   ? "-"
                   : fmt::format("{}{}", change.after.modelled < change.before.modelled ? "-" : "+",
                                 time_text(change.difference()))});
  table.print();
}

/// What each report after the first changes, over the hardware that the first one has as well.
void print_changes(const std::vector<ShownLane>& lanes) {
  for (const ShownLane& after : lanes) {
    if (after.run == lanes.front().run) continue;
    const auto before = std::find_if(lanes.begin(), lanes.end(), [&](const ShownLane& shown) {
      return shown.run == lanes.front().run && shown.lane->backend == after.lane->backend;
    });
    if (before != lanes.end()) print_changes(*before, after);
  }
}

void print_overview(const std::vector<ShownLane>& lanes) {
  const ShownLane* const host = baseline_of(lanes);
  Columns table({"", "communication", "of host", "modelled time", "carried", "declined", "native"});
  for (const ShownLane& shown : lanes) {
    const CallCounter sum = sum_of(shown.lane->calls);
    const bool compared = host != nullptr && &shown != host;
    table.add({printable(shown.label), time_text(shown.lane->communication),
               compared && shown.lane->time.carries_program()
                   ? ratio_text(shown.lane->communication, host->lane->communication)
                   : "",
               time_text(shown.lane->modelled_time), shown.lane->time.text(), count_text(sum.declined),
               count_text(sum.native)});
  }
  table.print();
}

void print_calls(const std::vector<ShownLane>& lanes) {
  std::vector<std::string> heads = {"call", "count", "bytes"};
  for (const ShownLane& shown : lanes) heads.push_back(printable(shown.label));
  Columns table(std::move(heads));
  for (const auto& row : rows_of(lanes, &ReportLane::calls, &ReportCall::modelled)) {
    std::vector<std::string> cells = {
        printable(row.name),
        of_each_report(row, [](const ReportCall& call) { return count_text(call.count); }),
        of_each_report(row, [](const ReportCall& call) { return bytes_text(call.bytes); })};
    for (const auto& [run, call] : row.cells)
      cells.push_back(call == nullptr ? "" : time_text(call->modelled));
    table.add(std::move(cells));
  }
  table.print();
}

void print_phases(const std::vector<ShownLane>& lanes) {
  const auto rows = rows_of(lanes, &ReportLane::phases, nullptr);
  if (rows.empty()) return;
  fmt::print("\nPhases, the longest time of a rank:\n");
  std::vector<std::string> heads = {"phase", "times"};
  for (const ShownLane& shown : lanes) heads.push_back(printable(shown.label));
  Columns table(std::move(heads));
  for (const auto& row : rows) {
    std::vector<std::string> cells = {printable(row.name), of_each_report(row, [](const ReplayPhase& phase) {
                                        return count_text(phase.count);
                                      })};
    for (const auto& [run, phase] : row.cells)
      cells.push_back(phase == nullptr ? "" : time_text(phase->longest()));
    table.add(std::move(cells));
  }
  table.print();
}

void print_links(const ShownLane& shown) {
  constexpr std::size_t kShown = 5;
  const std::vector<LinkUse>& links = shown.lane->links;
  if (links.empty()) return;
  fmt::print("\n{}: {} of the network used; messages waited {} in all for one another\n",
             printable(shown.label), counted(links.size(), "link"), time_text(waited_for(links)));
  Columns table({"busiest link", "busy", "of the time", "bytes", "waited for", "once"});
  for (const LinkUse* link : busiest(links, kShown))
    table.add({printable(link->name), time_text(link->busy),
               percent_text(link->busy, shown.lane->modelled_time), bytes_text(link->bytes),
               time_text(link->waited), time_text(link->longest)});
  table.print();
}

void print_jobs(const ShownLane& shown) {
  if (shown.lane->jobs.empty()) return;
  fmt::print("\n{}: {} at the same time\n", printable(shown.label),
             counted(shown.lane->jobs.size(), "program"));
  Columns table({"program", "ranks", "nodes", "modelled time", "alone", "slowdown"});
  for (const ReportJob& job : shown.lane->jobs)
    table.add({printable(job.program), ranks_of(job), printable(job.nodes), time_text(job.modelled_time),
               time_text(job.alone), ratio_text(job.modelled_time, job.alone)});
  table.print();
  for (const ReportJob& job : shown.lane->jobs) {
    if (job.run) fmt::print("{}\n", printable(whole_run_of(shown, job), 400));
  }
}

void print_stragglers(const ShownLane& shown) {
  if (shown.lane->stragglers) fmt::print("{}: {}\n", printable(shown.label), stragglers_of(*shown.lane));
}

void print_path(const ShownLane& shown) {
  if (!shown.lane->path) return;
  const CriticalPath& path = *shown.lane->path;
  const Time all = path.on_ranks + path.in_messages;
  fmt::print("{}: critical path: {} on ranks, {} in {}", printable(shown.label),
             percent_text(path.on_ranks, all), percent_text(path.in_messages, all),
             counted(path.messages, "message"));
  fmt::print("{}\n", path.shared > Time()
                         ? fmt::format("; {} waiting for shared links", percent_text(path.shared, all))
                         : std::string());
}

void print_run(const RunReport& report) {
  fmt::print("{}: {}: {}\n", printable(report.file), counted(report.ranks, "rank"),
             printable(report.command));
  for (const std::string& line : facts_of(report)) fmt::print("  {}\n", printable(line, 400));
}

}  // namespace

void print_reports(const std::vector<RunReport>& reports) {
  const std::vector<ShownLane> lanes = shown_lanes(reports);
  for (const RunReport& report : reports) print_run(report);
  fmt::print("{}\n\n", printable(headline(lanes), kLongestHeadline));
  for (const RunReport& report : reports) {
    for (std::size_t i = 1; i < report.advice.size(); ++i)
      fmt::print("{}\n\n", printable_lines(report.advice[i]));
  }
  print_overview(lanes);
  for (const ShownLane& shown : lanes) {
    if (!shown.lane->time.carries_program()) fmt::print("{}\n", printable(why_not_carried(shown), 400));
  }
  fmt::print("\n");
  for (const ShownLane& shown : lanes) {
    if (const std::string& ground = shown.lane->footing.text; !ground.empty())
      fmt::print("{} stands on {}\n", printable(shown.label), printable(ground, 400));
  }
  for (const RunReport& report : reports) {
    if (report.computing && !report.computing->gaps.empty())
      fmt::print("{}\n", printable(report.computing->gaps, 400));
  }
  fmt::print("\nTime in calls, all ranks together:\n");
  print_calls(lanes);
  print_changes(lanes);
  for (const ShownLane& shown : lanes) print_accounts(shown);
  print_traffic(lanes);
  print_phases(lanes);
  for (const ShownLane& shown : lanes) print_jobs(shown);
  for (const ShownLane& shown : lanes) print_links(shown);
  for (const ShownLane& shown : lanes) print_stragglers(shown);
  for (const ShownLane& shown : lanes) print_path(shown);
  for (const ShownLane& shown : lanes) {
    for (const ReportDecline& decline : shown.lane->declines)
      fmt::print("{}: declined {} x {}: {}\n", printable(shown.label), decline.count,
                 printable(decline.operation), printable(decline.reason));
  }
  for (const ShownLane& shown : lanes) {
    if (!shown.lane->certificate.empty())
      fmt::print("{}: certificate {}\n", printable(shown.label), printable(shown.lane->certificate));
  }
  for (const RunReport& report : reports) {
    for (std::size_t i = 0; i < std::min(kShownPlaces, report.places.size()); ++i) {
      const ReportPlace& place = report.places[i];
      fmt::print(
          "{}: arrival decides {}\n", printable(report.file),
          printable(place_text(place.times, place.call, place.communicator, to_string(place.site)), 400));
    }
  }
  for (const std::string& warning : warnings_of(reports))
    fmt::print("warning: {}\n", printable(warning, 400));
}

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
  if (!options.table.empty()) {
    fmt::print("{}", report_table(reports, options.table));
    return kDone;
  }
  if (options.html.empty()) {
    print_reports(reports);
    return kDone;
  }
  return write_file(options.html, report_page(reports));
}

namespace {

class ReportCommand final : public Command {
 public:
  explicit ReportCommand(CLI::App& app) : Command(app) {
    app.add_option("files", options_.files, "reports that run --report or replay --report has written")
        ->type_name("FILE")
        ->required();
    add_html(app, options_.html);
    app.add_option("--table", options_.table, "print one table as comma-separated values, with times in ns")
        ->type_name(fmt::format("{}", fmt::join(report_table_names(), "|")))
        ->check(CLI::IsMember(report_table_names()), "");
  }
  int execute(std::vector<std::string>) override { return report(options_); }

 private:
  ReportOptions options_;
};

const Registered<ReportCommand> report_command(
    {.name = "report",
     .place = 100,
     .summary = "show reports side by side, as text or as a page",
     .exits = {{kUsage, "a file is no report, or --html names one that cannot be written"}, {kNotWritten}}});

}  // namespace

}  // namespace offramp::tool
