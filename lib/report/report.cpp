#include "lib/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/core/names.hpp"
#include "offramp/version.hpp"

namespace offramp {
namespace {

using Json = nlohmann::ordered_json;

// Times are whole picoseconds inside; reports give nanoseconds with three decimals, which loses nothing below
// 2^53 ps (two and a half hours), and the exact count beside the total.
double nanoseconds(std::int64_t picoseconds) {
  return static_cast<double>(picoseconds) / 1000;
}

/// Reasons may come from a plugin, in whatever encoding, and JSON is UTF-8.
std::string to_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json call_json(const CallCounter& c) {
  return {{"count", c.count},       {"bytes", c.bytes},   {"offloaded", c.offloaded},
          {"declined", c.declined}, {"native", c.native}, {"modelled_ps", c.modelled.count()}};
}

void add_calls(Json& total, const Json& calls) {
  for (const auto& [name, call] : calls.items()) {
    Json& sum = total[name];
    if (sum.is_null())
      sum = {{"count", 0},    {"bytes", 0},  {"offloaded", 0},
             {"declined", 0}, {"native", 0}, {"modelled_ns", 0.0}};
    for (const char* key : {"count", "bytes", "offloaded", "declined", "native"})
      sum[key] = sum[key].get<std::uint64_t>() + call.at(key).get<std::uint64_t>();
    sum["modelled_ns"] =
        sum["modelled_ns"].get<double>() + nanoseconds(call.at("modelled_ps").get<std::int64_t>());
  }
}

void add_declines(Json& total, const Json& declines) {
  for (const Json& decline : declines) {
    const auto operation = decline.at("operation").get<std::string>();
    const auto reason = decline.at("reason").get<std::string>();
    const auto count = decline.at("count").get<std::uint64_t>();
    const auto same = std::find_if(total.begin(), total.end(), [&](const Json& other) {
      return other.at("operation") == operation && other.at("reason") == reason;
    });
    if (same == total.end()) {
      total.push_back({{"operation", operation}, {"reason", reason}, {"count", count}});
    } else {
      (*same)["count"] = same->at("count").get<std::uint64_t>() + count;
    }
  }
}

void add_wire(Json& total, const Json& wire) {
  for (const auto& [key, value] : wire.items())
    total[key] = (total.contains(key) ? total[key].get<std::uint64_t>() : 0) + value.get<std::uint64_t>();
}

}  // namespace

std::string rank_report(Engine& engine, const char* const* names) {
  Lane& lane = engine.lane(0);
  Json rank;
  rank["backend"] = lane.name();
  rank["modelled_ps"] = lane.clock.count();
  Json& calls = rank["calls"] = Json::object();
  for (std::size_t i = 0; i < lane.counters.calls.size(); ++i) {
    if (lane.counters.calls[i].count > 0) calls[names[i]] = call_json(lane.counters.calls[i]);
  }
  Json& declines = rank["declines"] = Json::array();
  for (const auto& [what, count] : lane.counters.declines)
    declines.push_back({{"operation", to_string(what.first)}, {"reason", what.second}, {"count", count}});
  rank["arrival_order_dependences"] = lane.counters.arrival_order_dependences;
  const WireCounters wire = lane.wire();
  rank["wire"] = {{"packets", wire.packets},
                  {"payload_bytes", wire.payload_bytes},
                  {"wire_bytes", wire.wire_bytes},
                  {"retransmissions", wire.retransmissions},
                  {"lost", wire.lost},
                  {"duplicated", wire.duplicated},
                  {"reordered", wire.reordered},
                  {"corrupted", wire.corrupted},
                  {"delayed", wire.delayed}};
  rank["malformed_messages"] = engine.malformed();
  return to_text(rank, -1);
}

std::string run_report(const std::vector<std::string>& ranks, const std::string& command) {
  Json report;
  report["offramp"] = OFFRAMP_VERSION;
  report["command"] = command;
  report["backend"] = "";
  report["ranks"] = ranks.size();
  report["modelled_time_ns"] = 0.0;
  report["modelled_time_ps"] = 0;
  Json calls = Json::object();
  Json declines = Json::array();
  Json wire = Json::object();
  Json warnings = Json::array();
  Json each = Json::array();
  std::uint64_t dependences = 0;
  std::int64_t latest = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    try {
      const Json rank = Json::parse(ranks[i]);
      report["backend"] = rank.at("backend").get<std::string>();
      const auto modelled = rank.at("modelled_ps").get<std::int64_t>();
      latest = std::max(latest, modelled);
      add_calls(calls, rank.at("calls"));
      add_declines(declines, rank.at("declines"));
      add_wire(wire, rank.at("wire"));
      dependences += rank.at("arrival_order_dependences").get<std::uint64_t>();
      if (const auto bad = rank.at("malformed_messages").get<std::uint64_t>(); bad > 0)
        warnings.push_back(fmt::format("rank {} dropped {} malformed messages", i, bad));
      each.push_back({{"rank", i},
                      {"modelled_time_ns", nanoseconds(modelled)},
                      {"modelled_time_ps", modelled},
                      {"arrival_order_dependences", rank.at("arrival_order_dependences")},
                      {"calls", rank.at("calls")}});
    } catch (const Json::exception& e) {
      warnings.push_back(fmt::format("the contribution of rank {} is not readable: {}", i, e.what()));
    }
  }
  report["modelled_time_ns"] = nanoseconds(latest);
  report["modelled_time_ps"] = latest;
  report["calls"] = std::move(calls);
  report["declines"] = std::move(declines);
  report["arrival_order_dependences"] = dependences;
  report["wire"] = std::move(wire);
  report["warnings"] = std::move(warnings);
  report["each_rank"] = std::move(each);
  return to_text(report, 2) + "\n";
}

std::string summary(const std::string& text) {
  const Json report = Json::parse(text);
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offloaded = 0;
  std::uint64_t declined = 0;
  std::uint64_t native = 0;
  for (const auto& [name, call] : report.at("calls").items()) {
    count += call.at("count").get<std::uint64_t>();
    bytes += call.at("bytes").get<std::uint64_t>();
    offloaded += call.at("offloaded").get<std::uint64_t>();
    declined += call.at("declined").get<std::uint64_t>();
    native += call.at("native").get<std::uint64_t>();
  }
  const std::uint64_t operations = offloaded + declined + native;
  const double share =
      operations == 0 ? 0 : 100.0 * static_cast<double>(offloaded) / static_cast<double>(operations);
  std::string out = fmt::format(
      "offramp: backend {}, {} ranks, modelled time {:.3f} us\n"
      "offramp: {} MPI calls, {} bytes; {:.1f} % of {} operations carried by {} ({} declined, {} native)\n",
      report.at("backend").get<std::string>(), report.at("ranks").get<std::uint64_t>(),
      report.at("modelled_time_ns").get<double>() / 1000, count, bytes, share, operations,
      report.at("backend").get<std::string>(), declined, native);
  for (const Json& decline : report.at("declines"))
    out += fmt::format("offramp: declined {} x {}: {}\n", decline.at("count").get<std::uint64_t>(),
                       decline.at("operation").get<std::string>(), decline.at("reason").get<std::string>());
  if (const auto n = report.at("arrival_order_dependences").get<std::uint64_t>(); n > 0)
    out += fmt::format("offramp: the modelled time depends on arrival order or polling at {} places\n", n);
  for (const Json& warning : report.at("warnings"))
    out += fmt::format("offramp: {}\n", warning.get<std::string>());
  return out;
}

}  // namespace offramp
