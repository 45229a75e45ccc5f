// Writes dynamic rules of Open MPI's tuned component: as text, with the numbers of its enumerations, or as
// JSON with their names. ompi/mca/coll/tuned/coll_tuned_dynamic_file.c of its main branch reads the JSON,
// version 3 of the file.
#include "lib/answers/advice/tuned_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

namespace offramp {
namespace {

/// Open MPI's numbers (ompi/mca/coll/base/coll_base_functions.h, COLLTYPE; names of algorithms: ompi_info
/// --param coll tuned --level 9), the same in 4.1 and 5.0. Algorithms are numbered in order, from 1.
struct TunedCollective {
  OperationKind kind;
  int number;
  std::array<std::string_view, 9> algorithms;
};
constexpr TunedCollective kTuned[] = {
    {OperationKind::kAllgather, 0, {"linear", "bruck", "recursive_doubling", "ring", "neighbor", "two_proc"}},
    {OperationKind::kAllreduce,
     2,
     {"basic_linear", "nonoverlapping", "recursive_doubling", "ring", "segmented_ring", "rabenseifner"}},
    {OperationKind::kAlltoall, 3, {"linear", "pairwise", "modified_bruck", "linear_sync", "two_proc"}},
    {OperationKind::kBarrier,
     6,
     {"linear", "double_ring", "recursive_doubling", "bruck", "two_proc", "tree"}},
    {OperationKind::kBcast,
     7,
     {"basic_linear", "chain", "pipeline", "split_binary_tree", "binary_tree", "binomial", "knomial",
      "scatter_allgather", "scatter_allgather_ring"}},
    {OperationKind::kGather, 9, {"basic_linear", "binomial", "linear_sync"}},
    {OperationKind::kReduce,
     11,
     {"linear", "chain", "pipeline", "binary", "binomial", "in-order_binary", "rabenseifner"}},
    {OperationKind::kScatter, 15, {"basic_linear", "binomial", "linear_nb"}},
};

/// 0 if tuned has no algorithm of that name.
int tuned_number(const TunedCollective& collective, std::string_view algorithm) {
  const auto found = std::find(collective.algorithms.begin(), collective.algorithms.end(), algorithm);
  return found == collective.algorithms.end() || algorithm.empty()
             ? 0
             : static_cast<int>(found - collective.algorithms.begin()) + 1;
}

struct Rule {
  int algorithm = 0;
  std::size_t segment = 0;  // 0: not segmented
  bool operator==(const Rule&) const = default;
};

/// The rules of one communicator size: algorithms by message size. Below the first size and above the last, 0
/// selects the fixed rules. Between two sizes with the same algorithm, it applies as well.
std::string rules_of(int ranks, std::map<std::size_t, Rule> by_bytes) {
  by_bytes.emplace(0, Rule{});
  if (by_bytes.rbegin()->second != Rule{}) by_bytes.emplace(by_bytes.rbegin()->first + 1, Rule{});
  std::string lines;
  int count = 0;
  for (auto one = by_bytes.begin(); one != by_bytes.end(); ++one) {
    if (one != by_bytes.begin() && std::prev(one)->second == one->second) continue;
    lines += fmt::format("{} {} 0 {}\n", one->first, one->second.algorithm, one->second.segment);
    ++count;
  }
  return fmt::format(
      "{}  # ranks\n{}  # message sizes: from so many bytes on, algorithm, fan-out, segment\n{}", ranks,
      count, lines);
}

/// Algorithms by communicator size and message size.
using TunedSizes = std::map<int, std::map<std::size_t, Rule>>;
TunedSizes tuned_sizes(const TunedCollective& collective, const std::vector<AlgorithmChoice>& choices) {
  TunedSizes sizes;
  for (const AlgorithmChoice& choice : choices) {
    if (choice.kind != collective.kind) continue;
    if (const int number = tuned_number(collective, choice.best); number > 0)
      sizes[choice.ranks][choice.bytes] = {number, choice.segment};
  }
  return sizes;
}

}  // namespace

std::string routes_toml(const Mix& mix) {
  std::string text = fmt::format("backend = \"{}\"\n", mix.backend);
  for (const Route& route : mix.routes) {
    text += fmt::format("\n[[route]]\noperation = \"{}\"\n", to_string(*route.operation));
    if (route.min_bytes > 0) text += fmt::format("min_bytes = {}\n", route.min_bytes);
    if (route.max_bytes < std::numeric_limits<std::size_t>::max())
      text += fmt::format("max_bytes = {}\n", route.max_bytes);
    text += fmt::format("backend = \"{}\"\n", route.backend);
  }
  return text;
}

std::string tuned_rules(const std::vector<AlgorithmChoice>& choices) {
  std::string rules;
  int collectives = 0;
  for (const TunedCollective& collective : kTuned) {
    const TunedSizes sizes = tuned_sizes(collective, choices);
    if (sizes.empty()) continue;
    ++collectives;
    // Rules apply up to the next communicator size with rules of its own; this entry ends them.
    const auto ends = static_cast<std::size_t>(std::count_if(
        sizes.begin(), sizes.end(), [&](const auto& one) { return !sizes.contains(one.first + 1); }));
    rules += fmt::format("{}  # {}\n{}  # sizes of communicators\n", collective.number,
                         to_string(collective.kind), sizes.size() + ends);
    for (const auto& [ranks, by_bytes] : sizes) {
      rules += rules_of(ranks, by_bytes);
      if (!sizes.contains(ranks + 1)) rules += rules_of(ranks + 1, {{0, {}}});
    }
  }
  return collectives == 0 ? std::string() : fmt::format("{}  # collectives\n{}", collectives, rules);
}

std::string tuned_rules_json(const std::vector<AlgorithmChoice>& choices) {
  using Json = nlohmann::ordered_json;
  Json collectives = Json::object();
  for (const TunedCollective& collective : kTuned) {
    for (const auto& [ranks, by_bytes] : tuned_sizes(collective, choices)) {
      Json rules = Json::array();
      Rule before;
      for (const auto& [bytes, rule] : by_bytes) {
        if (rule != before)
          rules.push_back({{"msg_size_min", bytes},
                           {"msg_size_max", bytes},
                           {"alg", collective.algorithms.at(static_cast<std::size_t>(rule.algorithm) - 1)}});
        if (rule.segment > 0) rules.back()["seg_size"] = rule.segment;
        rules.back()["msg_size_max"] = bytes;
        before = rule;
      }
      collectives[std::string(to_string(collective.kind))].push_back(
          {{"comm_size_min", ranks}, {"comm_size_max", ranks}, {"rules", rules}});
    }
  }
  const Json file = {{"rule_file_version", 3}, {"module", "tuned"}, {"collectives", collectives}};
  return collectives.empty() ? std::string() : file.dump(1) + "\n";
}

std::string_view tuning_format_of(std::string_view library) {
  if (library.starts_with("Open MPI v6")) return "openmpi-6";
  if (!library.starts_with("MPICH")) return "openmpi";
  return library.find(" 4.0") != std::string_view::npos ? "mpich-4.0" : "mpich";
}

}  // namespace offramp
