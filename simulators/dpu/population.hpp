// Set-up: the connections of ranks to their service processes, and the endpoint cache of a communicator,
// which must be populated before operations are offloaded. Read in the source of dpu_offload_service:
// src/dpu_offload_service_daemon.c, dpu_offload_utils.c and dpu_offload_group_cache.c. Each service process
// runs the service's own cache (simulators/dpu_protocol/endpoint_cache.hpp), which decides what to send.
//
//   rank      ADD -> its service process; in start(): TCP connection and greetings, which include the ADD
//   process   has all of its ranks: CACHE ENTRIES -> every other service process of the job, one for each run
//             of consecutive ranks, in one meta-event per service process
//   process   has all entries: the whole table -> each of its ranks: populated
#pragma once

#include <vector>

#include "simulators/dpu/machine.hpp"
#include "simulators/dpu_protocol/endpoint_cache.hpp"

namespace offramp::dpu {

/// The population of one communicator's endpoint caches.
class Population {
 public:
  /// Notified when a member can offload operations.
  class Observer {
   public:
    /// The host of a member has received the table.
    virtual void populated(int member, Time at) = 0;

   protected:
    ~Observer() = default;
  };

  /// For machines on which no host replaces a service process. machine and observer must outlive this object.
  Population(const PlatformSpec& spec, const std::vector<Member>& members, Machine& machine,
             Observer& observer);

  /// The host of a member posts its ADD. Once per member.
  void add(int member, Time posted);
  /// Alternative to add() for all ranks of a job: connects the rank, which includes the ADD.
  void connect(int member, Time at);
  /// Handles an event. Returns false if it is not one of these.
  /// Its kinds are those from Offload::kOthers on.
  bool handle(const Machine::Event& event, Time at);

  /// Returns the time when a connecting member knows its service process.
  [[nodiscard]] Time connected(int member) const { return connected_[static_cast<std::size_t>(member)]; }

 private:
  enum SetupEventKind { kAdd, kEntries, kTable, kConnect, kWelcome, kHello, kProcessData };
  using RankRange = std::vector<int>;  // consecutive ranks of a service process
  /// A run of entries sent from one service process to another.
  struct Announced {
    int to = 0;
    int from = 0;
    int run = 0;
  };

  [[nodiscard]] static Machine::Event event(SetupEventKind kind, int subject);
  /// Arm time for handling entries: one step plus copying.
  Time handle_entries(int process, std::size_t entries, Time at);
  /// A service process receives an ADD.
  void on_addition(int member, Time at);
  /// announced: index in announced_.
  void on_entries(int announced, Time at);
  /// Sends the process's own entries to all others, once it has all of them.
  void notify_processes(int process, Time at);
  /// Sends the table to the process's ranks, once it is complete.
  void notify_ranks(int process, Time at);
  void accept(int member, Time at);
  void greet(int member, Time at);

  const PlatformSpec& spec_;
  Machine& machine_;
  Observer& observer_;
  GroupDescription group_;
  std::vector<EndpointCache> caches_;         // by service process
  std::vector<int> process_at_;               // by global id; -1: without members
  std::vector<std::vector<RankRange>> runs_;  // by service process, once it has sent them
  std::vector<Announced> announced_;
  std::vector<Time> connected_;
  bool starts_ = false;  // ranks connect
};

/// Result of the set-up before the first operation (MPI_Init).
struct Start {
  std::vector<Time> connected;  // by world rank: it knows its service process
  std::vector<Time> populated;  // by world rank: it has the table of all ranks
};
/// Simulates the set-up. All ranks begin at time 0, with all service processes running and connected.
Start start_service(const PlatformSpec& spec);

}  // namespace offramp::dpu
