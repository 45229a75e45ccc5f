// A derivation runs the algorithm on numbers (symbols) instead of values, one in each element of the payload.
// Rank r contributes r + 1. Combining two symbols gives the number of that pair. An algorithm may copy and
// send symbols; the symbol in an element of the result identifies its whole expression. Symbols do not depend
// on the element's index, since MPI combines only elements of equal index.
#include "lib/run/engine/combine_plan.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <numeric>

#include "lib/run/engine/collective.hpp"
#include "lib/run/engine/collective_data.hpp"
#include "lib/run/fabric/shared_ring.hpp"

namespace offramp {
namespace {

using Symbol = std::uint32_t;

/// The expressions so far, by symbol.
class Expressions {
 public:
  struct Pair {
    Symbol in = 0;
    Symbol inout = 0;
    auto operator<=>(const Pair&) const = default;
  };

  // width: bytes of an element. A symbol has 32 bits, or fewer in a smaller element.
  Expressions(int ranks, std::size_t width)
      : ranks_(static_cast<Symbol>(ranks)), width_(std::min(width, sizeof(Symbol))) {}

  [[nodiscard]] bool is_contribution(Symbol symbol) const { return symbol >= 1 && symbol <= ranks_; }
  [[nodiscard]] bool is_known(Symbol symbol) const { return symbol >= 1 && symbol <= ranks_ + pairs_.size(); }
  [[nodiscard]] const Pair& pair(Symbol symbol) const { return pairs_[symbol - ranks_ - 1]; }
  /// True if an operand was no symbol, or if an element is too small for the next number.
  [[nodiscard]] bool failed() const { return failed_; }

  [[nodiscard]] Symbol read(const std::byte* element) const {
    Symbol symbol = 0;
    std::memcpy(&symbol, element, width_);
    return symbol;
  }
  void write(std::byte* element, Symbol symbol) const { std::memcpy(element, &symbol, width_); }

  /// Appends the contributions in an expression, from left to right.
  void list(Symbol symbol, std::vector<int>& ranks) const {
    if (is_contribution(symbol)) return ranks.push_back(static_cast<int>(symbol) - 1);
    list(pair(symbol).in, ranks);
    list(pair(symbol).inout, ranks);
  }

  // The symbol of a pair. Equal pairs have one symbol, so that elements of equal history compare equal.
  Symbol combined(Pair operands) {
    if (!is_known(operands.in) || !is_known(operands.inout)) {
      failed_ = true;
      return operands.inout;
    }
    const auto next = static_cast<Symbol>(ranks_ + pairs_.size() + 1);
    const auto [found, added] = symbols_.emplace(operands, next);
    if (added) {
      pairs_.push_back(operands);
      // The next number has more bits than the element, so two expressions could look alike.
      failed_ = failed_ || (width_ < sizeof(Symbol) && next >> (8 * width_) != 0);
    }
    return found->second;
  }

 private:
  Symbol ranks_;
  std::size_t width_;
  bool failed_ = false;
  std::vector<Pair> pairs_;
  std::map<Pair, Symbol> symbols_;
};

/// All ranks of one collective in one process. Their messages arrive at once.
class SymbolicRanks {
 public:
  SymbolicRanks(DataCarrier& backend, const Operation& operation, const CombinePlan::Members& members)
      : operation_(operation),
        members_(members),
        element_(operation.elements > 0 ? operation.bytes / operation.elements : 1),
        expressions_(operation.ranks, element_) {
    const auto ranks = static_cast<std::size_t>(operation.ranks);
    channels_.resize(ranks * ranks);
    for (int rank = 0; rank < operation.ranks; ++rank) {
      Rank& one = ranks_.emplace_back(*this, rank);
      const bool in_blocks = operation.kind == OperationKind::kReduceScatter;
      one.send.resize(operation.bytes * (in_blocks ? ranks : 1));
      for (std::size_t at = 0; at < one.send.size(); at += element_)
        expressions_.write(one.send.data() + at, static_cast<Symbol>(rank) + 1);
      const bool has_result = (operation.kind != OperationKind::kReduce || rank == operation.root) &&
                              (operation.kind != OperationKind::kExscan || rank > 0);
      one.receive.resize(has_result ? operation.bytes : 0);
    }
    for (Rank& one : ranks_) {
      one.task = move_data(backend, operation_, one.team, {one.send, one.receive, operation.bytes});
      one.task.start();
      // Everything that can continue does so before the next rank starts: each order gives the same symbols.
      while (!ready_.empty()) {
        const std::coroutine_handle<> next = ready_.front();
        ready_.pop_front();
        next.resume();
      }
    }
  }

  // True if all ranks have ended without an error, and each result is a valid reduction.
  [[nodiscard]] bool succeeded() const {
    return !expressions_.failed() && std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& one) {
      return one.task.done() && one.task.handle().promise().value == Outcome::kOk;
    }) && std::all_of(ranks_.begin(), ranks_.end(), [this](const Rank& one) { return is_right(one); });
  }
  [[nodiscard]] const Expressions& expressions() const { return expressions_; }
  [[nodiscard]] std::size_t element() const { return element_; }
  [[nodiscard]] const std::vector<std::byte>& result() const {
    return ranks_[static_cast<std::size_t>(members_.rank)].receive;
  }

 private:
  struct Message {
    bool done = false;
    std::coroutine_handle<> waiter;
    MutableBytes into;
  };
  struct Channel {
    std::deque<std::vector<std::byte>> sent;
    std::deque<Message*> receives;
  };

  class SymbolicTeam final : public Team {
   public:
    SymbolicTeam(SymbolicRanks& all, int rank) : Team(rank, all.operation_.ranks, true), all_(all) {}
    [[nodiscard]] int world_rank(int rank) const override {
      return all_.members_.world[static_cast<std::size_t>(rank)];
    }
    [[nodiscard]] std::uint64_t context() const override { return all_.members_.context; }
    [[nodiscard]] std::uint64_t setup_context() const override { return all_.members_.setup_context; }
    MutableBytes scratch(std::size_t bytes) override { return all_.scratch_.emplace_back(bytes); }

   protected:
    void combine_elements(Bytes in, MutableBytes inout) override { all_.combine(in, inout); }
    Handle start_send(int peer, Bytes data, const Stamp* /*stamp*/) override {
      return all_.send(all_.channel(rank(), peer), data);
    }
    Handle start_receive(int peer, MutableBytes data, bool /*token*/) override {
      return all_.receive(all_.channel(peer, rank()), data);
    }
    bool ready(Handle handle) override { return static_cast<Message*>(handle)->done; }
    void wait(Handle handle, std::coroutine_handle<> waiter) override {
      static_cast<Message*>(handle)->waiter = waiter;
    }
    // Messages within the process cannot fail.
    Outcome finish(Handle /*handle*/) override { return Outcome::kOk; }
    Arrival finish_token(Handle handle) override { return {finish(handle), {}}; }

   private:
    SymbolicRanks& all_;
  };

  struct Rank {
    Rank(SymbolicRanks& all, int rank) : team(all, rank) {}
    SymbolicTeam team;
    std::vector<std::byte> send;
    std::vector<std::byte> receive;
    Task<Outcome> task;  // destroyed before the team and the buffers
  };

  Channel& channel(int from, int to) {
    return channels_[static_cast<std::size_t>(from) * static_cast<std::size_t>(operation_.ranks) +
                     static_cast<std::size_t>(to)];
  }
  Message* send(Channel& channel, Bytes data) {
    channel.sent.emplace_back(data.begin(), data.end());
    Message& message = messages_.emplace_back();
    message.done = true;
    match(channel);
    return &message;
  }
  Message* receive(Channel& channel, MutableBytes into) {
    Message& message = messages_.emplace_back();
    message.into = into;
    channel.receives.push_back(&message);
    match(channel);
    return &message;
  }
  // Delivers the oldest message of a pair to its oldest receive. Algorithms use neither tags nor wildcards.
  void match(Channel& channel) {
    if (channel.sent.empty() || channel.receives.empty()) return;
    Message& to = *channel.receives.front();
    const std::vector<std::byte>& data = channel.sent.front();
    std::copy_n(data.begin(), std::min(data.size(), to.into.size()), to.into.begin());
    to.done = true;
    channel.receives.pop_front();
    channel.sent.pop_front();
    if (to.waiter != nullptr) ready_.push_back(to.waiter);
  }
  /// True if the result has each of its contributions once, in the order of ranks unless the function
  /// commutes.
  [[nodiscard]] bool is_right(const Rank& one) const {
    const int rank = one.team.rank();
    const bool is_exclusive = operation_.kind == OperationKind::kExscan;
    const int count = traits_of(operation_.kind).is_prefix ? rank + (is_exclusive ? 0 : 1) : operation_.ranks;
    std::vector<int> expected(static_cast<std::size_t>(count));
    std::iota(expected.begin(), expected.end(), 0);
    Symbol last = 0;
    for (std::size_t at = 0; at < one.receive.size(); at += element_) {
      const Symbol symbol = expressions_.read(one.receive.data() + at);
      if (symbol == last) continue;
      if (!expressions_.is_known(symbol)) return false;
      std::vector<int> contributions;
      expressions_.list(symbol, contributions);
      if (operation_.commutative) std::sort(contributions.begin(), contributions.end());
      if (contributions != expected) return false;
      last = symbol;
    }
    return true;
  }
  void combine(Bytes in, MutableBytes inout) {
    Expressions::Pair last;
    // Neighbouring elements mostly combine the same pair, so the last look-up is reused.
    Symbol symbol = 0;
    for (std::size_t at = 0; at + element_ <= inout.size(); at += element_) {
      const Expressions::Pair operands{expressions_.read(in.data() + at),
                                       expressions_.read(inout.data() + at)};
      if (symbol == 0 || operands != last) symbol = expressions_.combined(last = operands);
      expressions_.write(inout.data() + at, symbol);
    }
  }

  Operation operation_;
  CombinePlan::Members members_;
  std::size_t element_;
  Expressions expressions_;
  std::vector<Channel> channels_;
  std::deque<Message> messages_;
  std::deque<std::vector<std::byte>> scratch_;
  std::deque<std::coroutine_handle<>> ready_;
  std::deque<Rank> ranks_;  // destroyed first: their coroutines refer to the rest
};

}  // namespace

/// Translates expressions into steps.
class PlanCompiler {
 public:
  PlanCompiler(CombinePlan& plan, const Expressions& expressions) : plan_(plan), expressions_(expressions) {}

  void add(std::size_t begin, std::size_t bytes, Symbol symbol) {
    begin_ = static_cast<std::uint32_t>(begin);
    bytes_ = static_cast<std::uint32_t>(bytes);
    if (expressions_.is_contribution(symbol)) {
      step(operand_of(symbol), kResult, kResult);
    } else {
      compile(symbol, kResult);
    }
  }
  [[nodiscard]] std::size_t temporaries() const { return in_use_.size(); }

 private:
  using Operand = CombinePlan::Operand;
  static constexpr Operand kResult = CombinePlan::kResult;
  static constexpr Operand kNone = -2;

  static Operand operand_of(Symbol contribution) { return static_cast<Operand>(contribution) - 1; }
  void step(Operand copied, Operand in, Operand into) {
    plan_.steps_.push_back({begin_, bytes_, copied, in, into});
  }

  /// Adds the steps of an expression of several contributions. wanted: the target; kNone for a temporary.
  /// Returns the target. The left operand is computed first, so that a long sum needs two temporaries.
  Operand compile(Symbol symbol, Operand wanted) {
    const Expressions::Pair& operands = expressions_.pair(symbol);
    const Operand in =
        expressions_.is_contribution(operands.in) ? operand_of(operands.in) : compile(operands.in, kNone);
    Operand into = wanted;
    if (expressions_.is_contribution(operands.inout)) {
      if (into == kNone) into = acquire_temporary();
      step(operand_of(operands.inout), in, into);
    } else {
      into = compile(operands.inout, wanted);
      step(into, in, into);
    }
    if (in >= CombinePlan::kTemporary)
      in_use_[static_cast<std::size_t>(in - CombinePlan::kTemporary)] = false;
    return into;
  }
  // The lowest free temporary, so that the plan needs few.
  Operand acquire_temporary() {
    const auto free = std::find(in_use_.begin(), in_use_.end(), false);
    const auto index = free - in_use_.begin();
    if (free == in_use_.end()) in_use_.push_back(false);
    in_use_[static_cast<std::size_t>(index)] = true;
    return CombinePlan::kTemporary + static_cast<Operand>(index);
  }

  CombinePlan& plan_;
  const Expressions& expressions_;
  std::uint32_t begin_ = 0;
  std::uint32_t bytes_ = 0;
  std::vector<bool> in_use_;
};

std::optional<CombinePlan> CombinePlan::derive(DataCarrier& backend, const Operation& operation,
                                               const Members& members) {
  std::optional<CombinePlan> plan;
  if (operation.bytes > 0 && (operation.elements == 0 || operation.bytes % operation.elements != 0))
    return plan;
  const SymbolicRanks ranks(backend, operation, members);
  if (!ranks.succeeded()) return plan;
  plan.emplace();
  if (operation.kind == OperationKind::kReduceScatter)
    plan->offset_ = operation.bytes * static_cast<std::size_t>(members.rank);
  const Expressions& expressions = ranks.expressions();
  const std::vector<std::byte>& result = ranks.result();
  PlanCompiler compiler(*plan, expressions);
  for (std::size_t begin = 0; begin < result.size();) {
    const Symbol symbol = expressions.read(result.data() + begin);
    std::size_t end = begin;
    // Neighbouring elements of one expression become one step.
    while (end < result.size() && expressions.read(result.data() + end) == symbol) end += ranks.element();
    compiler.add(begin, end - begin, symbol);
    begin = end;
  }
  constexpr std::size_t kAlignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
  // Aligned, because the reducer reads temporaries as elements of any type.
  plan->room_ = (result.size() + kAlignment - 1) / kAlignment * kAlignment;
  plan->temporaries_ = std::make_unique_for_overwrite<std::byte[]>(plan->room_ * compiler.temporaries());
  return plan;
}

void CombinePlan::run(const std::byte* const* contributions, MutableBytes result, Reducer& reducer) const {
  for (const Step& step : steps_) {
    const auto target = [&](Operand operand) {
      std::byte* const whole =
          operand == kResult ? result.data()
                             : temporaries_.get() + room_ * static_cast<std::size_t>(operand - kTemporary);
      return whole + step.begin;
    };
    const auto address = [&](Operand operand) -> const std::byte* {
      const bool is_contribution = operand != kResult && operand < kTemporary;
      return is_contribution ? contributions[operand] + offset_ + step.begin : target(operand);
    };
    std::byte* const into = target(step.into);
    if (step.copied != step.into) copy_small(into, address(step.copied), step.bytes);
    if (step.in != step.into) reducer.combine({address(step.in), step.bytes}, {into, step.bytes});
  }
}

}  // namespace offramp
