// Setting up: the connections of ranks with their service processes, and the endpoint cache of a
// communicator, without which no operation on it is offloaded. Read in the source of dpu_offload_service:
// src/dpu_offload_service_daemon.c, dpu_offload_utils.c and dpu_offload_group_cache.c. Each service process
// runs the service's own cache (simulators/dpu_protocol/endpoint_cache.hpp), which decides what is told to
// whom.
//
//   rank      ADD -> its service process; in start(): TCP connection, greetings both ways, which add the rank
//   process   all of its ranks are there: CACHE ENTRIES -> every other service process of the job, one for
//             each run of ranks that follow each other, in a meta-event for each service process
//   process   all entries are there: the whole table -> each of its ranks: populated
#pragma once

#include <memory>
#include <vector>

#include "simulators/dpu/machine.hpp"
#include "simulators/dpu_protocol/endpoint_cache.hpp"

namespace offramp::dpu {

class Population {
 public:
  class Observer {
   public:
    /// The host of a member has the table.
    virtual void populated(int member, Time at) = 0;

   protected:
    ~Observer() = default;
  };

  /// On a machine that has no members whose hosts work for a service process. machine and observer outlive
  /// it.
  Population(const PlatformSpec& spec, const std::vector<Member>& members, Machine& machine,
             Observer& observer);

  /// The host of a member hands over its addition; each member once.
  void add(int member, Time posted);
  /// Instead: it connects, which adds it. Of all ranks of a job.
  void connect(int member, Time at);
  /// An event of the machine; false: it is not one of these.
  bool take(const Machine::Event& event, Time at);

  /// When a member that connects knows its service process.
  [[nodiscard]] Time connected(int member) const { return connected_[static_cast<std::size_t>(member)]; }

 private:
  enum Kind { kAdd, kEntries, kTable, kConnect, kWelcome, kHello, kProcessData };
  using Run = std::vector<int>;  // ranks of a service process that follow each other
  /// Told by one service process to another.
  struct Told {
    int to = 0;
    int from = 0;
    int run = 0;
  };

  [[nodiscard]] static Machine::Event event(Kind kind, int subject);
  /// Arm's work for so many entries: a step, and to copy them.
  Time handle_entries(int process, std::size_t entries, Time at);
  void take_addition(int member, Time at);
  void take_entries(int told, Time at);
  void tell_processes(int process, Time at);
  void tell_ranks(int process, Time at);
  void accept(int member, Time at);
  void greet(int member, Time at);

  const PlatformSpec& spec_;
  Machine& machine_;
  Observer& observer_;
  GroupDescription group_;
  std::vector<EndpointCache> caches_;   // by service process
  std::vector<int> process_at_;         // by global id; -1: none of its ranks are members
  std::vector<std::vector<Run>> runs_;  // by service process, once it has told them
  std::vector<Told> told_;
  std::vector<Time> connected_;
  bool starts_ = false;  // ranks connect
};

/// Setting up before the first operation: MPI_Init.
struct Start {
  std::vector<Time> connected;  // by world rank: it knows its service process
  std::vector<Time> populated;  // it has the table of all ranks
};
/// All ranks of the job begin at time 0, when all service processes are there and know each other.
Start start_service(const PlatformSpec& spec);

}  // namespace offramp::dpu
