// One call between two message passing engines: the sender's and the receiver's state machine, and the two
// paths between them, as a network of processes.
//
// The state machines go through the documented states (numbers as in [zrlmpi-src]):
//
//   SEND     IDLE -> START_SEND -> SEND_REQ -> WAIT4CLEAR -> SEND_DATA_START -> SEND_DATA_RD -> SEND_DATA_WRD
//            -> WAIT4ACK -> IDLE
//   RECEIVE  START_RECV -> WAIT4REQ -> ASSEMBLE_CLEAR -> RECV_DATA_START -> RECV_DATA_RD -> RECV_DATA_WRD
//            -> SEND_ACK -> IDLE
//
// Where [zrlmpi-src] deadlocks or corrupts, this one repairs: a receiver that is done answers a repeated
// request or DATA with another ACK; on a wire with faults every datagram names its place in the message;
// retries end.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "offramp/kernel/packet.hpp"
#include "simulators/zrlmpi/packet.hpp"
#include "simulators/zrlmpi/spec.hpp"

namespace offramp::zrlmpi {

/// States of the protocol machine that are told apart here; values are the MPE's own numbers.
enum class State : std::uint8_t {
  kIdle = 1,
  kStartSend = 2,
  kSendReq = 4,
  kWait4Clear = 7,
  kSendDataStart = 9,
  kSendDataRd = 11,
  kSendDataWrd = 12,
  kWait4Ack = 16,
  kStartRecv = 18,
  kWait4Req = 21,
  kAssembleClear = 23,
  kRecvDataStart = 26,
  kRecvDataRd = 28,
  kRecvDataWrd = 29,
  kSendAck = 32,
};
std::string_view to_string(State state);

/// Whose engine: a run can leave the spans and packets of one end only, since each rank tells its own.
enum class End : std::uint8_t { kBoth, kSender, kReceiver };

struct ExchangeRequest {
  int source = 0;
  int destination = 1;
  Call call = Call::kSendInt;  // the sender's; kBarrier carries no data
  std::optional<Call> answer;  // the receiver's, if it is not the one that belongs to the sender's
  std::uint64_t size = 0;      // payload bytes, at most kMaximumMessageBytes
  std::uint32_t tag = 0;
  std::uint32_t context = 0;
  std::uint32_t sequence = 0;
  Time begin;  // the sender's engine reads the command
  Time ready;  // the receiver's engine may grant; before the request arrives: at once

  Bytes payload;      // empty: only the time is of interest
  MutableBytes into;  // as large as the payload

  FaultRates faults;
  std::uint64_t first_packet = 0;  // number of the call's first packet on either wire
  Time epoch;                      // the modelled time at which this call's clocks show zero
  bool packets = false;            // handle the datagrams one by one even where a closed form would do
  SpanSink* spans = nullptr;
  std::uint64_t operation = 0;
  PacketSink* capture = nullptr;  // of the packets that an engine sends
  End observed = End::kBoth;
};

struct ExchangeResult {
  bool sent = false;       // the sender saw the ACK
  bool delivered = false;  // the receiver has all the data
  bool mismatch = false;  // the call codes do not belong together: the receiver answered with an ERROR packet
  ErrorCode error = ErrorCode::kUnnamed;  // that the sender read in it
  std::uint32_t streamed_again = 0;       // feedbacks after which the role streamed its buffer once more
  Time request;                           // the SEND_REQUEST is at the receiver
  Time data;      // the sender begins with DATA; of a barrier: the receiver with its ACK
  Time first;     // the first data is at the receiving role; of a barrier: its feedback
  Time last;      // it has all of it, and its engine gives its feedback
  Time complete;  // the ACK is at the sender, or the last that happened to it before it waited in vain
  WireCounters wire;
  [[nodiscard]] bool ok() const { return sent && delivered; }
};

/// A state that was entered, by which side and when; for tests.
struct StateChange {
  int rank;
  State state;
  Time at;
};

/// Runs calls one after another; keeps its memory between them. Not thread safe.
class ExchangeRunner {
 public:
  /// A seed other than 0 shuffles the order in which the processes run: for tests.
  explicit ExchangeRunner(const MpeSpec& spec, std::uint64_t shuffle_seed = 0)
      : spec_(spec), scheduler_(shuffle_seed) {}
  ExchangeResult run(const ExchangeRequest& request, std::vector<StateChange>* states = nullptr);

 private:
  MpeSpec spec_;
  Scheduler scheduler_;
};

}  // namespace offramp::zrlmpi
