// Reads all events once, for the printed sums and a fingerprint. The fingerprint is independent of the
// backend, so it shows whether recordings over different backends contain the same calls. It hashes names of
// functions and contents of lists, since their numbers are specific to a recording.
#include "tools/text/recording_info.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "lib/answers/report/run_facts.hpp"
#include "lib/answers/report/sentences.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text_format.hpp"
#include "lib/programs/import/phase.hpp"
#include "lib/programs/recording/event.hpp"
#include "offramp/kernel/hash.hpp"
#include "tools/command_line/tool.hpp"
#include "tools/launch/places.hpp"

namespace offramp::tool {
namespace {

using Json = nlohmann::ordered_json;
using recording::Event;
using recording::EventKind;

std::uint64_t hashed(const auto& value, std::uint64_t before) {
  return fnv1a_64(std::as_bytes(std::span(&value, 1)), before);
}

/// The contents of one rank's recording.
struct RankContents {
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
  std::uint64_t requests = 0;
  std::uint64_t wildcards = 0;
  std::uint64_t choices = 0;
  std::uint64_t polls = 0;
  std::uint64_t computing = 0;
  std::uint64_t blocked = 0;
  std::uint64_t native = 0;
  std::uint64_t brief_gaps = 0;
  std::uint64_t longer_gaps = 0;
  std::set<std::uint32_t> threads;
  std::uint64_t fingerprint = fnv1a_64({});
  std::string cut;  // why it is truncated; empty: it is not
  std::string error;
};

struct Contents {
  std::vector<RankContents> ranks;
  std::map<std::string, std::uint64_t, std::less<>> calls;
  std::map<std::pair<std::string, std::string>, std::uint64_t> places;  // function, and place as recorded
  std::vector<std::string> phases;  // in the order in which rank 0 enters them
};

/// Updates a hash of everything that depends neither on the backend nor on the build of the program. Hashes
/// names and lists instead of their numbers.
std::uint64_t fingerprint(const recording::Reader& reader, const Event& event, std::uint64_t before) {
  Event own = event;
  own.call = 0;
  own.site = 0;
  own.list = own.second_list = 0;
  std::uint64_t hash = hashed(own, before);
  hash = fnv1a_64(bytes_of(reader.call(event.call)), hash);
  for (const std::uint32_t list : {event.list, event.second_list}) {
    const auto values = reader.list(list);
    hash = fnv1a_64(std::as_bytes(values), hashed(values.size(), hash));
  }
  return hash;
}

bool is_wildcard(const Event& event) {
  const bool takes =
      event.kind == EventKind::kReceive || event.kind == EventKind::kProbe || event.kind == EventKind::kClaim;
  return takes && (event.peer == kAnySource || event.tag == kAnyTag);
}

RankContents read_rank(const trace::Program& program, int rank, Contents& all) {
  RankContents rank_contents;
  if (program.recording) rank_contents.bytes = program.recording->bytes(rank);
  const auto reader = program.read(rank);
  std::vector<std::vector<std::uint64_t>> calls;  // count by function and place
  for (Event event; reader->next(event);) {
    ++rank_contents.events;
    if (rank_contents.threads.empty() || reader->has_threads())
      rank_contents.threads.insert(reader->thread());
    rank_contents.requests += begins_request(event) ? 1 : 0;
    rank_contents.wildcards += is_wildcard(event) ? 1 : 0;
    rank_contents.choices += (event.flags & (recording::kAny | recording::kSome)) != 0 ? 1 : 0;
    rank_contents.polls += reader->polls();
    const recording::Times times = reader->times();
    rank_contents.computing += times.computing;
    rank_contents.blocked += times.blocked;
    rank_contents.native += times.native;
    rank_contents.brief_gaps += reader->gaps().brief;
    rank_contents.longer_gaps += reader->gaps().longer;
    rank_contents.fingerprint = fingerprint(*reader, event, rank_contents.fingerprint);
    if ((event.flags & recording::kContinues) == 0) {
      if (event.call >= calls.size()) calls.resize(std::size_t{event.call} + 1);
      auto& sites = calls[event.call];
      if (event.site >= sites.size()) sites.resize(std::size_t{event.site} + 1);
      ++sites[event.site];
    }
    if (event.kind != EventKind::kPhase || event.tag <= 0 || rank != 0) continue;
    const std::string name = printable(trace::phase_name(*reader, event));
    if (std::find(all.phases.begin(), all.phases.end(), name) == all.phases.end()) all.phases.push_back(name);
  }
  for (std::size_t call = 0; call < calls.size(); ++call) {
    const std::string function(reader->call(static_cast<std::uint16_t>(call)));
    for (std::size_t site = 0; site < calls[call].size(); ++site) {
      const std::uint64_t count = calls[call][site];
      if (count == 0) continue;
      all.calls[function] += count;
      if (const std::string_view place = reader->site(static_cast<std::uint32_t>(site)); !place.empty())
        all.places[{function, std::string(place)}] += count;
    }
  }
  rank_contents.cut = reader->cut();
  rank_contents.error = reader->error();
  return rank_contents;
}

std::uint64_t sum(const Contents& contents, auto member) {
  std::uint64_t total = 0;
  for (const RankContents& rank : contents.ranks) total += rank.*member;
  return total;
}

std::string joint_fingerprint(const Contents& contents) {
  std::uint64_t hash = fnv1a_64({});
  for (const RankContents& rank : contents.ranks) hash = hashed(rank.fingerprint, hash);
  return fmt::format("{:016x}", hash);
}

bool is_readable(const Contents& contents) {
  return std::all_of(contents.ranks.begin(), contents.ranks.end(),
                     [](const RankContents& rank) { return rank.error.empty(); });
}

constexpr std::size_t kLongestPlace = 200;  // for C++ templates

/// Looks up all places of the recording. Warns about places without names.
Places names_of_places(const trace::Program& program, const Contents& contents) {
  Places names(objects_of(program.description));
  std::vector<std::string> sites;
  for (const auto& [place, count] : contents.places) {
    if (std::find(sites.begin(), sites.end(), place.second) == sites.end()) sites.push_back(place.second);
  }
  names.look_up(sites);
  for (const std::string& problem : names.problems()) warn("note: " + problem);
  return names;
}

/// Damaged native times count as none: they change no replay.
std::optional<recording::NativeTimes> native_times_of(const trace::Program& program) {
  if (!program.recording) return std::nullopt;
  auto times = recording::native_times_of(*program.recording);
  return times ? std::move(*times) : std::nullopt;
}

void print_places(const trace::Program& program, const Contents& contents) {
  if (contents.places.empty()) return;
  constexpr std::size_t kShown = 12;
  const Places names = names_of_places(program, contents);
  struct Place {
    std::uint64_t natively = 0;  // in nanoseconds, all ranks
    std::uint64_t calls = 0;
    std::pair<std::string, std::string> place;
  };
  std::map<std::pair<std::string, std::string>, std::uint64_t> natively;
  if (const auto times = native_times_of(program)) {
    for (const recording::CallTimes& call : times->calls) natively[{call.function, call.site}] = call.sum;
  }
  std::vector<Place> places;
  for (const auto& [place, count] : contents.places) places.push_back({natively[place], count, place});
  std::ranges::stable_sort(places, std::greater(),
                           [](const Place& one) { return std::pair(one.natively, one.calls); });
  fmt::print("\n  {:<30}{:>14}{:>13}  called from\n", "function", "calls", "natively");
  for (std::size_t i = 0; i < std::min(places.size(), kShown); ++i) {
    const Place& one = places[i];
    fmt::print("  {:<30}{:>14}{:>13}  {}\n", printable(one.place.first), one.calls,
               one.natively > 0 ? time_text(static_cast<double>(one.natively)) : "-",
               printable(names.text(one.place.second), kLongestPlace));
  }
  if (places.size() > kShown)
    fmt::print("  and {} other places: --json has all of them\n", places.size() - kShown);
}

void print_json(const trace::Program& program, const Contents& contents) {
  Json facts = Json::object();
  for (const auto& [name, text] : program.description.facts) facts[printable(name)] = printable(text, 1000);
  Json ranks = Json::array();
  for (const RankContents& rank : contents.ranks) {
    ranks.push_back({{"events", rank.events},
                     {"bytes", rank.bytes},  // 0 except for recordings
                     {"threads", rank.threads.size()},
                     {"requests", rank.requests},
                     {"wildcards", rank.wildcards},
                     {"choices", rank.choices},
                     {"polls", rank.polls},
                     {"cpu_ns", rank.computing},
                     {"blocked_ns", rank.blocked},
                     {"native_ns", rank.native},
                     {"brief_gaps_ns", rank.brief_gaps},
                     {"longer_gaps_ns", rank.longer_gaps},
                     {"fingerprint", fmt::format("{:016x}", rank.fingerprint)},
                     {"complete", rank.cut.empty() && rank.error.empty()},
                     {"ended", rank.cut},
                     {"error", rank.error}});
  }
  Json places = Json::array();
  const Places names = names_of_places(program, contents);
  for (const auto& [place, count] : contents.places)
    places.push_back({{"function", printable(place.first)},
                      {"place", printable(place.second)},
                      {"name", printable(names.text(place.second), kLongestPlace)},
                      {"calls", count}});
  Json calls = Json::object();
  for (const auto& [name, count] : contents.calls) calls[printable(name)] = count;
  Json native = nullptr;
  if (const auto times = native_times_of(program)) {
    Json sites = Json::array();
    for (const recording::CallTimes& call : times->calls)
      sites.push_back({{"function", call.function},
                       {"place", call.site},
                       {"calls", call.count},
                       {"sum_ns", call.sum},
                       {"least_ns", call.least},
                       {"greatest_ns", call.greatest}});
    native = {{"run_ns", times->run},
              {"init_ns", times->longest_init},
              {"in_mpi", times->in_mpi},
              {"hosts", times->hosts},
              {"ranks_per_host", times->ranks_per_host},
              {"cores_are_short", times->cores_are_short},
              {"gaps", times->has_ready_time ? "wall time without waiting for a processor" : "CPU time"},
              {"sites", std::move(sites)}};
  }
  const Json all = {{"version", program.description.version},  // 0 except for recordings
                    {"facts", facts},
                    {"complete", program.missing.empty() && is_readable(contents)},
                    {"missing", program.missing},
                    {"fingerprint", joint_fingerprint(contents)},
                    {"calls", calls},
                    {"places", places},
                    {"phases", contents.phases},
                    {"native", std::move(native)},
                    {"ranks", ranks}};
  fmt::print("{}\n", all.dump(2, ' ', false, Json::error_handler_t::replace));
}

void print_text(const std::string& program_name, const trace::Program& program, const Contents& contents) {
  const auto line = [](std::string_view name, const std::string& text) {
    fmt::print("  {:<22}{}\n", name, text);
  };
  const recording::Description& description = program.description;
  fmt::print("{} {}: {} ranks{}{}\n", program.kind, in_quotes(program_name), description.ranks,
             description.version > 0 ? fmt::format(", format {}", description.version) : "",
             program.missing.empty() && is_readable(contents) ? "" : ", incomplete");
  for (const auto& [name, text] : description.facts) {
    if (!text.empty()) line(printable(name), printable(text, 200));
  }
  const std::uint64_t events = sum(contents, &RankContents::events);
  const std::uint64_t bytes = sum(contents, &RankContents::bytes);
  line("events", bytes == 0 ? fmt::format("{}", events)
                            : fmt::format("{} in {} bytes ({:.2f} each)", events, bytes,
                                          static_cast<double>(bytes) / static_cast<double>(events)));
  const auto most =
      std::max_element(contents.ranks.begin(), contents.ranks.end(),
                       [](const auto& a, const auto& b) { return a.threads.size() < b.threads.size(); });
  if (most != contents.ranks.end() && most->threads.size() > 1)
    line("threads", fmt::format("up to {} per rank", most->threads.size()));
  const auto time_of = [&](std::uint64_t RankContents::*part) {
    return time_text(static_cast<double>(sum(contents, part)));
  };
  line("between calls", fmt::format("{} computing, {} blocked, all ranks", time_of(&RankContents::computing),
                                    time_of(&RankContents::blocked)));
  if (sum(contents, &RankContents::native) > 0)
    line("without a model",
         fmt::format("{} in calls that last as long as natively, all ranks", time_of(&RankContents::native)));
  if (const auto native = native_times_of(program)) {
    line("natively", native_text(*native).substr(std::string_view("natively ").size()));
    if (!native->has_ready_time)
      line("gaps", "CPU time only: the kernel does not report waiting for a processor");
  }
  const std::uint64_t brief = sum(contents, &RankContents::brief_gaps);
  const std::uint64_t longer = sum(contents, &RankContents::longer_gaps);
  if (brief + longer > 0)
    line("between failed polls", fmt::format("{} in gaps of up to {}, {} in longer ones, all ranks",
                                             time_text(static_cast<double>(brief)),
                                             time_text(static_cast<double>(recording::kBriefGap)),
                                             time_text(static_cast<double>(longer))));
  line("arrival order",
       fmt::format("{} wildcards, {} choices, {} failed polls", sum(contents, &RankContents::wildcards),
                   sum(contents, &RankContents::choices), sum(contents, &RankContents::polls)));
  if (!contents.phases.empty()) line("phases", fmt::format("{}", fmt::join(contents.phases, ", ")));
  line("fingerprint", joint_fingerprint(contents));
  std::vector<std::pair<std::string, std::uint64_t>> calls(contents.calls.begin(), contents.calls.end());
  std::stable_sort(calls.begin(), calls.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  fmt::print("\n  {:<30}{:>14}\n", "function", "calls");
  for (const auto& [name, count] : calls) fmt::print("  {:<30}{:>14}\n", printable(name), count);
  print_places(program, contents);
  for (std::size_t i = 0; i < contents.ranks.size(); ++i) {
    const RankContents& rank = contents.ranks[i];
    if (!rank.cut.empty()) fmt::print("rank {} ends after {} events: {}\n", i, rank.events, rank.cut);
  }
}

// --- events, a line each ---

std::string values_text(std::span<const std::uint64_t> values) {
  constexpr std::size_t kShown = 16;
  std::string text = fmt::format("{}", fmt::join(values.first(std::min(values.size(), kShown)), " "));
  if (values.size() > kShown) text += fmt::format(" ... ({})", values.size());
  return text;
}

std::string_view kind_text(EventKind kind) {
  constexpr std::array<std::string_view, static_cast<std::size_t>(EventKind::kCount)> kNames = {
      "send",         "receive", "collective", "wait",  "probe",  "claim", "cancel", "free",
      "communicator", "meet",    "neighbours", "phase", "native", "clock", "access"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string flags_text(const Event& event) {
  constexpr std::array<std::string_view, 8> kNames = {
      "blocking", "continues", "synchronous", "buffered", "in place", "not commutative", "any", "some"};
  std::string text;
  for (std::size_t bit = 0; bit < kNames.size(); ++bit) {
    if ((event.flags >> bit & 1U) == 0) continue;
    const bool is_own = 1U << bit == recording::kPersistent;  // and kCommunicates
    const std::string_view own = is_own && event.kind == EventKind::kCommunicator ? "persistent"
                                 : is_own && event.kind == EventKind::kNative     ? "outside"
                                                                                  : kNames[bit];
    text += fmt::format(" {}", own);
  }
  return text;
}

std::string event_text(recording::Reader& reader, const Event& event) {
  std::string text = fmt::format("{} {}", printable(reader.call(event.call)), kind_text(event.kind));
  if (event.kind == EventKind::kCollective)
    text += fmt::format(" {} {} {}", to_string(event.operation), to_string(event.element),
                        to_string(event.function));
  if (event.kind == EventKind::kSend) text += fmt::format(" {}", to_string(event.element));
  if (event.kind == EventKind::kAccess)
    text += fmt::format(" {}", to_string(static_cast<Access>(std::clamp(event.tag, 0, 255))));
  text += fmt::format(" comm {} peer {} tag {} bytes {} extra {}", event.communicator, event.peer, event.tag,
                      event.bytes, event.extra);
  text += flags_text(event);
  const bool has_both = event.kind == EventKind::kNeighbours;
  if (event.list != 0 || has_both) text += fmt::format(" [{}]", values_text(reader.list(event.list)));
  if (event.second_list != 0 || has_both)
    text += fmt::format(" [{}]", values_text(reader.list(event.second_list)));
  if (is_wildcard(event)) {
    const auto match = reader.match();
    text += match ? fmt::format(" took {} {}", match->source, match->tag) : std::string(" took nothing");
  }
  if (!reader.choice().empty()) text += fmt::format(" chose {}", fmt::join(reader.choice(), " "));
  if (const std::string_view site = reader.site(event.site); !site.empty())
    text += fmt::format(" at {}", printable(site));
  return text;
}

/// Prints one line per event. False if a rank could not be read completely.
bool print_events(const trace::Program& program) {
  bool readable = true;
  for (int rank = 0; rank < program.description.ranks; ++rank) {
    const auto reader = program.read(rank);
    for (Event event; reader->next(event);) {
      // With several threads: "rank.thread".
      const std::string who =
          reader->has_threads() ? fmt::format("{}.{}", rank, reader->thread()) : fmt::format("{}", rank);
      const recording::Times times = reader->times();
      if (times.computing > 0) fmt::print("{} computes {} ns\n", who, times.computing);
      if (times.blocked > 0) fmt::print("{} is blocked for {} ns\n", who, times.blocked);
      if (reader->polls() > 0) fmt::print("{} polls {} times without success\n", who, reader->polls());
      if (const recording::Gaps gaps = reader->gaps(); gaps.any())
        fmt::print("{} spends {} ns in short gaps between failed polls, and {} ns in longer ones\n", who,
                   gaps.brief, gaps.longer);
      fmt::print("{} {}\n", who, event_text(*reader, event));
      if (times.native > 0) fmt::print("{} takes {} ns natively\n", who, times.native);
    }
    if (!reader->error().empty()) {
      warn(reader->error());
      readable = false;
    }
    if (!reader->cut().empty()) fmt::print("{} is cut off\n", rank);
  }
  return readable;
}

}  // namespace

void print_program_notes(const std::string& name, const trace::Program& program) {
  for (const std::string& note : program.notes)
    warn(program.recording
             ? "note: " + note
             : fmt::format("note: assumed for {} ({}): {}", in_quotes(name), program.kind, note));
}

std::string checksum_text(const trace::Program& program) {
  const auto checksum = program.recording ? program.recording->checksum() : std::nullopt;
  return checksum ? fmt::format("xxh3:{:016x}", *checksum) : std::string();
}

int recording_info(const std::string& name, RecordingView view) {
  const auto program = trace::open_program(name);
  if (!program) {
    warn(program.error());
    return kUsage;
  }
  const std::string& missing = program->missing;
  int code = missing.empty() ? kDone : kUsage;
  if (!missing.empty()) warn(fmt::format("{} is incomplete: {}", in_quotes(name), missing));
  print_program_notes(name, *program);
  if (view == RecordingView::kEvents) return print_events(*program) ? code : kUsage;
  Contents contents;
  for (int rank = 0; rank < program->description.ranks; ++rank) {
    contents.ranks.push_back(read_rank(*program, rank, contents));
    if (const std::string& error = contents.ranks.back().error; !error.empty()) {
      warn(error);
      code = kUsage;
    }
  }
  view == RecordingView::kJson ? print_json(*program, contents) : print_text(name, *program, contents);
  return code;
}

}  // namespace offramp::tool
