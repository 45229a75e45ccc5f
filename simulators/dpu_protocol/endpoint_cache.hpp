// The endpoint cache of one engine: which service process serves which rank of a group ([dpu-service]
// Endpoint cache; its protocol: read in [dpu-service-src]).
//
// Join: each rank sends ADD (43) to its service process. Once a process has all of its ranks of the group, it
//   sends CACHE ENTRIES (41) to all other processes. Once all entries have arrived, it sends SERVICE PROCESS
//   DATA (46) and all entries (41) to its local ranks: the group is populated.
// Free: each rank sends REVOKE (44). Once a process has them from all of its ranks, it sends REVOKE (45) to
//   all others. The group ends once all ranks are revoked. Adds for its next incarnation wait until then.
//
// The class only decides and returns what must be sent. The service library sends it (cache_service.cpp), and
// the model of the service processes computes how long that takes (simulators/dpu/population.cpp). One
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "simulators/dpu_protocol/placement.hpp"

namespace offramp::dpu {

using GroupUid = std::uint32_t;

/// Hash of leader, communicator number, and world ranks. All members compute the same value.
GroupUid group_uid(std::uint32_t communicator, std::span<const int> world_ranks);

/// An engine's entry for one rank of a group.
struct CacheEntry {
  int world_rank = -1;
  int process = -1;  // global id
  int node = -1;
};

/// Messages that a step requires.
struct CacheActions {
  int entries_to_processes = 0;  // number of messages 41
  bool populated = false;        // complete with this step: 46 and 41 to the local ranks
  bool revoked = false;          // ended with this step: notify the local ranks
  bool refused = false;          // the message does not match the group
};

/// One incarnation of a group.
struct GroupDescription {
  GroupUid uid = 0;
  std::uint32_t incarnation = 1;  // distinguishes groups with the same uid
  std::vector<int> world_ranks;   // by group rank
};

/// The groups that one engine knows. At most one incarnation of each uid is in use.
class EndpointCache {
 public:
  /// process: global id of the owning service process. processes: their number in the job.
  EndpointCache(const Placement& placement, int process, int processes)
      : placement_(placement), process_(process), processes_(processes) {}

  /// A rank of this service process joins a group.
  CacheActions add_rank(const GroupDescription& group, int rank);
  /// Adds entries from another service process.
  CacheActions add_entries(const GroupDescription& group, std::span<const int> ranks);

  // For callers without a Placement: adds an explicit entry, or revokes an explicit rank.
  CacheActions add_entry(const GroupDescription& group, int rank, const CacheEntry& entry);
  CacheActions revoke_entry(GroupUid uid, std::uint32_t incarnation, int rank);
  /// Removes a group, even while it is in use. Returns false if it is unknown.
  bool forget(GroupUid uid);

  /// The group ranks that this service process serves, in order.
  [[nodiscard]] std::vector<int> own_ranks(const GroupDescription& group) const;

  // Lookups. They return -1, false, or an empty value while the group or rank is unknown.
  /// Returns whether the entries of all ranks have arrived.
  [[nodiscard]] bool populated(GroupUid uid) const;
  [[nodiscard]] int process_of(GroupUid uid, int rank) const;
  [[nodiscard]] int node_of(GroupUid uid, int rank) const;
  [[nodiscard]] bool on_same_process(GroupUid uid, int a, int b) const;
  [[nodiscard]] bool on_same_node(GroupUid uid, int a, int b) const;
  /// Returns process ids in ascending order, so that all processes have the same list.
  [[nodiscard]] std::vector<int> processes_of_group(GroupUid uid) const;
  [[nodiscard]] std::vector<int> nodes_of_group(GroupUid uid) const;
  [[nodiscard]] std::vector<int> ranks_of_process(GroupUid uid, int process) const;
  [[nodiscard]] std::vector<int> ranks_on_node(GroupUid uid, int node) const;
  [[nodiscard]] std::optional<std::uint32_t> incarnation(GroupUid uid) const;
  /// Returns null if the group is unknown.
  [[nodiscard]] const GroupDescription* description(GroupUid uid) const;
  [[nodiscard]] const CacheEntry* entry(GroupUid uid, int rank) const;

 private:
  struct Waiting {  // an add for the next incarnation
    GroupDescription group;
    std::vector<int> ranks;
    bool own = false;
    std::optional<CacheEntry> entry;
  };
  struct Group {
    /// The incarnation in use.
    GroupDescription description;
    std::vector<CacheEntry> entries;
    std::vector<int> own;  // ranks of this service process according to the placement
    std::vector<bool> revoked;
    int known = 0;
    int own_known = 0;
    int all_revoked = 0;
    std::vector<Waiting> waiting;
  };

  /// Returns the group in this incarnation. Null if the message was deferred or refused.
  Group* open(const GroupDescription& group, std::span<const int> ranks, bool own, CacheActions& actions,
              const std::optional<CacheEntry>& entry = std::nullopt);
  /// Null for a past or a future incarnation.
  Group* in_use(GroupUid uid, std::uint32_t incarnation);
  /// Returns false if the rank is not in the group, or already has an entry.
  bool enter(Group& group, int rank);
  static bool enter(Group& group, int rank, const CacheEntry& entry);
  /// Applies deferred adds, and collects their actions.
  void replay(const std::vector<Waiting>& waiting, CacheActions& actions);
  /// Returns false for a rank that is unknown or revoked already.
  bool leave(Group& group, int rank);
  /// Sets `populated` if the entries of all ranks are known.
  void check_populated(const Group& group, CacheActions& actions) const;
  void check_revoked(GroupUid uid, CacheActions& actions);
  [[nodiscard]] const Group* find(GroupUid uid) const;

  Placement placement_;
  int process_;
  int processes_;
  std::map<GroupUid, Group> groups_;
};

}  // namespace offramp::dpu
