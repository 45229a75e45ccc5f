#include "lib/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "lib/configuration/names.hpp"
#include "lib/report/call_sites.hpp"
#include "lib/report/carried.hpp"
#include "lib/report/settled.hpp"
#include "lib/report/words.hpp"
#include "offramp/version.hpp"

namespace offramp {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kDependenceNames[] = {"any_source", "polling", "choice"};
static_assert(std::size(kDependenceNames) == static_cast<std::size_t>(Dependence::kCount));
constexpr const char* kSizeKinds[] = {"send", "receive", "collective"};
static_assert(std::size(kSizeKinds) == SizeTable::kKinds);

// Times are whole picoseconds inside; reports give nanoseconds with three decimals, which loses nothing below
// 2^53 ps (two and a half hours), and the exact count beside the total.
double nanoseconds(std::int64_t picoseconds) {
  return static_cast<double>(picoseconds) / 1000;
}

std::string hex(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

/// Reasons may come from a plugin, in whatever encoding, and JSON is UTF-8.
std::string to_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// --- one rank ---

Json call_json(const CallCounter& c) {
  return {{"count", c.count},
          {"bytes", c.bytes},
          {"offloaded", c.offloaded},
          {"declined", c.declined},
          {"routed", c.routed},
          {"native", c.native},
          {"modelled_ps", c.modelled.count()}};
}

Json sizes_json(const SizeTable& table) {
  Json sizes = Json::array();
  for (std::size_t kind = 0; kind < SizeTable::kKinds; ++kind) {
    for (std::size_t i = 0; i < SizeTable::kClasses; ++i) {
      const SizeTable::Entry& entry = table.entry(kind, i);
      if (entry.count == 0) continue;
      // The class of i bits ends before 2^i; 63 bits are more than any message has.
      const std::uint64_t minimum = i == 0 ? 0 : std::uint64_t{1} << (i - 1);
      sizes.push_back({{"kind", kSizeKinds[kind]},
                       {"min_bytes", minimum},
                       {"max_bytes", minimum + (i < 2 ? 0 : minimum - 1)},
                       {"count", entry.count},
                       {"bytes", entry.bytes},
                       {"modelled_ps", entry.modelled.count()}});
    }
  }
  return sizes;
}

Json units_json(const UnitTimes& times) {
  Json units = Json::array();
  for (const UnitTimes::Unit& unit : times.units())
    units.push_back({{"unit", unit.name},
                     {"spans", unit.spans},
                     {"busy_ps", unit.busy.count()},
                     {"in_use_ps", unit.in_use.total().count()}});
  return units;
}

Json wire_json(const WireCounters& wire) {
  return {{"packets", wire.packets},
          {"payload_bytes", wire.payload_bytes},
          {"wire_bytes", wire.wire_bytes},
          {"retransmissions", wire.retransmissions},
          {"lost", wire.lost},
          {"duplicated", wire.duplicated},
          {"reordered", wire.reordered},
          {"rerouted", wire.rerouted},
          {"corrupted", wire.corrupted},
          {"delayed", wire.delayed}};
}

/// Of one rank over one backend. name(i): of the function that the counters number i.
template <typename Name>
Json lane_json(const std::string& backend, Time clock, const Counters& counters, Name name) {
  Json calls = Json::object();
  for (std::size_t i = 0; i < counters.calls.size(); ++i) {
    if (counters.calls[i].count > 0) calls[name(i)] = call_json(counters.calls[i]);
  }
  Json declines = Json::array();
  for (const auto& [what, count] : counters.declines)
    declines.push_back({{"operation", to_string(what.first)}, {"reason", what.second}, {"count", count}});
  return {{"backend", backend},        {"modelled_ps", clock.count()},
          {"calls", std::move(calls)}, {"declines", std::move(declines)},
          {"wire", Json::object()},    {"given_up", counters.given_up},
          {"sizes", Json::array()},    {"units", Json::array()}};
}

/// As the rank itself saw it: with times if it has a live clock.
Json live_json(Engine& engine, const char* const* names) {
  const Lane& lane = engine.lane();
  const ModelClock* const clock = engine.clock();
  Json out = lane_json(lane.name(), clock != nullptr ? clock->now : Time(), lane.counters,
                       [&](std::size_t i) { return names[i]; });
  out["wire"] = wire_json(lane.wire());
  return out;
}

/// As a world saw it.
Json settled_json(const Settled& settled, std::size_t rank) {
  const ReplayResult& result = *settled.result;
  const ReplayedRank& one = result.ranks[rank];
  Json out = lane_json(settled.backend, one.clock, one.counters,
                       [&](std::size_t i) -> const std::string& { return result.functions[i]; });
  out["carried_ps"] = one.counters.times.carried.count();
  out["routed_ps"] = one.counters.times.routed.count();
  out["declined_ps"] = one.counters.times.declined.count();
  if (rank == 0) out["wire"] = wire_json(result.wire);  // of all ranks
  if (one.sizes != nullptr) out["sizes"] = sizes_json(*one.sizes);
  if (one.units != nullptr) out["units"] = units_json(*one.units);
  if (one.certificate != 0) out["certificate"] = hex(one.certificate);
  return out;
}

/// A rank's calls over one backend: how often, how many bytes and what the MPI library carried are the
/// program's, whatever the hardware; the rest is the world's.
Json settled_calls(const Json& live, const Json& settled) {
  Json calls = live;
  for (auto& [name, call] : calls.items()) {
    for (const char* key : {"offloaded", "declined", "routed", "modelled_ps"})
      call[key] = settled.contains(name) ? settled.at(name).at(key) : Json(0);
  }
  return calls;
}

Json places_json(const Engine& engine, const char* const* names, const RankNotes& notes) {
  Json places = Json::array();
  for (const auto& [place, times] : engine.places().entries()) {
    const CallSite site = call_site(place.site);
    const bool named = place.context != ArrivalPlace::kNoContext && notes.communicator_name != nullptr;
    places.push_back({{"call", names[place.function]},
                      {"communicator", named ? notes.communicator_name(place.context) : std::string()},
                      {"object", site.object},
                      {"offset", site.offset},
                      {"symbol", site.symbol},
                      {"times", times}});
  }
  return places;
}

// --- sums over ranks ---

std::uint64_t whole(const Json& json, const std::string& key) {
  return json.at(key).get<std::uint64_t>();
}
std::int64_t time_of(const Json& json, const std::string& key) {
  return json.at(key).get<std::int64_t>();
}

void add_to(Json& sum, const Json& part, std::initializer_list<const char*> keys) {
  for (const char* key : keys) sum[key] = whole(sum, key) + whole(part, key);
}

/// Adds a row to a table, or to the row that agrees with it in the naming keys.
void add_row(Json& table, const Json& row, std::initializer_list<const char*> names,
             std::initializer_list<const char*> sums) {
  const auto same = std::find_if(table.begin(), table.end(), [&](const Json& other) {
    return std::all_of(names.begin(), names.end(),
                       [&](const char* name) { return other.at(name) == row.at(name); });
  });
  if (same == table.end()) {
    table.push_back(row);
  } else {
    add_to(*same, row, sums);
  }
}

void add_calls(Json& total, const Json& calls) {
  for (const auto& [name, call] : calls.items()) {
    Json& sum = total[name];
    if (sum.is_null())
      sum = {{"count", 0},  {"bytes", 0},  {"offloaded", 0},    {"declined", 0},
             {"routed", 0}, {"native", 0}, {"modelled_ns", 0.0}};
    add_to(sum, call, {"count", "bytes", "offloaded", "declined", "routed", "native"});
    sum["modelled_ns"] = sum["modelled_ns"].get<double>() + nanoseconds(time_of(call, "modelled_ps"));
  }
}

std::int64_t communication(const Json& calls) {
  std::int64_t sum = 0;
  for (const auto& [name, call] : calls.items()) sum += time_of(call, "modelled_ps");
  return sum;
}

void add_wire(Json& total, const Json& wire) {
  for (const auto& [key, value] : wire.items())
    total[key] = (total.contains(key) ? whole(total, key) : 0) + value.get<std::uint64_t>();
}

/// The part of the report that is about one lane. ranks: the contributions by rank.
void add_lane(Json& report, const std::vector<std::pair<std::size_t, Json>>& ranks, std::size_t lane) {
  std::int64_t latest = 0;
  std::int64_t longest = 0;
  std::int64_t carried = 0;
  std::int64_t routed = 0;
  std::int64_t declined = 0;
  std::uint64_t given_up = 0;
  std::string certificates;
  Json calls = Json::object();
  Json declines = Json::array();
  Json wire = Json::object();
  Json sizes = Json::array();
  Json units = Json::array();
  Json each = Json::array();
  report["backend"] = "";
  for (const auto& [number, rank] : ranks) {
    const Json& part = rank.at("lanes").at(lane);
    report["backend"] = part.at("backend");
    const std::int64_t modelled = time_of(part, "modelled_ps");
    const std::int64_t inside = communication(part.at("calls"));
    latest = std::max(latest, modelled);
    longest = std::max(longest, inside);
    if (part.contains("carried_ps")) {
      carried += time_of(part, "carried_ps");
      routed += time_of(part, "routed_ps");
      declined += time_of(part, "declined_ps");
    }
    given_up += whole(part, "given_up");
    add_calls(calls, part.at("calls"));
    for (const Json& row : part.at("declines")) add_row(declines, row, {"operation", "reason"}, {"count"});
    for (const Json& row : part.at("sizes"))
      add_row(sizes, row, {"kind", "min_bytes", "max_bytes"}, {"count", "bytes", "modelled_ps"});
    for (const Json& row : part.at("units")) add_row(units, row, {"unit"}, {"spans", "busy_ps", "in_use_ps"});
    add_wire(wire, part.at("wire"));
    Json one = {{"rank", number},
                {"modelled_time_ns", nanoseconds(modelled)},
                {"modelled_time_ps", modelled},
                {"communication_ps", inside},
                {"arrival_order_dependences", rank.at("arrival_order_dependences")}};
    if (part.contains("certificate")) {
      one["certificate"] = part.at("certificate");
      certificates += part.at("certificate").get<std::string>();
    }
    one["calls"] = part.at("calls");
    each.push_back(std::move(one));
  }
  report["modelled_time_ns"] = nanoseconds(latest);
  report["modelled_time_ps"] = latest;
  report["communication_ps"] = longest;
  if (carried + routed + declined > 0) {
    report["carried_ps"] = carried;
    report["routed_ps"] = routed;
    report["declined_ps"] = declined;
  }
  if (!certificates.empty())
    report["certificate"] =
        hex(Certificate::digest(std::as_bytes(std::span(certificates.data(), certificates.size()))));
  report["calls"] = std::move(calls);
  report["declines"] = std::move(declines);
  report["given_up"] = given_up;
  report["wire"] = std::move(wire);
  report["sizes"] = std::move(sizes);
  report["units"] = std::move(units);
  report["each_rank"] = std::move(each);
}

constexpr std::size_t kMostPlaces = 64;  // in a report

/// All ranks' places together, those with the most first.
class PlaceSum {
 public:
  void add(const Json& rank) {
    for (const Json& row : rank.at("places"))
      add_row(rows_, row, {"call", "communicator", "object", "offset", "symbol"}, {"times"});
    elsewhere_ += whole(rank, "elsewhere");
  }
  Json take() {
    const std::size_t count = rows_.size();
    std::stable_sort(rows_.begin(), rows_.end(), [](const Json& a, const Json& b) {
      return whole(a, "times") != whole(b, "times") ? whole(a, "times") > whole(b, "times")
                                                    : a.dump() < b.dump();
    });
    for (std::size_t i = kMostPlaces; i < count; ++i) elsewhere_ += whole(rows_[i], "times");
    if (count > kMostPlaces) rows_.erase(rows_.begin() + kMostPlaces, rows_.end());
    return {{"count", count}, {"most", std::move(rows_)}, {"elsewhere", elsewhere_}};
  }

 private:
  Json rows_ = Json::array();
  std::uint64_t elsewhere_ = 0;
};

std::string count_of_places(std::uint64_t count) {
  return counted(count, "place") + " of the program";
}

/// The lines of the summary.
std::string places_text(const Json& report) {
  const Json& places = report.at("arrival_order_places");
  std::string out = fmt::format(
      "offramp: the modelled time depends on arrival order or polling at {}, {}{}:\n",
      count_of_places(whole(places, "count")), counted(whole(report, "arrival_order_dependences"), "time"),
      places.at("most").size() > kShownPlaces ? "; those with the most" : "");
  for (std::size_t i = 0; i < std::min(kShownPlaces, places.at("most").size()); ++i) {
    const Json& row = places.at("most")[i];
    const auto text = [&row](const char* key) { return row.at(key).get<std::string>(); };
    out +=
        fmt::format("offramp: {}\n",
                    place_text(whole(row, "times"), text("call"), printable(text("communicator")),
                               printable(to_string({text("object"), whole(row, "offset"), text("symbol")}))));
  }
  return out;
}

/// What the reader of a comparison has to know.
void add_comparison_warnings(const Json& report, Json& warnings) {
  if (const std::uint64_t n = whole(report, "clock_reads"); n > 0)
    warnings.push_back(fmt::format(
        "the program read the modelled clock {} and saw that of {}; what it did then may differ in a "
        "run over other hardware",
        counted(n, "time"), report.at("backend").get<std::string>()));
  if (const std::uint64_t n = whole(report, "arrival_order_dependences"); n > 0)
    warnings.push_back(
        fmt::format("at {} it looked {} at which message came first, or whether one had come; all "
                    "backends are given the same answer, and a run over other hardware may see another",
                    count_of_places(whole(report.at("arrival_order_places"), "count")), counted(n, "time")));
}

/// One row for each machine, with its number of ranks.
void add_host(Json& hosts, const Json& host) {
  Json row = host;
  row["ranks"] = 1;
  add_row(hosts, row, {"name", "cpu", "cores"}, {"ranks"});
}

/// The report is of a run that did not come to MPI_Finalize, or of a replay of part of one.
void add_untimely_end(Json& report, Json& warnings, std::string text,
                      const std::map<std::string, std::vector<std::size_t>>& ended,
                      const std::vector<std::size_t>& missing) {
  report["complete"] = false;
  Json& list = report["ended"] = Json::array();
  for (const auto& [reason, ranks] : ended) {
    text += fmt::format("; {}: {}", ranks_text(ranks), reason);
    list.push_back({{"ranks", ranks}, {"reason", reason}});
  }
  if (!missing.empty()) text += fmt::format("; nothing is known of {}", ranks_text(missing));
  report["missing"] = missing;
  warnings.insert(warnings.begin(), text);
}

Json recordings_json(const std::vector<RecordingFacts>& recordings) {
  Json all = Json::array();
  for (const RecordingFacts& one : recordings)
    all.push_back({{"file", one.file}, {"checksum", one.checksum}, {"date", one.date}, {"host", one.host}});
  return all;
}

std::string setting(const Configuration& configuration) {
  switch (configuration.compute.kind) {
    case Compute::Kind::kNone:
      return "none";
    case Compute::Kind::kMeasured:
      return "measured";
    case Compute::Kind::kFactor:
      break;
  }
  return fmt::format("{}", configuration.compute.factor);
}

std::uint64_t operations_of(const Json& call) {
  return whole(call, "offloaded") + whole(call, "declined") + whole(call, "routed") + whole(call, "native");
}

CarriedTime carried_time(const Json& lane) {
  if (!lane.contains("carried_ps")) return {};
  return {static_cast<double>(time_of(lane, "carried_ps")), static_cast<double>(time_of(lane, "routed_ps")),
          static_cast<double>(time_of(lane, "declined_ps"))};
}

std::string not_carried_text(const Json& lane) {
  return not_carried_text(
      lane.at("backend").get<std::string>(), carried_time(lane),
      main_reason(
          lane.at("declines"), [](const Json& decline) { return whole(decline, "count"); },
          [](const Json& decline) { return decline.at("reason").get<std::string>(); }));
}

/// Calls and operations are not the same number: which functions make more than one of each, or none.
std::string why_not_one_each(const Json& calls) {
  std::vector<std::string> several;
  std::vector<std::string> none;
  for (const auto& [name, call] : calls.items()) {
    const std::uint64_t operations = operations_of(call);
    if (operations > whole(call, "count")) several.push_back(name);
    if (operations == 0) none.push_back(name);
  }
  std::vector<std::string> parts;
  const auto add = [&parts](const std::vector<std::string>& names, const char* how_many) {
    if (names.empty()) return;
    const bool one = names.size() == 1;
    parts.push_back(
        fmt::format("{}{} {} {}", names.front(), one ? "" : " and others", one ? "makes" : "make", how_many));
  };
  add(several, "several");
  add(none, "none");
  return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", "));
}

/// Every lane on a line, against the host.
std::string comparison(const Json& report) {
  std::vector<const Json*> lanes = {&report};
  for (const Json& lane : report.at("compared")) lanes.push_back(&lane);
  std::int64_t host = 0;
  Footing ground;
  for (const Json* lane : lanes) {
    if (lane->at("backend") != "host") continue;
    host = time_of(*lane, "communication_ps");
    ground = footing_of(*lane);
  }
  std::string out = "offramp: the same run over other hardware, longest time in MPI calls of a rank:\n";
  std::string notes;
  for (const Json* lane : lanes) {
    const std::int64_t time = time_of(*lane, "communication_ps");
    const bool is_host = lane->at("backend") == "host" || host == 0;
    const CarriedTime carried = carried_time(*lane);
    const std::string against =
        is_host || !carried.carries_program()
            ? ""
            : fmt::format("{} of host", ratio_text(static_cast<double>(time), static_cast<double>(host)));
    const auto backend = lane->at("backend").get<std::string>();
    out += fmt::format("offramp: {:>12} {:>12} {:>15}  {:>7} of the time carried by it\n", backend,
                       time_text(nanoseconds(time)), against, carried.text());
    if (!carried.carries_program()) {
      notes += fmt::format("offramp: {}\n", not_carried_text(*lane));
    } else if (const std::string other = other_ground_text(footing_of(*lane), ground); !other.empty()) {
      notes += fmt::format("offramp: {}: {}\n", backend, other);
    }
  }
  if (!ground.text.empty()) notes += fmt::format("offramp: host stands on {}\n", ground.text);
  return out + notes;
}

/// Which functions take the time, and how evenly the ranks spend it.
std::string time_spent(const Json& report) {
  std::vector<std::pair<double, std::string>> calls;
  double all = 0;
  for (const auto& [name, call] : report.at("calls").items()) {
    calls.emplace_back(call.at("modelled_ns").get<double>(), name);
    all += calls.back().first;
  }
  if (all <= 0) return "";
  constexpr std::size_t kNamed = 3;
  std::stable_sort(calls.begin(), calls.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string most;
  for (std::size_t i = 0; i < std::min(kNamed, calls.size()) && calls[i].first > 0; ++i)
    most +=
        fmt::format("{}{} {}", most.empty() ? "" : ", ", calls[i].second, percent_text(calls[i].first, all));
  std::int64_t first = time_of(report, "modelled_time_ps");
  for (const Json& rank : report.at("each_rank")) first = std::min(first, time_of(rank, "modelled_time_ps"));
  return fmt::format("offramp: time in MPI calls: {}; the first rank ends after {}\n", most,
                     time_text(nanoseconds(first)));
}

/// Both answers where the program's computing is known: the times above are those of its communication alone.
std::string whole_run_text(const Json& report) {
  if (!report.contains("computing") || !report.contains("whole_run")) return {};
  const Json& computing = report.at("computing");
  const Json& run = report.at("whole_run");
  const auto picoseconds = [](const Json& json, const char* key) {
    return static_cast<double>(time_of(json, key));
  };
  const auto backend = report.at("backend").get<std::string>();
  const double ranks = std::max(1.0, static_cast<double>(whole(report, "ranks")));
  std::string out = fmt::format(
      "offramp: with the program's computing ({} a rank, the longest {} of the mean) the run takes {}; {}\n",
      time_text(picoseconds(computing, "sum_ps") / ranks / 1000),
      ratio_text(picoseconds(computing, "largest_ps") * ranks, picoseconds(computing, "sum_ps")),
      time_text(nanoseconds(time_of(run, "end_ps"))),
      share_in_calls_text(backend, picoseconds(run, "in_calls_ps"), picoseconds(run, "sum_ps"),
                          picoseconds(computing.at("free_run"), "in_calls_ps")));
  for (const Json& other : report.at("compared")) {
    if (!other.contains("whole_run") || !carried_time(other).carries_program()) continue;
    const double end = picoseconds(other.at("whole_run"), "end_ps");
    out +=
        fmt::format("offramp: the run over {} takes {}, {} of {}\n", other.at("backend").get<std::string>(),
                    time_text(end / 1000), ratio_text(end, picoseconds(run, "end_ps")), backend);
  }
  if (computing.contains("between_questions"))
    out += fmt::format("offramp: {}\n", computing.at("between_questions").get<std::string>());
  return out;
}

Json dependences_json(const Counters& counters) {
  Json dependences = Json::object();
  for (std::size_t i = 0; i < counters.dependences.size(); ++i)
    dependences[kDependenceNames[i]] = counters.dependences[i];
  return dependences;
}

/// What rank_report says, of a rank that was not live.
Json rank_of_replay(const std::vector<Settled>& settled, std::size_t rank) {
  const ReplayResult& result = *settled.front().result;
  const Counters& counters = result.ranks[rank].counters;
  Json json = {{"arrival_order_dependences", counters.arrival_order_dependences()},
               {"dependences", dependences_json(counters)},
               {"places", Json::array()},
               {"elsewhere", 0},
               {"clock_reads", 0},
               {"malformed_messages", 0},
               {"timed", false},
               {"live", settled_json(settled.front(), rank)}};
  const auto early =
      std::lower_bound(result.unfinished.begin(), result.unfinished.end(), static_cast<int>(rank),
                       [](const UnfinishedRank& one, int number) { return one.rank < number; });
  if (early != result.unfinished.end() && early->rank == static_cast<int>(rank)) json["ended"] = early->why;
  return json;
}

/// The ranks' contributions, as far as they can be read, and what they add up to.
struct Gathered {
  std::vector<std::pair<std::size_t, Json>> readable;
  std::map<std::string, std::vector<std::size_t>> ended;  // by reason
  std::vector<std::size_t> missing;
  Json warnings = Json::array();
  Json dependences = Json::object();
  std::uint64_t dependence_sum = 0;
  PlaceSum places;
  std::uint64_t clock_reads = 0;
  bool timed = false;  // by live clocks
  std::string data;
  Json hosts = Json::array();

  void add(std::size_t number, const std::string& text) {
    if (text.empty()) return missing.push_back(number);
    try {
      add(number, Json::parse(text));
    } catch (const Json::exception& e) {
      warnings.push_back(fmt::format("the contribution of rank {} is not readable: {}", number, e.what()));
    }
  }
  /// Throws, and has added nothing, where something is missing.
  void add(std::size_t number, Json rank) {
    Json trial = rank;
    trial["lanes"] = Json::array({rank.at("live")});
    Json report;
    add_lane(report, {{number, trial}}, 0);
    Json depends = dependences;
    add_wire(depends, rank.at("dependences"));
    PlaceSum with = places;
    with.add(rank);
    const std::uint64_t times = whole(rank, "arrival_order_dependences");
    const std::uint64_t reads = whole(rank, "clock_reads");
    const std::uint64_t malformed = whole(rank, "malformed_messages");
    const bool has_clock = rank.value("timed", false);
    const std::string digest = rank.contains("data") ? rank.at("data").get<std::string>() : "";
    if (rank.contains("ended")) ended[rank.at("ended").get<std::string>()].push_back(number);
    if (rank.contains("host")) add_host(hosts, rank.at("host"));
    dependences = std::move(depends);
    places = std::move(with);
    dependence_sum += times;
    clock_reads += reads;
    timed = timed || has_clock;
    data += digest;
    if (malformed > 0)
      warnings.push_back(fmt::format("rank {} dropped {}", number, counted(malformed, "malformed message")));
    readable.emplace_back(number, std::move(rank));
  }
};

/// What each rank did over each backend that has a result; without the first one's, live.
void settle_ranks(Gathered& gathered, const std::vector<Settled>& settled) {
  for (auto& [number, rank] : gathered.readable) {
    Json& lanes = rank["lanes"] = Json::array();
    const Json& live = rank.at("live");
    if (settled.empty() || !settled.front().result) lanes.push_back(live);
    for (const Settled& other : settled) {
      if (!other.result) continue;
      Json one = settled_json(other, number);
      one["calls"] = settled_calls(live.at("calls"), one.at("calls"));
      lanes.push_back(std::move(one));
    }
  }
}

/// What the modelled times are where they do not come from a world.
std::string unsettled_text(const std::vector<Settled>& settled, bool timed) {
  return fmt::format(
      "{}: {}",
      timed ? "the modelled times are those of each rank's own clock, which does not see what ranks share"
            : "the report has no modelled times",
      settled.empty() ? "the run was not simulated as a whole" : settled.front().problem);
}

std::string report_text(Gathered& gathered, std::size_t ranks, const RunFacts& facts,
                        const Configuration& configuration, const std::vector<Settled>& settled,
                        const std::optional<ProgramTimes>& program = {}) {
  Json report;
  report["offramp"] = OFFRAMP_VERSION;
  report["schema"] = kReportSchema;
  report["command"] = fmt::format("{}", fmt::join(facts.command, " "));
  report["program"] = facts.command.empty() ? "" : facts.command.front();
  report["arguments"] = facts.command.empty()
                            ? std::vector<std::string>()
                            : std::vector<std::string>(facts.command.begin() + 1, facts.command.end());
  report["date"] = facts.date;
  report["mpi"] = facts.mpi;
  report["ucx"] = facts.ucx;
  report["hosts"] = std::move(gathered.hosts);
  if (facts.is_replay) report["recordings"] = recordings_json(facts.recordings);
  report["ranks"] = ranks;
  report["clock"] = to_string(configuration.clock);
  const bool recorded = facts.is_replay && configuration.compute.kind == Compute::Kind::kMeasured;
  report["compute"] = recorded ? "recorded" : setting(configuration);
  if (program) {
    const Computing& computing = program->computing;
    report["computing"] = computing_json(*program);
    if (computing.is_ambiguous())
      report["computing"]["between_questions"] =
          gaps_text(in_nanoseconds(computing.brief_gaps), in_nanoseconds(computing.longer_gaps),
                    to_string(configuration.compute.polling));
  }
  report["complete"] = true;
  Json warnings = std::move(gathered.warnings);
  settle_ranks(gathered, settled);
  add_lane(report, gathered.readable, 0);
  const bool is_settled = !settled.empty() && settled.front().result;
  report["settled"] = is_settled;
  report["timed"] = is_settled || gathered.timed;
  if (is_settled) {
    add_settled(report, settled.front());
  } else if (gathered.ended.empty() && gathered.missing.empty()) {
    warnings.push_back(unsettled_text(settled, gathered.timed));
  }
  report["arrival_order_dependences"] = gathered.dependence_sum;
  report["dependences"] = std::move(gathered.dependences);
  report["arrival_order_places"] = gathered.places.take();
  report["clock_reads"] = gathered.clock_reads;
  if (!gathered.data.empty())
    report["data_certificate"] =
        hex(Certificate::digest(std::as_bytes(std::span(gathered.data.data(), gathered.data.size()))));
  Json& compared = report["compared"] = Json::array();
  std::size_t lane = 0;
  for (std::size_t i = 1; i < settled.size(); ++i) {
    const Settled& other = settled[i];
    if (!other.result) {
      if (is_settled || other.problem != settled.front().problem)
        warnings.push_back(fmt::format("{} is not compared: {}", other.backend, other.problem));
      continue;
    }
    Json one;
    add_lane(one, gathered.readable, ++lane);
    add_settled(one, other);
    if (const std::uint64_t lost = whole(one, "given_up"); lost > 0)
      warnings.push_back(
          fmt::format("{} could not repair the faults of {}: a run over it would end with an error",
                      other.backend, counted(lost, "operation")));
    compared.push_back(std::move(one));
  }
  if (!compared.empty()) add_comparison_warnings(report, warnings);
  Json& settings = report["settings"] = Json::object();
  for (const SettingInForce& setting : facts.settings)
    settings[setting.key] = {{"value", setting.value}, {"source", setting.source}};
  if (!gathered.ended.empty() || !gathered.missing.empty())
    add_untimely_end(
        report, warnings,
        "incomplete: " +
            (facts.replayed_part.empty() ? "the program did not come to MPI_Finalize" : facts.replayed_part),
        gathered.ended, gathered.missing);
  report["warnings"] = std::move(warnings);
  std::string text = to_text(report, 2);
  // They may be long: not parsed to be written again.
  if (!settled.empty() && !settled.front().receipts.empty())
    text.replace(text.rfind('}'), 1, ",\n\"receipts\": " + settled.front().receipts + "\n}");
  return text + "\n";
}

}  // namespace

std::string rank_report(Engine& engine, const char* const* names, const RankNotes& notes) {
  Json rank;
  const Counters& counters = engine.lane().counters;
  rank["arrival_order_dependences"] = counters.arrival_order_dependences();
  rank["dependences"] = dependences_json(counters);
  rank["places"] = places_json(engine, names, notes);
  rank["elsewhere"] = engine.places().others();
  rank["clock_reads"] = notes.clock_reads;
  if (!notes.host.name.empty())
    rank["host"] = {{"name", notes.host.name}, {"cpu", notes.host.cpu}, {"cores", notes.host.cores}};
  rank["malformed_messages"] = engine.malformed();
  if (engine.certificate != nullptr) rank["data"] = hex(engine.certificate->of_data());
  rank["live"] = live_json(engine, names);
  rank["timed"] = engine.clock() != nullptr;
  return to_text(rank, -1);
}

std::string run_report(const std::vector<std::string>& ranks, const RunFacts& facts,
                       const Configuration& configuration, const std::vector<Settled>& settled,
                       const std::optional<ProgramTimes>& program) {
  Gathered gathered;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) gathered.add(rank, ranks[rank]);
  return report_text(gathered, ranks.size(), facts, configuration, settled, program);
}

std::string replay_report(int ranks, const RunFacts& facts, const Configuration& configuration,
                          const std::vector<Settled>& settled, const std::optional<ProgramTimes>& program) {
  Gathered gathered;
  for (int rank = 0; rank < ranks; ++rank)
    gathered.add(static_cast<std::size_t>(rank), rank_of_replay(settled, static_cast<std::size_t>(rank)));
  const HostFacts here = look_at_host();
  gathered.hosts.push_back({{"name", here.name}, {"cpu", here.cpu}, {"cores", here.cores}, {"ranks", 0}});
  return report_text(gathered, static_cast<std::size_t>(ranks), facts, configuration, settled, program);
}

std::string summary(const std::string& text) {
  const Json report = Json::parse(text);
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t operations = 0;
  std::uint64_t offloaded = 0;
  std::uint64_t declined = 0;
  std::uint64_t native = 0;
  std::uint64_t routed = 0;
  for (const auto& [name, call] : report.at("calls").items()) {
    count += whole(call, "count");
    bytes += whole(call, "bytes");
    offloaded += whole(call, "offloaded");
    declined += whole(call, "declined");
    native += whole(call, "native");
    routed += whole(call, "routed");
    operations += operations_of(call);
  }
  const auto backend = report.at("backend").get<std::string>();
  const CarriedTime carried = carried_time(report);
  std::string out = fmt::format(
      "offramp: backend {}, {}, modelled time {}\n"
      "offramp: {}, {}; {}{}: {} carried by {}, {} declined, {}{} native{}\n",
      backend, counted(whole(report, "ranks"), "rank"),
      report.value("timed", true) ? time_text(report.at("modelled_time_ns").get<double>()) : "not known",
      counted(count, "MPI call"), bytes_text(static_cast<double>(bytes)), counted(operations, "operation"),
      operations == count ? "" : why_not_one_each(report.at("calls")), offloaded, backend, declined,
      routed > 0 ? fmt::format("{} routed to others, ", routed) : "", native,
      carried.share() ? fmt::format("; {} of their time carried by it", carried.text()) : "");
  if (!carried.carries_program()) out += fmt::format("offramp: {}\n", not_carried_text(report));
  for (const Json& decline : report.at("declines"))
    out += fmt::format("offramp: declined {} x {}: {}\n", whole(decline, "count"),
                       decline.at("operation").get<std::string>(), decline.at("reason").get<std::string>());
  out += time_spent(report) + whole_run_text(report) + phases_text(report) + links_text(report) +
         stragglers_text(report);
  if (!report.at("compared").empty()) out += comparison(report);
  if (whole(report, "arrival_order_dependences") > 0) out += places_text(report);
  const Json& wire = report.at("wire");
  if (const auto n = wire.value("rerouted", std::uint64_t{0}); n > 0)
    out +=
        fmt::format("offramp: {} went another way, past hardware that had failed\n", counted(n, "operation"));
  for (const Json& warning : report.at("warnings"))
    out += fmt::format("offramp: {}\n", warning.get<std::string>());
  return out;
}

}  // namespace offramp
