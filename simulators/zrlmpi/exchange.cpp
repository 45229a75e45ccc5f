// The two state machines as coroutines: Sender and Receiver, with a common base class Side. Beside each runs
// its role, which writes the command to the engine's port and waits for its feedback. The times of
// ExchangeResult are therefore those at which a role can continue. enter() records a state, and spend()
// charges iterations of the engine's loop.
#include "simulators/zrlmpi/exchange.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "offramp/kernel/burst.hpp"
#include "simulators/zrlmpi/header_cache.hpp"
#include "simulators/zrlmpi/path.hpp"
#include "simulators/zrlmpi/role_ports.hpp"
#include "simulators/zrlmpi/segmentation.hpp"

namespace offramp::zrlmpi {
namespace {

/// Data shared by both state machines: the request, its result, and the recorded states.
struct Shared {
  const MpeSpec& spec;
  const ExchangeRequest& request;
  ExchangeResult result;
  std::vector<StateChange>* states;
  bool fragments;  // every datagram has a header and its position, since the wire has faults
};

/// One end of a call: time in states, outgoing packets, incoming headers.
class Side {
 public:
  Side(Shared& shared, Scheduler& scheduler, int rank, int peer, MpiCall call, Path& out,
       Channel<Datagram>& in)
      : shared_(shared),
        spec_(shared.spec),
        rank_(rank),
        peer_(peer),
        call_(call),
        out_(out),
        in_(in),
        ports_(scheduler) {}

 protected:
  void enter(State state, const Process& self) const {
    if (shared_.states != nullptr) shared_.states->push_back({rank_, state, self.clock});
  }

  Task<void> spend(State state, std::int64_t iterations) {
    Process& self = co_await this_process();
    enter(state, self);
    const Time begin = self.clock;
    co_await delay(spec_.iterations(iterations));
    self.span(to_string(state), begin);
  }

  [[nodiscard]] Header header(PacketType type) const {
    const ExchangeRequest& r = shared_.request;
    Header made(peer_, rank_, call_, type);
    if (spec_.format == Format::kExtended || shared_.fragments) made.extend(r.tag, r.context, r.sequence);
    return made;
  }

  /// The role's command to its engine.
  [[nodiscard]] Command command() const {
    const std::uint64_t words = (shared_.request.size + kWordBytes - 1) / kWordBytes;
    return {call_, static_cast<std::uint32_t>(words), static_cast<std::uint32_t>(peer_)};
  }

  /// Assembles and queues a handshake packet.
  Task<void> emit(State state, PacketType type) {
    co_await spend(state, spec_.header_iterations());
    const HeaderImage image = encode(header(type));
    TransmitItem item = TransmitItem::packet(image);
    co_await out_.in.write(std::move(item));
  }

  /// Assembles and queues an ERROR packet, whose body contains the code.
  Task<void> emit_error(State state, ErrorCode code) {
    co_await spend(state, spec_.header_iterations() + spec_.lines(kErrorBytes));
    Header head = header(PacketType::kError);
    head.set(Field::kSize, kErrorBytes / kWordBytes);
    const HeaderImage image = encode(head);
    TransmitItem item = TransmitItem::packet(image);
    const auto body = encode(code);
    item.head.insert(item.head.end(), body.begin(), body.end());
    co_await out_.in.write(std::move(item));
  }

  /// Returns whether a packet belongs to this call: sent by the peer to this rank, in this communicator and
  /// message. [zrlmpi-src] checks only the source and the call codes.
  [[nodiscard]] bool belongs(const Header& h) const {
    const Header mine = header(PacketType::kData);
    return h.source() == static_cast<std::uint32_t>(peer_) &&
           h.destination() == static_cast<std::uint32_t>(rank_) && h.context() == mine.context() &&
           h.sequence() == mine.sequence() && h.tag() == mine.tag();
  }
  [[nodiscard]] bool codes_match(const Header& h) const { return h.call() == partner(call_); }

  Shared& shared_;
  const MpeSpec& spec_;
  int rank_;
  int peer_;
  MpiCall call_;
  Path& out_;
  Channel<Datagram>& in_;
  HeaderCache cache_;
  RolePorts ports_;
};

class Sender final : public Side {
 public:
  using Side::Side;

  /// The role's side of the ports.
  Task<void> role() {
    const Process& self = co_await this_process();
    ExchangeResult& result = shared_.result;
    co_await ports_.command.write(command());
    co_await ports_.data.write(shared_.request.size);
    while (co_await ports_.feedback.read() == Feedback::kFail) {
      ++result.streamed_again;
      co_await ports_.data.write(shared_.request.size);
    }
    result.sent = true;
    result.complete = self.clock;
  }

  Task<void> run() {
    Process& self = co_await this_process();
    ExchangeResult& result = shared_.result;
    call_ = (co_await ports_.command.read()).call;
    co_await spend(State::kIdle, 1);
    const bool barrier = call_ == MpiCall::kBarrier;
    const PacketType answer = barrier ? PacketType::kAck : PacketType::kClearToSend;
    for (int attempt = 0;; ++attempt) {
      co_await emit(State::kStartSend, PacketType::kSendRequest);
      enter(State::kSendReq, self);
      if (attempt > 0) ++result.wire.retransmissions;
      const Wait got = co_await wait_for(State::kWait4Clear, answer,
                                         spec_.timeout(rank_, Awaited::kAnswer, attempt), attempt);
      if (got == Wait::kError) co_return;
      if (got == Wait::kHere) break;
    }
    if (!barrier) {
      result.data = self.clock;
      for (int attempt = 0;; ++attempt) {
        if (attempt > 0) {
          ++result.wire.retransmissions;
          // The engine keeps no data, so the role must stream them again.
          co_await ports_.feedback.write(Feedback::kFail);
        }
        co_await send_data();
        const Wait got = co_await wait_for(State::kWait4Ack, PacketType::kAck,
                                           spec_.timeout(rank_, Awaited::kAck, attempt), attempt);
        if (got == Wait::kError) co_return;
        if (got == Wait::kHere) break;
      }
    }
    co_await spend(State::kIdle, 1);
    cache_.drop(peer_);
    co_await ports_.feedback.write(Feedback::kOk);
  }

 private:
  /// How a wait has ended.
  enum class Wait : std::uint8_t { kHere, kTimeout, kError };

  /// Waits for a packet of a type. The wait is unlimited once the retries are used up.
  Task<Wait> wait_for(State state, PacketType type, Time patience, int attempt) {
    Process& self = co_await this_process();
    const Time deadline = attempt < spec_.retries ? self.clock + patience : Time::never();
    enter(state, self);
    const Time begin = self.clock;
    shared_.result.complete = later(shared_.result.complete, begin);
    // It may have come while the engine waited for another packet.
    if (cache_.pop(peer_, type, partner(call_))) co_return Wait::kHere;
    for (;;) {
      std::optional<Datagram> datagram = co_await in_.read_until(deadline);
      shared_.result.complete = later(shared_.result.complete, self.clock);
      if (!datagram) co_return Wait::kTimeout;
      co_await delay(spec_.iterations(spec_.header_iterations()));
      Header h;
      // A handshake packet has 32 bytes; an ERROR may have a body. Anything else is dropped.
      if (decode(datagram->data, Format::kExtended, h) != HeaderError::kNone || !belongs(h)) continue;
      if (h.type() == PacketType::kError) {
        const Bytes body = Bytes(datagram->data).subspan(kHeaderBytes);
        co_await delay(spec_.iterations(spec_.lines(static_cast<std::int64_t>(body.size()))));
        shared_.result.mismatch = true;
        shared_.result.error = decode_error_body(body);
        shared_.result.complete = later(shared_.result.complete, self.clock);
        co_return Wait::kError;
      }
      if (datagram->bytes != kHeaderBytes || !codes_match(h)) continue;
      if (h.type() == type) {
        self.span(to_string(state), begin);
        co_return Wait::kHere;
      }
      // An ACK comes after the packets that it answers. Any other packet is a late repetition of
      // CLEAR_TO_SEND, and is dropped.
      if (h.type() == PacketType::kAck) cache_.put(h);
    }
  }

  Task<void> send_data() {
    Process& self = co_await this_process();
    const ExchangeRequest& r = shared_.request;
    (void)co_await ports_.data.read();
    co_await spend(State::kSendDataStart, spec_.header_iterations());
    TransmitItem item;
    item.kind = shared_.fragments ? TransmitItem::Framing::kFragments : TransmitItem::Framing::kMessage;
    item.header = header(PacketType::kData);
    item.payload = r.payload;
    item.size = r.size;
    if (shared_.fragments) {
      item.ranges.push_back({0, fragment_count(r.size)});
    } else {
      Header head = item.header;
      head.set_payload_bytes(r.size);
      // The strict format cannot express padding.
      if (spec_.format == Format::kStrict) head.set(Field::kFlags, 0);
      const HeaderImage image = encode(head);
      item.head.assign(image.begin(), image.end());
    }
    const Time begin = self.clock;
    enter(State::kSendDataRd, self);
    co_await out_.in.write(std::move(item));
    const auto copied = static_cast<std::int64_t>(spec_.padded(r.size));
    co_await delay(spec_.iterations(spec_.copy_iterations(copied)));
    self.span(to_string(State::kSendDataRd), begin);
    enter(State::kSendDataWrd, self);
    (void)co_await out_.sent.read();
  }
};

class Receiver final : public Side {
 public:
  using Side::Side;

  /// The role's side of the ports. The engine may grant once the command is there.
  Task<void> role() {
    const Process& self = co_await this_process();
    ExchangeResult& result = shared_.result;
    co_await ports_.command.write_at(command(), shared_.request.ready);
    (void)co_await ports_.feedback.read();
    result.last = self.clock;
    if (call_ == MpiCall::kBarrier) result.first = self.clock;
  }

  Task<void> run() {
    Process& self = co_await this_process();
    enter(State::kStartRecv, self);
    co_await wait_for_request();
    call_ = (co_await ports_.command.read()).call;
    if (call_ == MpiCall::kBarrier) {
      shared_.result.data = self.clock;
    } else {
      co_await emit(State::kAssembleClear, PacketType::kClearToSend);
      co_await receive_data();
      co_await spend(State::kRecvDataWrd, 1);
      co_await delay(spec_.iterations(1));  // RECV_DATA_DONE
    }
    shared_.result.delivered = true;
    co_await emit(State::kSendAck, PacketType::kAck);
    co_await delay(spec_.iterations(2));  // the ACK has left
    co_await ports_.feedback.write(Feedback::kOk);
    enter(State::kIdle, self);
    cache_.drop(peer_);
    co_await answer_repeats();
  }

 private:
  /// Without timeout: a receive waits forever, as in [zrlmpi-src].
  Task<void> wait_for_request() {
    Process& self = co_await this_process();
    enter(State::kWait4Req, self);
    for (;;) {
      Datagram datagram = co_await in_.read();
      const Time arrived = self.clock;
      co_await delay(spec_.iterations(spec_.header_iterations()));
      Header h;
      if (decode(datagram.data, Format::kExtended, h) != HeaderError::kNone || !belongs(h)) continue;
      if (h.type() != PacketType::kSendRequest || datagram.bytes != kHeaderBytes) continue;
      if (!codes_match(h)) {  // never resolves: [zrlmpi-src] waits forever, this model reports it
        co_await emit_error(State::kAssembleClear, ErrorCode::kWrongType);
        shared_.result.mismatch = true;
        continue;  // the ERROR may be lost, and the request repeated
      }
      shared_.result.request = arrived;
      co_return;
    }
  }

  /// The timer starts at the CLEAR_TO_SEND or the last DATA. Other packets do not restart it.
  Task<void> receive_data() {
    Process& self = co_await this_process();
    const ExchangeRequest& r = shared_.request;
    enter(State::kRecvDataStart, self);
    // Fragments may come in any order, continuations only in theirs.
    missing_ = shared_.fragments ? fragment_count(r.size) : cut_message(spec_, r.size).datagrams;
    seen_.assign(shared_.fragments ? missing_ : 0, false);
    int attempt = 0;
    const auto patience = [&] {
      return attempt < spec_.retries ? self.clock + spec_.timeout(rank_, Awaited::kAnswer, attempt)
                                     : Time::never();
    };
    for (Time deadline = patience(); missing_ > 0;) {
      std::optional<Datagram> datagram = co_await in_.read_until(deadline);
      if (!datagram) {
        ++attempt;
        ++shared_.result.wire.retransmissions;
        co_await emit(State::kAssembleClear, PacketType::kClearToSend);
        deadline = patience();
        continue;
      }
      const std::uint64_t before = missing_;
      if (shared_.fragments) {
        co_await accept_fragment(*datagram);
      } else {
        co_await accept_stream(*datagram);
      }
      // Only progress restarts the timer.
      if (missing_ < before) deadline = patience();
    }
  }

  /// The first DATA of the call has arrived.
  void data_begins(const Process& self) {
    shared_.result.first = self.clock;
    enter(State::kRecvDataRd, self);
  }

  /// Strict format: one header, then raw continuations in order.
  Task<void> accept_stream(const Datagram& datagram) {
    Process& self = co_await this_process();
    if (offset_ == 0 && !started_) {
      Header h;
      const bool data = decode(datagram.data, Format::kExtended, h) == HeaderError::kNone && belongs(h) &&
                        codes_match(h) && h.type() == PacketType::kData;
      co_await delay(spec_.iterations(spec_.header_iterations()));
      if (!data) co_return;  // a repeated SEND_REQUEST; the CLEAR_TO_SEND is in flight
      started_ = true;
      data_begins(self);
      const std::uint32_t body = datagram.bytes - static_cast<std::uint32_t>(kHeaderBytes);
      store(Bytes(datagram.data).subspan(std::min<std::size_t>(kHeaderBytes, datagram.data.size())), 0);
      co_await delay(storing(spec_.iterations(spec_.copy_iterations(body)), body));
      offset_ = body;
    } else {
      const Time begin = self.clock;
      // One iteration to check for more, then a copy (matches 180 cycles per full datagram).
      const Time service =
          storing(spec_.iterations(1 + spec_.copy_iterations(datagram.bytes)), datagram.bytes);
      const Burst burst{{}, self.clock, datagram.period, datagram.packets, datagram.bytes};
      self.clock = serve(burst, service, self.clock, [](const Burst&) {});
      store(datagram.data, offset_);
      offset_ += std::uint64_t{datagram.bytes} * datagram.packets;
      self.span(to_string(State::kRecvDataRd), begin);
    }
    missing_ -= std::min<std::uint64_t>(missing_, datagram.packets);
  }

  /// Every datagram contains its position; duplicates are dropped.
  Task<void> accept_fragment(const Datagram& datagram) {
    Process& self = co_await this_process();
    const Bytes bytes = datagram.data;
    Header h;
    co_await delay(spec_.iterations(spec_.header_iterations()));
    if (decode(bytes, Format::kExtended, h) != HeaderError::kNone || !belongs(h) || !codes_match(h))
      co_return;
    if (h.type() != PacketType::kData || !h.has_block()) co_return;
    const auto block = decode_fragment_block(bytes.subspan(kHeaderBytes));
    if (!block || block->total != shared_.request.size || block->offset % kFragmentBytes != 0) co_return;
    const std::uint64_t index = block->offset / kFragmentBytes;
    if (index >= seen_.size()) co_return;
    // No fragment has been stored yet.
    if (missing_ == seen_.size()) data_begins(self);
    const std::uint32_t bytes_of_message = fragment_bytes(block->total, index);
    co_await delay(storing(
        spec_.iterations(spec_.lines(FragmentBlock::kBytes) + spec_.copy_iterations(bytes_of_message)),
        bytes_of_message));
    // Only here, since the engine reads a duplicate as well.
    if (seen_[index]) co_return;
    seen_[index] = true;
    store(bytes.subspan(std::min<std::size_t>(bytes.size(), kHeaderBytes + FragmentBlock::kBytes)),
          block->offset);
    --missing_;
  }

  /// Time to store bytes that the bus streams in `streaming`. The role's memory may be slower.
  [[nodiscard]] Time storing(Time streaming, std::uint32_t bytes) const {
    return later(streaming, spec_.dram_time(bytes, shared_.request.size));
  }

  /// Does nothing if only times are needed. Never writes beyond the buffer.
  void store(Bytes bytes, std::uint64_t offset) const {
    const MutableBytes into = shared_.request.into;
    if (offset >= into.size() || bytes.empty()) return;
    std::memcpy(into.data() + offset, bytes.data(),
                std::min<std::uint64_t>(bytes.size(), into.size() - offset));
  }

  /// The call is complete on this side, but its ACK may be lost.
  Task<void> answer_repeats() {
    for (;;) {
      Datagram datagram = co_await in_.read();
      co_await delay(spec_.iterations(spec_.header_iterations()));
      Header h;
      if (decode(datagram.data, Format::kExtended, h) != HeaderError::kNone || !belongs(h)) continue;
      const auto block =
          h.has_block() ? decode_fragment_block(Bytes(datagram.data).subspan(kHeaderBytes)) : std::nullopt;
      // Only the first datagram of repeated DATA, so that each repetition has one ACK.
      const bool start_of_data = h.type() == PacketType::kData && (!block || block->offset == 0);
      if (h.type() != PacketType::kSendRequest && !start_of_data) continue;
      ++shared_.result.wire.retransmissions;
      co_await emit(State::kSendAck, PacketType::kAck);
    }
  }

  std::uint64_t missing_ = 0;  // datagrams
  std::vector<bool> seen_;
  std::uint64_t offset_ = 0;
  bool started_ = false;
};

std::uint64_t wire_id(int from, int to, std::uint64_t channel) {
  return Link::id(static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to), channel);
}

}  // namespace

std::string_view to_string(State state) {
  static constexpr std::pair<State, std::string_view> kNames[] = {{State::kIdle, "IDLE"},
                                                                  {State::kStartSend, "START_SEND"},
                                                                  {State::kSendReq, "SEND_REQ"},
                                                                  {State::kWait4Clear, "WAIT4CLEAR"},
                                                                  {State::kSendDataStart, "SEND_DATA_START"},
                                                                  {State::kSendDataRd, "SEND_DATA_RD"},
                                                                  {State::kSendDataWrd, "SEND_DATA_WRD"},
                                                                  {State::kWait4Ack, "WAIT4ACK"},
                                                                  {State::kStartRecv, "START_RECV"},
                                                                  {State::kWait4Req, "WAIT4REQ"},
                                                                  {State::kAssembleClear, "ASSEMBLE_CLEAR"},
                                                                  {State::kRecvDataStart, "RECV_DATA_START"},
                                                                  {State::kRecvDataRd, "RECV_DATA_RD"},
                                                                  {State::kRecvDataWrd, "RECV_DATA_WRD"},
                                                                  {State::kSendAck, "SEND_ACK"}};
  const auto* const found = std::ranges::find(kNames, state, &std::pair<State, std::string_view>::first);
  return found != std::end(kNames) ? found->second : "?";
}

ExchangeResult ExchangeRunner::run(const ExchangeRequest& request, std::vector<StateChange>* states) {
  const bool faults = request.faults.any();
  Shared shared{spec_, request, {}, states, faults};
  ExchangeResult& result = shared.result;
  // Events that never occur have the time of the beginning, so no time of a failed call is earlier.
  result.request = result.data = result.first = result.last = result.complete = request.begin;
  const Carriage carriage =
      faults || request.packets || request.capture != nullptr || !request.payload.empty() ? Carriage::kPackets
                                                                                          : Carriage::kBurst;
  const auto seen = [&](End end) { return request.observed == End::kBoth || request.observed == end; };
  const auto observe = [&](End end) {
    scheduler_.observe(seen(end) ? request.spans : nullptr, request.operation);
  };
  const auto tap = [&](End end, int from, int to) {
    return Path::Tap{seen(end) ? request.capture : nullptr, from, to};
  };
  {
    Path there(scheduler_, spec_, carriage,
               {wire_id(request.source, request.destination, 0), request.faults, request.first_packet,
                request.epoch},
               tap(End::kSender, request.source, request.destination));
    Path back(scheduler_, spec_, carriage,
              {wire_id(request.destination, request.source, Link::kAnswers), request.faults,
               request.first_packet, request.epoch},
              tap(End::kReceiver, request.destination, request.source));
    Sender sender(shared, scheduler_, request.source, request.destination, request.call, there, back.out);
    const MpiCall answer = request.answer.value_or(partner(request.call));
    Receiver receiver(shared, scheduler_, request.destination, request.source, answer, back, there.out);
    observe(End::kSender);
    scheduler_.spawn("role", sender.role(), request.begin);
    scheduler_.spawn("mpe.send", sender.run(), request.begin);
    observe(End::kReceiver);
    scheduler_.spawn("role", receiver.role(), request.begin);
    scheduler_.spawn("mpe.receive", receiver.run(), request.begin);
    observe(End::kSender);
    there.spawn(scheduler_, request.begin);
    observe(End::kReceiver);
    back.spawn(scheduler_, request.begin);
    scheduler_.run();
    result.wire += there.counters();
    result.wire += back.counters();
    scheduler_.clear();
  }
  return result;
}

}  // namespace offramp::zrlmpi
