// Selection of collective algorithms for MPICH 4 and 5.0, as a tree in JSON for
// MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE (read by src/mpi/coll/src/csel.c). Keys are conditions, tested in
// order; the first that is true is followed, without backtracking. So each list of conditions ends with one
// that is always true. A file replaces the whole built-in tree, and a collective without an entry ends the
// program. So all other collectives get the choices of MPICH 4.0. Up to 4.0 the dissemination barrier has no
// radix in its name.
//
// For the selection that replaces this one (pull request 7547, in no release by August 2026) there are the
// subtrees of single collectives: "name=bcast-intra-auto". Its conditions have other words, and a file may
// leave out the rest.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lib/answers/advice/tuned_rules.hpp"

namespace offramp {
namespace {

using Json = nlohmann::ordered_json;
using Questions = std::vector<std::pair<std::string, Json>>;

Json decision_node(const Questions& questions) {
  Json node = Json::object();
  for (const auto& [question, next] : questions) node[question] = next;
  return node;
}

/// Names of one collective, blocking ("Bcast") or nonblocking ("Ibcast", whose algorithms are schedules).
struct Names {
  std::string function;
  bool blocking = true;

  [[nodiscard]] Json algorithm(const std::string& on, const std::string& name) const {
    return {{"algorithm=MPIR_" + function + "_" + on + (blocking ? "_" : "_sched_") + name, Json::object()}};
  }
  [[nodiscard]] Json intra(const std::string& name) const { return algorithm("intra", name); }
  /// allcomm: for all communicators. both: for intra- and intercommunicators.
  [[nodiscard]] Json allcomm(const std::string& name) const { return algorithm("allcomm", name); }
  [[nodiscard]] Json both(Json intra, Json inter) const {
    return decision_node({{"comm_type=intra", std::move(intra)}, {"comm_type=inter", std::move(inter)}});
  }
  [[nodiscard]] Json inter(const std::string& name) const { return algorithm("inter", name); }
  [[nodiscard]] std::string number(const char* of_blocking, const char* of_other) const {
    return blocking ? of_blocking : of_other;
  }
};

/// A reduction that is split among the ranks if each gets an element and the operation is predefined.
Json split(const Names& n, const std::string& split, const std::string& whole) {
  return decision_node(
      {{"is_op_built_in=yes", decision_node({{"count<pow2", n.intra(whole)}, {"count=any", n.intra(split)}})},
       {"is_op_built_in=no", n.intra(whole)}});
}

// The choices of MPICH 4.0 for intracommunicators.

Json bcast(const Names& n) {
  const std::string less = n.number("<=", "<");
  const auto by_size = [&](bool power) {
    Questions sizes = {{"avg_msg_size" + less + "12288", n.intra("binomial")}};
    if (power)
      sizes.emplace_back("avg_msg_size" + less + "524288", n.intra("scatter_recursive_doubling_allgather"));
    sizes.emplace_back("avg_msg_size=any", n.intra("scatter_ring_allgather"));
    return decision_node(sizes);
  };
  Json flat = decision_node({{"comm_size<8", n.intra("binomial")},
                             {"comm_size=pow2", by_size(true)},
                             {"comm_size=any", by_size(false)}});
  if (n.blocking) return flat;
  return decision_node({{"comm_hierarchy=parent", n.intra("smp")}, {"comm_hierarchy=any", std::move(flat)}});
}

Json allreduce(const Names& n) {
  return decision_node({{"avg_msg_size<=" + n.number("8", "2048"), n.intra("recursive_doubling")},
                        {"avg_msg_size=any", split(n, "reduce_scatter_allgather", "recursive_doubling")}});
}

Json reduce(const Names& n) {
  Json flat = decision_node({{"avg_msg_size<=2048", n.intra("binomial")},
                             {"avg_msg_size=any", split(n, "reduce_scatter_gather", "binomial")}});
  if (n.blocking) return flat;
  return decision_node(
      {{"comm_hierarchy=parent",
        decision_node({{"is_commutative=yes", n.intra("smp")}, {"is_commutative=no", n.intra("binomial")}})},
       {"comm_hierarchy=any", std::move(flat)}});
}

/// For allgather and allgatherv.
Json allgather(const Names& n) {
  return decision_node(
      {{"comm_size=pow2", decision_node({{"total_msg_size<524288", n.intra("recursive_doubling")},
                                         {"total_msg_size=any", n.intra("ring")}})},
       {"comm_size=any", decision_node({{"total_msg_size<81920", n.intra("brucks")},
                                        {"total_msg_size=any", n.intra("ring")}})}});
}

Json alltoall(const Names& n) {
  const Json medium = n.intra(n.number("scattered", "permuted_sendrecv"));
  return decision_node(
      {{"is_sendbuf_inplace=yes", n.intra(n.number("pairwise_sendrecv_replace", "inplace"))},
       {"is_sendbuf_inplace=no",
        decision_node(
            {{"comm_size<8",
              decision_node({{"avg_msg_size<=32768", medium}, {"avg_msg_size=any", n.intra("pairwise")}})},
             {"comm_size=any", decision_node({{"avg_msg_size<=" + n.number("256", "2048"), n.intra("brucks")},
                                              {"avg_msg_size<=32768", medium},
                                              {"avg_msg_size=any", n.intra("pairwise")}})}})}});
}

/// For alltoallv and alltoallw.
Json alltoallv(const Names& n) {
  return decision_node({{"is_sendbuf_inplace=yes", n.intra(n.number("pairwise_sendrecv_replace", "inplace"))},
                        {"is_sendbuf_inplace=no", n.intra(n.number("scattered", "blocked"))}});
}

Json reduce_scatter(const Names& n, bool in_blocks) {
  Json regular = decision_node(
      {{"comm_size=pow2", n.intra("noncommutative")}, {"comm_size=any", n.intra("recursive_doubling")}});
  if (!in_blocks)
    regular = decision_node({{"is_block_regular=yes", std::move(regular)},
                             {"is_block_regular=no", n.intra("recursive_doubling")}});
  return decision_node(
      {{"is_commutative=yes", decision_node({{"total_msg_size<524288", n.intra("recursive_halving")},
                                             {"total_msg_size=any", n.intra("pairwise")}})},
       {"is_commutative=no", std::move(regular)}});
}

/// Adds the entries of all blocking, or all nonblocking, collectives.
void add_collectives(Json& tree, bool blocking) {
  const auto names = [&](std::string function) {
    if (!blocking)
      function = "I" + std::string(1, static_cast<char>(function[0] - 'A' + 'a')) + function.substr(1);
    return Names{std::move(function), blocking};
  };
  const auto add = [&](const Names& n, Json choice) {
    std::string key = n.function;
    key[0] = static_cast<char>(key[0] - 'A' + 'a');
    tree["collective=" + key] = std::move(choice);
  };
  const auto add_both = [&](const char* function, Json (*intra)(const Names&), const char* inter) {
    const Names n = names(function);
    add(n, n.both(intra(n), n.inter(inter)));
  };
  add_both("Bcast", bcast, blocking ? "remote_send_local_bcast" : "flat");
  add_both("Allreduce", allreduce, blocking ? "reduce_exchange_bcast" : "remote_reduce_local_bcast");
  add_both("Reduce", reduce, "local_reduce_remote_send");
  add_both("Allgather", allgather, "local_gather_remote_bcast");
  add_both("Allgatherv", allgather, "remote_gather_local_bcast");
  add_both("Alltoall", alltoall, "pairwise_exchange");
  add_both("Alltoallv", alltoallv, "pairwise_exchange");
  add_both("Alltoallw", alltoallv, "pairwise_exchange");
  const char* const scattered = blocking ? "remote_reduce_local_scatter" : "remote_reduce_local_scatterv";
  add_both(
      "Reduce_scatter", [](const Names& n) { return reduce_scatter(n, false); }, scattered);
  add_both(
      "Reduce_scatter_block", [](const Names& n) { return reduce_scatter(n, true); }, scattered);
  for (const auto& [function, few, many] :
       {std::tuple("Gather", blocking ? "local_gather_remote_send" : "short", blocking ? "linear" : "long"),
        std::tuple("Scatter", "remote_send_local_scatter", "linear")}) {
    const Names n = names(function);
    add(n, n.both(n.intra("binomial"), decision_node({{"total_msg_size<2048", n.inter(few)},
                                                      {"total_msg_size=any", n.inter(many)}})));
  }
  for (const char* function : {"Gatherv", "Scatterv"})
    add(names(function), names(function).allcomm("linear"));
  add(names("Exscan"), names("Exscan").intra("recursive_doubling"));
  const Names scan = names("Scan");
  add(scan, blocking ? decision_node({{"is_node_consecutive=yes", scan.intra("smp")},
                                      {"is_node_consecutive=no", scan.intra("recursive_doubling")}})
                     : decision_node({{"comm_hierarchy=parent", scan.intra("smp")},
                                      {"comm_hierarchy=any", scan.intra("recursive_doubling")}}));
  const Names barrier = names("Barrier");
  add(barrier, barrier.both(blocking ? decision_node({{"comm_hierarchy=parent", barrier.intra("smp")},
                                                      {"comm_hierarchy=any", barrier.intra("dissemination")}})
                                     : barrier.intra("recursive_doubling"),
                            barrier.inter("bcast")));
  for (const char* function : {"Neighbor_allgather", "Neighbor_allgatherv", "Neighbor_alltoall",
                               "Neighbor_alltoallv", "Neighbor_alltoallw"})
    add(names(function), names(function).allcomm(blocking ? "nb" : "linear"));
}

// The faster choices.

/// Maps algorithm names to MPICH's. whole: replaces a splitting reduction where it cannot be used, or null.
struct MpichAlgorithm {
  OperationKind kind;
  const char* ours;
  const char* function;
  const char* theirs;
  bool of_powers = false;  // needs a power of two ranks
  const char* whole = nullptr;
};
constexpr MpichAlgorithm kMpich[] = {
    {OperationKind::kAllgather, "bruck", "Allgather", "brucks"},
    {OperationKind::kAllgather, "recursive_doubling", "Allgather", "recursive_doubling", true},
    {OperationKind::kAllgather, "ring", "Allgather", "ring"},
    {OperationKind::kAllreduce, "recursive_doubling", "Allreduce", "recursive_doubling"},
    {OperationKind::kAllreduce, "rabenseifner", "Allreduce", "reduce_scatter_allgather", false,
     "recursive_doubling"},
    {OperationKind::kAlltoall, "linear", "Alltoall", "scattered"},
    {OperationKind::kAlltoall, "pairwise", "Alltoall", "pairwise"},
    {OperationKind::kAlltoall, "modified_bruck", "Alltoall", "brucks"},
    {OperationKind::kBarrier, "bruck", "Barrier", "dissemination"},
    {OperationKind::kBcast, "binomial", "Bcast", "binomial"},
    {OperationKind::kBcast, "scatter_allgather", "Bcast", "scatter_recursive_doubling_allgather", true},
    {OperationKind::kBcast, "scatter_allgather_ring", "Bcast", "scatter_ring_allgather"},
    {OperationKind::kReduce, "binomial", "Reduce", "binomial"},
    {OperationKind::kReduce, "rabenseifner", "Reduce", "reduce_scatter_gather", false, "binomial"},
};

const MpichAlgorithm* mpich_algorithm(const AlgorithmChoice& choice) {
  const auto* const found = std::find_if(
      std::begin(kMpich), std::end(kMpich),
      [&](const MpichAlgorithm& one) { return one.kind == choice.kind && choice.best == one.ours; });
  if (found == std::end(kMpich)) return nullptr;
  const bool power = (choice.ranks & (choice.ranks - 1)) == 0;
  return found->of_powers && !power ? nullptr : found;
}

Json branch_of(const MpichAlgorithm& algorithm) {
  const Names n{algorithm.function, true};
  Json one =
      algorithm.whole == nullptr ? n.intra(algorithm.theirs) : split(n, algorithm.theirs, algorithm.whole);
  if (algorithm.kind != OperationKind::kAlltoall) return one;
  return decision_node({{"is_sendbuf_inplace=yes", n.intra("pairwise_sendrecv_replace")},
                        {"is_sendbuf_inplace=no", std::move(one)}});
}

/// The branch of one communicator size. usual: the choice for all other message sizes.
Json by_message_size(OperationKind kind, int ranks, const std::map<std::size_t, const MpichAlgorithm*>& sizes,
                     const Json& usual) {
  if (kind == OperationKind::kBarrier) return branch_of(*sizes.begin()->second);
  // For an allgather, MPICH compares the bytes of all ranks together.
  const bool total = kind == OperationKind::kAllgather;
  const std::string size = total ? "total_msg_size" : "avg_msg_size";
  const std::size_t times = total ? static_cast<std::size_t>(ranks) : 1;
  Questions questions;
  const MpichAlgorithm* before = nullptr;
  for (const auto& [bytes, algorithm] : sizes) {
    // Two adjacent known sizes with the same algorithm share one rule; other gaps keep the usual choice.
    const bool follows = algorithm == before;
    if (bytes > 0 && !follows) questions.emplace_back(fmt::format("{}<{}", size, bytes * times), usual);
    if (follows) questions.pop_back();
    questions.emplace_back(fmt::format("{}<={}", size, bytes * times), branch_of(*algorithm));
    before = algorithm;
  }
  questions.emplace_back(size + "=any", usual);
  return decision_node(questions);
}

/// The conditions of named subtrees.
Json with_words_of_subtrees(const Json& node) {
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {{"comm_size=pow2", "pof2"},
                                                                      {"is_op_built_in=yes", "builtin_op"},
                                                                      {"count<pow2", "!count_ge_pof2"},
                                                                      {"is_sendbuf_inplace=yes", "inplace"},
                                                                      {"is_commutative=yes", "commutative"}};
  Json renamed = Json::object();
  for (const auto& [key, next] : node.items()) {
    const auto* const found =
        std::ranges::find(kWords, std::string_view(key), [](const auto& one) { return one.first; });
    const bool is_rest = key.ends_with("=any") || key.ends_with("=no");
    renamed[found != std::end(kWords) ? std::string(found->second)
            : is_rest                 ? "any"
                                      : key] = with_words_of_subtrees(next);
  }
  return renamed;
}

/// The whole tree. Empty if MPICH has none of the algorithms.
Json tree_of(const std::vector<AlgorithmChoice>& choices) {
  std::map<OperationKind, std::map<int, std::map<std::size_t, const MpichAlgorithm*>>> known;
  for (const AlgorithmChoice& choice : choices) {
    // MPICH's sizes have 32 bits.
    if (choice.bytes * static_cast<std::size_t>(choice.ranks) > std::size_t{1} << 30) continue;
    if (const MpichAlgorithm* algorithm = mpich_algorithm(choice))
      known[choice.kind][choice.ranks][choice.bytes] = algorithm;
  }
  if (known.empty()) return Json::object();
  Json tree = Json::object();
  add_collectives(tree, true);
  add_collectives(tree, false);
  for (const auto& [kind, by_ranks] : known) {
    const std::string key = "collective=" + std::string(to_string(kind));
    Json& intra = tree.at(key).at("comm_type=intra");
    const Json usual = intra;
    Questions questions;
    int before = 0;
    for (const auto& [ranks, sizes] : by_ranks) {
      if (ranks > before + 1) questions.emplace_back(fmt::format("comm_size<{}", ranks), usual);
      questions.emplace_back(fmt::format("comm_size<={}", ranks), by_message_size(kind, ranks, sizes, usual));
      before = ranks;
    }
    questions.emplace_back("comm_size=any", usual);
    intra = decision_node(questions);
  }
  return tree;
}

/// The text of a tree; a new name has the radix of the dissemination barrier.
std::string text_of(const Json& tree, bool has_radix) {
  if (tree.empty()) return {};
  constexpr std::string_view kOld = "dissemination\": {}";
  std::string text = tree.dump(1) + "\n";
  for (std::size_t at = 0; has_radix && (at = text.find(kOld, at)) != std::string::npos;)
    text.replace(at, kOld.size(), "k_dissemination\": {\"k=2\": {}}");
  return text;
}

}  // namespace

std::string mpich_rules(const std::vector<AlgorithmChoice>& choices) {
  return text_of(tree_of(choices), true);
}
std::string mpich_4_0_rules(const std::vector<AlgorithmChoice>& choices) {
  return text_of(tree_of(choices), false);
}
std::string mpich_subtrees(const std::vector<AlgorithmChoice>& choices) {
  const Json tree = tree_of(choices);
  Json subtrees = Json::object();
  for (const AlgorithmChoice& choice : choices) {
    const std::string kind(to_string(choice.kind));
    if (!tree.empty() && mpich_algorithm(choice) != nullptr)
      subtrees["name=" + kind + "-intra-auto"] =
          with_words_of_subtrees(tree.at("collective=" + kind).at("comm_type=intra"));
  }
  return text_of(subtrees, true);
}

}  // namespace offramp
