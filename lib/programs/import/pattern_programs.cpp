#include "lib/programs/import/pattern_programs.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "lib/programs/import/pattern_rounds.hpp"

namespace offramp {
namespace {

using recording::Event;

/// The gradients of a step in buckets: each allreduce begins while earlier ones are active.
class DataParallel final : public PatternScript {
 public:
  DataParallel(const Pattern& pattern, int own) : PatternScript(pattern, own) {
    for (std::uint64_t bucket = 0; bucket < parameter(); ++bucket)
      add(collective(OperationKind::kAllreduce, false));
    wait();
  }
};

/// Forward, batch after batch, then back. A rank receives the next batch while it sends the previous one.
class Pipeline final : public PatternScript {
 public:
  Pipeline(const Pattern& pattern, int own) : PatternScript(pattern, own) {
    for (const int behind : {own + 1, own - 1}) {
      const int before = 2 * own - behind;
      for (std::uint64_t batch = 0; batch < parameter(); ++batch) {
        if (before >= 0 && before < ranks()) receive(before);
        wait();
        if (behind >= 0 && behind < ranks()) begin_send(behind);
      }
      wait();
    }
  }
};

/// Tokens of all ranks are sent to the experts, one per rank, and back. Their numbers are random.
class Experts final : public PatternRounds {
 public:
  Experts(const Pattern& pattern, int own) : PatternRounds(pattern, own) {
    const auto size = static_cast<std::size_t>(ranks());
    sent_ = intern(std::vector<std::uint64_t>(size));
    received_ = intern(std::vector<std::uint64_t>(size));
  }

 private:
  [[nodiscard]] std::size_t count() const final { return 2; }
  [[nodiscard]] Event event(std::size_t number, int round) final {
    if (number == 0) draw(static_cast<std::uint64_t>(round));
    Event event = collective(OperationKind::kAlltoallv, true);
    event.list = number == 0 ? sent_ : received_;
    event.second_list = number == 0 ? received_ : sent_;
    const auto sum = [](const std::vector<std::uint64_t>& blocks) {
      return std::accumulate(blocks.begin(), blocks.end(), std::uint64_t{0});
    };
    event.bytes = sum(interned(event.list));
    event.extra = sum(interned(event.second_list));
    return event;
  }

  void draw(std::uint64_t round) {
    const auto tokens = [&](int from, int to) {
      const auto pair = static_cast<std::uint64_t>(from) << 32U | static_cast<std::uint32_t>(to);
      return (drawn_for(drawn_for(pair + 1) ^ (round + 1 + parameter())) >> 20U) % (2 * bytes() + 1);
    };
    for (int other = 0; other < ranks(); ++other) {
      interned(sent_)[static_cast<std::size_t>(other)] = tokens(rank(), other);
      interned(received_)[static_cast<std::size_t>(other)] = tokens(other, rank());
    }
  }

  std::uint32_t sent_ = 0;
  std::uint32_t received_ = 0;
};

class Transpose final : public PatternScript {
 public:
  Transpose(const Pattern& pattern, int own, int dimensions) : PatternScript(pattern, own) {
    if (dimensions == 2) {
      add(collective(OperationKind::kAlltoall, true));
      return;
    }
    const int columns = side_of_grid(ranks(), 2);
    std::vector<std::uint64_t> row;
    row.reserve(static_cast<std::size_t>(columns));
    std::vector<std::uint64_t> column;
    for (int i = 0; i < columns; ++i) row.push_back(static_cast<std::uint64_t>(own / columns * columns + i));
    for (int i = own % columns; i < ranks(); i += columns) column.push_back(static_cast<std::uint64_t>(i));
    constexpr std::uint64_t kRow = 1;
    constexpr std::uint64_t kColumn = 2;
    if (row.size() > 1) add(collective(OperationKind::kAlltoall, true, communicator(std::move(row), kRow)));
    add(collective(OperationKind::kAlltoall, true, communicator(std::move(column), kColumn)));
  }
};

class Sparse final : public PatternScript {
 public:
  Sparse(const Pattern& pattern, int own) : PatternScript(pattern, own) {
    const auto others = static_cast<std::uint64_t>(ranks() - 1);
    // Distinct distances: a duplicate is replaced by the next free one.
    std::set<std::uint64_t> distances;
    for (std::uint64_t i = 0; i < parameter(); ++i) {
      std::uint64_t distance = 1 + (drawn_for(i + 1) >> 32U) % others;
      while (!distances.insert(distance).second) distance = distance % others + 1;
    }
    for (const std::uint64_t distance : distances)
      begin_receive(around(-static_cast<std::int64_t>(distance)));
    for (const std::uint64_t distance : distances) begin_send(around(static_cast<std::int64_t>(distance)));
    wait();
  }
};

}  // namespace

std::unique_ptr<recording::Reader> read_data_parallel(const Pattern& pattern, int rank) {
  return std::make_unique<DataParallel>(pattern, rank);
}
std::unique_ptr<recording::Reader> read_pipeline(const Pattern& pattern, int rank) {
  return std::make_unique<Pipeline>(pattern, rank);
}
std::unique_ptr<recording::Reader> read_experts(const Pattern& pattern, int rank) {
  return std::make_unique<Experts>(pattern, rank);
}
std::unique_ptr<recording::Reader> read_transpose(const Pattern& pattern, int rank, int dimensions) {
  return std::make_unique<Transpose>(pattern, rank, dimensions);
}
std::unique_ptr<recording::Reader> read_sparse(const Pattern& pattern, int rank) {
  return std::make_unique<Sparse>(pattern, rank);
}

}  // namespace offramp
