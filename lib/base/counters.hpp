// Statistics of a rank's operations: calls per function, carriers, reasons of declines, and times. A run
// counts the operations that it carries, a replay those that it replays. Used by the rank's thread.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "offramp/kernel/counter_field.hpp"
#include "offramp/model/backend.hpp"
#include "simulators/world/routing.hpp"

namespace offramp {

/// Counts of one MPI function: calls, then operations by carrier.
struct CallCounter {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offloaded = 0;
  std::uint64_t declined = 0;
  std::uint64_t routed = 0;  // a route selected another backend than the default
  std::uint64_t native = 0;
  Time modelled;
  Time unmodelled = {};  // the part of `modelled` in calls without a model, which last as long as natively
  Time outside = {};     // the part of `unmodelled` in communication with processes outside of the program
  std::uint64_t bytes_outside = 0;  // which they sent

  /// Counts one operation by its carrier.
  void note(Handling handling) {
    ++(handling == Handling::kDeclined ? declined : handling == Handling::kOffloaded ? offloaded : routed);
  }
  /// A call may be several operations, or none.
  [[nodiscard]] std::uint64_t operations() const { return offloaded + declined + routed + native; }
  /// Adds another rank's counts of the same function.
  CallCounter& operator+=(const CallCounter& other);
};

/// All fields except the times.
inline constexpr CounterField<CallCounter> kCallFields[] = {
    {"count", "calls", "of the function", &CallCounter::count},
    {"bytes", "bytes", "of their messages", &CallCounter::bytes},
    {"offloaded", "operations", "carried by the backend", &CallCounter::offloaded},
    {"declined", "operations", "declined by the backend and carried by the host", &CallCounter::declined},
    {"routed", "operations", "sent to another backend by a route", &CallCounter::routed},
    {"native", "operations", "left to the MPI library", &CallCounter::native},
};

/// Dependences of modelled time on real time: the arrival order of messages, or the moment of a poll.
enum class Dependence : std::uint8_t {
  kUnnamedSource,  // a receive or a probe with a wildcard source
  kPolling,        // a failed poll
  kChoice,         // MPI_Waitany, MPI_Waitsome, and the like
  kCount
};

/// Modelled time in MPI calls, by carrier: time to start operations and to complete them. The MPI library's
/// internal synchronisation is excluded.
struct OperationTimes {
  Time carried;   // by the selected hardware
  Time routed;    // by other hardware, selected by a route
  Time declined;  // by the host, after the hardware declined

  OperationTimes& operator+=(const OperationTimes& other) {
    carried += other.carried;
    routed += other.routed;
    declined += other.declined;
    return *this;
  }
  /// Adds time to the carrier's sum. An operation of the MPI library has no modelled time.
  void add(Handling handling, Time spent) {
    (handling == Handling::kOffloaded  ? carried
     : handling == Handling::kDeclined ? declined
                                       : routed) += spent;
  }
};

/// All statistics of a rank. Added up over ranks by +=.
struct Counters {
  std::vector<CallCounter> calls;  // by function number, as defined by the MPI layer
  OperationTimes times;            // of a replay
  std::map<std::pair<std::string, std::string>, std::uint64_t> declines;  // by operation and reason
  std::array<std::uint64_t, static_cast<std::size_t>(Dependence::kCount)> dependences{};
  std::uint64_t given_up = 0;  // messages and collectives with faults beyond the protocol's repair

  /// The counter of a function, created on first use.
  [[nodiscard]] CallCounter& counter_of(std::size_t function) {
    if (function >= calls.size()) calls.resize(function + 1);
    return calls[function];
  }
  /// Adds another rank's statistics. Both have the same function numbers.
  Counters& operator+=(const Counters& other);
  /// 0 means that the result does not depend on real time.
  [[nodiscard]] std::uint64_t arrival_order_dependences() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : dependences) sum += count;
    return sum;
  }
};

/// Operations by size class, with their time on the host clock, for the report.
class SizeTable {
 public:
  /// Sends and receives are counted apart, since both ends see a message.
  enum class OperationClass : std::uint8_t { kSend, kReceive, kCollective, kAccess, kCount };
  /// The sums of one class.
  struct Entry {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    Time modelled;
  };
  static constexpr std::size_t kKinds = static_cast<std::size_t>(OperationClass::kCount);
  static constexpr std::size_t kClasses = 65;  // 0 bytes, 1, 2 to 3, 4 to 7, ...

  /// bytes: as in Operation.
  void add(OperationClass kind, std::uint64_t bytes, Time spent) {
    Entry& entry = at(kind, bytes);
    ++entry.count;
    entry.bytes += bytes;
    entry.modelled += spent;
  }
  /// Adds time to an operation that is already counted.
  void add_time(OperationClass kind, std::uint64_t bytes, Time spent) {
    if (spent > Time()) at(kind, bytes).modelled += spent;
  }
  /// Both arguments are indices, for loops over all entries.
  [[nodiscard]] const Entry& entry(std::size_t kind, std::size_t size_class) const {
    return entries_[kind][size_class];
  }

 private:
  /// The class is the number of bits of the size.
  Entry& at(OperationClass kind, std::uint64_t bytes) {
    return entries_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(std::bit_width(bytes))];
  }
  std::array<std::array<Entry, kClasses>, kKinds> entries_;
};

/// Counts declines. Caches the last counter, so that repeated declines avoid the map lookup.
class DeclineCounter {
 public:
  /// counters: always the same object. reason: a literal.
  void count(Counters& counters, OperationKind kind, std::string_view reason);

 private:
  std::string_view last_reason_;
  OperationKind last_kind_ = OperationKind::kCount;
  /// Refers to an entry of the counters, which maps keep in place.
  std::uint64_t* last_count_ = nullptr;
};

}  // namespace offramp
