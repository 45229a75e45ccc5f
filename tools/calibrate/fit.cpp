// Sets the parameters that were timed directly. Fits the others in a few rounds, since the values depend on
// each other: overhead and latency from the smallest messages, bandwidth from the largest, protocol limits as
// one of the measured sizes, and other values by successively finer grids over their range. A parameter that
// the figures do not determine (is_determined()) keeps its value and is reported.
#include "tools/calibrate/fit.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <tuple>
#include <utility>

#include "lib/answers/advice/advice.hpp"
#include "lib/base/format.hpp"
#include "lib/base/registry/registry.hpp"
#include "lib/base/text_format.hpp"
#include "simulators/world/benchmarks.hpp"
#include "simulators/world/text_fields.hpp"
#include "tools/command_line/setup.hpp"

namespace offramp::tool {

/// The parameters that messages between nodes, or within a node, determine.
struct MessageKeys {
  std::string_view place;
  const char* latency;
  const char* overhead;
  const char* bandwidth;
  const char* eager_limit;
  // Determined by the shape of the curve between the smallest and the largest messages.
  std::array<std::string_view, 3> shape;
};

namespace {

constexpr double kNano = 1e-9;
constexpr double kGiga = 1e9;
constexpr double kNoLatency = 1e-3;  // ns; 0 would select the NIC's or the transport's value
constexpr double kSlowest = 1e-3;    // Gb/s, of a fitted rate
constexpr double kFastest = 1e5;
constexpr std::size_t kLarge = 65536;                   // the smallest message that determines bandwidth
constexpr double kFastestLink = 0.5e-6;                 // s, half a round trip between two nodes
constexpr std::size_t kShort = 64;                      // the largest message whose rate determines overhead
constexpr std::size_t kLongest = std::size_t{1} << 30;  // longer than any message

constexpr const char* kBufferCopies = "memory_copy_bandwidth";

constexpr MessageKeys kNodeKeys = {"node",           "memory_latency",     "memory_overhead",
                                   "copy_bandwidth", "memory_eager_limit", {"single_copy", kBufferCopies}};
constexpr MessageKeys kNetworkKeys = {"network",     "latency",
                                      "overhead",    "bandwidth",
                                      "eager_limit", {"inline_limit", "fetch", "copy_bandwidth"}};

// The range in which a value is searched. is_rate: logarithmic steps.
struct Range {
  std::string_view name;
  double least;
  double most;
  bool is_rate;
};
constexpr std::array kRanges = {Range{"fetch", 0, 4000, false}, Range{"single_copy", 0, 8000, false},
                                Range{"copy_bandwidth", 4, 1000, true},
                                Range{"memory_copy_bandwidth", 4, 1000, true}};

const Range* range_of(std::string_view name) {
  const auto* const found = std::ranges::find(kRanges, name, &Range::name);
  return found == kRanges.end() ? nullptr : found;
}

bool shows_bandwidth(const Measured& one) {
  return (one.name == "message" || one.name == "window") && one.bytes >= kLarge;
}

bool is_one_of_many(const Measured* one) {
  return one->name == "window" || one->name == "both ways";
}

bool is_long_rate(const Measured& one) {
  return (one.name == "rate" || one.name == "exchange") && one.ranks > 2 && one.bytes >= kLarge;
}

double gigabits(const Measured& one) {
  return static_cast<double>(one.bytes) * 8 / one.seconds / kGiga;
}

Operation operation_of(OperationKind kind, const Measured& one) {
  Operation operation;
  operation.kind = kind;
  operation.ranks = one.ranks;
  operation.bytes = one.bytes;
  operation.element = ElementType::kByte;
  if (!reduces(kind)) return operation;
  // OSU reduces floats, the measuring program doubles.
  operation.element = one.mean_of_all ? ElementType::kFloat32 : ElementType::kFloat64;
  operation.elements = one.bytes / element_bytes(operation.element);
  operation.function = ReduceFunction::kSum;
  return operation;
}

/// Each rank sends to the next one and receives from the one before it.
Time exchange_around(World& world, std::size_t bytes) {
  constexpr int kTurns = 4;
  const int ranks = world.ranks();
  (void)world.run([=](RankHandle& rank) -> Task<void> {
    for (int turn = 0; turn < kTurns; ++turn) {
      std::vector<RankRequest> requests;
      requests.push_back(rank.irecv((rank.rank() + ranks - 1) % ranks, bytes));
      requests.push_back(rank.isend((rank.rank() + 1) % ranks, bytes));
      (void)co_await rank.wait_all(requests);
    }
  });
  Time end;
  for (int rank = 0; rank < ranks; ++rank) end = later(end, world.clock(rank));
  return Time::ps(end.count() / kTurns);
}

template <typename T>
T value_of(Result<T> result) {
  if (!result) throw Misuse{result.error()};
  return std::move(*result);
}

}  // namespace

Fit::Fit(const BackendDescription& host, const Measurement& measured, Settings settings, Keys known)
    : host_(host), measured_(measured), settings_(std::move(settings)), known_(std::move(known)) {
  if (const Measured* combine = measured_.find("rank", "combine"))
    directly("combine_bandwidth", gigabits(*combine));
  if (const Measured* copy = measured_.find("rank", "copy")) directly("copy_bandwidth", gigabits(*copy));
  if (const Measured* copies = measured_.find("node", "copies"))
    directly("memory_bandwidth", gigabits(*copies));
  // Begin with messages within a node: their copy rate also applies to the NIC's buffers.
  if (measured_.has(kNodeKeys.place)) fit(kNodeKeys);
  fit_node_rates();
  if (!measured_.has(kNetworkKeys.place)) return;
  if (const Measured& least = smallest(kNetworkKeys.place); least.seconds < kFastestLink)
    throw Misuse{fmt::format(
        "{} take {} between two nodes, faster than any NIC; if the ranks shared a node, use --from-node",
        bytes_text(static_cast<double>(least.bytes)), time_text(least.seconds / kNano))};
  double gap = std::numeric_limits<double>::infinity();
  for (const Measured* rate : rows(kNetworkKeys.place, "rate")) {
    if (rate->bytes <= kShort) gap = std::min(gap, rate->seconds);
  }
  if (std::isfinite(gap)) directly("gap", gap / kNano);
  fit_nic_rate();
  fit_both_ways();
  fit(kNetworkKeys);
}

/// Determines the rates of a node's memory from all its pairs together. Each rate is fitted to the figures
/// that a low value of it would slow down.
void Fit::fit_node_rates() {
  constexpr double kSlow = 1;  // Gb/s
  constexpr double kFast = 1e6;
  for (const char* const name : {"memory_bandwidth", "cache_bandwidth"}) {
    if (!is_open(name) || bases_.contains(name)) continue;
    const Settings before = settings_;
    std::vector<const Measured*> determined;
    for (const Measured* one : long_rates(kNodeKeys.place)) {
      for (const char* const other : {"memory_bandwidth", "cache_bandwidth"})
        settings_.set(other, {kFast, {}});
      const double seconds = modelled(*one);
      settings_.set(name, {kSlow, {}});
      if (modelled(*one) > 2 * seconds) determined.push_back(one);
    }
    settings_ = before;
    if (determined.empty()) continue;
    fit_rate(name, determined);
    if (is_at_end(name)) {
      settings_ = before;
      continue;
    }
    bases_[name] = fmt::format("fitted to {} of all pairs of a node", counted(determined.size(), "rate"));
  }
}

/// The NIC's rate: the longest messages of the most pairs. One pair may be slower, see bandwidth_of().
void Fit::fit_nic_rate() {
  const std::vector<const Measured*> rates = long_rates(kNetworkKeys.place);
  if (rates.empty() || !is_open(kNetworkKeys.bandwidth)) return;
  const Measured& most =
      **std::max_element(rates.begin(), rates.end(), [](const Measured* a, const Measured* b) {
        return std::pair(a->ranks, a->bytes) < std::pair(b->ranks, b->bytes);
      });
  const std::string pairs = counted(static_cast<std::uint64_t>(most.ranks / 2), "pair");
  if (is_open("pcie") && gigabits(most) > host_.in_force(settings_, "pcie").value_or(0)) {
    constexpr double kMore = 1.1;
    set("pcie", kMore * gigabits(most));
    bases_["pcie"] = fmt::format("at least the rate of {}", pairs);
  }
  fit_rate(kNetworkKeys.bandwidth, {&most});
  if (is_at_end(kNetworkKeys.bandwidth)) refuse(kNetworkKeys.bandwidth);
  bases_[kNetworkKeys.bandwidth] =
      fmt::format("fitted to messages of {} of {}", bytes_text(static_cast<double>(most.bytes)), pairs);
}

/// A NIC carries at least half of what both directions carry together. So if messages in one direction are
/// slower, they are not limited by the link.
void Fit::fit_both_ways() {
  if (!is_open(kNetworkKeys.bandwidth) || bases_.contains(kNetworkKeys.bandwidth)) return;
  double one_way = 0;
  for (const Measured* one : long_messages(kNetworkKeys.place)) one_way = std::max(one_way, gigabits(*one));
  const Measured* fastest = nullptr;
  for (const Measured* one : rows(kNetworkKeys.place, "both ways")) {
    if (one->bytes >= kLarge && (fastest == nullptr || gigabits(*one) > gigabits(*fastest))) fastest = one;
  }
  constexpr double kNotable = 1.05;
  both_ways_are_faster_ = fastest != nullptr && gigabits(*fastest) / 2 >= kNotable * one_way;
  if (!both_ways_are_faster_) return;
  fit_rate(kNetworkKeys.bandwidth, {fastest});
  if (is_at_end(kNetworkKeys.bandwidth)) refuse(kNetworkKeys.bandwidth);
  bases_[kNetworkKeys.bandwidth] =
      fmt::format("at least half of messages of {} both ways; one way reaches {:.3g} Gb/s",
                  bytes_text(static_cast<double>(fastest->bytes)), one_way);
}

// Simulates every published figure: once, and only for errors that are not small anyway.
double Fit::expected_error() const {
  if (!expected_error_) {
    const std::optional<ModelError> error = model_error(host_.validation());
    expected_error_ = error ? error->nine_tenths : 0;
  }
  return *expected_error_;
}

/// The likely cause of an error that the model's own errors do not explain.
std::string Fit::cause_of(const Comparison& row) const {
  const Measured& one = row.measured;
  constexpr double kSmall = 0.2;  // below what any model of a network promises
  const double error = std::abs(std::log(row.modelled / one.seconds));
  if (row.fitted || error <= std::log(1 + kSmall) || error <= std::log(1 + expected_error())) return {};
  const auto is_open_still = [&](std::string_view name) { return is_open(name) && !bases_.contains(name); };
  const bool is_fast = row.modelled < one.seconds;
  constexpr std::size_t kLittle = 1024;
  if (!parse_operation(one.name))
    return one.place == kNetworkKeys.place
               ? "one way is slower than both ways or several pairs: what limits it is not in the model"
               : "two ranks alone copy faster than all ranks of a node";
  const bool is_shared = one.ranks_per_node > 1;
  if (is_fast && is_shared && one.bytes > kLittle && is_open_still("memory_bandwidth"))
    return "a full node's memory is not measured: add IMB's Sendrecv or osu_mbw_mr of a node (--from-node)";
  if (is_fast && is_shared && one.bytes <= kLittle && is_open_still("memory_latency"))
    return "messages within a full node are not measured: add osu_multi_lat of a node (--from-node)";
  if (is_fast && one.name == "alltoall" && is_open_still("gap"))
    return "the NIC's packet rate is not measured: add osu_mbw_mr of 8 bytes";
  return fmt::format("{}: noise, or another algorithm than that of collectives = {}",
                     is_fast ? "slower than expected" : "faster than expected",
                     settings_.choice("collectives"));
}

std::vector<Comparison> Fit::comparisons() const {
  std::vector<Comparison> compared;
  std::vector<const Measured*> figures;
  for (const Measured& one : measured_.figures) {
    std::optional<bool> fitted;
    if (one.name == "message" || one.name == "window") {
      fitted = !is_full_node(one.place) &&
               (shows_bandwidth(one) ? one.place == kNodeKeys.place || !both_ways_are_faster_
                                     : shaped_.contains(one.place) || &one == &smallest(one.place));
    } else if (one.name == "exchange") {
      fitted = one.place == kNodeKeys.place;
    } else if (is_long_rate(one) || one.name == "both ways" || one.name == "loaded" ||
               (parse_operation(one.name) && one.ranks_per_node > 0)) {
      fitted = false;
    }
    if (!fitted) continue;
    compared.push_back({one, 0, *fitted});
    figures.push_back(&one);
  }
  const std::vector<double> seconds = modelled(figures);
  for (std::size_t i = 0; i < compared.size(); ++i) {
    compared[i].modelled = seconds[i];
    compared[i].cause = cause_of(compared[i]);
  }
  return compared;
}

std::vector<Found> Fit::values() const {
  std::vector<Found> values;
  for (const Parameter& parameter : host_.parameters) {
    const auto basis = bases_.find(parameter.name);
    const bool is_given = known_.contains(parameter.name);
    if (basis == bases_.end() && !is_given) continue;
    const std::string value = value_text(parameter, settings_);
    const bool is_text = parameter.kind == ParameterKind::kChoice;
    values.push_back(
        {&parameter, is_text ? fmt::format("\"{}\"", value) : value, is_given ? "given" : basis->second});
  }
  return values;
}

std::vector<std::string_view> Fit::undetermined() const {
  constexpr std::string_view kOfTheMachine =
      "latency overhead gap bandwidth pcie process_bandwidth fetch inline_limit post eager_limit "
      "memory_latency memory_overhead memory_copy_bandwidth single_copy memory_bandwidth cache_bandwidth "
      "memory_detour memory_eager_limit copy_bandwidth combine_bandwidth";
  std::vector<std::string_view> names;
  for (const std::string_view name : split(kOfTheMachine, ' ')) {
    if (!bases_.contains(name) && is_open(name)) names.push_back(name);
  }
  return names;
}

const Measured& Fit::figure(std::string_view place, std::string_view name) const {
  const Measured* const found = measured_.find(place, name);
  if (found == nullptr) throw Misuse{fmt::format("no results of {} ({})", name, place)};
  return *found;
}

std::vector<const Measured*> Fit::rows(std::string_view place, std::string_view name) const {
  std::vector<const Measured*> found;
  for (const Measured& one : measured_.figures) {
    if (one.place == place && one.name == name) found.push_back(&one);
  }
  return found;
}

std::vector<const Measured*> Fit::long_messages(std::string_view place) const {
  std::vector<const Measured*> found = transfers(place);
  std::erase_if(found, [](const Measured* one) { return !shows_bandwidth(*one); });
  return found;
}

std::vector<const Measured*> Fit::long_rates(std::string_view place) const {
  std::vector<const Measured*> found = rows(place, "rate");
  for (const Measured* one : rows(place, "exchange")) found.push_back(one);
  std::erase_if(found, [](const Measured* one) { return !is_long_rate(*one); });
  return found;
}

std::vector<const Measured*> Fit::transfers(std::string_view place) const {
  if (is_full_node(place)) return rows(place, "exchange");
  std::vector<const Measured*> found = rows(place, "message");
  for (const Measured* one : rows(place, "window")) found.push_back(one);
  if (place != kNetworkKeys.place || !both_ways_are_faster_) return found;
  // What slows long messages one way is not in the model.
  std::erase_if(found, [](const Measured* one) { return shows_bandwidth(*one); });
  for (const Measured* one : rows(place, "both ways")) {
    if (one->bytes >= kLarge) found.push_back(one);
  }
  return found;
}

/// An exchange between neighbours does not show the latency between distant ranks.
bool Fit::is_full_node(std::string_view place) const {
  return place == kNodeKeys.place && !rows(place, "exchange").empty();
}
bool Fit::shows_latency(std::string_view place) const {
  return !is_full_node(place) || !rows(place, "loaded").empty();
}

const Measured& Fit::smallest(std::string_view place) const {
  const Measured* least = &figure(place, "message");
  for (const Measured* one : rows(place, "message")) {
    if (one->bytes < least->bytes) least = one;
  }
  return *least;
}

/// The figure that determines latency: the smallest message; within a node, with the most pairs at once.
const Measured& Fit::latency_figure(std::string_view place) const {
  const Measured* least = nullptr;
  for (const Measured* one : rows(place, "loaded")) {
    if (least == nullptr || std::pair(-one->ranks, one->bytes) < std::pair(-least->ranks, least->bytes))
      least = one;
  }
  return least != nullptr && place == kNodeKeys.place ? *least : smallest(place);
}

/// Rounds to four digits and clamps to the parameter's range.
void Fit::set(std::string_view name, double value) {
  if (!is_open(name)) return;
  const Parameter& parameter = *find_parameter(host_.parameters, name);
  const double digits = value > 0 ? std::pow(10, 3 - std::floor(std::log10(value))) : 1;
  const double rounded = std::round(value * digits) / digits;
  settings_.set(name, {std::clamp(rounded, parameter.minimum, parameter.maximum), {}});
}

void Fit::directly(const char* name, double value) {
  if (!is_open(name)) return;
  set(name, value);
  bases_[name] = "measured directly";
}

void Fit::fit(const MessageKeys& keys) {
  const Settings before = settings_;
  const auto bases = bases_;
  if (const Measured* posting = measured_.find(keys.place, "posting"))
    directly("post", posting->seconds / kNano);
  if (const Measured* eager = measured_.find(keys.place, "eager");
      eager != nullptr && is_open(keys.eager_limit)) {
    settings_.set(keys.eager_limit, {static_cast<double>(eager->bytes), {}});
    bases_[keys.eager_limit] = "measured directly";
  }
  fit_overhead(keys);
  const char* const bandwidth = bandwidth_of(keys);
  std::vector<std::string_view> shape = searched(keys);
  if (bandwidth != nullptr) std::erase(shape, bandwidth);
  // These values depend on each other.
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds; ++round) {
    fit_overhead(keys);
    fit_latency(keys);
    fit_rate(bandwidth, long_messages(keys.place));
    for (const std::string_view name : shape) {
      range_of(name) != nullptr ? search_value(keys, name) : search_size(keys, name);
    }
  }
  fit_latency(keys);
  fit_rate(bandwidth, long_messages(keys.place));
  std::erase_if(shape, [&](std::string_view name) {
    if (is_sharp(keys, name)) return false;
    settings_.set(name, {before.real(std::string(name)), {}});
    return true;
  });
  explain_bases(keys, bandwidth, shape);
  constexpr double kNotable = 0.05;
  const Measured& least = latency_figure(keys.place);
  const bool is_too_slow = shows_latency(keys.place) && modelled(least) > (1 + kNotable) * least.seconds;
  for (const char* const name : {bandwidth, is_too_slow ? keys.latency : nullptr}) {
    if (name == nullptr || !is_at_end(name)) continue;
    if (keys.place == kNetworkKeys.place) refuse(name);
    settings_.set(name, {before.real(name), {}});  // within a node, another rate was the slower one
    const auto known = bases.find(name);
    known != bases.end() ? (void)(bases_[name] = known->second) : (void)bases_.erase(name);
  }
}

/// Fits the processor's time per message: timed in the calls, or derived from the rate of short messages.
/// Send and receive together cannot take longer than the smallest message.
void Fit::fit_overhead(const MessageKeys& keys) {
  if (!is_open(keys.overhead) || is_full_node(keys.place)) return;
  constexpr double kLeast = 1;  // ns; 0 would select the NIC's value
  const double most = std::max(kLeast, smallest(keys.place).seconds / 2 / kNano);
  if (const Measured* sending = measured_.find(keys.place, "sending"))
    return directly(keys.overhead, std::min(sending->seconds / kNano, most));
  const Measured* fastest = nullptr;
  for (const Measured* one : rows(keys.place, "window")) {
    if (one->bytes <= kShort && (fastest == nullptr || one->seconds < fastest->seconds)) fastest = one;
  }
  if (fastest == nullptr) return;
  if (!bases_.contains(keys.overhead)) set(keys.overhead, std::min(fastest->seconds / kNano, most));
  const double missing = (fastest->seconds - modelled(*fastest)) / kNano;
  set(keys.overhead, std::clamp(settings_.real(keys.overhead) + missing, kLeast, most));
  bases_[keys.overhead] = fmt::format("fitted to the rate of messages of {}: {:+.1f} %",
                                      bytes_text(static_cast<double>(fastest->bytes)),
                                      100 * (modelled(*fastest) / fastest->seconds - 1));
}

void Fit::fit_latency(const MessageKeys& keys) {
  if (!is_open(keys.latency) || !shows_latency(keys.place)) return;
  set(keys.latency, kNoLatency);
  const Measured& least = latency_figure(keys.place);
  set(keys.latency, std::max(kNoLatency, (least.seconds - modelled(least)) / kNano));
}

/// A value at the end of its range is no result.
bool Fit::is_at_end(const char* name) const {
  constexpr double kNear = 1.01;
  const Parameter& parameter = *find_parameter(host_.parameters, name);
  const double value = settings_.real(name);
  return is_open(name) && (value <= kNear * std::max(kSlowest, parameter.minimum) ||
                           kNear * value >= std::min(kFastest, parameter.maximum));
}

void Fit::refuse(const char* name) const {
  throw Misuse{fmt::format(
      "the results between nodes do not fit the model: {} would be {:g} {}, the end of its range; if the "
      "ranks were on one node, use --from-node",
      name, settings_.real(name), find_parameter(host_.parameters, name)->unit)};
}

/// The key that long messages of one pair determine; null: none. If such a message is slower than the link
/// rate that several pairs determined, it determines the process's rate. Nothing takes the place of a given
/// link rate, and nothing but all ranks together determines a full node's rates.
const char* Fit::bandwidth_of(const MessageKeys& keys) {
  if (long_messages(keys.place).empty() || !is_open(keys.bandwidth)) return nullptr;
  if (keys.place == kNodeKeys.place)
    return is_full_node(keys.place) ? nullptr : is_buffered_at_length() ? kBufferCopies : keys.bandwidth;
  if (!bases_.contains(keys.bandwidth)) return keys.bandwidth;
  constexpr double kSame = 0.05;
  constexpr const char* kSlower = "process_bandwidth";
  const bool is_limited =
      has_rate_of_pairs(keys.place) && is_open(kSlower) && error_of(long_messages(keys.place)) < -kSame;
  return is_limited ? kSlower : nullptr;
}

/// Finds the value at which the mean logarithmic error is zero: all figures have the same weight.
void Fit::fit_rate(const char* name, const std::vector<const Measured*>& figures) {
  if (name == nullptr) return;
  double slow = kSlowest;
  double fast = kFastest;
  constexpr int kSteps = 40;
  for (int step = 0; step < kSteps; ++step) {
    const double middle = std::sqrt(slow * fast);
    settings_.set(name, {middle, {}});
    (error_of(figures) > 0 ? slow : fast) = middle;
  }
  set(name, std::sqrt(slow * fast));
}

/// The keys that these messages determine and no earlier figure has set.
std::vector<std::string_view> Fit::searched(const MessageKeys& keys) {
  std::vector<std::string_view> names;
  for (const std::string_view name :
       {std::string_view(keys.eager_limit), keys.shape[0], keys.shape[1], keys.shape[2]}) {
    // Protocols are those of the library; what a full node changes is the rate of copies.
    if (is_full_node(keys.place) && name != kBufferCopies) continue;
    if (!name.empty() && is_open(name) && !bases_.contains(name) && is_determined(keys, name))
      names.push_back(name);
  }
  return names;
}

/// True if another value would change the times of at least two messages.
bool Fit::is_determined(const MessageKeys& keys, std::string_view name) {
  constexpr double kNotable = 0.05;
  constexpr double kOther = 4;  // times its default
  const Settings before = settings_;
  std::vector<const Measured*> messages = transfers(keys.place);
  std::erase_if(messages, is_one_of_many);
  std::vector<double> seconds = modelled(messages);
  const double value = settings_.real(std::string(name));
  // For a protocol limit, compare all messages as rendezvous with all as eager.
  const bool is_limit = name == keys.eager_limit;
  if (is_limit) {
    settings_.set(name, {0, {}});
    seconds = modelled(messages);
  }
  settings_.set(
      name,
      {is_limit || value <= 0 ? static_cast<double>(is_limit ? kLongest : kLarge) : kOther * value, {}});
  int changed = 0;
  const std::vector<double> others = modelled(messages);
  for (std::size_t i = 0; i < messages.size(); ++i)
    changed += std::abs(others[i] / seconds[i] - 1) > kNotable ? 1 : 0;
  settings_ = before;
  return changed > 1;
}

/// True if long messages within a node go through a shared buffer.
bool Fit::is_buffered_at_length() {
  if (!is_open(kBufferCopies)) return false;
  constexpr double kSlow = 1;  // Gb/s
  const Settings before = settings_;
  const std::vector<double> seconds = modelled(long_messages(kNodeKeys.place));
  settings_.set(kBufferCopies, {kSlow, {}});
  const std::vector<double> slower = modelled(long_messages(kNodeKeys.place));
  settings_ = before;
  return slower.back() > 2 * seconds.back();
}

/// True if the best value is not at an end of its range, and the messages fit worse with half and with twice
/// of it. Otherwise another parameter has the same effect on them.
bool Fit::is_sharp(const MessageKeys& keys, std::string_view name) {
  const Range* const range = range_of(name);
  if (range == nullptr) return true;
  const double best = misfit(keys.place);
  const double value = settings_.real(std::string(name));
  constexpr double kNear = 1.02;
  if (value * kNear >= range->most || value <= range->least * kNear) return false;
  constexpr double kNotable = 0.01;  // root mean square
  const double worse = best + static_cast<double>(transfers(keys.place).size()) * kNotable * kNotable;
  bool is_sharp = true;
  for (const double factor : {0.5, 2.0}) {
    settings_.set(name, {factor * value, {}});
    is_sharp = is_sharp && misfit(keys.place) > worse;
  }
  settings_.set(name, {value, {}});
  return is_sharp;
}

/// Sets a limit to the measured size with the smallest misfit: messages up to it are sent one way, longer
/// ones the other. With very many sizes, tries a sample.
void Fit::search_size(const MessageKeys& keys, std::string_view name) {
  double best = std::numeric_limits<double>::infinity();
  double limit = 0;
  std::set<std::size_t> measured;
  for (const Measured* one : transfers(keys.place)) {
    if (!is_one_of_many(one)) measured.insert(one->bytes);
  }
  const std::vector<std::size_t> sizes(measured.begin(), measured.end());
  constexpr std::size_t kSome = 64;
  for (std::size_t i = 0; i < sizes.size(); i += 1 + sizes.size() / kSome) {
    const auto size = static_cast<double>(sizes[i]);
    settings_.set(name, {size, {}});
    const double error = misfit(keys.place);
    if (error < best) limit = size;
    best = std::min(best, error);
  }
  settings_.set(name, {limit, {}});
}

/// Searches a few values, then ever closer around the best.
void Fit::search_value(const MessageKeys& keys, std::string_view name) {
  const Range& range = *range_of(name);
  const auto scaled = [&](double value) { return range.is_rate ? std::exp(value) : value; };
  double low = range.is_rate ? std::log(range.least) : range.least;
  double high = range.is_rate ? std::log(range.most) : range.most;
  constexpr int kTurns = 5;
  constexpr int kValues = 9;
  double middle = low;
  for (int turn = 0; turn < kTurns; ++turn) {
    double best = std::numeric_limits<double>::infinity();
    const double step = (high - low) / (kValues - 1);
    for (int i = 0; i < kValues; ++i) {
      const double value = low + i * step;
      settings_.set(name, {scaled(value), {}});
      const double error = misfit(keys.place);
      if (error < best) middle = value;
      best = std::min(best, error);
    }
    low = std::max(low, middle - step);
    high = std::min(high, middle + step);
  }
  set(name, scaled(middle));
}

void Fit::explain_bases(const MessageKeys& keys, const char* bandwidth,
                        const std::vector<std::string_view>& names) {
  const Measured& least = latency_figure(keys.place);
  if (is_open(keys.latency) && shows_latency(keys.place))
    bases_[keys.latency] =
        fmt::format("fitted to messages of {}{}: {:+.1f} %", bytes_text(static_cast<double>(least.bytes)),
                    least.ranks > 2 ? fmt::format(", {} pairs", least.ranks / 2) : "",
                    100 * (modelled(least) / least.seconds - 1));
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  std::size_t largest = 0;
  const std::vector<const Measured*> longest = long_messages(keys.place);
  const std::vector<double> seconds = modelled(longest);
  for (std::size_t i = 0; i < longest.size(); ++i) {
    const double error = 100 * (seconds[i] / longest[i]->seconds - 1);
    low = std::min(low, error);
    high = std::max(high, error);
    largest = std::max(largest, longest[i]->bytes);
  }
  if (bandwidth != nullptr && !longest.empty())
    bases_[bandwidth] = fmt::format("fitted to messages of {} to {}: {:+.1f} to {:+.1f} %",
                                    bytes_text(kLarge), bytes_text(static_cast<double>(largest)), low, high);
  if (names.empty()) return;
  shaped_.emplace(keys.place);
  const std::size_t count = transfers(keys.place).size();
  const double error = 100 * std::sqrt(misfit(keys.place) / static_cast<double>(count));
  for (const std::string_view name : names)
    bases_[std::string(name)] =
        fmt::format("fitted to {} message times: root mean square {:.1f} %", count, error);
}

/// In seconds, like the measurement.
double Fit::modelled(const Measured& one) const {
  if (const auto kind = parse_operation(one.name)) return collective(one, *kind);
  const int pairs = std::max(1, one.ranks / 2);
  const ForecastSetting setting = setting_of(one.place == kNodeKeys.place ? 2 * pairs : pairs);
  const bool is_trip = one.name == "message" || one.name == "loaded";
  if (one.name == "exchange") {
    const std::unique_ptr<World> world = value_of(make_world(setting_of(one.ranks_per_node), one.ranks));
    return in_nanoseconds(exchange_around(*world, one.bytes)) * kNano;
  }
  const std::unique_ptr<World> world = value_of(make_world(setting, 2 * pairs));
  const Time time = is_trip ? half_round_trip(*world, one.bytes)
                            : message_in_window(*world, one.bytes, one.name == "both ways");
  return in_nanoseconds(time) * kNano;
}

double Fit::collective(const Measured& one, OperationKind kind) const {
  const ForecastSetting setting = setting_of(one.ranks_per_node);
  const Operation operation = operation_of(kind, one);
  const Time time = one.mean_of_all ? value_of(mean_of_calls(setting, operation))
                                    : value_of(forecast(setting, operation)).time;
  return time.nanoseconds() * kNano;
}

ForecastSetting Fit::setting_of(int ranks_per_node) const {
  return {host_, settings_, {}, MachineLayout{.ranks_per_node = ranks_per_node}};
}

std::vector<double> Fit::modelled(const std::vector<const Measured*>& figures) const {
  std::map<std::tuple<std::string_view, std::string_view, std::size_t, int, int>, double> known;
  std::vector<double> seconds;
  for (const Measured* one : figures) {
    const auto [found, is_new] =
        known.try_emplace({one->place, one->name, one->bytes, one->ranks, one->ranks_per_node}, 0.0);
    if (is_new) found->second = modelled(*one);
    seconds.push_back(found->second);
  }
  return seconds;
}

double Fit::misfit(std::string_view place) const {
  const std::vector<const Measured*> figures = transfers(place);
  const std::vector<double> seconds = modelled(figures);
  double sum = 0;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const double error = std::log(seconds[i] / figures[i]->seconds);
    sum += error * error;
  }
  return sum;
}

double Fit::error_of(const std::vector<const Measured*>& figures) const {
  const std::vector<double> seconds = modelled(figures);
  double sum = 0;
  for (std::size_t i = 0; i < figures.size(); ++i) sum += std::log(seconds[i] / figures[i]->seconds);
  return sum / static_cast<double>(figures.size());
}

}  // namespace offramp::tool
