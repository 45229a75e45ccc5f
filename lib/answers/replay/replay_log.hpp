// What a replay writes down of its ranks beside their counters, and hands on to an observer.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "lib/answers/replay/critical_path.hpp"
#include "lib/answers/replay/replay.hpp"
#include "simulators/world/world.hpp"

namespace offramp {

/// Times of hardware units and waits for messages where details are wanted.
class ReplayLog final : public WorldLog, public SpanSink {
 public:
  /// All outlive it.
  ReplayLog(const ReplayOptions& options, std::vector<ReplayedRank>& ranks);

  /// Those of a world that tells of itself here, if anything is wanted.
  [[nodiscard]] WorldOptions options();
  /// Once; the ranks' clocks are those at the end. Nothing without details, and where ranks have waited too
  /// often for the memory.
  [[nodiscard]] std::optional<CriticalPath> release_path();

  void record(const Span& span) override;
  void select_thread(int rank, std::uint32_t thread) override;
  void used(int rank, std::uint64_t operation) override;
  void began(std::uint64_t operation, const OperationFacts& facts) override;
  void add_part(int rank, std::uint64_t message, std::uint64_t collective) override;
  void host(int rank, std::uint64_t operation, std::string_view what, Time begin, Time end) override;
  void waited(int rank, const MessageWait& wait) override;
  void carried(const Network& network, std::size_t link, Time begin, Time end, Bandwidth rate) override;

 private:
  static constexpr std::size_t kMostWaits = std::size_t{1} << 24;  // of all ranks; half a gigabyte

  bool details_;
  ReplayObserver* observer_;
  SpanSink* spans_ = nullptr;  // the observer's
  std::vector<ReplayedRank>& ranks_;
  std::vector<std::vector<MessageWait>> waits_;  // by rank
  std::size_t waits_in_all_ = 0;
};

}  // namespace offramp
