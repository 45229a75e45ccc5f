// The Backend interface for the service processes and cards of all ranks: verdicts in dpu.cpp, messages in
// messages.cpp, collectives in collectives.cpp.
#pragma once

#include <optional>
#include <string_view>

#include "backends/dpu/parameters.hpp"
#include "backends/dpu/world_collectives.hpp"
#include "simulators/dpu/message.hpp"
#include "simulators/dpu/population.hpp"

namespace offramp::dpu {

/// Holds the state of all ranks' services. Used by the thread of its world or rank.
class DpuBackend final : public Backend {
 public:
  /// The context's sinks must outlive the backend.
  explicit DpuBackend(const BackendContext& context);

  [[nodiscard]] Verdict supports(const Operation& operation) const override;
  /// Longer messages stay in the sender's memory until the receiver's DPU reads them.
  [[nodiscard]] bool waits_for_receiver(const Transfer& transfer) const override {
    return static_cast<std::int64_t>(transfer.bytes) > driver_.eager_limit;
  }
  [[nodiscard]] DeliveryFault delivery_fault(const Transfer& transfer) override {
    return {repair_of_message(transfer, {}).gave_up};
  }
  [[nodiscard]] std::span<const ResourceDescription> resources() const override {
    return node_.descriptions();
  }
  /// The host hands the message to its service process.
  void issue(const Transfer& transfer, Passage& passage) override;
  void depart(const Transfer& transfer, Passage& passage, const Resources& sender) override;
  void answer(const Transfer& transfer, Passage& passage, const Resources& receiver) override {
    path_.answer(transfer, passage, receiver);
  }
  void transmit(const Transfer& transfer, Passage& passage, const Resources& sender) override {
    path_.transmit(transfer, passage, sender);
  }
  void arrive(const Transfer& transfer, Passage& passage, const Resources& receiver) override {
    path_.arrive(transfer, passage, receiver);
  }
  /// The flag in host memory is set; the program sees it at its next poll.
  Time receive(const Transfer& transfer, const Passage& passage, Time at, Matched matched) override;
  /// By a core of the host.
  [[nodiscard]] Time copy_time(std::size_t bytes) const override {
    return driver_.platform.card.core_copy.bytes(static_cast<std::int64_t>(bytes));
  }
  void count(const Transfer& transfer, const Passage& passage) override;
  [[nodiscard]] bool records() const override { return spans_ != nullptr; }
  void record_sender(const Transfer& transfer, const Passage& passage) override;
  /// A receive is a notification too.
  [[nodiscard]] Time post_receive_cost() const override { return path_.emit(); }
  Task<Outcome> collective(const Operation& operation, Team& team, CollectiveBuffers buffers) override;
  /// The communicator with this context was freed.
  void forget(std::uint64_t context) override;
  [[nodiscard]] WireCounters wire() const override;
  [[nodiscard]] std::string_view failure(std::uint8_t) const override {
    return "a notification was lost more often than the transport retransmits it";
  }

 private:
  /// The times at which the service is ready for a world rank.
  struct Ready {
    Time connected;
    Time populated;
  };
  /// Both are 0 unless the set-up is part of modelled time.
  Ready ready(int world_rank);
  /// Records the set-up for which an operation had to wait, as spans.
  void record_setup(const Ready& ready, Time issued, std::uint64_t operation, int rank);
  /// True if the first collective of this communicator fills its endpoint cache.
  [[nodiscard]] bool fills_a_cache(const Team& team) const;

  /// Each message has one number of the fault script per possible attempt.
  [[nodiscard]] Repair repair_of_message(const Transfer& transfer, Time at);
  /// A message crosses PCIe to the service process, and the network or the DPU's loopback.
  void count_notification(std::int64_t payload, bool by_process);
  /// Spans without a length are left out.
  void span(std::string_view unit, std::string_view what, Time begin, Time end, std::uint64_t operation,
            int rank);

  DriverSpec driver_;
  NodeResources node_;
  MessagePath path_;
  WorldCollectives shared_;
  std::optional<Start> start_;  // set on first use
  int ranks_;
  SpanSink* spans_;
  WireCounters wire_;
};

}  // namespace offramp::dpu
