// What a replay, or a forecast in a world, records of all its ranks: a trace, receipts of calls,
// packets, and the timeline of calls.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lib/answers/replay/timeline.hpp"
#include "lib/answers/report/capture.hpp"
#include "lib/answers/report/link_loads.hpp"
#include "lib/answers/report/receipts.hpp"
#include "lib/answers/report/trace.hpp"
#include "lib/answers/report/trace_file.hpp"

namespace offramp {

/// Memory is bounded, by what one rank may have and what all of them may: what comes after is counted only.
class ReplayRecords final : public ReplayObserver, private SpanSink, private PacketSink {
 public:
  static constexpr std::uint64_t kMostSpans = 16'000'000;  // of all ranks
  /// The same of what accounts are made from: a third of a gigabyte.
  static constexpr std::uint64_t kMostAccounted = 4'000'000;

  struct Wanted {
    bool trace = false;
    CallRange receipts = {};  // which calls of each rank
    bool capture = false;
    /// Receipts of all calls that are read here, in place of the others: what does not fit into memory ends
    /// them.
    bool accounts = false;
    bool timeline = false;
    [[nodiscard]] bool any() const { return trace || receipts.any() || capture || accounts || timeline; }
  };
  ReplayRecords(int ranks, const Wanted& wanted);

  [[nodiscard]] const Wanted& wanted() const { return wanted_; }

  // They return nothing, or why a file could not be written.
  [[nodiscard]] std::string write_trace(const std::string& path) const;
  /// This replay's part of a trace of several, whose place and processes it moves on.
  void write_trace(TraceFile& file, TracePlace& place) const;
  /// One file for each rank, see capture_path().
  [[nodiscard]] std::string write_captures(const std::string& path) const;
  /// After the replay; null: not wanted.
  [[nodiscard]] const Timeline* timeline();
  [[nodiscard]] Receipts receipts() const;
  /// What operations are about; with a trace or accounts.
  [[nodiscard]] const TraceFacts& facts() const { return facts_; }
  /// By name and level, in the order in which the first rank began them; with receipts.
  struct Phase {
    std::string name;
    std::int64_t level = 0;
    bool operator==(const Phase&) const = default;
  };
  [[nodiscard]] const std::vector<Phase>& phases() const { return phases_; }
  /// Places in the program, as Receipts::Call::site counts them; with accounts.
  [[nodiscard]] const std::vector<std::string>& sites() const { return sites_; }
  /// The entry "receipts" of a report: a JSON array.
  [[nodiscard]] std::string receipts_json() const;
  /// A line for each record that is full: "rank 3: the trace is full, without 17 more".
  [[nodiscard]] std::vector<std::string> dropped() const;
  /// These, and one for a capture without any packet.
  [[nodiscard]] std::vector<std::string> notes() const;

  [[nodiscard]] SpanSink* spans() override { return wanted_.trace || !receipts_.empty() ? this : nullptr; }
  [[nodiscard]] PacketSink* packets() override { return wanted_.capture ? this : nullptr; }
  [[nodiscard]] ReplayEvents* events() override { return timeline_ ? &*timeline_ : nullptr; }
  void enter(int rank) override;
  void leave(int rank, std::uint16_t function, std::string_view name, std::string_view site, Time begin,
             Time end) override;
  void phase(int rank, const ReplayPhase* phase) override;
  void select_thread(int rank, std::uint32_t thread) override;
  void used(int rank, std::uint64_t operation) override;
  void began(std::uint64_t operation, const OperationFacts& facts) override;
  void add_part(int rank, std::uint64_t message, std::uint64_t collective) override;
  void host(int rank, std::uint64_t operation, std::string_view what, Time begin, Time end) override;
  void carried(const Network& network, std::size_t link, Time begin, Time end, Bandwidth rate) override;

 private:
  std::uint32_t number_of_site(std::string_view site);
  void record(const Span& span) override;
  void record(const Packet& packet) override;
  [[nodiscard]] bool is_wanted(std::uint64_t operation) const {
    return wants_all_ || operations_.contains(operation);
  }
  void store(int rank, const Span& span);
  void store_receipt(int rank, const Span& span);
  [[nodiscard]] const char* name_of(std::uint16_t function, std::string_view name);

  Wanted wanted_;
  bool wants_all_;
  // By rank; empty: not wanted.
  std::vector<TraceRecorder> traces_;
  std::vector<ReceiptRecorder> receipts_;
  std::vector<CaptureRecorder> captures_;
  LinkLoadRecorder links_;  // for the trace
  TraceFacts facts_;        // of kMostSpans operations at most
  std::vector<Phase> phases_;
  std::vector<std::string> sites_;
  std::unordered_map<std::string, std::uint32_t> site_numbers_;
  std::vector<std::uint64_t> about_;  // by rank: the first operation of the current call; 0: none so far
  std::optional<Timeline> timeline_;
  std::uint64_t spans_ = 0;
  std::uint64_t accounted_ = 0;                   // spans of receipts
  std::uint64_t too_many_ = 0;                    // beyond kMostSpans
  std::unordered_set<std::uint64_t> operations_;  // those of wanted calls
  std::deque<std::string> names_;                 // of functions; they stay where they are
};

}  // namespace offramp
