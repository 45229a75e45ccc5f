// The table of options that set a configuration key, by group, and functions for all other options.
// Descriptions come from the table of keys unless a subcommand needs its own.
#include "tools/command_line/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <utility>

#include "lib/base/text_format.hpp"
#include "tools/command_line/tool.hpp"

namespace offramp::tool {
namespace {

constexpr std::string_view kLinkRate = "link_rate";  // of whatever name the backends have for it

/// An option that sets one key.
struct KeyOption {
  KeyGroup group;
  const char* option;
  const char* key;
  const char* type;            // null: a flag, which sets true
  const char* help = nullptr;  // null: the key's description
  bool is_path = false;
};
constexpr KeyOption kKeyOptions[] = {
    {KeyGroup::kNetwork, "--network", "network.topology", "TOPOLOGY",
     "network between the nodes: star, fat-tree:16:4, torus:8x8, dragonfly:9:4:2:2, or a SimGrid platform "
     "file (FILE.xml)"},
    {KeyGroup::kMachine, "--nodes", "machine.nodes", "N"},
    {KeyGroup::kMachine, "--ranks-per-node", "machine.ranks_per_node", "N"},
    {KeyGroup::kMachine, "--cards-per-node", "machine.cards_per_node", "N"},
    {KeyGroup::kMachine, "--link-rate", kLinkRate.data(), "RATE",
     "rate of the links of all hardware, and of the host's, so that all are compared at equal links: 200 or "
     "200Gb/s"},
    {KeyGroup::kStragglers, "--noise", "stragglers.noise", "PERIOD:LENGTH[:JITTER]",
     "operating system noise: each rank loses its processor for LENGTH once per PERIOD, as in 1ms:25us; "
     "JITTER (0 to 1) varies the start"},
    {KeyGroup::kStragglers, "--slow-nodes", "stragglers.slow_nodes", "NODES:FACTOR",
     "nodes that compute more slowly, by this factor: 3,8-11:1.5, or random:4:1.5 for four random nodes"},
    {KeyGroup::kRun, "--clock", "clock", "model|settled|wall"},
    {KeyGroup::kRun, "--compute", "compute", "none|measured|FACTOR"},
    {KeyGroup::kComputing, "--blocked", "blocked", "FACTOR"},
    {KeyGroup::kComputing, "--polling", "polling", "work|wait|threshold"},
    {KeyGroup::kSettings, "--config", "config", "FILE",
     "read settings from this file instead of ./offramp.toml", true},
    {KeyGroup::kRun, "--report", "report", "FILE", nullptr, true},
    {KeyGroup::kRun, "--record", "record", "FILE", nullptr, true},
    {KeyGroup::kRun, "--certificate", "certificate", nullptr},
    {KeyGroup::kDetails, "--details", "details", nullptr},
    {KeyGroup::kRun, "--trace", "trace", "FILE", nullptr, true},
    {KeyGroup::kRun, "--capture", "capture", "FILE", nullptr, true},
    {KeyGroup::kRun, "--receipts", "receipts", "all|CALLS"},
    {KeyGroup::kRun, "--hang-timeout", "hang_timeout", "SECONDS"},
};

/// Splits texts into words: "--bind-to core" and "-x A=b" become four.
std::vector<std::string> words_of(const std::vector<std::string>& texts) {
  std::vector<std::string> words;
  for (const std::string& text : texts) {
    std::vector<std::string> more = CLI::detail::split_up(text);
    std::move(more.begin(), more.end(), std::back_inserter(words));
  }
  return words;
}

/// Returns false unless the whole text is a number from `least` to `most`.
template <typename T>
bool is_number(const std::string& text, T least, T most) {
  T value = {};
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && last == end && value >= least && value <= most;
}

}  // namespace

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  const std::string range =
      most == INT64_MAX ? fmt::format("of at least {}", least) : fmt::format("from {} to {}", least, most);
  return {[=](const std::string& text) {
            return is_number(text, least, most)
                       ? std::string()
                       : fmt::format("{} is not a whole number {}", in_quotes(text), range);
          },
          ""};
}

CLI::Validator plain_number(double least, double most) {
  return {[=](const std::string& text) {
            return is_number(text, least, most)
                       ? std::string()
                       : fmt::format("{} is not a number from {} to {}", in_quotes(text), least, most);
          },
          ""};
}

CLI::Validator one_of(std::vector<std::string> allowed) {
  return {[all = std::move(allowed)](const std::string& text) {
            return std::find(all.begin(), all.end(), text) != all.end()
                       ? std::string()
                       : fmt::format("{} is not allowed; allowed: {}", in_quotes(text), fmt::join(all, ", "));
          },
          ""};
}

std::string description_of(std::string_view name) {
  const auto keys = configuration_keys();
  const auto key = std::find_if(keys.begin(), keys.end(), [name](const Key& k) { return k.path == name; });
  return std::string(key->description);
}

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

KeyOptions::KeyOptions(CLI::App& app, std::initializer_list<KeyGroup> groups, Paths paths)
    : app_(app), paths_(paths) {
  values_.reserve(std::size(kKeyOptions));  // options keep the addresses
  for (std::size_t i = 0; i < std::size(kKeyOptions); ++i) {
    const KeyOption& one = kKeyOptions[i];
    if (std::find(groups.begin(), groups.end(), one.group) == groups.end()) continue;
    const std::string help = one.help != nullptr ? one.help : description_of(one.key);
    std::string& text = values_.emplace_back(Value{i, {}}).text;
    if (one.type == nullptr) {
      app.add_flag(one.option, help);
    } else {
      add_value(app, one.option, text, one.type, help);
    }
  }
  if (std::find(groups.begin(), groups.end(), KeyGroup::kSettings) == groups.end()) return;
  add_value(app, "--set", settings_, "KEY=VALUE",
            "set one key of the configuration (zrlmpi.preset=mpe2) or one parameter of --backend; may "
            "be repeated")
      ->allow_extra_args(false);
}

std::string KeyOptions::collect(const std::vector<std::string>& backends, std::vector<Override>& overrides) {
  for (const Value& value : values_) {
    const KeyOption& one = kKeyOptions[value.option];
    if (app_.count(one.option) == 0) continue;
    std::string text = one.type == nullptr ? "true" : value.text;
    const bool is_path = one.is_path || (one.group == KeyGroup::kNetwork && is_platform_file(text));
    if (is_path && paths_ == Paths::kAbsolute && !text.empty())
      text = std::filesystem::absolute(text).string();
    overrides.push_back({one.key, std::move(text), one.option});
    if (one.key == kLinkRate) overrides.back().backends = backends;
  }
  return add_settings(settings_, backends, overrides);
}

std::string add_settings(const std::vector<std::string>& settings, const std::vector<std::string>& backends,
                         std::vector<Override>& overrides) {
  for (const std::string& setting : settings) {
    const auto equals = setting.find('=');
    if (equals == std::string::npos || equals == 0)
      return fmt::format("--set {} is not KEY=VALUE", in_quotes(setting));
    const std::string key = setting.substr(0, equals);
    overrides.push_back({key, setting.substr(equals + 1), "--set " + key, backends});
  }
  return {};
}

void add_backends(CLI::App& app, std::vector<std::string>& backends) {
  add_value(app, "--backend", backends, "BACKEND",
            "hardware: one or more backends, separated by commas, or all")
      ->delimiter(',')
      ->allow_extra_args(false);
}

std::vector<std::string> without_repeats(const std::vector<std::string>& backends) {
  std::vector<std::string> once;
  for (const std::string& name : backends) {
    if (std::find(once.begin(), once.end(), name) == once.end()) once.push_back(name);
  }
  return once;
}

CLI::Option* add_ranks(CLI::App& app, int& ranks, const char* description, int least) {
  return add_value(app, "-n,--ranks", ranks, "N", description)->check(whole_number(least, 1 << 20));
}

LauncherOptions::LauncherOptions(CLI::App& app) {
  add_value(app, "--launcher-args", arguments_, "ARGS",
            "further arguments for the launcher, as one string; may be repeated")
      ->allow_extra_args(false);
  add_value(
      app, "--launcher", launcher_, "PATH",
      "launcher, by name or path: mpirun, mpiexec, or srun; by default, that of the program's MPI library");
}

std::vector<std::string> LauncherOptions::arguments() const {
  return words_of(arguments_);
}

std::vector<std::string> recordings_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == kRecordingSuffix) files.push_back(at->path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

CLI::Option* add_json(CLI::App& app, bool& json) {
  return app.add_flag("--json", json, "print JSON");
}

void add_csv(CLI::App& app, bool& csv, CLI::Option* json) {
  app.add_flag("--csv", csv, "print comma-separated values")->excludes(json);
}

void add_svg(CLI::App& app, std::string& file, const char* description) {
  add_value(app, "--svg", file, "FILE", description);
}

void add_html(CLI::App& app, std::string& file) {
  add_value(app, "--html", file, "FILE", "write the report as a self-contained web page");
}

void add_records(CLI::App& app, RecordOptions& records) {
  add_value(app, "--trace", records.trace, "FILE",
            description_of("trace") + "; one file for all backends; FILE.json.gz is compressed");
  add_value(app, "--capture", records.capture, "FILE",
            description_of("capture") + " (and backend): FILE.0.pcap for FILE.pcap");
}

void add_jobs(CLI::App& app, int& threads) {
  add_value(app, "--jobs", threads, "N",
            "with --sweep: points to simulate at the same time (default: the number of cores)")
      ->check(whole_number(1, 1024));
}

void add_partial(CLI::App& app, bool& partial) {
  app.add_flag(
      "--partial", partial,
      "replay an incomplete recording: each rank runs to its end, or until it waits for missing data");
}

void add_check(CLI::App& app, bool& check) {
  app.add_flag("--check", check,
               "verify the simulation: no unit is overcommitted or idle while work waits, no effect precedes "
               "its cause, nothing is lost");
}

}  // namespace offramp::tool
