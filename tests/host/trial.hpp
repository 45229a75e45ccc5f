// Shared by the tests of the host's collectives: settings, one collective with its data and the expected
// result, the chosen algorithm, a forecast.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "backends/host/collectives.hpp"
#include "lib/answers/replay/forecast.hpp"
#include "tests/cluster.hpp"
#include "tests/engine/support.hpp"

namespace offramp::test {

inline constexpr std::size_t kKi = 1024;
inline constexpr std::size_t kMi = 1024 * kKi;

using Overrides = std::map<std::string, Settings::Value>;
/// The defaults of the host with these values.
inline Settings host_settings(const Overrides& overrides = {}) {
  Settings settings = Settings::defaults(backend_named("host").parameters);
  for (const auto& [name, value] : overrides) settings.set(name, value);
  return settings;
}

/// Blocks of a vector collective: of unequal sizes, some of them empty.
inline std::size_t block_of(int from, int to, std::size_t unit) {
  const auto mixed = static_cast<std::size_t>(from * 7 + to * 3);
  return mixed % 4 == 0 ? 0 : mixed % 5 * unit + 8;
}

/// One collective with data: the contributions of all ranks, and the expected results.
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

  /// Runs the collective as a request that is waited for.
  void begin_and_wait() { operation_.nonblocking = true; }
  /// Runs it on a cluster, and checks the result at each rank. name: of the algorithm, for messages.
  void run(const Settings& settings, const std::string& name, const ClusterOptions& options = {}) {
    Cluster cluster(ranks_, backend_named("host"), settings, options);
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
  /// One block for each rank, concatenated; sizes(rank): its length.
  template <typename Span, typename Sizes>
  std::vector<Span> blocks(Span all, Sizes sizes) const {
    std::vector<Span> found;
    std::size_t begin = 0;
    for (int rank = 0; rank < ranks_; ++rank) {
      found.push_back(all.subspan(begin, sizes(rank)));
      begin += found.back().size();
    }
    return found;
  }
  /// The block of rank `to` in a vector with the layout of rank `from`'s data.
  Bytes block_in(const Buffer& all, int from, int to) const {
    std::size_t begin = 0;
    for (int before = 0; before < to; ++before) begin += size(from, before);
    return Bytes(all).subspan(begin, size(from, to));
  }
  /// The data of `from` for `to`.
  Bytes part(int from, int to) const { return block_in(sent_[static_cast<std::size_t>(from)], from, to); }
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

  /// The receive buffer of a rank after the collective. Empty if it has none.
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
        append(all, block_in(sum, 0, rank));
        return all;
      }
      default:
        return all;
    }
  }

  // Buffers of ranks that do not send or receive stay empty, as MPI allows.
  Task<void> call(ClusterRank& rank, std::string name) {
    const int own = rank.collective_world().rank();
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
        (kind == OperationKind::kScatterv && at_root))
      sends = blocks(buffers.send, [&](int to) { return size(own, to); });
    if (kind == OperationKind::kAllgatherv || kind == OperationKind::kAlltoallv ||
        (kind == OperationKind::kGatherv && at_root))
      receives = blocks(buffers.receive,
                        [&](int from) { return size(from, kind == OperationKind::kAlltoallv ? own : 0); });
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

/// A collective by one algorithm: every root, size and reduction.
inline void try_all(OperationKind kind, int ranks, const Overrides& overrides, const std::string& name,
                    const ClusterOptions& options = {}, bool nonblocking = false) {
  Int32Sum sum;
  AffineComposition composition;
  std::vector<ElementReducer*> reducers{nullptr};
  if (reduces(kind)) reducers = {&sum, &composition};
  std::vector<int> roots{0};
  if (has_root(kind)) roots = {0, ranks / 2, ranks - 1};
  const Settings settings = host_settings(overrides);
  for (ElementReducer* const reducer : reducers) {
    for (const int root : roots) {
      // At the last size the schedules of nonblocking collectives have changed.
      for (const std::size_t unit : std::initializer_list<std::size_t>{0, 8, 4104, 66000}) {
        if (unit > 4104 && !nonblocking) continue;
        for (const bool in_place : {false, true}) {
          if (in_place && reducer == nullptr) continue;
          Trial trial(kind, ranks, root, unit, reducer, in_place);
          if (nonblocking) trial.begin_and_wait();
          trial.run(settings, std::string(to_string(kind)) + " by " + name, options);
        }
      }
    }
  }
}

// --- choices ---

/// The inputs of a choice of algorithm, and the expected choice.
struct Choice {
  OperationKind kind;
  int ranks;
  std::size_t bytes;
  std::string_view algorithm;
  bool commutative = true;
  host::Nodes nodes = host::Nodes::kAny;
};

/// The name of the chosen algorithm.
inline std::string_view chosen(const Choice& choice, const Settings& settings = host_settings()) {
  const Bandwidth rate = Bandwidth::gigabits_per_second(100);
  const host::Collectives collectives(settings, {rate, rate});
  Operation operation;
  operation.kind = choice.kind;
  operation.ranks = choice.ranks;
  operation.commutative = choice.commutative;
  return collectives.choose(operation, choice.bytes, kMi, choice.nodes).algorithm->name;
}

// --- times ---

/// bytes: as in Operation::bytes. The elements are integers.
inline Forecast forecast_of(OperationKind kind, int ranks, std::size_t bytes, const Overrides& overrides,
                            int ranks_per_node = 1) {
  Operation operation;
  operation.kind = kind;
  operation.ranks = ranks;
  operation.bytes = bytes;
  operation.elements = bytes / 4;
  operation.element = ElementType::kInt32;
  if (reduces(kind)) operation.function = ReduceFunction::kSum;
  Result<Forecast> result = forecast(
      {backend_named("host"), host_settings(overrides), {}, {.ranks_per_node = ranks_per_node}}, operation);
  EXPECT_TRUE(result);
  return result ? *result : Forecast();
}

}  // namespace offramp::test
