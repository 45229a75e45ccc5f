// One class per pattern. Most are a PatternScript: the events of one round, repeated every round. Patterns
// whose rounds differ or have too many messages to list (AllToAll, Random) make them on reading. Each rank
// makes its events from the pattern and its number alone.
#include "lib/programs/import/pattern.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "lib/base/text_format.hpp"
#include "lib/programs/import/pattern_programs.hpp"
#include "lib/programs/import/pattern_rounds.hpp"

namespace offramp {
namespace {

using recording::Event;
using recording::EventKind;

class PingPong final : public PatternScript {
 public:
  PingPong(const Pattern& pattern, int own) : PatternScript(pattern, own) {
    const int last = ranks() - 1;
    if (own == 0) {
      send(last);
      receive(last);
    } else if (own == last) {
      receive(0);
      send(0);
    }
  }
};

class Incast final : public PatternScript {
 public:
  Incast(const Pattern& pattern, int own) : PatternScript(pattern, own) {
    if (own != 0) {
      send(0);
      return;
    }
    for (int peer = 1; peer < ranks(); ++peer) begin_receive(peer);
    wait();
  }
};

class Shift final : public PatternScript {
 public:
  Shift(const Pattern& pattern, int own) : PatternScript(pattern, own) {
    const auto distance = static_cast<std::int64_t>(parameter());
    exchange(around(distance), around(-distance));
  }
};

class Ring final : public PatternScript {
 public:
  Ring(const Pattern& pattern, int own) : PatternScript(pattern, own) {
    if (own == 0) {
      send(around(1));
      receive(around(-1));
    } else {
      receive(around(-1));
      send(around(1));
    }
  }
};

/// Exchanges with both neighbours in each of several directions on a torus with sides as equal as possible.
class Stencil final : public PatternScript {
 public:
  Stencil(const Pattern& pattern, int own, int dimensions) : PatternScript(pattern, own) {
    std::vector<int> neighbours;
    int left = ranks();
    int stride = 1;
    for (int dimension = dimensions; dimension > 0; --dimension) {
      const int side = side_of_grid(left, dimension);
      const int at = own / stride % side;
      const int base = own - at * stride;
      neighbours.push_back(base + (at + 1) % side * stride);
      neighbours.push_back(base + (at + side - 1) % side * stride);
      stride *= side;
      left /= side;
    }
    // The tag encodes the direction of a message.
    const auto count = static_cast<int>(neighbours.size());
    for (int i = 0; i < count; ++i) begin_receive(neighbours[static_cast<std::size_t>(i)], i);
    for (int i = 0; i < count; ++i) begin_send(neighbours[static_cast<std::size_t>(i)], i ^ 1);
    wait();
  }
};

/// Up a binomial tree to rank 0, and down again.
class Tree final : public PatternScript {
 public:
  Tree(const Pattern& pattern, int own) : PatternScript(pattern, own) {
    std::vector<int> children;
    int bit = 1;
    for (; bit < ranks() && (own & bit) == 0; bit <<= 1) {
      if (own + bit < ranks()) children.push_back(own + bit);
    }
    for (const int child : children) receive(child);
    if (own != 0) {
      send(own - bit);
      receive(own - bit);
    }
    for (auto child = children.rbegin(); child != children.rend(); ++child) send(*child);
  }
};

class Bisection final : public PatternScript {
 public:
  Bisection(const Pattern& pattern, int own) : PatternScript(pattern, own) {
    const int half = ranks() / 2;
    if (own >= 2 * half) return;
    const int other = own < half ? own + half : own - half;
    exchange(other, other);
  }
};

/// All pairs at once, nearest first.
class AllToAll final : public PatternRounds {
 public:
  AllToAll(const Pattern& pattern, int own) : PatternRounds(pattern, own), wait_(wait_for(2 * others())) {}

 private:
  [[nodiscard]] std::size_t others() const { return static_cast<std::size_t>(ranks() - 1); }
  [[nodiscard]] std::size_t count() const final { return 2 * others() + 1; }
  [[nodiscard]] Event event(std::size_t number, int) final {
    if (number == 2 * others()) return wait_;
    const bool receives = number < others();
    const auto distance = static_cast<std::int64_t>(number % others()) + 1;
    return pattern_message(receives ? EventKind::kReceive : EventKind::kSend,
                           around(receives ? -distance : distance), bytes(), false);
  }

  Event wait_;
};

/// Each round has another distance, equal for all ranks, and sizes of up to BYTES.
class Random final : public PatternRounds {
 public:
  Random(const Pattern& pattern, int own) : PatternRounds(pattern, own), wait_(wait_for(1)) {}

 private:
  [[nodiscard]] std::size_t count() const final { return 3; }
  [[nodiscard]] Event event(std::size_t number, int round) final {
    if (number == 2) return wait_;
    const std::uint64_t drawn = drawn_for(static_cast<std::uint64_t>(round) + 1 + parameter());
    const auto distance =
        1 + static_cast<std::int64_t>((drawn >> 40) % static_cast<std::uint64_t>(ranks() - 1));
    if (number == 0)
      return pattern_message(EventKind::kSend, around(distance), (drawn >> 20) % (bytes() + 1), false);
    return pattern_message(EventKind::kReceive, around(-distance), bytes(), true);
  }

  Event wait_;
};

enum PatternIndex : std::uint8_t {
  kPingPong,
  kIncast,
  kShift,
  kRing,
  kStencil2d,
  kStencil3d,
  kTree,
  kAllToAll,
  kBisection,
  kRandom,
  kDataParallel,
  kPipeline,
  kExperts,
  kTranspose2d,
  kTranspose3d,
  kSparse,
  kKinds
};
// The events of a round are stored for each rank.
constexpr std::uint64_t kMostInARound = 1U << 16U;
constexpr std::uint64_t kMostNeighbours = 1U << 10U;
constexpr std::array<PatternKind, kKinds> kTable = {{
    {"pingpong", "", "a message from rank 0 to the last rank and back"},
    {"incast", "", "all ranks send to rank 0 at once"},
    {"shift", "DISTANCE", "every rank sends to the rank DISTANCE further, all at once"},
    {"ring", "", "one message passes through all ranks in turn"},
    {"stencil2d", "", "every rank exchanges with its four neighbours on a torus, all at once"},
    {"stencil3d", "", "every rank exchanges with its six neighbours on a torus, all at once"},
    {"tree", "", "messages up a binomial tree to rank 0 and down again"},
    {"alltoall", "", "every rank exchanges with every other, all at once"},
    {"bisection", "", "every rank exchanges with its partner in the other half, both ways at once"},
    {"random", "SEED",
     "in each round, every rank sends over the same distance; distance and size (up to BYTES) are random"},
    {"data-parallel", "BUCKETS",
     "BUCKETS nonblocking sums of BYTES over all ranks, started one after the other", true, kMostInARound},
    {"pipeline", "BATCHES", "BATCHES batches pass through all ranks and back", false, kMostInARound},
    {"experts", "SEED",
     "every rank sends tokens to every other and receives them back; sizes are random, up to 2 BYTES", true},
    {"transpose2d", "", "transpose of a matrix in slabs: blocks of BYTES between all ranks", true},
    {"transpose3d", "",
     "transpose of a cube in pencils: blocks of BYTES in the rows of a grid, then in its columns", true},
    {"sparse", "NEIGHBOURS", "every rank exchanges with NEIGHBOURS others at random distances, all at once",
     false, kMostNeighbours},
}};

/// Parses a whole number, or describes the problem.
Result<std::uint64_t> number(const std::string& text, std::string_view what, std::string_view unit,
                             double least, double most) {
  const std::optional<double> value = parse_quantity(text, unit);
  if (value && *value >= least && *value <= most && *value == std::floor(*value))
    return static_cast<std::uint64_t>(*value);
  return failure(fmt::format("{} is not a valid {}: a whole number from {:.0f} to {:.0f}", in_quotes(text),
                             what, least, most));
}

}  // namespace

std::span<const PatternKind> pattern_kinds() {
  return kTable;
}

std::unique_ptr<recording::Reader> Pattern::read(int rank) const {
  switch (static_cast<PatternIndex>(kind - kTable.data())) {
    case kPingPong:
      return std::make_unique<PingPong>(*this, rank);
    case kIncast:
      return std::make_unique<Incast>(*this, rank);
    case kShift:
      return std::make_unique<Shift>(*this, rank);
    case kRing:
      return std::make_unique<Ring>(*this, rank);
    case kStencil2d:
      return std::make_unique<Stencil>(*this, rank, 2);
    case kStencil3d:
      return std::make_unique<Stencil>(*this, rank, 3);
    case kTree:
      return std::make_unique<Tree>(*this, rank);
    case kAllToAll:
      return std::make_unique<AllToAll>(*this, rank);
    case kBisection:
      return std::make_unique<Bisection>(*this, rank);
    case kRandom:
      return std::make_unique<Random>(*this, rank);
    case kDataParallel:
      return read_data_parallel(*this, rank);
    case kPipeline:
      return read_pipeline(*this, rank);
    case kExperts:
      return read_experts(*this, rank);
    case kTranspose2d:
      return read_transpose(*this, rank, 2);
    case kTranspose3d:
      return read_transpose(*this, rank, 3);
    case kSparse:
      return read_sparse(*this, rank);
    case kKinds:
      break;
  }
  return nullptr;
}

Result<Pattern> parse_pattern(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = kPatternPrefix.size(); at <= text.size();) {
    const std::size_t end = std::min(text.find(':', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  Pattern pattern;
  std::vector<std::string_view> names;
  for (const PatternKind& kind : kTable) {
    names.push_back(kind.name);
    if (!parts.empty() && kind.name == parts[0]) pattern.kind = &kind;
  }
  if (pattern.kind == nullptr) {
    const std::string name = parts.empty() ? "" : parts[0];
    return failure(fmt::format("unknown pattern {}{}", in_quotes(name), suggestion(name, names)));
  }
  const bool has_own = !pattern.kind->parameter.empty();
  const std::size_t first = has_own ? 2 : 1;
  if (parts.size() < first + 2 || parts.size() > first + 3)
    return failure(fmt::format("{} is not {}{}{}{}:RANKS:BYTES[:ROUNDS]", in_quotes(text), kPatternPrefix,
                               pattern.kind->name, has_own ? ":" : "", pattern.kind->parameter));
  constexpr double kMostRanks = 1 << 20;
  constexpr double kMostBytes = 0x1p46;
  constexpr double kMostRounds = 1e9;
  if (has_own) {
    Result<std::uint64_t> own =
        number(parts[1], pattern.kind->parameter, "", 0, static_cast<double>(pattern.kind->most));
    if (!own) return failure(own.error());
    pattern.parameter = *own;
  }
  Result<std::uint64_t> ranks = number(parts[first], "number of ranks", "", 2, kMostRanks);
  if (!ranks) return failure(ranks.error());
  Result<std::uint64_t> bytes = number(parts[first + 1], "number of bytes", "B", 0, kMostBytes);
  if (!bytes) return failure(bytes.error());
  pattern.ranks = static_cast<int>(*ranks);
  pattern.bytes = *bytes;
  if (pattern.kind == &kTable[kSparse] && pattern.parameter >= *ranks)
    return failure(
        fmt::format("{} neighbours, but there are only {} other ranks", pattern.parameter, *ranks - 1));
  if (parts.size() > first + 2) {
    Result<std::uint64_t> rounds = number(parts[first + 2], "number of rounds", "", 1, kMostRounds);
    if (!rounds) return failure(rounds.error());
    pattern.rounds = static_cast<int>(*rounds);
  }
  return pattern;
}

}  // namespace offramp
