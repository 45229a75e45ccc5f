// The stages of a path as coroutines over channels: bus, shell, wire, shell. message() cuts a message into
// datagrams while the state machine is still copying it, so the last datagram leaves when the copy ends. In a
// burst, the full datagrams between the first and the last are one item with a period, which the stages
// process in closed form.
#include "simulators/zrlmpi/path.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "offramp/kernel/burst.hpp"
#include "simulators/zrlmpi/segmentation.hpp"

namespace offramp::zrlmpi {
namespace {

// Datagrams between two stages. A full channel pushes back instead of dropping, like a paused Ethernet link.
constexpr std::size_t kSlots = kShellHeaders;

/// Slots of the wire: the receiver's buffer, plus the datagrams in flight.
std::size_t wire_slots(const MpeSpec& spec) {
  constexpr std::int64_t kMost = 1 << 16;
  return kSlots +
         static_cast<std::size_t>(std::min(kMost, spec.line.latency / spec.line_time(kDatagramBytes)));
}

std::vector<std::byte> part_of(Bytes payload, std::uint64_t offset, std::uint64_t bytes) {
  if (offset >= payload.size()) return {};
  const Bytes part = payload.subspan(offset, std::min<std::uint64_t>(bytes, payload.size() - offset));
  return {part.begin(), part.end()};
}

/// Adds padding, which is zero and is sent, so that a datagram with data is complete.
void fill(Datagram& datagram, bool carries) {
  if (carries) datagram.data.resize(datagram.bytes);
}

std::vector<std::byte> fragment_head(Header header, std::uint64_t total, std::uint64_t offset,
                                     std::uint32_t bytes) {
  header.set_flag(Header::kPerDatagram | Header::kBlock);
  header.set_payload_bytes(FragmentBlock::kBytes + bytes);
  const HeaderImage image = encode(header);
  const auto block = encode(FragmentBlock{total, offset});
  std::vector<std::byte> head(image.begin(), image.end());
  head.insert(head.end(), block.begin(), block.end());
  return head;
}

}  // namespace

Path::Path(Scheduler& scheduler, const MpeSpec& spec, Carriage carriage, const WirePosition& place,
           const Tap& tap)
    : in(scheduler, kControlEntries),
      out(scheduler, kSlots),
      sent(scheduler, kControlEntries),
      spec_(spec),
      carriage_(carriage),
      tap_(tap),
      to_shell_(scheduler, kSlots),
      to_wire_(scheduler, kSlots),
      from_wire_(scheduler, kSlots) {
  if (carriage_ == Carriage::kPackets && !spec_.direct)
    wire_.emplace(scheduler, spec_.line, wire_slots(spec_), place.wire_id, place.faults, place.first_packet,
                  place.epoch);
}

void Path::spawn(Scheduler& scheduler, Time begin) {
  scheduler.spawn("bus", bus(), begin);
  if (spec_.direct) return;
  scheduler.spawn("shell", shell(to_shell_, to_wire_, {}), begin);
  if (wire_) {
    scheduler.spawn("wire", packet_wire(), begin);
    scheduler.spawn("wire", unpack(), begin);
  } else {
    scheduler.spawn("wire", burst_wire(), begin);
  }
  // The receiver's widener needs one cycle for the first line.
  scheduler.spawn("shell", shell(from_wire_, out, spec_.cycles(1)), begin);
}

WireCounters Path::counters() const {
  return wire_ ? wire_->counters() : counters_;
}

Task<void> Path::bus() {
  for (;;) {
    const TransmitItem item = co_await in.read();
    const Process& self = co_await this_process();
    const Time begin = self.clock;
    if (item.kind == TransmitItem::Framing::kPacket) {
      Datagram datagram;
      datagram.data = item.head;
      datagram.bytes = static_cast<std::uint32_t>(item.head.size());
      co_await emit(std::move(datagram), begin);
    } else if (item.kind == TransmitItem::Framing::kMessage) {
      co_await message(item);
    } else {
      co_await fragments(item);
    }
  }
}

/// Passes a datagram to the shell when its last word has left the bus: one cycle behind the state machine.
Task<void> Path::emit(Datagram datagram, Time at) {
  at += spec_.cycles(1);
  if (!spec_.direct) {
    co_await to_shell_.write_at(std::move(datagram), at);
    co_return;
  }
  const bool closes = datagram.closes;
  counters_.packets += datagram.packets;
  co_await out.write_at(std::move(datagram), at + spec_.cycles(1));
  if (closes) co_await sent.write_at(true, at);
}

/// The state machine began to copy when the item became visible, and copies while this process cuts.
Task<void> Path::message(const TransmitItem& item) {
  const Process& self = co_await this_process();
  const Time begin = self.clock;
  // With a payload, the header shares the first datagram with the first bytes.
  const MessageCut cut = cut_message(spec_, item.size);
  const bool carries = !item.payload.empty();
  Time at = begin + spec_.iterations(spec_.lines(kFirstPayloadBytes));
  if (cut.datagrams > 1) {
    if (carriage_ == Carriage::kBurst) {
      co_await message_burst(item, cut.datagrams - 1, at);
      at += spec_.bus_time(kDatagramBytes) * static_cast<std::int64_t>(cut.datagrams - 2);
    } else {
      Datagram first(item.head, kDatagramBytes);
      const std::vector<std::byte> part = part_of(item.payload, 0, kFirstPayloadBytes);
      first.data.insert(first.data.end(), part.begin(), part.end());
      co_await emit(std::move(first), at);
      for (std::uint64_t i = 1; i + 1 < cut.datagrams; ++i) {
        at += spec_.bus_time(kDatagramBytes);
        const std::uint64_t offset = i * kDatagramBytes - kHeaderBytes;
        Datagram middle(part_of(item.payload, offset, kDatagramBytes), kDatagramBytes);
        co_await emit(std::move(middle), at);
      }
    }
    // The last datagram follows on the bus, or waits for the state machine's last copy.
    at += spec_.bus_time(cut.last_bytes);
  } else {
    at = begin;
  }
  Datagram last({}, cut.last_bytes, 1, {}, true);
  std::uint64_t offset = (cut.datagrams - 1) * kDatagramBytes;
  if (cut.datagrams == 1) last.data = item.head;
  offset -= cut.datagrams == 1 ? 0 : kHeaderBytes;
  const std::vector<std::byte> part = part_of(item.payload, offset, cut.last_bytes);
  last.data.insert(last.data.end(), part.begin(), part.end());
  fill(last, carries);
  const auto copied = static_cast<std::int64_t>(spec_.padded(item.size));
  co_await emit(std::move(last), later(at, begin + spec_.iterations(spec_.copy_iterations(copied))));
}

/// The first datagram is separate, since the receiver waits for its header.
Task<void> Path::message_burst(const TransmitItem& item, std::uint64_t full, Time first) {
  Datagram head(item.head, kDatagramBytes);
  co_await emit(std::move(head), first);
  const Time period = spec_.bus_time(kDatagramBytes);
  // Datagram::packets has 32 bits.
  constexpr std::uint64_t kMost = 1U << 30;  // packets per burst
  Time at = first + period;
  for (std::uint64_t left = full - 1; left > 0;) {
    const auto now = static_cast<std::uint32_t>(std::min(left, kMost));
    Datagram run({}, kDatagramBytes, now, period);
    co_await emit(std::move(run), at);
    at += period * now;
    left -= now;
  }
}

/// Every fragment has the state machine's cost of header, block, and copy, since each is assembled anew.
Task<void> Path::fragments(const TransmitItem& item) {
  const Process& self = co_await this_process();
  Time at = self.clock;
  const std::uint64_t count = fragment_count(item.size);
  // Ranges may reach beyond the message. The last existing fragment closes the phase.
  std::uint64_t total = 0;
  for (const FragmentRange& range : item.ranges)
    total += std::min(range.count, count - std::min(range.first, count));
  std::uint64_t done = 0;
  for (const FragmentRange& range : item.ranges) {
    for (std::uint64_t i = range.first; i < count && i - range.first < range.count; ++i) {
      const std::uint32_t bytes = fragment_bytes(item.size, i);
      const std::uint64_t offset = i * kFragmentBytes;
      Datagram datagram(fragment_head(item.header, item.size, offset, bytes), 0, 1, {}, ++done == total);
      const std::uint64_t padded = spec_.padded(bytes);
      datagram.bytes = static_cast<std::uint32_t>(datagram.data.size() + padded);
      const std::vector<std::byte> part = part_of(item.payload, offset, bytes);
      datagram.data.insert(datagram.data.end(), part.begin(), part.end());
      fill(datagram, !item.payload.empty());
      at += spec_.iterations(spec_.header_iterations() + spec_.lines(FragmentBlock::kBytes) +
                             spec_.copy_iterations(static_cast<std::int64_t>(padded)));
      co_await emit(std::move(datagram), at);
    }
  }
}

/// Store and forward: a datagram continues once it has been read out.
Task<void> Path::shell(Channel<Datagram>& from, Channel<Datagram>& to, Time latency) {
  Time free;
  for (;;) {
    Datagram datagram = co_await from.read();
    const Process& self = co_await this_process();
    const Burst burst{{}, self.clock, datagram.period, datagram.packets, datagram.bytes};
    std::array<Burst, 2> parts;
    std::size_t count = 0;
    free = serve(burst, spec_.shell_time(datagram.bytes), free, [&](const Burst& b) { parts[count++] = b; });
    for (std::size_t i = 0; i < count; ++i) {
      Datagram part = datagram;
      part.packets = parts[i].packets;
      part.period = parts[i].period;
      co_await to.write_at(std::move(part), parts[i].first + latency);
    }
  }
}

Task<void> Path::burst_wire() {
  Time free;
  for (;;) {
    Datagram datagram = co_await to_wire_.read();
    const Process& self = co_await this_process();
    const Burst burst{{}, self.clock, datagram.period, datagram.packets, datagram.bytes};
    const Time begin = later(self.clock, free);
    std::array<Burst, 2> parts;
    std::size_t count = 0;
    free = serve(burst, spec_.line_time(datagram.bytes), free, [&](const Burst& b) { parts[count++] = b; });
    counters_.packets += datagram.packets;
    counters_.payload_bytes += std::uint64_t{datagram.bytes} * datagram.packets;
    counters_.wire_bytes += std::uint64_t{datagram.bytes + spec_.line.overhead_bytes} * datagram.packets;
    if (self.spans != nullptr) {
      self.spans->record({self.name, "datagrams", begin, free, self.operation});
      self.spans->record({self.name, "in flight", free, free + spec_.line.latency, self.operation});
    }
    const bool closes = datagram.closes;
    for (std::size_t i = 0; i < count; ++i) {
      Datagram part = datagram;
      part.packets = parts[i].packets;
      part.period = parts[i].period;
      co_await from_wire_.write_at(std::move(part), parts[i].first + spec_.line.latency);
    }
    if (closes) co_await sent.write_at(true, free);
  }
}

void Path::record_packet(const Datagram& datagram, Time at) const {
  Packet packet;
  packet.at = at;
  packet.carrier = Carrier::kUdp;
  packet.source = tap_.source;
  packet.destination = tap_.destination;
  packet.source_port = packet.destination_port = kUdpPort;
  packet.head = datagram.data;
  packet.bytes = datagram.bytes;
  tap_.sink->record(packet);
}

Task<void> Path::packet_wire() {
  for (;;) {
    Datagram datagram = co_await to_wire_.read();
    const Process& self = co_await this_process();
    const Time begin = self.clock;
    const bool closes = datagram.closes;
    const std::uint32_t bytes = datagram.bytes;
    if (tap_.sink != nullptr) record_packet(datagram, begin);
    co_await wire_->send(std::move(datagram), bytes);
    self.span("datagram", begin);
    if (self.spans != nullptr)
      self.spans->record(
          {self.name, "in flight", self.clock, self.clock + spec_.line.latency, self.operation});
    if (closes) co_await sent.write(true);
  }
}

Task<void> Path::unpack() {
  for (;;) {
    Datagram datagram = co_await wire_->receive();
    co_await from_wire_.write(std::move(datagram));
  }
}

}  // namespace offramp::zrlmpi
