// One call between two message passing engines: the state machines of sender and receiver, and the two paths
// between them, as a network of processes.
//
// The state machines follow the documented states (numbers as in [zrlmpi-src]):
//
//   SEND     IDLE -> START_SEND -> SEND_REQ -> WAIT4CLEAR -> SEND_DATA_START -> SEND_DATA_RD -> SEND_DATA_WRD
//            -> WAIT4ACK -> IDLE
//   RECEIVE  START_RECV -> WAIT4REQ -> ASSEMBLE_CLEAR -> RECV_DATA_START -> RECV_DATA_RD -> RECV_DATA_WRD
//            -> SEND_ACK -> IDLE
//
// Where [zrlmpi-src] deadlocks or corrupts data, this model repairs: a receiver that is done answers a
// repeated request or DATA with another ACK; on a wire with faults, every datagram contains its position in
// the message; the number of retries is limited.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "offramp/kernel/packet.hpp"
#include "simulators/zrlmpi/packet.hpp"
#include "simulators/zrlmpi/spec.hpp"

namespace offramp::zrlmpi {

/// The states that this model distinguishes, with the MPE's numbers.
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
/// The state's name in [zrlmpi-src], as in the list above.
std::string_view to_string(State state);

/// The engines whose spans and packets a run reports. Each rank reports only its own.
enum class End : std::uint8_t { kBoth, kSender, kReceiver };

/// The arguments of one call.
struct ExchangeRequest {
  int source = 0;
  int destination = 1;
  MpiCall call = MpiCall::kSendInt;  // the sender's; kBarrier has no data
  std::optional<MpiCall> answer;     // the receiver's, if it does not match the sender's
  std::uint64_t size = 0;            // payload bytes, at most kMaximumMessageBytes
  std::uint32_t tag = 0;
  std::uint32_t context = 0;
  std::uint32_t sequence = 0;
  Time begin;  // the sender's engine reads the command
  Time ready;  // the receiver's engine may grant from then on

  Bytes payload;      // empty: only the times are needed
  MutableBytes into;  // same size as the payload

  FaultRates faults;
  std::uint64_t first_packet = 0;  // number on either wire
  Time epoch;                      // modelled time at clock zero of this call
  bool packets = false;            // simulate each datagram even if a closed form is possible
  SpanSink* spans = nullptr;
  std::uint64_t operation = 0;
  PacketSink* capture = nullptr;  // receives the packets that an engine sends
  End observed = End::kBoth;
};

/// The outcome of one call. Times are on the clock of the request.
struct ExchangeResult {
  bool sent = false;       // the sender received the ACK
  bool delivered = false;  // the receiver has all the data
  bool mismatch = false;   // incompatible call codes: the receiver answered with an ERROR packet
  ErrorCode error = ErrorCode::kUnnamed;  // contained in that packet
  std::uint32_t streamed_again = 0;       // how often the role had to stream its buffer again
  Time request;                           // arrival of the SEND_REQUEST
  Time data;      // the sender begins with DATA; barrier: the receiver begins with its ACK
  Time first;     // first data at the receiving role; barrier: its feedback
  Time last;      // feedback of the receiver's engine after all data
  Time complete;  // arrival of the ACK, or the sender's last progress before a failure
  WireCounters wire;
  /// Whether both ends consider the call complete.
  [[nodiscard]] bool ok() const { return sent && delivered; }
};

/// A state change of one side, for tests.
struct StateChange {
  int rank;
  State state;
  Time at;
};

/// Runs calls one by one, reusing memory. Not thread-safe.
class ExchangeRunner {
 public:
  /// shuffle_seed: for tests; a nonzero seed shuffles the order in which processes run.
  explicit ExchangeRunner(const MpeSpec& spec, std::uint64_t shuffle_seed = 0)
      : spec_(spec), scheduler_(shuffle_seed) {}
  /// Runs one call to its end or its last retry. states: receives the state changes; null: not recorded.
  ExchangeResult run(const ExchangeRequest& request, std::vector<StateChange>* states = nullptr);

 private:
  MpeSpec spec_;
  Scheduler scheduler_;
};

}  // namespace offramp::zrlmpi
