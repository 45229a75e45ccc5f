// A number may depend on the turn of one loop. If it depends on several, or follows no rule, short loops are
// unrolled: the call then has a variant, with its own rules, for each turn. The shape is that of the rank
// with the most ranks, events, and loops, which every other rank has to match.
#include "lib/programs/scale/samples.hpp"

#include <algorithm>
#include <set>
#include <tuple>

namespace offramp::scale {
namespace {

using recording::Event;
using recording::EventKind;

// Loops of up to kShortLoop turns, equal at all ranks, get a rule per turn if turns differ. Longer ones only
// do if no rule matches all turns.
constexpr std::int64_t kShortLoop = 16;
// Turns. Limits the rules of a call.
constexpr std::int64_t kLongestUnrolled = 4096;
// Values of one number at one rank: more need too much memory.
constexpr std::size_t kMostValues = std::size_t{1} << 18U;

std::int64_t product(std::span<const std::int64_t> turns) {
  std::int64_t all = 1;
  for (const std::int64_t one : turns) all *= one;
  return all;
}

/// The values of one number of a call at one rank, in program order.
class Values {
 public:
  explicit Values(const Series& series) : first_(series.first()) {
    // Most are constant, and need no memory per turn.
    if (series.is_constant()) return;
    for (const Series::Repetition& run : series.runs()) all_.insert(all_.end(), run.times, run.value);
  }
  [[nodiscard]] bool is_constant() const { return all_.empty(); }
  [[nodiscard]] std::int64_t at(std::int64_t index) const {
    return all_.empty() ? first_ : all_[static_cast<std::size_t>(index)];
  }

 private:
  std::int64_t first_;
  std::vector<std::int64_t> all_;
};

/// A call at one rank.
struct Source {
  const RankOf* rank = nullptr;
  const Node* node = nullptr;
  std::vector<std::int64_t> turns;    // of the surrounding loops
  std::vector<std::int64_t> strides;  // distance between their turns
  std::array<bool, kProgramFields> is_constant = {};
  std::vector<Values> values;

  // The index of this loop's first turn, with all other turns unchanged.
  [[nodiscard]] std::int64_t index_without(std::int64_t index, std::size_t loop) const {
    return index - index / strides[loop] % turns[loop] * strides[loop];
  }
};

/// Determines which numbers of a call depend on the turn of a loop, and on which loop.
class CallCollector {
 public:
  CallCollector(CallSamples& call, const RoleSamples& role, std::size_t number, const Pool& pool,
                int dimensions)
      : call_(call), event_(pool.event(call.symbol)), pool_(pool), dimensions_(dimensions) {
    for (std::size_t i = 0; i < role.ranks.size(); ++i) add(role.ranks[i], role.matched[i], number);
  }

  // Sets the call's variants, or its problem.
  void collect() {
    if (!call_.problem.empty() || sources_.empty()) return;
    for (std::size_t loop = 0; loop < call_.loops.size(); ++loop) {
      for (std::size_t field = 0; field < kProgramFields; ++field) {
        if (depends(field, loop)) depends_[field].insert(loop);
      }
    }
    for (std::size_t loop = 0; loop < call_.loops.size(); ++loop) {
      if (is_short(loop, kShortLoop) && any_depends(loop)) unrolled_.insert(loop);
    }
    for (std::size_t field = 0; field < kProgramFields; ++field) {
      // An expression has the turn of one loop only.
      while (left(field).size() > 1) {
        if (!unroll_one(left(field))) {
          call_.problem = "differs between the iterations of more than one loop";
          return;
        }
      }
    }
    fill();
    // Each round unrolls another loop, so this ends.
    while (unroll_without_rule()) fill();
  }
  [[nodiscard]] const std::set<std::size_t>& unrolled() const { return unrolled_; }

 private:
  // Adds what one rank did in this call.
  void add(const RankOf& rank, const Matched& matched, std::size_t number) {
    const Node* const node = matched.calls[number];
    if (node == nullptr) return;
    Source source{&rank, node, {}, {}, {}, {}};
    for (const std::size_t loop : call_.loops) source.turns.push_back(matched.turns[loop]);
    source.strides.assign(source.turns.size(), 1);
    // Values are in program order: the innermost loop varies fastest.
    for (std::size_t i = source.turns.size(); i-- > 1;)
      source.strides[i - 1] = source.strides[i] * source.turns[i];
    const std::int64_t all = product(source.turns);
    call_.events += static_cast<std::uint64_t>(all);
    for (std::size_t field = 0; field < kProgramFields; ++field) {
      const Series& series = (*node->series)[field];
      source.is_constant[field] = series.is_constant();
      if (!series.is_constant() && static_cast<std::size_t>(all) > kMostValues) {
        call_.problem = "has too many different values";
        return;
      }
      source.values.emplace_back(series);
    }
    sources_.push_back(std::move(source));
  }

  // True if some value differs from that of the loop's first turn.
  [[nodiscard]] bool depends(std::size_t field, std::size_t loop) const {
    return std::any_of(sources_.begin(), sources_.end(), [&](const Source& source) {
      if (source.is_constant[field] || source.turns[loop] < 2) return false;
      const std::int64_t all = product(source.turns);
      for (std::int64_t i = 0; i < all; ++i) {
        if (source.values[field].at(i) != source.values[field].at(source.index_without(i, loop))) return true;
      }
      return false;
    });
  }
  [[nodiscard]] bool any_depends(std::size_t loop) const {
    return std::any_of(depends_.begin(), depends_.end(),
                       [&](const std::set<std::size_t>& loops) { return loops.contains(loop); });
  }
  /// Returns true if the number of turns is the same everywhere and at most `most`.
  [[nodiscard]] bool is_short(std::size_t loop, std::int64_t most) const {
    const std::int64_t turns = sources_.front().turns[loop];
    return turns <= most && std::all_of(sources_.begin(), sources_.end(),
                                        [&](const Source& source) { return source.turns[loop] == turns; });
  }
  /// Loops on which a number depends and that are not unrolled.
  [[nodiscard]] std::vector<std::size_t> left(std::size_t field) const {
    std::vector<std::size_t> loops;
    std::set_difference(depends_[field].begin(), depends_[field].end(), unrolled_.begin(), unrolled_.end(),
                        std::back_inserter(loops));
    return loops;
  }
  // Prefers inner loops, which are usually shorter. Returns false if none can be unrolled.
  bool unroll_one(const std::vector<std::size_t>& loops) {
    for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
      if (is_short(*loop, kLongestUnrolled)) return unrolled_.insert(*loop).second;
    }
    return false;
  }

  // Separates the values by variant.
  void fill() {
    call_.unrolled.clear();
    call_.variants.clear();
    std::int64_t variants = 1;
    for (const std::size_t loop : unrolled_) {
      const std::int64_t turns = sources_.front().turns[loop];
      call_.unrolled.emplace_back(static_cast<int>(loop), turns);
      variants *= turns;
    }
    for (std::int64_t number = 0; number < variants; ++number) {
      call_.variants.emplace_back();
      for (std::size_t field = 0; field < kProgramFields; ++field)
        fill_field(call_.variants.back()[field], field, number);
    }
  }
  void fill_field(FieldSamples& samples, std::size_t field, std::int64_t variant) const {
    const std::vector<std::size_t> loops = left(field);
    samples.loop = loops.empty() ? -1 : static_cast<int>(loops.front());
    for (const Source& source : sources_) {
      std::int64_t index = 0;
      // The digits of the variant's number are the turns of the unrolled loops.
      std::int64_t number = variant;
      for (auto one = call_.unrolled.rbegin(); one != call_.unrolled.rend(); ++one) {
        index += number % one->second * source.strides[static_cast<std::size_t>(one->first)];
        number /= one->second;
      }
      Sample sample{place_of(*source.rank), 0};
      sample.place.turns = loops.empty() ? 1 : source.turns[loops.front()];
      for (; sample.place.turn < sample.place.turns; ++sample.place.turn) {
        const std::int64_t at =
            index + (loops.empty() ? 0 : sample.place.turn * source.strides[loops.front()]);
        // Tags and sizes may depend on the peer of the same call.
        sample.place.peer = source.values[static_cast<std::size_t>(Field::kPeer)].at(at);
        sample.value = source.values[field].at(at);
        samples.values.push_back(sample);
      }
    }
  }
  // Ranks are those of the call's communicator.
  [[nodiscard]] EvaluationPoint place_of(const RankOf& rank) const {
    EvaluationPoint place = rank.place;
    const auto& [size, own] = rank.folded->communicators[event_.communicator];
    place.size = size;
    place.own = own;
    return place;
  }
  /// Unrolls a loop if a number depends on its turn without a known rule. Returns false if there is none.
  bool unroll_without_rule() {
    for (const CallFields& variant : call_.variants) {
      for (std::size_t field = 0; field < kProgramFields; ++field) {
        const FieldSamples& samples = variant[field];
        if (samples.loop < 0 || has_rule(event_, static_cast<Field>(field), samples, pool_, dimensions_))
          continue;
        if (is_short(static_cast<std::size_t>(samples.loop), kLongestUnrolled))
          return unrolled_.insert(static_cast<std::size_t>(samples.loop)).second;
      }
    }
    return false;
  }

  CallSamples& call_;
  const Event& event_;
  const Pool& pool_;
  int dimensions_;
  std::vector<Source> sources_;
  std::array<std::set<std::size_t>, kProgramFields> depends_;
  std::set<std::size_t> unrolled_;
};

// around: the open loops, outermost first.
void list_calls(RoleSamples& role, std::span<const Node> nodes, std::vector<std::size_t>& around) {
  for (const Node& node : nodes) {
    if (!node.is_loop()) {
      role.calls.push_back({.symbol = node.symbol,
                            .loops = around,
                            .unrolled = {},
                            .variants = {},
                            .events = 0,
                            .problem = {}});
      continue;
    }
    around.push_back(role.loops.size());
    role.loops.emplace_back();
    if (around.size() > 1) role.loops.back().around = around[around.size() - 2];
    list_calls(role, node.body, around);
    around.pop_back();
  }
}

// With those inside.
std::size_t loops_in(std::span<const Node> nodes) {
  std::size_t loops = 0;
  for (const Node& node : nodes) loops += node.is_loop() ? 1 + loops_in(node.body) : 0;
  return loops;
}

}  // namespace

std::uint64_t RoleSamples::events() const {
  std::uint64_t events = 0;
  for (const RankOf& rank : ranks) events += rank.folded->events;
  return events;
}

bool names_rank(const Event& event) {
  switch (event.kind) {
    case EventKind::kSend:
    case EventKind::kReceive:
    case EventKind::kProbe:
    case EventKind::kClaim:
    case EventKind::kAccess:
      return true;
    case EventKind::kCollective:
      return has_root(event.operation);
    default:
      return false;
  }
}

std::vector<ListSample> lists_of(const FieldSamples& samples, const Pool& pool) {
  std::vector<ListSample> lists;
  for (const Sample& sample : samples.values) lists.push_back({sample.place, &pool.values(sample.value)});
  return lists;
}

std::vector<MembersSample> members_of(const FieldSamples& samples, const Pool& pool) {
  std::vector<MembersSample> members;
  for (const Sample& sample : samples.values) members.push_back({sample.place, &pool.values(sample.value)});
  return members;
}

bool has_rule(const Event& event, Field field, const FieldSamples& samples, const Pool& pool,
              int dimensions) {
  if (field == Field::kPeer && names_rank(event)) return fit_rank(samples.values, dimensions).has_value();
  if (field == Field::kList && event.kind == EventKind::kCommunicator)
    return fit_members(members_of(samples, pool), dimensions).has_value();
  if (field == Field::kList || field == Field::kSecondList)
    return fit_list(lists_of(samples, pool), event.kind == EventKind::kNeighbours ? dimensions : 0)
        .has_value();
  return fit_number(samples.values).has_value();
}

void collect(RoleSamples& role, const Pool& pool, int dimensions) {
  // Uses the rank with the most loops as shape: a loop of the shape may take one turn or none elsewhere, but
  // a loop with a single turn is not recognised as one.
  const auto is_larger = [](const RankOf& a, const RankOf& b) {
    const auto size = [](const RankOf& one) {
      return std::tuple(one.place.ranks, one.folded->events, loops_in(one.folded->body));
    };
    return size(a) < size(b);
  };
  role.shape = std::max_element(role.ranks.begin(), role.ranks.end(), is_larger)->folded;
  for (const RankOf& rank : role.ranks) {
    auto matched = match(role.shape->body, rank.folded->body);
    if (!matched) {
      role.other = rank.folded;
      return;
    }
    role.matched.push_back(std::move(*matched));
  }
  std::vector<std::size_t> around;
  list_calls(role, role.shape->body, around);
  for (std::size_t i = 0; i < role.loops.size(); ++i) {
    const std::size_t around_it = role.loops[i].around;
    for (std::size_t rank = 0; rank < role.ranks.size(); ++rank) {
      const std::vector<std::int64_t>& turns = role.matched[rank].turns;
      // A loop that is never reached has no number of turns, rather than 0.
      if (around_it == SIZE_MAX || turns[around_it] > 0)
        role.loops[i].turns.push_back({role.ranks[rank].place, turns[i]});
    }
  }
  for (std::size_t i = 0; i < role.calls.size(); ++i) {
    CallCollector collector(role.calls[i], role, i, pool, dimensions);
    collector.collect();
    for (const std::size_t loop : collector.unrolled())
      role.loops[role.calls[i].loops[loop]].is_unrolled = true;
  }
}

}  // namespace offramp::scale
