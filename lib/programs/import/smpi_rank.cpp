// The format is SMPI's replayer's, in its versions before and since SimGrid 3.20, which added tags and names
// of requests. Until then, a wait means the newest request. Numbers are doubles there, so all are limited to
// 2^53. Trailing types are optional; the tracer leaves out some counts of 0, which shows by the number of
// columns.
#include "lib/programs/import/smpi_rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>
#include <map>
#include <tuple>

#include "lib/base/text_format.hpp"
#include "lib/programs/import/lines.hpp"
#include "lib/programs/import/mpi_functions.hpp"
#include "lib/programs/import/smpi_types.hpp"
#include "offramp/model/message.hpp"

namespace offramp::trace {
namespace {

using recording::Event;
using recording::EventKind;

constexpr double kExact = 9007199254740992.0;  // 2^53: SMPI reads every number as a double
// MPI_PROC_NULL in smpi.h. Other negative ranks count as MPI_ANY_SOURCE, written as MPI_UNDEFINED (-333).
constexpr int kNoRank = -666;
/// Room for any message: a receive with a negative count probes for the size first.
constexpr std::uint64_t kAnyRoom = std::uint64_t{1} << 44U;

enum class ActionKind : std::uint8_t { kFunction, kNothing, kIgnored, kCompute, kSleep };

// What a line does. function is only meaningful for kFunction.
struct Action {
  ActionKind kind = ActionKind::kFunction;
  Function function;

  // False for actions whose remaining columns are unimportant, and not checked.
  [[nodiscard]] bool reads_arguments() const {
    if (kind != ActionKind::kFunction) return kind >= ActionKind::kCompute;
    return function.kind != FunctionKind::kOther && function.kind != FunctionKind::kTest &&
           function.kind != FunctionKind::kWaitall && function.kind != FunctionKind::kWaitany;
  }
};

/// Actions of SMPI's replayer, and actions that its tracer writes but its replayer rejects. Lists those that
/// are no MPI function, have another name, or take no time.
struct OwnAction {
  std::string_view name;  // in lower case
  ActionKind kind = ActionKind::kFunction;
  std::string_view function = {};
};
constexpr OwnAction kOwnActions[] = {
    {"location", ActionKind::kNothing},
    {"compute", ActionKind::kCompute},
    {"sleep", ActionKind::kSleep},
    // Written by the tracer; the replay of SMPI knows only the world.
    {"comm_size", ActionKind::kIgnored},
    {"comm_split", ActionKind::kIgnored},
    {"comm_dup", ActionKind::kIgnored},
    {"testany", ActionKind::kIgnored},
    {"testall", ActionKind::kIgnored},
    {"testsome", ActionKind::kIgnored},
    // A persistent send.
    {"start", ActionKind::kFunction, "MPI_Isend"},
    {"reducescatter", ActionKind::kFunction, "MPI_Reduce_scatter"},
    {"ireducescatter", ActionKind::kFunction, "MPI_Ireduce_scatter"},
};

/// Others are named like MPI functions, without MPI_ and in any case. Requests of collectives have no name.
std::optional<Action> action_of(std::string_view word) {
  // Characters: no action is longer.
  constexpr std::size_t kLongest = 16;
  if (word.size() > kLongest || word.empty()) return std::nullopt;
  std::string name = in_lower_case(word);
  for (const OwnAction& own : kOwnActions) {
    if (own.name == name) return Action{own.kind, function_of(own.function)};
  }
  // MPI's names with underscores are not actions.
  if (name.find('_') != std::string::npos) return std::nullopt;
  name[0] = name[0] >= 'a' && name[0] <= 'z' ? static_cast<char>(name[0] - 'a' + 'A') : name[0];
  const Function function = function_of("MPI_" + name);
  // Kinds that the replay implements.
  constexpr FunctionKind kKnown[] = {FunctionKind::kSend, FunctionKind::kReceive,   FunctionKind::kSendrecv,
                                     FunctionKind::kWait, FunctionKind::kWaitall,   FunctionKind::kWaitany,
                                     FunctionKind::kTest, FunctionKind::kCollective};
  const bool is_known = std::find(std::begin(kKnown), std::end(kKnown), function.kind) != std::end(kKnown);
  if (!is_known && function.call != MpiFunction::kInit && function.call != MpiFunction::kFinalize)
    return std::nullopt;
  return Action{ActionKind::kFunction, function};
}

// One rank's events. Opens the file for itself; memory is bounded by the pending requests.
class SmpiRank final : public MadeEvents {
 public:
  SmpiRank(const SmpiPart& part, int rank, int ranks, bool has_tags)
      : lines_(part.source, part.first, part.lines_before),
        last_(part.last),
        rank_(rank),
        ranks_(static_cast<std::size_t>(ranks)),
        has_tags_(has_tags) {}

 private:
  using Key = std::tuple<int, int, int>;  // source, destination, tag

  bool make_more() final {
    std::string_view line;
    // Nothing of this rank comes after its last line.
    while (lines_.next(line) && lines_.offset() <= last_) {
      split(line, words_);
      if (words_.size() < 2 || words_[0].starts_with('#') || smpi_rank_in(words_[0]) != rank_) continue;
      const std::optional<Action> action = action_of(words_[1]);
      if (!action) return refuse(fmt::format("unknown action {}", printable(words_[1], 40)));
      read_ = 2;
      bad_.clear();
      // An action may make no event: reading then goes on.
      const std::uint64_t before = made();
      act(*action);
      if (bad_.empty() && action->reads_arguments() && left() > 0)
        reject(fmt::format("too many arguments, from {} on", words_[read_].substr(0, 40)));
      if (!bad_.empty()) return refuse(fmt::format("{}: {}", words_[1], bad_));
      if (made() != before) return true;
    }
    return lines_.error().empty() ? false : fail(lines_.error());
  }

  bool refuse(std::string_view what) { return fail(lines_.at(what)); }
  // The first problem of a line is kept. Reading goes on with harmless values until the line's end.
  void reject(std::string what) {
    if (bad_.empty()) bad_ = std::move(what);
  }

  // --- arguments ---

  [[nodiscard]] std::size_t left() const { return words_.size() - read_; }
  // The next column. Each of these returns 0 after a problem.
  double number() {
    if (left() == 0) {
      reject("too few arguments");
      return 0;
    }
    const std::string_view word = words_[read_++];
    double value = 0;
    const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (problem != std::errc() || end != word.data() + word.size() || !(std::abs(value) <= kExact)) {
      reject(fmt::format("{} is not a number up to 2^53", word.substr(0, 40)));
      return 0;
    }
    return value;
  }
  // SMPI may write whole numbers as "1e6".
  std::int64_t whole() {
    const double value = number();
    if (value != std::trunc(value))
      reject(fmt::format("{} is not a whole number", words_[read_ - 1].substr(0, 40)));
    return static_cast<std::int64_t>(value);
  }
  std::uint64_t count() { return natural(whole()); }
  std::uint64_t natural(std::int64_t value) {
    if (value < 0) reject(fmt::format("{} is less than 0", value));
    return value < 0 ? 0 : static_cast<std::uint64_t>(value);
  }
  // A rank or a tag.
  int small() {
    const std::int64_t value = whole();
    if (value < INT32_MIN || value > INT32_MAX) reject(fmt::format("{} exceeds 32 bits", value));
    return static_cast<int>(value);
  }
  // Without a column, the default type of the trace.
  Datatype type() {
    if (left() == 0) return default_;
    const std::int64_t id = whole();  // before SimGrid 3.20 -1 for derived types
    return type_of(id < 0 && !has_tags_ ? smpi_types().size() : natural(id));
  }
  /// The types of the data sent and received, which are equal if the line has one type.
  std::pair<Datatype, Datatype> types() {
    const Datatype sent = type();
    return {sent, left() > 0 ? type() : sent};
  }
  // As SMPI's replayer, which takes the default for types it does not know.
  [[nodiscard]] Datatype type_of(std::uint64_t id) const {
    return id < smpi_types().size() ? smpi_types()[id] : default_;
  }
  std::uint64_t bytes(std::uint64_t elements, const Datatype& type) {
    std::uint64_t all = 0;
    if (__builtin_mul_overflow(elements, type.bytes, &all)) reject("it exceeds 64 bits");
    return all;
  }
  /// One count per rank, in elements: the type comes last.
  void counts(std::vector<std::uint64_t>& values) {
    values.clear();
    for (std::size_t i = 0; i < ranks_ && bad_.empty(); ++i) values.push_back(count());
  }
  void in_bytes(std::vector<std::uint64_t>& values, const Datatype& type) {
    for (std::uint64_t& value : values) value = bytes(value, type);
  }
  /// A time in nanoseconds, or flops at 1 ns each.
  /// computes: false for sleeps, which are independent of the processor.
  void work(double value, bool computes = true) {
    if (value < 0) reject(fmt::format("{} is less than 0", value));
    if (bad_.empty())
      computes ? compute(static_cast<std::uint64_t>(value)) : rest(static_cast<std::uint64_t>(value));
  }

  // --- messages ---

  void send(MpiFunction call, std::uint8_t flags) {
    const int peer = small();
    const int tag = has_tags_ ? small() : 0;
    const std::uint64_t elements = count();
    const Datatype of = type();
    // A message to MPI_PROC_NULL is a call without a message.
    if (peer == kNoRank) return native(call);
    if (peer < 0 || tag < 0) reject("a send has to name its destination and its tag");
    if (!bad_.empty()) return;
    const std::uint64_t size = bytes(elements, of);
    const std::uint64_t request = message(EventKind::kSend, call, peer, tag, size, flags, of.element);
    if ((flags & (recording::kBlocking | recording::kBuffered)) == 0)
      // Waits name a request by both ranks and the tag.
      pending_[{rank_, peer, tag}].push_back(request);
  }

  void receive(MpiFunction call, bool blocking) {
    int peer = small();
    int tag = has_tags_ ? small() : 0;
    std::int64_t elements = whole();
    const Datatype of = type();
    if (peer == kNoRank) return native(call);
    if (!bad_.empty()) return;
    peer = peer < 0 ? kAnySource : peer;
    tag = tag < 0 ? kAnyTag : tag;
    // Old replayers probe for the size of a receive without one.
    if (elements == 0 && !has_tags_) elements = -1;
    if (elements < 0)
      (void)message(EventKind::kProbe, MpiFunction::kProbe, peer, tag, 0, recording::kBlocking);
    const std::uint64_t room = elements < 0 ? kAnyRoom : bytes(static_cast<std::uint64_t>(elements), of);
    const std::uint64_t request =
        message(EventKind::kReceive, call, peer, tag, room, blocking ? recording::kBlocking : 0, of.element);
    if (!blocking) pending_[{peer, rank_, tag}].push_back(request);
  }

  /// SMPI omits the tags.
  void send_and_receive() {
    const std::uint64_t sent = count();
    const int to = small();
    const std::uint64_t received = count();
    const int from = small();
    const auto [send_type, receive_type] = types();
    if (to < kNoRank || (to < 0 && to != kNoRank)) reject("it has to name its destination");
    if (!bad_.empty()) return;
    // Both are begun before the wait, as MPI_Sendrecv does.
    std::vector<std::uint64_t> both;
    if (from != kNoRank)
      both.push_back(message(EventKind::kReceive, MpiFunction::kSendrecv, from < 0 ? kAnySource : from, 0,
                             bytes(received, receive_type), 0, receive_type.element));
    if (to != kNoRank)
      both.push_back(message(EventKind::kSend, MpiFunction::kSendrecv, to, 0, bytes(sent, send_type),
                             both.empty() ? 0 : recording::kContinues, send_type.element));
    if (both.empty()) return native(MpiFunction::kSendrecv);
    wait_for(both, MpiFunction::kSendrecv, recording::kContinues);
  }

  /// Takes the oldest request with this name. A receive with wildcards may be named by its match.
  std::optional<std::uint64_t> pop_pending(int source, int destination, int tag) {
    for (const auto& [from, by] : std::initializer_list<std::pair<int, int>>{
             {source, tag}, {kAnySource, tag}, {source, kAnyTag}, {kAnySource, kAnyTag}}) {
      const auto found = pending_.find({from, destination, by});
      if (found == pending_.end()) continue;
      const std::uint64_t request = found->second.front();
      found->second.pop_front();
      if (found->second.empty()) pending_.erase(found);
      return request;
    }
    return std::nullopt;
  }

  // In the order in which they began. Requests of collectives leave the list.
  std::vector<std::uint64_t> all_pending() {
    std::vector<std::uint64_t> all = std::move(collectives_);
    collectives_.clear();
    for (const auto& [key, requests] : pending_) all.insert(all.end(), requests.begin(), requests.end());
    std::sort(all.begin(), all.end());
    return all;
  }

  void wait() {
    if (!has_tags_) return wait_for_last();
    int source = small();
    const int destination = small();
    int tag = small();
    if (!bad_.empty()) return;
    source = source < 0 ? kAnySource : source;
    tag = tag < 0 ? kAnyTag : tag;
    if (const auto request = pop_pending(source, destination, tag)) return wait_for(*request);
    // Requests of collectives have no name: this is one of them, or a request that a test has ended.
    if (!collectives_.empty()) return wait_for_all();
    native(MpiFunction::kWait);
  }

  /// Before SimGrid 3.20 waits do not name their request.
  void wait_for_last() {
    // Numbers of requests grow: the largest is the newest.
    const auto last = std::max_element(pending_.begin(), pending_.end(), [](const auto& a, const auto& b) {
      return a.second.back() < b.second.back();
    });
    if (last == pending_.end()) return native(MpiFunction::kWait);
    const std::uint64_t request = last->second.back();
    last->second.pop_back();
    if (last->second.empty()) pending_.erase(last);
    wait_for(request);
  }

  void wait_for_all() {
    wait_for(all_pending());
    pending_.clear();
  }

  // The world decides which request it is; the others stay pending.
  void wait_for_any() {
    const std::vector<std::uint64_t> all = all_pending();
    if (all.empty()) return native(MpiFunction::kWaitany);
    wait_for(all, MpiFunction::kWaitany, recording::kAny);
  }

  // --- collectives ---

  void put(Event event, ElementType element, bool nonblocking) {
    if (!bad_.empty()) return;
    event.element = element;
    const std::uint64_t request = collective(event, !nonblocking);
    if (nonblocking) collectives_.push_back(request);
  }
  // The root's column is optional; rank 0 is the default.
  int root() {
    const int value = left() > 0 ? small() : 0;
    if (value < 0 || static_cast<std::size_t>(value) >= ranks_)
      reject(fmt::format("rank {} does not exist", value));
    return value;
  }

  // Columns: elements, flops, root, type.
  void reduction(OperationKind operation, bool nonblocking) {
    const std::uint64_t elements = count();
    const double flops = number();
    const int to = has_root(operation) ? root() : 0;
    const Datatype of = type();
    put({.function = ReduceFunction::kSum,
         .operation = operation,
         .peer = to,
         .bytes = bytes(elements, of),
         .extra = elements},
        of.element, nonblocking);
    // SMPI replays the reduction's work after it.
    work(flops);
  }

  /// The tracer omits a receive count of 0. With types, the number of columns shows that.
  void blocks(OperationKind operation, bool nonblocking) {
    const bool rooted = has_root(operation);
    // The number of columns with both counts, the root, and both types.
    const std::size_t complete = rooted ? 5 : 4;
    const std::uint64_t sent = count();
    const bool lost = left() + 1 == complete - 1;
    const std::uint64_t received = lost ? 0 : count();
    const int at = rooted ? root() : 0;
    const auto [send_type, receive_type] = types();
    // Only one side's count is significant at some ranks.
    const bool by_receive = sent == 0 || (operation == OperationKind::kScatter && received > 0);
    const Datatype& of = by_receive ? receive_type : send_type;
    put({.operation = operation, .peer = at, .bytes = bytes(by_receive ? received : sent, of)}, of.element,
        nonblocking);
  }

  // Columns: own elements, each rank's elements, root, types.
  void gather_blocks(bool nonblocking) {
    const std::uint64_t sent = count();
    counts(blocks_);
    const int to = root();
    const auto [send_type, receive_type] = types();
    in_bytes(blocks_, receive_type);
    put(gatherv(bytes(sent, send_type), blocks_, to, to == rank_), send_type.element, nonblocking);
  }

  // Columns: each rank's elements, own elements, root, types.
  void scatter_blocks(bool nonblocking) {
    counts(blocks_);
    const std::uint64_t received = count();
    const int from = root();
    const auto [send_type, receive_type] = types();
    in_bytes(blocks_, send_type);
    put(scatterv(blocks_, bytes(received, receive_type), from, from == rank_), receive_type.element,
        nonblocking);
  }

  void gather_blocks_everywhere(bool nonblocking) {
    const std::uint64_t sent = count();
    counts(blocks_);
    // With one or two ranks, the columns could be types as well.
    if (left() >= ranks_ && left() != 2) read_ += ranks_;  // displacements
    const auto [send_type, receive_type] = types();
    in_bytes(blocks_, receive_type);
    put(allgatherv(bytes(sent, send_type), blocks_), send_type.element, nonblocking);
  }

  /// MPI_Reduce_scatter_block is written with zeros as sizes and its type in place of the work.
  void reduce_and_scatter(bool nonblocking) {
    counts(blocks_);
    const double next = number();
    const bool is_type = left() == 0 && next >= 0 && next < static_cast<double>(smpi_types().size());
    const Datatype of = is_type ? type_of(static_cast<std::uint64_t>(next)) : type();
    std::optional<Event> event = reduce_scatter(blocks_, of);
    if (!event) return reject("it exceeds 64 bits");
    event->function = ReduceFunction::kSum;
    put(*event, of.element, nonblocking);
    if (!is_type) work(next);
  }

  // Columns: a buffer's size and each rank's elements, both for sending, then for receiving; types.
  void exchange_blocks(bool nonblocking) {
    (void)count();  // the size of a buffer, which the blocks determine
    counts(blocks_);
    (void)count();
    counts(more_blocks_);
    const auto [send_type, receive_type] = types();
    in_bytes(blocks_, send_type);
    in_bytes(more_blocks_, receive_type);
    put(alltoallv(blocks_, more_blocks_), send_type.element, nonblocking);
  }

  // Columns: elements, root, type.
  void broadcast(bool nonblocking) {
    const std::uint64_t elements = count();
    const int from = root();
    const Datatype of = type();
    put({.operation = OperationKind::kBcast, .peer = from, .bytes = bytes(elements, of)}, of.element,
        nonblocking);
  }

  void put_collective(OperationKind operation, bool nonblocking) {
    switch (operation) {
      case OperationKind::kBarrier:
        return put({.operation = operation}, ElementType::kByte, nonblocking);
      case OperationKind::kBcast:
        return broadcast(nonblocking);
      case OperationKind::kGatherv:
        return gather_blocks(nonblocking);
      case OperationKind::kScatterv:
        return scatter_blocks(nonblocking);
      case OperationKind::kAllgatherv:
        return gather_blocks_everywhere(nonblocking);
      case OperationKind::kReduceScatter:
      case OperationKind::kReduceScatterv:
        return reduce_and_scatter(nonblocking);
      case OperationKind::kAlltoallv:
        return exchange_blocks(nonblocking);
      case OperationKind::kReduce:
      case OperationKind::kAllreduce:
      case OperationKind::kScan:
      case OperationKind::kExscan:
        return reduction(operation, nonblocking);
      case OperationKind::kGather:
      case OperationKind::kScatter:
      case OperationKind::kAllgather:
      case OperationKind::kAlltoall:
        return blocks(operation, nonblocking);
      case OperationKind::kSend:
      case OperationKind::kCount:
        return reject("it is not a collective");
    }
  }

  // Adds the events of one line.
  void act(const Action& action) {
    const Function& function = action.function;
    if (action.kind == ActionKind::kNothing) return;
    if (action.kind == ActionKind::kIgnored) return native(MpiFunction::kOther);
    if (action.kind == ActionKind::kCompute) return work(number());
    // Seconds become nanoseconds, limited to about 104 days.
    if (action.kind == ActionKind::kSleep) return work(std::min(number() * 1e9, kExact), false);
    switch (function.kind) {
      case FunctionKind::kSend:
        return send(function.call, function.flags);
      case FunctionKind::kReceive:
        return receive(function.call, (function.flags & recording::kBlocking) != 0);
      case FunctionKind::kSendrecv:
        return send_and_receive();
      case FunctionKind::kWait:
        return wait();
      case FunctionKind::kWaitall:
        return wait_for_all();
      case FunctionKind::kWaitany:
        return wait_for_any();
      case FunctionKind::kCollective:
        return put_collective(function.operation, !function.blocking);
      default:
        if (function.call == MpiFunction::kInit)
          // An argument of init selects doubles as the default, as in SMPI's replay.
          default_ = smpi_types()[left() > 0 ? kSmpiDouble : kSmpiByte];
        return native(function.call);  // the following wait shows whether a test succeeded
    }
  }

  Lines lines_;
  // Where the last line of this rank begins in the file.
  std::uint64_t last_;
  int rank_;
  std::size_t ranks_;
  bool has_tags_;
  Datatype default_ = smpi_types()[kSmpiByte];
  // The columns of the current line.
  std::vector<std::string_view> words_;
  // Columns that have been read.
  std::size_t read_ = 0;
  // The problem of the current line. Empty without one.
  std::string bad_;
  std::map<Key, std::deque<std::uint64_t>> pending_;  // oldest first
  // Pending requests of collectives, which have no name.
  std::vector<std::uint64_t> collectives_;
  // Kept for their memory.
  std::vector<std::uint64_t> blocks_;
  std::vector<std::uint64_t> more_blocks_;
};

/// A rank of a list without lines.
class NoEvents final : public MadeEvents {
  bool make_more() final { return false; }
};

}  // namespace

std::optional<int> smpi_rank_in(std::string_view word) {
  const auto rank = number_in<int>(word);
  return rank && *rank >= 0 && *rank < kMostRanks ? rank : std::nullopt;
}

bool is_smpi_action(std::string_view word) {
  return action_of(word).has_value();
}

void note_action(std::span<const std::string_view> words, std::uint64_t line, SmpiPart& part) {
  // The standard's minimum of MPI_TAG_UB.
  constexpr int kSmallestTagLimit = 32767;  // of MPI_TAG_UB
  // Only the first line is kept, for messages.
  const auto note = [line](std::uint64_t& first, bool is_shown) {
    first = first == 0 && is_shown ? line : first;
  };
  const Function function = action_of(words[1]).value_or(Action()).function;
  part.begins = part.begins || function.call == MpiFunction::kInit;
  part.ends = part.ends || function.call == MpiFunction::kFinalize;
  const std::size_t arguments = words.size() - 2;
  if (function.kind == FunctionKind::kWait) {
    note(part.tagged, arguments > 0);
    note(part.tagless, arguments == 0);
  } else if (function.kind == FunctionKind::kSend || function.kind == FunctionKind::kReceive) {
    note(part.tagged, arguments == 4);
    note(part.tagless, arguments == 2);
    // Three columns are ambiguous: peer, count, and type, or peer, tag, and count.
    if (arguments != 3) return;
    note(part.typeless,
         words[4] != "-1" && number_in<std::size_t>(words[4]).value_or(SIZE_MAX) >= smpi_types().size());
    note(part.large_tag, number_in<double>(words[3]).value_or(0) > kSmallestTagLimit);
  }
}

std::unique_ptr<recording::Reader> read_smpi(const SmpiPart& part, int rank, int ranks, bool has_tags) {
  if (part.source == nullptr) return std::make_unique<NoEvents>();
  return std::make_unique<SmpiRank>(part, rank, ranks, has_tags);
}

}  // namespace offramp::trace
