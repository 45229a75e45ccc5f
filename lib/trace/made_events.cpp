// Readers make events a few at a time in more() and hand them out one by one. Requests are numbered in the
// order in which they begin, as in a recording.
#include "lib/trace/made_events.hpp"

#include <algorithm>
#include <array>

namespace offramp::trace {

using recording::Event;
using recording::EventKind;

namespace {

constexpr auto kKinds = static_cast<std::size_t>(OperationKind::kCount);
constexpr auto kFirst = static_cast<std::size_t>(Call::kCollectives);
constexpr std::array<std::string_view, kFirst + 2 * kKinds> kNames = {"MPI_Init",
                                                                      "MPI_Finalize",
                                                                      "MPI_Send",
                                                                      "MPI_Ssend",
                                                                      "MPI_Bsend",
                                                                      "MPI_Isend",
                                                                      "MPI_Issend",
                                                                      "MPI_Ibsend",
                                                                      "MPI_Recv",
                                                                      "MPI_Irecv",
                                                                      "MPI_Probe",
                                                                      "MPI_Sendrecv",
                                                                      "MPI_Wait",
                                                                      "MPI_Waitall",
                                                                      "MPI_Waitany",
                                                                      "MPI_Waitsome",
                                                                      "MPI_Test",
                                                                      "MPI_Comm_rank",
                                                                      "",
                                                                      "MPI_Bcast",
                                                                      "MPI_Reduce",
                                                                      "MPI_Gather",
                                                                      "MPI_Allreduce",
                                                                      "MPI_Scatter",
                                                                      "MPI_Allgather",
                                                                      "MPI_Reduce_scatter_block",
                                                                      "MPI_Alltoall",
                                                                      "MPI_Barrier",
                                                                      "MPI_Scan",
                                                                      "MPI_Exscan",
                                                                      "MPI_Gatherv",
                                                                      "MPI_Scatterv",
                                                                      "MPI_Allgatherv",
                                                                      "MPI_Reduce_scatter",
                                                                      "MPI_Alltoallv",
                                                                      "",
                                                                      "MPI_Ibcast",
                                                                      "MPI_Ireduce",
                                                                      "MPI_Igather",
                                                                      "MPI_Iallreduce",
                                                                      "MPI_Iscatter",
                                                                      "MPI_Iallgather",
                                                                      "MPI_Ireduce_scatter_block",
                                                                      "MPI_Ialltoall",
                                                                      "MPI_Ibarrier",
                                                                      "MPI_Iscan",
                                                                      "MPI_Iexscan",
                                                                      "MPI_Igatherv",
                                                                      "MPI_Iscatterv",
                                                                      "MPI_Iallgatherv",
                                                                      "MPI_Ireduce_scatter",
                                                                      "MPI_Ialltoallv"};
static_assert(kNames.back() == "MPI_Ialltoallv");

}  // namespace

bool MadeEvents::next(Event& event) {
  if (taken_ == made_.size()) {
    made_.clear();
    lists_.clear();
    taken_ = 0;
    if (!ended_ && !more()) {
      ended_ = true;
      // What is computed last belongs to the end, which not every format has.
      if (error_.empty() && !finalized_) native(Call::kFinalize);
    }
    if (made_.empty()) return false;
  }
  current_ = made_[taken_++];
  event = current_.event;
  return true;
}

std::span<const std::uint64_t> MadeEvents::list(std::uint32_t number) const {
  if (number == 0 || number > lists_.size()) return {};
  return lists_[number - 1];
}

std::string_view MadeEvents::call(std::uint16_t number) const {
  return number < kNames.size() ? kNames[number] : std::string_view();
}

void MadeEvents::compute(std::uint64_t nanoseconds) {
  computing_ = nanoseconds > UINT64_MAX - computing_ ? UINT64_MAX : computing_ + nanoseconds;
}

std::uint32_t MadeEvents::keep(std::span<const std::uint64_t> values) {
  lists_.emplace_back(values.begin(), values.end());
  return static_cast<std::uint32_t>(lists_.size());
}

void MadeEvents::add(const Event& event) {
  made_.push_back({event, computing_});
  computing_ = 0;
  ++events_;
  if (begins_request(event)) ++begun_;
}

void MadeEvents::native(Call call) {
  Event event;
  event.kind = EventKind::kNative;
  event.call = static_cast<std::uint16_t>(call);
  finalized_ = finalized_ || call == Call::kFinalize;
  add(event);
}

std::uint64_t MadeEvents::message(EventKind kind, Call call, int peer, int tag, std::uint64_t bytes,
                                  std::uint8_t flags, ElementType element, std::uint32_t communicator) {
  Event event;
  event.kind = kind;
  event.call = static_cast<std::uint16_t>(call);
  event.peer = peer;
  event.tag = tag;
  event.bytes = bytes;
  event.flags = flags;
  event.element = element;
  event.communicator = communicator;
  add(event);
  return begun_ - 1;
}

std::uint64_t MadeEvents::collective(Event event, bool blocking) {
  event.kind = EventKind::kCollective;
  if (blocking) event.flags |= recording::kBlocking;
  event.call = static_cast<std::uint16_t>(kFirst + static_cast<std::size_t>(event.operation) +
                                          (blocking ? 0 : kKinds));
  add(event);
  return begun_ - 1;
}

void MadeEvents::wait_for(std::uint64_t request) {
  Event event;
  event.kind = EventKind::kWait;
  event.call = static_cast<std::uint16_t>(Call::kWait);
  event.extra = begun_ - request;
  add(event);
}

void MadeEvents::wait_for(std::span<const std::uint64_t> requests, Call call, std::uint8_t flags) {
  std::vector<std::uint64_t> distances(requests.begin(), requests.end());
  for (std::uint64_t& request : distances) request = begun_ - request;
  Event event;
  event.kind = EventKind::kWait;
  event.call = static_cast<std::uint16_t>(call);
  event.flags = flags;
  event.list = keep(distances);
  add(event);
}

}  // namespace offramp::trace
