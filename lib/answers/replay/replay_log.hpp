// What a replay logs beyond the ranks' counters, and passes on to an observer.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "lib/answers/replay/critical_path.hpp"
#include "lib/answers/replay/replay.hpp"
#include "simulators/world/world.hpp"

namespace offramp {

/// Collects times of hardware units and waits for messages if details are wanted.
/// Called by the world's thread only.
class ReplayLog final : public WorldLog, public SpanSink {
 public:
  /// All arguments must outlive it.
  ReplayLog(const ReplayOptions& options, std::vector<ReplayedRank>& ranks);

  /// Options of a world that reports to this log, as far as anything is wanted.
  [[nodiscard]] WorldOptions options();
  /// Call once, when the ranks' clocks are final. `nullopt` without details, or after too many waits.
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
  static constexpr std::size_t kMostWaits = std::size_t{1} << 24;  // over all ranks; half a gigabyte

  bool details_;
  ReplayObserver* observer_;
  SpanSink* spans_ = nullptr;  // the observer's
  std::vector<ReplayedRank>& ranks_;
  std::vector<std::vector<MessageWait>> waits_;  // by rank
  std::size_t waits_in_all_ = 0;
};

}  // namespace offramp
