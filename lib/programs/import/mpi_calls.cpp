// Two passes over each rank. look_through() collects the makings of communicators, whose members depend on
// all ranks, and the evidence for the MPI library. CallEvents then turns calls into events. Time between two
// calls is computing. Failed tests are no events; a successful one is a wait, and a wait for some without a
// known outcome is left to the world.
#include "lib/programs/import/mpi_calls.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

#include "lib/programs/import/call_arguments.hpp"
#include "lib/programs/import/made_events.hpp"
#include "lib/programs/import/mpi_functions.hpp"
#include "lib/programs/import/mpi_library.hpp"
#include "offramp/model/message.hpp"

namespace offramp::trace {
namespace {

using recording::Event;
using recording::EventKind;

using RankMade = std::vector<MadeCommunicator>;

class CallEvents final : public MadeEvents, private CallArguments {
 public:
  CallEvents(std::unique_ptr<Calls> calls, int rank, int ranks, const MpiLibrary& library,
             std::shared_ptr<const std::vector<RankMade>> made)
      : CallArguments(std::move(calls), rank, ranks, library),
        rank_(rank),
        made_communicators_(std::move(made)) {}

  void on_completed(std::uint64_t number) final {
    asked_.clear();
    drop(number);
  }

 private:
  // A message as an `_init` call describes it. to_none: its peer is MPI_PROC_NULL.
  struct Persistent {
    Function function;
    int peer = 0;
    int tag = 0;
    std::uint64_t bytes = 0;
    ElementType element = ElementType::kByte;
    std::uint32_t communicator = 0;
    bool to_none = false;
  };

  bool make_more() final {
    // Plain readers do not report which requests completed, so all count as complete.
    for (const std::uint64_t number : std::exchange(asked_, {})) drop(number);
    while (calls().next()) {
      begin_call();
      const auto begun = calls().begun();
      if (begun && last_ && *begun > *last_) compute(*begun - *last_);
      if (const auto ended = calls().ended()) last_ = ended;
      const std::uint64_t before = made();
      act(function_of(calls().function()));
      if (!is_valid()) return fail(calls().at(fmt::format("{}: {}", calls().function(), problem())));
      // Some calls make no event. The reader goes on until one does.
      if (made() != before) return true;
    }
    return calls().error().empty() ? false : fail(calls().error());
  }

  /// Nanoseconds from the beginning to the end of the call; 0 if the trace lacks one of them.
  std::uint64_t duration() {
    const auto begun = calls().begun();
    const auto ended = calls().ended();
    return begun && ended && *ended > *begun ? *ended - *begun : 0;
  }

  void act(const Function& function) {
    using enum FunctionKind;
    switch (function.kind) {
      case kOther:
        return native(function.call);
      case kUnknown:
        return native(function.call, duration());
      case kSend:
      case kReceive:
        return one_message(function);
      case kPersistent:
        return prepare(function);
      case kStart:
        return start(keys("request", 1), 1);
      case kStartall:
        return start(keys("requests", count("count")), count("count"));
      case kSendrecv:
      case kSendrecvReplace:
        return send_and_receive(function.kind == kSendrecvReplace);
      case kWait:
        return wait(keys("request", 1), MpiFunction::kWait);
      case kWaitall:
        return wait(keys("requests", count("count")), MpiFunction::kWaitall);
      case kWaitany:
        return wait_for_any(recording::kAny, MpiFunction::kWaitany);
      case kWaitsome:
        return wait_for_any(recording::kSome, MpiFunction::kWaitsome);
      case kTest:
      case kTestall:
      case kTestany:
      case kTestsome:
        return test(function.kind);
      case kProbe:
      case kIprobe:
        return probe(function.kind == kProbe);
      case kCancel:
      case kRequestFree:
        return cancel_or_free(function.kind == kCancel ? EventKind::kCancel : EventKind::kFree);
      case kCollective:
        return collective_call(function);
      case kMaking:
        return make(function.making);
    }
  }

  // --- requests ---

  std::vector<std::uint64_t> keys(std::string_view name, std::uint64_t number) {
    constexpr std::uint64_t kMost = 1U << 24U;
    if (!is_valid()) return {};
    if (number == 0) return {};
    auto requests = number > kMost ? std::nullopt : calls().requests(name, number);
    if (!requests) reject(fmt::format("its {} are invalid", name));
    if (!is_valid()) return {};
    if (!requests->are_addresses || number < 2) return requests->keys;
    // The distance between requests is unknown: chooses the one with most known requests.
    std::vector<std::uint64_t> best;
    for (const std::uint64_t size : library().request_sizes) {
      std::vector<std::uint64_t> known = known_from(requests->keys[0], size, number);
      if (known.size() > best.size()) best = std::move(known);
    }
    return best;
  }
  std::vector<std::uint64_t> known_from(std::uint64_t first, std::uint64_t size, std::uint64_t number) const {
    std::set<std::uint64_t> known;
    const auto add = [&](const auto& requests) {
      // Requests of one array lie at equal distances from its address.
      for (auto one = requests.lower_bound(first);
           one != requests.end() && one->first - first < size * number; ++one) {
        if ((one->first - first) % size == 0) known.insert(one->first);
      }
    };
    add(open_);
    add(persistent_);
    return {known.begin(), known.end()};
  }

  void drop(std::uint64_t number) {
    const auto found = names_.find(number);
    if (found == names_.end()) return;
    open_.erase(found->second);
    names_.erase(found);
  }
  /// The open requests among these.
  std::vector<std::uint64_t> open(const std::vector<std::uint64_t>& keys) const {
    std::vector<std::uint64_t> numbers;
    for (const std::uint64_t key : keys) {
      if (const auto found = open_.find(key); found != open_.end()) numbers.push_back(found->second);
    }
    return numbers;
  }
  std::uint64_t own_key() {
    const std::vector<std::uint64_t> key = keys("request", 1);
    if (key.empty()) return 0;
    // The earlier request with this name has ended, as a test has found.
    if (const auto before = open_.find(key[0]); before != open_.end()) {
      const std::uint64_t number = before->second;
      wait_for(number);
      drop(number);
    }
    return key[0];
  }
  void begin(std::uint64_t key, std::uint64_t number) {
    open_[key] = number;
    names_[number] = key;
  }

  void wait(const std::vector<std::uint64_t>& keys, MpiFunction call) {
    const std::vector<std::uint64_t> numbers = open(keys);
    if (!is_valid()) return;
    if (numbers.empty()) return native(call);
    if (numbers.size() == 1) {
      wait_for(numbers[0]);
    } else {
      wait_for(numbers, call);
    }
    for (const std::uint64_t number : numbers) drop(number);
  }

  /// The completed request is taken from the trace. Otherwise the world decides.
  void wait_for_any(std::uint8_t flag, MpiFunction call) {
    const std::vector<std::uint64_t> all = keys("requests", count("count"));
    if (!is_valid()) return;
    if (const auto chosen = outcome(all, flag == recording::kAny)) return wait(*chosen, call);
    asked_ = open(all);
    if (asked_.empty()) return native(call);
    wait_for(asked_, call, flag);
  }
  std::optional<std::vector<std::uint64_t>> outcome(const std::vector<std::uint64_t>& all, bool any) {
    std::vector<std::int64_t> indices;
    if (any) {
      const auto index = calls().integer("index");
      if (!index) return std::nullopt;
      indices.push_back(*index);
    } else {
      const auto some = calls().integers("indices");
      if (!some) return std::nullopt;
      indices = *some;
    }
    std::vector<std::uint64_t> chosen;
    for (const std::int64_t index : indices) {
      // MPI_UNDEFINED and damaged values name no request.
      if (index >= 0 && static_cast<std::size_t>(index) < all.size())
        chosen.push_back(all[static_cast<std::size_t>(index)]);
    }
    return chosen;
  }

  /// A successful test becomes a wait that does not block. If its result is missing, a later call shows it.
  void test(FunctionKind kind) {
    const bool one = kind == FunctionKind::kTest;
    const std::vector<std::uint64_t> all = keys(one ? "request" : "requests", one ? 1 : count("count"));
    if (!is_valid()) return;
    if (kind == FunctionKind::kTestsome) {
      const auto chosen = outcome(all, false);
      return chosen && !chosen->empty() ? wait(*chosen, MpiFunction::kTest) : native(MpiFunction::kTest);
    }
    const auto flag = calls().integer("flag");
    // A failed test is no event, as its time depends on the machine.
    if (!flag || *flag == 0) return native(MpiFunction::kTest);
    if (kind != FunctionKind::kTestany) return wait(all, MpiFunction::kTest);
    const auto chosen = outcome(all, true);
    return chosen ? wait(*chosen, MpiFunction::kTest) : native(MpiFunction::kTest);
  }

  void cancel_or_free(EventKind kind) {
    const std::vector<std::uint64_t> numbers = open(keys("request", 1));
    if (!is_valid()) return;
    if (numbers.empty()) return native(MpiFunction::kOther);
    end_of(numbers[0], kind);
    if (kind == EventKind::kFree) drop(numbers[0]);
  }

  // --- messages ---

  Persistent described(const Function& function, bool sends) {
    Persistent message;
    message.function = function;
    message.function.sends = sends;
    message.communicator = communicator();
    message.peer = peer(sends ? "dest" : "source", message.communicator, sends, message.to_none);
    if (!message.to_none) message.tag = tag("tag", sends);
    message.bytes = bytes("count", "datatype");
    if (is_valid()) message.element = datatype("datatype").element;
    return message;
  }
  std::uint64_t begin(const Persistent& of) {
    return message(of.function.sends ? EventKind::kSend : EventKind::kReceive, of.function.call, of.peer,
                   of.tag, of.bytes, of.function.flags, of.element, of.communicator);
  }

  void one_message(const Function& function) {
    const Persistent one = described(function, function.kind == FunctionKind::kSend);
    const bool has_request = (function.flags & (recording::kBlocking | recording::kBuffered)) == 0;
    const std::uint64_t key = has_request && is_valid() ? own_key() : 0;
    if (!is_valid()) return;
    if (one.to_none) return native(function.call);
    const std::uint64_t number = begin(one);
    if (has_request) begin(key, number);
  }

  void prepare(const Function& function) {
    const Persistent one = described(function, function.sends);
    const std::uint64_t key = is_valid() ? own_key() : 0;
    if (!is_valid()) return;
    persistent_[key] = one;
    native(MpiFunction::kOther);
  }
  void start(const std::vector<std::uint64_t>& keys, std::uint64_t wanted) {
    if (is_valid() && keys.size() != wanted)
      return reject("its requests are not requests that can be started");
    for (const std::uint64_t key : keys) {
      const auto found = persistent_.find(key);
      if (found == persistent_.end()) return reject("its request is not a request that can be started");
      if (found->second.to_none) continue;
      const std::uint64_t number = begin(found->second);
      if ((found->second.function.flags & recording::kBuffered) == 0) begin(key, number);
    }
  }

  void send_and_receive(bool replace) {
    const std::uint32_t number = communicator();
    bool to_none = false;
    bool from_none = false;
    const int to = peer("dest", number, true, to_none);
    const int from = peer("source", number, false, from_none);
    const std::string_view send_type = replace ? "datatype" : "sendtype";
    const std::string_view receive_type = replace ? "datatype" : "recvtype";
    const std::uint64_t sent = bytes(replace ? "count" : "sendcount", send_type);
    const std::uint64_t room = bytes(replace ? "count" : "recvcount", receive_type);
    const int send_tag = to_none ? 0 : tag("sendtag", true);
    const int receive_tag = from_none ? 0 : tag("recvtag", false);
    if (!is_valid()) return;
    std::vector<std::uint64_t> both;
    // The receive comes first, as in a recorded MPI_Sendrecv.
    if (!from_none)
      both.push_back(message(EventKind::kReceive, MpiFunction::kSendrecv, from, receive_tag, room, 0,
                             datatype(receive_type).element, number));
    if (!to_none)
      both.push_back(message(EventKind::kSend, MpiFunction::kSendrecv, to, send_tag, sent,
                             both.empty() ? 0 : recording::kContinues, datatype(send_type).element, number));
    if (both.empty()) return native(MpiFunction::kSendrecv);
    wait_for(both, MpiFunction::kSendrecv, recording::kContinues);
  }

  void probe(bool blocking) {
    const auto flag = calls().integer("flag");
    if (!blocking && (!flag || *flag == 0)) return native(MpiFunction::kOther);
    const std::uint32_t number = communicator();
    bool none = false;
    const int source = peer("source", number, false, none);
    const int wanted = none ? 0 : tag("tag", false);
    if (!is_valid()) return;
    if (none) return native(MpiFunction::kProbe);
    (void)message(EventKind::kProbe, MpiFunction::kProbe, source, wanted, 0, recording::kBlocking,
                  ElementType::kByte, number);
  }

  // --- communicators ---

  void make(Making::Method kind) {
    native(MpiFunction::kOther);
    // Groups are known from the first pass, and are no events.
    if (kind >= Making::Method::kGroup) return;
    const RankMade& all = (*made_communicators_)[static_cast<std::size_t>(rank_)];
    // Both passes must see the same calls.
    if (next_made_ >= all.size()) return reject("the file changed while it was read");
    const MadeCommunicator& made = all[next_made_++];
    Making making;
    making.made = calls().handle("newcomm");
    communicators().add(making, made);
    if (made.members == nullptr) return;
    std::vector<std::uint64_t> members;
    for (const int member : *made.members) members.push_back(static_cast<std::uint64_t>(member));
    make_communicator(members, made.id);
  }

  // --- collectives ---

  void collective_call(const Function& function) {
    const std::uint32_t number = communicator();
    if (!is_valid()) return;
    std::optional<Event> event = shaped(function.operation, number);
    const std::uint64_t key = function.blocking || !is_valid() ? 0 : own_key();
    if (!event || !is_valid()) return reject("its size exceeds 64 bits");
    event->communicator = number;
    if (reduces(event->operation)) event->function = calls().reduce_function();
    const std::uint64_t request = collective(*event, function.blocking);
    if (!function.blocking) begin(key, request);
  }

  std::optional<Event> shaped(OperationKind operation, std::uint32_t number) {
    const int to = has_root(operation) ? root(number) : 0;
    const bool at_root = to == own_rank(number);
    Event event;
    event.operation = operation;
    switch (operation) {
      case OperationKind::kBarrier:
        return event;
      case OperationKind::kBcast:
        event = sized(operation, "count", "datatype");
        break;
      case OperationKind::kReduce:
      case OperationKind::kAllreduce:
      case OperationKind::kScan:
      case OperationKind::kExscan:
        event = sized(operation, "count", "datatype");
        event.extra = count("count");
        break;
      case OperationKind::kGather:
      case OperationKind::kAllgather:
      case OperationKind::kAlltoall:
        event = block(operation, "send", "recv");
        break;
      case OperationKind::kScatter:
        event = block(operation, "recv", "send");
        break;
      case OperationKind::kReduceScatter:
      case OperationKind::kReduceScatterv:
        return reduce_blocks(number);
      case OperationKind::kGatherv: {
        const auto received =
            at_root ? blocks("recvcounts", "recvtype", number) : std::vector<std::uint64_t>();
        const std::uint64_t own =
            at_root && is_valid() ? received[static_cast<std::size_t>(to)] : bytes("sendcount", "sendtype");
        event = gatherv(own, received, to, at_root);
        event.element = element(at_root ? "recvtype" : "sendtype");
        break;
      }
      case OperationKind::kScatterv: {
        const auto sent = at_root ? blocks("sendcounts", "sendtype", number) : std::vector<std::uint64_t>();
        const std::uint64_t own =
            at_root && is_valid() ? sent[static_cast<std::size_t>(to)] : bytes("recvcount", "recvtype");
        event = scatterv(sent, own, to, at_root);
        event.element = element(at_root ? "sendtype" : "recvtype");
        break;
      }
      case OperationKind::kAllgatherv: {
        const auto received = blocks("recvcounts", "recvtype", number);
        if (!is_valid()) return std::nullopt;
        // In place, the own block is the one among the received.
        event = allgatherv(received[static_cast<std::size_t>(own_rank(number))], received);
        event.element = element("recvtype");
        break;
      }
      case OperationKind::kAlltoallv: {
        const auto received = blocks("recvcounts", "recvtype", number);
        const auto sent = blocks("sendcounts", "sendtype", number);
        event = alltoallv(sent, received);
        event.element = element("sendtype");
        break;
      }
      case OperationKind::kSend:
      case OperationKind::kCount:
        return std::nullopt;
    }
    event.peer = to;
    return event;
  }

  /// MPI_Reduce_scatter, and MPI_Reduce_scatter_block with one size for all.
  std::optional<Event> reduce_blocks(std::uint32_t number) {
    const Datatype of = datatype("datatype");
    const auto alike = calls().integer("recvcount");
    const auto size = communicators().size(number);
    const std::vector<std::uint64_t> elements =
        alike ? std::vector<std::uint64_t>(size, count("recvcount")) : counts("recvcounts", number);
    return is_valid() ? reduce_scatter(elements, of) : std::nullopt;
  }

  int rank_;
  std::shared_ptr<const std::vector<RankMade>> made_communicators_;
  std::size_t next_made_ = 0;
  std::optional<std::uint64_t> last_;             // end of the previous call
  std::map<std::uint64_t, std::uint64_t> open_;   // request number by the trace's name
  std::map<std::uint64_t, std::uint64_t> names_;  // the trace's name by request number
  std::map<std::uint64_t, Persistent> persistent_;
  std::vector<std::uint64_t> asked_;  // of the last wait for some, if its outcome is missing
};

/// What a call makes, as far as the trace contains it.
Making making_of(Calls& calls, Making::Method kind) {
  Making making;
  making.kind = kind;
  making.where = calls.at(calls.function());
  const bool from_group = kind == Making::Method::kInclude || kind == Making::Method::kExclude;
  const std::string_view from = kind == Making::Method::kGroup ? "comm" : "oldcomm";
  if (!from_group) making.from = calls.communicator(from).value_or(CommunicatorName{UINT64_MAX, -1, -1});
  making.group = calls.handle("group").value_or(0);
  making.made = kind == Making::Method::kGroup ? calls.handle("group")
                                               : calls.handle(from_group ? "newgroup" : "newcomm");
  making.color = calls.integer("color").value_or(0);
  making.key = calls.integer("key").value_or(0);
  const std::string_view numbers = kind == Making::Method::kGrid      ? "dims"
                                   : kind == Making::Method::kSubgrid ? "remain_dims"
                                                                      : "ranks";
  making.numbers = calls.integers(numbers).value_or(std::vector<std::int64_t>());
  return making;
}

/// Facts found by reading all ranks.
struct Seen {
  std::vector<std::vector<Making>> makings;  // by rank
  std::set<std::string> unknown;             // functions that are not carried
  std::vector<std::size_t> cut;              // ranks with MPI_Init and without MPI_Finalize
  Calls::Unread unread;                      // of all ranks
  MpiLibraryEvidence library;
};

Result<Seen> look_through(int ranks, const std::function<std::unique_ptr<Calls>(int rank)>& open) {
  Seen seen;
  seen.makings.resize(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    const std::unique_ptr<Calls> calls = open(rank);
    bool begins = false;
    bool ends = false;
    while (calls->next()) {
      const Function function = function_of(calls->function());
      begins = begins || function.call == MpiFunction::kInit;
      ends = ends || function.call == MpiFunction::kFinalize;
      seen.library.look_at(*calls, function);
      if (function.kind == FunctionKind::kUnknown) seen.unknown.emplace(calls->function());
      if (function.kind == FunctionKind::kMaking)
        seen.makings[static_cast<std::size_t>(rank)].push_back(making_of(*calls, function.making));
    }
    if (!calls->error().empty()) return failure(calls->error());
    if (begins && !ends) seen.cut.push_back(static_cast<std::size_t>(rank));
    if (seen.unread.lines == 0) seen.unread.first = calls->unread().first;
    seen.unread.lines += calls->unread().lines;
  }
  return seen;
}

}  // namespace

Result<std::optional<Program>> program_of_calls(const std::string& name, int ranks,
                                                std::function<std::unique_ptr<Calls>(int rank)> calls,
                                                std::vector<std::string> notes) {
  const Result<Seen> looked = look_through(ranks, calls);
  if (!looked) return failure(looked.error());
  const Seen& seen = *looked;
  Result<std::vector<RankMade>> made = resolve_communicators(seen.makings);
  if (!made) return failure(made.error());
  Program program;
  program.has_arrival = false;
  program.description.ranks = ranks;
  program.description.facts = {{"program", name}};
  program.missing = missing_text(seen.cut, "MPI_Finalize", {});
  program.notes = std::move(notes);
  for (std::string& note : seen.library.notes()) program.notes.push_back(std::move(note));
  if (!seen.unknown.empty())
    program.notes.push_back(fmt::format("calls without a model, which last as long as in the trace: {}",
                                        fmt::join(seen.unknown, ", ")));
  if (seen.unread.lines > 0)
    program.notes.push_back(fmt::format("lines outside of calls are ignored: {}, the first at {}",
                                        seen.unread.lines, seen.unread.first));
  const auto shared = std::make_shared<const std::vector<RankMade>>(std::move(*made));
  program.read = [shared, open = std::move(calls), ranks, library = seen.library.library()](int rank) {
    return std::make_unique<CallEvents>(open(rank), rank, ranks, library, shared);
  };
  return std::optional(std::move(program));
}

}  // namespace offramp::trace
