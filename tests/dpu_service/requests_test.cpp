// Requests for the cache, endpoints of other service processes, several DPUs per host, and platforms without
// a file.
#include <cstdlib>

#include "tests/dpu_service/in_process.hpp"

namespace offramp::dpu_service {
namespace {

class Requests : public InProcess {
 protected:
  void start(int ranks) {
    for (int id = 0; id < 4; ++id) process(id);
    turn();
    for (int id = 0; id < 4; ++id) servers.push_back(open_to_ranks(id));
    for (int rank = 0; rank < ranks; ++rank) hosts.push_back(rank_of(rank, 4, 8));
    turn();
  }
  std::vector<execution_context_t*> servers;
  std::vector<execution_context_t*> hosts;
};

TEST_F(Requests, AnEntryIsAnsweredNowOrWhenItIsKnown) {
  start(5);
  offloading_engine_t* const asking = hosts[0]->engine;
  ASSERT_FALSE(group_cache_populated(asking, 1));
  EXPECT_FALSE(is_in_cache(asking, 1, 4));
  ASSERT_EQ(send_cache_entry_request(hosts[0], nullptr, 1, 4), DO_SUCCESS);
  ASSERT_EQ(send_cache_entry_request(hosts[0], nullptr, 1, 7), DO_SUCCESS);
  turn();
  int64_t id = -1;
  EXPECT_EQ(get_sp_id_by_group_rank(asking, 1, 4, &id), DO_SUCCESS);
  EXPECT_EQ(id, 2);
  EXPECT_FALSE(is_in_cache(asking, 1, 7)) << "it has not joined";
  EXPECT_FALSE(is_in_cache(asking, 1, 3)) << "it was not asked for";
  rank_of(7, 4, 8);
  turn();
  EXPECT_EQ(get_sp_id_by_group_rank(asking, 1, 7, &id), DO_SUCCESS);
  EXPECT_EQ(id, 3);
}

TEST_F(Requests, AGroupIsAnsweredAsFarAsItIsKnown) {
  start(3);
  offloading_engine_t* const asking = hosts[2]->engine;
  ASSERT_EQ(send_cache_request(hosts[2], nullptr, 1), DO_SUCCESS);
  ASSERT_EQ(send_cache_request(hosts[2], nullptr, 77), DO_SUCCESS) << "an unknown group: no answer";
  turn();
  for (int rank = 0; rank < 8; ++rank) EXPECT_EQ(is_in_cache(asking, 1, rank), rank < 3) << rank;
  // Service processes send requests to each other, too.
  offload_ep_t* ep = nullptr;
  execution_context_t* context = nullptr;
  uint64_t dest = 0;
  ASSERT_EQ(get_sp_ep_by_id(engines[3], 0, &ep, &context, &dest), DO_SUCCESS);
  ASSERT_EQ(revoke_group_cache(engines[3], 1), DO_SUCCESS);
  ASSERT_EQ(send_cache_request(context, ep, 1), DO_SUCCESS);
  turn();
  EXPECT_TRUE(is_in_cache(engines[3], 1, 2));
}

TEST_F(Requests, WithoutAReceiverAreErrors) {
  start(1);
  EXPECT_EQ(send_cache_request(nullptr, nullptr, 1), DO_ERROR);
  EXPECT_EQ(send_cache_request(hosts[0]->engine->self_econtext, nullptr, 1), DO_ERROR);
  EXPECT_EQ(send_cache_request(servers[0], GET_CLIENT_EP(servers[0], 0), 1), DO_ERROR)
      << "a rank is not asked";
  EXPECT_EQ(send_cache_request(hosts[0], nullptr, -1), DO_ERROR);
  EXPECT_EQ(send_cache_entry_request(hosts[0], nullptr, 1, -1), DO_ERROR);
  EXPECT_EQ(send_cache_entry_request(hosts[0], GET_CLIENT_EP(servers[0], 0), 1, 0), DO_ERROR);
}

TEST_F(Requests, ARankReachesEveryServiceProcess) {
  start(7);
  offload_ep_t* ep = nullptr;
  execution_context_t* context = nullptr;
  offloading_engine_t* const host = hosts[0]->engine;
  EXPECT_EQ(get_remote_sp_ep_by_id(host, 3, &ep, &context), DO_NOT_APPLICABLE) << "its address is unknown";
  rank_of(7, 4, 8);
  turn();
  ASSERT_TRUE(group_cache_populated(host, 1));
  EXPECT_EQ(get_remote_sp_ep_by_id(host, 9, &ep, &context), DO_ERROR);
  ASSERT_EQ(event_channel_register(servers[3]->event_channels, kType, keep, nullptr), DO_SUCCESS);
  EXPECT_EQ(get_remote_sp_ep_by_id(host, 3, &ep, &context), DO_NOT_APPLICABLE);
  turn();
  ASSERT_EQ(get_remote_sp_ep_by_id(host, 3, &ep, &context), DO_SUCCESS);
  EXPECT_EQ(context->client->server_global_id, 3);
  EXPECT_EQ(emit(context, 42), EVENT_DONE);
  turn();
  EXPECT_EQ(seen().numbers, std::vector<int>{42});
  execution_context_t* again = nullptr;
  ASSERT_EQ(get_remote_sp_ep_by_id(host, 3, &ep, &again), DO_SUCCESS);
  EXPECT_EQ(again, context);
  // For its own service process the rank gets its own context.
  ASSERT_EQ(get_remote_sp_ep_by_id(host, 0, &ep, &context), DO_SUCCESS);
  EXPECT_EQ(context, hosts[0]);
}

TEST_F(Requests, HostsWithTwoDpusFillTheFirstOneFirst) {
  std::FILE* const file = std::fopen(path.c_str(), "w");
  std::fputs(
      "# Format version: 1\n"
      "node0,dpu0:10.0.0.1:7100&7101:9100&9101,dpu1:10.0.0.2:7100&7101:9100&9101\n",
      file);
  std::fclose(file);
  start(0);
  for (int rank = 0; rank < 8; ++rank) hosts.push_back(rank_of(rank, 8, 8));
  turn();
  offloading_engine_t* const host = hosts[5]->engine;
  ASSERT_TRUE(group_cache_populated(host, 1));
  for (int rank = 0; rank < 8; ++rank) {
    int64_t id = -1;
    EXPECT_EQ(get_sp_id_by_group_rank(host, 1, rank, &id), DO_SUCCESS);
    EXPECT_EQ(id, rank % 4) << rank;
    EXPECT_EQ(get_group_rank_host(host, 1, rank), 0) << "one host, two DPUs";
  }
}

TEST_F(Requests, APlatformWithoutAFile) {
  const auto set = [](const char* name, const char* value) { ASSERT_EQ(setenv(name, value, 1), 0); };
  set("INTER_DPU_CONN_ADDR", "10.0.0.2");
  set("INTER_DPU_CONN_PORT", "7000");
  set("DPU_OFFLOAD_LIST_DPUS", "bf0,bf1");
  set("DPU_OFFLOAD_SERVER_ADDR", "10.0.0.1");
  set("DPU_OFFLOAD_SERVER_PORT", "9000");
  for (const char* name : {"bf0", "bf1"}) {
    offloading_engine_t* const own = engine();
    offloading_config_t& config = configs.emplace_back();
    INIT_DPU_CONFIG_DATA(&config);
    config.dpu_name = name;
    EXPECT_EQ(get_dpu_config(own, &config), DO_SUCCESS) << config.error;
    EXPECT_EQ(inter_dpus_connect_mgr(own, &config), DO_SUCCESS);
  }
  turn();
  EXPECT_EQ(offload_mesh_status(engines[0]), DO_SUCCESS);
  EXPECT_EQ(offload_mesh_status(engines[1]), DO_SUCCESS);
  ASSERT_NE(open_to_ranks(0), nullptr) << offload_engine_error(engines[0]);
  execution_context_t* const client = rank_of(0, 1, 1);
  ASSERT_NE(client, nullptr);
  turn();
  EXPECT_TRUE(group_cache_populated(client->engine, 1));
  for (const char* name : {"INTER_DPU_CONN_ADDR", "INTER_DPU_CONN_PORT", "DPU_OFFLOAD_LIST_DPUS",
                           "DPU_OFFLOAD_SERVER_ADDR", "DPU_OFFLOAD_SERVER_PORT"})
    unsetenv(name);
}

}  // namespace
}  // namespace offramp::dpu_service
