// Readers make a few events at a time in make_more(), and next() returns them one by one. Requests are
// numbered in the order in which they begin, as in a recording.
#include "lib/programs/import/made_events.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace offramp::trace {

using recording::Event;
using recording::EventKind;

namespace {

constexpr auto kKinds = static_cast<std::size_t>(OperationKind::kCount);
constexpr auto kFirst = static_cast<std::size_t>(MpiFunction::kCollectives);
// The entry for OperationKind::kSend is empty.
constexpr auto kNames = [] {
  std::string_view left =
      "MPI_Init MPI_Finalize MPI_Send MPI_Ssend MPI_Bsend MPI_Isend MPI_Issend MPI_Ibsend MPI_Recv "
      "MPI_Irecv MPI_Probe MPI_Sendrecv MPI_Wait MPI_Waitall MPI_Waitany MPI_Waitsome MPI_Test "
      "MPI_Comm_rank MPI_Comm_split  MPI_Bcast MPI_Reduce MPI_Gather MPI_Allreduce MPI_Scatter MPI_Allgather "
      "MPI_Reduce_scatter_block MPI_Alltoall MPI_Barrier MPI_Scan MPI_Exscan MPI_Gatherv MPI_Scatterv "
      "MPI_Allgatherv MPI_Reduce_scatter MPI_Alltoallv  MPI_Ibcast MPI_Ireduce MPI_Igather "
      "MPI_Iallreduce MPI_Iscatter MPI_Iallgather MPI_Ireduce_scatter_block MPI_Ialltoall "
      "MPI_Ibarrier MPI_Iscan MPI_Iexscan MPI_Igatherv MPI_Iscatterv MPI_Iallgatherv "
      "MPI_Ireduce_scatter MPI_Ialltoallv";
  std::array<std::string_view, kFirst + 2 * kKinds> names;
  for (std::string_view& name : names) {
    name = left.substr(0, left.find(' '));
    left.remove_prefix(std::min(name.size() + 1, left.size()));
  }
  return names;
}();
static_assert(kNames.back() == "MPI_Ialltoallv");

std::uint64_t sum_of(std::span<const std::uint64_t> values) {
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

}  // namespace

std::string_view name_of_call(std::uint16_t number) {
  return number < kNames.size() ? kNames[number] : std::string_view();
}

std::uint16_t call_of(OperationKind operation, bool blocking) {
  return static_cast<std::uint16_t>(kFirst + static_cast<std::size_t>(operation) + (blocking ? 0 : kKinds));
}

Event collective_of_bytes(OperationKind operation, std::uint64_t bytes) {
  Event event;
  event.operation = operation;
  event.bytes = bytes;
  if (!reduces(operation)) return event;
  const bool floats = bytes % sizeof(float) == 0;
  event.element = floats ? ElementType::kFloat32 : ElementType::kByte;
  event.function = floats ? ReduceFunction::kSum : ReduceFunction::kBitOr;
  event.extra = floats ? bytes / sizeof(float) : bytes;
  return event;
}

bool MadeEvents::next(Event& event) {
  if (!is_next_ && taken_ < made_.size()) {
    current_ = made_[taken_++];
  } else if (!is_next_) {
    // The events of the last turn have been taken, so their lists are no longer used.
    made_.clear();
    lists_.clear();
    taken_ = 0;
    if (!ended_ && !make_more()) {
      ended_ = true;
      // Final computing belongs to MPI_Finalize, which some formats lack.
      switch_thread(0);
      if (error_.empty() && !initialized_ && !finalized_) native(MpiFunction::kFinalize);
    }
    if (!is_next_) return false;
  }
  is_next_ = false;
  event = current_.event;
  return true;
}

std::span<const std::uint64_t> MadeEvents::list(std::uint32_t number) const {
  if (number == 0 || number > lists_.size()) return {};
  return lists_[number - 1];
}

std::string_view MadeEvents::call(std::uint16_t number) const {
  return number < kNames.size() ? kNames[number] : std::string_view(names_[number - kNames.size()]);
}

void MadeEvents::name_last(const std::string& function) {
  const auto known = std::find(names_.begin(), names_.end(), function);
  newest().event.call = static_cast<std::uint16_t>(kNames.size() + (known - names_.begin()));
  if (known == names_.end()) names_.push_back(function);
}

static void add_time(std::uint64_t& sum, std::uint64_t nanoseconds) {
  // Times of a damaged trace may be anything: the sum stops at the largest value.
  sum = nanoseconds > UINT64_MAX - sum ? UINT64_MAX : sum + nanoseconds;
}

void MadeEvents::compute(std::uint64_t nanoseconds) {
  add_time(times_.computing, nanoseconds);
}
void MadeEvents::rest(std::uint64_t nanoseconds) {
  add_time(times_.blocked, nanoseconds);
}

std::uint32_t MadeEvents::intern(std::span<const std::uint64_t> values) {
  lists_.emplace_back(values.begin(), values.end());
  return static_cast<std::uint32_t>(lists_.size());
}

void MadeEvents::add(const Event& event) {
  const bool is_first = !is_next_ && made_.empty();
  is_next_ = is_next_ || is_first;
  const Made made{event, times_, thread_};  // `event` may be in made_
  times_ = {};
  (is_first ? current_ : made_.emplace_back()) = made;
  ++events_;
  if (begins_request(event)) ++begun_;
}

void MadeEvents::native(MpiFunction call, std::uint64_t nanoseconds) {
  initialized_ = initialized_ || call == MpiFunction::kInit;
  finalized_ = finalized_ || call == MpiFunction::kFinalize;
  times_.native = nanoseconds;
  add({.kind = EventKind::kNative, .call = number_of(call)});
}

std::uint64_t MadeEvents::message(EventKind kind, MpiFunction call, int peer, int tag, std::uint64_t bytes,
                                  std::uint8_t flags, ElementType element, std::uint32_t communicator) {
  add({.kind = kind,
       .flags = flags,
       .element = element,
       .call = number_of(call),
       .communicator = communicator,
       .peer = peer,
       .tag = tag,
       .bytes = bytes});
  return begun_ - 1;
}

Event MadeEvents::gatherv(std::uint64_t sent, std::span<const std::uint64_t> blocks, int root, bool at_root) {
  return {.operation = OperationKind::kGatherv,
          .peer = root,
          .second_list = at_root ? intern(blocks) : 0,
          .bytes = sent};
}

Event MadeEvents::scatterv(std::span<const std::uint64_t> blocks, std::uint64_t received, int root,
                           bool at_root) {
  return {.operation = OperationKind::kScatterv,
          .peer = root,
          .list = at_root ? intern(blocks) : 0,
          .extra = received};
}

Event MadeEvents::allgatherv(std::uint64_t sent, std::span<const std::uint64_t> blocks) {
  return {.operation = OperationKind::kAllgatherv,
          .second_list = intern(blocks),
          .bytes = sent,
          .extra = sum_of(blocks)};
}

Event MadeEvents::alltoallv(std::span<const std::uint64_t> sent, std::span<const std::uint64_t> received) {
  return {.operation = OperationKind::kAlltoallv,
          .list = intern(sent),
          .second_list = intern(received),
          .bytes = sum_of(sent),
          .extra = sum_of(received)};
}

std::optional<Event> MadeEvents::reduce_scatter(std::span<const std::uint64_t> blocks, const Datatype& of) {
  Event event;
  const bool alike = std::adjacent_find(blocks.begin(), blocks.end(), std::not_equal_to<>()) == blocks.end();
  event.operation = alike ? OperationKind::kReduceScatter : OperationKind::kReduceScatterv;
  event.element = of.element;
  event.extra = alike && !blocks.empty() ? blocks[0] : sum_of(blocks);
  if (__builtin_mul_overflow(event.extra, of.bytes, &event.bytes)) return std::nullopt;
  if (alike) return event;
  std::vector<std::uint64_t> bytes(blocks.begin(), blocks.end());
  for (std::uint64_t& block : bytes) {
    if (__builtin_mul_overflow(block, of.bytes, &block)) return std::nullopt;
  }
  event.list = intern(bytes);
  return event;
}

void MadeEvents::make_communicator(std::span<const std::uint64_t> members, std::uint64_t id) {
  add({.kind = EventKind::kCommunicator,
       .call = number_of(MpiFunction::kOther),
       .list = intern(members),
       .extra = id});
}

std::uint64_t MadeEvents::collective(Event event, bool blocking) {
  event.kind = EventKind::kCollective;
  if (blocking) event.flags |= recording::kBlocking;
  event.call = call_of(event.operation, blocking);
  add(event);
  return begun_ - 1;
}

void MadeEvents::end_of(std::uint64_t request, EventKind kind, MpiFunction call) {
  add({.kind = kind, .call = number_of(call), .extra = begun_ - request});
}

void MadeEvents::wait_for(std::span<const std::uint64_t> requests, MpiFunction call, std::uint8_t flags) {
  std::vector<std::uint64_t> distances(requests.begin(), requests.end());
  // A wait names a request by its distance, as in a recording.
  for (std::uint64_t& request : distances) request = begun_ - request;
  add({.kind = EventKind::kWait, .flags = flags, .call = number_of(call), .list = intern(distances)});
}

}  // namespace offramp::trace
