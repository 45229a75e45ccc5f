#include "lib/core/configuration.hpp"

#include <fmt/format.h>
#include <sys/auxv.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <type_traits>

#include "lib/core/configuration_file.hpp"
#include "lib/core/envelope.hpp"
#include "lib/core/fault_script.hpp"
#include "lib/core/names.hpp"
#include "offramp/kernel/immortal.hpp"

namespace offramp {
std::optional<CallRange> parse_calls(std::string_view text) {
  if (text == "none") return CallRange();
  CallRange calls{1, std::numeric_limits<std::uint64_t>::max()};
  if (text == "all") return calls;
  const char* const end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, calls.first);
  calls.last = calls.first;
  if (error == std::errc() && stop != end && *stop == '-') {
    const auto last = std::from_chars(stop + 1, end, calls.last);
    stop = last.ptr;
    error = last.ec;
  }
  if (error != std::errc() || stop != end || calls.first == 0 || calls.first > calls.last)
    return std::nullopt;
  return calls;
}

namespace {

using std::string;
using std::string_view;

constexpr const char* kFile = "offramp.toml";
constexpr const char* kConfigVariable = "OFFRAMP_CONFIG";
constexpr const char* kOptionsVariable = "OFFRAMP_OPTIONS";

// --- The table of keys ---

struct Target {
  Configuration& all;
  Route& route;  // of the [[route]] being read; otherwise not used
  const Registry& registry;
};

struct Row : Key {
  bool (*set)(Target& target, const RawValue& value);  // false: not allowed
  /// What of it all ranks must have alike. Null: each may have its own.
  string (*agreed)(const Configuration& configuration) = nullptr;
};

template <typename Value>
string plain(const Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    return fmt::format("{}", static_cast<int>(value));
  } else {
    return fmt::format("{}", value);
  }
}
string plain(Time time) {
  return plain(time.count());
}
string plain(const Compute& compute) {
  return fmt::format("{} {}", static_cast<int>(compute.kind), compute.factor);
}
string plain(const CallRange& calls) {
  return fmt::format("{}-{}", calls.first, calls.last);
}

/// The value of a member.
template <auto member>
string text_of(const Configuration& configuration) {
  return plain(configuration.*member);
}
template <auto member>
string text_of_fault(const Configuration& configuration) {
  return plain(configuration.faults.*member);
}

bool set_text(string& where, const RawValue& value) {
  if (value.type != RawValue::Type::kText) return false;
  where = value.text;
  return true;
}

bool set_real(double& where, const RawValue& value, double minimum, double maximum, string_view unit = "1") {
  const auto number = parse_quantity(value.text, unit);
  if (!number || *number < minimum || *number > maximum) return false;
  where = *number;
  return true;
}

template <typename Integer>
bool set_count(Integer& where, const RawValue& value, string_view unit) {
  double number = 0;
  if (!set_real(number, value, 0, std::min(0x1p53, static_cast<double>(std::numeric_limits<Integer>::max())),
                unit)) {
    return false;
  }
  where = static_cast<Integer>(number);
  return static_cast<double>(where) == number;
}

bool set_time(Time& where, const RawValue& value, double minimum_us) {
  double microseconds = 0;
  if (!set_real(microseconds, value, minimum_us, 1e9, "us")) return false;
  where = Time::ps(static_cast<std::int64_t>(microseconds * 1e6 + 0.5));
  return true;
}

bool set_seed(std::uint64_t& where, const RawValue& value) {
  const char* const end = value.text.data() + value.text.size();
  const auto [stop, error] = std::from_chars(value.text.data(), end, where);
  return error == std::errc() && stop == end;
}

bool set_calls(CallRange& where, const RawValue& value) {
  const std::optional<CallRange> calls = parse_calls(value.text);
  where = calls.value_or(CallRange());
  return calls.has_value();
}

bool set_flag(bool& where, const RawValue& value) {
  const auto flag = parse_boolean(value.text);
  if (flag) where = *flag;
  return flag.has_value();
}

bool set_clock(Clock& where, const RawValue& value) {
  if (value.text != "wall" && value.text != "model") return false;
  where = value.text == "model" ? Clock::kModel : Clock::kWall;
  return true;
}

bool set_compute(Compute& where, const RawValue& value) {
  if (value.text == "none" || value.text == "measured") {
    where = {value.text == "none" ? Compute::Kind::kNone : Compute::Kind::kMeasured, 1};
    return true;
  }
  where.kind = Compute::Kind::kFactor;
  return set_real(where.factor, value, 0x1p-40, 0x1p40);
}

bool set_reductions(Reductions& where, const RawValue& value) {
  if (value.text != "hardware" && value.text != "native") return false;
  where = value.text == "native" ? Reductions::kNative : Reductions::kHardware;
  return true;
}

bool set_operation(std::optional<OperationKind>& where, const RawValue& value) {
  where = parse_operation(value.text);
  return where.has_value() || value.text == "any";
}

bool set_backend(string& where, const RawValue& value, const Registry& registry, bool may_be_off) {
  where = value.text;
  return registry.find(value.text) != nullptr || (may_be_off && value.text == Configuration::kOff);
}

/// Names with commas between them, or "all".
bool set_compared(std::vector<string>& where, const RawValue& value, const Registry& registry) {
  where.clear();
  if (value.type != RawValue::Type::kText) return false;
  if (value.text == "all") {
    for (const string_view name : registry.names()) where.emplace_back(name);
    return true;
  }
  for (string_view rest = value.text; !rest.empty();) {
    string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (registry.find(name) == nullptr) return false;
    where.emplace_back(name);
  }
  return true;
}

constexpr string_view kBackends = "BACKENDS";  // allowed: the registry's names
constexpr string_view kOffOrBackends = "off, BACKENDS";
constexpr string_view kAPath = "a path in quotes; empty: none";

constexpr Row kRows[] = {
    {{"backend", "OFFRAMP_BACKEND", "host", true, kOffOrBackends,
      "the hardware that carries the communication"},
     [](Target& t, const RawValue& v) { return set_backend(t.all.backend, v, t.registry, true); },
     text_of<&Configuration::backend>},
    {{"compare", "OFFRAMP_COMPARE", "", true, "all, or some with commas between them: BACKENDS",
      "other hardware over which the run is simulated at its end; the host is always among them"},
     [](Target& t, const RawValue& v) { return set_compared(t.all.compared, v, t.registry); },
     [](const Configuration& c) { return fmt::format("{}", fmt::join(c.settled_backends(), ",")); }},
    {{"clock", "OFFRAMP_CLOCK", "wall", true, "wall, model",
      "what MPI_Wtime returns: the machine's time, or modelled time"},
     [](Target& t, const RawValue& v) { return set_clock(t.all.clock, v); },
     text_of<&Configuration::clock>},
    {{"compute", "OFFRAMP_COMPUTE", "none", true, "none, measured, a factor above 0",
      "how CPU time between MPI calls moves the modelled clock"},
     [](Target& t, const RawValue& v) { return set_compute(t.all.compute, v); },
     text_of<&Configuration::compute>},
    {{"reductions", "OFFRAMP_REDUCTIONS", "hardware", true, "hardware, native",
      "whose order of operands the results of reductions have: the hardware's, or the MPI library's own, bit "
      "for bit"},
     [](Target& t, const RawValue& v) { return set_reductions(t.all.reductions, v); },
     text_of<&Configuration::reductions>},
    {{"summary", "OFFRAMP_SUMMARY", "true", false, "true, false",
      "print a summary on standard error at MPI_Finalize"},
     [](Target& t, const RawValue& v) { return set_flag(t.all.summary, v); }},
    {{"report", "OFFRAMP_REPORT", "", true, kAPath, "write a report in JSON at MPI_Finalize"},
     [](Target& t, const RawValue& v) { return set_text(t.all.report, v); },
     // All ranks write the receipts into one report; otherwise only whether there is one matters.
     [](const Configuration& c) { return c.receipts.any() ? c.report : plain(c.report.empty()); }},
    {{"record", "OFFRAMP_RECORD", "", true, kAPath,
      "write what the program does, without its data, to a file for offramp replay"},
     [](Target& t, const RawValue& v) { return set_text(t.all.record, v); },
     // The ranks bring their parts together.
     [](const Configuration& c) { return plain(c.record.empty()); }},
    {{"certificate", "OFFRAMP_CERTIFICATE", "false", false, "true, false",
      "hash every call, its time and its data for the report; reads all data once more"},
     [](Target& t, const RawValue& v) { return set_flag(t.all.certificate, v); }},
    {{"details", "OFFRAMP_DETAILS", "false", false, "true, false",
      "report also how long each unit of the hardware is busy, and the critical path; costs time"},
     [](Target& t, const RawValue& v) { return set_flag(t.all.details, v); },
     text_of<&Configuration::details>},
    {{"trace", "OFFRAMP_TRACE", "", true, kAPath, "write a trace of modelled time that Perfetto opens"},
     [](Target& t, const RawValue& v) { return set_text(t.all.trace, v); },
     text_of<&Configuration::trace>},
    {{"capture", "OFFRAMP_CAPTURE", "", true, kAPath,
      "write the modelled packets as pcap, one file per rank"},
     [](Target& t, const RawValue& v) { return set_text(t.all.capture, v); }},
    {{"receipts", "OFFRAMP_RECEIPTS", "none", true, "none, all, a call (127), several (100-200)",
      "calls whose stages the report keeps, for offramp explain --call; of each rank, counted from 1"},
     [](Target& t, const RawValue& v) { return set_calls(t.all.receipts, v); },
     text_of<&Configuration::receipts>},
    {{"ranks_per_node", "OFFRAMP_RANKS_PER_NODE", "1", false, "a whole number from 1 to 1e6",
      "so many neighbouring ranks share what a node has one of"},
     [](Target& t, const RawValue& v) {
       return set_count(t.all.ranks_per_node, v, "1") && t.all.ranks_per_node >= 1 &&
              t.all.ranks_per_node <= 1'000'000;
     }},
    {{"settle_limit", "OFFRAMP_SETTLE_LIMIT", "20000000", false, "a whole number from 0",
      "events of all ranks up to which a run's modelled times come from a simulation of all ranks at "
      "MPI_Finalize; above, from the ranks' live clocks"},
     [](Target& t, const RawValue& v) { return set_count(t.all.settle_limit, v, "1"); },
     text_of<&Configuration::settle_limit>},
    {{"hang_timeout", "OFFRAMP_HANG_TIMEOUT", "0", false, "0 .. 1e9 s, or a time such as \"90s\"",
      "every rank prints what it waits for after this long without progress; 0: never", "s"},
     [](Target& t, const RawValue& v) { return set_real(t.all.hang_timeout, v, 0, 1e9, "s"); }},
    {{"plugin_path", "OFFRAMP_PLUGIN_PATH", "", true, "absolute paths separated by colons; empty: none",
      "directories of backend plugins (*.so)"},
     [](Target& t, const RawValue& v) { return set_text(t.all.plugin_path, v); }},
    {{"faults.seed", "OFFRAMP_FAULTS_SEED", "0", false, "a whole number from 0",
      "the same seed gives the same faults on every run"},
     [](Target& t, const RawValue& v) { return set_seed(t.all.faults.seed, v); },
     text_of_fault<&FaultRates::seed>},
    {{"faults.loss", "OFFRAMP_FAULTS_LOSS", "0", false, "0 .. 1", "the probability that a packet is lost"},
     [](Target& t, const RawValue& v) { return set_real(t.all.faults.loss, v, 0, 1); },
     text_of_fault<&FaultRates::loss>},
    {{"faults.duplication", "OFFRAMP_FAULTS_DUPLICATION", "0", false, "0 .. 1",
      "the probability that a packet arrives twice"},
     [](Target& t, const RawValue& v) { return set_real(t.all.faults.duplication, v, 0, 1); },
     text_of_fault<&FaultRates::duplication>},
    {{"faults.reordering", "OFFRAMP_FAULTS_REORDERING", "0", false, "0 .. 1",
      "the probability that a packet is overtaken by the next"},
     [](Target& t, const RawValue& v) { return set_real(t.all.faults.reordering, v, 0, 1); },
     text_of_fault<&FaultRates::reordering>},
    {{"faults.corruption", "OFFRAMP_FAULTS_CORRUPTION", "0", false, "0 .. 1",
      "the probability that a packet arrives damaged, and is dropped for its checksum"},
     [](Target& t, const RawValue& v) { return set_real(t.all.faults.corruption, v, 0, 1); },
     text_of_fault<&FaultRates::corruption>},
    {{"faults.delay", "OFFRAMP_FAULTS_DELAY", "0", false, "0 .. 1",
      "the probability that a packet, and what is behind it, is held up"},
     [](Target& t, const RawValue& v) { return set_real(t.all.faults.delay, v, 0, 1); },
     text_of_fault<&FaultRates::delay>},
    {{"faults.delay_time", "OFFRAMP_FAULTS_DELAY_TIME", "10", false, "0 .. 1e9 us, or a time such as \"2ms\"",
      "how long such a packet is held up", "us"},
     [](Target& t, const RawValue& v) { return set_time(t.all.faults.delay_time, v, 0); },
     text_of_fault<&FaultRates::delay_time>},
    {{"faults.outage", "OFFRAMP_FAULTS_OUTAGE", "0", false, "0 .. 1",
      "the probability that a link is down, both ways, for one outage_time"},
     [](Target& t, const RawValue& v) { return set_real(t.all.faults.outage, v, 0, 1); },
     text_of_fault<&FaultRates::outage>},
    {{"faults.outage_time", "OFFRAMP_FAULTS_OUTAGE_TIME", "100", false,
      "0.001 .. 1e9 us, or a time such as \"2ms\"", "length of an outage", "us"},
     [](Target& t, const RawValue& v) { return set_time(t.all.faults.outage_time, v, 0.001); },
     text_of_fault<&FaultRates::outage_time>},
    {{"faults.script", "OFFRAMP_FAULTS_SCRIPT", "", true, "lines such as lose 0>1 packet 3, or @ and a path",
      "faults that happen for certain: see docs/reliability.md"},
     [](Target& t, const RawValue& v) { return set_text(t.all.fault_script, v); },
     text_of<&Configuration::fault_script>},
    {{"faults.record", "OFFRAMP_FAULTS_RECORD", "", true, kAPath,
      "write every fault that happens, as a script that repeats it"},
     [](Target& t, const RawValue& v) { return set_text(t.all.fault_record, v); },
     text_of<&Configuration::fault_record>},
    {{"route.operation", "", "any", true,
      "any, send, bcast, reduce, gather, allreduce, scatter, allgather, reduce_scatter, alltoall, barrier, "
      "scan, exscan, gatherv, scatterv, allgatherv, reduce_scatterv, alltoallv",
      "the operations that this route takes"},
     [](Target& t, const RawValue& v) { return set_operation(t.route.operation, v); }},
    {{"route.min_bytes", "", "0", false, "a size in bytes, or \"64K\", \"1MiB\"", "the smallest message",
      "B"},
     [](Target& t, const RawValue& v) { return set_count(t.route.min_bytes, v, "B"); }},
    {{"route.max_bytes", "", "\"1GiB\"", false, "a size in bytes, or \"64K\", \"1MiB\"",
      "the largest message; by default any", "B"},
     [](Target& t, const RawValue& v) { return set_count(t.route.max_bytes, v, "B"); }},
    {{"route.min_ranks", "", "0", false, "a whole number", "the smallest communicator"},
     [](Target& t, const RawValue& v) { return set_count(t.route.min_ranks, v, "1"); }},
    {{"route.max_ranks", "", "1024", false, "a whole number", "the largest communicator; by default any"},
     [](Target& t, const RawValue& v) { return set_count(t.route.max_ranks, v, "1"); }},
    {{"route.backend", "", "host", true, kBackends, "the backend that carries them; required"},
     [](Target& t, const RawValue& v) { return set_backend(t.route.backend, v, t.registry, false); }},
    {{"", "OFFRAMP_CONFIG", "", false, "the path of a file", "read this file instead of ./offramp.toml"},
     nullptr},
    {{"", "OFFRAMP_OPTIONS", "", false, "VARIABLE=OPTION, with commas between them",
      "set by offramp run: which variables stand for which of its options, for the report"},
     nullptr},
};

const Row* find_row(string_view path) {
  const auto* row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.path == path; });
  return row == std::end(kRows) || path.empty() ? nullptr : row;
}

bool is_section(string_view name) {
  return name == "faults" || name == "route";
}

std::vector<string_view> words_of(string_view list) {
  std::vector<string_view> words;
  while (!list.empty()) {
    const string_view word = list.substr(0, list.find(", "));
    words.push_back(word);
    list.remove_prefix(std::min(list.size(), word.size() + 2));
  }
  return words;
}

string_view section_of(string_view path) {
  const auto dot = path.find('.');
  return dot == string_view::npos ? string_view() : path.substr(0, dot);
}

/// Settled and named by routes, each once.
std::vector<string> backends_in_use(const Configuration& configuration) {
  std::vector<string> names = configuration.settled_backends();
  for (const Route& route : configuration.routes) {
    if (std::find(names.begin(), names.end(), route.backend) == names.end()) names.push_back(route.backend);
  }
  return names;
}

/// A value of a key in the key's unit, in whatever unit it was written.
string text_in_unit(const Key& key, string_view written) {
  const auto number = key.unit.empty() ? std::nullopt : parse_quantity(written, key.unit);
  return number ? fmt::format("{} {}", *number, key.unit) : string(written);
}

string route_text(const Route& route) {
  string text = route.operation ? string(to_string(*route.operation)) : "any";
  if (route.min_bytes > 0) text += fmt::format(", from {} B", route.min_bytes);
  if (route.max_bytes < std::numeric_limits<std::size_t>::max())
    text += fmt::format(", up to {} B", route.max_bytes);
  if (route.min_ranks > 0) text += fmt::format(", from {} ranks", route.min_ranks);
  if (route.max_ranks < std::numeric_limits<int>::max())
    text += fmt::format(", up to {} ranks", route.max_ranks);
  return text + ": " + route.backend;
}

// --- All sources together ---

/// Every step returns what went wrong.
class Loader {
 public:
  Loader(const Surroundings& surroundings, Registry& registry)
      : surroundings_(surroundings), registry_(registry) {}

  Result<Configuration> load() {
    for (const auto step : {&Loader::read_configuration_file, &Loader::load_plugins, &Loader::read_variables,
                            &Loader::read_overrides, &Loader::apply_all, &Loader::check_together}) {
      if (string error = (this->*step)(); !error.empty()) return Result<Configuration>::failure(error);
    }
    return std::move(configuration_);
  }

 private:
  /// The text of a key that has to be known early.
  [[nodiscard]] RawValue early(const string& key, const string& variable) const {
    RawValue value;
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

  string read_configuration_file() {
    const RawValue chosen = early("config", kConfigVariable);
    string path = chosen.text;
    if (path.empty()) path = surroundings_.directory == "." ? kFile : surroundings_.directory + "/" + kFile;
    const FileText file = read_file(path, !chosen.text.empty());
    if (file.passable) {
      if (!file.problem.empty())
        configuration_.notes.push_back(fmt::format("{} is not used: {}", path, file.problem));
      return {};
    }
    if (!file.problem.empty()) {
      const string prefix = chosen.origin.empty() ? "" : chosen.origin + ": ";
      return fmt::format("{}cannot use {}: {}", prefix, printable(path), file.problem);
    }
    configuration_.file = path;
    return read_entries(path, file.text, entries_);
  }

  string load_plugins() {
    const RawValue path = early("plugin_path", "OFFRAMP_PLUGIN_PATH");
    if (string error = registry_.load_plugins(path.text); !error.empty()) return path.origin + ": " + error;
    for (const string_view name : registry_.names()) {
      if (find_row(name) == nullptr && !is_section(name)) continue;
      return fmt::format("{}: the backend name {} is a key of the configuration", path.origin,
                         in_quotes(name));
    }
    return {};
  }

  void add(string_view path, RawValue value) {
    const auto dot = path.find('.');
    const bool in_section = dot != string_view::npos;
    entries_.push_back({string(in_section ? path.substr(0, dot) : ""),
                        string(in_section ? path.substr(dot + 1) : path), std::move(value)});
  }

  /// Where a variable's value comes from, for messages and the report.
  [[nodiscard]] string origin_of(const string& variable) const {
    const auto options = surroundings_.environment.find(kOptionsVariable);
    if (options == surroundings_.environment.end()) return variable;
    for (string_view rest = options->second; !rest.empty();) {
      const string_view item = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), item.size() + 1));
      const string_view name = item.substr(0, item.find('='));
      if (name != variable) continue;
      if (name.size() == item.size()) return fmt::format("option, {}", variable);
      return fmt::format("option {}", printable(item.substr(name.size() + 1), 60));
    }
    return variable;
  }

  string read_variables() {
    std::map<string, string> keys = {{kConfigVariable, ""}, {kOptionsVariable, ""}};
    for (const auto& [key, variable] : variables_by_key(registry_)) keys.emplace(variable, key);
    for (const auto& [variable, text] : surroundings_.environment) {
      if (!variable.starts_with("OFFRAMP_") || variable == kConfigVariable || variable == kOptionsVariable)
        continue;
      const auto found = keys.find(variable);
      if (found == keys.end()) return unknown("environment", "variable", variable, views(keys));
      const Row* row = find_row(found->second);
      // An empty variable is as good as none, except where an empty text means something.
      if (text.empty() && (row == nullptr || !row->default_text.empty())) continue;
      add(found->second, {text, RawValue::Type::kText, origin_of(variable)});
    }
    return {};
  }

  static std::vector<string_view> views(const std::map<string, string>& map) {
    std::vector<string_view> result;
    result.reserve(map.size());
    for (const auto& [name, other] : map) result.push_back(name);
    return result;
  }

  string read_overrides() {
    const auto keys = variables_by_key(registry_);
    for (const Override& o : surroundings_.overrides) {
      if (o.key == "config") continue;
      const string key = resolved_key(o, registry_);
      if (!keys.contains(key)) {
        const string same = parameters_named(key);
        if (!same.empty())
          return fmt::format("{}: {} is a parameter of several backends; write one of {}", o.origin,
                             in_quotes(key), same);
        return unknown(o.origin, "key", key, views(keys));
      }
      add(key, {o.value, RawValue::Type::kText, o.origin});
    }
    return {};
  }

  /// "cclo.link, dpu.link": the parameters of that name; empty: there is none.
  [[nodiscard]] string parameters_named(string_view name) const {
    std::vector<string> found;
    for (const BackendDescription* backend : registry_.all()) {
      for (const Parameter& parameter : backend->parameters) {
        if (parameter.name == name) found.push_back(fmt::format("{}.{}", backend->name, name));
      }
    }
    return fmt::format("{}", fmt::join(found, ", "));
  }

  string apply_all() {
    for (const Entry& entry : entries_) {
      string error = entry.name.empty() ? open_section(entry) : apply(entry);
      if (!error.empty()) return error;
    }
    return {};
  }

  string open_section(const Entry& entry) {
    const string& name = entry.section;
    if (name == "route") {
      configuration_.routes.resize(std::max(configuration_.routes.size(), entry.route + 1));
      configuration_.routes[entry.route].origin = entry.value.origin;
      return {};
    }
    const bool known = name == "faults" || registry_.find(name) != nullptr;
    if (known && entry.in_list)
      return fmt::format("{}: there is one section {}; write [{}]", entry.value.origin, name, name);
    if (known) return {};
    if (find_row(name) != nullptr)
      return fmt::format("{}: {} is a key, not a section", entry.value.origin, name);
    return unknown(entry.value.origin, "section", name, top_names(false));
  }

  string apply(const Entry& entry) {
    const bool ours = entry.section.empty() || is_section(entry.section);
    if (!ours) {
      configuration_.sections[entry.section][entry.name] = entry.value;  // checked at the end, in one place
      return {};
    }
    const string path = entry.section.empty() ? entry.name : entry.section + "." + entry.name;
    const Row* row = entry.section.empty() && path.find('.') != string::npos ? nullptr : find_row(path);
    if (row == nullptr) return unknown_key(entry);
    Route unused;
    Route& route = entry.section == "route" ? configuration_.routes[entry.route] : unused;
    Target target{configuration_, route, registry_};
    if (row->set(target, entry.value)) {
      if (entry.section != "route") configuration_.written[path] = entry.value;
      return {};
    }
    const string allowed = allowed_text(*row, registry_);
    string message = not_allowed(entry.value, path, allowed, words_of(allowed));
    const string parameters = parameters_named(path);
    if (!parameters.empty() && closest(entry.value.text, words_of(allowed)).empty())
      message += fmt::format("; parameters of that name: {}", parameters);
    return message;
  }

  string unknown_key(const Entry& entry) const {
    const string& name = entry.name;
    if (entry.section.empty() && (is_section(name) || registry_.find(name) != nullptr)) {
      return fmt::format("{}: {} is a section; write [{}] and its keys below", entry.value.origin, name,
                         name == "route" ? "[route]" : name);
    }
    if (entry.section.empty()) return unknown(entry.value.origin, "key", name, top_names(true));
    std::vector<string_view> names;
    for (const Row& row : kRows) {
      if (section_of(row.path) == entry.section) names.push_back(row.path.substr(entry.section.size() + 1));
    }
    return unknown(entry.value.origin, fmt::format("key in [{}]", entry.section), name, names);
  }

  static string unknown(string_view origin, string_view what, string_view name,
                        const std::vector<string_view>& candidates) {
    return fmt::format("{}: unknown {} {}{}", origin, what, in_quotes(name), suggestion(name, candidates));
  }

  /// What can stand at the top of a file: sections, and keys if asked for.
  [[nodiscard]] std::vector<string_view> top_names(bool keys) const {
    std::vector<string_view> names = registry_.names();
    names.insert(names.end(), {"faults", "route"});
    for (const Row& row : kRows) {
      if (keys && !row.path.empty() && section_of(row.path).empty()) names.push_back(row.path);
    }
    return names;
  }

  string check_together() {
    for (std::size_t i = 0; i < configuration_.routes.size(); ++i) {
      const Route& route = configuration_.routes[i];
      const string& origin = route.origin;
      if (route.backend.empty()) return fmt::format("{}: this route names no backend; add backend", origin);
      if (route.min_bytes > route.max_bytes) return fmt::format("{}: min_bytes is above max_bytes", origin);
      if (route.min_ranks > route.max_ranks) return fmt::format("{}: min_ranks is above max_ranks", origin);
    }
    const FaultRates& faults = configuration_.faults;
    const double sum =
        faults.loss + faults.duplication + faults.reordering + faults.corruption + faults.delay;
    if (sum > 1)
      return fmt::format(
          "faults: loss, duplication, reordering, corruption and delay add up to {}; at most 1 is possible",
          sum);
    if (string error = read_fault_script(); !error.empty()) return error;
    for (const BackendDescription* description : registry_.all()) {
      if (auto settings = configuration_.settings_for(*description); !settings) return settings.error();
    }
    note_what_changes_nothing();
    return {};
  }

  void note_what_changes_nothing() {
    const Configuration& c = configuration_;
    if (c.off()) return;
    const std::pair<const char*, bool> kForReports[] = {
        {"details", c.details}, {"certificate", c.certificate}, {"receipts", c.receipts.any()}};
    for (const auto& [key, on] : kForReports) {
      if (on && c.report.empty())
        configuration_.notes.push_back(
            fmt::format("{} has no effect without a report; add --report FILE", key));
    }
    for (const string& name : backends_in_use(c)) {
      for (string& text : settings_without_effect(c, *registry_.find(name)))
        configuration_.notes.push_back(std::move(text));
    }
  }

  string read_fault_script() {
    string& text = configuration_.fault_script;
    if (text.empty()) return {};
    string place = "faults.script";
    if (text.starts_with('@')) {
      place = text.substr(1);
      FileText file = read_file(place, true);
      if (!file.problem.empty())
        return fmt::format("faults.script: cannot use {}: {}", printable(place), file.problem);
      text = std::move(file.text);
    }
    auto events = parse_fault_script(text);
    if (!events) return fmt::format("{}: {}", printable(place), events.error());
    configuration_.faults.script = std::make_shared<const FaultScript>(std::move(*events));
    return {};
  }

  const Surroundings& surroundings_;
  Registry& registry_;
  Configuration configuration_;
  std::vector<Entry> entries_;
};

}  // namespace

std::vector<string> Configuration::settled_backends() const {
  std::vector<string> names = {backend};
  const auto add = [&names](const string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  if (!compared.empty()) add("host");
  for (const string& name : compared) add(name);
  return names;
}

Result<Settings> Configuration::settings_for(const BackendDescription& description) const {
  const auto section = sections.find(string(description.name));
  return read_settings(description, section == sections.end() ? Section() : section->second);
}

string resolved_key(const Override& override, const Registry& registry) {
  if (override.key.find('.') != string::npos) return override.key;
  const BackendDescription* owner = nullptr;
  for (const string& name : override.backends) {
    const BackendDescription* const backend = registry.find(name);
    if (backend == nullptr || find_parameter(backend->parameters, override.key) == nullptr) continue;
    if (owner != nullptr && owner != backend) return override.key;  // which one is open
    owner = backend;
  }
  const bool general = find_row(override.key) != nullptr;
  if (owner == nullptr) {  // for the message: what the one backend has
    const bool one = override.backends.size() == 1 && registry.find(override.backends.front()) != nullptr;
    return general || !one ? override.key : override.backends.front() + "." + override.key;
  }
  const RawValue value{override.value, RawValue::Type::kText, override.origin};
  if (general && !read_settings(*owner, {{override.key, value}})) return override.key;
  return fmt::format("{}.{}", owner->name, override.key);
}

std::vector<SettingInForce> settings_in_force(const Configuration& configuration, const Registry& registry) {
  std::vector<SettingInForce> all;
  const auto add = [&all](string key, string value, const Section& written, const string& name) {
    const auto found = written.find(name);
    all.push_back(
        {std::move(key), std::move(value), found == written.end() ? "default" : found->second.origin});
  };
  for (const Row& row : kRows) {
    const string path(row.path);
    if (path.empty() || section_of(path) == "route") continue;
    const auto found = configuration.written.find(path);
    const string_view text =
        found == configuration.written.end() ? row.default_text : string_view(found->second.text);
    add(path, text_in_unit(row, text), configuration.written, path);
  }
  for (std::size_t i = 0; i < configuration.routes.size(); ++i)
    all.push_back({fmt::format("route {}", i + 1), route_text(configuration.routes[i]),
                   configuration.routes[i].origin});
  for (const string& name : backends_in_use(configuration)) {
    const BackendDescription* const backend = registry.find(name);
    if (backend == nullptr) continue;
    const Result<Settings> settings = configuration.settings_for(*backend);
    if (!settings) continue;
    const auto section = configuration.sections.find(name);
    for (const Parameter& parameter : backend->parameters)
      add(fmt::format("{}.{}", name, parameter.name), value_with_unit(parameter, *settings),
          section == configuration.sections.end() ? Section() : section->second, string(parameter.name));
  }
  return all;
}

string agreed_settings(const Configuration& configuration) {
  string text;
  for (const Row& row : kRows) {
    if (row.agreed != nullptr) text += fmt::format("{}={};", row.path, row.agreed(configuration));
  }
  for (const Route& route : configuration.routes) text += fmt::format("route={};", route_text(route));
  for (const auto& [name, section] : configuration.sections) {
    for (const auto& [key, written] : section) text += fmt::format("{}.{}={};", name, key, written.text);
  }
  return text;
}

std::vector<string> settings_without_effect(const Configuration& configuration,
                                            const BackendDescription& description) {
  std::vector<string> texts;
  const auto section = configuration.sections.find(string(description.name));
  if (description.without_effect == nullptr || section == configuration.sections.end()) return texts;
  const Result<Settings> settings = configuration.settings_for(description);
  if (!settings) return texts;
  for (const auto& [parameter, reason] : description.without_effect(*settings)) {
    const auto written = section->second.find(string(parameter));
    if (written == section->second.end()) continue;
    texts.push_back(fmt::format("{}: {}.{} = {} {}", written->second.origin, description.name, parameter,
                                written->second.text, reason));
  }
  return texts;
}

Surroundings Surroundings::of_process() {
  Surroundings surroundings;
  surroundings.privileged = getauxval(AT_SECURE) != 0;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const string_view text = *variable;
    const auto equals = text.find('=');
    if (!text.starts_with("OFFRAMP_") || equals == string_view::npos) continue;
    surroundings.environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return surroundings;
}

Result<Configuration> load_configuration(const Surroundings& surroundings, Registry& registry) {
  if (surroundings.privileged) {
    Configuration nothing;
    nothing.backend = Configuration::kOff;
    nothing.summary = false;
    return nothing;
  }
  try {
    return Loader(surroundings, registry).load();
  } catch (const std::exception& e) {
    return Result<Configuration>::failure(fmt::format("cannot read the configuration: {}", e.what()));
  }
}

std::span<const Key> configuration_keys() {
  static const auto& keys = immortal(std::vector<Key>(std::begin(kRows), std::end(kRows)));
  return keys;
}

string allowed_text(const Key& key, const Registry& registry) {
  string text(key.allowed);
  if (const auto at = text.find(kBackends); at != string::npos) {
    text.replace(at, kBackends.size(), fmt::format("{}", fmt::join(registry.names(), ", ")));
  }
  return text;
}

std::map<string, string> variables_by_key(const Registry& registry) {
  std::map<string, string> variables;
  for (const Row& row : kRows) {
    if (!row.variable.empty() && !row.path.empty()) variables.emplace(row.path, row.variable);
  }
  for (const BackendDescription* description : registry.all()) {
    for (const Parameter& parameter : description->parameters) {
      variables.emplace(fmt::format("{}.{}", description->name, parameter.name),
                        variable_name(description->name, parameter.name));
    }
  }
  return variables;
}

}  // namespace offramp
