// One row per key: its description, and the member that it sets (agreed<>, own<>). The set_*() functions
// accept a value only in the form that `offramp info` lists as allowed.
#include "lib/base/configuration/configuration_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>

#include "lib/base/configuration/straggler_text.hpp"
#include "lib/base/launched_job.hpp"
#include "lib/base/text_format.hpp"

namespace offramp {
namespace {

using std::string;
using std::string_view;

// The text that ranks compare. Enumerators are compared as numbers.
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
string plain(Bandwidth rate) {
  return plain(rate.count());
}
string plain(const Compute& compute) {
  return fmt::format("{} {} {}", static_cast<int>(compute.kind), compute.factor, compute.blocked);
}
string plain(const CallRange& calls) {
  return fmt::format("{}-{}", calls.first, calls.last);
}
string plain(const Noise& noise) {
  return fmt::format("{} {} {}", noise.period.count(), noise.length.count(), noise.jitter);
}
string plain(const SlowNodes& slow) {
  return fmt::format("{} {} {}", fmt::join(slow.nodes, ","), slow.drawn, slow.factor);
}

/// Sets a member by a function set(member, value). members: the path to it.
template <auto set, auto... members>
bool set_member(Target& target, const RawValue& value) {
  return set((target.all.*....*members), value);
}
template <auto set, auto member>
bool set_in_route(Target& target, const RawValue& value) {
  return set(target.route.*member, value);
}
template <auto... members>
string text_of(const Configuration& configuration) {
  return plain((configuration.*....*members));
}
/// For files that each rank writes or reads: whether there is one.
template <auto member>
string has_file(const Configuration& configuration) {
  return plain((configuration.*member).empty());
}

/// A value that must be equal on all ranks, one that may differ, and one of a route.
template <auto set, auto... members>
constexpr Binding agreed = {set_member<set, members...>, text_of<members...>};
template <auto set, auto... members>
constexpr Binding own = {set_member<set, members...>, nullptr};
template <auto set, auto member>
constexpr Binding of_route = {set_in_route<set, member>, nullptr};

// Numbers and booleans need quotes, so that a wrong type is noticed.
bool set_text(string& where, const RawValue& value) {
  if (value.type != RawValue::Type::kText) return false;
  where = value.text;
  return true;
}

// minimum and maximum are in the unit and inclusive.
bool set_real(double& where, const RawValue& value, double minimum, double maximum, string_view unit = "1") {
  const auto number = parse_quantity(value.text, unit);
  if (!number || *number < minimum || *number > maximum) return false;
  where = *number;
  return true;
}

bool set_probability(double& where, const RawValue& value) {
  return set_real(where, value, 0, 1);
}
bool set_seconds(double& where, const RawValue& value) {
  return set_real(where, value, 0, 1e9, "s");
}

template <typename Integer>
bool set_count(Integer& where, const RawValue& value, string_view unit) {
  double number = 0;
  if (!set_real(number, value, 0, std::min(0x1p53, static_cast<double>(std::numeric_limits<Integer>::max())),
                unit)) {
    return false;
  }
  where = static_cast<Integer>(number);
  // Rejects fractions.
  return static_cast<double>(where) == number;
}
template <typename Integer>
bool set_whole(Integer& where, const RawValue& value) {
  return set_count(where, value, "1");
}
bool set_bytes(std::size_t& where, const RawValue& value) {
  return set_count(where, value, "B");
}

constexpr int kMostRanks = 1'000'000;
constexpr int kMostParts = 64;  // per node

/// Sets a count of [machine].
template <int least, int most>
bool set_of_machine(int& where, const RawValue& value) {
  return set_whole(where, value) && where >= least && where <= most;
}

template <int least_nanoseconds>
bool set_time(Time& where, const RawValue& value) {
  double microseconds = 0;
  if (!set_real(microseconds, value, least_nanoseconds / 1e3, 1e9, "us")) return false;
  // Picoseconds, rounded.
  where = Time::ps(static_cast<std::int64_t>(microseconds * 1e6 + 0.5));
  return true;
}

bool set_nanoseconds(Time& where, const RawValue& value) {
  double nanoseconds = 0;
  if (!set_real(nanoseconds, value, 0, 1e9, "ns")) return false;
  where = Time::ps(static_cast<std::int64_t>(nanoseconds * 1e3 + 0.5));
  return true;
}

// The limits keep products of rates and times within 64 bits.
bool set_rate(Bandwidth& where, const RawValue& value) {
  double gigabits = 0;
  if (!set_real(gigabits, value, 1e-3, 1e5, "Gb/s")) return false;
  where = Bandwidth::bits_per_second(static_cast<std::int64_t>(gigabits * 1e9 + 0.5));
  return true;
}

// Not as a quantity: a double would lose the low bits.
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

/// One of several words.
template <typename Value>
bool set_choice(Value& where, const RawValue& value,
                std::initializer_list<std::pair<string_view, Value>> choices) {
  for (const auto& [word, meaning] : choices) {
    if (word == value.text) return where = meaning, true;
  }
  return false;
}

bool set_clock(Clock& where, const RawValue& value) {
  return set_choice(where, value,
                    {{"wall", Clock::kWall}, {"settled", Clock::kSettled}, {"model", Clock::kSettled}});
}

bool set_compute(Compute& where, const RawValue& value) {
  if (value.text == "none" || value.text == "measured") {
    where.kind = value.text == "none" ? Compute::Mode::kNone : Compute::Mode::kMeasured;
    where.factor = 1;
    return true;
  }
  where.kind = Compute::Mode::kFactor;
  return set_real(where.factor, value, 0x1p-40, 0x1p40);
}

bool set_blocked(double& where, const RawValue& value) {
  return set_real(where, value, 0, 0x1p40);
}

bool set_polling(Polling& where, const RawValue& value) {
  using enum Polling;
  return set_choice(where, value, {{"threshold", kThreshold}, {"work", kWork}, {"wait", kWait}});
}

bool set_reductions(Reductions& where, const RawValue& value) {
  return set_choice(where, value, {{"hardware", Reductions::kHardware}, {"native", Reductions::kNative}});
}

bool set_routing(Routing& where, const RawValue& value) {
  using enum Routing;
  return set_choice(where, value, {{"static", kStatic}, {"adaptive", kAdaptive}, {"valiant", kValiant}});
}

bool set_sharing(Sharing& where, const RawValue& value) {
  return set_choice(where, value, {{"trains", Sharing::kTrains}, {"fair", Sharing::kFair}});
}

bool set_joining(bool& joins, const RawValue& value) {
  return set_choice(joins, value, {{"join", true}, {"keep", false}});
}

/// Returns "" if the text resembles no topology; the message then lists all forms.
string why_no_topology(const string& text) {
  constexpr string_view kKinds[] = {"star", "fat-tree", "torus", "dragonfly"};
  const string_view kind = string_view(text).substr(0, text.find(':'));
  if (std::find(std::begin(kKinds), std::end(kKinds), kind) != std::end(kKinds)) return check_topology(text);
  const string_view close = closest(kind, kKinds);
  return close.empty() ? string()
                       : fmt::format("unknown topology {}; did you mean \"{}\"?", in_quotes(kind), close);
}

bool set_topology(string& where, const RawValue& value) {
  // A platform file is checked when the network is made.
  return set_text(where, value) && (is_platform_file(where) || check_topology(where).empty());
}

/// Keeps `is_aligned`, which another key sets.
bool set_noise(Noise& where, const RawValue& value) {
  const std::optional<Noise> noise = parse_noise(value.text);
  if (!noise) return false;
  const bool is_aligned = where.is_aligned;
  where = *noise;
  where.is_aligned = is_aligned;
  return true;
}

bool set_phase(bool& is_aligned, const RawValue& value) {
  return set_choice(is_aligned, value, {{"same", true}, {"random", false}});
}

bool set_slow_nodes(SlowNodes& where, const RawValue& value) {
  std::optional<SlowNodes> slow = parse_slow_nodes(value.text);
  if (slow) where = std::move(*slow);
  return slow.has_value();
}

bool set_operation(std::optional<OperationKind>& where, const RawValue& value) {
  where = parse_operation(value.text);
  return where.has_value() || value.text == "any";
}

// may_be_off: routes cannot lead to the MPI library.
bool set_backend(string& where, const RawValue& value, const Registry& registry, bool may_be_off) {
  where = value.text;
  return registry.find(value.text) != nullptr || (may_be_off && value.text == Configuration::kOff);
}

/// Parses names separated by commas, or "all".
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

constexpr string_view kOffOrBackends = "off, BACKENDS";
constexpr string_view kAPath = "a path in quotes; empty: none";

constexpr Row kRows[] = {
    {{"backend", "OFFRAMP_BACKEND", "host", true, kOffOrBackends, "hardware that carries the communication"},
     {[](Target& t, const RawValue& v) { return set_backend(t.all.backend, v, t.registry, true); },
      text_of<&Configuration::backend>}},
    {{"compare", "OFFRAMP_COMPARE", "", true, "all, or a list separated by commas: BACKENDS",
      "other hardware over which the run is simulated at its end, always with the host"},
     {[](Target& t, const RawValue& v) { return set_compared(t.all.compared, v, t.registry); },
      // Compares the resulting list, since "all" and a list may mean the same.
      [](const Configuration& c) { return fmt::format("{}", fmt::join(c.settled_backends(), ",")); }}},
    {{"clock", "OFFRAMP_CLOCK", "wall", true, "wall, settled, model",
      "time that MPI_Wtime returns: the machine's, or the modelled time of an earlier run (settled; model is "
      "an alias)"},
     agreed<set_clock, &Configuration::clock>},
    {{"times", "OFFRAMP_TIMES", "", true, kAPath,
      "with clock = settled: file of the times that MPI_Wtime returns; the first run writes it, the next "
      "ones read it"},
     {set_member<set_text, &Configuration::times>, has_file<&Configuration::times>}},
    {{"compute", "OFFRAMP_COMPUTE", "none", true, "none, measured, a factor above 0",
      "time between MPI calls in the model: none, as measured, or with the measured CPU time times a factor"},
     agreed<set_compute, &Configuration::compute>},
    {{"blocked", "OFFRAMP_BLOCKED", "1", true, "a factor from 0 on",
      "factor for the time between MPI calls in which the program is blocked, as by an accelerator or a "
      "file"},
     agreed<set_blocked, &Configuration::compute, &Compute::blocked>},
    {{"polling", "OFFRAMP_POLLING", "threshold", true, "work, wait, threshold",
      "time between failed polls (MPI_Test, MPI_Iprobe): work, wait, or threshold (waiting in gaps of up "
      "to 1 us, work in longer ones)"},
     agreed<set_polling, &Configuration::compute, &Compute::polling>},
    {{"reductions", "OFFRAMP_REDUCTIONS", "hardware", true, "hardware, native",
      "order of operands in reductions: the hardware's, or the MPI library's own, bit for bit"},
     agreed<set_reductions, &Configuration::reductions>},
    {{"summary", "OFFRAMP_SUMMARY", "true", false, "true, false",
      "print a summary on standard error at MPI_Finalize"},
     own<set_flag, &Configuration::summary>},
    {{"report", "OFFRAMP_REPORT", "", true, kAPath, "write a report in JSON at MPI_Finalize"},
     // With receipts, all ranks write into one report; otherwise only its existence must be equal.
     {set_member<set_text, &Configuration::report>,
      [](const Configuration& c) { return c.receipts.any() ? c.report : plain(c.report.empty()); }}},
    {{"record", "OFFRAMP_RECORD", "", true, kAPath,
      "record the program's MPI calls, without data, for offramp replay"},
     {set_member<set_text, &Configuration::record>, has_file<&Configuration::record>}},
    {{"record_parts", "OFFRAMP_RECORD_PARTS", "join", true, "join, keep",
      "with record: join the ranks' parts into one file, or keep them beside an index"},
     agreed<set_joining, &Configuration::joins_parts>},
    {{"certificate", "OFFRAMP_CERTIFICATE", "false", false, "true, false",
      "hash every call, its time, and its data for the report; reads all data once more"},
     own<set_flag, &Configuration::certificate>},
    {{"details", "OFFRAMP_DETAILS", "false", false, "true, false",
      "also report busy times of the hardware, the critical path, and where the time in MPI calls goes "
      "(takes longer)"},
     agreed<set_flag, &Configuration::details>},
    {{"trace", "OFFRAMP_TRACE", "", true, kAPath, "write a trace of modelled time for Perfetto"},
     agreed<set_text, &Configuration::trace>},
    {{"capture", "OFFRAMP_CAPTURE", "", true, kAPath,
      "write the modelled packets as pcap, one file per rank"},
     own<set_text, &Configuration::capture>},
    {{"receipts", "OFFRAMP_RECEIPTS", "none", true, "none, all, a call (127), a range (100-200)",
      "calls whose stages the report lists for offramp explain --call, counted per rank from 1"},
     agreed<set_calls, &Configuration::receipts>},
    {{"settle_limit", "OFFRAMP_SETTLE_LIMIT", "20000000", false, "a whole number from 0",
      "most events that MPI_Finalize simulates for the modelled times; a longer run leaves its recording "
      "beside the report, for offramp replay"},
     agreed<set_whole<std::uint64_t>, &Configuration::settle_limit>},
    {{"hang_timeout", "OFFRAMP_HANG_TIMEOUT", "0", false, "0 .. 1e9 s, or a time such as \"90s\"",
      "time without progress after which every rank prints what it waits for; 0: never", "s"},
     own<set_seconds, &Configuration::hang_timeout>},
    {{"plugin_path", "OFFRAMP_PLUGIN_PATH", "", true, "absolute paths separated by colons; empty: none",
      "folders of backend plugins (*.so)"},
     own<set_text, &Configuration::plugin_path>},
    {{"machine.nodes", "OFFRAMP_MACHINE_NODES", "0", false, "a whole number from 0 to 1e6",
      "nodes of the modelled machine, filled block by block; 0: as many as the ranks need"},
     agreed<set_of_machine<0, kMostRanks>, &Configuration::machine, &MachineOptions::nodes>},
    {{"machine.ranks_per_node", "OFFRAMP_MACHINE_RANKS_PER_NODE", "0", false, "a whole number from 0 to 1e6",
      "number of neighbouring ranks on each node; 0: ranks divided by machine.nodes, or 1 without it"},
     agreed<set_of_machine<0, kMostRanks>, &Configuration::machine, &MachineOptions::ranks_per_node>},
    {{"machine.sockets_per_node", "OFFRAMP_MACHINE_SOCKETS_PER_NODE", "1", false,
      "a whole number from 1 to 64",
      "sockets of a node, filled block by block; each has its share of the node's memory"},
     agreed<set_of_machine<1, kMostParts>, &Configuration::machine, &MachineOptions::sockets_per_node>},
    {{"machine.cards_per_node", "OFFRAMP_MACHINE_CARDS_PER_NODE", "1", false, "a whole number from 1 to 64",
      "NICs, FPGAs, or DPUs of a node, assigned to its ranks round-robin"},
     agreed<set_of_machine<1, kMostParts>, &Configuration::machine, &MachineOptions::cards_per_node>},
    {{"machine.links_per_card", "OFFRAMP_MACHINE_LINKS_PER_CARD", "1", false, "a whole number from 1 to 64",
      "network ports of a NIC or DPU, assigned to the ranks of the card round-robin"},
     agreed<set_of_machine<1, kMostParts>, &Configuration::machine, &MachineOptions::links_per_card>},
    {{"network.topology", "OFFRAMP_NETWORK_TOPOLOGY", "star", true,
      "star, fat-tree:DOWN[,DOWN...][:OVERSUBSCRIPTION], fat-tree:LEVELS;DOWN,...;UP,...;CABLES,..., "
      "torus:AxBx..., dragonfly:GROUPS:ROUTERS:NODES:GLOBAL, FILE.xml",
      "network between the nodes; in a star, only the nodes' own ports are shared"},
     agreed<set_topology, &Configuration::network, &NetworkOptions::topology>,
     why_no_topology},
    {{"network.link", "OFFRAMP_NETWORK_LINK", "100", false, "0.001 .. 100000 Gb/s",
      "rate of a link between switches, per direction", "Gb/s"},
     agreed<set_rate, &Configuration::network, &NetworkOptions::link>},
    {{"network.hop", "OFFRAMP_NETWORK_HOP", "150", false, "0 .. 1e9 ns, or a time such as \"1us\"",
      "latency that each further switch and its cable add to a route; assumed", "ns"},
     agreed<set_nanoseconds, &Configuration::network, &NetworkOptions::hop>},
    {{"network.routing", "OFFRAMP_NETWORK_ROUTING", "static", true, "static, adaptive, valiant",
      "static: by destination (fat tree: D-mod-k; torus: dimension order; dragonfly: minimal); adaptive: the "
      "upward link that is free first (fat tree); valiant: through a random group (dragonfly)"},
     agreed<set_routing, &Configuration::network, &NetworkOptions::routing>},
    {{"network.sharing", "OFFRAMP_NETWORK_SHARING", "trains", true, "trains, fair",
      "how messages share a link: trains of 16 KiB, first come first served, or max-min fairness"},
     agreed<set_sharing, &Configuration::network, &NetworkOptions::sharing>},
    {{"network.placement", "OFFRAMP_NETWORK_PLACEMENT", "order", true,
      "order, scattered, random, random:SEED, list:A,B,...", "nodes of the network that the program runs on"},
     agreed<set_text, &Configuration::network, &NetworkOptions::placement>},
    {{"network.seed", "OFFRAMP_NETWORK_SEED", "0", false, "a whole number from 0",
      "seed of the groups that valiant routing chooses"},
     agreed<set_seed, &Configuration::network, &NetworkOptions::seed>},
    {{"stragglers.noise", "OFFRAMP_STRAGGLERS_NOISE", "none", true,
      "none, PERIOD:LENGTH, PERIOD:LENGTH:JITTER, times in us or with a unit (\"1ms:25us\"), LENGTH up to "
      "0.99 of PERIOD, JITTER 0 .. 1",
      "operating system noise: each rank loses its processor for LENGTH once per PERIOD"},
     agreed<set_noise, &Configuration::stragglers, &StragglerOptions::noise>},
    {{"stragglers.noise_phase", "OFFRAMP_STRAGGLERS_NOISE_PHASE", "random", true, "random, same",
      "start of the noise: random for each rank, or the same for all"},
     agreed<set_phase, &Configuration::stragglers, &StragglerOptions::noise, &Noise::is_aligned>},
    {{"stragglers.slow_nodes", "OFFRAMP_STRAGGLERS_SLOW_NODES", "none", true,
      "none, A,B-C,...:FACTOR, random:N:FACTOR, FACTOR 1 .. 1000",
      "nodes that compute more slowly, by FACTOR: these nodes, or N random ones"},
     agreed<set_slow_nodes, &Configuration::stragglers, &StragglerOptions::slow>},
    {{"stragglers.seed", "OFFRAMP_STRAGGLERS_SEED", "0", false, "a whole number from 0",
      "seed of the random choices of stragglers; the same seed gives the same times"},
     agreed<set_seed, &Configuration::stragglers, &StragglerOptions::seed>},
    {{"faults.seed", "OFFRAMP_FAULTS_SEED", "0", false, "a whole number from 0",
      "seed of the faults; the same seed gives the same faults on every run"},
     agreed<set_seed, &Configuration::faults, &FaultRates::seed>},
    {{"faults.loss", "OFFRAMP_FAULTS_LOSS", "0", false, "0 .. 1", "the probability that a packet is lost"},
     agreed<set_probability, &Configuration::faults, &FaultRates::loss>},
    {{"faults.duplication", "OFFRAMP_FAULTS_DUPLICATION", "0", false, "0 .. 1",
      "the probability that a packet arrives twice"},
     agreed<set_probability, &Configuration::faults, &FaultRates::duplication>},
    {{"faults.reordering", "OFFRAMP_FAULTS_REORDERING", "0", false, "0 .. 1",
      "the probability that a packet is overtaken by the next"},
     agreed<set_probability, &Configuration::faults, &FaultRates::reordering>},
    {{"faults.corruption", "OFFRAMP_FAULTS_CORRUPTION", "0", false, "0 .. 1",
      "the probability that a packet arrives damaged and is dropped because of its checksum"},
     agreed<set_probability, &Configuration::faults, &FaultRates::corruption>},
    {{"faults.delay", "OFFRAMP_FAULTS_DELAY", "0", false, "0 .. 1",
      "the probability that a packet, with those behind it, is delayed"},
     agreed<set_probability, &Configuration::faults, &FaultRates::delay>},
    {{"faults.delay_time", "OFFRAMP_FAULTS_DELAY_TIME", "10", false, "0 .. 1e9 us, or a time such as \"2ms\"",
      "length of such a delay", "us"},
     agreed<set_time<0>, &Configuration::faults, &FaultRates::delay_time>},
    {{"faults.outage", "OFFRAMP_FAULTS_OUTAGE", "0", false, "0 .. 1",
      "the probability that a link is down in both directions for one outage_time"},
     agreed<set_probability, &Configuration::faults, &FaultRates::outage>},
    {{"faults.outage_time", "OFFRAMP_FAULTS_OUTAGE_TIME", "100", false,
      "0.001 .. 1e9 us, or a time such as \"2ms\"", "length of an outage", "us"},
     agreed<set_time<1>, &Configuration::faults, &FaultRates::outage_time>},
    {{"faults.script", "OFFRAMP_FAULTS_SCRIPT", "", true, "lines such as lose 0>1 packet 3, or @ and a path",
      "faults at given packets or times: see docs/reliability.md"},
     agreed<set_text, &Configuration::fault_script>},
    {{"faults.record", "OFFRAMP_FAULTS_RECORD", "", true, kAPath,
      "write every fault as a script that reproduces it"},
     agreed<set_text, &Configuration::fault_record>},
    {{"route.operation", "", "any", true,
      "any, send, bcast, reduce, gather, allreduce, scatter, allgather, reduce_scatter, alltoall, barrier, "
      "scan, exscan, gatherv, scatterv, allgatherv, reduce_scatterv, alltoallv",
      "the operations that this route applies to"},
     of_route<set_operation, &Route::operation>},
    {{"route.min_bytes", "", "0", false, "a size in bytes, or \"64K\", \"1MiB\"", "the smallest message",
      "B"},
     of_route<set_bytes, &Route::min_bytes>},
    {{"route.max_bytes", "", "\"1GiB\"", false, "a size in bytes, or \"64K\", \"1MiB\"",
      "the largest message; by default any", "B"},
     of_route<set_bytes, &Route::max_bytes>},
    {{"route.min_ranks", "", "0", false, "a whole number", "the smallest communicator"},
     of_route<set_whole<int>, &Route::min_ranks>},
    {{"route.max_ranks", "", "1024", false, "a whole number", "the largest communicator; by default any"},
     of_route<set_whole<int>, &Route::max_ranks>},
    {{"route.backend", "", "host", true, kBackends, "the backend that carries them; required"},
     {[](Target& t, const RawValue& v) { return set_backend(t.route.backend, v, t.registry, false); }}},
    {{"", "OFFRAMP_CONFIG", "", false, "the path of a file",
      "read settings from this file instead of ./offramp.toml"},
     {}},
    {{"", "OFFRAMP_OPTIONS", "", false, "VARIABLE=OPTION, separated by commas",
      "set by offramp run for the report: the options that its variables come from"},
     {}},
    {{"", kCarriedVariable, "", false, "the path of a file",
      "set by offramp run: the file in which each rank announces that it is carried"},
     {}},
};

}  // namespace

std::span<const Row> configuration_rows() {
  return kRows;
}

const Row* find_row(string_view path) {
  const auto* row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.path == path; });
  // Keys without a path share the empty one.
  return row == std::end(kRows) || path.empty() ? nullptr : row;
}

bool is_section(string_view name) {
  return name == "faults" || name == "machine" || name == "network" || name == "route" ||
         name == "stragglers";
}

string_view section_of(string_view path) {
  const auto dot = path.find('.');
  return dot == string_view::npos ? string_view() : path.substr(0, dot);
}

}  // namespace offramp
