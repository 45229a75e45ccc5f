// Two things: where the lines of each rank are (one file for all ranks, or a list with a file for each),
// and SmpiRank, which reads a rank's lines as events. In a shared file every rank has a reader of its own
// from its first line to its last, which skips the others' lines: no rank's events are kept in memory. What
// the format leaves out (names of requests of collectives, tags of sendrecv, sizes of some collectives) is
// completed as SMPI's own replay does, and what cannot be is in the notes of program_of().

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>
#include <map>
#include <numeric>
#include <tuple>

#include "lib/trace/lines.hpp"
#include "lib/trace/made_events.hpp"
#include "lib/trace/openers.hpp"
#include "lib/trace/smpi_types.hpp"
#include "offramp/model/message.hpp"

namespace offramp::trace {
namespace {

using recording::Event;
using recording::EventKind;

constexpr double kExact = 9007199254740992.0;  // 2^53: SMPI reads every number as a double
// Of SMPI's smpi.h. Any other negative number stands for any source: its tracer writes MPI_UNDEFINED (-333).
constexpr int kNoRank = -666;
/// Room for any message: a receive with a negative count asks for the size first.
constexpr std::uint64_t kAnyRoom = std::uint64_t{1} << 44U;

enum class Action : std::uint8_t {
  kInit,
  kFinalize,
  kNothing,
  kIgnored,
  kSend,
  kSsend,
  kBsend,
  kIsend,
  kIssend,
  kIbsend,
  kRecv,
  kIrecv,
  kSendrecv,
  kWait,
  kWaitall,
  kWaitany,
  kTest,
  kCompute,
  kSleep,
  kBarrier,
  kBcast,
  kReduce,
  kAllreduce,
  kScan,
  kExscan,
  kAlltoall,
  kAllgather,
  kGather,
  kScatter,
  kGatherv,
  kScatterv,
  kAllgatherv,
  kReduceScatter,
  kAlltoallv,
};

struct Name {
  std::string_view name;  // in lower case
  Action action;
};
/// Those of SMPI's replayer, and those that its tracer writes and its replayer refuses.
constexpr Name kActions[] = {
    {"init", Action::kInit},
    {"finalize", Action::kFinalize},
    {"comm_size", Action::kIgnored},
    {"comm_split", Action::kIgnored},
    {"comm_dup", Action::kIgnored},
    {"location", Action::kNothing},
    {"send", Action::kSend},
    {"start", Action::kIsend},
    {"ssend", Action::kSsend},
    {"bsend", Action::kBsend},
    {"rsend", Action::kSend},
    {"isend", Action::kIsend},
    {"issend", Action::kIssend},
    {"ibsend", Action::kIbsend},
    {"irsend", Action::kIsend},
    {"recv", Action::kRecv},
    {"irecv", Action::kIrecv},
    {"sendrecv", Action::kSendrecv},
    {"wait", Action::kWait},
    {"waitall", Action::kWaitall},
    {"waitany", Action::kWaitany},
    {"test", Action::kTest},
    {"testany", Action::kIgnored},
    {"testall", Action::kIgnored},
    {"testsome", Action::kIgnored},
    {"compute", Action::kCompute},
    {"sleep", Action::kSleep},
    {"barrier", Action::kBarrier},
    {"bcast", Action::kBcast},
    {"reduce", Action::kReduce},
    {"allreduce", Action::kAllreduce},
    {"scan", Action::kScan},
    {"exscan", Action::kExscan},
    {"alltoall", Action::kAlltoall},
    {"allgather", Action::kAllgather},
    {"gather", Action::kGather},
    {"scatter", Action::kScatter},
    {"gatherv", Action::kGatherv},
    {"scatterv", Action::kScatterv},
    {"allgatherv", Action::kAllgatherv},
    {"reducescatter", Action::kReduceScatter},
    {"alltoallv", Action::kAlltoallv},
};

/// nonblocking: "ibcast" is "bcast", without its request's name.
std::optional<Action> action_of(std::string_view word, bool& nonblocking) {
  constexpr std::size_t kLongest = 16;
  if (word.size() > kLongest) return std::nullopt;
  std::string name(word);
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const auto find = [](std::string_view wanted) -> std::optional<Action> {
    for (const Name& one : kActions) {
      if (one.name == wanted) return one.action;
    }
    return std::nullopt;
  };
  nonblocking = false;
  if (const auto found = find(name)) return found;
  if (!name.starts_with('i')) return std::nullopt;
  const auto found = find(std::string_view(name).substr(1));
  nonblocking = found && *found >= Action::kBarrier;
  return nonblocking ? found : std::nullopt;
}

std::optional<int> rank_in(std::string_view word) {
  const auto rank = number_in<int>(word);
  return rank && *rank >= 0 && *rank < kMostRanks ? rank : std::nullopt;
}

/// Where the lines of one rank are.
struct Part {
  std::shared_ptr<const recording::Source> source;  // null: it has none
  std::uint64_t first = 0;                          // offset of its first line
  std::uint64_t lines_before = 0;
  std::uint64_t last = 0;  // offset of its last line
};

class SmpiRank final : public MadeEvents {
 public:
  SmpiRank(const Part& part, int rank, int ranks)
      : lines_(part.source, part.first, part.lines_before),
        last_(part.last),
        rank_(rank),
        ranks_(static_cast<std::size_t>(ranks)) {}

 private:
  using Key = std::tuple<int, int, int>;  // source, destination, tag

  bool more() final {
    std::string_view line;
    while (lines_.next(line) && lines_.offset() <= last_) {
      split(line, words_);
      if (words_.size() < 2 || words_[0].starts_with('#') || rank_in(words_[0]) != rank_) continue;
      bool nonblocking = false;
      const std::optional<Action> action = action_of(words_[1], nonblocking);
      if (!action) return refuse(fmt::format("there is no action {}", words_[1].substr(0, 40)));
      read_ = 2;
      bad_.clear();
      const std::uint64_t before = made();
      act(*action, nonblocking);
      if (!bad_.empty()) return refuse(fmt::format("{}: {}", words_[1], bad_));
      if (made() != before) return true;
    }
    return lines_.error().empty() ? false : fail(lines_.error());
  }

  bool refuse(std::string_view what) { return fail(lines_.at(what)); }
  void bad(std::string what) {
    if (bad_.empty()) bad_ = std::move(what);
  }

  // --- arguments ---

  [[nodiscard]] std::size_t left() const { return words_.size() - read_; }
  double number() {
    if (left() == 0) {
      bad("there are too few arguments");
      return 0;
    }
    const std::string_view word = words_[read_++];
    double value = 0;
    const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (problem != std::errc() || end != word.data() + word.size() || !(std::abs(value) <= kExact)) {
      bad(fmt::format("{} is no number up to 2^53", word.substr(0, 40)));
      return 0;
    }
    return value;
  }
  std::int64_t whole() { return static_cast<std::int64_t>(number()); }
  std::uint64_t count() {
    const std::int64_t value = whole();
    if (value < 0) bad(fmt::format("{} is less than 0", value));
    return value < 0 ? 0 : static_cast<std::uint64_t>(value);
  }
  int small() {
    const std::int64_t value = whole();
    if (value < INT32_MIN || value > INT32_MAX) bad(fmt::format("{} is beyond 32 bits", value));
    return static_cast<int>(value);
  }
  SmpiType type() {
    if (left() == 0) return default_;
    return type_of(count());
  }
  [[nodiscard]] SmpiType type_of(std::uint64_t id) const {
    return id < smpi_types().size() ? smpi_types()[id] : default_;
  }
  std::uint64_t bytes(std::uint64_t elements, const SmpiType& type) {
    std::uint64_t all = 0;
    if (__builtin_mul_overflow(elements, type.bytes, &all)) bad("it is beyond 64 bits");
    return all;
  }
  /// One for each rank, as they are: the type comes last.
  void counts(std::vector<std::uint64_t>& values) {
    values.clear();
    for (std::size_t i = 0; i < ranks_ && bad_.empty(); ++i) values.push_back(count());
  }
  void in_bytes(std::vector<std::uint64_t>& values, const SmpiType& type) {
    for (std::uint64_t& value : values) value = bytes(value, type);
  }
  void flops() { compute(static_cast<std::uint64_t>(std::max(0.0, number()))); }

  // --- messages ---

  void send(Call call, std::uint8_t flags) {
    const int peer = small();
    const int tag = small();
    const std::uint64_t elements = count();
    const SmpiType of = type();
    if (peer == kNoRank) return native(call);
    if (peer < 0 || tag < 0) bad("a send names its destination and its tag");
    if (!bad_.empty()) return;
    const std::uint64_t size = bytes(elements, of);
    const std::uint64_t request = message(EventKind::kSend, call, peer, tag, size, flags, of.element);
    if ((flags & (recording::kBlocking | recording::kBuffered)) == 0)
      pending_[{rank_, peer, tag}].push_back(request);
  }

  void receive(Call call, bool blocking) {
    int peer = small();
    int tag = small();
    const std::int64_t elements = whole();
    const SmpiType of = type();
    if (peer == kNoRank) return native(call);
    if (!bad_.empty()) return;
    peer = peer < 0 ? kAnySource : peer;
    tag = tag < 0 ? kAnyTag : tag;
    if (elements < 0) (void)message(EventKind::kProbe, Call::kProbe, peer, tag, 0, recording::kBlocking);
    const std::uint64_t room = elements < 0 ? kAnyRoom : bytes(static_cast<std::uint64_t>(elements), of);
    const std::uint64_t request =
        message(EventKind::kReceive, call, peer, tag, room, blocking ? recording::kBlocking : 0, of.element);
    if (!blocking) pending_[{peer, rank_, tag}].push_back(request);
  }

  /// SMPI drops the tags.
  void send_and_receive() {
    const std::uint64_t sent = count();
    const int to = small();
    const std::uint64_t received = count();
    const int from = small();
    const SmpiType send_type = type();
    const SmpiType receive_type = left() > 0 ? type() : send_type;
    if (to < kNoRank || (to < 0 && to != kNoRank)) bad("it names its destination");
    if (!bad_.empty()) return;
    std::vector<std::uint64_t> both;
    if (from != kNoRank)
      both.push_back(message(EventKind::kReceive, Call::kSendrecv, from < 0 ? kAnySource : from, 0,
                             bytes(received, receive_type), 0, receive_type.element));
    if (to != kNoRank)
      both.push_back(message(EventKind::kSend, Call::kSendrecv, to, 0, bytes(sent, send_type),
                             both.empty() ? 0 : recording::kContinues, send_type.element));
    if (both.empty()) return native(Call::kSendrecv);
    wait_for(both, Call::kSendrecv, recording::kContinues);
  }

  /// The oldest of those with this name. A receive with wildcards may be named by what it took.
  std::optional<std::uint64_t> take(int source, int destination, int tag) {
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

  std::vector<std::uint64_t> all_pending() {
    std::vector<std::uint64_t> all = std::move(collectives_);
    collectives_.clear();
    for (const auto& [key, requests] : pending_) all.insert(all.end(), requests.begin(), requests.end());
    std::sort(all.begin(), all.end());
    return all;
  }

  void wait() {
    if (left() == 0) return wait_for_all();
    int source = small();
    const int destination = small();
    int tag = small();
    if (!bad_.empty()) return;
    source = source < 0 ? kAnySource : source;
    tag = tag < 0 ? kAnyTag : tag;
    if (const auto request = take(source, destination, tag)) return wait_for(*request);
    // Requests of collectives have no name: one of them is meant, or one that a test has ended.
    if (!collectives_.empty()) return wait_for_all();
    native(Call::kWait);
  }

  void wait_for_all() {
    wait_for(all_pending());
    pending_.clear();
  }

  void wait_for_any() {
    const std::vector<std::uint64_t> all = all_pending();
    if (all.empty()) return native(Call::kWaitany);
    wait_for(all, Call::kWaitany, recording::kAny);
  }

  // --- collectives ---

  void put(Event event, OperationKind operation, ElementType element, bool nonblocking) {
    if (!bad_.empty()) return;
    event.operation = operation;
    event.element = element;
    const std::uint64_t request = collective(event, !nonblocking);
    if (nonblocking) collectives_.push_back(request);
  }
  int root() {
    const int value = left() > 0 ? small() : 0;
    if (value < 0 || static_cast<std::size_t>(value) >= ranks_)
      bad(fmt::format("there is no rank {}", value));
    return value;
  }

  void reduction(OperationKind operation, bool nonblocking) {
    Event event;
    const std::uint64_t elements = count();
    const double work = number();
    if (operation == OperationKind::kReduce) event.peer = root();
    const SmpiType of = type();
    event.bytes = bytes(elements, of);
    event.extra = elements;
    event.function = ReduceFunction::kSum;
    put(event, operation, of.element, nonblocking);
    compute(static_cast<std::uint64_t>(std::max(0.0, work)));
  }

  /// A receive count of 0 is left out by the tracer, and with it a column: where there are types, the number
  /// of columns tells.
  void blocks(OperationKind operation, bool nonblocking) {
    const bool rooted = has_root(operation);
    const std::size_t complete = rooted ? 5 : 4;
    const std::uint64_t sent = count();
    const bool lost = left() + 1 == complete - 1;
    const std::uint64_t received = lost ? 0 : count();
    Event event;
    if (rooted) event.peer = root();
    const SmpiType send_type = type();
    const SmpiType receive_type = left() > 0 ? type() : send_type;
    const bool by_receive = sent == 0 || (operation == OperationKind::kScatter && received > 0);
    const SmpiType& of = by_receive ? receive_type : send_type;
    event.bytes = bytes(by_receive ? received : sent, of);
    put(event, operation, of.element, nonblocking);
  }

  void gather_blocks(bool nonblocking) {
    Event event;
    const std::uint64_t sent = count();
    counts(blocks_);
    event.peer = root();
    const SmpiType send_type = type();
    const SmpiType receive_type = left() > 0 ? type() : send_type;
    event.bytes = bytes(sent, send_type);
    if (event.peer == rank_) {
      in_bytes(blocks_, receive_type);
      event.second_list = keep(blocks_);
    }
    put(event, OperationKind::kGatherv, send_type.element, nonblocking);
  }

  void scatter_blocks(bool nonblocking) {
    Event event;
    counts(blocks_);
    const std::uint64_t received = count();
    event.peer = root();
    const SmpiType send_type = type();
    const SmpiType receive_type = left() > 0 ? type() : send_type;
    event.extra = bytes(received, receive_type);
    if (event.peer == rank_) {
      in_bytes(blocks_, send_type);
      event.list = keep(blocks_);
    }
    put(event, OperationKind::kScatterv, receive_type.element, nonblocking);
  }

  void gather_blocks_everywhere(bool nonblocking) {
    Event event;
    const std::uint64_t sent = count();
    counts(blocks_);
    if (left() >= ranks_ && left() != 2) read_ += ranks_;  // displacements
    const SmpiType send_type = type();
    const SmpiType receive_type = left() > 0 ? type() : send_type;
    in_bytes(blocks_, receive_type);
    event.bytes = bytes(sent, send_type);
    event.extra = std::accumulate(blocks_.begin(), blocks_.end(), std::uint64_t{0});
    event.second_list = keep(blocks_);
    put(event, OperationKind::kAllgatherv, send_type.element, nonblocking);
  }

  /// MPI_Reduce_scatter_block is written with zeros for sizes, its type where the work should be, and none
  /// behind it.
  void reduce_and_scatter(bool nonblocking) {
    Event event;
    counts(blocks_);
    const double next = number();
    const bool is_type = left() == 0 && next >= 0 && next < static_cast<double>(smpi_types().size());
    const SmpiType of = is_type ? type_of(static_cast<std::uint64_t>(next)) : type();
    event.function = ReduceFunction::kSum;
    const bool alike =
        std::adjacent_find(blocks_.begin(), blocks_.end(), std::not_equal_to<>()) == blocks_.end();
    event.extra = alike && !blocks_.empty()
                      ? blocks_[0]
                      : std::accumulate(blocks_.begin(), blocks_.end(), std::uint64_t{0});
    event.bytes = bytes(event.extra, of);
    if (!alike) {
      in_bytes(blocks_, of);
      event.list = keep(blocks_);
    }
    put(event, alike ? OperationKind::kReduceScatter : OperationKind::kReduceScatterv, of.element,
        nonblocking);
    if (!is_type) compute(static_cast<std::uint64_t>(std::max(0.0, next)));
  }

  void exchange_blocks(bool nonblocking) {
    Event event;
    (void)count();  // the size of a buffer, which the blocks give
    counts(blocks_);
    (void)count();
    counts(more_blocks_);
    const SmpiType send_type = type();
    const SmpiType receive_type = left() > 0 ? type() : send_type;
    in_bytes(blocks_, send_type);
    in_bytes(more_blocks_, receive_type);
    event.list = keep(blocks_);
    event.second_list = keep(more_blocks_);
    event.bytes = std::accumulate(blocks_.begin(), blocks_.end(), std::uint64_t{0});
    event.extra = std::accumulate(more_blocks_.begin(), more_blocks_.end(), std::uint64_t{0});
    put(event, OperationKind::kAlltoallv, send_type.element, nonblocking);
  }

  void act(Action action, bool nonblocking) {
    switch (action) {
      case Action::kInit:
        default_ = smpi_types()[left() > 0 ? kSmpiDouble : kSmpiByte];
        return native(Call::kInit);
      case Action::kFinalize:
        return native(Call::kFinalize);
      case Action::kNothing:
        return;
      case Action::kIgnored:
        return native(Call::kOther);
      case Action::kSend:
        return send(Call::kSend, recording::kBlocking);
      case Action::kSsend:
        return send(Call::kSsend, recording::kBlocking | recording::kSynchronous);
      case Action::kBsend:
        return send(Call::kBsend, recording::kBlocking | recording::kBuffered);
      case Action::kIsend:
        return send(Call::kIsend, 0);
      case Action::kIssend:
        return send(Call::kIssend, recording::kSynchronous);
      case Action::kIbsend:
        return send(Call::kIbsend, recording::kBuffered);
      case Action::kRecv:
        return receive(Call::kRecv, true);
      case Action::kIrecv:
        return receive(Call::kIrecv, false);
      case Action::kSendrecv:
        return send_and_receive();
      case Action::kWait:
        return wait();
      case Action::kWaitall:
        return wait_for_all();
      case Action::kWaitany:
        return wait_for_any();
      case Action::kTest:  // whether it found something is not written: the wait that follows learns of it
        return native(Call::kTest);
      case Action::kCompute:
        return flops();
      case Action::kSleep:
        return compute(static_cast<std::uint64_t>(std::clamp(number() * 1e9, 0.0, kExact)));
      case Action::kBarrier:
        return put({}, OperationKind::kBarrier, ElementType::kByte, nonblocking);
      case Action::kBcast: {
        Event event;
        const std::uint64_t elements = count();
        event.peer = root();
        const SmpiType of = type();
        event.bytes = bytes(elements, of);
        return put(event, OperationKind::kBcast, of.element, nonblocking);
      }
      case Action::kReduce:
        return reduction(OperationKind::kReduce, nonblocking);
      case Action::kAllreduce:
        return reduction(OperationKind::kAllreduce, nonblocking);
      case Action::kScan:
        return reduction(OperationKind::kScan, nonblocking);
      case Action::kExscan:
        return reduction(OperationKind::kExscan, nonblocking);
      case Action::kAlltoall:
        return blocks(OperationKind::kAlltoall, nonblocking);
      case Action::kAllgather:
        return blocks(OperationKind::kAllgather, nonblocking);
      case Action::kGather:
        return blocks(OperationKind::kGather, nonblocking);
      case Action::kScatter:
        return blocks(OperationKind::kScatter, nonblocking);
      case Action::kGatherv:
        return gather_blocks(nonblocking);
      case Action::kScatterv:
        return scatter_blocks(nonblocking);
      case Action::kAllgatherv:
        return gather_blocks_everywhere(nonblocking);
      case Action::kReduceScatter:
        return reduce_and_scatter(nonblocking);
      case Action::kAlltoallv:
        return exchange_blocks(nonblocking);
    }
  }

  Lines lines_;
  std::uint64_t last_;
  int rank_;
  std::size_t ranks_;
  SmpiType default_ = smpi_types()[kSmpiByte];
  std::vector<std::string_view> words_;
  std::size_t read_ = 0;
  std::string bad_;
  std::map<Key, std::deque<std::uint64_t>> pending_;  // the oldest first
  std::vector<std::uint64_t> collectives_;
  std::vector<std::uint64_t> blocks_;
  std::vector<std::uint64_t> more_blocks_;
};

/// A rank of a list that has no line.
class NoEvents final : public MadeEvents {
  bool more() final { return false; }
};

/// Of the next line that is neither empty nor a comment: its rank, if it is one of a trace.
std::optional<int> next_rank(Lines& lines) {
  std::vector<std::string_view> words;
  for (std::string_view line; lines.next(line);) {
    split(line, words);
    if (words.empty() || words[0].starts_with('#')) continue;
    bool nonblocking = false;
    const auto rank = rank_in(words[0]);
    if (rank && words.size() > 1 && action_of(words[1], nonblocking)) return rank;
    return std::nullopt;
  }
  return std::nullopt;
}

/// One file with the lines of all ranks. Each rank reads from its first line to its last one.
Result<std::vector<Part>> parts_of_shared(const std::shared_ptr<const recording::Source>& source) {
  std::vector<Part> parts;
  Lines lines(source);
  std::vector<std::string_view> words;
  for (std::string_view line; lines.next(line);) {
    split(line.substr(0, 64), words);
    if (words.empty() || words[0].starts_with('#')) continue;
    const std::optional<int> rank = rank_in(words[0]);
    if (!rank) return Result<std::vector<Part>>::failure(lines.at("it begins with no rank below 2^20"));
    const auto index = static_cast<std::size_t>(*rank);
    if (index >= parts.size()) parts.resize(index + 1);
    Part& part = parts[index];
    if (part.source == nullptr) part = {source, lines.offset(), lines.number() - 1, 0};
    part.last = lines.offset();
  }
  if (!lines.error().empty()) return Result<std::vector<Part>>::failure(lines.error());
  return parts;
}

bool is_regular_file(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

/// A name in a list: relative to this process's folder, as for SMPI, or to that of the list.
std::string found_file(const std::string& list, const std::string& name) {
  if (is_regular_file(name) || name.starts_with('/')) return name;
  const std::size_t slash = list.rfind('/');
  return slash == std::string::npos ? name : list.substr(0, slash + 1) + name;
}

std::string trimmed(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return std::string(line.substr(begin, line.find_last_not_of(" \t") + 1 - begin));
}

/// One file for each rank. Tracers list them in the order in which they made them: their lines say whose they
/// are.
Result<std::vector<Part>> parts_of_list(const std::vector<std::shared_ptr<const recording::Source>>& files) {
  using Failure = Result<std::vector<Part>>;
  std::vector<Part> parts(files.size());
  for (const auto& file : files) {
    Lines lines(file);
    const std::optional<int> rank = next_rank(lines);
    if (!rank && lines.number() > 0)
      return Failure::failure(lines.at("this is no line RANK ACTION of a trace"));
    if (!rank) continue;  // an empty file
    if (static_cast<std::size_t>(*rank) >= parts.size())
      return Failure::failure(
          lines.at(fmt::format("rank {}, and the list has {} files", *rank, files.size())));
    Part& part = parts[static_cast<std::size_t>(*rank)];
    if (part.source != nullptr)
      return Failure::failure(lines.at(fmt::format("{} is of rank {}, too", part.source->name(), *rank)));
    part = {file, 0, 0, UINT64_MAX};
  }
  return parts;
}

Result<std::optional<Program>> program_of(const std::string& name, std::vector<Part> parts) {
  Program trace;
  trace.has_arrival = false;
  trace.description.facts = {{"program", name}};
  trace.description.ranks = static_cast<int>(parts.size());
  trace.notes = {"computing is in flops: one takes 1 ns (--compute FACTOR takes another speed)",
                 "reductions do not name their function: they are sums",
                 "MPI_Reduce_scatter_block is written without its sizes: they are 0",
                 "all collectives are on the communicator of all ranks",
                 "a test does not say whether it found something: it takes no time"};
  const auto shared = std::make_shared<const std::vector<Part>>(std::move(parts));
  trace.read = [shared](int rank) -> std::unique_ptr<recording::Reader> {
    const Part& part = (*shared)[static_cast<std::size_t>(rank)];
    if (part.source == nullptr) return std::make_unique<NoEvents>();
    return std::make_unique<SmpiRank>(part, rank, static_cast<int>(shared->size()));
  };
  return std::optional(std::move(trace));
}

Result<std::optional<Program>> open_smpi(const Candidate& candidate) {
  using Made = Result<std::optional<Program>>;
  if (!candidate.is_text()) return std::optional<Program>();
  const std::string& path = candidate.name;
  Result<recording::Source> opened = recording::Source::look(path);
  if (!opened) return Made::failure(opened.error());
  const auto source = std::make_shared<const recording::Source>(std::move(*opened));
  Lines first(source);
  if (next_rank(first)) {
    Result<std::vector<Part>> parts = parts_of_shared(source);
    return parts ? program_of(path, std::move(*parts)) : Made::failure(parts.error());
  }
  std::vector<std::shared_ptr<const recording::Source>> files;
  Lines list(source);
  for (std::string_view line; list.next(line);) {
    const std::string name = trimmed(line);
    if (name.empty()) continue;
    constexpr std::size_t kLongestName = 4096;
    const std::string file = name.size() > kLongestName ? "" : found_file(path, name);
    Result<recording::Source> listed = file.empty()
                                           ? Result<recording::Source>::failure("its name is too long")
                                           : recording::Source::look(file);
    if (!listed && files.empty()) return std::optional<Program>();
    if (!listed) return Made::failure(list.at(listed.error()));
    files.push_back(std::make_shared<const recording::Source>(std::move(*listed)));
    Lines lines(files.back());
    if (files.size() == 1 && !next_rank(lines)) return std::optional<Program>();
    if (files.size() > std::size_t{kMostRanks})
      return Made::failure(list.at("there are more than 2^20 files"));
  }
  if (files.empty()) return std::optional<Program>();
  Result<std::vector<Part>> parts = files.size() == 1 ? parts_of_shared(files.front()) : parts_of_list(files);
  return parts ? program_of(path, std::move(*parts)) : Made::failure(parts.error());
}

}  // namespace

const Opener kSmpiTraces = {.kind = "SMPI trace", .origin = "smpirun -trace-ti", .open = open_smpi};

}  // namespace offramp::trace
