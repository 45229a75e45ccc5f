// An archive as a program. Its calls are read once when it is opened, for the sizes of collectives and for
// notes, and again by each rank's reader.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/text_format.hpp"
#include "lib/programs/import/made_events.hpp"
#include "lib/programs/import/otf2.hpp"
#include "lib/programs/import/otf2_collectives.hpp"
#include "lib/programs/import/otf2_library.hpp"

namespace offramp::otf2 {
namespace {

using recording::Event;
using recording::EventKind;
using trace::FunctionKind;
using trace::MpiFunction;

/// Shared by all readers of an archive.
struct Archive {
  std::shared_ptr<const Definitions> definitions;
  Collectives collectives;
  std::vector<bool> has_threads;  // by rank
};

// One rank's events. Reads the archive on demand; each reader has its own open files.
class Events final : public trace::MadeEvents {
 public:
  Events(std::shared_ptr<const Archive> archive, int rank)
      : archive_(std::move(archive)),
        rank_(rank),
        calls_(archive_->definitions, rank),
        collectives_(archive_->collectives, rank) {}

  [[nodiscard]] bool has_threads() const final {
    return archive_->has_threads[static_cast<std::size_t>(rank_)];
  }

 private:
  bool make_more() final {
    Item item;
    if (!calls_.next(item)) return calls_.error().empty() ? false : fail(calls_.error());
    switch_thread(item.thread);
    compute(item.computed);
    switch (item.kind) {
      case Item::Action::kNative:
        native(call_of(item.region), item.native);
        break;
      case Item::Action::kSend:
      case Item::Action::kReceive:
        one_message(item);
        break;
      case Item::Action::kCollective:
        one_collective(item);
        break;
      case Item::Action::kWait:
        one_wait(item);
        break;
      case Item::Action::kAccess:
        one_access(item);
        break;
      // Frees have no name of their own.
      case Item::Action::kFree:
        free(item);
        return true;
    }
    // Calls of windows have no MpiFunction, so their names are kept as text.
    const bool accesses = item.kind == Item::Action::kAccess;
    if (accesses || is_of_window(item.region))
      name_last(item.region != nullptr ? item.region->name : "RMA access");
    return true;
  }

  static bool is_of_window(const Region* region) {
    return region != nullptr && region->name.starts_with("MPI_Win_");
  }
  static MpiFunction call_of(const Region* region) {
    return region != nullptr ? region->function.call : MpiFunction::kOther;
  }

  // Adds a send or a receive, with the modes that its function implies.
  void one_message(const Item& item) {
    const std::uint32_t communicator = number_of(item.communicator);
    const bool sends = item.kind == Item::Action::kSend;
    const FunctionKind kind = item.region != nullptr ? item.region->function.kind : FunctionKind::kOther;
    // A function may contain messages of another kind, as MPI_Sendrecv does.
    const bool is_named = kind == (sends ? FunctionKind::kSend : FunctionKind::kReceive);
    MpiFunction call = sends           ? (item.blocking ? MpiFunction::kSend : MpiFunction::kIsend)
                       : item.blocking ? MpiFunction::kRecv
                                       : MpiFunction::kIrecv;
    if (is_named) call = item.region->function.call;
    if (kind == FunctionKind::kSendrecv || kind == FunctionKind::kSendrecvReplace)
      call = MpiFunction::kSendrecv;
    std::uint8_t flags = 0;
    if (is_named) flags = item.region->function.flags & (recording::kSynchronous | recording::kBuffered);
    // MPI_Win_post does not wait for the origins to begin.
    if (sends && is_of_window(item.region)) flags |= recording::kBuffered;  // of MPI_Win_post
    // A nonblocking buffered send returns at once; it has no completion to wait for.
    if (item.blocking && call != MpiFunction::kIbsend) flags |= recording::kBlocking;
    if (item.continues) flags |= recording::kContinues;
    const std::uint64_t number = message(sends ? EventKind::kSend : EventKind::kReceive, call, item.peer,
                                         item.tag, item.bytes, flags, ElementType::kByte, communicator);
    // Buffered sends have no wait.
    if ((flags & (recording::kBlocking | recording::kBuffered)) == 0) numbers_[item.request] = number;
  }

  // Adds an access to a window, or a lock of one.
  void one_access(const Item& item) {
    Event event{.kind = EventKind::kAccess,
                .communicator = number_of(item.communicator),
                .peer = item.peer,
                .tag = item.tag,
                .bytes = item.bytes,
                .extra = item.received};
    if (item.blocking) event.flags |= recording::kBlocking;
    if (item.continues) event.flags |= recording::kContinues;
    add(event);
    // The event just added began the newest request.
    if (!item.blocking) numbers_[item.request] = begun() - 1;
  }

  // Adds a collective. Its sizes come from the sums of all members.
  void one_collective(const Item& item) {
    const std::uint32_t communicator = number_of(item.communicator);
    const CollectiveCall call = collectives_.next(item);
    Event event;
    switch (call.operation) {
      case OperationKind::kGatherv:
        event = gatherv(call.bytes, call.received, call.root, !call.received.empty());
        break;
      case OperationKind::kScatterv:
        event = scatterv(call.sent, call.bytes, call.root, !call.sent.empty());
        break;
      case OperationKind::kAllgatherv:
        event = allgatherv(call.bytes, call.received);
        break;
      case OperationKind::kAlltoallv:
        event = alltoallv(call.sent, call.received);
        break;
      case OperationKind::kReduceScatterv:
        event = reduction_of(call.sent);
        break;
      default:
        event = trace::collective_of_bytes(call.operation, call.bytes);
        event.peer = has_root(call.operation) ? call.root : 0;
        break;
    }
    event.communicator = communicator;
    if (item.continues) event.flags |= recording::kContinues;
    const std::uint64_t number = collective(event, item.blocking);
    if (!item.blocking) numbers_[item.request] = number;
  }

  // bytes: each member's part of the result.
  Event reduction_of(const std::vector<std::uint64_t>& bytes) {
    // Whole floats can be added, as in most programs; other sizes are combined as bytes.
    const bool floats =
        std::ranges::all_of(bytes, [](std::uint64_t part) { return part % sizeof(float) == 0; });
    const trace::Datatype of{floats ? sizeof(float) : 1, floats ? ElementType::kFloat32 : ElementType::kByte};
    std::vector<std::uint64_t> elements = bytes;
    for (std::uint64_t& part : elements) part /= of.bytes;
    // The parts do not exceed what one rank sends, which is bounded.
    Event event = reduce_scatter(elements, of).value_or(Event());
    event.function = floats ? ReduceFunction::kSum : ReduceFunction::kBitOr;
    return event;
  }

  // Adds one wait for all requests of the item.
  void one_wait(const Item& item) {
    std::vector<std::uint64_t> requests;
    for (const std::uint64_t request : item.requests) {
      // Buffered sends have no number.
      if (const auto number = numbers_.extract(request)) requests.push_back(number.mapped());
    }
    const FunctionKind kind = item.region != nullptr ? item.region->function.kind : FunctionKind::kOther;
    const auto flags = static_cast<std::uint8_t>(item.continues ? recording::kContinues : 0);
    // The call is still there, without anything to wait for.
    if (requests.empty()) return native(call_of(item.region));
    if (requests.size() == 1 && flags == 0 && (kind == FunctionKind::kWait || item.region == nullptr))
      return wait_for(requests.front());
    const MpiFunction call = call_of(item.region);
    wait_for(requests, call != MpiFunction::kOther ? call : MpiFunction::kWaitall, flags);
  }

  // Frees requests without waiting.
  void free(const Item& item) {
    for (const std::uint64_t request : item.requests) {
      if (const auto number = numbers_.extract(request)) end_of(number.mapped(), EventKind::kFree);
    }
  }

  /// All members make it at its first use, with the archive's number as id.
  std::uint32_t number_of(std::uint32_t reference) {
    const Communicator& communicator = archive_->definitions->communicators.at(reference);
    if (communicator.is_world) return recording::kWorld;
    if (communicator.is_self) return recording::kSelf;
    // Numbers follow the order of first uses on this rank; the id makes ranks agree.
    const auto next = static_cast<std::uint32_t>(recording::kFirstMade + made_.size());
    const auto [known, is_new] = made_.try_emplace(reference, next);
    if (is_new) {
      const std::vector<std::uint64_t> members(communicator.members.begin(), communicator.members.end());
      make_communicator(members, reference);
    }
    return known->second;
  }

  std::shared_ptr<const Archive> archive_;
  int rank_;
  RankCalls calls_;
  Collectives::OfRank collectives_;
  std::unordered_map<std::uint64_t, std::uint64_t> numbers_;  // of requests, by the item's number
  std::unordered_map<std::uint32_t, std::uint32_t> made_;     // communicators, by reference
};

/// Facts found by reading all ranks.
struct Seen {
  std::set<std::string> notes;
  std::set<std::string> unknown;
  std::vector<std::size_t> cut;  // ranks with MPI_Init and without MPI_Finalize
};

/// Reads all ranks and fills in the archive's facts.
Result<void> look_through(Archive& archive, Seen& seen) {
  const auto ranks = static_cast<int>(archive.definitions->ranks.size());
  // One rank after the other: only one rank's files are open at a time.
  for (int rank = 0; rank < ranks; ++rank) {
    RankCalls calls(archive.definitions, rank);
    bool begins = false;
    bool ends = false;
    for (Item item; calls.next(item);) {
      begins = begins || (item.region != nullptr && item.region->function.call == MpiFunction::kInit);
      ends = ends || (item.region != nullptr && item.region->function.call == MpiFunction::kFinalize);
      if (item.kind != Item::Action::kCollective) continue;
      if (Result<void> done = archive.collectives.add(rank, item); !done) return done;
    }
    if (!calls.error().empty()) return failure(calls.error());
    archive.has_threads.push_back(calls.threads() > 1);
    if (begins && !ends) seen.cut.push_back(static_cast<std::size_t>(rank));
    seen.notes.insert(calls.notes().begin(), calls.notes().end());
    seen.unknown.insert(calls.unknown().begin(), calls.unknown().end());
  }
  return {};
}

}  // namespace

Result<trace::Program> open_archive(const std::string& anchor) {
  allow_many_files();
  Result<std::shared_ptr<const Definitions>> definitions = read_definitions(anchor);
  if (!definitions) return failure(definitions.error());
  // From here on only changed by the first pass; readers see it as constant.
  const auto archive = std::make_shared<Archive>(Archive{*definitions, Collectives(*definitions), {}});
  Seen seen;
  if (const Result<void> done = look_through(*archive, seen); !done) return failure(done.error());
  trace::Program program;
  program.has_arrival = false;
  program.description.ranks = static_cast<int>(archive->definitions->ranks.size());
  program.description.facts = {{"program", anchor}};
  program.notes = {"computing is the time between MPI calls",
                   "receives have the source, tag, and size of the message that they received"};
  if (archive->collectives.has_reductions())
    program.notes.emplace_back(
        "types and functions of reductions are not in the archive: they add 32-bit floats, or combine bytes");
  if (archive->collectives.has_pairs())
    program.notes.emplace_back(
        "alltoalls with different blocks have only totals per rank: these are spread in proportion");
  if (std::ranges::count(archive->has_threads, true) > 0)
    program.notes.emplace_back("calls of several threads are in the order in which they ended");
  if (archive->definitions->left_out > 0)
    program.notes.push_back(fmt::format("{} threads of processes with several ranks are left out",
                                        archive->definitions->left_out));
  program.missing = trace::missing_text(seen.cut, "MPI_Finalize", {});
  program.notes.insert(program.notes.end(), seen.notes.begin(), seen.notes.end());
  if (!seen.unknown.empty())
    program.notes.push_back(fmt::format("calls without a model, which last as long as in the trace: {}",
                                        printable(fmt::format("{}", fmt::join(seen.unknown, ", ")), 1000)));
  const std::shared_ptr<const Archive> shared = archive;
  program.read = [shared](int rank) { return std::make_unique<Events>(shared, rank); };
  return program;
}

}  // namespace offramp::otf2
