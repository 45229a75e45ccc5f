// What the receipts of calls are made from: which calls there were, which operations each of them was about,
// and the spans of those operations. Recorded per rank, and kept in the report under "receipts"; one rank's
// receipt may need the spans of others, so the reader of the report combines them (receipt.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lib/answers/report/receipt.hpp"
#include "lib/base/configuration/configuration.hpp"
#include "offramp/kernel/span.hpp"

namespace offramp {

/// One rank's. Memory is bounded: what comes after the limits is counted only. Not thread safe.
class ReceiptRecorder {
 public:
  static constexpr std::size_t kMostCalls = 200'000;
  static constexpr std::size_t kMostSpans = 1'000'000;

  explicit ReceiptRecorder(const CallRange& range) : range_(range) {}

  /// What follows is of the calls of this thread of the program.
  void select_thread(std::uint32_t thread);
  /// The program is in a new call, which gets the next number.
  void enter() { current_ = ++calls_; }
  /// It has ended: what comes now belongs to none. function: a literal.
  void leave(const char* function, std::uint32_t site, Time begin, Time end);
  /// Ends the call without a receipt.
  void leave() { current_ = 0; }
  /// Calls that end from now on are in this phase of the program; 0: in none.
  void phase(std::uint32_t number) { phase_ = number; }
  /// The current call began this operation, or learned that it is complete.
  void used(std::uint64_t operation);

  /// Whether the receipt of the current call is wanted.
  [[nodiscard]] bool is_wanted() const { return range_.contains(current_); }
  // Whatever the current call is.
  void store(const Span& span) {
    if (span.operation != 0 && span.end > span.begin) store(spans_, span, kMostSpans);
  }
  void store_part(std::uint64_t message, std::uint64_t collective) {
    store(parts_, {message, collective}, kMostSpans);
  }

  /// What is kept, and the same as this rank's entry of the report: a JSON object.
  [[nodiscard]] Receipts::Rank entry() const;
  [[nodiscard]] std::string json(int rank) const;
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  struct Use {
    std::uint64_t call;
    std::uint64_t operation;
  };
  struct Ended {
    std::uint64_t number;
    const char* function;
    Time begin;
    Time end;
    std::uint32_t phase;
    std::uint32_t site;
  };

  template <typename Entry>
  void store(std::vector<Entry>& list, const Entry& entry, std::size_t most) {
    list.size() < most ? list.push_back(entry) : static_cast<void>(++dropped_);
  }

  CallRange range_;
  std::uint64_t calls_ = 0;
  std::uint64_t current_ = 0;
  std::uint32_t thread_ = 0;
  std::uint32_t phase_ = 0;
  std::vector<std::uint64_t> others_;  // current_ of the other threads
  std::vector<Ended> ended_;
  std::vector<Use> uses_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> parts_;
  std::vector<Span> spans_;
  std::uint64_t dropped_ = 0;
};

/// The unit of the host's spans in a WorldLog.
inline constexpr const char* kHostUnit = "host";

}  // namespace offramp
