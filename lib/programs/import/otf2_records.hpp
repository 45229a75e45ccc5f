// The callbacks of OTF2's library as records of one form.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "offramp/model/operation.hpp"

namespace offramp::otf2 {

/// The kinds of records that are read. Others are skipped.
enum class What : std::uint8_t {
  kEnter,
  kLeave,
  kSend,
  kSendBegun,
  kSendDone,
  kReceive,
  kReceiveBegun,
  kReceiveDone,
  kTested,
  kCancelled,
  kCollectiveBegun,
  kCollective,
  kCollectiveRequest,
  kCollectiveDone,
  kFlush,
  kPut,
  kGet,
  kAtomic,
  kAccessDone,
  kLock,
  kUnlock,
  kFence,     // a collective of a window
  kEpoch,     // synchronization with a group of its ranks
  kOtherRma,  // without a meaning here
  kSwitched
};

/// OTF2's name of such a record.
std::string_view name_of(What what);

/// One record, valid during the callback. Members without a meaning for its kind are 0.
struct Record {
  What what = What::kEnter;
  std::uint64_t location = 0;
  std::uint64_t time = 0;
  std::uint32_t reference = 0;  // region, communicator, or window
  std::uint32_t peer = 0;       // or root, or group
  std::uint32_t tag = 0;        // or level of a window's synchronization
  std::uint8_t operation = 0;
  std::uint64_t bytes = 0;  // or the time at which a flush ends
  std::uint64_t received = 0;
  std::uint64_t request = 0;
  std::uint64_t number = 0;  // of the rank's records
};

/// Receives records in the library's order.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  /// Returns false to stop reading.
  virtual bool add_record(const Record& record) = 0;
  /// The region of a calling context, or OTF2_UNDEFINED_REGION.
  [[nodiscard]] virtual std::uint32_t region_of(std::uint32_t context) const = 0;

  RecordSink& operator=(RecordSink&&) = delete;
};

/// Makes a reader pass its events to a sink, which must outlive it.
OTF2_ErrorCode read_records(OTF2_Reader* reader, OTF2_GlobalEvtReader* events, RecordSink& sink);

/// `nullopt` if it moves no data or is unknown.
std::optional<OperationKind> kind_of(OTF2_CollectiveOp operation);
/// OTF2_COLLECTIVE_OP_BARRIER for kinds that are no collectives.
OTF2_CollectiveOp operation_of(OperationKind kind);

}  // namespace offramp::otf2
