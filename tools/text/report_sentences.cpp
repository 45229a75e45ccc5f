// Sentences for reports as text and as a page: headline, facts, warnings.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "lib/answers/report/sentences.hpp"
#include "tools/text/report.hpp"

namespace offramp::tool {

std::string size_class_text(std::uint64_t least, std::uint64_t most) {
  if (least == most) return fmt::format("{} B", least);
  if (least < 1024) return fmt::format("{} to {} B", least, most);
  return fmt::format("from {}", bytes_text(least));
}

namespace {

/// The effect of changed settings on the run, if known for both, and on communication.
std::string difference_in_words(const ShownLane& before, const ShownLane& after) {
  const auto part = [](Time time, Time base) {
    return base > Time() ? ratio_text(time, base) : std::string("more than 0");
  };
  const auto times = [](Time time, Time base) {
    return fmt::format("({} instead of {})", time_text(time), time_text(base));
  };
  const Time time = after.lane->communication;
  const Time base = before.lane->communication;
  std::string text = fmt::format("{}: ", after.label);
  if (after.lane->run && before.lane->run) {
    const Time run = after.lane->run->end;
    const Time base_run = before.lane->run->end;
    text += fmt::format("run time {} compared with {} {}, communication time {} {}", part(run, base_run),
                        before.label, times(run, base_run), part(time, base), times(time, base));
  } else {
    text += fmt::format("communication time {} compared with {} {}", part(time, base), before.label,
                        times(time, base));
  }
  return text + ".";
}

/// A sentence if both sides run on different machines.
std::string of_the_ground(const Deployment& hardware, const Deployment& host) {
  std::string text = other_ground_text(hardware, host);
  if (text.empty()) return text;
  text.front() = 'I';  // "it"
  return " " + text + ".";
}

/// The host communication's share of the run, the part of it that no hardware can shorten, and the
/// communication alone over other hardware. Empty if the computing is unknown or part of all times.
std::string of_the_run(const ShownLane& host, const ShownLane* other) {
  const std::optional<WholeRun>& run = host.lane->run;
  if (!run || !host.run->computing || run->in_calls <= Time()) return {};
  std::string text =
      " " + share_in_calls_text(host.label, run->in_calls, run->sum, host.run->computing->free.in_calls);
  if (other != nullptr)
    text += fmt::format("; communication alone over {}: {} compared with {}", other->label,
                        ratio_text(other->lane->communication, host.lane->communication), host.label);
  return text + ".";
}

/// Compares whole runs if both are known, and communication otherwise.
bool is_better(const ShownLane& one, const ShownLane& other) {
  if (one.lane->run && other.lane->run) return one.lane->run->end < other.lane->run->end;
  return one.lane->communication < other.lane->communication;
}

/// True for two reports of the same recordings, or of runs of one command.
bool is_same_program(const RunReport& one, const RunReport& other) {
  const auto alike = [](const RecordingFacts& a, const RecordingFacts& b) {
    return a.checksum.empty() ? a.file == b.file : a.checksum == b.checksum;
  };
  return one.command == other.command && one.ranks == other.ranks &&
         std::equal(one.recordings.begin(), one.recordings.end(), other.recordings.begin(),
                    other.recordings.end(), alike);
}

/// The folder of its recordings, or the file.
const std::string& path_of_version(const RunReport& report) {
  return report.version_of_program.empty() ? report.file : report.version_of_program;
}
std::string name_of_version(const RunReport& report) {
  return std::filesystem::path(path_of_version(report)).filename().string();
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
  if (host == nullptr || one_backend) {
    const auto fastest = std::min_element(lanes.begin() + 1, lanes.end(), is_better);
    return difference_in_words(lanes.front(), *fastest);
  }
  std::size_t idle = 0;  // lanes that do not carry the program
  std::string refusal;
  for (const ShownLane& lane : lanes) {
    if (lane.lane->backend == host->lane->backend) continue;  // a second host lane offers no gain
    if (!lane.lane->time.carries_program()) {
      ++idle;
      refusal = lane.lane->why_not_carried(lane.label);
      continue;
    }
    if (best == nullptr || is_better(lane, *best)) best = &lane;
  }
  if (best == nullptr)
    return idle == 1 ? refusal + "." : fmt::format("None of this hardware can carry this program.");
  const bool whole = host->lane->run && best->lane->run && host->lane->run->end > Time();
  const double ratio = whole ? share(best->lane->run->end, host->lane->run->end)
                             : share(best->lane->communication, host->lane->communication);
  if (ratio < 0.9995)
    return fmt::format("{} would save {} of the {}.", best->label, percent_text(1 - ratio, 1, whole ? 1 : 0),
                       whole ? "run" : "communication time");
  if (ratio < 1.0005) return fmt::format("{} would take as long as a plain host.", best->label);
  const std::string_view what = whole ? "the run takes" : "it takes";
  if (lanes.size() == 2)
    return fmt::format("{} would not save time: {} {:.2f} times as long as over a plain host.", best->label,
                       what, ratio);
  return fmt::format(
      "None of this hardware would save time: over the closest{}, {}, {} {:.2f} times as long as over a "
      "plain host.",
      idle > 0 ? " that carries the program" : "", best->label, what, ratio);
}

}  // namespace

std::vector<VersionChange> changes_of(const std::vector<RunReport>& reports) {
  const std::string& backend = reports.front().lanes.front().backend;
  std::vector<std::pair<const RunReport*, ProgramVersion>> versions;
  bool is_other = false;
  for (const RunReport& report : reports) {
    const ReportLane& lane = report.lanes.front();
    if (lane.backend != backend) return {};
    if (versions.empty() || !is_same_version(*versions.back().first, report))
      versions.push_back({&report, {name_of_version(report), {}}});
    versions.back().second.replays.push_back({&report, &lane});
    is_other = is_other || !is_same_program(report, reports.front()) ||
               report.version_of_program != reports.front().version_of_program;
  }
  if (!is_other) return {};
  std::vector<VersionChange> changes;
  ProgramVersion& before = versions.front().second;
  for (std::size_t i = 1; i < versions.size(); ++i) {
    auto& [first, after] = versions[i];
    if (after.name == name_of_version(reports.front())) {
      before.name = path_of_version(reports.front());
      after.name = path_of_version(*first);
    }
    changes.push_back({first, change_of(before, after)});
  }
  return changes;
}

std::string headline(const std::vector<RunReport>& reports, const std::vector<ShownLane>& lanes) {
  const RunReport& first = reports.front();
  if (first.answer && reports.size() == 1) return first.answer->answer;
  if (const std::vector<VersionChange> changes = changes_of(reports); !changes.empty()) {
    std::vector<std::string> answers;
    for (const VersionChange& change : changes) answers.push_back(change.answer.answer);
    return fmt::format("{}", fmt::join(answers, "; "));
  }
  const ShownLane* best = nullptr;
  std::string text = of_communication(lanes, best);
  const ShownLane* const host = baseline_of(lanes);
  if (best != nullptr && host != nullptr) {
    text += of_the_ground(best->lane->deployment, host->lane->deployment);
    if (!host->lane->deployment.text.empty())
      text += fmt::format(" The host runs on {}.", host->lane->deployment.text);
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
    if (!setting.is_default() && (names_hardware || !is_cosmetic_key(setting.key)))
      set.push_back(fmt::format("{} = {} ({})", setting.key, setting.value, setting.source));
  }
  if (!set.empty()) lines.push_back(fmt::format("set: {}", fmt::join(set, "; ")));
  return lines;
}

namespace {

/// Differences between the machines and networks of two reports: "machine.ranks_per_node 4 instead of 1".
std::vector<std::string> machine_differences(const RunReport& report, const RunReport& first) {
  std::vector<std::string> texts;
  const auto value_of = [](const SettingInForce& setting) {
    return setting.value.empty() ? std::string_view("empty") : std::string_view(setting.value);
  };
  for (const SettingInForce& setting : report.settings) {
    if (!setting.key.starts_with("machine.") && !setting.key.starts_with("network.")) continue;
    const auto theirs = std::find_if(first.settings.begin(), first.settings.end(),
                                     [&](const SettingInForce& other) { return other.key == setting.key; });
    if (theirs != first.settings.end() && theirs->value != setting.value)
      texts.push_back(fmt::format("{} {} instead of {}", setting.key, value_of(setting), value_of(*theirs)));
  }
  return texts;
}

/// The machine of the recorded computing, by the recording's rank 0. Empty if unknown.
std::string where_it_computed(const RunReport& report) {
  if (!report.recordings.empty()) return report.recordings.front().host;
  return report.hosts.empty() ? std::string() : report.hosts.front().name;
}

}  // namespace

std::vector<std::string> warnings_of(const std::vector<RunReport>& reports) {
  std::vector<std::string> warnings;
  const RunReport& first = reports.front();
  for (const RunReport& report : reports) {
    const std::string where = reports.size() > 1 ? report.file + ": " : "";
    for (const std::string& warning : report.warnings) warnings.push_back(where + warning);
    if (report.lanes.size() == 1 && report.arrival_order_dependences > 0)
      warnings.push_back(
          where +
          fmt::format(
              "the modelled time depends on arrival order or polling ({}) and may differ from run to run",
              counted(report.arrival_order_dependences, "time")));
    if (report.lanes.front().given_up > 0)
      warnings.push_back(where + fmt::format("{} could not recover from the faults of {}",
                                             report.lanes.front().backend,
                                             counted(report.lanes.front().given_up, "operation")));
    std::uint64_t routed = 0;
    for (const ReportLane& lane : report.lanes) routed = std::max(routed, sum_of(lane.calls).routed);
    if (routed > 0)
      warnings.push_back(
          where +
          fmt::format("routes sent {} to other backends, in every lane: no lane shows one hardware alone",
                      counted(routed, "operation")));
    if (report.compute != "none")
      warnings.push_back(where +
                         "CPU time between MPI calls is included: modelled times depend on the machine" +
                         (report.recordings.empty() ? "" : " that recorded it"));
    if (report.ranks != first.ranks)
      warnings.push_back(where + fmt::format("a run on {} is compared with one on {}",
                                             counted(report.ranks, "rank"), first.ranks));
    if (const std::vector<std::string> machine = machine_differences(report, first); !machine.empty())
      warnings.push_back(where + fmt::format("the machine differs from that of the first report: {}",
                                             fmt::join(machine, ", ")));
    if (const std::string here = where_it_computed(report), there = where_it_computed(first);
        report.computing && first.computing && !here.empty() && !there.empty() && here != there)
      warnings.push_back(where + fmt::format("its computing was recorded on {}, that of the first report on "
                                             "{}: different processors may explain part of the difference",
                                             here, there));
    if (report.command != first.command)
      warnings.push_back(where + "the command differs from that of the first report");
    if (report.data_certificate != first.data_certificate && !report.data_certificate.empty() &&
        !first.data_certificate.empty())
      warnings.push_back(where + "the program sent or received different data than in the first report");
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
  return fmt::format("stragglers: {} {} than without them, {} of the run; longest delay of one processor {}",
                     time_text(cost), lane.modelled_time < without ? "shorter" : "longer",
                     percent_text(cost, lane.modelled_time), time_text(lane.stragglers->longest));
}

}  // namespace offramp::tool
