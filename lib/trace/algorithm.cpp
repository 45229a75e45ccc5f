// Which format an algorithm's file is of, and schedules of GOAL as algorithms: these say neither of which
// collective they are nor for which size, so that their user does.
#include "lib/trace/algorithm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "lib/configuration/names.hpp"
#include "lib/recording/source.hpp"
#include "offramp/model/message.hpp"

namespace offramp::trace {
namespace {

/// What is named: the file, and before it what its format may leave out.
struct NamedAlgorithm {
  std::string file;
  std::string collective;
  std::uint64_t bytes = 0;  // 0: nothing is said
};

constexpr double kMostBytes = 0x1p46;

/// 0: it is no number of bytes from 1 on.
std::uint64_t bytes_in(const std::string& text) {
  const std::optional<double> bytes = parse_quantity(text, "B");
  return bytes && *bytes >= 1 && *bytes <= kMostBytes ? static_cast<std::uint64_t>(*bytes) : 0;
}

Result<NamedAlgorithm> split_name(const std::string& named) {
  const std::size_t equals = named.find('=');
  if (equals == std::string::npos || named.find('/') < equals) return NamedAlgorithm{named, "", 0};
  NamedAlgorithm split{named.substr(equals + 1), named.substr(0, equals), 0};
  const std::size_t colon = split.collective.find(':');
  if (colon == std::string::npos) return split;
  const std::string size = split.collective.substr(colon + 1);
  split.bytes = bytes_in(size);
  if (split.bytes == 0)
    return Result<NamedAlgorithm>::failure(
        fmt::format("{}: {} is no number of bytes from 1 on", printable(named), in_quotes(size)));
  split.collective.resize(colon);
  return split;
}

/// What all ranks of a schedule have to do with each other.
class ScheduleCheck {
 public:
  explicit ScheduleCheck(const Program& schedule) : schedule_(schedule) {}

  /// Empty, or why it is no algorithm.
  std::string problem() {
    for (int rank = 0; rank < schedule_.description.ranks; ++rank) {
      const Result<Graph> graph = schedule_.graph(rank);
      if (!graph) return graph.error();
      for (const Graph::Node& node : (*graph).nodes) {
        if (std::string wrong = note(rank, node); !wrong.empty()) return wrong;
      }
    }
    for (const auto& [name, open] : open_) {
      if (open == 0) continue;
      const auto& [from, to, tag] = name;
      return fmt::format(
          "rank {} sends {} messages {} to rank {} with tag {} than that receives: they would be "
          "those of the next collective",
          from, open > 0 ? open : -open, open > 0 ? "more" : "fewer", to, tag);
    }
    return {};
  }
  /// Its tags, of which each gets a small number.
  [[nodiscard]] std::map<std::int32_t, std::int32_t> tags() const {
    std::map<std::int32_t, std::int32_t> numbers;
    for (const std::int32_t tag : tags_) numbers.emplace(tag, static_cast<std::int32_t>(numbers.size()));
    return numbers;
  }

 private:
  std::string note(int rank, const Graph::Node& node) {
    if (node.kind == Graph::Kind::kCompute) return {};
    if (node.peer == kAnySource || node.tag == kAnyTag)
      return fmt::format(
          "rank {} receives from any rank, or with any tag: that would take what is not the "
          "collective's",
          rank);
    const bool sends = node.kind == Graph::Kind::kSend;
    open_[{sends ? rank : node.peer, sends ? node.peer : rank, node.tag}] += sends ? 1 : -1;
    tags_.insert(node.tag);
    return {};
  }

  const Program& schedule_;
  std::map<std::tuple<int, int, std::int32_t>, std::int64_t> open_;  // sent and not received
  std::set<std::int32_t> tags_;
};

/// The larger whole number where it is none.
std::uint64_t scaled(std::uint64_t size, std::uint64_t bytes, std::uint64_t of) {
  __extension__ typedef unsigned __int128 Product;  // NOLINT(modernize-use-using): needs a typedef
  const Product all = (Product{size} * bytes + (of - 1)) / of;
  return static_cast<std::uint64_t>(std::min(all, Product{UINT64_MAX}));
}

Result<std::optional<Algorithm>> read_goal_algorithm(const NamedAlgorithm& named) {
  using Read = Result<std::optional<Algorithm>>;
  Result<Program> opened = open_program(named.file);
  if (!opened) return Read::failure(opened.error());
  if (!(*opened).kind.starts_with("GOAL schedule")) return std::optional<Algorithm>();
  if (named.collective.empty())
    return Read::failure(
        fmt::format("{} is a GOAL schedule, which does not say of which collective: name it, "
                    "allreduce={}, or with the size that it is written for, allreduce:1MiB={}",
                    printable(named.file), printable(named.file), printable(named.file)));
  ScheduleCheck check(*opened);
  if (const std::string wrong = check.problem(); !wrong.empty())
    return Read::failure(wrong.starts_with(named.file) ? wrong
                                                       : fmt::format("{}: {}", printable(named.file), wrong));
  Algorithm algorithm;
  algorithm.ranks = (*opened).description.ranks;
  algorithm.collective = named.collective;
  algorithm.place = printable(named.file) + ":";
  algorithm.graph = [read = (*opened).graph, numbers = check.tags(), of = named.bytes](int rank,
                                                                                       std::uint64_t bytes) {
    Result<Graph> graph = read(rank);
    if (!graph) return graph;
    for (Graph::Node& node : (*graph).nodes) {
      if (node.kind != Graph::Kind::kCompute) node.tag = numbers.at(node.tag);
      if (of != 0) node.size = scaled(node.size, bytes, of);
    }
    return graph;
  };
  algorithm.notes = (*opened).notes;
  algorithm.notes.emplace_back(
      "a GOAL schedule has sizes and no data: whether it computes the collective cannot be told");
  algorithm.notes.emplace_back(
      named.bytes == 0
          ? "messages and computing of a schedule are as they are written, whatever the collective's "
            "size; COLLECTIVE:BYTES=FILE scales them"
          : "messages and computing of a schedule are scaled by the collective's size");
  return std::optional(std::move(algorithm));
}

}  // namespace

Result<std::optional<SizedFile>> sized_algorithm(const Candidate& candidate,
                                                 bool (*is_one)(std::string_view begin)) {
  using Sized = Result<std::optional<SizedFile>>;
  if (candidate.is_text() && is_one(candidate.begin))
    return Sized::failure(fmt::format("{} is an algorithm: name it with the size of its buffer, {}:1MiB",
                                      printable(candidate.name), printable(candidate.name)));
  const std::size_t colon = candidate.name.rfind(':');
  if (candidate.is_file() || colon == std::string::npos) return std::optional<SizedFile>();
  SizedFile sized{candidate.name.substr(0, colon), 0};
  const Result<recording::Source> source = recording::Source::look(sized.path);
  if (!source) return std::optional<SizedFile>();
  std::vector<std::uint8_t> buffer;
  std::string problem;
  if (!is_one(recording::text_of((*source).read(0, kLookedAt, buffer, problem))))
    return std::optional<SizedFile>();
  const std::string size = candidate.name.substr(colon + 1);
  sized.bytes = bytes_in(size);
  if (sized.bytes == 0)
    return Sized::failure(
        fmt::format("{}: {} is no number of bytes from 1 on", printable(candidate.name), in_quotes(size)));
  return std::optional(std::move(sized));
}

Result<Algorithm> read_algorithm(const std::string& named) {
  using Failure = Result<Algorithm>;
  const Result<NamedAlgorithm> split = split_name(named);
  if (!split) return Failure::failure(split.error());
  const std::string& file = (*split).file;
  const Result<recording::Source> source = recording::Source::look(file);
  if (!source) return Failure::failure(source.error());
  std::vector<std::uint8_t> buffer;
  std::string problem;
  const std::string begin(recording::text_of((*source).read(0, kLookedAt, buffer, problem)));
  if (!problem.empty()) return Failure::failure(problem);
  for (const auto read : {read_msccl_algorithm, read_mscclpp_algorithm}) {
    Result<std::optional<Algorithm>> found = read(file, begin);
    if (!found) return Failure::failure(found.error());
    if (!(*found).has_value()) continue;
    if (!(*split).collective.empty())
      return Failure::failure(fmt::format("{} says itself of which collective it is: {}", printable(file),
                                          printable((**found).collective)));
    return std::move(**found);
  }
  Result<std::optional<Algorithm>> found = read_goal_algorithm(*split);
  if (!found) return Failure::failure(found.error());
  if ((*found).has_value()) return std::move(**found);
  return Failure::failure(fmt::format(
      "{} is no algorithm: MSCCL's XML, plans of MSCCL++ and GOAL schedules are", printable(file)));
}

}  // namespace offramp::trace
