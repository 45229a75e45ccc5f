// Logs of NCCL with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL: which rank calls what, and on what. The logs
// of all processes stand in one file, one after the other or mixed.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lib/trace/datatype.hpp"
#include "lib/trace/lines.hpp"
#include "lib/trace/made_events.hpp"
#include "lib/trace/nccl_ranks.hpp"
#include "lib/trace/openers.hpp"

namespace offramp::trace {
namespace {

using recording::Event;
using recording::EventKind;

// nccl.h: int8, uint8, int32, uint32, int64, uint64, half, float, double, bfloat16, two of eight bits. Those
// of 16 and 8 bits that are no integers have no class here.
constexpr Datatype kNcclTypes[] = {
    {1, ElementType::kInt8},   {1, ElementType::kUint8},   {4, ElementType::kInt32},
    {4, ElementType::kUint32}, {8, ElementType::kInt64},   {8, ElementType::kUint64},
    {2, ElementType::kMixed},  {4, ElementType::kFloat32}, {8, ElementType::kFloat64},
    {2, ElementType::kMixed},  {1, ElementType::kMixed},   {1, ElementType::kMixed}};
// nccl.h: sum, product, maximum, minimum, average (which adds).
constexpr ReduceFunction kNcclFunctions[] = {ReduceFunction::kSum, ReduceFunction::kProduct,
                                             ReduceFunction::kMaximum, ReduceFunction::kMinimum,
                                             ReduceFunction::kSum};

/// "host:pid:tid [dev] NCCL INFO text": whose, and the text. What stands in front, as a time, is passed over.
struct LogLine {
  std::string process;  // "host:pid"
  std::string_view text;
};
bool take_apart(std::string_view line, LogLine& taken) {
  constexpr std::string_view kMark = " NCCL INFO ";
  const std::size_t mark = line.find(kMark);
  if (mark == std::string_view::npos) return false;
  std::string_view who = line.substr(0, mark);
  if (const std::size_t device = who.rfind(" ["); device != std::string_view::npos)
    who = who.substr(0, device);
  who = who.substr(who.find_last_of(" \t") == std::string_view::npos ? 0 : who.find_last_of(" \t") + 1);
  const std::size_t thread = who.rfind(':');
  if (thread == std::string_view::npos) return false;
  taken.process = who.substr(0, thread);
  taken.text = line.substr(mark + kMark.size());
  return true;
}

/// What stands behind a word.
std::string_view value_of(const std::vector<std::string_view>& words, std::string_view name) {
  const auto found = std::find(words.begin(), words.end(), name);
  return found == words.end() || found + 1 == words.end() ? std::string_view() : *(found + 1);
}

struct Log : NcclRanks {
  std::shared_ptr<const recording::Source> source;
};

class NcclRank final : public MadeEvents {
 public:
  NcclRank(std::shared_ptr<const Log> log, int rank)
      : log_(std::move(log)), lines_(log_->source), rank_(rank) {
    std::uint32_t next = recording::kFirstMade;
    for (std::size_t i = 1; i < log_->communicators.size(); ++i) {
      const std::vector<int>& members = log_->communicators[i];
      if (std::find(members.begin(), members.end(), rank) != members.end()) numbers_[i] = next++;
    }
  }

 private:
  bool more() final {
    if (!made_communicators_) {
      made_communicators_ = true;
      for (const auto& [index, number] : numbers_) make(index);
      if (!numbers_.empty()) return true;
    }
    std::string_view line;
    while (lines_.next(line)) {
      LogLine taken;
      if (!take_apart(line, taken)) continue;
      split(taken.text, words_);
      if (words_.empty() || !words_[0].ends_with(':')) continue;
      const std::string_view name = words_[0].substr(0, words_[0].size() - 1);
      const auto operation = nccl_operation(name);
      if (!operation) continue;
      const auto member = log_->handles.find({taken.process, std::string(value_of(words_, "comm"))});
      if (member == log_->handles.end())
        return fail(
            lines_.at("a communicator that no line \"Init COMPLETE\" names (is INIT in NCCL_DEBUG_SUBSYS?)"));
      if (member->second.world != rank_) continue;
      return add_call(name, *operation, member->second);
    }
    if (!lines_.error().empty()) return fail(lines_.error());
    return finish_group();
  }

  void make(std::size_t index) {
    std::vector<std::uint64_t> members;
    for (const int member : log_->communicators[index]) members.push_back(static_cast<std::uint64_t>(member));
    make_communicator(members, index);
  }

  /// Sends and receives of one group go on together. False: there were none.
  bool finish_group() {
    if (group_.empty()) return false;
    wait_for(group_);
    group_.clear();
    return true;
  }

  bool add_call(std::string_view name, OperationKind operation, const NcclRanks::Member& member) {
    const auto count = number_in<std::uint64_t>(value_of(words_, "count"));
    const auto type = number_in<std::size_t>(value_of(words_, "datatype"));
    const auto function = number_in<std::size_t>(value_of(words_, "op"));
    const auto root = number_in<int>(value_of(words_, "root"));
    const std::vector<int>& members = log_->communicators[member.communicator];
    if (!count || !type || *type >= std::size(kNcclTypes) || !root || *root < 0 ||
        static_cast<std::size_t>(*root) >= members.size())
      return fail(lines_.at(fmt::format("{}: its count, datatype or root makes no sense", name)));
    const Datatype& of = kNcclTypes[*type];
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(*count, of.bytes, &bytes)) return fail(lines_.at("it is beyond 64 bits"));
    const std::uint32_t communicator =
        member.communicator == 0 ? recording::kWorld : numbers_.at(member.communicator);
    const std::string group = fmt::format("{} {}", member.communicator, value_of(words_, "opCount"));
    if (operation == OperationKind::kSend) {
      if (group != group_name_) (void)finish_group();
      group_name_ = group;
      const bool sends = name == "Send";
      group_.push_back(message(sends ? EventKind::kSend : EventKind::kReceive,
                               sends ? Call::kIsend : Call::kIrecv, *root, 0, bytes, 0, of.element,
                               communicator));
      return true;
    }
    (void)finish_group();
    Event event;
    event.operation = operation;
    event.communicator = communicator;
    event.element = of.element;
    event.bytes = bytes;
    if (has_root(operation)) event.peer = *root;
    if (reduces(operation)) {
      event.extra = *count;
      event.function = function && *function < std::size(kNcclFunctions) ? kNcclFunctions[*function]
                                                                         : ReduceFunction::kUser;
    }
    (void)collective(event, true);
    return true;
  }

  std::shared_ptr<const Log> log_;
  Lines lines_;
  int rank_;
  std::map<std::size_t, std::uint32_t> numbers_;  // of this rank's communicators beside the world
  bool made_communicators_ = false;
  std::vector<std::string_view> words_;
  std::vector<std::uint64_t> group_;
  std::string group_name_;
};

/// Empty, or what is wrong with the line.
std::string add_member(const std::vector<std::string_view>& words, const std::string& process,
                       NcclMembers& members) {
  const auto rank = number_in<int>(value_of(words, "rank"));
  const auto size = number_in<int>(value_of(words, "nranks"));
  const std::string id(value_of(words, "commId"));
  const std::string pointer(value_of(words, "comm"));
  if (!rank || !size || *size < 1 || *size > kMostRanks || *rank < 0 || *rank >= *size || id.empty() ||
      pointer.empty())
    return "comm, rank, nranks or commId makes no sense";
  return members.add(id, *rank, *size, {process, pointer}, std::string(value_of(words, "cudaDev")));
}

Result<std::optional<Program>> open_log(const Candidate& candidate) {
  using Opened = Result<std::optional<Program>>;
  if (!candidate.is_text() || candidate.begin.find(" NCCL INFO ") == std::string::npos)
    return std::optional<Program>();
  Result<recording::Source> source = recording::Source::look(candidate.name);
  if (!source) return Opened::failure(source.error());
  const auto shared = std::make_shared<const recording::Source>(std::move(*source));
  Lines lines(shared);
  NcclMembers members;
  std::vector<std::string_view> words;
  for (std::string_view line; lines.next(line);) {
    LogLine taken;
    if (!take_apart(line, taken) || taken.text.find("Init COMPLETE") == std::string_view::npos) continue;
    split(taken.text, words);
    if (const std::string problem = add_member(words, taken.process, members); !problem.empty())
      return Opened::failure(lines.at(problem));
  }
  if (!lines.error().empty()) return Opened::failure(lines.error());
  if (members.empty())
    return Opened::failure(candidate.name +
                           ": no line \"Init COMPLETE\": NCCL_DEBUG_SUBSYS=INIT,COLL writes them");
  Result<NcclRanks> ranks = members.settle(candidate.name);
  if (!ranks) return Opened::failure(ranks.error());
  Log log{std::move(*ranks), shared};
  Program program;
  program.description.ranks = static_cast<int>(log.communicators.front().size());
  program.description.facts = {{"program", candidate.name}};
  program.has_arrival = false;
  program.notes = {
      "it has no times: nothing is computed between calls, and each collective waits for the one before",
      "sends and receives of one group (opCount) go on together"};
  program.read = [kept = std::make_shared<const Log>(std::move(log))](int rank) {
    return std::make_unique<NcclRank>(kept, rank);
  };
  return std::optional(std::move(program));
}

}  // namespace

const Opener kNcclLogs = {
    .kind = "NCCL log", .origin = "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL", .open = open_log};

}  // namespace offramp::trace
