// The search for each answer, in the order of the interface. Influences are found by replaying with one
// parameter at half and at twice its value, for those whose source leaves them open (assumed, inferred,
// fitted) and those that every side has in some form; a mix by trying, kind by kind and size class by size
// class, each backend on top of the best mix so far; algorithms by forecasts of the host's most frequent
// collectives. Everything is bounded: by the constants below and by may_go_on().
#include "lib/answers/advice/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "lib/answers/replay/forecast.hpp"
#include "lib/answers/replay/free_communication.hpp"
#include "lib/base/text_format.hpp"

namespace offramp {
namespace {

using recording::Event;
using recording::EventKind;

/// A mix has to gain so much.
constexpr double kWorthwhile = 0.995;
/// Classes of sizes, among which a mix may change hardware: what is small, and what bandwidth decides.
struct SizeClass {
  std::size_t from;
  std::size_t to;
};
constexpr std::size_t kAnySize = std::numeric_limits<std::size_t>::max();
constexpr SizeClass kSizes[] = {{0, 1024}, {1025, 65536}, {65537, kAnySize}};
constexpr std::size_t kMostTraffic = 4096;  // kinds, sizes and communicators that are told apart
constexpr std::size_t kMostForecasts = 64;  // of the host's collectives, those that are called most
constexpr int kLargestForecast = 1024;      // ranks
constexpr std::size_t kInfluences = 5;

/// What every side of a comparison has in one form or another, wherever its value comes from.
bool is_shared(std::string_view parameter) {
  constexpr std::string_view kShared[] = {"latency", "bandwidth", "link", "overhead", "clock", "pcie"};
  return std::find(std::begin(kShared), std::end(kShared), parameter) != std::end(kShared);
}

std::optional<OperationKind> kind_of(const Event& event) {
  if (event.kind == EventKind::kSend) return OperationKind::kSend;
  if (event.kind == EventKind::kCollective) return event.operation;
  return std::nullopt;
}

/// call: the name of the function. Where threads record, blocking calls have a begin and an end, too: only
/// the name tells.
Operation operation_of(const Event& event, int ranks, std::string_view call) {
  Operation operation;
  operation.kind = *kind_of(event);
  operation.element = event.element;
  operation.function = event.function;
  operation.commutative = (event.flags & recording::kNotCommutative) == 0;
  operation.bytes = event.bytes;
  operation.elements = reduces(operation.kind) ? event.extra : 0;
  operation.ranks = ranks;
  operation.root = event.peer;
  operation.nonblocking = call.starts_with("MPI_I") || call.starts_with("MPI_Start");
  return operation;
}

}  // namespace

std::string why_not_carried(std::string_view backend, const Counters& counters) {
  const CarriedTime carried{counters.times};
  if (carried.carries_program()) return {};
  struct Decline {
    std::uint64_t count;
    std::string reason;
  };
  std::vector<Decline> declines;
  for (const auto& [what, count] : counters.declines) declines.push_back({count, printable(what.second)});
  return not_carried_text(backend, carried, declines);
}

bool is_open(std::string_view source) {
  return source.find("assumed") != std::string_view::npos ||
         source.find("fitted") != std::string_view::npos || source.find("inferred") != std::string_view::npos;
}

double Influence::span(double now) const {
  return std::max(std::abs(std::log(at_half / now)), std::abs(std::log(at_twice / now)));
}

bool Influence::turns_round(double now) const {
  return (now < 1) != (at_half < 1) || (now < 1) != (at_twice < 1);
}

namespace {

std::optional<ModelError> computed_error(const BackendDescription& backend) {
  if (backend.validation == nullptr) return std::nullopt;
  std::vector<double> errors;
  for (const ValidationRow& row : backend.validation()) {
    if (!row.fitted && row.bound.empty() && row.published != 0)
      errors.push_back(std::abs(row.ours / row.published - 1));
  }
  if (errors.empty()) return std::nullopt;
  std::sort(errors.begin(), errors.end());
  return ModelError{errors[errors.size() / 2], errors[(errors.size() * 9 - 1) / 10], errors.back(),
                    errors.size()};
}

}  // namespace

std::optional<ModelError> model_error(const BackendDescription& backend) {
  // None depends on settings.
  static std::map<const BackendDescription*, std::optional<ModelError>> known;
  const auto [place, is_new] = known.try_emplace(&backend);
  if (is_new) place->second = computed_error(backend);
  return place->second;
}

Advisor::Advisor(const Configuration& configuration, const Registry& registry, ReplaySource source,
                 Options options)
    : configuration_(configuration),
      registry_(registry),
      source_(std::move(source)),
      options_(std::move(options)) {
  ReplayOptions& replay = options_.replay;
  replay.details = replay.sizes = replay.certificate = false;
  replay.observer = nullptr;
  replay.clock_reads = nullptr;
  replay.progress = [this](const ReplayProgress&) {
    return Clock::now() < options_.until && (options_.progress == nullptr || options_.progress(""));
  };
}

bool Advisor::may_go_on(const std::string& what) {
  const bool go_on =
      Clock::now() < options_.until && (options_.progress == nullptr || options_.progress(what));
  cut_short_ = cut_short_ || !go_on;
  return go_on;
}

const Candidate* Advisor::host() const {
  const auto found = std::find_if(candidates_.begin(), candidates_.end(), [](const Candidate& one) {
    return one.backend->name == "host" && one.refused.empty();
  });
  return found == candidates_.end() ? nullptr : &*found;
}

const Candidate* Advisor::best_hardware() const {
  const auto found = std::find_if(candidates_.begin(), candidates_.end(), [](const Candidate& one) {
    return one.backend->name != "host" && one.counts();
  });
  return found == candidates_.end() ? nullptr : &*found;
}

Result<WorldSetting> Advisor::setting_of(const BackendDescription& backend) const {
  return world_setting(configuration_, registry_, backend, source_.ranks);
}

std::optional<Time> Advisor::end_of(const WorldSetting& setting) {
  if (has_computing_) {
    const auto run = replay_with_computing(setting, source_, options_.replay);
    return run ? std::optional(run->modelled_time) : std::nullopt;
  }
  Result<ReplayResult> result = replay(setting, source_, options_.replay);
  return result && !result->stopped ? std::optional(result->modelled_time) : std::nullopt;
}

std::optional<Time> Advisor::end_of(const Configuration& configuration, const BackendDescription& backend) {
  const Result<WorldSetting> setting = world_setting(configuration, registry_, backend, source_.ranks);
  return setting ? end_of(*setting) : std::nullopt;
}

void Advisor::rank_backends() {
  WholeRuns runs;
  for (const BackendDescription* backend : options_.backends) {
    if (!may_go_on(fmt::format("{}: the program", backend->name))) break;
    Candidate candidate;
    candidate.backend = backend;
    const Result<WorldSetting> setting = setting_of(*backend);
    ReplayOptions whole = options_.replay;
    whole.sizes = true;  // for the report
    Result<ReplayResult> result =
        setting ? replay(*setting, source_, whole) : Result<ReplayResult>::failure(setting.error());
    if (result && result->stopped) {
      cut_short_ = true;
      break;
    }
    if (!result) {
      candidate.refused = result.error();
    } else {
      candidate.result = std::move(*result);
      const Counters counters = candidate.result.total();
      candidate.carried = CarriedTime{counters.times};
      candidate.why_not = why_not_carried(backend->name, counters);
      candidate.run = runs.of(*setting, source_, options_.replay, candidate.result);
    }
    candidates_.push_back(std::move(candidate));
  }
  program_ = runs.program();
  has_computing_ = program_.has_value();
  std::stable_sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
    return std::tuple(!a.counts(), a.counts() ? a.end() : Time()) <
           std::tuple(!b.counts(), b.counts() ? b.end() : Time());
  });
  const Candidate* const best = best_hardware();
  if (host() == nullptr || best == nullptr) return;  // nothing is compared
  find_error(*host()->backend);
  find_error(*best->backend);
}

void Advisor::find_error(const BackendDescription& backend) {
  FoundError& error = errors_[&backend];
  if (error.found || !may_go_on(fmt::format("{}: its published figures", backend.name))) return;
  error = {true, model_error(backend)};
}

FoundError Advisor::error_of(const BackendDescription& backend) const {
  const auto found = errors_.find(&backend);
  return found == errors_.end() ? FoundError() : found->second;
}

/// The ratio with so many times a parameter's value, as far as it may be so; nothing: there is no such value,
/// or no result. A parameter of the host is one of what the hardware declines, too.
std::optional<double> Advisor::ratio_with(const WorldSetting& best, const WorldSetting& host,
                                          const Parameter& parameter, bool of_host, double factor) {
  const BackendDescription& backend = of_host ? host.backend : best.backend;
  const double value = value_in_force(backend, of_host ? host.settings : best.settings, parameter);
  double other = std::clamp(value * factor, parameter.minimum, parameter.maximum);
  if (parameter.kind == ParameterKind::kInteger) other = std::round(other);
  WorldSetting hardware = best;
  WorldSetting plain = host;
  const Settings::Value wanted{other, {}};
  if (of_host) {
    plain.settings.set(parameter.name, wanted);
    plain.host_settings->set(parameter.name, wanted);
    hardware.host_settings->set(parameter.name, wanted);
  } else {
    hardware.settings.set(parameter.name, wanted);
  }
  const std::optional<Time> end = end_of(hardware);
  const std::optional<Time> base = of_host ? end_of(plain) : std::optional(this->host()->end());
  return end && base ? std::optional(end->seconds() / base->seconds()) : std::nullopt;
}

void Advisor::find_influences() {
  const Candidate* const best = best_hardware();
  const Candidate* const base = host();
  if (best == nullptr || base == nullptr) return;
  const double now = best->end().seconds() / base->end().seconds();
  Result<WorldSetting> best_setting = setting_of(*best->backend);
  Result<WorldSetting> host_setting = setting_of(*base->backend);
  if (!best_setting || !host_setting) return;
  for (const bool of_host : {false, true}) {
    const BackendDescription& backend = of_host ? *base->backend : *best->backend;
    const Settings& settings = of_host ? host_setting->settings : best_setting->settings;
    for (const Parameter& parameter : backend.parameters) {
      if (!is_number(parameter) || (!is_open(parameter.source) && !is_shared(parameter.name))) continue;
      const double value = value_in_force(backend, settings, parameter);
      const auto allowed = [&](double one) { return std::clamp(one, parameter.minimum, parameter.maximum); };
      if (value <= 0 || allowed(value / 2) == allowed(value * 2)) continue;
      const std::string key = fmt::format("{}.{}", backend.name, parameter.name);
      if (!may_go_on(key)) return;
      const auto at = [&](double factor) {
        return ratio_with(*best_setting, *host_setting, parameter, of_host, factor);
      };
      const auto at_half = at(0.5);
      const auto at_twice = at(2);
      if (!at_half || !at_twice) continue;
      ++tried_;
      influences_.push_back(
          {key, fmt::format("{:.6g}{}{}", value, parameter.unit.empty() ? "" : " ", parameter.unit),
           std::string(parameter.source), *at_half, *at_twice});
      std::stable_sort(influences_.begin(), influences_.end(),
                       [now](const Influence& a, const Influence& b) { return a.span(now) > b.span(now); });
      if (influences_.size() > kInfluences) influences_.pop_back();
    }
  }
  for (Influence& one : influences_) {
    const std::string_view name = std::string_view(one.key).substr(one.key.find('.') + 1);
    const bool of_host = one.key.starts_with("host.");
    const auto& table = of_host ? base->backend->parameters : best->backend->parameters;
    if (!may_go_on(one.key + ", 10 %")) return;
    one.at_less = ratio_with(*best_setting, *host_setting, *find_parameter(table, name), of_host, 0.9);
    one.at_more = ratio_with(*best_setting, *host_setting, *find_parameter(table, name), of_host, 1.1);
  }
}

void Advisor::read_traffic_of(int rank) {
  const std::unique_ptr<recording::Reader> reader = source_.read(rank);
  std::vector<int> communicators = {source_.ranks, 1};
  const auto key_of = [](const Operation& one) {
    return std::tuple(one.kind, one.ranks, one.bytes, one.nonblocking);
  };
  std::map<decltype(key_of(Operation())), std::size_t> known;
  for (std::size_t i = 0; i < traffic_.size(); ++i) known.emplace(key_of(traffic_[i].operation), i);
  for (Event event; reader->next(event);) {
    if (event.kind == EventKind::kCommunicator)
      communicators.push_back(static_cast<int>(reader->list(event.list).size()));
    if (!kind_of(event) || event.communicator >= communicators.size()) continue;
    const Operation operation =
        operation_of(event, communicators[event.communicator], reader->call(event.call));
    const auto [found, is_new] = known.emplace(key_of(operation), traffic_.size());
    if (is_new && traffic_.size() == kMostTraffic) {
      known.erase(found);
      continue;
    }
    if (is_new) traffic_.push_back({0, operation});
    ++traffic_[found->second].calls;
  }
}

void Advisor::read_traffic() {
  if (std::exchange(traffic_is_read_, true)) return;
  for (int rank = 0; rank < source_.ranks; ++rank) read_traffic_of(rank);
  std::stable_sort(traffic_.begin(), traffic_.end(),
                   [](const Traffic& a, const Traffic& b) { return a.calls > b.calls; });
}

namespace {

Route route_of(OperationKind kind, const SizeClass& sizes, std::string backend) {
  Route route;
  route.operation = kind;
  route.min_bytes = sizes.from;
  route.max_bytes = sizes.to;
  route.backend = std::move(backend);
  route.origin = "advice";
  return route;
}

/// The same in as few routes as it takes, none of them to what carries the rest anyway.
std::vector<Route> fewest_routes(const Mix& mix, const std::vector<OperationKind>& kinds) {
  std::vector<Route> routes;
  for (const OperationKind kind : kinds) {
    const std::size_t first = routes.size();
    for (const SizeClass& sizes : kSizes) {
      const auto found = std::find_if(mix.routes.begin(), mix.routes.end(), [&](const Route& route) {
        return route.operation == kind && route.min_bytes <= sizes.from && route.max_bytes >= sizes.to;
      });
      if (found == mix.routes.end() || found->backend == mix.backend) continue;
      const bool goes_on = routes.size() > first && routes.back().backend == found->backend &&
                           routes.back().max_bytes + 1 == sizes.from;
      if (goes_on) {
        routes.back().max_bytes = sizes.to;
      } else {
        routes.push_back(route_of(kind, sizes, found->backend));
      }
    }
  }
  return routes;
}

}  // namespace

/// One kind of operation, of these sizes, over each of the backends that can be replayed at all.
void Advisor::try_routes(Mix& best, OperationKind kind, std::size_t min_bytes, std::size_t max_bytes) {
  const Mix before = best;
  for (const Candidate& candidate : candidates_) {
    if (!candidate.refused.empty()) continue;
    Configuration configuration = configuration_;
    configuration.routes = before.routes;
    configuration.routes.insert(configuration.routes.begin(),
                                route_of(kind, {min_bytes, max_bytes}, std::string(candidate.backend->name)));
    if (!may_go_on(fmt::format("{} over {}", to_string(kind), candidate.backend->name))) return;
    const auto end = end_of(configuration, *registry_.find(before.backend));
    if (end && end->seconds() < kWorthwhile * best.end.seconds()) {
      best.routes = configuration.routes;
      best.end = *end;
    }
  }
}

void Advisor::find_mix() {
  if (candidates_.empty() || !candidates_.front().counts() || !configuration_.routes.empty()) return;
  read_traffic();
  Mix best{std::string(candidates_.front().backend->name), {}, candidates_.front().end()};
  std::vector<OperationKind> kinds;
  for (const Traffic& traffic : traffic_) {
    if (std::find(kinds.begin(), kinds.end(), traffic.operation.kind) == kinds.end())
      kinds.push_back(traffic.operation.kind);
  }
  for (const OperationKind kind : kinds) {
    try_routes(best, kind, 0, kAnySize);
    for (const SizeClass& sizes : kSizes) {
      const auto is_in = [&](const Traffic& traffic) {
        return traffic.operation.kind == kind && traffic.operation.bytes >= sizes.from &&
               traffic.operation.bytes <= sizes.to;
      };
      const auto is_other = [&](const Traffic& traffic) {
        return traffic.operation.kind == kind && !is_in(traffic);
      };
      if (std::any_of(traffic_.begin(), traffic_.end(), is_in) &&
          std::any_of(traffic_.begin(), traffic_.end(), is_other))
        try_routes(best, kind, sizes.from, sizes.to);
    }
  }
  knows_mix_ = !cut_short_;
  best.routes = fewest_routes(best, kinds);
  if (best.routes.empty() || !may_go_on("the best mix")) return;
  Configuration configuration = configuration_;
  configuration.routes = best.routes;
  const auto end = end_of(configuration, *registry_.find(best.backend));
  if (!end) return;
  best.end = *end;
  mix_ = std::move(best);
}

void Advisor::find_fastest(const Traffic& traffic) {
  const BackendDescription& host = *registry_.find("host");
  const std::string name(to_string(traffic.operation.kind));
  const Parameter* const parameter = find_parameter(host.parameters, name);
  if (parameter == nullptr || parameter->kind != ParameterKind::kChoice) return;
  const Result<WorldSetting> setting =
      world_setting(configuration_, registry_, host, traffic.operation.ranks);
  if (!setting) return;
  const auto time_of = [&](const std::string& algorithm) -> std::optional<Time> {
    WorldSetting other = *setting;
    if (!algorithm.empty()) other.settings.set(name, {0, algorithm});
    Result<Forecast> forecast = offramp::forecast(other, traffic.operation);
    return forecast && forecast->declined.empty() ? std::optional(forecast->time) : std::nullopt;
  };
  const auto usual = time_of("");
  if (!usual) return;
  AlgorithmChoice choice{traffic.operation.kind,
                         traffic.operation.ranks,
                         traffic.operation.bytes,
                         traffic.calls / static_cast<std::uint64_t>(std::max(1, traffic.operation.ranks)),
                         *usual,
                         "",
                         *usual};
  for (const std::string_view algorithm : parameter->choices) {
    constexpr std::string_view kSelections[] = {"auto", "openmpi", "mpich", "best"};
    if (std::find(std::begin(kSelections), std::end(kSelections), algorithm) != std::end(kSelections))
      continue;
    const auto time = time_of(std::string(algorithm));
    if (time && *time < choice.fastest) {
      choice.fastest = *time;
      choice.best = algorithm;
    }
  }
  if (!choice.best.empty()) algorithms_.push_back(choice);
}

void Advisor::find_algorithms() {
  read_traffic();
  std::size_t forecasts = 0;
  bool knows_all = true;
  for (const Traffic& traffic : traffic_) {
    // Nonblocking ones follow schedules of libnbc, whose algorithms nobody chooses.
    const bool alike = traffic.operation.kind != OperationKind::kSend && !traffic.operation.nonblocking &&
                       !has_blocks_of_different_sizes(traffic.operation.kind);
    if (!alike || traffic.operation.ranks < 2) continue;
    if (traffic.operation.ranks > kLargestForecast) {
      knows_all = false;
      continue;
    }
    if (++forecasts > kMostForecasts) break;
    if (!may_go_on(fmt::format("host: algorithms of {}", to_string(traffic.operation.kind)))) break;
    find_fastest(traffic);
  }
  knows_algorithms_ = knows_all && !cut_short_ && forecasts <= kMostForecasts;
  std::stable_sort(algorithms_.begin(), algorithms_.end(),
                   [](const AlgorithmChoice& a, const AlgorithmChoice& b) { return a.gain() > b.gain(); });
  Result<WorldSetting> setting = setting_of(*registry_.find("host"));
  if (!setting || setting->settings.choice("collectives") == "best" || source_.ranks > kLargestForecast ||
      !may_go_on("host: the fastest algorithms"))
    return;
  setting->settings.set("collectives", {0, "best"});
  if (setting->host_settings) setting->host_settings->set("collectives", {0, "best"});
  host_at_its_best_ = end_of(*setting);
}

}  // namespace offramp
