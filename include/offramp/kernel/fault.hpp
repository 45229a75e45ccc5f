// Faults of the modelled wires: the fate of each packet, decided before it is sent.
//
// A fate is a pure function of the seed or script, the link, and the packet's number, plus the modelled time
// where the user specifies one. It is therefore equal on every run and for every caller. Plain values; a
// script is immutable: any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "offramp/kernel/random.hpp"
#include "offramp/kernel/time.hpp"

namespace offramp {

/// kCorrupted: bits flip. Every modelled link has a checksum, so the receiver drops the packet; only the
/// counters distinguish it from a lost one. kDelayed: the link delays the packet and everything behind it.
enum class Fault : std::uint8_t { kNone, kLost, kDuplicated, kReordered, kCorrupted, kDelayed };

/// One direction of a link between two ends, both below 2^24; usually ranks, as the backend defines. channel
/// (below 2^16) separates flows between the same ends: 0 is data, kAnswers the reverse traffic.
struct Link {
  static constexpr std::uint32_t kAnswers = 0x8000;

  /// The link as one number. The three functions below take it apart.
  static constexpr std::uint64_t id(std::uint64_t source, std::uint64_t destination,
                                    std::uint64_t channel = 0) {
    return channel << 48 | source << 24 | destination;
  }
  static constexpr std::uint32_t source(std::uint64_t link) { return link >> 24 & 0xffffff; }
  static constexpr std::uint32_t destination(std::uint64_t link) { return link & 0xffffff; }
  static constexpr std::uint32_t channel(std::uint64_t link) {
    return static_cast<std::uint32_t>(link >> 48);
  }
};

/// One line of a script: the packets it applies to, and their fault. An absent field matches any value.
struct FaultEvent {
  Fault kind = Fault::kLost;
  std::optional<std::uint32_t> source;
  std::optional<std::uint32_t> destination;
  std::optional<std::uint32_t> channel;
  std::optional<std::uint64_t> packet;
  Time begin;  // modelled departure times: from `begin`, before `end`
  Time end = Time::never();

  friend bool operator==(const FaultEvent&, const FaultEvent&) = default;
};

/// Faults written down by the user. The first event that matches a packet decides.
class FaultScript {
 public:
  /// Lines for single packets are kept apart: they are found by a search, whatever their number.
  explicit FaultScript(std::vector<FaultEvent> events) {
    for (FaultEvent& event : events) {
      const bool single = event.source && event.destination && event.channel && event.packet &&
                          event.begin == Time() && event.end == Time::never();
      if (single) {
        exact_.push_back(
            {Link::id(*event.source, *event.destination, *event.channel), *event.packet, event.kind});
      } else {
        others_.push_back(event);
      }
    }
    std::stable_sort(exact_.begin(), exact_.end(),
                     [](const Exact& a, const Exact& b) { return a.key() < b.key(); });
  }

  /// The fault of packet number `packet` of a link, for departure at `at`.
  [[nodiscard]] Fault fault(std::uint64_t link, std::uint64_t packet, Time at) const {
    const auto found = std::lower_bound(exact_.begin(), exact_.end(), std::pair(link, packet),
                                        [](const Exact& e, const auto& key) { return e.key() < key; });
    if (found != exact_.end() && found->key() == std::pair(link, packet)) return found->kind;
    for (const FaultEvent& e : others_) {
      if (e.source.value_or(Link::source(link)) == Link::source(link) &&
          e.destination.value_or(Link::destination(link)) == Link::destination(link) &&
          e.channel.value_or(Link::channel(link)) == Link::channel(link) &&
          e.packet.value_or(packet) == packet && at >= e.begin && at < e.end) {
        return e.kind;
      }
    }
    return Fault::kNone;
  }

  /// The script without the events that specify a time.
  [[nodiscard]] FaultScript timeless() const {
    FaultScript script = *this;
    std::erase_if(script.others_,
                  [](const FaultEvent& e) { return e.begin != Time() || e.end != Time::never(); });
    return script;
  }

 private:
  /// Sorted for binary search, because recorded scripts can have many of them.
  struct Exact {
    std::uint64_t link;
    std::uint64_t packet;
    Fault kind;
    [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> key() const { return {link, packet}; }
  };
  std::vector<Exact> exact_;
  std::vector<FaultEvent> others_;
};

/// Receives every fault that happens. A fault may be reported several times, since fates are recomputed.
class FaultLog {
 public:
  FaultLog& operator=(FaultLog&&) = delete;
  virtual ~FaultLog() = default;
  /// Called by the thread that computes the fate. Must not throw.
  virtual void record(std::uint64_t link, std::uint64_t packet, Fault kind) = 0;
};

/// Probabilities per packet; the first five sum to at most 1. All zero without a script: a perfect wire.
struct FaultRates {
  std::uint64_t seed = 0;
  double loss = 0;
  double duplication = 0;
  double reordering = 0;
  double corruption = 0;
  double delay = 0;
  /// Probability that a link is down in both directions for one interval of length outage_time.
  double outage = 0;
  Time delay_time = Time::us(10);  // of a delayed packet
  /// The length of an interval in which a link is up or down as a whole.
  Time outage_time = Time::us(100);
  std::shared_ptr<const FaultScript> script = nullptr;  // has priority over the rates
  std::shared_ptr<FaultLog> log = nullptr;

  /// False for a perfect wire, whose packets then need no draw.
  [[nodiscard]] bool any() const {
    return loss > 0 || duplication > 0 || reordering > 0 || corruption > 0 || delay > 0 || outage > 0 ||
           script != nullptr;
  }
  /// The faults that follow from seed, link, and packet number alone. A run uses only these because it has no
  /// modelled time; outages and script lines with a time act in worlds.
  [[nodiscard]] FaultRates timeless() const {
    FaultRates rates = *this;
    rates.outage = 0;
    if (script != nullptr) rates.script = std::make_shared<const FaultScript>(script->timeless());
    return rates;
  }
};

namespace detail {

/// A number in [0, 1), derived from three numbers.
/// The factors are those of splitmix64: they keep neighbouring wires and packet numbers apart before the
/// finaliser mixes the bits.
inline double fault_draw(std::uint64_t seed, std::uint64_t wire, std::uint64_t n) {
  const std::uint64_t x =
      splitmix_finaliser(seed + 0x9e3779b97f4a7c15U * (wire + 1) + 0xbf58476d1ce4e5b9U * (n + 1));
  return static_cast<double>(x >> 11) * 0x1.0p-53;
}

/// Time is divided into intervals of outage_time, each with a draw of its own. The ends are sorted, so that
/// both directions of a link have the same draw.
inline bool link_is_down(const FaultRates& rates, std::uint64_t link, Time at) {
  constexpr std::uint64_t kOutages = 0x7fff;  // reserved: no packet uses this channel
  const std::uint32_t low = std::min(Link::source(link), Link::destination(link));
  const std::uint32_t high = std::max(Link::source(link), Link::destination(link));
  const auto span = static_cast<std::uint64_t>(at / later(rates.outage_time, Time::ps(1)));
  return fault_draw(rates.seed, Link::id(low, high, kOutages), span) < rates.outage;
}

/// The order of causes: the script, then outages, then the rates of single packets.
inline Fault decide_fault(const FaultRates& rates, std::uint64_t link, std::uint64_t n, Time at) {
  if (rates.script != nullptr) {
    if (const Fault fault = rates.script->fault(link, n, at); fault != Fault::kNone) return fault;
  }
  if (rates.outage > 0 && link_is_down(rates, link, at)) return Fault::kLost;
  // One draw decides among all faults: the rates are adjoining parts of [0, 1), so at most one applies.
  double left = fault_draw(rates.seed, link, n);
  for (const auto& [kind, rate] :
       {std::pair(Fault::kLost, rates.loss), std::pair(Fault::kDuplicated, rates.duplication),
        std::pair(Fault::kReordered, rates.reordering), std::pair(Fault::kCorrupted, rates.corruption),
        std::pair(Fault::kDelayed, rates.delay)}) {
    if (left < rate) return kind;
    left -= rate;
  }
  return Fault::kNone;
}

}  // namespace detail

/// The fate of packet number n of a link, for departure at a modelled time. Reports faults to rates.log.
inline Fault fault_of(const FaultRates& rates, std::uint64_t link, std::uint64_t n, Time at = {}) {
  const Fault fault = detail::decide_fault(rates, link, n, at);
  if (fault != Fault::kNone && rates.log != nullptr) rates.log->record(link, n, fault);
  return fault;
}

}  // namespace offramp
