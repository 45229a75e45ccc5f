// Two computations of one network. send_closed() handles messages without faults: two servers in series
// (protocol engine and link), determined by the first, the last full, and the last packet. PacketNetwork
// handles the others packet by packet, with cumulative acknowledgements, TCP's fast retransmission, and
// NewReno recovery (RFC 6582) of one packet at a time. Both leave engine and link busy until the same times,
// so the next message is independent of the method.
#include "simulators/cclo/network.hpp"

#include <algorithm>
#include <optional>

#include "offramp/kernel/channel.hpp"

namespace offramp::cclo {
namespace {

struct Segment {
  std::uint32_t index = 0;
  std::uint32_t bytes = 0;
};

/// Cumulative: the number of packets received without a gap.
struct Acknowledgement {
  std::uint32_t received = 0;
};

constexpr int kDuplicatesBeforeRepeat = 3;  // TCP's fast retransmission

/// Returns the time when a message's first `words` words have left the packetizer. A packet is complete with
/// its last word. Words slower than one per cycle are evenly spaced.
Time complete_at(const Spec& spec, const PacketCut& cut, const Flow& in, std::int64_t words) {
  const std::int64_t all = Spec::words(cut.bytes());
  const Time cycle = spec.cycles(1);
  const Time pace = later(cycle, Time::ps((in.last - in.first).count() / std::max<std::int64_t>(all - 1, 1)));
  return later(in.first + cycle * (words - 1), in.last - pace * (all - words));
}

/// One message in flight, packet by packet.
class PacketNetwork {
 public:
  PacketNetwork(Scheduler& scheduler, const Spec& spec, const PacketCut& cut, const Flow& in,
                const PacketFaults& packet_faults, std::vector<SentPacket>* sent)
      : spec_(spec),
        cut_(cut),
        in_(in),
        packets_(static_cast<std::uint32_t>(cut.packets())),
        reliable_(spec.transport != Transport::kUdp),
        staged_(scheduler, packets_ + 1),
        forth_(scheduler, {spec.latency, spec.link, spec.overhead, 0}, 4 * std::size_t{packets_} + 64,
               id(packet_faults, 0), packet_faults.rates, packet_faults.first_packet, packet_faults.epoch),
        back_(scheduler, {spec.latency, spec.link, spec.overhead, 0}, 8 * std::size_t{packets_} + 256,
              id(packet_faults, Link::kAnswers), packet_faults.rates, packet_faults.first_packet,
              packet_faults.epoch),
        there_(packets_, false),
        sent_(sent) {}

  void spawn(Scheduler& scheduler, Time engine_from, Time link_from) {
    scheduler.spawn("packetizer", cut_stream(), {});
    scheduler.spawn("engine", send(engine_from, link_from), {});
    scheduler.spawn("receiver", receive(), {});
  }

  Crossing result;
  Time engine_free;
  Time link_free;

 private:
  /// The link of the acknowledgements connects the same ends as the message's.
  static std::uint64_t id(const PacketFaults& packet_faults, std::uint64_t channel) {
    return Link::id(static_cast<std::uint64_t>(packet_faults.source),
                    static_cast<std::uint64_t>(packet_faults.destination), channel);
  }
  [[nodiscard]] std::uint32_t bytes_of(std::uint32_t index) const {
    return index + 1 < packets_ ? cut_.full_bytes : cut_.last_bytes;
  }

  /// Stages each packet when its last word is there.
  Task<void> cut_stream() {
    std::int64_t words = 0;
    for (std::uint32_t i = 0; i < packets_; ++i) {
      words += Spec::words(bytes_of(i));
      co_await staged_.write_at(i, complete_at(spec_, cut_, in_, words));
    }
  }

  Task<void> send(Time engine_from, Time link_from) {
    Process& self = co_await this_process();
    Time staged = engine_from;
    link_free = link_from;
    for (std::uint32_t i = 0; i < packets_; ++i) {
      const std::uint32_t index = co_await staged_.read();
      staged = later(self.clock, staged) + spec_.engine_time(bytes_of(index));
      co_await transmit(index, staged);
    }
    result.accepted = later(in_.last, spec_.handed_over(staged, cut_.last_bytes));
    engine_free = staged;
    if (reliable_) co_await repeat_until_acknowledged();
  }

  Task<void> transmit(std::uint32_t index, Time at) {
    Process& self = co_await this_process();
    self.clock = later(at, link_free);
    if (sent_ != nullptr) sent_->push_back({index, self.clock});
    Segment packet{index, bytes_of(index)};
    co_await forth_.send(packet, packet.bytes);
    link_free = self.clock;
    self.clock = at;  // the engine stages the next packet while this one is on the link
  }

  /// Runs after the first transmission of all packets. Three duplicate acknowledgements or the timer start a
  /// recovery. Each acknowledgement with a gap then names the next packet to repeat (NewReno).
  Task<void> repeat_until_acknowledged() {
    Process& self = co_await this_process();
    self.clock = later(self.clock, link_free);
    std::uint32_t received = 0;
    int duplicates = 0;
    int attempts = 0;
    bool recovering = false;
    while (received < packets_) {
      std::optional<Acknowledgement> ack = co_await back_.receive_until(self.clock + spec_.retransmission);
      if (ack && ack->received > received) {
        received = ack->received;
        duplicates = attempts = 0;
        if (!recovering || received == packets_) continue;
      } else if (ack && (recovering || ++duplicates < kDuplicatesBeforeRepeat)) {
        continue;
      } else if (!ack && attempts++ >= spec_.retries) {
        result.error = Error::kPacketizerTimeout;  // the engine abandons the session
        result.last = later(result.last, self.clock);
        co_return;
      }
      recovering = true;
      ++repeated_;
      co_await transmit(received, self.clock);
      self.clock = link_free;
    }
  }

  Task<void> receive() {
    Process& self = co_await this_process();
    std::uint32_t whole = 0;
    std::uint32_t expected = 0;
    for (;;) {
      const Segment packet = co_await forth_.receive();
      // Delayed packets may be overtaken, so the first arrival is a minimum.
      if (expected == 0 || self.clock < result.first) result.first = self.clock;
      if (!reliable_) {
        // The depacketizer only counts bytes, so any packet out of order corrupts the message.
        if (packet.index != expected) disordered_ = true;
        ++expected;
      }
      if (!there_[packet.index]) result.last = later(result.last, self.clock);
      there_[packet.index] = true;
      // Packets without a gap. The acknowledgement is cumulative.
      while (whole < packets_ && there_[whole]) ++whole;
      if (expected == 0) expected = 1;
      if (reliable_) {
        const Time arrived = self.clock;
        const Acknowledgement ack{whole};
        co_await back_.send(ack, 0);
        self.clock = arrived;
      }
    }
  }

 public:
  Crossing finish() {
    const bool complete = std::all_of(there_.begin(), there_.end(), [](bool b) { return b; });
    // Over UDP, a packet is lost for good: the receiver waits until its timeout.
    if (!complete && result.error == Error::kNone) result.error = Error::kReceiveTimeout;
    if (!reliable_ && complete && disordered_) result.error = Error::kDmaUnexpectedBytes;
    // The receiver of a failed message sees its end no earlier than the last packet could arrive.
    if (result.error != Error::kNone) result.last = later(result.last, link_free + spec_.latency);
    if (result.first == Time()) result.first = result.last;
    result.wire = forth_.counters();
    result.wire.retransmissions = repeated_;
    return result;
  }

 private:
  const Spec& spec_;
  PacketCut cut_;
  Flow in_;
  std::uint32_t packets_;
  bool reliable_;
  Channel<std::uint32_t> staged_;
  Wire<Segment> forth_;
  Wire<Acknowledgement> back_;
  std::vector<bool> there_;
  std::vector<SentPacket>* sent_;
  std::uint64_t repeated_ = 0;
  bool disordered_ = false;
};

}  // namespace

Crossing Transmitter::send(const Flow& in, std::uint64_t payload, const PacketFaults* packet_faults,
                           std::vector<SentPacket>* packets) {
  if (packet_faults != nullptr && packet_faults->rates.any())
    return send_packets(in, payload, *packet_faults, packets);
  const PacketCut cut = cut_message(spec_.generation, spec_.transport, spec_.max_packet, payload);
  if (packets != nullptr) list_packets(in, cut, *packets);
  return send_closed(in, cut);
}

/// Lists the packets' times by simulating both servers of send_closed() packet by packet.
void Transmitter::list_packets(const Flow& in, const PacketCut& cut, std::vector<SentPacket>& packets) const {
  Time engine = units_[Unit::kEngine].free_at();
  Time link = units_[Unit::kLinkOut].free_at();
  std::int64_t words = 0;
  for (std::uint32_t i = 0; i < cut.packets(); ++i) {
    const std::uint32_t bytes = i < cut.full ? cut.full_bytes : cut.last_bytes;
    words += Spec::words(bytes);
    engine = later(complete_at(spec_, cut, in, words), engine) + spec_.engine_time(bytes);
    const Time begin = later(engine, link);
    packets.push_back({i, begin});
    link = begin + spec_.link_time(bytes);
  }
}

/// Two servers in series, engine and link. Their state after the first, the last full, and the last packet
/// suffices, because packets never arrive faster later on.
Crossing Transmitter::send_closed(const Flow& in, const PacketCut& cut) {
  Time engine = units_[Unit::kEngine].free_at();
  Time link = units_[Unit::kLinkOut].free_at();
  Crossing passage;
  // All full packets are equal, so the first and the last determine those between them.
  if (cut.full > 0) {
    const Time e = spec_.engine_time(cut.full_bytes);
    const Time w = spec_.link_time(cut.full_bytes);
    const std::int64_t per_packet = Spec::words(cut.full_bytes);
    const std::int64_t more = std::int64_t{cut.full} - 1;
    const Time ready = complete_at(spec_, cut, in, per_packet);
    const Time ready_last = complete_at(spec_, cut, in, per_packet * (more + 1));
    const Time engine_first = later(ready, engine) + e;
    engine = later(engine_first + e * more, ready_last + e);
    const Time link_first = later(engine_first, link) + w;
    link = later(link_first + w * more, engine + w);
    passage.first = link_first + spec_.latency;
  }
  // The last packet is complete with the message's last word.
  engine = later(engine, in.last) + spec_.engine_time(cut.last_bytes);
  link = later(link, engine) + spec_.link_time(cut.last_bytes);
  occupy_until(in, engine, link);
  passage.last = link + spec_.latency;
  if (cut.full == 0) passage.first = passage.last;
  passage.accepted = later(in.last, spec_.handed_over(engine, cut.last_bytes));
  passage.wire.packets = cut.packets();
  passage.wire.payload_bytes = cut.bytes();
  passage.wire.wire_bytes = cut.bytes() + cut.packets() * spec_.overhead;
  return passage;
}

Crossing Transmitter::send_packets(const Flow& in, std::uint64_t payload, const PacketFaults& packet_faults,
                                   std::vector<SentPacket>* packets) {
  const PacketCut cut = cut_message(spec_.generation, spec_.transport, spec_.max_packet, payload);
  Scheduler scheduler;
  PacketNetwork network(scheduler, spec_, cut, in, packet_faults, packets);
  network.spawn(scheduler, units_[Unit::kEngine].free_at(), units_[Unit::kLinkOut].free_at());
  (void)scheduler.run();  // the receiver keeps waiting
  occupy_until(in, network.engine_free, network.link_free);
  return network.finish();
}

void Transmitter::occupy_until(const Flow& in, Time engine, Time link) {
  occupy(units_[Unit::kEngine], in.first, engine);
  occupy(units_[Unit::kLinkOut], in.first, link);
}

Time Receiver::land(Time first, Time last, std::uint64_t payload, bool rendezvous) {
  const PacketCut cut = cut_message(spec_.generation, spec_.transport, spec_.max_packet, payload);
  // The link into this engine carries one message at a time.
  const Time occupied = spec_.port_time(cut, payload, rendezvous);
  const Time first_on_link = first - spec_.port_time_of_first(cut);
  Arbiter& link = units_[Unit::kLinkIn];
  Arbiter& depacketizer = units_[Unit::kDepacketizer];
  const Time carried = later(link.acquire(first_on_link, occupied).end, last);
  // The depacketizer processes one word per cycle, faster than the link, and ends with the last packet.
  const Time all = depacketizer.acquire(first, spec_.stream_time(cut.bytes())).end;
  const Time passed = later(all, carried + spec_.stream_time(cut.last_bytes));
  const Time shared = rendezvous && spec_.host_memory
                          ? Time()
                          : units_.share_until(Unit::kMemory, first, spec_.memory_time(payload));
  return later(passed, shared) + spec_.cycles(spec_.memory_cycles);
}

}  // namespace offramp::cclo
