// Burst: n equal packets of one message, as one token.
//
// Packet i of a burst becomes visible at first + i * period. A server (bus, link, parser) that handles
// packets in order maps a burst to at most two bursts in closed form. serve() below does so, with the same
// time stamps as packet by packet. Payload is passed by reference: the view must outlive the burst. Plain
// values: any thread.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "offramp/kernel/time.hpp"

namespace offramp {

struct Burst {
  std::span<const std::byte> payload;  // all packets together, in equal parts; may be empty
  Time first;                          // when packet 0 becomes visible
  Time period;                         // between packets; meaningless for one packet
  std::uint32_t packets = 1;           // at least 1
  std::uint32_t packet_bytes = 0;      // on the stream that carries the burst

  /// When packet i becomes visible; the last one: last().
  [[nodiscard]] Time at(std::uint32_t i) const { return first + period * i; }
  [[nodiscard]] Time last() const { return at(packets - 1); }
};

/// Passes a burst through a server that needs `service` per packet and is free from `free` on. Calls
/// emit(Burst) once or twice in order, and returns when the server is free again. Packet i leaves at
/// max(arrival i, departure i-1) + service.
Time serve(const Burst& in, Time service, Time free, auto&& emit) {
  assert(in.packets > 0);
  const Time begin = later(in.first, free);
  Burst out = in;
  out.first = begin + service;
  if (in.packets == 1 || service >= in.period) {  // the server is the bottleneck: packets leave back to back
    out.period = service;
    emit(out);
    return out.last();
  }
  // The arrivals are the bottleneck once the server's initial backlog has drained.
  // Packet 0 waits for `backlog`; each packet behind it waits for `gain` less than the one before.
  const std::int64_t backlog = (begin - in.first).count();
  const std::int64_t gain = (in.period - service).count();
  const auto crossing = static_cast<std::uint64_t>((backlog + gain - 1) / gain);
  // No packet waits: the burst keeps its period.
  if (crossing == 0) {
    emit(out);
    return out.last();
  }
  const auto queued = static_cast<std::uint32_t>(crossing < in.packets ? crossing : in.packets);
  const std::size_t split = in.payload.size() / in.packets * queued;
  out.period = service;
  out.packets = queued;
  if (queued == in.packets) {
    emit(out);
    return out.last();
  }
  out.payload = in.payload.first(split);
  emit(out);
  Burst rest = in;
  rest.first = in.at(queued) + service;
  rest.packets = in.packets - queued;
  rest.payload = in.payload.subspan(split);
  emit(rest);
  return rest.last();
}

}  // namespace offramp
