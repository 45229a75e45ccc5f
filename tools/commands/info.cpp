// offramp info: the machine, the settings, and a sample configuration, all from tables.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/base/format.hpp"
#include "lib/base/text_format.hpp"
#include "lib/programs/import/otf2.hpp"
#include "offramp/version.hpp"
#include "tools/command_line/catalogue.hpp"
#include "tools/command_line/command.hpp"
#include "tools/command_line/options.hpp"
#include "tools/command_line/tool.hpp"
#include "tools/text/recording_info.hpp"
#include "tools/text/sources.hpp"

namespace offramp::tool {
namespace {

struct InfoOptions {
  std::string backend;  // empty: all
  bool configuration = false;
  bool sources = false;
  bool json = false;
  std::vector<Override> overrides;
};

using Json = nlohmann::ordered_json;

/// Makes a text, which may come from a plugin, valid UTF-8 for JSON.
std::string clean(std::string_view text) {
  return printable(text, 1000);
}

std::vector<const BackendDescription*> chosen(const Registry& registry, const std::string& only) {
  if (!only.empty() && only != "all") return {registry.find(only)};
  return {registry.all().begin(), registry.all().end()};
}

void print_json(const InfoOptions& options, const Registry& registry, const Configuration* configuration,
                std::vector<std::string> problems) {
  const std::string file = configuration != nullptr ? configuration->file : "wrong, see problems";
  const Machine machine = look_at_machine();
  problems.insert(problems.end(), machine.problems.begin(), machine.problems.end());
  Json backends = Json::array();
  for (const BackendDescription* backend : chosen(registry, options.backend))
    backends.push_back(describe(*backend));
  Json settings = Json::object();
  if (configuration != nullptr) {
    for (const SettingInForce& setting : settings_in_force(*configuration, registry))
      settings[setting.key] = {{"value", clean(setting.value)}, {"source", clean(setting.source)}};
  }
  const Json topology = {{"packages", machine.packages},
                         {"cores", machine.cores},
                         {"threads", machine.threads},
                         {"numa_nodes", machine.numa_nodes}};
  const Json all = {{"version", OFFRAMP_VERSION},    {"library", library_path()},
                    {"configuration", file},         {"mpi", machine.mpi},
                    {"mpirun", machine.mpirun},      {"ucx", machine.ucx},
                    {"otf2", trace::otf2_version()}, {"topology", topology},
                    {"backends", backends},          {"keys", describe_keys(registry)},
                    {"settings", settings},          {"problems", problems}};
  fmt::print("{}\n", all.dump(2, ' ', false, Json::error_handler_t::replace));
}

/// configuration: null if it is invalid; prints the defaults then.
void print_backend(const BackendDescription& backend, const Configuration* configuration) {
  fmt::print("{}: {}\n", backend.name, clean(backend.description));
  const Settings defaults = Settings::defaults(backend.parameters);
  const Result<Settings> settings =
      configuration != nullptr ? configuration->settings_for(backend) : Result<Settings>(defaults);
  const Settings& in_force = settings ? *settings : defaults;
  for (const Parameter& p : backend.parameters) {
    const std::string value = value_with_unit(p, in_force);
    const std::string usual = value_with_unit(p, defaults);
    fmt::print("  {:<24} {}{}\n", p.name, clean(value),
               value == usual ? "" : fmt::format(" (default {})", clean(usual)));
    fmt::print("  {:<24} {}\n", "", clean(p.description));
    fmt::print("  {:<24} allowed: {}; source: {}\n", "", clean(allowed_text(p)), clean(p.source));
  }
}

/// Prints problems first, since they affect everything else.
void print_overview(const Machine& machine, const Registry& registry, const Configuration* configuration,
                    const std::vector<std::string>& problems) {
  if (problems.empty()) fmt::print("no problems found\n");
  if (!problems.empty()) fmt::print("problems:\n");
  for (const std::string& problem : problems) fmt::print("- {}\n", problem);
  const auto line = [](std::string_view name, const std::string& value) {
    fmt::print("{:<14} {}\n", name, value.empty() ? "not found" : value);
  };
  line("offramp", OFFRAMP_VERSION);
  line("library", library_path());
  line("mpi", machine.mpi);
  line("mpirun", machine.mpirun);
  line("ucx", machine.ucx);
  line("otf2", trace::otf2_version().empty()
                   ? "not in this build: OTF2 archives can be neither read nor written"
                   : std::string(trace::otf2_version()));
  line("machine",
       fmt::format("{}, {}, {}, {}", counted(machine.packages, "package"), counted(machine.cores, "core"),
                   counted(machine.threads, "hardware thread"), counted(machine.numa_nodes, "NUMA node")));
  line("backends",
       fmt::format("{}; details: offramp info --backend NAME", fmt::join(registry.names(), ", ")));
  if (configuration == nullptr) return;
  line("configuration", configuration->file.empty() ? "no file" : configuration->file);
  std::size_t defaults = 0;
  for (const SettingInForce& setting : settings_in_force(*configuration, registry)) {
    defaults += setting.is_default() ? 1 : 0;
    if (!setting.is_default() || setting.key == "backend")
      line(setting.key, fmt::format("{} ({})", printable(setting.value), printable(setting.source)));
  }
  line("defaults", fmt::format("{} their defaults; offramp info -c lists them",
                               defaults == 1 ? "1 key has" : fmt::format("{} keys have", defaults)));
}

void print_text(const InfoOptions& options, const Registry& registry, const Configuration* configuration,
                std::vector<std::string> problems) {
  if (options.backend.empty()) {
    const Machine machine = look_at_machine();
    problems.insert(problems.end(), machine.problems.begin(), machine.problems.end());
    print_overview(machine, registry, configuration, problems);
    return;
  }
  for (const std::string& problem : problems) fmt::print("problem: {}\n", problem);
  for (const BackendDescription* backend : chosen(registry, options.backend))
    print_backend(*backend, configuration);
}

/// Prints a line of the sample with the comment of the table.
void print_setting(std::string_view name, std::string_view value, std::string_view comment,
                   std::string_view prefix) {
  fmt::print("# {}\n{}{} = {}\n", comment, prefix, name, value);
}

void print_keys(const Registry& registry) {
  std::string section;
  for (const Key& key : configuration_keys()) {
    if (key.path.empty()) continue;
    const auto dot = key.path.find('.');
    const std::string here(dot == std::string_view::npos ? "" : key.path.substr(0, dot));
    const bool route = here == "route";
    if (here != section)
      fmt::print("\n{}", route ? "# the first route that matches wins; repeat as needed\n# [[route]]\n"
                               : "[" + here + "]\n");
    section = here;
    const std::string value =
        key.quoted ? fmt::format("\"{}\"", key.default_text) : std::string(key.default_text);
    std::string comment = fmt::format("{}; allowed: {}", key.description, allowed_text(key, registry));
    if (!key.variable.empty()) comment += fmt::format(" ({})", key.variable);
    print_setting(here.empty() ? key.path : key.path.substr(dot + 1), value, comment, route ? "# " : "");
  }
}

void print_section(const BackendDescription& backend) {
  fmt::print("\n# {}\n[{}]\n", clean(backend.description), backend.name);
  for (const Parameter& p : backend.parameters) {
    const bool quoted = p.kind == ParameterKind::kChoice;
    const std::string value = quoted ? fmt::format("\"{}\"", default_text(p)) : default_text(p);
    print_setting(p.name, value,
                  fmt::format("{}; allowed: {}; source: {} ({})", clean(p.description),
                              clean(allowed_text(p)), clean(p.source), variable_name(backend.name, p.name)),
                  "");
  }
}

void print_sample(const InfoOptions& options, const Registry& registry) {
  fmt::print(
      "# offramp {}: offramp.toml with every key at its default.\n# Times and sizes may have a unit: "
      "\"2.5us\", \"64K\". Environment variables override this file.\n",
      OFFRAMP_VERSION);
  if (options.backend.empty()) print_keys(registry);
  for (const BackendDescription* backend : chosen(registry, options.backend)) print_section(*backend);
}

/// The sources that the parameters of a backend cite, or all sources.
std::vector<Source> chosen_sources(const InfoOptions& options, const Registry& registry) {
  std::vector<Source> found;
  const auto backends = chosen(registry, options.backend);
  for (const Source& source : bibliography()) {
    const auto is_cited = [&source](const BackendDescription* backend) {
      return std::any_of(backend->parameters.begin(), backend->parameters.end(),
                         [&source](const Parameter& p) { return cites(p.source, source.key); });
    };
    if (options.backend.empty() || std::any_of(backends.begin(), backends.end(), is_cited))
      found.push_back(source);
  }
  return found;
}

/// Prints Markdown.
void print_sources(const std::vector<Source>& sources) {
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Source& source = sources[i];
    if (i == 0 || sources[i - 1].kind != source.kind)
      fmt::print("{}## {}\n\n| key | title | by | where |\n|---|---|---|---|\n", i == 0 ? "" : "\n",
                 to_string(source.kind));
    fmt::print("| [{}] | {} | {} | {} |\n", source.key, source.title, source.authors, source.where);
  }
}

Json describe_sources(const std::vector<Source>& sources) {
  Json all = Json::array();
  for (const Source& source : sources)
    all.push_back({{"key", source.key},
                   {"kind", to_string(source.kind)},
                   {"title", source.title},
                   {"authors", source.authors},
                   {"where", source.where}});
  return all;
}

}  // namespace

std::string default_text(const Parameter& p) {
  return value_text(p, Settings::defaults({&p, 1}));
}

namespace {

int info(const InfoOptions& options) {
  Registry registry(built_in_backends());
  ConfigSources config_sources = ConfigSources::of_process();
  config_sources.overrides = options.overrides;
  auto configuration = load_configuration(config_sources, registry);
  if (!options.backend.empty() && options.backend != "all" && registry.find(options.backend) == nullptr) {
    const auto names = registry.names();
    warn(fmt::format("unknown backend {}{}", in_quotes(options.backend), suggestion(options.backend, names)));
    return kUsage;
  }
  if (options.sources) {
    const std::vector<Source> sources = chosen_sources(options, registry);
    if (options.json) fmt::print("{}\n", describe_sources(sources).dump(2));
    if (!options.json) print_sources(sources);
    return kDone;
  }
  std::vector<std::string> problems;
  if (!configuration) problems.push_back(configuration.error());
  if (configuration) problems = configuration->notes;
  if (options.configuration) {
    print_sample(options, registry);
  } else if (options.json) {
    print_json(options, registry, configuration ? &*configuration : nullptr, problems);
  } else {
    print_text(options, registry, configuration ? &*configuration : nullptr, problems);
  }
  return kDone;
}

class InfoCommand final : public Command {
 public:
  explicit InfoCommand(CLI::App& app) : Command(app), keys_(app, kWorldKeys) {
    add_value(app, "program", program_, "FILE|PATTERN",
              "a recording, trace, or pattern to describe; without it, this installation");
    add_value(app, "--backend", options_.backend, "BACKEND",
              "list the parameters of this backend, or of all");
    CLI::Option* const sample =
        app.add_flag("-c,--configuration", options_.configuration, "print a complete offramp.toml");
    app.add_flag("--sources", options_.sources, "print the bibliography, or the entries that --backend cites")
        ->excludes(sample);
    add_json(app, options_.json)->excludes(sample);
    app.add_flag("--events", events_, "print every event of the program")->excludes(sample);
  }

  int execute(std::vector<std::string>) override {
    if (!program_.empty())
      return recording_info(program_, events_         ? RecordingView::kEvents
                                      : options_.json ? RecordingView::kJson
                                                      : RecordingView::kText);
    if (events_) return refuse("--events needs a FILE or PATTERN");
    const std::vector<std::string> backends = names_in({options_.backend});
    const std::string problem = keys_.collect(backends, options_.overrides);
    return problem.empty() ? info(options_) : refuse(problem);
  }

 private:
  KeyOptions keys_;
  InfoOptions options_;
  std::string program_;
  bool events_ = false;
};

const Registered<InfoCommand> info_command(
    {.name = "info",
     .place = 30,
     .summary = "show this installation, its settings, or the contents of a recording",
     .often = {"-h", "--backend", "--configuration", "--sources", "--events", "--set", "--config", "--json"},
     .exits = {{kDone, "success; the output lists problems of the configuration"},
               {kUsage, "the command line is wrong, or the file cannot be opened or is incomplete"}}});

}  // namespace

}  // namespace offramp::tool
