// What the receipts of calls are made from: which calls there were, which operations each of them was about,
// and the spans of those operations. Recorded per rank, and kept in the report under "receipts"; one rank's
// receipt may need the spans of others, so they are put together by whoever reads the report (receipt.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/configuration.hpp"
#include "lib/core/operation_log.hpp"
#include "lib/report/trace.hpp"
#include "offramp/kernel/span.hpp"

namespace offramp {

/// One rank's. Memory is bounded: what comes after the limits is counted only. Thread rule: the session's.
class ReceiptRecorder final : public SpanSink, public OperationLog {
 public:
  static constexpr std::size_t kMostCalls = 200'000;
  static constexpr std::size_t kMostSpans = 1'000'000;

  /// next: gets every span and every message too; null: there is no trace.
  ReceiptRecorder(const CallRange& range, TraceRecorder* next) : range_(range), next_(next) {}

  /// The program is in a new call, which gets the next number. With threads several are open at once.
  std::uint64_t enter();
  /// What comes now belongs to this open call.
  void resume(std::uint64_t number) { current_ = number; }
  /// function: a literal.
  void leave(std::uint64_t number, const char* function, Time begin, Time end);

  void record(const Span& span) override;
  void used(std::uint64_t operation) override;
  void sent(std::uint64_t message, int destination) override {
    if (next_ != nullptr) next_->sent(message, destination);
  }
  void part(std::uint64_t message, std::uint64_t collective) override;
  void host(std::uint64_t operation, std::string_view what, Time begin, Time end) override;

  /// This rank's entry of the report: a JSON object.
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
  };

  [[nodiscard]] bool wanted() const { return range_.contains(current_); }
  template <typename Entry>
  void keep(std::vector<Entry>& list, const Entry& entry, std::size_t most) {
    list.size() < most ? list.push_back(entry) : static_cast<void>(++dropped_);
  }

  CallRange range_;
  TraceRecorder* next_;
  std::uint64_t calls_ = 0;
  std::uint64_t current_ = 0;
  std::vector<Ended> ended_;
  std::vector<Use> uses_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> parts_;
  std::vector<Span> spans_;
  std::uint64_t dropped_ = 0;
};

/// The unit of what the host did, as OperationLog tells it.
inline constexpr const char* kHostUnit = "host";

}  // namespace offramp
