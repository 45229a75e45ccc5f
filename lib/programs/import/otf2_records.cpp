// All of OTF2's callbacks, their arguments, and its numbers of collectives.
#include "lib/programs/import/otf2_records.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <type_traits>

namespace offramp::otf2 {
namespace {

// A row of the table between OTF2's operations and the kinds here.
struct Collective {
  OTF2_CollectiveOp operation;
  OperationKind kind;
};
/// The first entry of a kind is used for writing.
constexpr Collective kCollectives[] = {
    {OTF2_COLLECTIVE_OP_BARRIER, OperationKind::kBarrier},
    {OTF2_COLLECTIVE_OP_BCAST, OperationKind::kBcast},
    {OTF2_COLLECTIVE_OP_GATHER, OperationKind::kGather},
    {OTF2_COLLECTIVE_OP_GATHERV, OperationKind::kGatherv},
    {OTF2_COLLECTIVE_OP_SCATTER, OperationKind::kScatter},
    {OTF2_COLLECTIVE_OP_SCATTERV, OperationKind::kScatterv},
    {OTF2_COLLECTIVE_OP_ALLGATHER, OperationKind::kAllgather},
    {OTF2_COLLECTIVE_OP_ALLGATHERV, OperationKind::kAllgatherv},
    {OTF2_COLLECTIVE_OP_ALLTOALL, OperationKind::kAlltoall},
    {OTF2_COLLECTIVE_OP_ALLTOALLV, OperationKind::kAlltoallv},
    // Only sums are in the archive, for which the types of blocks do not matter.
    {OTF2_COLLECTIVE_OP_ALLTOALLW, OperationKind::kAlltoallv},
    {OTF2_COLLECTIVE_OP_ALLREDUCE, OperationKind::kAllreduce},
    {OTF2_COLLECTIVE_OP_REDUCE, OperationKind::kReduce},
    {OTF2_COLLECTIVE_OP_REDUCE_SCATTER, OperationKind::kReduceScatterv},
    {OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK, OperationKind::kReduceScatter},
    {OTF2_COLLECTIVE_OP_SCAN, OperationKind::kScan},
    {OTF2_COLLECTIVE_OP_EXSCAN, OperationKind::kExscan},
};

// The library passes the sink through as its user data.
OTF2_CallbackCode forward(void* sink, const Record& record) {
  return static_cast<RecordSink*>(sink)->add_record(record) ? OTF2_CALLBACK_SUCCESS : OTF2_CALLBACK_INTERRUPT;
}

/// The callback of a kind of record. Its arguments become these members, in this order.
template <What what, auto... members>
OTF2_CallbackCode on_record(OTF2_LocationRef location, OTF2_TimeStamp time, void* sink, OTF2_AttributeList*,
                            std::remove_cvref_t<decltype(Record().*members)>... values) {
  Record record{.what = what, .location = location, .time = time};
  ((record.*members = values), ...);
  return forward(sink, record);
}

/// The callback of a record that names a calling context instead of a region.
template <What what, typename... More>
OTF2_CallbackCode on_context(OTF2_LocationRef location, OTF2_TimeStamp time, void* sink, OTF2_AttributeList*,
                             std::uint32_t context, More...) {
  const std::uint32_t region = static_cast<RecordSink*>(sink)->region_of(context);
  return forward(sink, {.what = what, .location = location, .time = time, .reference = region});
}

/// Sets one function per kind of record.
void set(OTF2_GlobalEvtReaderCallbacks* calls) {
  using R = Record;
  OTF2_GlobalEvtReaderCallbacks_SetEnterCallback(calls, on_record<What::kEnter, &R::reference>);
  OTF2_GlobalEvtReaderCallbacks_SetLeaveCallback(calls, on_record<What::kLeave, &R::reference>);
  OTF2_GlobalEvtReaderCallbacks_SetCallingContextEnterCallback(calls,
                                                               on_context<What::kEnter, std::uint32_t>);
  OTF2_GlobalEvtReaderCallbacks_SetCallingContextLeaveCallback(calls, on_context<What::kLeave>);
  OTF2_GlobalEvtReaderCallbacks_SetMpiSendCallback(
      calls, on_record<What::kSend, &R::peer, &R::reference, &R::tag, &R::bytes>);
  OTF2_GlobalEvtReaderCallbacks_SetMpiIsendCallback(
      calls, on_record<What::kSendBegun, &R::peer, &R::reference, &R::tag, &R::bytes, &R::request>);
  OTF2_GlobalEvtReaderCallbacks_SetMpiIsendCompleteCallback(calls, on_record<What::kSendDone, &R::request>);
  OTF2_GlobalEvtReaderCallbacks_SetMpiRecvCallback(
      calls, on_record<What::kReceive, &R::peer, &R::reference, &R::tag, &R::bytes>);
  OTF2_GlobalEvtReaderCallbacks_SetMpiIrecvRequestCallback(calls,
                                                           on_record<What::kReceiveBegun, &R::request>);
  OTF2_GlobalEvtReaderCallbacks_SetMpiIrecvCallback(
      calls, on_record<What::kReceiveDone, &R::peer, &R::reference, &R::tag, &R::bytes, &R::request>);
  OTF2_GlobalEvtReaderCallbacks_SetMpiRequestTestCallback(calls, on_record<What::kTested, &R::request>);
  OTF2_GlobalEvtReaderCallbacks_SetMpiRequestCancelledCallback(calls,
                                                               on_record<What::kCancelled, &R::request>);
  OTF2_GlobalEvtReaderCallbacks_SetMpiCollectiveBeginCallback(calls, on_record<What::kCollectiveBegun>);
  OTF2_GlobalEvtReaderCallbacks_SetMpiCollectiveEndCallback(
      calls, on_record<What::kCollective, &R::operation, &R::reference, &R::peer, &R::bytes, &R::received>);
  OTF2_GlobalEvtReaderCallbacks_SetNonBlockingCollectiveRequestCallback(
      calls, on_record<What::kCollectiveRequest, &R::request>);
  OTF2_GlobalEvtReaderCallbacks_SetNonBlockingCollectiveCompleteCallback(
      calls, on_record<What::kCollectiveDone, &R::operation, &R::reference, &R::peer, &R::bytes, &R::received,
                       &R::request>);
  OTF2_GlobalEvtReaderCallbacks_SetRmaPutCallback(
      calls, on_record<What::kPut, &R::reference, &R::peer, &R::bytes, &R::request>);
  OTF2_GlobalEvtReaderCallbacks_SetRmaGetCallback(
      calls, on_record<What::kGet, &R::reference, &R::peer, &R::received, &R::request>);
  OTF2_GlobalEvtReaderCallbacks_SetRmaAtomicCallback(
      calls,
      on_record<What::kAtomic, &R::reference, &R::peer, &R::operation, &R::bytes, &R::received, &R::request>);
  // Local and remote completion count alike: the first one ends the access.
  constexpr auto kDone = on_record<What::kAccessDone, &R::reference, &R::request>;
  OTF2_GlobalEvtReaderCallbacks_SetRmaOpCompleteBlockingCallback(calls, kDone);
  OTF2_GlobalEvtReaderCallbacks_SetRmaOpCompleteNonBlockingCallback(calls, kDone);
  OTF2_GlobalEvtReaderCallbacks_SetRmaOpCompleteRemoteCallback(calls, kDone);
  // Score-P writes either or both; the reader of the calls takes the first.
  constexpr auto kLock = on_record<What::kLock, &R::reference, &R::peer, &R::request, &R::operation>;
  OTF2_GlobalEvtReaderCallbacks_SetRmaRequestLockCallback(calls, kLock);
  OTF2_GlobalEvtReaderCallbacks_SetRmaAcquireLockCallback(calls, kLock);
  OTF2_GlobalEvtReaderCallbacks_SetRmaReleaseLockCallback(
      calls, on_record<What::kUnlock, &R::reference, &R::peer, &R::request>);
  OTF2_GlobalEvtReaderCallbacks_SetRmaCollectiveBeginCallback(calls, on_record<What::kCollectiveBegun>);
  OTF2_GlobalEvtReaderCallbacks_SetRmaCollectiveEndCallback(
      calls,
      on_record<What::kFence, &R::operation, &R::tag, &R::reference, &R::peer, &R::bytes, &R::received>);
  OTF2_GlobalEvtReaderCallbacks_SetRmaGroupSyncCallback(
      calls, on_record<What::kEpoch, &R::tag, &R::reference, &R::peer>);
  OTF2_GlobalEvtReaderCallbacks_SetRmaSyncCallback(
      calls, on_record<What::kOtherRma, &R::reference, &R::peer, &R::operation>);
  OTF2_GlobalEvtReaderCallbacks_SetRmaWaitChangeCallback(calls, on_record<What::kOtherRma, &R::reference>);
  OTF2_GlobalEvtReaderCallbacks_SetBufferFlushCallback(calls, on_record<What::kFlush, &R::bytes>);
  OTF2_GlobalEvtReaderCallbacks_SetMeasurementOnOffCallback(calls, on_record<What::kSwitched, &R::operation>);
}

struct DeleteCallbacks {
  void operator()(OTF2_GlobalEvtReaderCallbacks* calls) const { OTF2_GlobalEvtReaderCallbacks_Delete(calls); }
};

}  // namespace

std::string_view name_of(What what) {
  // In the order of What.
  std::string_view names =
      "Enter Leave MpiSend MpiIsend MpiIsendComplete MpiRecv MpiIrecvRequest MpiIrecv MpiRequestTest "
      "MpiRequestCancelled MpiCollectiveBegin MpiCollectiveEnd NonBlockingCollectiveRequest "
      "NonBlockingCollectiveComplete BufferFlush RmaPut RmaGet RmaAtomic RmaOpComplete RmaAcquireLock "
      "RmaReleaseLock RmaCollectiveEnd RmaGroupSync RmaSync MeasurementOnOff";
  for (auto number = static_cast<std::size_t>(what); number > 0; --number)
    names.remove_prefix(names.find(' ') + 1);
  return names.substr(0, names.find(' '));
}

OTF2_ErrorCode read_records(OTF2_Reader* reader, OTF2_GlobalEvtReader* events, RecordSink& sink) {
  const std::unique_ptr<OTF2_GlobalEvtReaderCallbacks, DeleteCallbacks> calls(
      OTF2_GlobalEvtReaderCallbacks_New());
  // The library copies the callbacks, so this object may end.
  set(calls.get());
  return OTF2_Reader_RegisterGlobalEvtCallbacks(reader, events, calls.get(), &sink);
}

std::optional<OperationKind> kind_of(OTF2_CollectiveOp operation) {
  const auto* const found = std::ranges::find(kCollectives, operation, &Collective::operation);
  return found != std::end(kCollectives) ? std::optional(found->kind) : std::nullopt;
}

OTF2_CollectiveOp operation_of(OperationKind kind) {
  const auto* const found = std::ranges::find(kCollectives, kind, &Collective::kind);
  if (found == std::end(kCollectives)) return OTF2_COLLECTIVE_OP_BARRIER;
  return found->operation;
}

}  // namespace offramp::otf2
