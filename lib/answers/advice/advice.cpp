// The searches of the advisor, in the order of the interface.
//
// - Links: hardware with a higher rate per node than the baseline is also replayed at the baseline's rate.
//   All searches use that rate.
// - Carried: the share of the hardware is measured in the baseline's time of the operations that it would
//   carry. So slow hardware does not seem to carry more than fast hardware.
// - Certainty: communication over one side takes longer than modelled, and over the other side less, by the
//   factors of held_out.hpp. What the hardware declines has the baseline's error on both sides. A replay
//   whose communication takes s times as long has its computing divided by s, and its times multiplied by s.
//   The range includes the noise of recorded computing (computing_noise.hpp). The answer holds if both ends
//   of the range are on the same side of a gain that is worthwhile.
// - Algorithms: forecasts of the baseline's most frequent collectives.
//
// The constants below and may_go_on() limit all searches.
#include "lib/answers/advice/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <tuple>

#include "backends/host/fastest.hpp"
#include "lib/answers/advice/computing_noise.hpp"
#include "lib/answers/replay/forecast.hpp"
#include "lib/base/side_by_side.hpp"
#include "lib/base/text_format.hpp"

namespace offramp {
namespace {

using recording::Event;
using recording::EventKind;

/// Shares of the time limit: for the first turn of each backend (a divisor), and for all turns.
constexpr int kFirstTurn = 32;
constexpr double kTurns = 0.75;
/// The first turn without a time limit.
constexpr std::chrono::seconds kUnlimitedTurn(1);
constexpr std::size_t kMostTraffic = 4096;  // kinds, sizes, and communicators that are counted separately
constexpr std::size_t kMostForecasts = 64;  // the host's most frequent collectives
std::optional<OperationKind> kind_of(const Event& event) {
  if (event.kind == EventKind::kSend) return OperationKind::kSend;
  if (event.kind == EventKind::kCollective) return event.operation;
  return std::nullopt;
}

/// call: the function's name. With threads, only the name distinguishes blocking calls.
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

AnswerKind kind_of(const Sides& sides) {
  if (sides.baseline <= Time()) return AnswerKind::kUnknown;
  const auto gain = [&](const std::optional<Time>& end) {
    return end ? 1 - ratio_of(*end, sides.baseline) : 0;
  };
  if (sides.free && gain(sides.free) < kWorthwhile) return AnswerKind::kNothing;
  const double tuned = gain(sides.at_no_cost());
  const double hardware = gain(sides.hardware);
  if (1 - gain(sides.mix) < (1 - kMixWorthwhile) * (1 - std::max({0.0, tuned, hardware})))
    return AnswerKind::kMix;
  if (std::max(tuned, hardware) < kWorthwhile)
    return gain(sides.own_link) < kWorthwhile ? AnswerKind::kBaseline : AnswerKind::kLink;
  // Other algorithms cost nothing, so they win unless the hardware gains clearly more.
  return tuned >= kWorthwhile && tuned + kWorthwhile > hardware ? AnswerKind::kAlgorithm
                                                                : AnswerKind::kHardware;
}

std::string_view name_of(AnswerKind kind) {
  constexpr std::array<std::string_view, 7> kNames = {"unknown",   "nothing",  "baseline", "link",
                                                      "algorithm", "hardware", "mix"};
  return kNames.at(static_cast<std::size_t>(kind));
}

bool is_open(std::string_view source) {
  return source.find("assumed") != std::string_view::npos ||
         source.find("fitted") != std::string_view::npos || source.find("inferred") != std::string_view::npos;
}

std::vector<std::string> Mix::backends() const {
  std::vector<std::string> all = {backend};
  for (const Route& route : routes) {
    if (std::ranges::find(all, route.backend) == all.end()) all.push_back(route.backend);
  }
  return all;
}

double Influence::span(double now) const {
  return std::max(std::abs(std::log(at_half / now)), std::abs(std::log(at_twice / now)));
}

bool Influence::turns_round(double now) const {
  return pays(now) != pays(at_half) || pays(now) != pays(at_twice);
}

namespace {

std::optional<ModelError> error_of(std::vector<double> errors) {
  if (errors.empty()) return std::nullopt;
  std::sort(errors.begin(), errors.end());
  return ModelError{errors[errors.size() / 2], errors[(errors.size() * 9 - 1) / 10], errors.back(),
                    errors.size()};
}

}  // namespace

std::optional<ModelError> model_error(const ValidationRows& rows) {
  std::vector<double> errors;
  for (const ValidationRow& row : rows) {
    if (!row.fitted && row.bound.empty() && row.published != 0)
      errors.push_back(std::abs(row.ours / row.published - 1));
  }
  return error_of(std::move(errors));
}

Advisor::Advisor(const Configuration& configuration, const Registry& registry, ReplaySource source,
                 Options options)
    : configuration_(configuration),
      equal_links_(configuration),
      registry_(registry),
      baseline_(registry.baseline()),
      source_(std::move(source)),
      options_(std::move(options)) {
  ReplayOptions& replay = options_.replay;
  replay.details = replay.sizes = replay.certificate = false;
  replay.observer = nullptr;
  replay.clock_reads = nullptr;
  replay.progress = [this](const ReplayProgress&) { return may_go_on(""); };
}

bool Advisor::may_go_on(const std::string& what) {
  const std::scoped_lock lock(mutex_);
  const bool go_on =
      Clock::now() < options_.until && (options_.progress == nullptr || options_.progress(what));
  cut_short_ = cut_short_ || !go_on;
  return go_on;
}

const Candidate* Advisor::baseline() const {
  const auto found = std::find_if(candidates_.begin(), candidates_.end(), [](const Candidate& one) {
    return is_baseline(one.backend) && one.problem.empty();
  });
  return found == candidates_.end() ? nullptr : &*found;
}

const Candidate* Advisor::best_hardware() const {
  const auto best = std::ranges::find_if(
      candidates_, [](const Candidate& one) { return one.counts() && !is_baseline(one.backend); });
  return best == candidates_.end() ? nullptr : &*best;
}

Result<WorldSetting> Advisor::setting_of(const BackendDescription& backend) const {
  return world_setting(equal_links_, registry_, backend, source_.ranks);
}

std::optional<WorldSetting> Advisor::baseline_with(std::string_view choice, const char* value) const {
  Result<WorldSetting> setting = setting_of(baseline_);
  const Parameter* const parameter = find_parameter(baseline_.parameters, choice);
  if (!setting || parameter == nullptr ||
      std::find(parameter->choices.begin(), parameter->choices.end(), value) == parameter->choices.end() ||
      setting->settings.choice(std::string(choice)) == value)
    return std::nullopt;
  setting->settings.set(choice, {0, value});
  if (setting->host_settings) setting->host_settings->set(choice, {0, value});
  return std::move(*setting);
}

std::optional<WorldSetting> Advisor::setting_with(const Configuration& configuration,
                                                  const BackendDescription& backend) const {
  Result<WorldSetting> setting = world_setting(configuration, registry_, backend, source_.ranks);
  return setting ? std::optional(std::move(*setting)) : std::nullopt;
}

std::optional<Time> Advisor::end_of(const WorldSetting& setting, ReplayOptions how,
                                    double communication) const {
  for (double* const factor : {&how.compute.factor, &how.compute.blocked, &how.compute.native})
    *factor /= communication;
  how.compare_undisturbed = false;
  Result<ReplayResult> result = replay(setting, source_, how);
  if (!result || result->stopped) return std::nullopt;
  return Time::ps(std::llround(static_cast<double>(result->modelled_time.count()) * communication));
}

std::vector<std::optional<Time>> Advisor::ends_of(const std::vector<Trial>& trials) {
  std::vector<std::optional<Time>> ends(trials.size());
  ReplayOptions how = options_.replay;
  if (has_computing_) how.compute.kind = Compute::Mode::kFactor;
  side_by_side(trials.size(), worlds_at_once(source_), [&](std::size_t i) {
    const Trial& one = trials[i];
    if (one.setting && (one.what.empty() || may_go_on(one.what)))
      ends[i] = end_of(*one.setting, how, one.communication);
  });
  return ends;
}

std::vector<std::optional<double>> Advisor::ratios_of(const std::vector<Trial>& pairs) {
  const std::vector<std::optional<Time>> ends = ends_of(pairs);
  std::vector<std::optional<double>> ratios(ends.size() / 2);
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    const std::optional<Time>& end = ends[2 * i];
    const std::optional<Time> against =
        pairs[2 * i + 1].setting ? ends[2 * i + 1] : std::optional(baseline()->end());
    if (end && against) ratios[i] = ratio_of(*end, *against);
  }
  return ratios;
}

/// Finds the baseline's time of the operations that the hardware carries. False at the time limit.
bool Advisor::compare_carried(Candidate& candidate, const WorldSetting& setting, ReplayOptions how) const {
  if (candidate.time.declined <= Time() || is_baseline(candidate.backend)) return true;
  std::optional<WorldSetting> baseline = setting_with(configuration_, baseline_);
  if (!baseline) return true;
  const std::unique_ptr<Backend> judge = asked_backend(setting, source_.ranks);
  baseline->judge = judge.get();
  how.compare_undisturbed = false;
  Result<ReplayResult> result = replay(*baseline, source_, how);
  if (result && result->stopped) return false;
  if (result) candidate.time = CarriedTime{result->total().times};
  return true;
}

std::optional<WorldSetting> Advisor::equalize_link(Turn& turn, std::int64_t wanted) const {
  const Parameter* const link = find_parameter(turn.backend->parameters, "link");
  const Result<WorldSetting> setting = setting_of(*turn.backend);
  if (link == nullptr || link->unit != "Gb/s" || !setting) return std::nullopt;
  const double rate = static_cast<double>(wanted) / 1e9 / setting->machine.links_per_node();
  const RawValue value{fmt::format("{}", rate), RawValue::Type::kNumber, "advice"};
  Configuration configuration = equal_links_;
  configuration.sections[std::string(turn.backend->name)]["link"] = value;
  std::optional<WorldSetting> equal = setting_with(configuration, *turn.backend);
  if (!equal || deployment_of(*equal, source_.ranks).node_bits_per_second > wanted) return std::nullopt;
  turn.link = value;
  return equal;
}

void Advisor::take_turn(Turn& turn, Clock::time_point until) {
  const BackendDescription& backend = *turn.backend;
  if (!may_go_on(fmt::format("{}: the program", backend.name))) return;
  const Result<WorldSetting> setting = world_setting(configuration_, registry_, backend, source_.ranks);
  ReplayOptions whole = options_.replay;
  whole.progress = [&, go_on = whole.progress](const ReplayProgress& progress) {
    turn.events = progress.events;
    return Clock::now() < until && go_on(progress);
  };
  const ReplayOptions alone = whole;
  whole.sizes = !options_.runs_alone;
  if (options_.runs_alone) whole.compute = with_computing(whole.compute);
  std::optional<WholeRun> run;
  ReplaySource source = source_;
  source.is_concurrent = source.is_concurrent && is_baseline(backend.name);  // else cores have other turns
  Result<ReplayResult> result =
      setting ? runs_.replay_and_run(*setting, source, whole, run) : failure(setting.error());
  if (!result) {
    turn.candidate = {{{std::string(backend.name), result.error()}}, &backend};
    return;
  }
  if (result->stopped) return;
  Candidate candidate{settled_over(backend.name, std::move(*result)), &backend};
  const bool has_computing = computing_of(*candidate.result).any();
  if (!options_.runs_alone) {
    candidate.run = run;
    if (has_computing && !candidate.run && Clock::now() >= std::min(until, options_.until)) return;
  }
  turn.has_computing = has_computing && options_.replay.compute.kind == Compute::Mode::kNone;
  if (!compare_carried(candidate, *setting, alone)) return;
  const Candidate* const base = baseline();
  const std::int64_t rate = candidate.deployment.node_bits_per_second;
  const std::int64_t wanted = base == nullptr ? 0 : base->deployment.node_bits_per_second;
  const std::optional<WorldSetting> equal =
      wanted > 0 && rate > wanted ? equalize_link(turn, wanted) : std::nullopt;
  // Hardware that carries little may still be part of a mix.
  if (equal && candidate.counts()) {
    Result<ReplayResult> again = replay(*equal, source_, whole);
    if (!again || again->stopped) return;
    candidate.at_equal_link = settled_over(backend.name, std::move(*again));
    if (candidate.run) {
      ReplayOptions with_its_computing = alone;
      with_its_computing.compute.kind = Compute::Mode::kFactor;
      const std::optional<Time> end = end_of(*equal, with_its_computing);
      if (!end) return;
      candidate.at_equal_link->run = candidate.run;
      candidate.at_equal_link->run->end = *end;
    }
  }
  turn.candidate = std::move(candidate);
}

std::vector<Advisor::Turn> Advisor::keep(std::vector<Turn> turns) {
  std::vector<Turn> too_short;
  for (Turn& turn : turns) {
    if (turn.link) equal_links_.sections[std::string(turn.backend->name)]["link"] = *turn.link;
    has_computing_ = has_computing_ || turn.has_computing;
    if (turn.candidate) {
      candidates_.push_back(std::move(*turn.candidate));
    } else {
      too_short.push_back(std::move(turn));
    }
  }
  return too_short;
}

void Advisor::rank_backends() {
  const Clock::time_point begin = Clock::now();
  const bool is_limited = options_.until != Clock::time_point::max();
  const Clock::duration all = is_limited ? options_.until - begin : kFirstTurn * kUnlimitedTurn;
  const Clock::time_point last =
      is_limited ? begin + std::chrono::duration_cast<Clock::duration>(kTurns * all) : options_.until;
  std::vector<Turn> waiting;
  for (const bool baseline_turn : {true, false}) {
    std::vector<Turn> turns;
    for (const BackendDescription* backend : options_.backends) {
      if (is_baseline(backend->name) == baseline_turn) turns.push_back({backend});
    }
    side_by_side(turns.size(), worlds_at_once(source_), [&](std::size_t i) {
      take_turn(turns[i], baseline_turn ? options_.until : Clock::now() + all / kFirstTurn);
    });
    std::ranges::move(keep(std::move(turns)), std::back_inserter(waiting));
  }
  std::ranges::stable_sort(waiting, std::ranges::greater(), &Turn::events);
  if (baseline() != nullptr) {
    side_by_side(waiting.size(), worlds_at_once(source_), [&](std::size_t i) {
      if (Clock::now() < last) take_turn(waiting[i], last);
    });
    waiting = keep(std::move(waiting));
  }
  for (const Turn& turn : waiting) untried_.push_back(turn.backend);
  cut_short_ = cut_short_ || !untried_.empty();
  program_ = runs_.program();
  std::stable_sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
    return std::tuple(!a.counts(), a.counts() ? a.fair().end() : Time()) <
           std::tuple(!b.counts(), b.counts() ? b.fair().end() : Time());
  });
}

void Advisor::weigh() {
  const Candidate* const base = baseline();
  if (base == nullptr) return;
  Weighing& all = weighing_;
  Sides& sides = all.sides;
  sides.baseline = base->end();
  if (program_ && base->run) sides.free = program_->free.end;
  all.reference = sides.baseline;
  if (source_.ranks == 1) {
    all.kind = AnswerKind::kNothing;
    all.holds = true;
    return;
  }
  all.hardware = best_hardware();
  if (all.hardware != nullptr) sides.hardware = all.hardware->fair().end();
  for (const Candidate& one : candidates_) {
    if (one.counts() && !is_baseline(one.backend))
      sides.own_link = sides.own_link ? earlier(*sides.own_link, one.end()) : one.end();
  }
  const auto threaded = has_computing_ ? baseline_with("progress", "thread") : std::optional<WorldSetting>();
  if (threaded) all.thread_share = threaded->settings.real("progress_share");
  const auto free =
      ends_of({{"the fastest algorithms", tuned_setting()}, {"a thread that makes progress", threaded}});
  sides.tuned = free[0];
  sides.threaded = free[1];
  if (sides.tuned && 1 - ratio_of(*sides.tuned, sides.baseline) >= kWorthwhile) find_algorithms();
  all.kind = kind_of(sides);
  all.holds = all.kind == AnswerKind::kNothing;
  if (all.holds) return;
  if (has_computing_)
    all.progressing = ends_of({{"a NIC that makes progress", baseline_with("progress", "hardware")}}).front();
  if (all.kind == AnswerKind::kAlgorithm) {
    find_range(sides.is_by_thread() ? *threaded : *baseline_with("collectives", "best"), baseline_.name);
  } else if (all.hardware != nullptr) {
    if (const Result<WorldSetting> setting = setting_of(*all.hardware->description))
      find_range(*setting, all.hardware->backend,
                 CarriedTime{all.hardware->fair().result->total().times}.share().value_or(1));
  }
}

/// Sets Weighing::memory. The answer holds only if it is the same at both ends.
void Advisor::find_memory_range(const WorldSetting& side) {
  const Result<WorldSetting> base = setting_of(baseline_);
  if (!base) return;
  std::vector<Trial> trials;
  for (const bool most : {false, true}) {
    for (const WorldSetting* const one : {&side, &*base}) {
      trials.push_back({"a node's memory", at_end_of_band(*one, baseline_, source_.ranks, most)});
      if (!trials.back().setting) return;
    }
  }
  const auto ratios = ratios_of(trials);
  if (!ratios[0] || !ratios[1]) return;
  weighing_.memory = RatioRange{std::min(*ratios[0], *ratios[1]), std::max(*ratios[0], *ratios[1])};
  weighing_.holds = weighing_.holds && weighing_.memory->agrees(saves_time(weighing_.kind));
}

/// Sets Weighing::range from the errors of both models. share: the part of the side's communication that its
/// own model carries. The baseline's model carries the rest, so there both sides have the same error.
void Advisor::find_range(const WorldSetting& side, std::string_view hardware, double share) {
  Weighing& all = weighing_;
  find_memory_range(side);
  RatioError& error = all.error.emplace(error_of(hardware));
  // A thread changes no algorithm, so both sides are off alike.
  if (all.kind == AnswerKind::kAlgorithm && all.sides.is_by_thread()) error.of_pairs.reset();
  Result<WorldSetting> host = setting_of(baseline_);
  const auto free = all.sides.at_no_cost();
  const bool beats_free = all.kind == AnswerKind::kHardware || all.kind == AnswerKind::kMix;
  if (host && beats_free && free && 1 - ratio_of(*free, all.sides.baseline) >= kWorthwhile) {
    const bool by_thread = all.sides.is_by_thread();
    host->settings.set(by_thread ? "progress" : "collectives", {0, by_thread ? "thread" : "best"});
    all.reference = *free;
    all.than = by_thread ? "host thread" : kTunedHost;
  }
  if (!error.is_known() || !host) return;
  const auto middle = all.kind == AnswerKind::kAlgorithm ? free
                      : all.kind == AnswerKind::kMix     ? all.sides.mix
                                                         : all.sides.hardware;
  const double now = ratio_of(*middle, all.reference);
  all.range = range_of_errors(side, *host, now, error, share);
  if (!all.range) return;
  add_noise(*all.range, side, *host, now);
  const bool is_saving = saves_time(all.kind);
  all.holds = all.range->agrees(is_saving) && (!all.memory || all.memory->agrees(is_saving));
}

std::optional<RatioRange> Advisor::range_of_errors(const WorldSetting& side, const WorldSetting& host,
                                                   double now, const RatioError& error, double share) {
  std::vector<Trial> trials;
  for (const int sign : {-1, 1}) {
    const double of_host = error.host_factor(sign);
    trials.push_back(
        {"the models' errors", side, share * error.hardware_factor(sign) + (1 - share) * of_host});
    trials.push_back({"the models' errors", host, of_host});
  }
  const auto ratios = ratios_of(trials);
  if (!ratios[0] || !ratios[1]) return std::nullopt;
  return RatioRange{std::min({now, *ratios[0], *ratios[1]}), std::max({now, *ratios[0], *ratios[1]})};
}

/// Errors of the models and of the recorded computing are independent, so the logarithms of their factors add
/// as squares.
void Advisor::add_noise(RatioRange& range, const WorldSetting& side, const WorldSetting& host, double now) {
  if (!has_computing_) return;
  const auto noise = computing_noise(source_, options_.repetitions);
  weighing_.is_noise_unknown = !noise;
  if (!noise || (noise->share == 0 && noise->mean == 1)) return;
  std::vector<Trial> trials;
  for (const int sign : {-1, 1}) {
    const double communication = std::pow(1 + noise->share, sign) / noise->mean;
    for (const WorldSetting* const one : {&side, &host})
      trials.push_back({"the noise of computing", *one, communication});
  }
  const auto ratios = ratios_of(trials);
  if (!ratios[0] || !ratios[1]) return;
  // These concern the logarithms of the ratios with less and with more computing.
  const double sum = std::log(*ratios[0]) + std::log(*ratios[1]);
  const double difference = std::log(*ratios[1]) - std::log(*ratios[0]);
  range.low = std::exp(sum / 2 - std::hypot(std::log(now / range.low), difference / 2));
  range.high = std::exp(sum / 2 + std::hypot(std::log(range.high / now), difference / 2));
  weighing_.noise = std::expm1(std::abs(difference) / 2);
}

std::optional<RatioRange> Advisor::range_of(const Candidate& candidate) {
  const RatioError error = error_of(candidate.backend);
  const Result<WorldSetting> side = setting_of(*candidate.description);
  const Result<WorldSetting> host = setting_of(baseline_);
  if (!candidate.counts() || baseline() == nullptr || !error.is_known() || !side || !host)
    return std::nullopt;
  const double now = ratio_of(candidate.fair().end(), baseline()->end());
  auto range = range_of_errors(*side, *host, now, error,
                               CarriedTime{candidate.fair().result->total().times}.share().value_or(1));
  if (range) add_noise(*range, *side, *host, now);
  return range;
}

/// The error of a candidate over the baseline, in the class of the operations that its own model carries.
RatioError Advisor::error_of(std::string_view hardware) const {
  const auto found = std::ranges::find(candidates_, hardware, &Candidate::backend);
  const Candidate& candidate = found != candidates_.end() && found->result ? *found : *baseline();
  const int per_node = configuration_.machine.layout(source_.ranks).ranks_per_node;
  return ratio_error(hardware, baseline_.name, main_class_of(*candidate.result, per_node));
}

std::optional<WorldSetting> Advisor::tuned_setting() const {
  return source_.ranks <= kLargestForecast ? baseline_with("collectives", "best")
                                           : std::optional<WorldSetting>();
}

std::optional<Time> Advisor::end_of_tuned() {
  return ends_of({{"the fastest algorithms", tuned_setting()}}).front();
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

void Advisor::find_fastest(const Traffic& traffic) {
  const Operation& operation = traffic.operation;
  const std::string name(to_string(operation.kind));
  const Result<WorldSetting> setting = world_setting(configuration_, registry_, baseline_, operation.ranks);
  if (!setting || find_parameter(baseline_.parameters, name) == nullptr) return;
  const auto found = host::find_fastest(
      operation.kind, operation.bytes, setting->settings.real("best_margin"),
      [&](std::string_view algorithm, std::size_t segment, Time) -> std::optional<Time> {
        WorldSetting other = *setting;
        if (!algorithm.empty()) other.settings.set(name, {0, std::string(algorithm)});
        if (segment > 0) other.settings.set("segment", {static_cast<double>(segment), {}});
        const Result<Forecast> result = forecast(other, operation);
        return result && result->declined.empty() ? std::optional(result->time) : std::nullopt;
      });
  if (!found || found->name.empty()) return;
  algorithms_.push_back({operation.kind, operation.ranks, operation.bytes,
                         traffic.calls / static_cast<std::uint64_t>(source_.ranks), found->usual,
                         std::string(found->name), found->time, found->segment});
}

void Advisor::find_algorithms() {
  if (std::exchange(has_sought_algorithms_, true)) return;
  read_traffic();
  std::size_t forecasts = 0;
  bool knows_all = true;
  for (const Traffic& traffic : traffic_) {
    // Nonblocking collectives follow libnbc's schedules, whose algorithms cannot be selected.
    const bool alike = traffic.operation.kind != OperationKind::kSend && !traffic.operation.nonblocking &&
                       !has_blocks_of_different_sizes(traffic.operation.kind);
    if (!alike || traffic.operation.ranks < 2) continue;
    if (traffic.operation.ranks > kLargestForecast) {
      knows_all = false;
      continue;
    }
    if (++forecasts > kMostForecasts) break;
    if (!may_go_on(fmt::format("algorithms of {}", to_string(traffic.operation.kind)))) break;
    find_fastest(traffic);
  }
  knows_algorithms_ = knows_all && !cut_short_ && forecasts <= kMostForecasts;
  std::stable_sort(algorithms_.begin(), algorithms_.end(),
                   [](const AlgorithmChoice& a, const AlgorithmChoice& b) { return a.gain() > b.gain(); });
}

}  // namespace offramp
