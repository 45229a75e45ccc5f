// Failures between engines: peers that are alive but idle, that never come, or that have another
// configuration.
#include <chrono>
#include <thread>

#include "tests/dpu_service/in_process.hpp"

namespace offramp::dpu_service {
namespace {

class Trouble : public InProcess {
 protected:
  /// Progresses some engines until the condition is true; returns the seconds that it took.
  template <typename Condition>
  double until(std::initializer_list<offloading_engine_t*> who, Condition condition, double limit = 5) {
    const auto begin = std::chrono::steady_clock::now();
    double took = 0;
    while (!condition() && took < limit) {
      for (offloading_engine_t* each : who) offload_engine_progress(each);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    return took;
  }
  static std::string error_of(const offloading_engine_t* engine) { return offload_engine_error(engine); }
};

bool is_gone(const execution_context_t* client) {
  return client->client->bs_phase == DISCONNECTED;
}

TEST_F(Trouble, AnUnresponsiveServerIsLostInTime) {
  offloading_engine_t* const service = engine();
  execution_context_t* const server = serve(service);
  offloading_engine_t* const host = engine();
  execution_context_t* const client = join(host, 5000, nullptr, 0, 100);
  turn();
  ASSERT_EQ(client->client->bs_phase, BOOTSTRAP_DONE);
  // While it makes progress, it stays connected.
  until(
      {host, service}, [] { return false; }, 0.5);
  EXPECT_EQ(client->client->bs_phase, BOOTSTRAP_DONE);
  const double took = until({host}, [&] { return is_gone(client); });
  EXPECT_TRUE(is_gone(client));
  EXPECT_EQ(client->client->status, DO_PEER_LOST);
  EXPECT_EQ(error_of(host), "the server has given no sign of life for 100 ms");
  EXPECT_GE(took, 0.07);  // the last sign of life may be older
  EXPECT_LT(took, 2);
  EXPECT_EQ(emit(client, 1), DO_PEER_LOST);
  // When it wakes up, it learns that its client has given it up.
  turn();
  EXPECT_EQ(server->server->num_lost_clients, 1U);
}

TEST_F(Trouble, AClientThatWasAwayKeepsItsServer) {
  offloading_engine_t* const service = engine();
  serve(service);
  offloading_engine_t* const host = engine();
  execution_context_t* const client = join(host, 5000, nullptr, 0, 50);
  turn();
  until(
      {service}, [] { return false; }, 0.3);  // the host computes
  offload_engine_progress(service);
  until(
      {host, service}, [] { return false; }, 0.1);
  EXPECT_EQ(client->client->bs_phase, BOOTSTRAP_DONE);
}

TEST_F(Trouble, ANegativeLimitDisablesTheCheck) {
  serve(engine());
  offloading_engine_t* const host = engine();
  execution_context_t* const client = join(host, 5000, nullptr, 0, -1);
  turn();
  until(
      {host}, [] { return false; }, 0.3);
  EXPECT_EQ(client->client->bs_phase, BOOTSTRAP_DONE);
}

TEST_F(Trouble, AServiceProcessThatNeverComesIsNamed) {
  offloading_engine_t* const own = engine();
  offloading_config_t& config = configs.emplace_back();
  INIT_DPU_CONFIG_DATA(&config);
  config.cfg_file = path.c_str();
  config.list_dpus = "dpu0,dpu1";
  config.dpu_name = "dpu1";
  config.global_id = 2;
  config.local_id = 0;
  config.service_procs_per_dpu = 2;
  ASSERT_EQ(get_dpu_config(own, &config), DO_SUCCESS) << config.error;
  config.local_service_proc.inter_dpu_init_params.connect_timeout_ms = 60'000;
  ASSERT_EQ(inter_dpus_connect_mgr(own, &config), DO_SUCCESS);
  EXPECT_EQ(offload_mesh_status(own), DO_NOT_APPLICABLE);
  EXPECT_EQ(offload_mesh_status(nullptr), DO_ERROR);
  EXPECT_EQ(offload_mesh_status(engine()), DO_ERROR) << "no service process";

  // Another engine, which waits for two incoming connections and makes one.
  offload_fabric_t* const empty = offload_fabric_create();
  offload_engine_info_t info{};
  info.fabric = empty;
  offloading_engine_t* alone = nullptr;
  ASSERT_EQ(offload_engine_init_with_info(&alone, &info), DO_SUCCESS);
  ASSERT_EQ(get_dpu_config(alone, &config), DO_SUCCESS) << config.error;
  config.local_service_proc.inter_dpu_init_params.connect_timeout_ms = 50;
  ASSERT_EQ(inter_dpus_connect_mgr(alone, &config), DO_SUCCESS);
  const double took = until({alone}, [&] { return offload_mesh_status(alone) != DO_NOT_APPLICABLE; });
  EXPECT_EQ(offload_mesh_status(alone), DO_ERROR);
  EXPECT_GE(took, 0.04);
  EXPECT_LT(took, 2);
  const std::string why = error_of(alone);
  EXPECT_TRUE(why == "service process 0 has not connected in time" ||
              why == "service process 3: no server answered in time")
      << why;
  offload_engine_fini(&alone);
  offload_fabric_destroy(empty);
}

TEST_F(Trouble, AServiceProcessThatStallsIsNoticedByTheOthers) {
  std::vector<offloading_engine_t*> all;
  for (int id = 0; id < 4; ++id) all.push_back(process(id, 100));
  turn();
  for (const offloading_engine_t* each : all) EXPECT_EQ(offload_mesh_status(each), DO_SUCCESS);
  // Number 1 stalls: the processes that connected to it, and those it connected to, notice.
  until({all[0], all[2], all[3]}, [&] {
    return offload_mesh_status(all[0]) != DO_SUCCESS && offload_mesh_status(all[2]) != DO_SUCCESS &&
           offload_mesh_status(all[3]) != DO_SUCCESS;
  });
  for (const std::size_t id : {0U, 2U, 3U}) {
    EXPECT_EQ(offload_mesh_status(all[id]), DO_PEER_LOST) << id;
    EXPECT_NE(error_of(all[id]).find("service process 1"), std::string::npos) << error_of(all[id]);
    EXPECT_NE(error_of(all[id]).find("no sign of life for 100 ms"), std::string::npos) << error_of(all[id]);
    EXPECT_EQ(all[id]->num_connected_service_procs, 2U);
  }
}

/// A rank that connects with a different platform.
class Differing : public Trouble {
 protected:
  void SetUp() override {
    for (int id = 0; id < 4; ++id) process(id);
    turn();
    for (int id = 0; id < 4; ++id) open_to_ranks(id);
  }
  std::string refusal(const std::string& platform, int local_rank, int port, int size = 4) {
    const std::string other = path + ".other";
    std::FILE* const file = std::fopen(other.c_str(), "w");
    std::fputs(platform.c_str(), file);
    std::fclose(file);
    offloading_engine_t* const own = engine();
    offloading_config_t& config = configs.emplace_back();
    INIT_DPU_CONFIG_DATA(&config);
    config.offloading_engine = own;
    config.cfg_file = other.c_str();
    config.host_name = "node0";
    EXPECT_EQ(get_host_config(&config), DO_SUCCESS) << config.error;
    std::remove(other.c_str());
    rank_info_t info;
    RESET_RANK_INFO(&info);
    info.group_id = 1;
    info.group_rank = info.local_rank = local_rank;
    info.group_size = size;
    init_params_t params;
    conn_params_t where;
    RESET_INIT_PARAMS(&params);
    RESET_CONN_PARAMS(&where);
    params.proc_info = &info;
    params.conn_params = &where;
    EXPECT_EQ(get_local_service_proc_connect_info(&config, &info, &params), DO_SUCCESS);
    if (port > 0) where.port = port;
    own->client = client_init(own, &params);
    turn();
    if (!is_gone(own->client)) return {};
    EXPECT_EQ(own->client->client->status, DO_ERROR);
    EXPECT_LT(emit(own->client, 1), 0);
    return error_of(own);
  }
};

TEST_F(Differing, AnEqualPlatformIsAccepted) {
  EXPECT_EQ(refusal(kPlatform, 0, 0), "");
  EXPECT_EQ(
      refusal(std::string("# Format version: 1\n# a comment\n") + (std::strchr(kPlatform, '\n') + 1), 1, 0),
      "");
}

TEST_F(Differing, AnotherFileIsRefusedAtOnce) {
  EXPECT_EQ(refusal(std::string(kPlatform) + "node2,dpu2:10.0.0.3:7100&7101:9100&9101\n", 0, 0),
            "the server refuses: the configuration files differ");
}

TEST_F(Differing, AnotherServiceProcessThanTheFormulasIsRefused) {
  EXPECT_EQ(refusal(kPlatform, 3, 9100),
            "the server refuses: local rank 3 belongs to the service process with local id 1, not 0");
}

TEST_F(Differing, AnotherSizeOfAKnownGroupIsRefused) {
  EXPECT_EQ(refusal(kPlatform, 0, 0, 4), "");
  EXPECT_EQ(refusal(kPlatform, 2, 0, 5), "the server refuses: group 1 has 4 ranks here, not 5");
}

TEST_F(Differing, RanksDoNotConnectWhereServiceProcessesDo) {
  EXPECT_EQ(refusal(kPlatform, 1, 7101), "the server refuses: only service processes connect here");
}

TEST_F(Differing, ServiceProcessesWithAnotherListRefuseEachOther) {
  offload_fabric_t* const other = offload_fabric_create();
  std::array<offloading_engine_t*, 2> both{};
  for (const std::size_t id : {0U, 1U}) {
    offload_engine_info_t info{};
    info.fabric = other;
    ASSERT_EQ(offload_engine_init_with_info(&both[id], &info), DO_SUCCESS);
    offloading_config_t& config = configs.emplace_back();
    INIT_DPU_CONFIG_DATA(&config);
    config.cfg_file = path.c_str();
    config.list_dpus = id == 0 ? "dpu0" : "dpu0,dpu1";
    config.dpu_name = "dpu0";
    config.global_id = static_cast<int64_t>(id);
    config.local_id = static_cast<int64_t>(id);
    config.service_procs_per_dpu = 2;
    ASSERT_EQ(get_dpu_config(both[id], &config), DO_SUCCESS) << config.error;
    ASSERT_EQ(inter_dpus_connect_mgr(both[id], &config), DO_SUCCESS);
  }
  until({both[0], both[1]}, [&] { return offload_mesh_status(both[0]) != DO_NOT_APPLICABLE; });
  EXPECT_EQ(offload_mesh_status(both[0]), DO_ERROR);
  EXPECT_EQ(error_of(both[0]), "service process 1: the server refuses: the lists of DPUs differ");
  EXPECT_EQ(error_of(both[1]), "a client was refused: the lists of DPUs differ");
  for (offloading_engine_t*& each : both) offload_engine_fini(&each);
  offload_fabric_destroy(other);
}

}  // namespace
}  // namespace offramp::dpu_service
