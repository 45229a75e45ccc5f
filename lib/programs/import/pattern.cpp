// One class per pattern. Most are a PatternScript: the events of one round, repeated every round. Patterns
// whose rounds differ or have too many messages to list (AllToAll, Random) make them on reading. Each rank
// makes its events from the pattern and its number alone.
#include "lib/programs/import/pattern.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

#include "lib/base/text_format.hpp"
#include "lib/programs/import/openers.hpp"
#include "lib/programs/import/pattern_rounds.hpp"
#include "simulators/world/text_fields.hpp"

namespace offramp {
namespace {

using recording::Event;
using recording::EventKind;

// Ranks between the first and the last do nothing: the distance is the longest.
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

// All but rank 0 send at once, so that their last link is shared.
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

// A permutation: each rank sends one message and receives one.
class Shift final : public PatternScript {
 public:
  Shift(const Pattern& pattern, int own) : PatternScript(pattern, own) {
    const auto distance = static_cast<std::int64_t>(parameter());
    exchange(around(distance), around(-distance));
  }
};

// Rank 0 begins; the round ends when the message is back.
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
      // The position in this dimension; stride is the distance of neighbours in it.
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
    // A message to the right arrives at a neighbour's left, whose tag differs in the lowest bit.
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
    // After the loop, bit is this rank's lowest bit, by which its parent differs.
    for (; bit < ranks() && (own & bit) == 0; bit <<= 1) {
      if (own + bit < ranks()) children.push_back(own + bit);
    }
    for (const int child : children) receive(child);
    if (own != 0) {
      send(own - bit);
      receive(own - bit);
    }
    // Downwards, the largest subtree comes first.
    for (auto child = children.rbegin(); child != children.rend(); ++child) send(*child);
  }
};

// Loads the cut between the halves. With an odd number, the last rank idles.
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
  // First all receives, then all sends, then one wait.
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
    // Only the round and the seed are drawn from, so all ranks agree without messages.
    const std::uint64_t drawn = drawn_for(static_cast<std::uint64_t>(round) + 1 + parameter());
    const auto distance =
        // Low bits of the product are less random, so higher ones are used.
        1 + static_cast<std::int64_t>((drawn >> 40) % static_cast<std::uint64_t>(ranks() - 1));
    if (number == 0)
      return pattern_message(EventKind::kSend, around(distance), (drawn >> 20) % (bytes() + 1), false);
    return pattern_message(EventKind::kReceive, around(-distance), bytes(), true);
  }

  Event wait_;
};

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
    // Forward, to the next rank; then back, to the previous one.
    for (const int behind : {own + 1, own - 1}) {
      const int before = 2 * own - behind;
      for (std::uint64_t batch = 0; batch < parameter(); ++batch) {
        if (before >= 0 && before < ranks()) receive(before);
        // The previous send ends before its buffer is used again.
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
    // The lists are filled anew each round.
    sent_ = intern(std::vector<std::uint64_t>(size));
    received_ = intern(std::vector<std::uint64_t>(size));
  }

 private:
  [[nodiscard]] std::size_t count() const final { return 2; }
  [[nodiscard]] Event event(std::size_t number, int round) final {
    // The way there and back has the same sizes, exchanged.
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

  // Both ends of a pair draw the same number.
  void draw(std::uint64_t round) {
    const auto tokens = [&](int from, int to) {
      const auto pair = static_cast<std::uint64_t>(from) << 32U | static_cast<std::uint32_t>(to);
      // Uniform from 0 to 2 BYTES, with BYTES on average.
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

// Transposes as in parallel Fourier transforms, in one or two dimensions of ranks.
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
    // Ids: rows and columns of one size must not be taken for each other.
    constexpr std::uint64_t kRow = 1;
    constexpr std::uint64_t kColumn = 2;
    // A grid of a prime number of ranks has rows of one.
    if (row.size() > 1) add(collective(OperationKind::kAlltoall, true, communicator(std::move(row), kRow)));
    add(collective(OperationKind::kAlltoall, true, communicator(std::move(column), kColumn)));
  }
};

// All ranks use the same distances, so each receives as many messages as it sends.
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

// Makes a reader of one class.
template <typename Kind, int... dimensions>
std::unique_ptr<recording::Reader> read_pattern(const Pattern& pattern, int rank) {
  return std::make_unique<Kind>(pattern, rank, dimensions...);
}

// The events of a round are stored for each rank.
// They are 64 Ki events at most.
constexpr std::uint64_t kMostInARound = 1U << 16U;
constexpr std::uint64_t kMostNeighbours = 1U << 10U;
constexpr std::string_view kSparse = "sparse";
constexpr PatternKind kTable[] = {
    {"pingpong", "", "a message from rank 0 to the last rank and back", read_pattern<PingPong>},
    {"incast", "", "all ranks send to rank 0 at once", read_pattern<Incast>},
    {"shift", "DISTANCE", "every rank sends to the rank DISTANCE further, all at once", read_pattern<Shift>},
    {"ring", "", "one message passes through all ranks in turn", read_pattern<Ring>},
    {"stencil2d", "", "every rank exchanges with its four neighbours on a torus, all at once",
     read_pattern<Stencil, 2>},
    {"stencil3d", "", "every rank exchanges with its six neighbours on a torus, all at once",
     read_pattern<Stencil, 3>},
    {"tree", "", "messages up a binomial tree to rank 0 and down again", read_pattern<Tree>},
    {"alltoall", "", "every rank exchanges with every other, all at once", read_pattern<AllToAll>},
    {"bisection", "", "every rank exchanges with its partner in the other half, both ways at once",
     read_pattern<Bisection>},
    {"random", "SEED",
     "in each round, every rank sends over the same distance; distance and size (up to BYTES) are random",
     read_pattern<Random>},
    {"data-parallel", "BUCKETS",
     "BUCKETS nonblocking sums of BYTES over all ranks, started one after the other",
     read_pattern<DataParallel>, true, kMostInARound},
    {"pipeline", "BATCHES", "BATCHES batches pass through all ranks and back", read_pattern<Pipeline>, false,
     kMostInARound},
    {"experts", "SEED",
     "every rank sends tokens to every other and receives them back; sizes are random, up to 2 BYTES",
     read_pattern<Experts>, true},
    {"transpose2d", "", "transpose of a matrix in slabs: blocks of BYTES between all ranks",
     read_pattern<Transpose, 2>, true},
    {"transpose3d", "",
     "transpose of a cube in pencils: blocks of BYTES in the rows of a grid, then in its columns",
     read_pattern<Transpose, 3>, true},
    {kSparse, "NEIGHBOURS", "every rank exchanges with NEIGHBOURS others at random distances, all at once",
     read_pattern<Sparse>, false, kMostNeighbours},
};

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

Result<Pattern> parse_pattern(const std::string& text) {
  // Empty parts are kept: they are errors with a message of their own.
  const std::vector<std::string_view> fields =
      split(std::string_view(text).substr(kPatternPrefix.size()), ':');
  const std::vector<std::string> parts(fields.begin(), fields.end());
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
  // As many as in recordings.
  constexpr double kMostRanks = 1 << 20;
  // 64 TiB: sums over all ranks stay within 64 bits.
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
  // Distances are distinct.
  if (pattern.kind->name == kSparse && pattern.parameter >= *ranks)
    return failure(
        fmt::format("{} neighbours, but there are only {} other ranks", pattern.parameter, *ranks - 1));
  if (parts.size() > first + 2) {
    Result<std::uint64_t> rounds = number(parts[first + 2], "number of rounds", "", 1, kMostRounds);
    if (!rounds) return failure(rounds.error());
    pattern.rounds = static_cast<int>(*rounds);
  }
  return pattern;
}

namespace trace {
namespace {

Result<std::optional<Program>> open_pattern(const Candidate& candidate) {
  // The prefix decides, even if a file has such a name.
  if (!candidate.name.starts_with(kPatternPrefix)) return std::optional<Program>();
  const Result<Pattern> pattern = parse_pattern(candidate.name);
  if (!pattern) return failure(pattern.error());
  Program program;
  program.description.ranks = pattern->ranks;
  program.description.facts = {{"program", candidate.name}};
  program.read = [made = *pattern](int rank) { return made.read(rank); };
  program.is_concurrent = true;
  return std::optional(std::move(program));
}

}  // namespace

const Opener kPatterns = {
    .kind = "pattern", .origin = "pattern:NAME:RANKS:BYTES[:ROUNDS]", .open = open_pattern};

}  // namespace trace
}  // namespace offramp
