// class Loader appends the settings of all sources, in order of priority, to one list of entries with their
// origins. apply_all() applies the list from front to back, so that the last source wins and an error names
// its origin. Two keys are needed earlier, because plugins add keys: file and plugin path (early()).
// check_together() checks conditions on several keys.
#include <fmt/format.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cmath>

#include "lib/base/configuration/configuration.hpp"
#include "lib/base/configuration/configuration_file.hpp"
#include "lib/base/configuration/configuration_keys.hpp"
#include "lib/base/configuration/fault_script.hpp"
#include "lib/base/launched_job.hpp"
#include "lib/base/text_format.hpp"
#include "simulators/world/text_fields.hpp"

namespace offramp {

namespace {

using std::string;
using std::string_view;

constexpr const char* kFile = "offramp.toml";
constexpr const char* kConfigVariable = "OFFRAMP_CONFIG";
constexpr const char* kOptionsVariable = "OFFRAMP_OPTIONS";

// Splits at ", ", as the texts of allowed values are written.
std::vector<string_view> listed(string_view list) {
  std::vector<string_view> words;
  while (!list.empty()) {
    const string_view word = list.substr(0, list.find(", "));
    words.push_back(word);
    list.remove_prefix(std::min(list.size(), word.size() + 2));
  }
  return words;
}

// One use. Collects entries from all sources, then applies them in order.
class Loader {
 public:
  Loader(const ConfigSources& config_sources, Registry& registry)
      : surroundings_(config_sources), registry_(registry) {}

  Result<Configuration> load() {
    // Each step needs the previous ones: plugins define keys, and keys define variables.
    for (const auto step : {&Loader::read_configuration_file, &Loader::load_plugins, &Loader::read_variables,
                            &Loader::read_overrides, &Loader::apply_all, &Loader::check_together}) {
      if (const Result<void> done = (this->*step)(); !done) return failure(done.error());
    }
    return std::move(configuration_);
  }

 private:
  /// The text of a key that is needed early.
  [[nodiscard]] RawValue early(const string& key, const string& variable) const {
    RawValue value;
    // Later sources win here too.
    for (const Entry& e : entries_) {
      if (e.section.empty() && e.name == key) value = e.value;
    }
    if (const auto found = surroundings_.environment.find(variable);
        found != surroundings_.environment.end()) {
      value = {found->second, RawValue::Type::kText, variable};
    }
    for (const Override& o : surroundings_.overrides) {
      if (o.key == key) value = {o.value, RawValue::Type::kText, o.origin};
    }
    return value;
  }

  Result<void> read_configuration_file() {
    const RawValue chosen = early("config", kConfigVariable);
    string path = chosen.text;
    if (path.empty()) path = surroundings_.directory == "." ? kFile : surroundings_.directory + "/" + kFile;
    const FileText file = read_file(path, !chosen.text.empty());
    if (file.passable) {
      // A file that was only found is skipped with a remark.
      if (!file.problem.empty())
        configuration_.notes.push_back(fmt::format("{} is not used: {}", path, file.problem));
      return {};
    }
    if (!file.problem.empty()) {
      const string prefix = chosen.origin.empty() ? "" : chosen.origin + ": ";
      return failure(fmt::format("{}cannot use {}: {}", prefix, printable(path), file.problem));
    }
    configuration_.file = path;
    const Result<void> read = read_entries(path, file.text, entries_);
    configuration_.file_keys = static_cast<std::size_t>(std::count_if(
        entries_.begin(), entries_.end(), [](const Entry& entry) { return !entry.name.empty(); }));
    // A named file is trusted, whatever it contains.
    return read && chosen.text.empty() ? check_found_file(entries_, surroundings_.directory) : read;
  }

  Result<void> load_plugins() {
    const RawValue path = early("plugin_path", "OFFRAMP_PLUGIN_PATH");
    if (const Result<void> done = registry_.load_plugins(path.text); !done)
      return failure(path.origin + ": " + done.error());
    for (const string_view name : registry_.names()) {
      // A plugin's section must not be taken for a general key.
      if (find_row(name) == nullptr && !is_section(name)) continue;
      return failure(
          fmt::format("{}: the backend name {} is a key of the configuration", path.origin, in_quotes(name)));
    }
    return {};
  }

  // path: as in Key.
  void add(string_view path, RawValue value) {
    const auto dot = path.find('.');
    const bool in_section = dot != string_view::npos;
    entries_.push_back({string(in_section ? path.substr(0, dot) : ""),
                        string(in_section ? path.substr(dot + 1) : path), std::move(value)});
  }

  /// The origin of a variable's value, for messages and the report.
  [[nodiscard]] string origin_of(const string& variable) const {
    // offramp run passes its options as variables, and names the options here.
    const auto options = surroundings_.environment.find(kOptionsVariable);
    if (options == surroundings_.environment.end()) return variable;
    for (const string_view item : split(options->second, ',')) {
      const string_view name = item.substr(0, item.find('='));
      if (name != variable) continue;
      if (name.size() == item.size()) return fmt::format("option, {}", variable);
      return fmt::format("option {}", printable(item.substr(name.size() + 1), 60));
    }
    return variable;
  }

  Result<void> read_variables() {
    std::map<string, string> keys = {{kConfigVariable, ""}, {kOptionsVariable, ""}, {kCarriedVariable, ""}};
    for (const auto& [key, variable] : variables_by_key(registry_)) keys.emplace(variable, key);
    for (const auto& [variable, text] : surroundings_.environment) {
      const auto found = keys.find(variable);
      if (!variable.starts_with("OFFRAMP_") || (found != keys.end() && found->second.empty())) continue;
      // A misspelled variable would be ignored silently otherwise.
      if (found == keys.end()) return unknown("environment", "variable", variable, views(keys));
      const Row* row = find_row(found->second);
      // An empty variable counts as not set, unless an empty text is meaningful.
      if (text.empty() && (row == nullptr || !row->default_text.empty())) continue;
      string origin = origin_of(variable);
      if (origin == variable) configuration_.variables.push_back(variable);
      add(found->second, {text, RawValue::Type::kText, std::move(origin)});
    }
    return {};
  }

  // The names refer to the map.
  static std::vector<string_view> views(const std::map<string, string>& map) {
    std::vector<string_view> result;
    result.reserve(map.size());
    for (const auto& [name, other] : map) result.push_back(name);
    return result;
  }

  /// The selected backends, and the host, which carries what they decline.
  [[nodiscard]] std::vector<string> names_in_use() const {
    std::vector<string> names;
    for (const auto& [key, variable] :
         {std::pair("backend", "OFFRAMP_BACKEND"), {"compare", "OFFRAMP_COMPARE"}}) {
      const string text = early(key, variable).text;
      for (const string_view name : split(text, ',')) {
        if (registry_.find(name) != nullptr) names.emplace_back(name);
      }
    }
    names.emplace_back(baseline_name());
    return names;
  }

  Result<void> read_overrides() {
    const auto keys = variables_by_key(registry_);
    for (const Override& o : surroundings_.overrides) {
      // Already used by read_configuration_file().
      if (o.key == "config") continue;
      if (o.key == "route") {
        if (const Result<void> done = add_route(o); !done) return done;
        continue;
      }
      for (const string& key : resolved_keys(o, registry_, names_in_use())) {
        if (!keys.contains(key)) {
          const string same = parameters_named(key);
          if (!same.empty())
            return failure(
                fmt::format("{}: {} is a parameter of other backends than the chosen ones; write {}",
                            o.origin, in_quotes(key), same));
          return unknown(o.origin, "key", key, views(keys));
        }
        add(key, {o.value, RawValue::Type::kText, o.origin});
      }
    }
    return {};
  }

  // Routes of the command line are numbered after these.
  [[nodiscard]] std::size_t routes_of_file() const {
    std::size_t count = 0;
    for (const Entry& entry : entries_) {
      if (entry.section == "route" && entry.line > 0) count = std::max(count, entry.route + 1);
    }
    return count;
  }

  /// OPERATION[:[MIN]-[MAX]]=BACKEND
  Result<void> add_route(const Override& override) {
    const string& text = override.value;
    // From the end: names of backends have no "=".
    const auto equals = text.rfind('=');
    const auto colon = text.find(':');
    const auto dash = colon == string::npos ? string::npos : text.find('-', colon);
    if (equals == string::npos || equals == 0 ||
        (colon != string::npos && (dash == string::npos || dash > equals)))
      return failure(fmt::format("{} {} is not OPERATION=BACKEND or OPERATION:MIN-MAX=BACKEND",
                                 override.origin, in_quotes(text)));
    const std::size_t number = routes_of_file() + routes_given_++;
    const auto add_key = [&](const char* key, const string& value) {
      if (value.empty() && *key != '\0') return;
      entries_.push_back({"route", key, {value, RawValue::Type::kText, override.origin}, number});
    };
    add_key("", {});  // heading
    add_key("operation", text.substr(0, std::min(colon, equals)));
    if (colon != string::npos) {
      add_key("min_bytes", text.substr(colon + 1, dash - colon - 1));
      add_key("max_bytes", text.substr(dash + 1, equals - dash - 1));
    }
    add_key("backend", text.substr(equals + 1));
    return {};
  }

  /// All parameters of that name: "cclo.link, dpu.link". May be empty.
  [[nodiscard]] string parameters_named(string_view name) const {
    std::vector<string> found;
    for (const BackendDescription* backend : registry_.all()) {
      for (const Parameter& parameter : backend->parameters) {
        if (parameter.name == name) found.push_back(fmt::format("{}.{}", backend->name, name));
      }
    }
    return fmt::format("{}", fmt::join(found, ", "));
  }

  Result<void> apply_all() {
    for (const Entry& entry : entries_) {
      if (const Result<void> done = entry.name.empty() ? open_section(entry) : apply(entry); !done)
        return done;
    }
    // Routes of the command line have priority.
    auto& routes = configuration_.routes;
    // The first match wins, so they move to the front.
    std::rotate(routes.begin(), routes.end() - static_cast<std::ptrdiff_t>(routes_given_), routes.end());
    return apply_factors();
  }

  /// Applies factors such as "x0.5" to the parameters' other values.
  Result<void> apply_factors() {
    for (const auto& [name, factors] : factors_) {
      const BackendDescription* const backend = registry_.find(name);
      if (backend == nullptr) continue;
      Section& section = configuration_.sections[name];
      const Result<Settings> settings = read_settings(*backend, section);
      if (!settings) continue;  // reported after everything is read
      for (const auto& [key, raw] : factors) {
        const Parameter& parameter = *find_parameter(backend->parameters, key);
        const double usual = value_in_force(*backend, *settings, parameter);
        // Zero often means "derived from another value", which has no half.
        if (usual == 0)
          return failure(
              fmt::format("{}: {}.{} is 0, which cannot be multiplied; write a value instead of {}",
                          raw.origin, name, key, raw.text));
        double value = usual * *factor_of(raw);
        if (parameter.kind == ParameterKind::kInteger) value = std::round(value);
        if (value == 0)
          return failure(fmt::format(
              "{}: {} of {}.{} ({:g}) is 0, which may have a special meaning; write 0 if it is intended",
              raw.origin, raw.text, name, key, usual));
        section[key] = {fmt::format("{}", value), raw.type, raw.origin};
        if (const Result<void> done = check_in_force(*backend, section, parameter, raw, value); !done)
          return done;
      }
    }
    return {};
  }

  /// Refuses a value that is too small to have an effect, so that another value is in force. Invalid values
  /// are reported later, together.
  static Result<void> check_in_force(const BackendDescription& backend, const Section& section,
                                     const Parameter& parameter, const RawValue& raw, double value) {
    constexpr double kRounding = 0.01;  // of a picosecond, a bit per second
    const Result<Settings> settings = read_settings(backend, section);
    if (!settings) return {};
    const double now = value_in_force(backend, *settings, parameter);
    if (std::abs(now - value) <= kRounding * std::abs(value)) return {};
    return failure(
        fmt::format("{}: {} of {}.{} is {:g}, which is too small: the value in force would be {:g}",
                    raw.origin, raw.text, backend.name, parameter.name, value, now));
  }

  // nullopt if the value is no factor.
  static std::optional<double> factor_of(const RawValue& raw) {
    const auto factor = raw.text.starts_with('x') ? parse_quantity(raw.text.substr(1), "") : std::nullopt;
    return factor && *factor >= 0 ? factor : std::nullopt;
  }
  [[nodiscard]] bool is_factor(const Entry& entry) const {
    const BackendDescription* const backend = registry_.find(entry.section);
    const Parameter* const parameter =
        backend == nullptr ? nullptr : find_parameter(backend->parameters, entry.name);
    return parameter != nullptr && is_number(*parameter) && factor_of(entry.value);
  }

  Result<void> open_section(const Entry& entry) {
    const string& name = entry.section;
    if (name == "route") {
      // Routes come in any order of their numbers.
      configuration_.routes.resize(std::max(configuration_.routes.size(), entry.route + 1));
      configuration_.routes[entry.route].origin = entry.value.origin;
      return {};
    }
    const bool known = is_section(name) || registry_.find(name) != nullptr;
    if (known && entry.in_list)
      return failure(
          fmt::format("{}: there is only one section {}; write [{}]", entry.value.origin, name, name));
    if (known) return {};
    if (find_row(name) != nullptr)
      return failure(fmt::format("{}: {} is a key, not a section", entry.value.origin, name));
    return unknown(entry.value.origin, "section", name, top_names(false));
  }

  Result<void> apply(const Entry& entry) {
    const bool ours = entry.section.empty() || is_section(entry.section);
    if (!ours) {
      if (is_factor(entry)) {
        factors_[entry.section][entry.name] = entry.value;
        return {};
      }
      if (const auto before = factors_.find(entry.section); before != factors_.end())
        // A later value replaces an earlier factor.
        before->second.erase(entry.name);
      configuration_.sections[entry.section][entry.name] = entry.value;  // checked at the end, together
      return {};
    }
    const string path = entry.section.empty() ? entry.name : entry.section + "." + entry.name;
    const Row* row = entry.section.empty() && path.find('.') != string::npos ? nullptr : find_row(path);
    if (row == nullptr) return unknown_key(entry);
    // Keys outside of routes do not touch it.
    Route unused;
    Route& route = entry.section == "route" ? configuration_.routes[entry.route] : unused;
    Target target{configuration_, route, registry_};
    if (row->set(target, entry.value)) {
      if (entry.section != "route") configuration_.written[path] = entry.value;
      return {};
    }
    if (const string why = row->why == nullptr ? string() : row->why(entry.value.text); !why.empty())
      return failure(entry.value.origin.starts_with("--")
                         ? fmt::format("{}: {}", entry.value.origin, printable(why))
                         : fmt::format("{}: {}: {}", entry.value.origin, path, printable(why)));
    const string allowed = allowed_text(*row, registry_);
    string message = not_allowed(entry.value, path, allowed, listed(allowed));
    const string parameters = parameters_named(path);
    // The value may be meant for a parameter of that name.
    if (!parameters.empty() && closest(entry.value.text, listed(allowed)).empty())
      message += fmt::format("; parameters of that name: {}", parameters);
    return failure(message);
  }

  Failure unknown_key(const Entry& entry) const {
    const string& name = entry.name;
    if (entry.section.empty() && (is_section(name) || registry_.find(name) != nullptr)) {
      return failure(fmt::format("{}: {} is a section; write [{}] and its keys below", entry.value.origin,
                                 name, name == "route" ? "[route]" : name));
    }
    if (entry.section.empty()) return unknown(entry.value.origin, "key", name, top_names(true));
    std::vector<string_view> names;
    for (const Row& row : configuration_rows()) {
      if (section_of(row.path) == entry.section) names.push_back(row.path.substr(entry.section.size() + 1));
    }
    return unknown(entry.value.origin, fmt::format("key in [{}]", entry.section), name, names);
  }

  static Failure unknown(string_view origin, string_view what, string_view name,
                         const std::vector<string_view>& candidates) {
    return failure(
        fmt::format("{}: unknown {} {}{}", origin, what, in_quotes(name), suggestion(name, candidates)));
  }

  /// Names at the top level of a file: sections and, if requested, all keys.
  [[nodiscard]] std::vector<string_view> top_names(bool keys) const {
    std::vector<string_view> names = registry_.names();
    names.insert(names.end(), {"faults", "machine", "network", "route", "stragglers"});
    for (const Row& row : configuration_rows()) {
      if (keys && !row.path.empty()) names.push_back(row.path);
    }
    return names;
  }

  // Conditions that no single value shows, after the last source.
  Result<void> check_together() {
    for (std::size_t i = 0; i < configuration_.routes.size(); ++i) {
      const Route& route = configuration_.routes[i];
      const string& origin = route.origin;
      if (route.backend.empty())
        return failure(fmt::format("{}: this route lacks a backend; add backend", origin));
      if (route.min_bytes > route.max_bytes)
        return failure(fmt::format("{}: min_bytes is above max_bytes", origin));
      if (route.min_ranks > route.max_ranks)
        return failure(fmt::format("{}: min_ranks is above max_ranks", origin));
    }
    const FaultRates& faults = configuration_.faults;
    const double sum =
        faults.loss + faults.duplication + faults.reordering + faults.corruption + faults.delay;
    // A packet has one fault at most, drawn from these shares.
    if (sum > 1)
      return failure(fmt::format(
          "faults: loss, duplication, reordering, corruption, and delay add up to {}; the maximum is 1",
          sum));
    if (const Result<void> done = read_fault_script(); !done) return done;
    if (const Result<void> done = read_platform(); !done) return done;
    // All backends, not only those in use: a wrong value is a mistake in any case.
    for (const BackendDescription* description : registry_.all()) {
      if (auto settings = configuration_.settings_for(*description); !settings)
        return failure(settings.error());
    }
    note_what_changes_nothing();
    return {};
  }

  void note_what_changes_nothing() {
    const Configuration& c = configuration_;
    // Without modelled times, nearly everything is without effect.
    if (c.off()) return;
    const std::pair<const char*, bool> kForReports[] = {
        {"details", c.details && !c.summary}, {"certificate", c.certificate}, {"receipts", c.receipts.any()}};
    for (const auto& [key, on] : kForReports) {
      if (on && c.report.empty())
        configuration_.notes.push_back(
            fmt::format("{} has no effect without a report; add --report FILE", key));
    }
    for (string& text : settings_without_effect(c)) configuration_.notes.push_back(std::move(text));
    for (const string& name : c.backends_in_use()) {
      for (string& text : settings_without_effect(c, *registry_.find(name)))
        configuration_.notes.push_back(std::move(text));
    }
    for (string& text : settings_of_others(c, c.settled_backends()))
      configuration_.notes.push_back(std::move(text));
  }

  Result<void> read_platform() {
    NetworkOptions& network = configuration_.network;
    if (!is_platform_file(network.topology)) return {};
    const FileText file = read_file(network.topology, true, Platform::kLargestFile);
    if (!file.problem.empty())
      return failure(
          fmt::format("network.topology: cannot read {}: {}", printable(network.topology), file.problem));
    auto platform = Platform::read(file.text, network.topology);
    if (!platform) return failure(fmt::format("network.topology: {}", printable(platform.error(), 1000)));
    network.platform = std::move(*platform);
    return {};
  }

  Result<void> read_fault_script() {
    string& text = configuration_.fault_script;
    if (text.empty()) return {};
    string place = "faults.script";
    // The script is in a file.
    if (text.starts_with('@')) {
      place = text.substr(1);
      FileText file = read_file(place, true);
      if (!file.problem.empty())
        return failure(fmt::format("faults.script: cannot use {}: {}", printable(place), file.problem));
      text = std::move(file.text);
    }
    auto events = parse_fault_script(text);
    if (!events) return failure(fmt::format("{}: {}", printable(place), events.error()));
    configuration_.faults.script = std::make_shared<const FaultScript>(std::move(*events));
    return {};
  }

  const ConfigSources& surroundings_;
  Registry& registry_;
  Configuration configuration_;
  std::vector<Entry> entries_;
  std::size_t routes_given_ = 0;       // routes of the command line
  std::map<string, Section> factors_;  // values such as "x0.5", by backend
};

}  // namespace

/// The rate of a link, by the name that each backend in use has for it.
static std::vector<string> link_keys(const Registry& registry, const std::vector<string>& in_use) {
  std::vector<string> keys;
  for (const BackendDescription* const backend : registry.all()) {
    const bool is_host = is_baseline(backend->name);
    const bool is_used = is_host || std::ranges::any_of(in_use, [&](const string& name) {
                           return name == "all" || name == backend->name;
                         });
    const string_view name = is_host ? "bandwidth" : "link";
    const Parameter* const link = find_parameter(backend->parameters, name);
    if (is_used && link != nullptr && link->unit == "Gb/s")
      keys.push_back(fmt::format("{}.{}", backend->name, name));
  }
  return keys;
}

std::vector<string> resolved_keys(const Override& override, const Registry& registry,
                                  const std::vector<string>& in_use) {
  if (override.key.find('.') != string::npos) return {override.key};
  // Short names of the machine's keys, for the command line.
  if (string whole = "machine." + override.key; find_row(whole) != nullptr) return {whole};
  if (override.key == "link_rate")
    return link_keys(registry, override.backends.empty() ? in_use : override.backends);
  const bool general = find_row(override.key) != nullptr;
  const bool named = !override.backends.empty();
  if (general && !named) return {override.key};
  std::vector<string> names = named ? override.backends : in_use;
  if (std::find(names.begin(), names.end(), "all") != names.end()) {
    const std::vector<string_view> every = registry.names();
    names.assign(every.begin(), every.end());
  }
  std::vector<const BackendDescription*> owners;
  for (const string& name : names) {
    const BackendDescription* const backend = registry.find(name);
    if (backend == nullptr || find_parameter(backend->parameters, override.key) == nullptr) continue;
    if (std::find(owners.begin(), owners.end(), backend) == owners.end()) owners.push_back(backend);
  }
  if (owners.empty()) {  // for the message: the key of the only backend
    const bool one = named && names.size() == 1 && registry.find(names.front()) != nullptr;
    return {general || !one ? override.key : names.front() + "." + override.key};
  }
  const RawValue value{override.value, RawValue::Type::kText, override.origin};
  // An invalid value for the parameter may be valid for the general key.
  if (general && (owners.size() > 1 || !read_settings(*owners.front(), {{override.key, value}})))
    return {override.key};
  std::vector<string> keys;
  keys.reserve(owners.size());
  for (const BackendDescription* owner : owners)
    keys.push_back(fmt::format("{}.{}", owner->name, override.key));
  return keys;
}

ConfigSources ConfigSources::of_process() {
  ConfigSources config_sources;
  // Set by the kernel for setuid and setgid programs, and for file capabilities.
  config_sources.privileged = getauxval(AT_SECURE) != 0;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const string_view text = *variable;
    const auto equals = text.find('=');
    if (!text.starts_with("OFFRAMP_") || equals == string_view::npos) continue;
    config_sources.environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return config_sources;
}

Result<Configuration> load_configuration(const ConfigSources& config_sources, Registry& registry) {
  // The environment belongs to a user with fewer rights than the program.
  if (config_sources.privileged) {
    Configuration nothing;
    nothing.backend = Configuration::kOff;
    nothing.summary = false;
    return nothing;
  }
  try {
    return Loader(config_sources, registry).load();
    // No exception may leave MPI_Init.
  } catch (const std::exception& e) {
    return failure(fmt::format("cannot read the configuration: {}", e.what()));
  }
}

}  // namespace offramp
