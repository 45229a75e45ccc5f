// Messages of many ranks in one machine: every fragment and every credit crosses one network. The tests
// compare a world's resources for messages that share units with it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "backends/tinsel/configuration.hpp"

namespace offramp::tinsel {

class Flows final : public Software {
 public:
  /// Reports the events of a message when they happen.
  struct Events {
    std::function<void(std::uint32_t flow, Time sent)> sent;
    std::function<void(std::uint32_t flow, Time first, Time last)> arrived;
  };

  Flows(const Configuration& configuration, Events events);

  /// Queues a message behind the rank's earlier ones. begin: not before now.
  std::uint32_t send(int from, int to, std::uint64_t bytes, Time begin);
  /// Runs until no events are left; false if the hardware stopped.
  bool run() { return machine_.run(); }
  [[nodiscard]] Time now() const { return machine_.now(); }
  /// Counted like a run's messages: packets on links, and on a single board those of the network on chip.
  [[nodiscard]] WireCounters wire() const;

  void delivered(const Delivery& delivery) override;
  void timer(Time at, std::uint64_t cookie) override;

 private:
  enum Kind : std::uint64_t { kSource, kReading };
  struct Flow {
    int from = 0;
    int to = 0;
    std::uint64_t bytes = 0;
    std::uint64_t fragments = 0;
    std::uint64_t sent = 0;
    std::uint64_t read = 0;
    std::uint64_t allowed = 0;
    Time begin;
    Time first;
    Time last;
  };
  struct Rank {
    Arbiter source;
    Arbiter engine;
    std::deque<std::uint32_t> flows;
    bool waiting = false;  // for its timer, which is set to this time:
    Time wakes;
  };
  struct Reading {
    std::uint32_t flow = 0;
    std::uint32_t slot = 0;
    int flits = 1;
  };

  [[nodiscard]] Time latency(std::int64_t count) const;
  [[nodiscard]] Time interval(std::int64_t count) const;
  void inject(Time at, int from, int to, const MailboxMessage& message);
  void wake(int rank, Time at);
  void send_next(int rank, Time at);
  void read(const Reading& reading, Time at);
  void credited(const Delivery& delivery);

  const Configuration& configuration_;
  Events events_;
  Machine machine_;
  std::uint64_t on_chip_ = 0;  // packets that stay on a board
  std::vector<Flow> flows_;
  std::vector<Rank> ranks_;
  std::vector<Reading> readings_;
  std::vector<std::uint32_t> unused_;
};

}  // namespace offramp::tinsel
