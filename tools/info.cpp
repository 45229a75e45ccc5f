// offramp info: what is here, what can be set, and a configuration to start from. Everything comes from the
// tables.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "lib/core/names.hpp"
#include "offramp/version.hpp"
#include "tools/tool.hpp"

namespace offramp::tool {
namespace {

using Json = nlohmann::ordered_json;

Json default_value(const Parameter& p) {
  if (p.kind == ParameterKind::kChoice) return p.default_choice;
  if (p.kind == ParameterKind::kBoolean) return p.default_number != 0;
  if (p.kind == ParameterKind::kInteger) return static_cast<std::int64_t>(p.default_number);
  return p.default_number;
}

/// The texts of plugins need not be UTF-8, which JSON has to be.
std::string clean(std::string_view text) {
  return printable(text, 1000);
}

Json describe(const BackendDescription& backend) {
  Json parameters = Json::array();
  for (const Parameter& p : backend.parameters) {
    parameters.push_back({{"name", p.name},
                          {"unit", clean(p.unit)},
                          {"default", default_value(p)},
                          {"allowed", clean(allowed_text(p))},
                          {"source", clean(p.source)},
                          {"description", clean(p.description)},
                          {"variable", variable_name(backend.name, p.name)}});
  }
  return {{"name", backend.name}, {"description", clean(backend.description)}, {"parameters", parameters}};
}

Json describe_keys(const Registry& registry) {
  Json keys = Json::array();
  for (const Key& key : configuration_keys()) {
    keys.push_back({{"key", key.path},
                    {"variable", key.variable},
                    {"default", key.default_text},
                    {"allowed", allowed_text(key, registry)},
                    {"description", key.description}});
  }
  return keys;
}

std::vector<const BackendDescription*> chosen(const Registry& registry, const std::string& only) {
  if (!only.empty()) return {registry.find(only)};
  return {registry.all().begin(), registry.all().end()};
}

void print_json(const InfoOptions& options, const Registry& registry, const std::string& file,
                std::vector<std::string> problems) {
  const Machine machine = look_at_machine();
  problems.insert(problems.end(), machine.problems.begin(), machine.problems.end());
  Json backends = Json::array();
  for (const BackendDescription* backend : chosen(registry, options.backend))
    backends.push_back(describe(*backend));
  const Json topology = {{"packages", machine.packages},
                         {"cores", machine.cores},
                         {"threads", machine.threads},
                         {"numa_nodes", machine.numa_nodes}};
  const Json all = {
      {"version", OFFRAMP_VERSION}, {"library", library_path()}, {"configuration", file},
      {"mpi", machine.mpi},         {"mpirun", machine.mpirun},  {"ucx", machine.ucx},
      {"topology", topology},       {"backends", backends},      {"keys", describe_keys(registry)},
      {"problems", problems}};
  fmt::print("{}\n", all.dump(2, ' ', false, Json::error_handler_t::replace));
}

void print_backend(const BackendDescription& backend) {
  fmt::print("{}: {}\n", backend.name, clean(backend.description));
  for (const Parameter& p : backend.parameters) {
    const bool bare = p.unit.empty() || p.unit == "1";
    fmt::print("  {:<24} {}{}{}\n", p.name, default_text(p), bare ? "" : " ", bare ? "" : clean(p.unit));
    fmt::print("  {:<24} {}\n", "", clean(p.description));
    fmt::print("  {:<24} allowed: {}; source: {}\n", "", clean(allowed_text(p)), clean(p.source));
  }
}

void print_machine(const Machine& machine, const std::string& file) {
  const auto line = [](std::string_view name, const std::string& value) {
    fmt::print("{:<14} {}\n", name, value.empty() ? "not found" : value);
  };
  line("offramp", OFFRAMP_VERSION);
  line("library", library_path());
  line("configuration", file.empty() ? "no file; defaults and OFFRAMP_* variables" : file);
  line("mpi", machine.mpi);
  line("mpirun", machine.mpirun);
  line("ucx", machine.ucx);
  line("machine", fmt::format("{} package(s), {} cores, {} hardware threads, {} numa node(s)",
                              machine.packages, machine.cores, machine.threads, machine.numa_nodes));
}

void print_text(const InfoOptions& options, const Registry& registry, const std::string& file,
                std::vector<std::string> problems) {
  if (options.backend.empty()) {
    const Machine machine = look_at_machine();
    problems.insert(problems.end(), machine.problems.begin(), machine.problems.end());
    print_machine(machine, file);
    fmt::print("\n");
  }
  for (const BackendDescription* backend : chosen(registry, options.backend)) print_backend(*backend);
  if (options.backend.empty() && problems.empty()) fmt::print("\nnothing is wrong here\n");
  if (!problems.empty()) fmt::print("\nwrong here:\n");
  for (const std::string& problem : problems) fmt::print("- {}\n", problem);
}

/// A line of the sample. The comment says all that the table does.
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
      "# offramp {}: offramp.toml with every key at its default.\n"
      "# Times and sizes may have a unit: \"2.5us\", \"64K\". Variables win over this file.\n",
      OFFRAMP_VERSION);
  if (options.backend.empty()) print_keys(registry);
  for (const BackendDescription* backend : chosen(registry, options.backend)) print_section(*backend);
}

}  // namespace

std::string default_text(const Parameter& p) {
  if (p.kind == ParameterKind::kChoice) return std::string(p.default_choice);
  if (p.kind == ParameterKind::kBoolean) return p.default_number != 0 ? "true" : "false";
  if (p.kind == ParameterKind::kInteger) return fmt::format("{:.0f}", p.default_number);
  return fmt::format("{}", p.default_number);
}

int info(const InfoOptions& options) {
  Registry registry(built_in_backends());
  auto configuration = load_configuration(Surroundings::of_process(), registry);
  if (!options.backend.empty() && registry.find(options.backend) == nullptr) {
    const auto names = registry.names();
    complain(
        fmt::format("unknown backend {}{}", in_quotes(options.backend), suggestion(options.backend, names)));
    return kUsage;
  }
  std::vector<std::string> problems;
  if (!configuration) problems.push_back(configuration.error());
  if (configuration) problems = configuration->notes;
  const std::string file = configuration ? configuration->file : std::string("wrong, see below");
  if (options.configuration) {
    print_sample(options, registry);
  } else if (options.json) {
    print_json(options, registry, file, problems);
  } else {
    print_text(options, registry, file, problems);
  }
  return kDone;
}

}  // namespace offramp::tool
