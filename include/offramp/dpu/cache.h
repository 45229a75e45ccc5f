/* The endpoint cache of the offload service library: which service process serves which rank of a group.
 *
 * A rank tells its service process that it is in a group (for the group of its rank_info_t: by connecting);
 * the service processes tell each other, and, when all ranks are known, their ranks. A group is gone when all
 * its ranks have revoked it; then its number may be used again with the next group_seq_num, and adds for that
 * one that came early take effect. See types.h for threads. */
#ifndef OFFRAMP_DPU_CACHE_H
#define OFFRAMP_DPU_CACHE_H

#include <offramp/dpu/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A number for a group, the same on all members: hash of leader, communicator and world ranks. */
OFFRAMP_DPU_API uint32_t offload_group_uid(uint32_t communicator, const int32_t* world_ranks, size_t n);

/* Host: joins a further group. world_ranks: of its group_size members, by rank in the group; NULL: 0, 1, ...
 * The notification is sent by an event that is returned by itself. */
OFFRAMP_DPU_API dpu_offload_status_t send_add_group_rank_request(execution_context_t* econtext,
                                                                 const rank_info_t* rank,
                                                                 const int32_t* world_ranks);
/* Host: leaves a group. The host's cache forgets it when all members have left. */
OFFRAMP_DPU_API dpu_offload_status_t send_revoke_group_rank_request(execution_context_t* econtext,
                                                                    const rank_info_t* rank);
/* Asks a service process for what it knows of a group now, or for one rank, which is answered when it is
 * known. The answers go into the cache of this engine, also when it is not in the group. ep NULL: the server
 * of a client context; a service process names one of another. */
OFFRAMP_DPU_API dpu_offload_status_t send_cache_request(execution_context_t* econtext, offload_ep_t* ep,
                                                        int64_t group_id);
OFFRAMP_DPU_API dpu_offload_status_t send_cache_entry_request(execution_context_t* econtext, offload_ep_t* ep,
                                                              int64_t group_id, int64_t rank);
/* Forgets a group in this engine only. */
OFFRAMP_DPU_API dpu_offload_status_t revoke_group_cache(offloading_engine_t* engine, int64_t group_id);

/* --- Lookups --- */

/* All ranks of the group are known here. */
OFFRAMP_DPU_API bool group_cache_populated(offloading_engine_t* engine, int64_t group_id);
OFFRAMP_DPU_API bool is_in_cache(offloading_engine_t* engine, int64_t group_id, int64_t rank);
/* DO_NOT_APPLICABLE: not known yet; progress and ask again. */
OFFRAMP_DPU_API dpu_offload_status_t get_sp_id_by_group_rank(offloading_engine_t* engine, int64_t group_id,
                                                             int64_t rank, int64_t* global_id);
/* All three are needed to emit. DO_NOT_APPLICABLE: no connection: a host has one to its own service process.
 */
OFFRAMP_DPU_API dpu_offload_status_t get_sp_ep_by_id(offloading_engine_t* engine, uint64_t global_id,
                                                     offload_ep_t** ep, execution_context_t** econtext,
                                                     uint64_t* dest_id);
/* The same for any service process, also from a host, which connects to it when this is asked first.
 * DO_NOT_APPLICABLE: progress and ask again (a host knows where they are when one of its groups is
 * populated); DO_PEER_LOST: the connection has ended. */
OFFRAMP_DPU_API dpu_offload_status_t get_remote_sp_ep_by_id(offloading_engine_t* engine, uint64_t global_id,
                                                            offload_ep_t** ep,
                                                            execution_context_t** econtext);
OFFRAMP_DPU_API bool on_same_sp(offloading_engine_t* engine, int64_t group_id, int64_t a, int64_t b);
OFFRAMP_DPU_API bool on_same_host(offloading_engine_t* engine, int64_t group_id, int64_t a, int64_t b);
/* -1: not known. */
OFFRAMP_DPU_API int64_t get_group_rank_host(offloading_engine_t* engine, int64_t group_id, int64_t rank);
/* In the order of the list of DPUs. Fills at most max numbers; returns how many there are, 0 until the group
 * is populated. */
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
