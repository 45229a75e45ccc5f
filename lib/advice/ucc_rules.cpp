// UCC's choice of algorithms, as the value of UCC_TL_UCP_TUNE: sections
// "collective:sizes:memory:[ranks]:score:@algorithm" with # between them. What no section is about stays as
// it is. Sizes are those of all ranks' data where each rank has data of its own.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "lib/advice/words.hpp"

namespace offramp {
namespace {

struct UccAlgorithm {
  OperationKind kind;
  const char* ours;
  const char* theirs;
};
constexpr UccAlgorithm kUcc[] = {
    {OperationKind::kAllgather, "bruck", "bruck"},
    {OperationKind::kAllgather, "neighbor", "neighbor"},
    {OperationKind::kAllgather, "recursive_doubling", "knomial"},
    {OperationKind::kAllgather, "ring", "ring"},
    {OperationKind::kAllreduce, "rabenseifner", "sra_knomial"},
    {OperationKind::kAllreduce, "recursive_doubling", "knomial"},
    {OperationKind::kAlltoall, "modified_bruck", "bruck"},
    {OperationKind::kAlltoall, "pairwise", "pairwise"},
    {OperationKind::kBcast, "binomial", "knomial"},
    {OperationKind::kBcast, "knomial", "knomial"},
    {OperationKind::kBcast, "scatter_allgather", "sag_knomial"},
    {OperationKind::kGather, "binomial", "knomial"},
    {OperationKind::kReduce, "binomial", "knomial"},
    {OperationKind::kScatter, "binomial", "knomial"},
};

const char* ucc_algorithm(const AlgorithmChoice& choice) {
  const auto* const found = std::find_if(std::begin(kUcc), std::end(kUcc), [&](const UccAlgorithm& one) {
    return one.kind == choice.kind && choice.best == one.ours;
  });
  return found == std::end(kUcc) ? nullptr : found->theirs;
}

bool is_of_all_ranks(OperationKind kind) {
  return kind == OperationKind::kAllgather || kind == OperationKind::kAlltoall ||
         kind == OperationKind::kGather || kind == OperationKind::kScatter;
}

}  // namespace

std::string ucc_rules(const std::vector<AlgorithmChoice>& choices) {
  std::map<OperationKind, std::map<int, std::map<std::size_t, std::string>>> known;
  for (const AlgorithmChoice& choice : choices) {
    const std::size_t times = is_of_all_ranks(choice.kind) ? static_cast<std::size_t>(choice.ranks) : 1;
    if (const char* const algorithm = ucc_algorithm(choice))
      known[choice.kind][choice.ranks][choice.bytes * times] = algorithm;
  }
  std::vector<std::string> sections;
  for (const auto& [kind, by_ranks] : known) {
    for (const auto& [ranks, sizes] : by_ranks) {
      // Between two sizes with the same algorithm it holds as well.
      for (auto one = sizes.begin(); one != sizes.end();) {
        auto next = std::next(one);
        while (next != sizes.end() && next->second == one->second) ++next;
        sections.push_back(fmt::format("{}:{}-{}:host:[{}-{}]:inf:@{}", to_string(kind), one->first,
                                       std::prev(next)->first + 1, ranks, ranks, one->second));
        one = next;
      }
    }
  }
  return sections.empty() ? std::string() : fmt::format("{}\n", fmt::join(sections, "#"));
}

}  // namespace offramp
