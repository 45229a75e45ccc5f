// The selection of Open MPI 4.1: the fixed decisions of its component "tuned" in branch v4.1.x
// (ompi/mca/coll/tuned/coll_tuned_decision_fixed.c), by number of ranks and bytes. "tuned" leaves scans,
// gatherv, and scatterv to the component "basic", which has one algorithm for each.
//
// A line of a table has the rules below a number of ranks, "RANKS: BYTES ALGORITHM, BYTES ALGORITHM, ...",
// each below a size. K and M are 1024 and its square; * has no bound.
#include <climits>
#include <string_view>

#include "backends/host/collectives.hpp"
#include "offramp/kernel/immortal.hpp"
#include "simulators/world/text_fields.hpp"

namespace offramp::host {
namespace {

constexpr std::string_view kBcastRules =
    "4: 32 pipeline, 256 binary_tree, 512 pipeline, 1K knomial, 32K basic_linear, 128K binary_tree, "
    "256K chain, 512K basic_linear, 1M binomial, * binary_tree\n"
    "8: 64 binary_tree, 128 binomial, 2K binary_tree, 8K binomial, 1M basic_linear, * chain\n"
    "16: 8 knomial, 64 binary_tree, 4K knomial, 16K binary_tree, 32K binomial, * basic_linear\n"
    "32: 4K knomial, 1M binomial, * scatter_allgather\n"
    "64: 2K binomial, * knomial\n"
    "128: * knomial\n"
    "256: 2 binomial, 16K binary_tree, 32K basic_linear, 64K binary_tree, * knomial\n"
    "1024: 16K knomial, 32K split_binary_tree, * knomial\n"
    "2048: 512K knomial, * scatter_allgather\n"
    "4096: 256K knomial, * scatter_allgather\n"
    "*: 8K knomial, 16K binary_tree, 256K knomial, * scatter_allgather";

constexpr std::string_view kReduceInOrder =
    "4: 8 in-order_binary, * linear\n"
    "8: * linear\n"
    "16: 1K in-order_binary, 8K linear, 16K in-order_binary, 256K linear, * in-order_binary\n"
    "128: * in-order_binary\n"
    "256: 512 in-order_binary, 1K linear, * in-order_binary\n"
    "*: * in-order_binary";

constexpr std::string_view kReduceRules =
    "4: 8 rabenseifner, 16 binary, 32 pipeline, 256K linear, 512K pipeline, 1M chain, * pipeline\n"
    "8: 4K binary, 64K chain, 256K binomial, 512K linear, 1M binomial, * linear\n"
    "16: 8K binary, * binomial\n"
    "32: 4K binary, * binomial\n"
    "256: * binomial\n"
    "512: 8K binomial, 16K in-order_binary, * binomial\n"
    "2048: * binomial\n"
    "4096: 512 binomial, 1K in-order_binary, 8K binomial, 16K in-order_binary, * binomial\n"
    "*: 16 binomial, 32 in-order_binary, 1K binomial, 2K in-order_binary, 8K binomial, "
    "16K in-order_binary, * binomial";

constexpr std::string_view kAllreduceInOrder =
    "4: 128K recursive_doubling, * basic_linear\n"
    "8: * recursive_doubling\n"
    "16: 1M recursive_doubling, * nonoverlapping\n"
    "128: * recursive_doubling\n"
    "256: 128K nonoverlapping, 512K recursive_doubling, * nonoverlapping\n"
    "512: 4K nonoverlapping, 512K recursive_doubling, * nonoverlapping\n"
    "*: 2K nonoverlapping, * recursive_doubling";

constexpr std::string_view kAllreduceRules =
    "4: 8 ring, 4K recursive_doubling, 8K ring, 16K recursive_doubling, 64K ring, 256K segmented_ring, "
    "* rabenseifner\n"
    "8: 16 ring, 8K recursive_doubling, * rabenseifner\n"
    "16: 8K recursive_doubling, * rabenseifner\n"
    "32: 64 segmented_ring, 4K recursive_doubling, * rabenseifner\n"
    "64: 128 segmented_ring, * rabenseifner\n"
    "128: 256K recursive_doubling, * rabenseifner\n"
    "256: 128K nonoverlapping, 256K recursive_doubling, * rabenseifner\n"
    "512: 4K nonoverlapping, * rabenseifner\n"
    "2048: 2K nonoverlapping, 16K recursive_doubling, * rabenseifner\n"
    "4096: 2K nonoverlapping, 4K segmented_ring, 16K recursive_doubling, * rabenseifner\n"
    "*: 2K nonoverlapping, 16K segmented_ring, 32K recursive_doubling, * rabenseifner";

constexpr std::string_view kGatherRules =
    "4: 2 linear_sync, 4 basic_linear, 32K binomial, 64K basic_linear, 128K binomial, * linear_sync\n"
    "8: 1K binomial, 8K basic_linear, 32K binomial, 256K basic_linear, * linear_sync\n"
    "256: * binomial\n"
    "512: 2K binomial, 8K basic_linear, * binomial\n"
    "*: * binomial";

constexpr std::string_view kScatterRules =
    "4: 2 linear_nb, 128K basic_linear, 256K linear_nb, * basic_linear\n"
    "8: 2K binomial, 4K basic_linear, 8K binomial, 32K basic_linear, 1M linear_nb, * basic_linear\n"
    "16: 16K binomial, 1M linear_nb, * basic_linear\n"
    "32: 16K binomial, 32K basic_linear, * linear_nb\n"
    "64: 512 binomial, 8K linear_nb, 16K binomial, * linear_nb\n"
    "*: 512 binomial, * linear_nb";

constexpr std::string_view kAllgatherRules =
    "3: * two_proc\n"
    "32: * recursive_doubling\n"
    "64: 1K recursive_doubling, 64K neighbor, * ring\n"
    "128: 512 recursive_doubling, 64K neighbor, * ring\n"
    "256: 512 recursive_doubling, 128K neighbor, 512K ring, 1M neighbor, * ring\n"
    "512: 32 recursive_doubling, 128 bruck, 1K recursive_doubling, 128K neighbor, 512K ring, 1M neighbor, "
    "* ring\n"
    "1024: 64 recursive_doubling, 256 bruck, 2K recursive_doubling, * neighbor\n"
    "2048: 4 recursive_doubling, 8 bruck, 16 recursive_doubling, 32 bruck, 256 recursive_doubling, "
    "512 bruck, 4K recursive_doubling, * neighbor\n"
    "4096: 32 bruck, 128 recursive_doubling, 512 bruck, 4K recursive_doubling, * neighbor\n"
    "*: 2 recursive_doubling, 8 bruck, 16 recursive_doubling, 512 bruck, 4K recursive_doubling, * neighbor";

constexpr std::string_view kAllgathervRules =
    "3: 2K ring, 4K two_proc, 8K ring, * two_proc\n"
    "8: 256 default, 4K neighbor, 8K ring, 16K neighbor, 256K bruck, * neighbor\n"
    "16: 1K default, * bruck\n"
    "32: 128 default, 256K bruck, * ring\n"
    "64: 256 default, 8K bruck, * ring\n"
    "128: 256 default, 4K bruck, * ring\n"
    "256: 1K bruck, 64K neighbor, * ring\n"
    "512: 1K bruck, * ring\n"
    "1024: 512 bruck, 1K default, 4K bruck, 1M neighbor, * ring\n"
    "*: 4K bruck, * neighbor";

constexpr std::string_view kReduceScatterInOrder = "*: * basic_linear";
constexpr std::string_view kReduceScatterRules =
    "4: 4 recursive_doubling, 8 butterfly, 16 recursive_halving, 128 butterfly, 256 recursive_halving, "
    "4K butterfly, 8K recursive_halving, 128K butterfly, * basic_linear\n"
    "8: 8 recursive_halving, 32 recursive_doubling, 256 butterfly, 8K recursive_halving, 16K butterfly, "
    "1M recursive_halving, * basic_linear\n"
    "16: 4 basic_linear, 32 recursive_halving, 128 butterfly, 512K recursive_halving, 4M basic_linear, "
    "* butterfly\n"
    "32: 32 basic_linear, 512K recursive_halving, 2M basic_linear, 4M recursive_halving, * butterfly\n"
    "*: 4 recursive_halving, 16 basic_linear, 64K butterfly, 256K basic_linear, * butterfly";

constexpr std::string_view kReduceScattervInOrder = "*: * non-overlapping";
constexpr std::string_view kReduceScattervRules =
    "4: 64K ring, 128K butterfly, * ring\n"
    "8: 8 non-overlapping, 256K recursive_halving, * ring\n"
    "32: 256K recursive_halving, * ring\n"
    "64: 64 non-overlapping, 2K recursive_halving, 512K butterfly, * ring\n"
    "128: 256 non-overlapping, 512 recursive_halving, 2K butterfly, 4K recursive_halving, * butterfly\n"
    "256: 256 non-overlapping, 512 recursive_halving, * butterfly\n"
    "512: 256 non-overlapping, 1K recursive_halving, * butterfly\n"
    "1024: 512 non-overlapping, 2K recursive_halving, 8K butterfly, 16K recursive_halving, * butterfly\n"
    "2048: 512 non-overlapping, 4K recursive_halving, 16K butterfly, 32K recursive_halving, * butterfly\n"
    "4096: 512 non-overlapping, 4K recursive_halving, * butterfly\n"
    "*: 1K non-overlapping, 8K recursive_halving, * butterfly";

constexpr std::string_view kAlltoallRules =
    "3: 2 pairwise, 4 two_proc, 16 pairwise, 64 two_proc, 256 pairwise, 4K two_proc, 32K pairwise, "
    "256K linear_sync, 1M two_proc, * pairwise\n"
    "8: 8K linear_sync, 16K linear, 64K linear_sync, 512K linear, 1M pairwise, * linear\n"
    "16: 256K linear_sync, * linear\n"
    "32: 4 linear_sync, 512 modified_bruck, 8K linear_sync, 32K linear, 256K linear_sync, 512K linear, "
    "* linear_sync\n"
    "64: 512 modified_bruck, 512K linear, * linear_sync\n"
    "128: 1K modified_bruck, 2K linear, 4K linear_sync, 256K linear, * pairwise\n"
    "256: 1K modified_bruck, 2K linear_sync, 256K linear, * pairwise\n"
    "512: 1K modified_bruck, 8K linear_sync, 32K linear, * pairwise\n"
    "1024: 512 modified_bruck, 8K linear_sync, 16K linear, 128K linear_sync, 256K linear, * pairwise\n"
    "2048: 512 modified_bruck, 1K linear_sync, 2K linear, 16K linear_sync, 256K linear, * linear_sync\n"
    "4096: 1K modified_bruck, 4K linear_sync, 8K linear, 128K linear_sync, * linear\n"
    "*: 2K modified_bruck, 8K linear_sync, 16K linear, 32K linear_sync, 64K linear, * linear_sync";

constexpr std::string_view kAlltoallvRules =
    "4: * pairwise\n"
    "64: * basic_linear\n"
    "128: * pairwise\n"
    "256: * basic_linear\n"
    "1024: * pairwise\n"
    "*: * basic_linear";

constexpr std::string_view kBarrierRules =
    "4: * recursive_doubling\n"
    "8: * linear\n"
    "64: * recursive_doubling\n"
    "256: * bruck\n"
    "512: * tree\n"
    "1024: * bruck\n"
    "4096: * tree\n"
    "*: * bruck";

constexpr std::string_view kLinear = "*: * basic_linear";
constexpr std::string_view kLinearScan = "*: * linear";

/// "16K"; * is `any`.
std::size_t bound(std::string_view text, std::size_t any) {
  if (text == "*") return any;
  const std::size_t unit = text.ends_with('M') ? kKi * kKi : text.ends_with('K') ? kKi : 1;
  if (unit > 1) text.remove_suffix(1);
  return static_cast<std::size_t>(whole_number(text, 1, INT_MAX).value_or(0)) * unit;
}

std::vector<Rule> rules(std::string_view table) {
  std::vector<Rule> all;
  for (const std::string_view line : split(table, '\n')) {
    const std::size_t colon = line.find(':');
    const auto ranks = static_cast<int>(bound(line.substr(0, colon), INT_MAX));
    for (const std::string_view part : split(line.substr(colon + 1), ',')) {
      const std::vector<std::string_view> words = split(part.substr(1), ' ');
      all.push_back({ranks, bound(words[0], SIZE_MAX), words[1]});
    }
  }
  return all;
}

}  // namespace

std::span<const CollectiveKind> collective_kinds() {
  using enum OperationKind;
  static const auto& kinds = immortal(std::vector<CollectiveKind>{
      {kBcast, kBcastCatalogue, rules(kBcastRules)},
      {kReduce, kReduceCatalogue, rules(kReduceRules), rules(kReduceInOrder)},
      {kGather, kGatherCatalogue, rules(kGatherRules)},
      {kAllreduce, kAllreduceCatalogue, rules(kAllreduceRules), rules(kAllreduceInOrder)},
      {kScatter, kScatterCatalogue, rules(kScatterRules)},
      {kAllgather, kAllgatherCatalogue, rules(kAllgatherRules)},
      {kReduceScatter, kReduceScatterCatalogue, rules(kReduceScatterRules), rules(kReduceScatterInOrder)},
      {kAlltoall, kAlltoallCatalogue, rules(kAlltoallRules)},
      {kBarrier, kBarrierCatalogue, rules(kBarrierRules)},
      {kScan, kScanCatalogue, rules(kLinearScan)},
      {kExscan, kExscanCatalogue, rules(kLinearScan)},
      {kGatherv, kGathervCatalogue, rules(kLinear)},
      {kScatterv, kScattervCatalogue, rules(kLinear)},
      {kAllgatherv, kAllgathervCatalogue, rules(kAllgathervRules)},
      {kReduceScatterv, kReduceScattervCatalogue, rules(kReduceScattervRules), rules(kReduceScattervInOrder)},
      {kAlltoallv, kAlltoallvCatalogue, rules(kAlltoallvRules)},
  });
  return kinds;
}

}  // namespace offramp::host
