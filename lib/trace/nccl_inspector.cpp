// What NCCL's inspector plug-in writes: an object of JSON for each collective and each message of a process.
// The files of all processes stand in one, one after the other.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "lib/configuration/names.hpp"
#include "lib/trace/lines.hpp"
#include "lib/trace/made_events.hpp"
#include "lib/trace/nccl_ranks.hpp"
#include "lib/trace/openers.hpp"

namespace offramp::trace {
namespace {

using nlohmann::json;

/// The objects of a file, on a line each or on several.
class Objects {
 public:
  explicit Objects(std::shared_ptr<const recording::Source> source, std::uint64_t offset = 0,
                   std::uint64_t line = 0)
      : lines_(std::move(source), offset, line) {}

  /// False: there are no more, or error() says why not.
  bool next(json& object) {
    constexpr std::size_t kLongest = std::size_t{1} << 20U;
    std::string text;
    std::size_t depth = 0;
    bool in_string = false;
    std::string_view line;
    while (error_.empty() && lines_.next(line)) {
      if (text.empty() && line.find_first_not_of(" \t") == std::string_view::npos) continue;
      if (text.empty()) begin_ = {lines_.offset(), lines_.number() - 1};
      if (text.size() + line.size() > kLongest) return fail("an object is longer than 1 MiB");
      text += line;
      text += '\n';
      count(line, depth, in_string);
      if (depth > 0) continue;
      object = json::parse(text, nullptr, false);
      return object.is_object() || fail("this is no object of JSON");
    }
    if (error_.empty()) error_ = lines_.error();
    return error_.empty() && !text.empty() ? fail("the file ends within an object") : false;
  }
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] std::string at(std::string_view what) const { return lines_.at(what); }
  struct Position {
    std::uint64_t offset = 0;
    std::uint64_t line = 0;  // so many stand before it
  };
  /// Where the object that next() gave begins.
  [[nodiscard]] Position begin() const { return begin_; }
  /// Where the next one begins, or a blank line.
  [[nodiscard]] std::uint64_t next_offset() const { return lines_.next_offset(); }

 private:
  bool fail(std::string_view what) {
    error_ = lines_.at(what);
    return false;
  }
  /// How many braces are open behind the line.
  static void count(std::string_view line, std::size_t& depth, bool& in_string) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (in_string && line[i] == '\\') {
        ++i;
      } else if (line[i] == '"') {
        in_string = !in_string;
      } else if (!in_string && line[i] == '{') {
        ++depth;
      } else if (!in_string && line[i] == '}' && depth > 0) {
        --depth;
      }
    }
  }

  Lines lines_;
  Position begin_;
  std::string error_;
};

/// Objects of one rank that stand one behind the other.
struct Run {
  Objects::Position begin;
  std::uint64_t end = 0;
};
/// Where a file's objects of each communicator of each process stand.
using RunsByHandle = std::map<NcclHandle, std::vector<Run>>;

std::optional<std::uint64_t> number_at(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_unsigned()) return std::nullopt;
  return found->get<std::uint64_t>();
}
std::string text_at(const json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || !found->is_string() ? std::string() : found->get<std::string>();
}

/// Whose object it is.
struct Origin {
  std::string id;
  std::string process;
  int rank = 0;
  int size = 0;

  /// A process may have several ranks of one communicator.
  [[nodiscard]] NcclHandle handle() const { return {process, fmt::format("{} {}", id, rank)}; }
};
std::optional<Origin> origin_of(const json& object) {
  const auto header = object.find("header");
  const auto metadata = object.find("metadata");
  if (header == object.end() || metadata == object.end() || !header->is_object() || !metadata->is_object())
    return std::nullopt;
  const auto rank = number_at(*header, "rank");
  const auto size = number_at(*header, "n_ranks");
  const auto pid = number_at(*metadata, "pid");
  Origin origin;
  origin.id = text_at(*header, "id");
  if (!rank || !size || !pid || *rank > INT32_MAX || *size > INT32_MAX || origin.id.empty())
    return std::nullopt;
  origin.rank = static_cast<int>(*rank);
  origin.size = static_cast<int>(*size);
  origin.process = fmt::format("{}:{}", text_at(*metadata, "hostname"), *pid);
  return origin;
}

struct InspectorLog {
  std::shared_ptr<const recording::Source> source;
  NcclRanks ranks;
  std::vector<std::vector<Run>> runs;  // by rank, in the order of the file
};

/// One collective or message.
struct Record {
  OperationKind operation = OperationKind::kSend;
  std::size_t communicator = 0;
  std::uint64_t number = 0;  // coll_sn, p2p_sn
  std::uint64_t bytes = 0;
  bool sends = false;  // of a message
  int peer = 0;        // the same, of the world
};

class InspectorRank {
 public:
  InspectorRank(std::shared_ptr<const InspectorLog> log, int rank) : log_(std::move(log)), rank_(rank) {}

  Result<Graph> graph() {
    std::vector<Record> records;
    for (const Run& run : log_->runs[static_cast<std::size_t>(rank_)]) {
      if (const std::string problem = read(run, records); !problem.empty())
        return Result<Graph>::failure(problem);
    }
    std::stable_sort(records.begin(), records.end(), [](const Record& a, const Record& b) {
      return std::tuple(a.communicator, a.number) < std::tuple(b.communicator, b.number);
    });
    return graph_of(records);
  }

 private:
  /// Empty, or what is wrong.
  std::string read(const Run& run, std::vector<Record>& records) {
    Objects objects(log_->source, run.begin.offset, run.begin.line);
    json object;
    while (objects.next_offset() < run.end && objects.next(object)) {
      const auto origin = origin_of(object);
      const auto member = origin ? log_->ranks.handles.find(origin->handle()) : log_->ranks.handles.end();
      if (member == log_->ranks.handles.end()) return objects.at("it is not what was read before");
      std::string problem;
      if (const auto found = object.find("coll_perf"); found != object.end() && found->is_object()) {
        problem = add_collective(*found, member->second, records);
      } else if (const auto message = object.find("p2p_perf");
                 message != object.end() && message->is_object()) {
        problem = add_message(*message, member->second, records);
      }
      if (!problem.empty()) return objects.at(problem);
    }
    return objects.error();
  }

  static std::string add_collective(const json& object, const NcclRanks::Member& member,
                                    std::vector<Record>& records) {
    const std::string name = text_at(object, "coll");
    const auto operation = nccl_operation(name);
    const auto number = number_at(object, "coll_sn");
    const auto bytes = number_at(object, "coll_msg_size_bytes");
    if (!operation || *operation == OperationKind::kSend)
      return fmt::format("there is no collective {}", printable(name));
    if (!number || !bytes) return fmt::format("{}: its coll_sn or coll_msg_size_bytes makes no sense", name);
    records.push_back(
        {.operation = *operation, .communicator = member.communicator, .number = *number, .bytes = *bytes});
    return {};
  }

  std::string add_message(const json& object, const NcclRanks::Member& member, std::vector<Record>& records) {
    const std::string name = text_at(object, "p2p");
    const auto number = number_at(object, "p2p_sn");
    const auto bytes = number_at(object, "p2p_msg_size_bytes");
    const auto peer = number_at(object, "p2p_peer");
    const std::vector<int>& members = log_->ranks.communicators[member.communicator];
    if (name != "Send" && name != "Recv") return fmt::format("there is no message {}", name);
    if (!number || !bytes || !peer || *peer >= members.size())
      return fmt::format("{}: its p2p_sn, p2p_msg_size_bytes or p2p_peer makes no sense", name);
    records.push_back({.communicator = member.communicator,
                       .number = *number,
                       .bytes = *bytes,
                       .sends = name == "Send",
                       .peer = members[static_cast<std::size_t>(*peer)]});
    return {};
  }

  /// Collectives of a communicator go on one after the other, and so do messages to one rank or from it.
  Result<Graph> graph_of(const std::vector<Record>& records) {
    GraphBuilder builder;
    std::map<std::tuple<std::size_t, int, bool>, std::uint32_t> last;
    for (const Record& record : records) {
      const bool is_message = record.operation == OperationKind::kSend;
      const std::uint32_t node =
          is_message ? builder.add(message_of(record)) : builder.add(event_of(record, builder));
      const auto [before, is_first] =
          last.try_emplace({record.communicator, is_message ? record.peer : -1, record.sends}, node);
      if (!is_first) builder.depend(node, std::exchange(before->second, node));
    }
    return builder.build();
  }
  static Graph::Node message_of(const Record& record) {
    Graph::Node node;
    node.kind = record.sends ? Graph::Kind::kSend : Graph::Kind::kReceive;
    node.peer = record.peer;
    node.tag = static_cast<std::int32_t>(record.communicator);
    node.size = record.bytes;
    return node;
  }
  recording::Event event_of(const Record& record, GraphBuilder& builder) {
    recording::Event event = collective_of_bytes(record.operation, record.bytes);
    if (record.communicator == 0) return event;
    const auto [number, is_new] = numbers_.try_emplace(record.communicator, 0);
    if (is_new) {
      Graph::Communicator made;
      for (const int member : log_->ranks.communicators[record.communicator])
        made.members.push_back(static_cast<std::uint64_t>(member));
      made.id = record.communicator;
      number->second = builder.add(std::move(made));
    }
    event.communicator = number->second;
    return event;
  }

  std::shared_ptr<const InspectorLog> log_;
  int rank_;
  std::map<std::size_t, std::uint32_t> numbers_;  // by communicator, as events have them
};

/// Who writes, where, and what is missing: records that NCCL dropped because their ring was full.
std::string look_through(Objects& objects, NcclMembers& members, RunsByHandle& runs, std::uint64_t& dropped) {
  std::set<std::tuple<std::string, int, std::string>> seen;
  // A process with several ranks of one communicator tells them apart by their numbers.
  std::map<std::pair<std::string, std::string>, int> first;
  for (json object; objects.next(object);) {
    const auto origin = origin_of(object);
    if (!origin) return objects.at("its header or its metadata makes no sense");
    if (const auto stats = object.find("dump_stats"); stats != object.end() && stats->is_object()) {
      for (const auto& [name, value] : stats->items()) {
        if (name.find("dropped_since_last_dump") != std::string::npos && value.is_number_unsigned())
          dropped += value.get<std::uint64_t>();
      }
    }
    std::vector<Run>& own = runs[origin->handle()];
    if (own.empty() || own.back().end != objects.begin().offset) own.push_back({objects.begin()});
    own.back().end = objects.next_offset();
    if (!seen.insert({origin->id, origin->rank, origin->process}).second) continue;
    const int rank = first.try_emplace({origin->id, origin->process}, origin->rank).first->second;
    const std::string device = rank == origin->rank ? "" : fmt::format("of rank {}", origin->rank);
    const std::string problem = members.add(origin->id, origin->rank, origin->size, origin->handle(), device);
    if (!problem.empty()) return objects.at(problem);
  }
  return objects.error();
}

Result<std::optional<Program>> open_inspector(const Candidate& candidate) {
  using Opened = Result<std::optional<Program>>;
  const std::size_t begin = candidate.begin.find_first_not_of(" \t\r\n");
  if (!candidate.is_text() || begin == std::string::npos || candidate.begin[begin] != '{' ||
      candidate.begin.find("\"header\"") == std::string::npos ||
      candidate.begin.find("\"n_ranks\"") == std::string::npos)
    return std::optional<Program>();
  Result<recording::Source> source = recording::Source::look(candidate.name);
  if (!source) return Opened::failure(source.error());
  InspectorLog log;
  log.source = std::make_shared<const recording::Source>(std::move(*source));
  Objects objects(log.source);
  NcclMembers members;
  RunsByHandle runs;
  std::uint64_t dropped = 0;
  if (const std::string problem = look_through(objects, members, runs, dropped); !problem.empty())
    return Opened::failure(problem);
  Result<NcclRanks> ranks = members.settle(candidate.name);
  if (!ranks) return Opened::failure(ranks.error());
  log.ranks = std::move(*ranks);
  const auto size = static_cast<int>(log.ranks.communicators.front().size());
  log.runs.resize(log.ranks.communicators.front().size());
  for (const auto& [handle, member] : log.ranks.handles) {
    auto& own = log.runs[static_cast<std::size_t>(member.world)];
    own.insert(own.end(), runs[handle].begin(), runs[handle].end());
  }
  for (auto& own : log.runs)
    std::sort(own.begin(), own.end(),
              [](const Run& a, const Run& b) { return a.begin.offset < b.begin.offset; });
  Program program = program_of_graphs(
      candidate.name, size, [kept = std::make_shared<const InspectorLog>(std::move(log))](int rank) {
        return InspectorRank(kept, rank).graph();
      });
  program.notes = {
      "nothing is computed; what is on different communicators, and messages and collectives, go on together",
      "the roots of collectives are not in it: rank 0 stands for them",
      "reductions do not name type and function: they are sums of 32-bit floats",
      "collectives below NCCL_INSPECTOR_DUMP_MIN_SIZE_BYTES (8192) are not in it"};
  if (dropped > 0)
    program.notes.push_back(
        fmt::format("NCCL dropped {} records: NCCL_INSPECTOR_DUMP_COLL_RING_SIZE was too small", dropped));
  return std::optional(std::move(program));
}

}  // namespace

const Opener kNcclInspectorLogs = {
    .kind = "NCCL inspector log", .origin = "NCCL_INSPECTOR_ENABLE=1", .open = open_inspector};

}  // namespace offramp::trace
