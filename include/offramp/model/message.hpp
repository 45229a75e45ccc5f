// One point-to-point message as a model sees it: what is sent, when it leaves, and what travels with it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "offramp/kernel/arbiter.hpp"
#include "offramp/kernel/time.hpp"
#include "offramp/model/operation.hpp"

namespace offramp {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

/// One point-to-point message. Ranks are world ranks. number counts the messages of this (source,
/// destination) pair that this backend has carried, from 0: with the seed of the fault script it fixes the
/// message's fate.
struct Transfer {
  int source = 0;
  int destination = 0;
  std::size_t bytes = 0;
  ElementType element = ElementType::kByte;
  int tag = 0;
  std::uint64_t context = 0;
  bool synchronous = false;  // complete only after the receive is matched (MPI_Ssend)
  std::uint32_t number = 0;
  std::uint64_t operation = 0;  // for spans
  Bytes data = {};              // the payload for a packet capture; empty where it is not wanted or not known
};

/// What a backend sends along with a message. first and last: when the message's first and last byte reach
/// the receiving device (or, after a handshake departure, whatever match() needs); detail is the backend's
/// own. Times are positions on the modelled clock: not negative, below 2^62 ps (a header with others is
/// dropped).
struct Stamp {
  Time first;
  Time last;
  std::uint64_t detail = 0;  // bit 63 is kFailed on every backend

  static constexpr std::uint64_t kFailed = std::uint64_t{1} << 63;
  /// The protocol gave up on the message: both ends get an error.
  [[nodiscard]] bool failed() const { return (detail & kFailed) != 0; }
};

/// Availability of a device's units, charged in issue order. The index is the backend's own. A collective
/// works on a copy taken when it is issued, so that operations in flight never depend on each other's
/// progress. The copy is joined with the original when the program sees the operation's completion.
/// Only as many units are copied as the hardware has (Backend::units()).
struct Units {
  static constexpr std::size_t kMaximum = 24;

  explicit Units(std::size_t count = kMaximum) : count_(count) {
    std::uninitialized_fill_n(unit.begin(), count_, Arbiter());
  }
  Units(const Units& other) : count_(other.count_) {
    std::uninitialized_copy_n(other.unit.begin(), count_, unit.begin());
  }
  Units& operator=(const Units& other) {
    count_ = other.count_;
    std::uninitialized_copy_n(other.unit.begin(), count_, unit.begin());
    return *this;
  }

  [[nodiscard]] std::span<const Arbiter> all() const { return {unit.data(), count_}; }

  /// See Arbiter::join(). Returns by how much the operation is later than it found out by itself: the wait
  /// for that unit which others used most.
  Time join(const Units& used, const Units& taken, Time begun) {
    Time delay;
    for (std::size_t i = 0; i < count_; ++i)
      delay = later(delay, unit[i].join(used.unit[i], taken.unit[i], begun));
    return delay;
  }

  union {  // those beyond the count stay untouched
    std::array<Arbiter, kMaximum> unit;
  };

 private:
  std::size_t count_;
};

struct Departure {
  Time host_free;          // when a nonblocking call returns to the program
  Time complete;           // when the send is complete at the sender (no handshake)
  bool handshake = false;  // completion needs the receiver: match() there, complete_send() here
  Stamp stamp;
};

/// The outcome of a message or an algorithm.
enum class Outcome : std::uint8_t {
  kOk,
  kTruncated,  // the message was longer than the receive
  kFault,      // the modelled protocol could not repair a fault
  kCancelled
};

/// The first step that fails gives an algorithm its outcome. The algorithm itself goes on, so that the other
/// ranks do not wait for ever.
inline void note(Outcome& outcome, Outcome step) {
  if (outcome == Outcome::kOk) outcome = step;
}

}  // namespace offramp
