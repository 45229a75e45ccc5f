// Every algorithm of the host's catalogue gives MPI's results, for any number of ranks, and the choices among
// them are those of the decision tables.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "backends/host/collectives.hpp"
#include "lib/core/forecast.hpp"
#include "tests/cluster.hpp"
#include "tests/core/support.hpp"

namespace offramp {
namespace {

using test::Buffer;
using test::pattern;

constexpr std::size_t kKi = 1024;
constexpr std::size_t kMi = 1024 * kKi;

using Overrides = std::map<std::string, Settings::Value>;
Settings host_settings(const Overrides& overrides = {}) {
  Settings settings = Settings::defaults(test::backend_named("host").parameters);
  for (const auto& [name, value] : overrides) settings.set(name, value);
  return settings;
}

// --- results ---

/// Blocks of a vector collective: unequal, and now and then nothing.
std::size_t block_of(int from, int to, std::size_t unit) {
  const auto mixed = static_cast<std::size_t>(from * 7 + to * 3);
  return mixed % 4 == 0 ? 0 : mixed % 5 * unit + 8;
}

/// One collective with data; what all ranks contribute, and what each of them has to get.
class Trial {
 public:
  Trial(OperationKind kind, int ranks, int root, std::size_t unit, ElementReducer* reducer, bool in_place)
      : ranks_(ranks), reducer_(reducer), in_place_(in_place) {
    operation_.kind = kind;
    operation_.ranks = ranks;
    operation_.root = root;
    const bool varies = has_blocks_of_different_sizes(kind);
    const bool many_sent = kind == OperationKind::kScatter || kind == OperationKind::kReduceScatter ||
                           kind == OperationKind::kAlltoall || kind == OperationKind::kScatterv ||
                           kind == OperationKind::kReduceScatterv || kind == OperationKind::kAlltoallv;
    unit_ = unit;
    for (int from = 0; from < ranks; ++from) {
      sizes_.emplace_back();
      for (int to = 0; to < ranks; ++to) sizes_.back().push_back(size_of(varies, from, to));
      std::size_t sent = 0;
      for (int to = 0; to < (many_sent ? ranks : 1); ++to)
        sent += sizes_.back()[static_cast<std::size_t>(to)];
      sent_.push_back(pattern(sent, static_cast<std::uint32_t>(from) + 1));
    }
    operation_.bytes = varies || kind == OperationKind::kBarrier ? 0 : unit;
    if (reducer_ == nullptr) return;
    operation_.function = reducer->kind().function;
    operation_.element = reducer->kind().element;
    operation_.commutative = reducer->kind().commutative;
    operation_.elements = (varies ? sent_[0].size() : unit) / reducer->kind().element_bytes;
  }

  void run(const Settings& settings, const std::string& name) {
    Cluster cluster(ranks_, test::backend_named("host"), settings);
    const std::string stuck = cluster.run([&](ClusterRank& rank) { return call(rank, name); });
    EXPECT_EQ(stuck, "") << name;
  }

 private:
  std::size_t size_of(bool varies, int from, int to) const {
    if (operation_.kind == OperationKind::kBarrier) return 0;
    if (!varies) return unit_;
    // A reduction's blocks are alike on all ranks, and a gathered block has one size.
    if (operation_.kind == OperationKind::kReduceScatterv) return block_of(0, to, unit_);
    if (operation_.kind == OperationKind::kAlltoallv) return block_of(from, to, unit_);
    return operation_.kind == OperationKind::kScatterv ? block_of(operation_.root, to, unit_)
                                                       : block_of(from, 0, unit_);
  }
  std::size_t size(int from, int to) const {
    return sizes_[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  }
  /// What `from` has for `to`.
  Bytes part(int from, int to) const {
    std::size_t begin = 0;
    for (int before = 0; before < to; ++before) begin += size(from, before);
    return Bytes(sent_[static_cast<std::size_t>(from)]).subspan(begin, size(from, to));
  }
  /// The operands of ranks [0, count) in their order.
  Buffer combined(int count) const {
    Buffer sum = sent_[0];
    for (int rank = 1; rank < count; ++rank) {
      Buffer next = sent_[static_cast<std::size_t>(rank)];
      reducer_->combine(sum, next);
      sum = next;
    }
    return sum;
  }
  static void append(Buffer& all, Bytes part) { all.insert(all.end(), part.begin(), part.end()); }

  Buffer expected(int rank) const {
    const int root = operation_.root;
    Buffer all;
    switch (operation_.kind) {
      case OperationKind::kBcast:
        return sent_[static_cast<std::size_t>(root)];
      case OperationKind::kReduce:
        return rank == root ? combined(ranks_) : all;
      case OperationKind::kAllreduce:
        return combined(ranks_);
      case OperationKind::kScan:
        return combined(rank + 1);
      case OperationKind::kExscan:
        return rank > 0 ? combined(rank) : all;
      case OperationKind::kGather:
      case OperationKind::kGatherv:
        for (int from = 0; rank == root && from < ranks_; ++from) append(all, part(from, 0));
        return all;
      case OperationKind::kAllgather:
      case OperationKind::kAllgatherv:
        for (int from = 0; from < ranks_; ++from) append(all, part(from, 0));
        return all;
      case OperationKind::kScatter:
      case OperationKind::kScatterv:
        append(all, part(root, rank));
        return all;
      case OperationKind::kAlltoall:
      case OperationKind::kAlltoallv:
        for (int from = 0; from < ranks_; ++from) append(all, part(from, rank));
        return all;
      case OperationKind::kReduceScatter:
      case OperationKind::kReduceScatterv: {
        const Buffer sum = combined(ranks_);
        std::size_t begin = 0;
        for (int before = 0; before < rank; ++before) begin += size(0, before);
        append(all, Bytes(sum).subspan(begin, size(0, rank)));
        return all;
      }
      default:
        return all;
    }
  }

  Task<void> call(ClusterRank& rank, std::string name) {
    const int own = rank.rank();
    const OperationKind kind = operation_.kind;
    const bool at_root = own == operation_.root;
    const Buffer wanted = expected(own);
    Buffer sent = sent_[static_cast<std::size_t>(own)];
    Buffer result(wanted.size());
    CollectiveBuffers buffers;
    buffers.block = operation_.bytes;
    buffers.receive = result;
    if (!(kind == OperationKind::kScatter || kind == OperationKind::kScatterv) || at_root)
      buffers.send = sent;
    if (kind == OperationKind::kBcast) {
      if (at_root) result = sent;
      buffers.send = buffers.receive = result;
    }
    const bool whole_in_place = in_place_ && reduces(kind) && sent.size() == result.size();
    if (whole_in_place) {
      result = sent;
      buffers.receive = result;
      buffers.send = result;
    }
    std::vector<Bytes> sends;
    std::vector<MutableBytes> receives;
    if (kind == OperationKind::kReduceScatterv || kind == OperationKind::kAlltoallv ||
        (kind == OperationKind::kScatterv && at_root)) {
      std::size_t begin = 0;
      for (int to = 0; to < ranks_; ++to) {
        sends.push_back(buffers.send.subspan(begin, size(own, to)));
        begin += size(own, to);
      }
    }
    if (kind == OperationKind::kAllgatherv || kind == OperationKind::kAlltoallv ||
        (kind == OperationKind::kGatherv && at_root)) {
      std::size_t begin = 0;
      for (int from = 0; from < ranks_; ++from) {
        const std::size_t bytes = size(from, kind == OperationKind::kAlltoallv ? own : 0);
        receives.push_back(buffers.receive.subspan(begin, bytes));
        begin += bytes;
      }
    }
    buffers.send_blocks = sends;
    buffers.receive_blocks = receives;
    const Outcome outcome = co_await rank.collective(operation_, buffers, reducer_);
    EXPECT_EQ(outcome, Outcome::kOk);
    EXPECT_TRUE(result == wanted) << name << ", rank " << own << " of " << ranks_ << ", root "
                                  << operation_.root << ", unit " << unit_ << (in_place_ ? ", in place" : "");
    if (!whole_in_place && kind != OperationKind::kBcast) {
      EXPECT_TRUE(sent == sent_[static_cast<std::size_t>(own)]) << name << " changed what it was to send";
    }
  }

  Operation operation_;
  int ranks_;
  ElementReducer* reducer_;
  bool in_place_;
  std::size_t unit_ = 0;
  std::vector<std::vector<std::size_t>> sizes_;
  std::vector<Buffer> sent_;
};

class HostAlgorithm : public testing::TestWithParam<std::tuple<OperationKind, int>> {};

TEST_P(HostAlgorithm, GivesMpisResults) {
  const auto [kind, ranks] = GetParam();
  const host::CollectiveKind& of = host::collective_kind(kind);
  Int32Sum sum;
  AffineComposition composition;
  std::vector<ElementReducer*> reducers{nullptr};
  if (reduces(kind)) reducers = {&sum, &composition};
  std::vector<int> roots{0};
  if (has_root(kind)) roots = {0, ranks / 2, ranks - 1};
  for (const host::Algorithm& algorithm : of.algorithms) {
    for (const double segment : {0.0, 1000.0}) {
      Overrides overrides{{"segment", {segment, {}}}};
      if (of.algorithms.size() > 1)
        overrides[std::string(to_string(kind))] = {0, std::string(algorithm.name)};
      const Settings settings = host_settings(overrides);
      for (ElementReducer* const reducer : reducers) {
        for (const int root : roots) {
          for (const std::size_t unit : {std::size_t{0}, std::size_t{8}, std::size_t{4104}}) {
            for (const bool in_place : {false, true}) {
              if (in_place && reducer == nullptr) continue;
              Trial(kind, ranks, root, unit, reducer, in_place)
                  .run(settings, std::string(to_string(kind)) + " by " + std::string(algorithm.name));
            }
          }
        }
      }
    }
  }
}

std::vector<OperationKind> all_kinds() {
  std::vector<OperationKind> kinds;
  for (const host::CollectiveKind& one : host::collective_kinds()) kinds.push_back(one.kind);
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(Of, HostAlgorithm,
                         testing::Combine(testing::ValuesIn(all_kinds()),
                                          testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 21)),
                         [](const auto& each) {
                           return std::string(to_string(std::get<0>(each.param))) + "On" +
                                  std::to_string(std::get<1>(each.param));
                         });

// --- choices ---

struct Choice {
  OperationKind kind;
  int ranks;
  std::size_t bytes;
  std::string_view algorithm;
  bool commutative = true;
};

std::string_view chosen(const Choice& choice, const Settings& settings = host_settings()) {
  const Bandwidth rate = Bandwidth::gigabits_per_second(100);
  const host::Collectives collectives(settings, {rate, rate});
  Operation operation;
  operation.kind = choice.kind;
  operation.ranks = choice.ranks;
  operation.commutative = choice.commutative;
  return collectives.choose(operation, choice.bytes, kMi).name;
}

TEST(HostAlgorithms, AreChosenAsOpenMpiDoes) {
  using enum OperationKind;
  // On both sides of borders of the number of ranks and of bytes.
  const Choice choices[] = {
      {kBcast, 3, 31, "pipeline"},
      {kBcast, 3, 32, "binary_tree"},
      {kBcast, 16, kMi - 1, "binomial"},
      {kBcast, 16, kMi, "scatter_allgather"},
      {kBcast, 31, kMi, "scatter_allgather"},
      {kBcast, 32, kMi, "knomial"},
      {kBcast, 1023, 16 * kKi, "split_binary_tree"},
      {kBcast, 1024, 512 * kKi, "scatter_allgather"},
      {kReduce, 3, 7, "rabenseifner"},
      {kReduce, 8, 8 * kKi - 1, "binary"},
      {kReduce, 8, 8 * kKi, "binomial"},
      {kReduce, 8, 1024, "linear", false},
      {kReduce, 16, 1024, "in-order_binary", false},
      {kAllreduce, 3, 262143, "segmented_ring"},
      {kAllreduce, 3, 262144, "rabenseifner"},
      {kAllreduce, 512, 2047, "nonoverlapping"},
      {kAllreduce, 512, 2048, "recursive_doubling"},
      {kAllreduce, 512, 16 * kKi, "rabenseifner"},
      {kAllreduce, 8, kMi, "nonoverlapping", false},
      {kAllreduce, 16, kMi, "recursive_doubling", false},
      {kGather, 3, 131072, "linear_sync"},
      {kGather, 8, 131072, "binomial"},
      {kScatter, 64, 511, "binomial"},
      {kScatter, 64, 512, "linear_nb"},
      {kAllgather, 2, 8, "two_proc"},
      {kAllgather, 3, 8, "bruck"},  // recursive doubling needs a power of two
      {kAllgather, 4, 8, "recursive_doubling"},
      {kAllgather, 64, 65535, "neighbor"},
      {kAllgather, 64, 65536, "ring"},
      {kAllgather, 65, 65535, "ring"},  // neighbour exchange needs an even number
      {kAllgather, 256, 32, "bruck"},
      {kAllgatherv, 4, 255, "default"},
      {kAllgatherv, 128, 1023, "bruck"},
      {kAllgatherv, 128, 1024, "neighbor"},
      {kAllgatherv, 128, 65536, "ring"},
      {kReduceScatter, 8, 524288, "basic_linear"},
      {kReduceScatter, 8, 524287, "recursive_halving"},
      {kReduceScatter, 8, 524287, "basic_linear", false},
      {kReduceScatterv, 8, 262143, "recursive_halving"},
      {kReduceScatterv, 8, 262144, "ring"},
      {kReduceScatterv, 64, 4096, "butterfly"},
      {kReduceScatterv, 8, 262144, "non-overlapping", false},
      {kAlltoall, 2, 1, "pairwise"},
      {kAlltoall, 2, 2, "two_proc"},
      {kAlltoall, 64, 1023, "modified_bruck"},
      {kAlltoall, 64, 1024, "linear"},
      {kAlltoall, 64, 262144, "pairwise"},
      {kAlltoallv, 3, 0, "pairwise"},
      {kAlltoallv, 4, 0, "basic_linear"},
      {kBarrier, 3, 0, "recursive_doubling"},
      {kBarrier, 4, 0, "linear"},
      {kBarrier, 64, 0, "bruck"},
      {kBarrier, 256, 0, "tree"},
      {kScan, 1000, kMi, "linear"},
      {kGatherv, 1000, 0, "basic_linear"},
  };
  for (const Choice& choice : choices)
    EXPECT_EQ(chosen(choice), choice.algorithm)
        << to_string(choice.kind) << " of " << choice.bytes << " bytes on " << choice.ranks;
}

TEST(HostAlgorithms, AreThoseOfTheSettingsUnlessTheyCannotRun) {
  const Settings ring = host_settings({{"allreduce", {0, "ring"}}});
  EXPECT_EQ(chosen({OperationKind::kAllreduce, 5, 8, {}}, ring), "ring");
  EXPECT_EQ(chosen({OperationKind::kAllreduce, 5, 8, {}, false}, ring), "recursive_doubling");
  EXPECT_EQ(chosen({OperationKind::kAllreduce, 2 * static_cast<int>(kMi), 8, {}}, ring),
            "recursive_doubling");
}

TEST(HostAlgorithms, NameAlgorithmsThatExist) {
  const auto exists = [](const host::CollectiveKind& kind, std::string_view name) {
    return std::any_of(kind.algorithms.begin(), kind.algorithms.end(),
                       [&](const host::Algorithm& algorithm) { return algorithm.name == name; });
  };
  for (const host::CollectiveKind& kind : host::collective_kinds()) {
    for (const host::Rule& rule : kind.rules) EXPECT_TRUE(exists(kind, rule.algorithm)) << rule.algorithm;
    for (const host::Rule& rule : kind.ordered_rules)
      EXPECT_TRUE(exists(kind, rule.algorithm)) << rule.algorithm;
    for (const host::Algorithm& algorithm : kind.algorithms) {
      const bool unlimited = !algorithm.commutative && algorithm.ranks == host::Ranks::kAny &&
                             algorithm.elements == host::Elements::kAny;
      EXPECT_EQ(unlimited, algorithm.instead.empty()) << algorithm.name;
      EXPECT_TRUE(unlimited || exists(kind, algorithm.instead)) << algorithm.name;
    }
  }
}

// --- times ---

Time time_of(OperationKind kind, int ranks, std::size_t bytes, const Overrides& overrides = {}) {
  Operation operation;
  operation.kind = kind;
  operation.ranks = ranks;
  operation.bytes = bytes;
  operation.elements = bytes / 4;
  operation.element = ElementType::kInt32;
  if (reduces(kind)) operation.function = ReduceFunction::kSum;
  Result<Forecast> result = forecast({test::backend_named("host"), host_settings(overrides), {}}, operation);
  EXPECT_TRUE(result);
  return result ? result->time : Time();
}

TEST(HostAlgorithms, TakeTheTimeOfTheirComplexity) {
  using enum OperationKind;
  const auto seconds = [](std::size_t bytes, double gigabits) {
    return static_cast<double>(bytes) * 8 / gigabits / 1e9;
  };
  const std::size_t large = 64 * kMi;
  // Rabenseifner's: the vector crosses the link twice, is combined once and copied once.
  const double allreduce = seconds(large, 100) * 2 + seconds(large, 160) + seconds(large, 80);
  EXPECT_NEAR(time_of(kAllreduce, 512, large).seconds(), allreduce, 0.01 * allreduce);
  // Scatter and allgather: twice, by whichever steps.
  const double twice = seconds(large, 100) * 2;
  EXPECT_NEAR(time_of(kBcast, 512, large, {{"bcast", {0, "scatter_allgather"}}}).seconds(), twice,
              0.02 * twice);
  // The root of a 4-nomial tree of 512 ranks sends 3 + 3 + 3 + 3 + 1 times; the last child down that path
  // begins after 13 messages have left one after the other.
  const double tree = seconds(large, 100) * 13;
  EXPECT_NEAR(time_of(kBcast, 512, large).seconds(), tree, 0.01 * tree);
  // A chain in segments: once, and one segment for each rank more.
  const double chain = seconds(large + 511 * 64 * kKi, 100);
  EXPECT_NEAR(
      time_of(kBcast, 512, large, {{"bcast", {0, "pipeline"}}, {"segment", {64.0 * kKi, {}}}}).seconds(),
      chain, 0.2 * chain);
  // Nine exchanges of 1.5 us.
  EXPECT_NEAR(time_of(kAllgather, 512, 8).seconds(), 14.1e-6, 0.5e-6);
  EXPECT_NEAR(time_of(kBarrier, 64, 0).seconds(), 6 * 1.5e-6, 0.3e-6);
}

TEST(HostAlgorithms, TakeTheForecastsTimeInARun) {
  // Nothing is shared. The live clock is exact where no rank is late for a handshake, too.
  for (const int ranks : {4, 5, 8}) {
    for (const std::size_t bytes : {std::size_t{64}, 8 * kKi, 256 * kKi}) {
      if (ranks == 5 && bytes > 64 * kKi) continue;
      Cluster cluster(ranks, test::backend_named("host"));
      Int32Sum sum;
      EXPECT_EQ(cluster.run([&](ClusterRank& rank) -> Task<void> {
        Buffer own(bytes);
        Buffer result(bytes);
        co_await rank.allreduce(own, result, sum);
      }),
                "");
      const std::vector<Time> clocks = cluster.clocks();
      EXPECT_EQ(*std::max_element(clocks.begin(), clocks.end()),
                time_of(OperationKind::kAllreduce, ranks, bytes))
          << ranks << " ranks, " << bytes << " bytes";
    }
  }
}

}  // namespace
}  // namespace offramp
