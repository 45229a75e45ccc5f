// The endpoint cache of one engine: which service process serves which rank of a group, for every group
// ([dpu-service] Endpoint cache; its protocol: read in [dpu-service-src]).
//
//   rank -> its service process: ADD (43)
//   all of the group's ranks of that service process are there -> CACHE ENTRIES (41) to all others
//   all entries are there -> SERVICE PROCESS DATA (46) and all entries (41) to the local ranks: populated
//   free: REVOKE (44) from each rank; all of this service process's -> REVOKE (45) to all others; all ranks
//   of the group -> gone. Adds for the next incarnation wait meanwhile.
//
// Plain data and decisions; what is to be sent is returned. The service library sends it (cache_service.cpp),
// and the model of the service processes says how long it takes them (simulators/dpu/population.cpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "simulators/dpu_protocol/placement.hpp"

namespace offramp::dpu {

using GroupUid = std::uint32_t;

/// Hash of leader, communicator number and world ranks: every member computes the same.
GroupUid group_uid(std::uint32_t communicator, std::span<const int> world_ranks);

/// What an engine knows of one rank of a group.
struct CacheEntry {
  int world_rank = -1;
  int process = -1;  // global id
  int node = -1;
};

/// Messages that a step calls for.
struct CacheActions {
  int entries_to_processes = 0;      // 41, in total
  bool populated = false;            // now: 46 and 41 to the local ranks
  bool revoke_to_processes = false;  // 45
  bool revoked = false;              // now: the local ranks are told
  bool refused = false;              // the message does not belong to the group
};

/// A group in one incarnation.
struct GroupDescription {
  GroupUid uid = 0;
  std::uint32_t incarnation = 1;  // of the same uid
  std::vector<int> world_ranks;   // by rank of the group
};

class EndpointCache {
 public:
  /// process: the global id of the service process that keeps it; processes: of the job.
  EndpointCache(const Placement& placement, int process, int processes)
      : placement_(placement), process_(process), processes_(processes) {}

  /// A rank of this service process joins a group.
  CacheActions add_rank(const GroupDescription& group, int rank);
  /// Entries of another service process.
  CacheActions add_entries(const GroupDescription& group, std::span<const int> ranks);
  /// A rank of this service process leaves; another service process's ranks have left.
  CacheActions revoke_rank(GroupUid uid, std::uint32_t incarnation, int rank);
  CacheActions revoke_from_process(GroupUid uid, std::uint32_t incarnation, std::span<const int> ranks);

  // For those who do not rely on the placement, but are told: an entry as it is, and a rank that has left.
  CacheActions add_entry(const GroupDescription& group, int rank, const CacheEntry& entry);
  CacheActions revoke_entry(GroupUid uid, std::uint32_t incarnation, int rank);
  /// Forgets a group, whoever still uses it.
  bool forget(GroupUid uid);

  /// Ranks of a group that this service process serves, in order.
  [[nodiscard]] std::vector<int> own_ranks(const GroupDescription& group) const;

  // Lookups; nothing (-1, empty): the group or rank is not known yet.
  [[nodiscard]] bool populated(GroupUid uid) const;
  [[nodiscard]] int process_of(GroupUid uid, int rank) const;
  [[nodiscard]] int node_of(GroupUid uid, int rank) const;
  [[nodiscard]] bool on_same_process(GroupUid uid, int a, int b) const;
  [[nodiscard]] bool on_same_node(GroupUid uid, int a, int b) const;
  /// In the order of global ids, so identical everywhere.
  [[nodiscard]] std::vector<int> processes_of_group(GroupUid uid) const;
  [[nodiscard]] std::vector<int> nodes_of_group(GroupUid uid) const;
  [[nodiscard]] std::vector<int> ranks_of_process(GroupUid uid, int process) const;
  [[nodiscard]] std::vector<int> ranks_on_node(GroupUid uid, int node) const;
  [[nodiscard]] std::optional<std::uint32_t> incarnation(GroupUid uid) const;
  /// Null: unknown.
  [[nodiscard]] const GroupDescription* description(GroupUid uid) const;
  [[nodiscard]] const CacheEntry* entry(GroupUid uid, int rank) const;

 private:
  struct Waiting {  // for the next incarnation
    GroupDescription group;
    std::vector<int> ranks;
    bool own = false;
    std::optional<CacheEntry> entry;
  };
  struct Group {
    GroupDescription description;
    std::vector<CacheEntry> entries;
    std::vector<int> own;  // ranks of this service process, by the placement
    std::vector<bool> revoked;
    int known = 0;
    int own_known = 0;
    int own_revoked = 0;
    int all_revoked = 0;
    std::vector<Waiting> waiting;
  };

  /// The group in this incarnation; null: the message has to wait, or (refused) is not for it.
  Group* open(const GroupDescription& group, std::span<const int> ranks, bool own, CacheActions& actions,
              const std::optional<CacheEntry>& entry = std::nullopt);
  Group* in_use(GroupUid uid, std::uint32_t incarnation);
  bool enter(Group& group, int rank);
  static bool enter(Group& group, int rank, const CacheEntry& entry);
  void replay(const std::vector<Waiting>& waiting, CacheActions& actions);
  bool leave(Group& group, int rank);
  void check_populated(const Group& group, CacheActions& actions) const;
  void check_revoked(GroupUid uid, CacheActions& actions);
  [[nodiscard]] const Group* find(GroupUid uid) const;

  Placement placement_;
  int process_;
  int processes_;
  std::map<GroupUid, Group> groups_;
};

}  // namespace offramp::dpu
