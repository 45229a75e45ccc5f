#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <tuple>

#include "tests/model/programs.hpp"

namespace offramp::test {
namespace {

constexpr std::size_t kMostCommunicators = 8;
constexpr std::size_t kMostShown = 12;  // sizes of a step
// Around the limits of protocols: a packet, a datagram, the limits of small messages.
constexpr std::array<std::size_t, 16> kSizes = {0,    1,     8,     32,    1384,  1416,  4096,   4097,
                                                8192, 16384, 40000, 65535, 65536, 65537, 262144, 1 << 20};

class Draw {
 public:
  Draw(std::uint64_t seed, const std::vector<OperationKind>& kinds, bool beside)
      : random_(seed), kinds_(kinds), beside_(beside) {}

  Schedule schedule() {
    schedule_.ranks = below(11) + 2;
    schedule_.ranks_per_node = 1 << below(3);
    schedule_.communicators.emplace_back(static_cast<std::size_t>(schedule_.ranks));
    std::iota(schedule_.communicators[0].begin(), schedule_.communicators[0].end(), 0);
    const int steps = 8 + below(25);
    for (int i = 0; i < steps; ++i) schedule_.steps.push_back(step());
    return std::move(schedule_);
  }

 private:
  int below(int limit) { return static_cast<int>(random_() % static_cast<std::uint64_t>(limit)); }
  bool one_in(int n) { return below(n) == 0; }
  std::size_t size() { return one_in(8) ? random_() % 70000 : kSizes[static_cast<std::size_t>(below(16))]; }
  template <typename T>
  T any(T last) {
    return static_cast<T>(below(static_cast<int>(last) + 1));
  }

  Step step() {
    // Messages and collectives are more frequent than the rest.
    static constexpr std::array<Step::Kind, 20> kMix = {
        Step::Kind::kMessage,    Step::Kind::kMessage,    Step::Kind::kMessage, Step::Kind::kMessage,
        Step::Kind::kMessage,    Step::Kind::kMessage,    Step::Kind::kMessage, Step::Kind::kMessage,
        Step::Kind::kBatch,      Step::Kind::kGathering,  Step::Kind::kShift,   Step::Kind::kCollective,
        Step::Kind::kCollective, Step::Kind::kCollective, Step::Kind::kCancel,  Step::Kind::kCompute,
        Step::Kind::kCompute,    Step::Kind::kSplit,      Step::Kind::kWait,    Step::Kind::kWait};
    Step step;
    step.kind = kMix[static_cast<std::size_t>(below(20))];
    if (step.kind == Step::Kind::kSplit)
      step.kind = static_cast<Step::Kind>(static_cast<int>(Step::Kind::kSplit) + below(3));
    if (beside_ && one_in(4))
      step.kind = static_cast<Step::Kind>(static_cast<int>(Step::Kind::kNeighbours) + below(3));
    const bool makes = step.kind == Step::Kind::kSplit || step.kind == Step::Kind::kDuplicate;
    if (makes && schedule_.communicators.size() > kMostCommunicators) step.kind = Step::Kind::kSynchronize;
    step.communicator = below(static_cast<int>(schedule_.communicators.size()));
    if (step.kind == Step::Kind::kShift) step.communicator = 0;  // sendrecv has no other form
    const int members = static_cast<int>(members_of(step).size());
    step.from = below(members);
    step.to = below(members);
    step.tag = below(3);
    step.any_tag = one_in(4);
    step.send = any(Step::Send::kPersistent);
    step.receive = any(Step::Receive::kPersistent);
    step.wait = any(Step::Wait::kTest);
    step.duration = Time::ns(below(20000));
    step.sizes = {size()};
    step.room = step.sizes[0] + (one_in(2) ? 0 : 100);
    switch (step.kind) {
      case Step::Kind::kMessage:
        if (one_in(20)) step.room = step.sizes[0] / 2;
        // A rank that sends to itself must reach its receive.
        if (step.from == step.to && step.send < Step::Send::kNonblocking)
          step.send = Step::Send::kNonblocking;
        break;
      case Step::Kind::kBatch:
        for (int more = below(6); more > 0; --more) step.sizes.push_back(size());
        break;
      case Step::Kind::kGathering:
        draw_gathering(step);
        break;
      case Step::Kind::kCollective:
        draw_collective(step);
        break;
      case Step::Kind::kNeighbours:
        draw_graph(step);
        break;
      case Step::Kind::kAccess:
      case Step::Kind::kEpoch:
        step.operation.access = static_cast<Access>(1 + below(static_cast<int>(Access::kCount) - 1));
        step.operation.nonblocking = one_in(2);
        for (int more = below(4); more > 0; --more) step.sizes.push_back(size());
        break;
      case Step::Kind::kSplit:
        draw_split(step);
        break;
      case Step::Kind::kDuplicate:
        step.made = made(members_of(step));
        break;
      default:
        break;
    }
    return step;
  }

  /// Receives with any tag have a communicator of their own, because they could match other messages.
  void draw_gathering(Step& step) {
    step.tag = 100 + static_cast<int>(schedule_.steps.size());
    step.sizes.clear();
    step.send = Step::Send::kNonblocking;
    for (int rank = 0; rank < static_cast<int>(members_of(step).size()); ++rank) {
      for (int messages = rank == step.to ? 0 : below(3); messages > 0; --messages) {
        step.senders.push_back(rank);
        step.sizes.push_back(size());
      }
    }
    step.room = 1 << 20;
  }

  void draw_collective(Step& step) {
    const int members = static_cast<int>(members_of(step).size());
    Operation& operation = step.operation;
    operation.kind = kinds_[static_cast<std::size_t>(below(static_cast<int>(kinds_.size())))];
    operation.ranks = members;
    operation.root = has_root(operation.kind) ? below(members) : 0;
    operation.nonblocking = one_in(2);
    const std::size_t most =
        has_block_per_rank(operation.kind) || operation.kind > OperationKind::kExscan ? 65536 : 1 << 20;
    step.sizes.resize(static_cast<std::size_t>(members) * static_cast<std::size_t>(members));
    for (std::size_t& bytes : step.sizes) bytes = std::min(size(), most) / 8 * 8;
    if (operation.kind == OperationKind::kBarrier) return;
    if (!has_blocks_of_different_sizes(operation.kind)) operation.bytes = step.sizes[0];
    operation.elements = operation.bytes;
    if (!reduces(operation.kind)) return;
    operation.element = ElementType::kFloat64;
    operation.function = ReduceFunction::kSum;
    operation.elements = operation.bytes / 8;
    operation.commutative = !one_in(4);
    step.in_place = operation.kind == OperationKind::kAllreduce && one_in(2);
  }

  /// A ring in one direction or both, a graph with edges to oneself and double ones, or one without edges.
  void draw_graph(Step& step) {
    const int members = static_cast<int>(members_of(step).size());
    const int kind = below(4);
    step.sizes.clear();
    for (int from = 0; from < members; ++from) {
      for (int to = 0; to < members; ++to) {
        const bool is_next = to == (from + 1) % members;
        const bool is_last = from == (to + 1) % members;
        step.colors.push_back(kind == 0   ? (is_next ? 1 : 0)
                              : kind == 1 ? (is_next ? 1 : 0) + (is_last ? 1 : 0)
                              : kind == 2 ? std::max(below(4) - 1, 0)
                                          : 0);
        step.sizes.push_back(size() % 70000);
      }
    }
    step.operation.nonblocking = one_in(2);
  }

  void draw_split(Step& step) {
    const std::vector<int> members = members_of(step);
    for (std::size_t i = 0; i < members.size(); ++i) {
      step.colors.push_back(below(3) - (one_in(4) ? 1 : 0));
      step.keys.push_back(below(4));
    }
    step.made = static_cast<int>(schedule_.communicators.size());
    for (int color = 0; color < 3; ++color) {
      std::vector<std::pair<int, std::size_t>> of_color;
      for (std::size_t i = 0; i < members.size(); ++i) {
        if (step.colors[i] == color) of_color.emplace_back(step.keys[i], i);
      }
      std::sort(of_color.begin(), of_color.end());
      std::vector<int> group;
      for (const auto& [key, i] : of_color) group.push_back(members[i]);
      if (group.empty()) {  // keep the colors consecutive, as indices of the list
        for (int& other : step.colors) other -= other > color ? 1 : 0;
        const bool rest =
            std::any_of(step.colors.begin(), step.colors.end(), [&](int c) { return c >= color; });
        if (!rest) break;
        --color;
        continue;
      }
      (void)made(group);
    }
  }

  int made(std::vector<int> members) {
    schedule_.communicators.push_back(std::move(members));
    return static_cast<int>(schedule_.communicators.size()) - 1;
  }
  const std::vector<int>& members_of(const Step& step) const {
    return schedule_.communicators[static_cast<std::size_t>(step.communicator)];
  }

  std::mt19937_64 random_;
  const std::vector<OperationKind>& kinds_;
  bool beside_;
  Schedule schedule_;
};

}  // namespace

Schedule draw_schedule(std::uint64_t seed, const std::vector<OperationKind>& kinds, bool beside) {
  return Draw(seed, kinds, beside).schedule();
}

std::vector<RankHandle::Block> blocks_of(const Step& step, int ranks, int own, bool sent) {
  std::vector<RankHandle::Block> blocks;
  for (int other = 0; other < ranks; ++other) {
    const auto index = static_cast<std::size_t>(sent ? own * ranks + other : other * ranks + own);
    blocks.insert(blocks.end(), static_cast<std::size_t>(step.colors[index]), {other, step.sizes[index]});
  }
  return blocks;
}

std::string describe(const Step& step) {
  static constexpr const char* kNames[] = {"message", "batch",      "gathering", "shift",     "collective",
                                           "cancel",  "compute",    "split",     "duplicate", "synchronize",
                                           "wait",    "neighbours", "access",    "epoch"};
  return fmt::format(
      "{} on communicator {}: from {} to {}, tag {}{}, sizes {}, room {}, senders {}, send {}, receive {}, "
      "wait {}, {}{}{} root {}",
      kNames[static_cast<std::size_t>(step.kind)], step.communicator, step.from, step.to, step.tag,
      step.any_tag ? " (any)" : "", std::span(step.sizes).first(std::min(step.sizes.size(), kMostShown)),
      step.room, step.senders, static_cast<int>(step.send), static_cast<int>(step.receive),
      static_cast<int>(step.wait), step.operation.nonblocking ? "nonblocking " : "",
      step.in_place ? "in place " : "", to_string(step.operation.kind), step.operation.root);
}

}  // namespace offramp::test
