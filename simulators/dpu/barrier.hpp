// A barrier of the service processes: each collects its ranks' arrivals, exchanges tokens with the others in
// rounds (dissemination), and notifies its ranks. Inferred; published: a barrier between DPUs, and its
// position.
#pragma once

#include <vector>

#include "simulators/dpu/collective.hpp"

namespace offramp::dpu {

/// A barrier in progress.
class Barrier final : public Offload {
 public:
  Barrier(const PlatformSpec& spec, const CollectiveRequest& request, const std::vector<bool>& host_run,
          EventSink* event_sink, Observer* observer);

 private:
  /// A service process and its ranks.
  struct Process {
    std::vector<int> ranks;
    int missing = 0;
    int round = -1;              // round of the last token sent; -1: ranks are missing
    std::vector<bool> received;  // tokens received, by round
  };

  void handle(const Machine::Event& event, Time at) override {
    event.kind == kArrive ? arrive(event.subject, at) : on_token(event.subject, at);
  }
  /// The service process receives a rank's arrival.
  void arrive(int rank, Time at);
  /// token: the receiving process and the round, as one number.
  void on_token(int token, Time at);
  /// Continues with the next round, and at the end notifies the ranks.
  void advance(int process, Time at);

  static constexpr int kToken = kArrive + 1;

  std::vector<Process> processes_;
  int rounds_ = 0;
};

}  // namespace offramp::dpu
