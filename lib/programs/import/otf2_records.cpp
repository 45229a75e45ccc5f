// All of OTF2's callbacks, their arguments, and its numbers of collectives.
#include "lib/programs/import/otf2_records.hpp"

#include <algorithm>
#include <iterator>
#include <memory>

namespace offramp::otf2 {
namespace {

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
    {OTF2_COLLECTIVE_OP_ALLTOALLW, OperationKind::kAlltoallv},
    {OTF2_COLLECTIVE_OP_ALLREDUCE, OperationKind::kAllreduce},
    {OTF2_COLLECTIVE_OP_REDUCE, OperationKind::kReduce},
    {OTF2_COLLECTIVE_OP_REDUCE_SCATTER, OperationKind::kReduceScatterv},
    {OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK, OperationKind::kReduceScatter},
    {OTF2_COLLECTIVE_OP_SCAN, OperationKind::kScan},
    {OTF2_COLLECTIVE_OP_EXSCAN, OperationKind::kExscan},
};

OTF2_CallbackCode forward(void* user, OTF2_LocationRef location, OTF2_TimeStamp time, Record record) {
  record.location = location;
  record.time = time;
  return static_cast<RecordSink*>(user)->add_record(record) ? OTF2_CALLBACK_SUCCESS : OTF2_CALLBACK_INTERRUPT;
}

std::uint32_t region_of(void* user, std::uint32_t context) {
  return static_cast<RecordSink*>(user)->region_of(context);
}

/// Sets one function per kind of record.
void set(OTF2_GlobalEvtReaderCallbacks* calls) {
  using LocationRef = OTF2_LocationRef;
  using Time = OTF2_TimeStamp;
  using List = OTF2_AttributeList;
  using U32 = std::uint32_t;
  using U64 = std::uint64_t;
  OTF2_GlobalEvtReaderCallbacks_SetEnterCallback(
      calls, [](LocationRef l, Time t, void* u, List*, U32 region) {
        return forward(u, l, t, {.what = What::kEnter, .reference = region});
      });
  OTF2_GlobalEvtReaderCallbacks_SetLeaveCallback(
      calls, [](LocationRef l, Time t, void* u, List*, U32 region) {
        return forward(u, l, t, {.what = What::kLeave, .reference = region});
      });
  OTF2_GlobalEvtReaderCallbacks_SetCallingContextEnterCallback(
      calls, [](LocationRef l, Time t, void* u, List*, U32 context, U32) {
        return forward(u, l, t, {.what = What::kEnter, .reference = region_of(u, context)});
      });
  OTF2_GlobalEvtReaderCallbacks_SetCallingContextLeaveCallback(
      calls, [](LocationRef l, Time t, void* u, List*, U32 context) {
        return forward(u, l, t, {.what = What::kLeave, .reference = region_of(u, context)});
      });
  OTF2_GlobalEvtReaderCallbacks_SetMpiSendCallback(calls, [](LocationRef l, Time t, void* u, List*, U32 peer,
                                                             U32 communicator, U32 tag, U64 bytes) {
    return forward(
        u, l, t, {.what = What::kSend, .reference = communicator, .peer = peer, .tag = tag, .bytes = bytes});
  });
  OTF2_GlobalEvtReaderCallbacks_SetMpiIsendCallback(
      calls,
      [](LocationRef l, Time t, void* u, List*, U32 peer, U32 communicator, U32 tag, U64 bytes, U64 request) {
        return forward(u, l, t,
                       {.what = What::kSendBegun,
                        .reference = communicator,
                        .peer = peer,
                        .tag = tag,
                        .bytes = bytes,
                        .request = request});
      });
  OTF2_GlobalEvtReaderCallbacks_SetMpiIsendCompleteCallback(
      calls, [](LocationRef l, Time t, void* u, List*, U64 request) {
        return forward(u, l, t, {.what = What::kSendDone, .request = request});
      });
  OTF2_GlobalEvtReaderCallbacks_SetMpiRecvCallback(
      calls, [](LocationRef l, Time t, void* u, List*, U32 peer, U32 communicator, U32 tag, U64 bytes) {
        return forward(
            u, l, t,
            {.what = What::kReceive, .reference = communicator, .peer = peer, .tag = tag, .bytes = bytes});
      });
  OTF2_GlobalEvtReaderCallbacks_SetMpiIrecvRequestCallback(
      calls, [](LocationRef l, Time t, void* u, List*, U64 request) {
        return forward(u, l, t, {.what = What::kReceiveBegun, .request = request});
      });
  OTF2_GlobalEvtReaderCallbacks_SetMpiIrecvCallback(
      calls,
      [](LocationRef l, Time t, void* u, List*, U32 peer, U32 communicator, U32 tag, U64 bytes, U64 request) {
        return forward(u, l, t,
                       {.what = What::kReceiveDone,
                        .reference = communicator,
                        .peer = peer,
                        .tag = tag,
                        .bytes = bytes,
                        .request = request});
      });
  OTF2_GlobalEvtReaderCallbacks_SetMpiRequestTestCallback(
      calls, [](LocationRef l, Time t, void* u, List*, U64 request) {
        return forward(u, l, t, {.what = What::kTested, .request = request});
      });
  OTF2_GlobalEvtReaderCallbacks_SetMpiRequestCancelledCallback(
      calls, [](LocationRef l, Time t, void* u, List*, U64 request) {
        return forward(u, l, t, {.what = What::kCancelled, .request = request});
      });
  OTF2_GlobalEvtReaderCallbacks_SetMpiCollectiveBeginCallback(
      calls, [](LocationRef l, Time t, void* u, List*) {
        return forward(u, l, t, {.what = What::kCollectiveBegun});
      });
  OTF2_GlobalEvtReaderCallbacks_SetMpiCollectiveEndCallback(
      calls, [](LocationRef l, Time t, void* u, List*, OTF2_CollectiveOp operation, U32 communicator,
                U32 root, U64 sent, U64 received) {
        return forward(u, l, t,
                       {.what = What::kCollective,
                        .reference = communicator,
                        .peer = root,
                        .operation = operation,
                        .bytes = sent,
                        .received = received});
      });
  OTF2_GlobalEvtReaderCallbacks_SetNonBlockingCollectiveRequestCallback(
      calls, [](LocationRef l, Time t, void* u, List*, U64 request) {
        return forward(u, l, t, {.what = What::kCollectiveRequest, .request = request});
      });
  OTF2_GlobalEvtReaderCallbacks_SetNonBlockingCollectiveCompleteCallback(
      calls, [](LocationRef l, Time t, void* u, List*, OTF2_CollectiveOp operation, U32 communicator,
                U32 root, U64 sent, U64 received, U64 request) {
        return forward(u, l, t,
                       {.what = What::kCollectiveDone,
                        .reference = communicator,
                        .peer = root,
                        .operation = operation,
                        .bytes = sent,
                        .received = received,
                        .request = request});
      });
  OTF2_GlobalEvtReaderCallbacks_SetBufferFlushCallback(
      calls, [](LocationRef l, Time t, void* u, List*, Time stop) {
        return forward(u, l, t, {.what = What::kFlush, .bytes = stop});
      });
  OTF2_GlobalEvtReaderCallbacks_SetMeasurementOnOffCallback(
      calls, [](LocationRef l, Time t, void* u, List*, OTF2_MeasurementMode mode) {
        return forward(u, l, t, {.what = What::kSwitched, .operation = mode});
      });
}

struct DeleteCallbacks {
  void operator()(OTF2_GlobalEvtReaderCallbacks* calls) const { OTF2_GlobalEvtReaderCallbacks_Delete(calls); }
};

}  // namespace

std::string_view name_of(What what) {
  static constexpr std::string_view kNames[] = {"Enter",
                                                "Leave",
                                                "MpiSend",
                                                "MpiIsend",
                                                "MpiIsendComplete",
                                                "MpiRecv",
                                                "MpiIrecvRequest",
                                                "MpiIrecv",
                                                "MpiRequestTest",
                                                "MpiRequestCancelled",
                                                "MpiCollectiveBegin",
                                                "MpiCollectiveEnd",
                                                "NonBlockingCollectiveRequest",
                                                "NonBlockingCollectiveComplete",
                                                "BufferFlush",
                                                "MeasurementOnOff"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(What::kSwitched) + 1);
  return kNames[static_cast<std::size_t>(what)];
}

OTF2_ErrorCode read_records(OTF2_Reader* reader, OTF2_GlobalEvtReader* events, RecordSink& sink) {
  const std::unique_ptr<OTF2_GlobalEvtReaderCallbacks, DeleteCallbacks> calls(
      OTF2_GlobalEvtReaderCallbacks_New());
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
