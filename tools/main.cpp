// The `offramp` command: subcommands, their options, and help for what was misspelled.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <tuple>

#include "lib/configuration/names.hpp"
#include "lib/replay/pattern.hpp"
#include "offramp/version.hpp"
#include "tools/advise.hpp"
#include "tools/calibrate.hpp"
#include "tools/catalogue.hpp"
#include "tools/check.hpp"
#include "tools/convert.hpp"
#include "tools/dpu_host.hpp"
#include "tools/fuzz_faults.hpp"
#include "tools/predict.hpp"
#include "tools/receipt.hpp"
#include "tools/recording_info.hpp"
#include "tools/replay.hpp"
#include "tools/report.hpp"
#include "tools/tool.hpp"

namespace offramp::tool {
namespace {

constexpr const char* kRunFooter = R"(
The command stands behind --, with its own options. Settings come from the built-in defaults, offramp.toml in this
folder (or --config), OFFRAMP_* variables and these options; what comes later wins.

Other preloaded libraries: a tool that wraps MPI calls has to come before offramp to see them; give it with --preload.
What LD_PRELOAD holds already comes after offramp.

Exit codes: 2 the command line or the configuration is wrong; 126 the program cannot be run; 127 the program or mpirun
is not found; 1 libofframp.so is not found; 74 a report, trace or capture could not be written, and the program ended well;
everything else is mpirun's.)";

constexpr const char* kRecordFooter =
    R"(The program runs natively, and its MPI calls are written down without their data: offramp replay FILE says how long they
take on any hardware. offramp run --record FILE records beside a backend; the recording is the same.
)";

/// Every option of run that sets one key.
struct Shortcut {
  const char* option;
  const char* key;
  const char* type;  // null: a flag, which sets true
  bool path;
};
constexpr Shortcut kShortcuts[] = {
    // the first two name backends: see RunCommand::execute
    {"--backend", "backend", "BACKEND", false},
    {"--compare", "compare", "BACKEND,...", false},
    {"--network", "network.topology", "TOPOLOGY", false},
    {"--nodes", "machine.nodes", "N", false},
    {"--ranks-per-node", "machine.ranks_per_node", "N", false},
    {"--cards-per-node", "machine.cards_per_node", "N", false},
    {"--noise", "stragglers.noise", "PERIOD:LENGTH[:JITTER]", false},
    {"--slow-nodes", "stragglers.slow_nodes", "NODES:FACTOR", false},
    {"--clock", "clock", "model|settled|wall", false},
    {"--compute", "compute", "none|measured|FACTOR", false},
    {"--polling", "polling", "work|wait|threshold", false},
    {"--config", "config", "FILE", true},
    {"--report", "report", "FILE", true},
    {"--record", "record", "FILE", true},
    {"--certificate", "certificate", nullptr, false},
    {"--details", "details", nullptr, false},
    {"--trace", "trace", "FILE", true},
    {"--capture", "capture", "FILE", true},
    {"--receipts", "receipts", "all|CALLS", false},
    {"--hang-timeout", "hang_timeout", "SECONDS", false},
};

constexpr std::size_t kNetworkShortcut = 2;
static_assert(std::string_view(kShortcuts[kNetworkShortcut].key) == "network.topology");

std::string description_of(std::string_view name) {
  for (const Key& key : configuration_keys()) {
    if (key.path == name) return std::string(key.description);
  }
  return "read this file instead of ./offramp.toml";
}

/// KEY=VALUE as with --set. backends: those that the command line names.
bool add_setting(const std::string& setting, const std::vector<std::string>& backends,
                 std::vector<Override>& overrides) {
  const auto equals = setting.find('=');
  if (equals == std::string::npos || equals == 0) return false;
  const std::string key = setting.substr(0, equals);
  overrides.push_back({key, setting.substr(equals + 1), "--set " + key, backends});
  return true;
}

/// "a,b" and "c": a, b, c.
std::vector<std::string> names_in(std::initializer_list<std::string> lists) {
  std::vector<std::string> names;
  for (const std::string& list : lists) {
    for (std::string& name : CLI::detail::split(list, ',')) {
      CLI::detail::trim(name);
      if (!name.empty()) names.push_back(std::move(name));
    }
  }
  return names;
}

/// "--bind-to core" and "-x A=b": the words of all.
std::vector<std::string> words_of(const std::vector<std::string>& texts) {
  std::vector<std::string> words;
  for (const std::string& text : texts) {
    std::vector<std::string> more = CLI::detail::split_up(text);
    std::move(more.begin(), more.end(), std::back_inserter(words));
  }
  return words;
}

/// offramp run; or offramp record, where the MPI library carries all.
class RunCommand {
 public:
  enum class Kind : std::uint8_t { kRun, kRecord };
  RunCommand(CLI::App& parent, Kind kind)
      : kind_(kind),
        app_(kind == Kind::kRun
                 ? *parent.add_subcommand("run", "run an MPI program over a backend")
                 : *parent.add_subcommand("record",
                                          "run an MPI program without a backend and record what it "
                                          "does, for offramp replay")) {
    app_.footer(kind == Kind::kRun ? kRunFooter : kRecordFooter);
    app_.prefix_command();  // without --, the first word that is no option begins the command
    if (kind == Kind::kRecord)
      app_.add_option("-o,--output", output_, "the file that the recording goes to")
          ->type_name("FILE")
          ->required();
    app_.add_option("-n,--ranks", options_.ranks, "number of processes; by default mpirun decides")
        ->type_name("N")
        ->check(CLI::Range(1, 1 << 20));
    for (std::size_t i = 0; kind == Kind::kRun && i < std::size(kShortcuts); ++i) {
      const std::string description = description_of(kShortcuts[i].key);
      if (kShortcuts[i].type == nullptr) {
        app_.add_flag(kShortcuts[i].option, description);
      } else {
        app_.add_option(kShortcuts[i].option, values_[i], description)->type_name(kShortcuts[i].type);
      }
    }
    if (kind == Kind::kRun)
      add_list("--set", settings_, "KEY=VALUE",
               "set a key as in the file: zrlmpi.preset=mpe2, or a parameter of --backend");
    add_list("--preload", options_.preload, "LIBRARY", "preload this tool in front of offramp");
    add_list("--launcher-args,--mpirun-args", mpirun_arguments_, "ARGS",
             "more arguments for what starts the ranks, in one text; may be repeated");
    app_.add_option("--launcher,--mpirun", options_.mpirun,
                    "what starts the ranks: mpirun, mpiexec or srun, by name or path; by default what "
                    "belongs to the MPI "
                    "library of the program")
        ->type_name("PATH");
    app_.add_flag("--dry-run", options_.dry_run, "print the command line without running it");
    app_.add_flag("-v,--verbose", options_.verbose, "print the command line, then run it");
  }

  [[nodiscard]] CLI::App& app() { return app_; }

  int execute(std::vector<std::string> command) {
    std::vector<std::string> rest = app_.remaining();
    if (!rest.empty() && !command.empty())
      return refuse(fmt::format("unexpected argument {}", in_quotes(rest.front())));
    options_.command = command.empty() ? std::move(rest) : std::move(command);
    if (options_.command.empty()) return refuse("there is no program to run");
    options_.mpirun_arguments = words_of(mpirun_arguments_);
    if (kind_ == Kind::kRecord) {
      options_.overrides = {{"backend", std::string(Configuration::kOff), "offramp record"},
                            {"record", std::filesystem::absolute(output_).string(), "--output"}};
      return run(options_);
    }
    collect_shortcuts();
    for (const std::string& setting : settings_) {
      if (!add_setting(setting, names_in({values_[0], values_[1]}), options_.overrides))
        return refuse(fmt::format("--set {} is not KEY=VALUE", in_quotes(setting)));
    }
    return run(options_);
  }

 private:
  void add_list(const char* name, std::vector<std::string>& values, const char* type,
                const char* description) {
    app_.add_option(name, values, description)->type_name(type)->allow_extra_args(false);
  }

  [[nodiscard]] int refuse(const std::string& what) const {
    complain(fmt::format("{}; see offramp {} --help", what, app_.get_name()));
    return kUsage;
  }

  void collect_shortcuts() {
    for (std::size_t i = 0; i < std::size(kShortcuts); ++i) {
      std::string& value = values_[i];
      if (app_.count(kShortcuts[i].option) == 0) continue;
      if (kShortcuts[i].type == nullptr) value = "true";
      // The ranks may be started in another folder.
      const bool is_path = kShortcuts[i].path || (i == kNetworkShortcut && is_platform_file(value));
      if (is_path && !value.empty()) value = std::filesystem::absolute(value).string();
      options_.overrides.push_back({kShortcuts[i].key, value, kShortcuts[i].option});
    }
  }

  Kind kind_;
  CLI::App& app_;
  RunOptions options_;
  std::string output_;
  std::string values_[std::size(kShortcuts)];
  std::vector<std::string> settings_;
  std::vector<std::string> mpirun_arguments_;
};

/// --set and --config, of subcommands that simulate.
class SettingOptions {
 public:
  void add_to(CLI::App& app) {
    app.add_option("--set", settings_, "set a key as in the file, or a parameter of --backend")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    app.add_option("--config", config_, "read this file instead of ./offramp.toml")->type_name("FILE");
    app.add_option("--network", network_,
                   "the switches between the nodes: star, fat-tree:16:4, torus:8x8, dragonfly:9:4:2:2 and "
                   "others, or a SimGrid platform file (FILE.xml); the keys network.link and so on say more")
        ->type_name("TOPOLOGY");
    for (Machine& key : machine_) {
      app.add_option(key.option, key.value, description_of(key.key))->type_name("N");
    }
    app.add_option("--noise", noise_,
                   "once in each PERIOD the operating system takes each rank's processor for LENGTH: "
                   "1ms:25us; JITTER, "
                   "0 to 1, of the rest of the period is what it varies by")
        ->type_name("PERIOD:LENGTH[:JITTER]");
    app.add_option("--slow-nodes", slow_nodes_,
                   "nodes on which the program computes so many times longer: 3,8-11:1.5, or random:4:1.5 "
                   "for four that "
                   "are drawn")
        ->type_name("NODES:FACTOR");
  }

  /// The first --set that is none, or nothing.
  std::string collect(const std::vector<std::string>& backends, std::vector<Override>& overrides) {
    if (!config_.empty()) overrides.push_back({"config", config_, "--config"});
    for (const std::string& setting : settings_) {
      if (!add_setting(setting, backends, overrides))
        return fmt::format("--set {} is not KEY=VALUE", in_quotes(setting));
    }
    const std::tuple<const std::string&, const char*, const char*> own[] = {
        {network_, "network.topology", "--network"},
        {noise_, "stragglers.noise", "--noise"},
        {slow_nodes_, "stragglers.slow_nodes", "--slow-nodes"}};
    for (const auto& [value, key, option] : own) {
      if (!value.empty()) overrides.push_back({key, value, option});
    }
    for (const Machine& key : machine_) {
      if (!key.value.empty()) overrides.push_back({key.key, key.value, key.option});
    }
    return {};
  }

 private:
  struct Machine {
    const char* option;
    const char* key;
    std::string value = {};
  };
  std::array<Machine, 3> machine_ = {{{"--nodes", "machine.nodes"},
                                      {"--ranks-per-node", "machine.ranks_per_node"},
                                      {"--cards-per-node", "machine.cards_per_node"}}};
  std::vector<std::string> settings_;
  std::string network_;
  std::string noise_;
  std::string slow_nodes_;
  std::string config_;
};

/// The options that say which operation on which hardware.
class QuestionOptions {
 public:
  QuestionOptions(CLI::App& app, PredictOptions& options) : options_(options) {
    app.add_option("--backend", options.backends,
                   "the hardware: one backend, several with commas between them, which are compared, or all")
        ->type_name("BACKEND")
        ->delimiter(',')
        ->allow_extra_args(false);
    app.add_option("-n,--ranks", options.ranks, "number of ranks")
        ->type_name("N")
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();
    app.add_option("--bytes", options.bytes,
                   "message, or one rank's block; with a unit: 64K, 64KB (both 65536), 1MiB")
        ->type_name("SIZE")
        ->capture_default_str();
    app.add_option("--root", options.root, "root, or the sender of a message to the next rank")
        ->type_name("RANK")
        ->capture_default_str();
    app.add_option("--type", options.type,
                   "element type (float64, double, MPI_DOUBLE); int32 where something is reduced, else byte")
        ->type_name("TYPE");
    app.add_option("--function", options.function,
                   "the reduction's function (max, maximum, MPI_MAX); by default sum")
        ->type_name("FUNCTION");
    settings_.add_to(app);
  }

  /// The first --set that is none, or nothing.
  std::string collect() { return settings_.collect(options_.backends, options_.overrides); }

 private:
  PredictOptions& options_;
  SettingOptions settings_;
};

/// --trace and --capture, of subcommands that simulate.
void add_records(CLI::App& app, RecordOptions& records) {
  app.add_option("--trace", records.trace,
                 "write a trace of modelled time that Perfetto opens; of several backends one each, "
                 "FILE.host.json for FILE.json")
      ->type_name("FILE");
  app.add_option(
         "--capture", records.capture,
         "write the modelled packets as pcap, one file per rank (and backend): FILE.0.pcap for FILE.pcap")
      ->type_name("FILE");
}

constexpr const char* kPredictFooter = R"(
Runs the backend's drivers and devices for all ranks in this process, without data and without mpirun. All ranks begin
at time 0; the time is when the last one is done.

Exit codes: 2 the command line or the configuration is wrong; 3 the hardware declines; 74 the plot,
a trace or a capture could not be written.)";

class PredictCommand {
 public:
  explicit PredictCommand(CLI::App& parent)
      : app_(*parent.add_subcommand(
            "predict", "predict the time of one operation at any number of ranks, without a program")),
        question_(app_, options_) {
    app_.footer(kPredictFooter);
    app_.add_option("operation", options_.operation, "send, bcast, reduce, allreduce or MPI_Allreduce, ...")
        ->type_name("OPERATION");
    app_.add_option("--sweep", options_.sweep, "bytes=1:1MiB or ranks=2:4096, doubled each time; or :xFACTOR")
        ->type_name("RANGE");
    app_.add_option("--repeat", options_.repeat,
                    "repeat the operation, as a loop in a program does; times and counts are totals")
        ->check(CLI::Range(1, 1'000'000'000))
        ->capture_default_str()
        ->type_name("N");
    app_.add_flag("--check", options_.check,
                  "verify while simulating that no unit is used twice at a time, beyond its rate, or idle "
                  "while something "
                  "waits for it, that "
                  "nothing comes before its cause, and that nothing is lost");
    app_.add_flag(
        "--what-if", options_.what_if,
        "where the hardware declines for want of memory: as if it had more; such points are marked");
    app_.add_option("--svg", options_.svg, "plot into this file, as SVG")->type_name("FILE");
    CLI::Option* const json = app_.add_flag("--json", options_.json, "print JSON");
    app_.add_flag("--csv", options_.csv, "print comma-separated values")->excludes(json);
    add_records(app_, options_.records);
  }
  [[nodiscard]] CLI::App& app() { return app_; }
  int execute() {
    std::string problem = question_.collect();
    if (problem.empty() && options_.operation.empty()) problem = "no operation";
    if (problem.empty()) return predict(options_);
    complain(problem + "; see offramp predict --help");
    return kUsage;
  }

 private:
  CLI::App& app_;
  PredictOptions options_;
  QuestionOptions question_;
};

constexpr const char* kReplayFooter = R"(
Settings come from offramp.toml, OFFRAMP_* variables and these options, as for run,
and so do routes.

What a recorded wildcard took, and which of several requests was done first, is replayed as it was; with --arrival modelled
the modelled times decide it anew. Questions that found nothing (MPI_Test, MPI_Iprobe) take no time.

Ctrl-C ends the replay that runs, and prints those that are done.

Hardware that cannot carry the program is left out, with the reason.

Exit codes: 2 the command line or the configuration is wrong, the file is no recording, makes no sense or is not whole,
or nothing could be replayed; 74 a report, a trace or a capture could not be written; 130 interrupted.)";

std::string replay_footer() {
  std::string text = R"(
Replays what the program did, rank by rank, in the order of modelled time: all ranks, devices and the network between them
in this process, without data. In place of a file, pattern:NAME:RANKS:BYTES[:ROUNDS] runs a small program that is made up:

)";
  for (const PatternKind& kind : pattern_kinds()) {
    const std::string own = kind.parameter.empty() ? "" : fmt::format(":{}", kind.parameter);
    text += fmt::format("  {:<16} {}\n", fmt::format("{}{}", kind.name, own), kind.description);
  }
  return text + kReplayFooter;
}

std::string is_compute(const std::string& text) {
  const std::optional<double> factor = parse_quantity(text, "");
  if (text == "none" || text == "recorded" || (factor && *factor > 0)) return {};
  return fmt::format("{} is neither none nor recorded nor a factor above 0", in_quotes(text));
}

std::string is_calls(const std::string& text) {
  if (parse_calls(text)) return {};
  return fmt::format("{} is neither none nor all nor a call (127) nor several (100-200)", in_quotes(text));
}

class ReplayCommand {
 public:
  explicit ReplayCommand(CLI::App& parent)
      : app_(*parent.add_subcommand("replay", "run a recorded program again on other hardware")) {
    app_.footer(replay_footer());
    app_.add_option("file", options_.file, "what offramp record or run --record has written, or a pattern")
        ->type_name("FILE|PATTERN");
    app_.add_option(
            "--job", options_.jobs,
            "another program at the same time, on nodes of its own: FILE or PATTERN, with :NODES (0-7,12) "
            "if not on the next ones; may be repeated")
        ->type_name("FILE[:NODES]")
        ->allow_extra_args(false);
    app_.add_option("--background", options_.background,
                    "messages between the other nodes of the network meanwhile: uniform, incast or shift, "
                    "and the Gb/s "
                    "that each sends")
        ->type_name("KIND:RATE");
    add_backends("--backend", backends_,
                 "the hardware: one backend, or several with commas between them, or all");
    add_backends("--compare", compared_, "more of them");
    settings_.add_to(app_);
    app_.add_option(
            "--compute", compute_,
            "how the CPU time between MPI calls moves the host clock: not at all, as it was recorded, or "
            "that times a factor")
        ->type_name("none|recorded|FACTOR")
        ->check(is_compute, "");
    app_.add_option("--polling", polling_, description_of("polling"))
        ->type_name("work|wait|threshold")
        ->check(CLI::IsMember({"work", "wait", "threshold"}));
    app_.add_option("--arrival", arrival_, "who decides what the order of arrival decided")
        ->type_name("recorded|modelled")
        ->check(CLI::IsMember({"recorded", "modelled"}))
        ->capture_default_str();
    app_.add_flag(
        "--partial", options_.partial,
        "where a recording is cut or damaged: replay what there is, each rank up to its end or to where "
        "it waits for what is missing");
    app_.add_flag("--check", options_.check,
                  "verify while simulating that no unit is used twice at a time, beyond its rate, or idle "
                  "while something "
                  "waits for it, that "
                  "nothing comes before its cause, and that nothing is lost");
    app_.add_flag("--details", details_, description_of("details"));
    app_.add_flag("--json", options_.json, "print JSON");
    add_records(app_, options_.records);
    app_.add_option("--report", options_.report, "write a report in JSON, as a run does")->type_name("FILE");
    app_.add_option("--html", options_.html, "write the report as a page for a browser")->type_name("FILE");
    app_.add_option("--receipts", receipts_,
                    "calls whose stages the report and the JSON have beside the rest; of each rank, counted "
                    "from 1")
        ->type_name("all|CALLS")
        ->check(is_calls, "");
  }
  [[nodiscard]] CLI::App& app() { return app_; }
  int execute() {
    options_.backends = backends_;
    for (const std::string& name : compared_) {
      if (std::find(options_.backends.begin(), options_.backends.end(), name) == options_.backends.end())
        options_.backends.push_back(name);
    }
    std::string problem = settings_.collect(options_.backends, options_.overrides);
    if (options_.file.empty() && options_.jobs.empty()) problem = "no recording, pattern or --job";
    if (app_.count("--receipts") > 0 && !options_.json && options_.report.empty())
      problem = "--receipts needs --report FILE or --json";
    if (app_.count("--compute") > 0)
      options_.overrides.push_back({"compute", compute_ == "recorded" ? "measured" : compute_, "--compute"});
    if (!polling_.empty()) options_.overrides.push_back({"polling", polling_, "--polling"});
    if (details_) options_.overrides.push_back({"details", "true", "--details"});
    options_.modelled_arrival = arrival_ == "modelled";
    options_.records.receipts = *parse_calls(receipts_);
    if (problem.empty()) return replay(options_);
    complain(problem + "; see offramp replay --help");
    return kUsage;
  }

 private:
  void add_backends(const char* name, std::vector<std::string>& backends, const char* description) {
    app_.add_option(name, backends, description)
        ->type_name("BACKEND")
        ->delimiter(',')
        ->allow_extra_args(false);
  }

  CLI::App& app_;
  ReplayToolOptions options_;
  SettingOptions settings_;
  std::string receipts_ = "none";
  std::vector<std::string> backends_;
  std::vector<std::string> compared_;
  std::string compute_;
  std::string polling_;
  std::string arrival_ = "recorded";
  bool details_ = false;
};

class AdviseCommand {
 public:
  explicit AdviseCommand(CLI::App& parent)
      : app_(*parent.add_subcommand("advise",
                                    "say which hardware suits a program, how sure that is, and what to do")) {
    app_.footer(
        "\nExit codes: 2 nothing could be replayed; 74 writing failed; 130 interrupted, with what was known "
        "then.");
    app_.add_option("file", options_.file, "what offramp record or run --record has written, or a pattern")
        ->type_name("FILE|PATTERN")
        ->required();
    app_.add_option("--backend", options_.backends, "only these, and the host; with commas between them")
        ->type_name("BACKEND")
        ->delimiter(',')
        ->allow_extra_args(false);
    settings_.add_to(app_);
    app_.add_option("--seconds", options_.seconds, "for the search; what is known by then is printed")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.1, 1e6))
        ->capture_default_str();
    app_.add_option("--routes", options_.routes, "write the best mix of hardware as an offramp.toml")
        ->type_name("FILE");
    app_.add_option("--tuning", options_.tuning,
                    "write the fastest algorithms as dynamic rules of Open MPI's component tuned")
        ->type_name("FILE");
    app_.add_flag("--partial", options_.partial, "where a recording is cut or damaged: of what there is");
    app_.add_flag("--json", options_.json, "print JSON");
  }
  [[nodiscard]] CLI::App& app() { return app_; }
  int execute() {
    const std::string problem = settings_.collect(options_.backends, options_.overrides);
    if (problem.empty()) return advise(options_);
    complain(problem + "; see offramp advise --help");
    return kUsage;
  }

 private:
  CLI::App& app_;
  AdviseOptions options_;
  SettingOptions settings_;
};

class ExplainCommand {
 public:
  explicit ExplainCommand(CLI::App& parent)
      : app_(*parent.add_subcommand("explain",
                                    "show parts of the modelled hardware, or where a call's time "
                                    "went")),
        question_(app_, options_.about) {
    app_.footer(
        "\nWith --call or --rank: the receipt of one call, or a list of the calls, from a report of a run "
        "with receipts:\n  offramp explain --call 127 --rank 3 report.json");
    app_.add_option("topic", options_.topic, "what to show, or a report; by default the list of topics")
        ->type_name("TOPIC");
    app_.add_option("arguments", options_.arguments, "arguments of the topic");
    app_.add_option("--operation", options_.about.operation, "the operation, for topics that take one")
        ->type_name("OPERATION");
    app_.add_option("--call", receipt_.call, "show the stages of this call; counted from 1")
        ->type_name("N")
        ->check(CLI::PositiveNumber);
    app_.add_option("--rank", receipt_.rank, "the rank that made the call")
        ->type_name("RANK")
        ->check(CLI::NonNegativeNumber);
    app_.add_option("--svg", options_.svg, "with validation: plot into this file, as SVG")->type_name("FILE");
    app_.add_flag("--timeline", receipt_.timeline, "with --call: list every piece in the order of time");
    app_.add_flag("--json", receipt_.json, "with --call or --rank: print JSON");
  }
  [[nodiscard]] CLI::App& app() { return app_; }
  int execute() {
    std::string problem = question_.collect();
    if (app_.count("--call") + app_.count("--rank") > 0) {
      receipt_.report = options_.topic;
      if (problem.empty() && receipt_.report.empty()) problem = "no report";
      if (problem.empty() && !options_.arguments.empty())
        problem = fmt::format("unexpected argument {}", in_quotes(options_.arguments.front()));
      if (problem.empty()) return receipt(receipt_);
    }
    // Topics take their questions as words; these two may come as options as well.
    if (app_.count("--ranks") > 0)
      options_.arguments.push_back(fmt::format("ranks={}", options_.about.ranks));
    if (app_.count("--bytes") > 0) options_.arguments.push_back("bytes=" + options_.about.bytes);
    if (problem.empty()) return explain(options_);
    complain(problem + "; see offramp explain --help");
    return kUsage;
  }

 private:
  CLI::App& app_;
  ExplainOptions options_;
  ReceiptOptions receipt_;
  QuestionOptions question_;
};

class CalibrateCommand {
 public:
  explicit CalibrateCommand(CLI::App& parent)
      : app_(*parent.add_subcommand("calibrate", "fit the host backend to this machine's MPI library")) {
    app_.footer(
        "\nMeasures messages, local copies and reductions of the MPI library alone, and prints a section "
        "[host] for offramp.toml that takes as long, each figure with where it is from; above it what "
        "messages, bcast, reduce, allreduce and gather took, and what the fitted host says. Messages between "
        "ranks of one host become the parameters of memory; those of the NIC are only written where ranks "
        "are "
        "on several hosts (--mpirun-args). Let nothing else run meanwhile. With --from nothing is measured: "
        "the figures are those of another machine, and the table says how far its collectives are from the "
        "ones that the fitted host predicts.");
    app_.add_option(
            "-n,--ranks", options_.ranks,
            "number of processes; messages go from rank 0 to a rank of its host, and to one of another")
        ->type_name("N")
        ->check(CLI::Range(2, 1 << 20))
        ->capture_default_str();
    app_.add_option("--ranks-per-node", options_.ranks_per_node,
                    "with --from: that --ranks were on each node in outputs of collectives")
        ->type_name("N")
        ->check(CLI::Range(1, 1 << 20));
    app_.add_option(
            "--from", options_.from,
            "read outputs of OSU's benchmarks (osu_latency, osu_bw, osu_mbw_mr between two nodes; "
            "collectives), or a table with the columns benchmark, nodes, ranks_per_node, bytes, value; "
            "may be repeated")
        ->type_name("FILE")
        ->allow_extra_args(false);
    app_.add_option("--from-node", options_.from_node,
                    "the same, of messages between two ranks of one node; may be repeated")
        ->type_name("FILE")
        ->allow_extra_args(false);
    app_.add_option("--set", settings_,
                    "KEY=VALUE of the host that is known and not to be found; may be repeated")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    app_.add_option("--seconds", options_.seconds, "time for each figure")
        ->type_name("SECONDS")
        ->check(CLI::Range(1e-3, 60.0))
        ->capture_default_str();
    app_.add_option("-o,--output", options_.output, "write the section to this file")->type_name("FILE");
    app_.add_option("--launcher-args,--mpirun-args", mpirun_arguments_,
                    "more arguments for what starts the ranks, in one text; may be repeated")
        ->type_name("ARGS")
        ->allow_extra_args(false);
    app_.add_option("--launcher,--mpirun", options_.mpirun,
                    "what starts the ranks: mpirun, mpiexec or srun, by name or path; by default what "
                    "belongs to the MPI "
                    "library of the program")
        ->type_name("PATH");
    app_.add_flag("--json", options_.json, "print JSON");
  }
  [[nodiscard]] CLI::App& app() { return app_; }
  int execute() {
    options_.mpirun_arguments = words_of(mpirun_arguments_);
    for (const std::string& setting : settings_) {
      if (add_setting(setting, {"host"}, options_.known)) continue;
      complain(fmt::format("--set {} is not KEY=VALUE; see offramp calibrate --help", in_quotes(setting)));
      return kUsage;
    }
    return calibrate(options_);
  }

 private:
  CLI::App& app_;
  CalibrateOptions options_;
  std::vector<std::string> mpirun_arguments_;
  std::vector<std::string> settings_;
};

/// explain config --backend dpu, under the name that its users look for.
class DpuConfigCommand {
 public:
  explicit DpuConfigCommand(CLI::App& parent)
      : app_(*parent.add_subcommand("dpu-config",
                                    "write or check a configuration file of the offload service")) {
    app_.footer(
        "\nWithout a file: writes one for the platform of the settings to standard output. With one: checks "
        "it. --machine and --topology find BlueField cards with hwloc; comments in the file then say which "
        "local rank has which service process, and which are far from it.");
    app_.add_option("file", file_, "the file to check")->type_name("FILE");
    CLI::Option* const hosts = app_.add_option("--hosts", hosts_, "number of equal hosts")->type_name("N");
    CLI::Option* const machine = app_.add_flag("--machine", machine_, "this machine");
    app_.add_option("--topology", topologies_,
                    "a host as lstopo has written it on that host; may be repeated")
        ->type_name("FILE")
        ->allow_extra_args(false)
        ->excludes(hosts)
        ->excludes(machine);
    machine->excludes(hosts);
    app_.add_option("--set", settings_, "a parameter of the platform: ranks_per_node=4")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
  }
  [[nodiscard]] CLI::App& app() { return app_; }
  int execute() {
    ExplainOptions options;
    options.topic = "config";
    options.about.backends = {"dpu"};
    if (!file_.empty()) options.arguments.push_back(file_);
    for (const std::string& setting : settings_) {
      if (add_setting(setting, {"dpu"}, options.about.overrides)) continue;
      complain(fmt::format("--set {} is not KEY=VALUE; see offramp dpu-config --help", in_quotes(setting)));
      return kUsage;
    }
    if (const std::string error = describe(options.arguments); !error.empty()) {
      complain(error);
      return kUsage;
    }
    return explain(options);
  }

 private:
  CLI::App& app_;
  /// The hosts to write a file for, in words; what is wrong.
  std::string describe(std::vector<std::string>& words) const {
    const bool about_hosts = hosts_ != 0 || machine_ || !topologies_.empty();
    if (about_hosts && !file_.empty()) return "a file is checked, or one is written: not both";
    if (hosts_ != 0) words.push_back(fmt::format("hosts={}", hosts_));
    std::vector<std::string> sources = topologies_;
    if (machine_) sources.emplace_back();
    for (const std::string& source : sources) {
      DpuHost host = look_at_dpu_host(source);
      if (!host.error.empty()) return host.error;
      words.insert(words.end(), host.words.begin(), host.words.end());
    }
    return {};
  }

  std::string file_;
  int hosts_ = 0;
  bool machine_ = false;
  std::vector<std::string> topologies_;
  std::vector<std::string> settings_;
};

constexpr const char* kFuzzFooter = R"(
Runs the program again and again, each time with other faults on the modelled wires. A run is good when it ends well, or
with an MPI error for a fault that the hardware's protocol cannot repair. For each failure (wrong, hang, crash) a script
of faults is written that makes it happen again, as short as can be found.

Exit codes: 0 all runs were good; 2 the command line is wrong, or the program fails without faults; 3 no fault happened;
4 some runs failed.)";

class FuzzCommand {
 public:
  explicit FuzzCommand(CLI::App& parent)
      : app_(*parent.add_subcommand("fuzz-faults", "search for wire faults that break a program")) {
    app_.footer(kFuzzFooter);
    app_.prefix_command();
    const auto list = [this](const char* name, std::vector<std::string>& values, const char* type,
                             const char* description) {
      return app_.add_option(name, values, description)
          ->type_name(type)
          ->delimiter(',')
          ->allow_extra_args(false)
          ->capture_default_str();
    };
    for (const BackendDescription* backend : built_in_backends())
      options_.backends.emplace_back(backend->name);
    options_.kinds = {"loss", "duplication", "reordering", "corruption", "delay", "outage", "all"};
    options_.rates = {"1e-4", "1e-3", "1e-2", "1e-1"};
    options_.folder = ".";
    list("--backend", options_.backends, "NAMES", "the hardware");
    const auto known = CLI::IsMember(options_.kinds);
    list("--kinds", options_.kinds, "KINDS", "the faults")->check(known);
    list("--rates", options_.rates, "RATES",
         "their probabilities; with the kind all, the rate of each kind (at most 0.2)")
        ->check(CLI::Range(0.0, 1.0));
    app_.add_option("-n,--ranks", options_.ranks, "number of processes")
        ->type_name("N")
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();
    app_.add_option("--runs", options_.runs, "number of runs")
        ->type_name("N")
        ->check(CLI::Range(1, 1 << 30))
        ->capture_default_str();
    app_.add_option("--seed", options_.first_seed, "seed of the first run; each further run counts up")
        ->type_name("N")
        ->check(CLI::Range(0, 1 << 30))
        ->capture_default_str();
    app_.add_option("--time-limit", options_.time_limit, "a run that takes longer counts as a hang")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.1, 1e6))
        ->capture_default_str();
    app_.add_option("--expect", options_.expect, "a text that every run without an MPI error prints")
        ->type_name("TEXT");
    app_.add_option("--folder", options_.folder, "folder for the scripts of failures")
        ->type_name("FOLDER")
        ->check(CLI::ExistingDirectory)
        ->capture_default_str();
    app_.add_option("--shrink-runs", options_.shrink_runs,
                    "number of runs to spend on making a script shorter")
        ->type_name("N")
        ->check(CLI::Range(0, 1 << 20))
        ->capture_default_str();
    app_.add_option("--set", options_.settings, "set a key as in the file; may be repeated")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    app_.add_flag("--json", options_.json, "print JSON");
    app_.add_flag("-v,--verbose", options_.verbose, "print every run's result");
  }
  [[nodiscard]] CLI::App& app() { return app_; }
  int execute(std::vector<std::string> command) {
    options_.command = command.empty() ? app_.remaining() : std::move(command);
    if (!options_.command.empty()) return fuzz_faults(options_);
    complain("there is no program to run; see offramp fuzz-faults --help");
    return kUsage;
  }

 private:
  CLI::App& app_;
  FuzzOptions options_;
};

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

bool has_option(const CLI::App& app, const std::string& name) {
  const std::vector<std::string> names = option_names(app);
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Which other subcommands have this option: "; it is an option of run and record".
std::string elsewhere(const CLI::App& used, const std::string& name) {
  std::vector<std::string> having;
  for (const CLI::App* sub : used.get_parent()->get_subcommands([](const CLI::App*) { return true; })) {
    if (!sub->get_group().empty() && has_option(*sub, name)) having.push_back(sub->get_name());
  }
  if (having.empty()) return {};
  const std::string last = having.back();
  having.pop_back();
  return fmt::format("; it is an option of {}{}{}", fmt::join(having, ", "), having.empty() ? "" : " and ",
                     last);
}

/// The first word that looks like an option but is none, with what it may have meant.
std::string unknown_option(const CLI::App& app) {
  for (const std::string& word : app.remaining()) {
    if (!word.starts_with('-')) return {};
    const std::string name = word.substr(0, word.find('='));
    std::vector<std::string_view> views;
    const std::vector<std::string> names = option_names(app);
    for (const std::string& known : names) {  // letters are near to all letters
      if (known.starts_with("--")) views.push_back(known);
    }
    const std::string other = elsewhere(app, name);
    return fmt::format("unknown option {}{}", in_quotes(name),
                       !other.empty()           ? other
                       : name.starts_with("--") ? suggestion(name, views)
                                                : fmt::format("; see offramp {} --help", app.get_name()));
  }
  return {};
}

std::string lower_first(std::string text) {
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

/// What is wrong with the first word, or nothing.
std::string unknown_subcommand(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty()) return "no subcommand; see offramp --help";
  if (words[0].starts_with('-')) return {};
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (sub->check_name(words[0])) return {};
  }
  std::vector<std::string> names;
  for (const CommandEntry& command : catalogue(app)) names.push_back(command.name);
  const std::vector<std::string_view> views(names.begin() + 1, names.end());
  return fmt::format("unknown subcommand {}{}", in_quotes(words[0]), suggestion(words[0], views));
}

/// `offramp help run` and `offramp version`, as other programs have them.
void ask_for_help(std::vector<std::string>& words) {
  if (words.empty()) return;
  if (words[0] == "version") words[0] = "--version";
  if (words[0] != "help") return;
  words.erase(words.begin());
  words.resize(std::min<std::size_t>(words.size(), 1));
  words.emplace_back("--help");
}

bool takes_value(const CLI::Option* option) {
  return option != nullptr && option->get_items_expected_max() > 0;
}

/// Makes mpirun's -np the -n that is meant, and says so where an option of ours stands behind the program.
void tidy_options(const CLI::App& app, std::vector<std::string>& words) {
  const CLI::App* command = nullptr;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (sub->check_name(words[0])) command = sub;
  }
  if (command == nullptr) return;
  const bool runs = command->get_prefix_command();
  std::size_t at = 1;
  for (; at < words.size() && words[at] != "--"; ++at) {
    std::string& word = words[at];
    if (word == "-np" && command->get_option_no_throw("-n") != nullptr) word = "-n";
    if (!word.starts_with('-')) {
      if (runs) break;
      continue;
    }
    const bool apart = word.find('=') == std::string::npos;
    if (apart && takes_value(command->get_option_no_throw(word))) ++at;
  }
  if (at >= words.size() || words[at] == "--") return;
  const std::string& program = words[at];
  if (std::find(words.begin() + static_cast<std::ptrdiff_t>(at), words.end(), "--") != words.end()) return;
  for (std::size_t i = at + 1; i < words.size(); ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    if (!name.starts_with("--") || name == "--help" || command->get_option_no_throw(name) == nullptr)
      continue;
    complain(fmt::format(
        "note: {} behind {} is the program's; offramp's options stand before it (write -- before {} if it is "
        "meant so)",
        name, printable(program), printable(program)));
    return;
  }
}

int dispatch(std::vector<std::string> words) {
  CLI::App app("Runs unmodified MPI programs over models of communication hardware.", "offramp");
  app.set_version_flag("--version", "offramp " OFFRAMP_VERSION);
  app.require_subcommand(1);
  RunCommand run_command(app, RunCommand::Kind::kRun);
  RunCommand record_command(app, RunCommand::Kind::kRecord);
  InfoOptions info_options;
  CLI::App* const info_app = app.add_subcommand(
      "info", "show what is wrong here, the machine and the settings in force, or what is in a recording");
  info_app->add_option("recording", info_options.recording, "say what is in this recording instead")
      ->type_name("FILE");
  info_app->add_option("--backend", info_options.backend, "the parameters of this backend, or of all")
      ->type_name("BACKEND");
  CLI::Option* const sample =
      info_app->add_flag("-c,--configuration", info_options.configuration, "print a complete offramp.toml");
  info_app
      ->add_flag("--sources", info_options.sources, "print the bibliography, or what of it --backend cites")
      ->excludes(sample);
  info_app->add_flag("--json", info_options.json, "print JSON")->excludes(sample);
  bool events = false;
  info_app->add_flag("--events", events, "print every event of the recording")->excludes(sample);
  CheckOptions check_options;
  CLI::App* const check_app =
      app.add_subcommand("check", "say what would happen to each MPI call of a program");
  check_app->footer(
      "\nExit codes: 0 it works; 2 Offramp cannot be put in front of it; 3 it works, with a risk that is "
      "named.");
  check_app->add_option("program", check_options.program, "a compiled program")
      ->type_name("PROGRAM")
      ->required();
  check_app->add_option("--backend", check_options.backend, "only this hardware")->type_name("BACKEND");
  check_app->add_flag("--json", check_options.json, "print JSON");
  ConvertOptions convert_options;
  CLI::App* const convert_app =
      app.add_subcommand("convert", "write a recording, trace or pattern in the format of another tool");
  convert_app->footer(
      "\nWhat the format cannot say is named on standard error, each kind once.\nExit codes: 2 the command "
      "line "
      "is wrong; 74 it could not be written, or the format cannot hold it.");
  convert_app->add_option("file", convert_options.file, "whatever offramp replay takes")
      ->type_name("FILE|PATTERN")
      ->required();
  convert_app->add_option("-o,--output", convert_options.output, "the file to write")
      ->type_name("FILE")
      ->required();
  convert_app
      ->add_option("--to", convert_options.format, fmt::format("{}", fmt::join(convert_formats(), ", ")))
      ->type_name("FORMAT")
      ->required();
  PredictCommand predict_command(app);
  ReplayCommand replay_command(app);
  AdviseCommand advise_command(app);
  ExplainCommand explain_command(app);
  DpuConfigCommand dpu_config_command(app);
  CalibrateCommand calibrate_command(app);
  ReportOptions report_options;
  CLI::App* const report_app =
      app.add_subcommand("report", "show reports side by side, as text or as a page");
  report_app->footer(
      "\nExit codes: 2 a file is no report, or --html names one that cannot be written; 74 writing failed.");
  report_app
      ->add_option("files", report_options.files, "reports that run --report or replay --report has written")
      ->type_name("FILE")
      ->required();
  report_app
      ->add_option("--html", report_options.html, "write a page for a browser, which needs nothing else")
      ->type_name("FILE");
  std::string shell;
  CLI::App* const completion_app = app.add_subcommand("completion", "print a completion script for a shell");
  completion_app->footer(
      "\nFor a bash or zsh that runs: source <(offramp completion bash), or zsh. For fish: offramp "
      "completion fish | source");
  completion_app->add_option("shell", shell, "bash, fish or zsh")->type_name("SHELL")->required();
  ManualOptions manual_options;
  CLI::App* const manual_app = app.add_subcommand("manual", "make the manual pages or the option reference");
  manual_app->group("");  // for the build
  manual_app->add_option("format", manual_options.format, "man or markdown")->required();
  manual_app->add_option("folder", manual_options.folder, "for the manual pages");
  FuzzCommand fuzz_command(app);
  for (CLI::App* sub : app.get_subcommands({})) sub->allow_extras();

  ask_for_help(words);
  if (const std::string problem = unknown_subcommand(app, words); !problem.empty()) {
    complain(problem);
    return kUsage;
  }
  tidy_options(app, words);
  // CLI11 must not look at the program's own options.
  const auto dashes = std::find(words.begin(), words.end(), "--");
  std::vector<std::string> command(dashes == words.end() ? dashes : dashes + 1, words.end());
  words.erase(dashes, words.end());
  const std::string help = "offramp " + (words[0].starts_with('-') ? "" : words[0] + " ") + "--help";
  std::reverse(words.begin(), words.end());  // as CLI11 takes them
  try {
    app.parse(words);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    complain(fmt::format("{}; see {}", lower_first(e.what()), help));
    return kUsage;
  }
  CLI::App* const used = app.get_subcommands().front();
  std::string problem = unknown_option(*used);
  const bool runs =
      used == &run_command.app() || used == &record_command.app() || used == &fuzz_command.app();
  if (!runs) {
    std::vector<std::string> more = used->remaining();
    more.insert(more.end(), command.begin(), command.end());
    if (problem.empty() && !more.empty())
      problem = fmt::format("unexpected argument {}", in_quotes(more.front()));
  }
  if (!problem.empty()) {
    complain(problem);
    return kUsage;
  }
  if (used == info_app && !info_options.recording.empty())
    return recording_info(info_options.recording, events              ? RecordingView::kEvents
                                                  : info_options.json ? RecordingView::kJson
                                                                      : RecordingView::kText);
  if (used == info_app) return info(info_options);
  if (used == check_app) return check(check_options);
  if (used == convert_app) return convert(convert_options);
  if (used == report_app) return report(report_options);
  if (used == &predict_command.app()) return predict_command.execute();
  if (used == &replay_command.app()) return replay_command.execute();
  if (used == &advise_command.app()) return advise_command.execute();
  if (used == &explain_command.app()) return explain_command.execute();
  if (used == &calibrate_command.app()) return calibrate_command.execute();
  if (used == &dpu_config_command.app()) return dpu_config_command.execute();
  if (used == completion_app) return completion(app, shell);
  if (used == manual_app) return manual(app, manual_options);
  if (used == &fuzz_command.app()) return fuzz_command.execute(std::move(command));
  if (used == &record_command.app()) return record_command.execute(std::move(command));
  return run_command.execute(std::move(command));
}

}  // namespace
}  // namespace offramp::tool

int main(int argc, char** argv) {
  try {
    const int code = offramp::tool::dispatch({argv + 1, argv + argc});
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    offramp::tool::complain(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
    return offramp::tool::kNotWritten;
  } catch (const std::exception& e) {
    offramp::tool::complain(e.what());
    return offramp::tool::kBroken;
  }
}
