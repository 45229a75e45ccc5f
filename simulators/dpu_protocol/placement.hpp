// Maps ranks to nodes, DPUs, and service processes ([dpu-service] DPU service processes; the local id by
// local rank is read in [dpu-service-src]).
#pragma once

namespace offramp::dpu {

/// World ranks fill the nodes block by block. With several DPUs per host, local ranks fill all service
/// processes of the first DPU, then those of the next (inferred: published for one DPU).
struct Placement {
  int ranks_per_node = 1;
  int processes = 1;
  int dpus = 1;
  int links = 1;  // per DPU

  [[nodiscard]] int node(int world_rank) const { return world_rank / ranks_per_node; }
  /// The rank's index on its node.
  [[nodiscard]] int local_rank(int world_rank) const { return world_rank % ranks_per_node; }
  [[nodiscard]] int per_node() const { return dpus * processes; }
  /// The rank's service process among those of its DPU.
  [[nodiscard]] int local_id(int world_rank) const { return local_rank(world_rank) % processes; }
  /// The rank's service process. Processes are numbered node by node.
  [[nodiscard]] int global_id(int world_rank) const {
    return node(world_rank) * per_node() + local_rank(world_rank) % per_node();
  }
  /// Ranks of a DPU use its links round-robin (inferred: published for one link).
  [[nodiscard]] int link(int world_rank) const {
    const int local = local_rank(world_rank);
    return (local / per_node() * processes + local % processes) % links;
  }
  /// DPUs are numbered node by node.
  [[nodiscard]] int dpu_of_process(int global_id) const { return global_id / processes; }
  [[nodiscard]] int dpu(int world_rank) const { return dpu_of_process(global_id(world_rank)); }
  [[nodiscard]] int node_of_process(int global_id) const { return global_id / per_node(); }
  [[nodiscard]] int nodes(int ranks) const { return (ranks + ranks_per_node - 1) / ranks_per_node; }
  /// The number of ranks that a service process expects. local_ranks, which: ranks and its index on the node.
  [[nodiscard]] int expected_ranks(int local_ranks, int which) const {
    return local_ranks / per_node() + (which < local_ranks % per_node() ? 1 : 0);
  }
  /// Lower global ids connect to higher ones.
  [[nodiscard]] static int inbound(int global_id) { return global_id; }
  [[nodiscard]] static int outbound(int global_id, int all) { return all - 1 - global_id; }
  /// The host uses the slot after all service processes.
  [[nodiscard]] static int host_slot(int all) { return all; }
};

}  // namespace offramp::dpu
