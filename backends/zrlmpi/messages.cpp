// Point-to-point messages: calls of the engines at both ends, simulated once per size
// (simulators/zrlmpi/exchange.hpp) and shifted in time. The functions compute with the six times of struct
// Relative, relative to the beginning of the call, when the sender's engine reads its command:
//
//            0                           data                                  complete
//  sender    +---------------------------+---------------------------------------+--->
//              \ SEND_REQUEST          /    \ DATA         \ last DATA         /
//                 \                 /          \              \             /
//                    \            / CLEAR_TO_SEND \              \        / ACK
//  receiver  ----------+--------+--------------------+------------------+------------>
//                    request   granted              first              last
//
//   request   the header of the SEND_REQUEST is at the receiver's engine.
//   granted   the engine has read it (request + header_time_), and answers if its role has called by then.
//   data      the sender has read the CLEAR_TO_SEND and starts with the data.
//   first     the receiver has read the header of the first DATA.
//   last      all data is in the memory of the receiver's role, the ACK has left, and the role continues.
//   complete  the sender has read the ACK, and its role continues.
//
// A barrier's call has no data. The ACK answers the SEND_REQUEST: "data" is when the receiver has both the
// request and its role's command, "first" and "last" are when that role continues.
//
// Conversion to a Passage: leaves = begin + data, latency = first - data, left = begin + last - latency, so
// that the first byte arrives at leaves + latency and the last byte at left + latency. A receiver whose role
// calls later than "granted" delays data, first, last, and complete equally, unless the sender's timer fires
// meanwhile. In that case, and on wires with faults, the exchange itself is simulated (exchange(), faulty()).
// A sender's engine that is busy when the answer arrives delays the same four; transmit() shifts "begin" for
// that.
#include <utility>

#include "backends/zrlmpi/backend.hpp"

namespace offramp::zrlmpi {

void ZrlmpiBackend::issue(const Transfer& transfer, Passage& passage) {
  passage.host_free = passage.begin = passage.issued + command_;
  passage.protocol =
      transfer.synchronous || waits_for_receiver(transfer) ? Protocol::kRendezvous : Protocol::kGranted;
}

void ZrlmpiBackend::depart(const Transfer& transfer, Passage& passage, const Resources&) {
  passage.requested = passage.begin + relative(transfer, passage.begin).request;
  if (faults_.any()) return;  // the fault model computes their retransmissions
  EngineInput& input = inputs_[static_cast<std::size_t>(transfer.destination)];
  if (input.is_full(
          passage.requested)) {  // the request is lost, but the sender's timer repeats it successfully
    ++wire_.lost;
    passage.requested += spec_.timeout(transfer.source, Awaited::kAnswer, 0) + header_time_;
  }
  input.add(name_of(transfer), passage.requested);
}

void ZrlmpiBackend::grant(const Transfer& transfer, Passage& passage) {
  EngineInput& input = inputs_[static_cast<std::size_t>(transfer.destination)];
  const std::int64_t headers = input.headers_to_read(name_of(transfer), passage.granted);
  if (headers > 1 || passage.granted > passage.requested) passage.granted += headers * header_time_;
  passage.answered = passage.granted;
}

void ZrlmpiBackend::transmit(const Transfer& transfer, Passage& passage, const Resources&) {
  const Relative& call = granted_call(transfer, passage);
  // The engine may have sent other messages since its request, which delays the data.
  const Time begin = passage.begin + later(passage.answered - passage.begin - call.data, {});
  passage.leaves = begin + call.data;
  passage.latency = call.first - call.data;
  passage.left = begin + call.last - passage.latency;
  passage.complete = begin + call.complete;
  passage.failed = passage.failed || !call.ok;
}

Time ZrlmpiBackend::receive(const Transfer& transfer, const Passage& passage, Time at, Matched matched) {
  if (observed() && transfer.source != transfer.destination)
    observe(transfer, passage.begin, ready_for(transfer, passage), End::kReceiver);
  Time done = at;
  if (matched == Matched::kUnexpected) {
    done += copy_time(transfer.bytes);
    if (spans_ != nullptr)
      spans_->record(
          {"bounce memory", "unexpected message", at, done, transfer.operation, transfer.destination});
  }
  return done + command_;
}

Time ZrlmpiBackend::copy_time(std::size_t bytes) const {
  return bounce_latency_ + bounce_.bytes(static_cast<std::int64_t>(bytes));
}

void ZrlmpiBackend::count(const Transfer& transfer, const Passage& passage) {
  wire_ += granted_call(transfer, passage).wire;
}

void ZrlmpiBackend::record_sender(const Transfer& transfer, const Passage& passage) {
  observe(transfer, passage.begin, ready_for(transfer, passage), End::kSender);
}

MpiCall ZrlmpiBackend::call_of(const Transfer& transfer) {
  if (transfer.signal) return MpiCall::kBarrier;
  return transfer.element == ElementType::kFloat32 ? MpiCall::kSendFloat : MpiCall::kSendInt;
}

std::uint64_t ZrlmpiBackend::name_of(const Transfer& transfer) {
  return static_cast<std::uint64_t>(transfer.source) << 32 | transfer.number;
}

std::uint64_t ZrlmpiBackend::kind_of(const Transfer& transfer) {
  return transfer.signal ? kMaximumMessageBytes + 1 : transfer.bytes;
}

ExchangeRequest ZrlmpiBackend::request_for(const Transfer& transfer) const {
  ExchangeRequest request;
  request.source = transfer.source;
  request.destination = transfer.destination;
  request.call = call_of(transfer);
  request.size = transfer.bytes;
  request.tag = static_cast<std::uint32_t>(transfer.tag);
  request.context = static_cast<std::uint32_t>(transfer.context);
  request.sequence = transfer.number;
  request.faults = faults_;
  request.first_packet = static_cast<std::uint64_t>(transfer.number) << 32;
  return request;
}

ZrlmpiBackend::Relative ZrlmpiBackend::run(const ExchangeRequest& request) {
  const ExchangeResult result = runner_.run(request);
  const Time begin = request.begin;
  Relative call;
  call.request = result.request - begin;
  call.granted = call.request + header_time_;
  call.data = result.data - begin;
  call.first = result.first - begin;
  call.last = result.last - begin;
  call.complete = result.complete - begin;
  call.wire = result.wire;
  call.ok = result.ok();
  if (!call.ok) {  // the data may be lost after leaving: keep the times in order
    call.first = later(call.first, call.data);
    call.last = later(call.last, later(call.first, call.complete));
  }
  return call;
}

const ZrlmpiBackend::Relative& ZrlmpiBackend::relative(const Transfer& transfer, Time begin) {
  if (faults_.any()) return faulty(transfer, begin, {});
  if (const Relative* const known = calls_.find(kind_of(transfer))) return *known;
  made_ = run(request_for(transfer));
  // Timers shorter than a round trip repeat packets anyway, and depend on the ranks.
  if (made_.wire.retransmissions == 0) calls_.store(kind_of(transfer), made_);
  return made_;
}

const ZrlmpiBackend::Relative& ZrlmpiBackend::faulty(const Transfer& transfer, Time begin, Time ready) {
  const auto run_once = [&] {
    ExchangeRequest request = request_for(transfer);
    request.epoch = begin;
    request.ready = later(ready - begin, {});
    return run(request);
  };
  return faulty_->get(
      {transfer.source, transfer.destination, transfer.number, kind_of(transfer), begin, later(begin, ready)},
      run_once);
}

bool ZrlmpiBackend::is_in_time(const Transfer& transfer, const Relative& call, Time late) const {
  return late + (transfer.signal ? call.complete : call.data) <
         spec_.timeout(transfer.source, Awaited::kAnswer, 0);
}

ZrlmpiBackend::Relative ZrlmpiBackend::exchange(const Transfer& transfer, Time begin, Time ready) {
  if (faults_.any()) return faulty(transfer, begin, ready);
  Relative call = relative(transfer, begin);
  const Time shift = later(ready - begin - call.granted, {});
  if (shift == Time() || is_in_time(transfer, call, shift)) {
    for (Time* moved : {&call.data, &call.first, &call.last, &call.complete}) *moved += shift;
    return call;
  }
  ExchangeRequest request = request_for(transfer);
  request.begin = begin;
  request.ready = ready;
  return run(request);
}

const ZrlmpiBackend::Relative& ZrlmpiBackend::granted_call(const Transfer& transfer, const Passage& passage) {
  if (passage.granted <= passage.requested) return relative(transfer, passage.begin);
  return late_ = exchange(transfer, passage.begin, passage.granted);
}

void ZrlmpiBackend::replay(const Transfer& transfer, Time begin, Time late, End end) {
  const auto run_once = [&] {
    SpanList list;
    ExchangeRequest request = request_for(transfer);
    request.ready = late;
    request.spans = &list;
    request.observed = end;
    (void)runner_.run(request);
    return std::move(list.spans);
  };
  for (const Span& span : seen_->get({kind_of(transfer), late, end}, run_once))
    spans_->record({span.unit, span.what, begin + span.begin, begin + span.end, transfer.operation,
                    end == End::kSender ? transfer.source : transfer.destination});
}

Time ZrlmpiBackend::ready_for(const Transfer& transfer, const Passage& passage) {
  const bool waited = passage.protocol == Protocol::kRendezvous || passage.granted > passage.requested;
  const Time ready = waited ? passage.granted : passage.begin;
  if (faults_.any()) return ready;
  const Time held = passage.leaves - passage.begin - granted_call(transfer, passage).data;
  if (held <= Time()) return ready;
  return later(ready, passage.begin + relative(transfer, passage.begin).granted) + held;
}

void ZrlmpiBackend::observe(const Transfer& transfer, Time begin, Time ready, End end) {
  if (!observed()) return;
  const Time late = later(ready, begin) - begin;
  // A timer that fires depends on the ranks.
  if (packets_ == nullptr && !faults_.any() && is_in_time(transfer, relative(transfer, begin), late))
    return replay(transfer, begin, late, end);
  ExchangeRequest request = request_for(transfer);
  request.begin = begin;
  request.ready = ready;
  std::optional<RankSpans> spans;
  if (spans_ != nullptr) spans.emplace(*spans_, end == End::kSender ? transfer.source : transfer.destination);
  request.spans = spans ? &*spans : nullptr;
  request.operation = transfer.operation;
  request.capture = packets_;
  request.observed = end;
  if (packets_ != nullptr) request.payload = transfer.data;
  (void)runner_.run(request);
}

}  // namespace offramp::zrlmpi
