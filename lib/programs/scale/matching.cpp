// A loop of the shape matches a loop, one turn of its body, or no turn, and backtracking tries them in this
// order. Folding cannot recognise a loop with a single turn, so ranks with fewer turns have other nodes.
// kMostTries bounds the search, which is exponential at worst.
#include "lib/programs/scale/matching.hpp"

namespace offramp::scale {
namespace {

// Calls and loops of some nodes, with those inside.
struct Counts {
  std::size_t calls = 0;
  std::size_t loops = 0;
};

Counts counts_of(std::span<const Node> nodes) {
  Counts counts;
  for (const Node& node : nodes) {
    if (!node.is_loop()) {
      ++counts.calls;
      continue;
    }
    const Counts inside = counts_of(node.body);
    counts.calls += inside.calls;
    counts.loops += inside.loops + 1;
  }
  return counts;
}

// Writes into one result: a failed try is overwritten by the next.
class Matcher {
 public:
  explicit Matcher(const Counts& counts) {
    found_.calls.resize(counts.calls);
    found_.turns.resize(counts.loops);
  }
  /// at: numbers of the shape's calls and loops before these.
  bool match(std::span<const Node> shape, std::span<const Node> nodes, Counts at) {
    while (!shape.empty()) {
      const Node& node = shape.front();
      if (node.is_loop()) return match_loop(shape, nodes, at);
      if (nodes.empty() || nodes.front().is_loop() || nodes.front().symbol != node.symbol) return false;
      found_.calls[at.calls++] = &nodes.front();
      shape = shape.subspan(1);
      nodes = nodes.subspan(1);
    }
    return nodes.empty();
  }
  Matched release() { return std::move(found_); }

 private:
  /// Matches a loop to a loop, to its body once, or to nothing.
  bool match_loop(std::span<const Node> shape, std::span<const Node> nodes, Counts at) {
    if (++tries_ > kMostTries) return false;
    const std::span<const Node> body = shape.front().body;
    const std::span<const Node> rest = shape.subspan(1);
    const Counts inside = counts_of(body);
    const Counts after = {at.calls + inside.calls, at.loops + 1 + inside.loops};
    const Counts first = {at.calls, at.loops + 1};
    // A loop of nodes is only one turn if the body contains loops itself.
    if (!nodes.empty() && nodes.front().is_loop()) {
      found_.turns[at.loops] = static_cast<std::int64_t>(nodes.front().count);
      if (match(body, nodes.front().body, first) && match(rest, nodes.subspan(1), after)) return true;
    }
    // A body without loops has a fixed length; one with loops may have any.
    const std::size_t least = inside.loops == 0 ? body.size() : 0;
    const std::size_t most = inside.loops == 0 ? body.size() : nodes.size();
    for (std::size_t length = least; length <= most && length <= nodes.size(); ++length) {
      // No turn is tried last.
      if (length == 0) continue;
      found_.turns[at.loops] = 1;
      if (match(body, nodes.first(length), first) && match(rest, nodes.subspan(length), after)) return true;
    }
    // Clears what earlier tries have left.
    found_.turns[at.loops] = 0;
    for (std::size_t i = at.calls; i < after.calls; ++i) found_.calls[i] = nullptr;
    for (std::size_t i = first.loops; i < after.loops; ++i) found_.turns[i] = 0;
    return match(rest, nodes, after);
  }

  // Programs that need more tries are considered different.
  static constexpr std::uint64_t kMostTries = 100'000;
  std::uint64_t tries_ = 0;
  Matched found_;
};

}  // namespace

std::optional<Matched> match(std::span<const Node> shape, std::span<const Node> nodes) {
  Matcher matcher(counts_of(shape));
  if (!matcher.match(shape, nodes, {})) return std::nullopt;
  return matcher.release();
}

}  // namespace offramp::scale
