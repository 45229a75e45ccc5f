// A class per pattern, most of them a Script: the events of one round, which are told again with every
// round. Those whose rounds differ or have too many messages to list (AllToAll, Random) make them as they
// are read. Every rank makes its own events from the pattern and its number alone.
#include "lib/replay/pattern.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "lib/configuration/names.hpp"

namespace offramp {
namespace {

using recording::Event;
using recording::EventKind;

enum Call : std::uint16_t { kSend, kRecv, kIsend, kIrecv, kWaitall };
constexpr std::array<std::string_view, 5> kCalls = {"MPI_Send", "MPI_Recv", "MPI_Isend", "MPI_Irecv",
                                                    "MPI_Waitall"};
constexpr std::uint32_t kWaited = 1;  // the list of the requests of a wait

Event message(EventKind kind, int peer, std::uint64_t bytes, bool blocking, int tag = 0) {
  Event event;
  event.kind = kind;
  event.flags = blocking ? recording::kBlocking : 0;
  event.call = kind == EventKind::kSend ? (blocking ? kSend : kIsend) : (blocking ? kRecv : kIrecv);
  event.peer = peer;
  event.tag = tag;
  event.bytes = bytes;
  return event;
}

/// One rank's events, the same number of them each round.
class Rounds : public recording::Reader {
 public:
  Rounds(const Pattern& pattern, int rank) : pattern_(pattern), rank_(rank) {}

  bool next(Event& given) final {
    if (at_ == count()) {
      at_ = 0;
      ++round_;
    }
    if (round_ == pattern_.rounds || count() == 0) return false;
    given = event(at_++, round_);
    return true;
  }
  [[nodiscard]] std::uint64_t computed() const final { return 0; }
  [[nodiscard]] std::span<const std::uint64_t> list(std::uint32_t number) const final {
    return number == kWaited ? requests_ : std::span<const std::uint64_t>();
  }
  [[nodiscard]] std::optional<recording::Match> match() final { return std::nullopt; }
  [[nodiscard]] std::span<const std::uint32_t> choice() const final { return {}; }
  [[nodiscard]] std::uint64_t polls() const final { return 0; }
  [[nodiscard]] std::string_view call(std::uint16_t number) const final {
    return number < kCalls.size() ? kCalls[number] : std::string_view();
  }
  [[nodiscard]] bool cut() const final { return false; }
  [[nodiscard]] const std::string& error() const final { return error_; }

 protected:
  /// Of a round.
  [[nodiscard]] virtual std::size_t count() const = 0;
  [[nodiscard]] virtual Event event(std::size_t number, int round) const = 0;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return pattern_.ranks; }
  [[nodiscard]] std::uint64_t bytes() const { return pattern_.bytes; }
  [[nodiscard]] std::uint64_t parameter() const { return pattern_.parameter; }
  /// So many ranks further round.
  [[nodiscard]] int around(std::int64_t distance) const {
    const std::int64_t to = (rank_ + distance) % ranks();
    return static_cast<int>(to < 0 ? to + ranks() : to);
  }
  /// Of all requests since the last one: so many.
  Event wait_for(std::size_t requests) {
    requests_.resize(requests);
    for (std::size_t i = 0; i < requests; ++i) requests_[i] = requests - i;
    return waiting();
  }
  [[nodiscard]] static Event waiting() {
    Event event;
    event.kind = EventKind::kWait;
    event.call = kWaitall;
    event.list = kWaited;
    return event;
  }

 private:
  Pattern pattern_;
  int rank_;
  int round_ = 0;
  std::size_t at_ = 0;
  std::vector<std::uint64_t> requests_;
  std::string error_;
};

/// What stays the same is written down once.
class Script : public Rounds {
 public:
  using Rounds::Rounds;

 protected:
  void send(int peer) { events_.push_back(message(EventKind::kSend, peer, bytes(), true)); }
  void receive(int peer) { events_.push_back(message(EventKind::kReceive, peer, bytes(), true)); }
  void begin_send(int peer, int tag = 0) { begin(EventKind::kSend, peer, tag); }
  void begin_receive(int peer, int tag = 0) { begin(EventKind::kReceive, peer, tag); }
  void wait() {
    if (begun_ > 0) events_.push_back(wait_for(begun_));
  }
  /// A message to one rank while one comes from another, and a wait for both.
  void exchange(int to, int from) {
    begin_receive(from);
    begin_send(to);
    wait();
  }

 private:
  void begin(EventKind kind, int peer, int tag) {
    events_.push_back(message(kind, peer, bytes(), false, tag));
    ++begun_;
  }
  [[nodiscard]] std::size_t count() const final { return events_.size(); }
  [[nodiscard]] Event event(std::size_t number, int) const final { return events_[number]; }

  std::vector<Event> events_;
  std::size_t begun_ = 0;
};

class PingPong final : public Script {
 public:
  PingPong(const Pattern& pattern, int own) : Script(pattern, own) {
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

class Incast final : public Script {
 public:
  Incast(const Pattern& pattern, int own) : Script(pattern, own) {
    if (own != 0) {
      send(0);
      return;
    }
    for (int peer = 1; peer < ranks(); ++peer) begin_receive(peer);
    wait();
  }
};

class Shift final : public Script {
 public:
  Shift(const Pattern& pattern, int own) : Script(pattern, own) {
    const auto distance = static_cast<std::int64_t>(parameter());
    exchange(around(distance), around(-distance));
  }
};

class Ring final : public Script {
 public:
  Ring(const Pattern& pattern, int own) : Script(pattern, own) {
    if (own == 0) {
      send(around(1));
      receive(around(-1));
    } else {
      receive(around(-1));
      send(around(1));
    }
  }
};

/// Both neighbours in each of several directions on a torus, whose sides are as equal as they can be.
class Stencil final : public Script {
 public:
  Stencil(const Pattern& pattern, int own, int dimensions) : Script(pattern, own) {
    std::vector<int> neighbours;
    int left = ranks();
    int stride = 1;
    for (int dimension = dimensions; dimension > 0; --dimension) {
      int side = static_cast<int>(std::lround(std::floor(std::pow(left, 1.0 / dimension) + 1e-9)));
      while (left % side != 0) --side;
      const int at = own / stride % side;
      const int base = own - at * stride;
      neighbours.push_back(base + (at + 1) % side * stride);
      neighbours.push_back(base + (at + side - 1) % side * stride);
      stride *= side;
      left /= side;
    }
    // The tag says in which direction a message goes.
    const auto count = static_cast<int>(neighbours.size());
    for (int i = 0; i < count; ++i) begin_receive(neighbours[static_cast<std::size_t>(i)], i);
    for (int i = 0; i < count; ++i) begin_send(neighbours[static_cast<std::size_t>(i)], i ^ 1);
    wait();
  }
};

/// Up a binomial tree to rank 0, and down again.
class Tree final : public Script {
 public:
  Tree(const Pattern& pattern, int own) : Script(pattern, own) {
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

class Bisection final : public Script {
 public:
  Bisection(const Pattern& pattern, int own) : Script(pattern, own) {
    const int half = ranks() / 2;
    if (own >= 2 * half) return;
    const int other = own < half ? own + half : own - half;
    exchange(other, other);
  }
};

/// Everyone with everyone, all at once; the nearest first.
class AllToAll final : public Rounds {
 public:
  AllToAll(const Pattern& pattern, int own) : Rounds(pattern, own) {
    if (ranks() > 1) (void)wait_for(2 * others());
  }

 private:
  [[nodiscard]] std::size_t others() const { return static_cast<std::size_t>(ranks() - 1); }
  [[nodiscard]] std::size_t count() const final { return 2 * others() + 1; }
  [[nodiscard]] Event event(std::size_t number, int) const final {
    if (number == 2 * others()) return waiting();
    const bool receives = number < others();
    const auto distance = static_cast<std::int64_t>(number % others()) + 1;
    return message(receives ? EventKind::kReceive : EventKind::kSend, around(receives ? -distance : distance),
                   bytes(), false);
  }
};

/// Each round another distance, the same for all ranks, and sizes up to that of a message.
class Random final : public Rounds {
 public:
  Random(const Pattern& pattern, int own) : Rounds(pattern, own) { (void)wait_for(1); }

 private:
  [[nodiscard]] std::size_t count() const final { return 3; }
  [[nodiscard]] Event event(std::size_t number, int round) const final {
    if (number == 2) return waiting();
    // Fibonacci hashing: neighbouring rounds have nothing in common.
    const std::uint64_t drawn = (static_cast<std::uint64_t>(round) + 1 + parameter()) * 0x9E3779B97F4A7C15U;
    const auto distance =
        1 + static_cast<std::int64_t>((drawn >> 40) % static_cast<std::uint64_t>(ranks() - 1));
    if (number == 0) return message(EventKind::kSend, around(distance), (drawn >> 20) % (bytes() + 1), false);
    return message(EventKind::kReceive, around(-distance), bytes(), true);
  }
};

enum Kind : std::uint8_t {
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
  kKinds
};
constexpr std::array<PatternKind, kKinds> kTable = {{
    {"pingpong", "", "between rank 0 and the last one, there and back"},
    {"incast", "", "all ranks send to rank 0 at once"},
    {"shift", "DISTANCE", "every rank sends to the one DISTANCE further, all at once"},
    {"ring", "", "one message goes around through all ranks"},
    {"stencil2d", "", "with the four neighbours on a torus, all at once"},
    {"stencil3d", "", "with the six neighbours on a torus, all at once"},
    {"tree", "", "up a binomial tree to rank 0, and down again"},
    {"alltoall", "", "every rank with every other, all at once"},
    {"bisection", "", "every rank with its partner in the other half, both ways at once"},
    {"random", "SEED",
     "each round every rank sends as far as all others, up to BYTES; distance and size are drawn"},
}};

/// A whole number, or what is wrong with it.
Result<std::uint64_t> number(const std::string& text, std::string_view what, std::string_view unit,
                             double least, double most) {
  const std::optional<double> value = parse_quantity(text, unit);
  if (value && *value >= least && *value <= most && *value == std::floor(*value))
    return static_cast<std::uint64_t>(*value);
  return Result<std::uint64_t>::failure(
      fmt::format("{} is no {}: a whole number from {:.0f} to {:.0f}", in_quotes(text), what, least, most));
}

}  // namespace

std::span<const PatternKind> pattern_kinds() {
  return kTable;
}

std::unique_ptr<recording::Reader> Pattern::read(int rank) const {
  switch (static_cast<Kind>(kind - kTable.data())) {
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
    case kKinds:
      break;
  }
  return nullptr;
}

Result<Pattern> parse_pattern(const std::string& text) {
  using Failure = Result<Pattern>;
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
    return Failure::failure(fmt::format("unknown pattern {}{}", in_quotes(name), suggestion(name, names)));
  }
  const bool has_own = !pattern.kind->parameter.empty();
  const std::size_t first = has_own ? 2 : 1;
  if (parts.size() < first + 2 || parts.size() > first + 3)
    return Failure::failure(fmt::format("{} is not {}{}{}{}:RANKS:BYTES[:ROUNDS]", in_quotes(text),
                                        kPatternPrefix, pattern.kind->name, has_own ? ":" : "",
                                        pattern.kind->parameter));
  constexpr double kMostRanks = 1 << 20;
  constexpr double kMostBytes = 0x1p46;
  constexpr double kMostRounds = 1e9;
  if (has_own) {
    Result<std::uint64_t> own = number(parts[1], pattern.kind->parameter, "", 0, kMostRounds);
    if (!own) return Failure::failure(own.error());
    pattern.parameter = *own;
  }
  Result<std::uint64_t> ranks = number(parts[first], "number of ranks", "", 2, kMostRanks);
  if (!ranks) return Failure::failure(ranks.error());
  Result<std::uint64_t> bytes = number(parts[first + 1], "number of bytes", "B", 0, kMostBytes);
  if (!bytes) return Failure::failure(bytes.error());
  pattern.ranks = static_cast<int>(*ranks);
  pattern.bytes = *bytes;
  if (parts.size() > first + 2) {
    Result<std::uint64_t> rounds = number(parts[first + 2], "number of rounds", "", 1, kMostRounds);
    if (!rounds) return Failure::failure(rounds.error());
    pattern.rounds = static_cast<int>(*rounds);
  }
  return pattern;
}

}  // namespace offramp
