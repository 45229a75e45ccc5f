// Sentences say how sure they are: a comparison carries the model's own errors against published figures
// (sureness_text()). The file for Open MPI's tuned component is in its dynamic rules' format, with the
// numbers of its own enumerations.
#include "lib/answers/advice/verdict_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>

#include "lib/answers/report/sentences.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text_format.hpp"

namespace offramp {
namespace {

/// "a third faster", by the ratio of the times.
std::string faster_text(double ratio) {
  constexpr double kAlike = 0.005;
  if (std::abs(ratio - 1) < kAlike) return "as long as";
  return ratio < 1   ? fmt::format("{} less than", percent_text(1 - ratio, 1))
         : ratio < 2 ? fmt::format("{} more than", percent_text(ratio - 1, 1))
                     : fmt::format("{:.3g} times as long as", ratio);
}

std::string error_text(std::string_view backend, const FoundError& of) {
  if (!of.found) return fmt::format("how far to trust {} was not found out in the time", backend);
  if (!of.error) return fmt::format("nothing published says how far to trust {}", backend);
  return fmt::format("half of the {} published figures that {} is not fitted to are met within {}",
                     of.error->figures, backend, percent_text(of.error->median, 1));
}

/// How sure a ratio of communication times is, where each side is as far off as half of its figures. run: the
/// ratio that the answer is about, which may be on the other side of 1.
std::string sureness_text(const Advisor& advisor, double ratio, double run) {
  const BackendDescription& best = *advisor.best_hardware()->backend;
  const FoundError best_error = advisor.error_of(best);
  const FoundError host_error = advisor.error_of(*advisor.host()->backend);
  std::string text =
      fmt::format("{}; {}. ", error_text(best.name, best_error), error_text("host", host_error));
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  const std::optional<ModelError>& of_best = best_error.error;
  const std::optional<ModelError>& of_host = host_error.error;
  if (!of_best || !of_host) return text;
  const double low = ratio * (1 - of_best->median) / (1 + of_host->median);
  const double high = of_host->median < 1 ? ratio * (1 + of_best->median) / (1 - of_host->median) : INFINITY;
  const bool holds = (run < 1) == (low < 1) && (run < 1) == (high < 1);
  return text +
         fmt::format("With errors of that size the ratio of communication is between {:.2f} and {:.2f}: {}",
                     low, high, holds ? "the answer holds" : "which of them is faster is open");
}

/// Open MPI's numbers (ompi/mca/coll/base/coll_base_functions.h, COLLTYPE; names of algorithms: ompi_info
/// --param coll tuned --level 9), the same in 4.1 and 5.0. An algorithm's number is its place, from 1 on.
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

/// 0: tuned has none of that name.
int tuned_number(const TunedCollective& collective, std::string_view algorithm) {
  const auto found = std::find(collective.algorithms.begin(), collective.algorithms.end(), algorithm);
  return found == collective.algorithms.end() || algorithm.empty()
             ? 0
             : static_cast<int>(found - collective.algorithms.begin()) + 1;
}

/// Of one size of communicator: algorithms by message size. Below the first size and behind the last one, 0
/// leaves the choice to the fixed rules; between two sizes with the same algorithm it holds as well.
std::string rules_of(int ranks, std::map<std::size_t, int> by_bytes) {
  by_bytes.emplace(0, 0);
  if (by_bytes.rbegin()->second != 0) by_bytes.emplace(by_bytes.rbegin()->first + 1, 0);
  std::string lines;
  int count = 0;
  for (auto one = by_bytes.begin(); one != by_bytes.end(); ++one) {
    if (one != by_bytes.begin() && std::prev(one)->second == one->second) continue;
    lines += fmt::format("{} {} 0 0\n", one->first, one->second);
    ++count;
  }
  return fmt::format(
      "{}  # ranks\n{}  # message sizes: from so many bytes on, algorithm, fan-out, segment\n{}", ranks,
      count, lines);
}

}  // namespace

std::string verdict_text(const Advisor& advisor, const std::string& program) {
  const Candidate* const host = advisor.host();
  const Candidate* const best = advisor.best_hardware();
  if (host == nullptr)
    return fmt::format("{}: over the plain host there is no result: nothing can be compared", program);
  if (best == nullptr)
    return fmt::format("{}: no hardware carries this program; it stays with the plain host", program);
  const double communication = ratio_of(best->result.modelled_time, host->result.modelled_time);
  const double run = ratio_of(best->end(), host->end());
  std::string text =
      run < 1 ? fmt::format("{} is the hardware for {}: ", best->backend->name, program)
              : fmt::format("The plain host suits {} best; of the hardware, {} comes next: ", program,
                            best->backend->name);
  if (host->run) {
    text += fmt::format(
        "the run takes {} over host ({} instead of {}), its communication {}. MPI calls are {} of "
        "the run over host. ",
        faster_text(run), time_text(in_nanoseconds(best->end())), time_text(in_nanoseconds(host->end())),
        faster_text(communication) + " over host", percent_text(host->run->share_in_calls(), 1));
  } else {
    text += fmt::format(
        "communication takes {} over host ({} instead of {}); of the program's computing nothing is "
        "known. ",
        faster_text(communication), time_text(in_nanoseconds(best->end())),
        time_text(in_nanoseconds(host->end())));
  }
  const std::string ground = other_ground_text(best->result.footing, host->result.footing);
  if (!ground.empty())
    text += fmt::format("{} {}. ", best->backend->name, ground.substr(std::string_view("it ").size()));
  return text + sureness_text(advisor, communication, run);
}

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
    std::map<int, std::map<std::size_t, int>> sizes;  // by communicator
    for (const AlgorithmChoice& choice : choices) {
      if (choice.kind != collective.kind) continue;
      if (const int number = tuned_number(collective, choice.best); number > 0)
        sizes[choice.ranks][choice.bytes] = number;
    }
    if (sizes.empty()) continue;
    ++collectives;
    // Rules hold for larger communicators, too, up to the next size that has some: that is where these end.
    const auto ends = static_cast<std::size_t>(std::count_if(
        sizes.begin(), sizes.end(), [&](const auto& one) { return !sizes.contains(one.first + 1); }));
    rules += fmt::format("{}  # {}\n{}  # sizes of communicators\n", collective.number,
                         to_string(collective.kind), sizes.size() + ends);
    for (const auto& [ranks, by_bytes] : sizes) {
      rules += rules_of(ranks, by_bytes);
      if (!sizes.contains(ranks + 1)) rules += rules_of(ranks + 1, {{0, 0}});
    }
  }
  return collectives == 0 ? std::string() : fmt::format("{}  # collectives\n{}", collectives, rules);
}

}  // namespace offramp
