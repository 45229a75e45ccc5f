/* The endpoint cache of the offload service library: maps each rank of a group to its service process.
 *
 * A rank announces its membership to its service process; for the group in its rank_info_t, connecting does
 * so. Service processes announce groups to each other, and their ranks once all are known. A group ends when
 * all its ranks have revoked it. Its number can then be reused with the next group_seq_num; add requests that
 * arrived early for it take effect at that point. See types.h for threads. */
#ifndef OFFRAMP_DPU_CACHE_H
#define OFFRAMP_DPU_CACHE_H

#include <offramp/dpu/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A group number that is equal on all members: a hash of leader, communicator, and world ranks. */
OFFRAMP_DPU_API uint32_t offload_group_uid(uint32_t communicator, const int32_t* world_ranks, size_t n);

/* Host: joins another group. world_ranks has group_size entries, indexed by rank in the group; NULL means 0,
 * 1, ... The library returns the event that carries the notification. */
OFFRAMP_DPU_API dpu_offload_status_t send_add_group_rank_request(execution_context_t* econtext,
                                                                 const rank_info_t* rank,
                                                                 const int32_t* world_ranks);
/* Host: leaves a group. The host's cache drops the group when all members have left. */
OFFRAMP_DPU_API dpu_offload_status_t send_revoke_group_rank_request(execution_context_t* econtext,
                                                                    const rank_info_t* rank);
/* Requests the current entries of a group from a service process, or the entry of one rank, which is sent
 * once it is known. The answers enter this engine's cache, even if the engine is outside the group. ep NULL:
 * the server of a client context; a service process passes the endpoint of another one. */
OFFRAMP_DPU_API dpu_offload_status_t send_cache_request(execution_context_t* econtext, offload_ep_t* ep,
                                                        int64_t group_id);
OFFRAMP_DPU_API dpu_offload_status_t send_cache_entry_request(execution_context_t* econtext, offload_ep_t* ep,
                                                              int64_t group_id, int64_t rank);
/* Drops a group from this engine's cache only. DO_NOT_APPLICABLE: the group is unknown. */
OFFRAMP_DPU_API dpu_offload_status_t revoke_group_cache(offloading_engine_t* engine, int64_t group_id);

/* --- Lookups --- */

/* True once all ranks of the group are in the cache. */
OFFRAMP_DPU_API bool group_cache_populated(offloading_engine_t* engine, int64_t group_id);
/* True if the service process of the rank is known. */
OFFRAMP_DPU_API bool is_in_cache(offloading_engine_t* engine, int64_t group_id, int64_t rank);
/* Returns DO_NOT_APPLICABLE while the rank is unknown: progress and retry. */
OFFRAMP_DPU_API dpu_offload_status_t get_sp_id_by_group_rank(offloading_engine_t* engine, int64_t group_id,
                                                             int64_t rank, int64_t* global_id);
/* Returns the three values that an emit needs. DO_NOT_APPLICABLE: no connection; a host is connected to its
 * own service process only. */
OFFRAMP_DPU_API dpu_offload_status_t get_sp_ep_by_id(offloading_engine_t* engine, uint64_t global_id,
                                                     offload_ep_t** ep, execution_context_t** econtext,
                                                     uint64_t* dest_id);
/* Returns the endpoint of any service process. On a host, the first call starts the connection.
 * DO_NOT_APPLICABLE: progress and retry; a host learns the addresses when one of its groups is populated.
 * DO_PEER_LOST: the connection has ended. */
OFFRAMP_DPU_API dpu_offload_status_t get_remote_sp_ep_by_id(offloading_engine_t* engine, uint64_t global_id,
                                                            offload_ep_t** ep,
                                                            execution_context_t** econtext);
/* True if both ranks are known and have the same service process, or the same host. */
OFFRAMP_DPU_API bool on_same_sp(offloading_engine_t* engine, int64_t group_id, int64_t a, int64_t b);
OFFRAMP_DPU_API bool on_same_host(offloading_engine_t* engine, int64_t group_id, int64_t a, int64_t b);
/* Returns -1 if the host is unknown. */
OFFRAMP_DPU_API int64_t get_group_rank_host(offloading_engine_t* engine, int64_t group_id, int64_t rank);
/* The following functions fill at most max entries and return the total number, which is 0 until the group is
 * populated. Hosts are in the order of the list of DPUs. */
OFFRAMP_DPU_API size_t get_all_hosts_by_group(offloading_engine_t* engine, int64_t group_id, int64_t* hosts,
                                              size_t max);
OFFRAMP_DPU_API size_t get_all_sps_by_group(offloading_engine_t* engine, int64_t group_id,
                                            int64_t* global_ids, size_t max);
OFFRAMP_DPU_API size_t get_all_ranks_by_group_sp_gid(offloading_engine_t* engine, int64_t group_id,
                                                     uint64_t global_id, int64_t* ranks, size_t max);
OFFRAMP_DPU_API size_t get_group_ranks_on_host(offloading_engine_t* engine, int64_t group_id, int64_t host,
                                               int64_t* ranks, size_t max);

#ifdef __cplusplus
}
#endif
#endif
