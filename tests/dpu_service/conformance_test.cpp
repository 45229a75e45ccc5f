// Checks of the published service's tests that no other test here makes; docs/backends/dpu.md has the table
// of all of them. Type numbers and sizes are those of the published tests.
#include <ucp/api/ucp.h>

#include <chrono>
#include <thread>

#include "tests/dpu_service/in_process.hpp"

namespace offramp::dpu_service {
namespace {

constexpr std::uint64_t kPing = 5000;
constexpr std::uint64_t kPong = 5001;
constexpr std::uint64_t kFlood = 5002;

/// Sends the number back, incremented, until it is 1000; so does the other end.
int volley(dpu_offload_ev_sys_t* system, execution_context_t*, am_header_t* header, size_t, void* data,
           size_t) {
  int number = 0;
  std::memcpy(&number, data, sizeof number);
  seen().numbers.push_back(number);
  if (number == 1000) return 0;
  ++number;
  dpu_offload_event_info_t info{sizeof number, false, nullptr};
  dpu_offload_event_t* event = nullptr;
  EXPECT_EQ(event_get(system, &info, &event), DO_SUCCESS);
  std::memcpy(event->payload, &number, sizeof number);
  EXPECT_GE(
      event_channel_emit(&event, header->type == kPing ? kPong : kPing, nullptr, header->client_id, nullptr),
      0);
  return 0;
}

int keep_size(dpu_offload_ev_sys_t*, execution_context_t*, am_header_t* header, size_t, void*, size_t bytes) {
  seen().numbers.push_back(static_cast<int>(bytes));
  seen().headers.push_back(*header);
  return 0;
}

class Conformance : public InProcess {
 protected:
  void connect() {
    server = serve(engine());
    client = join(engine());
    turn();
    ASSERT_EQ(client->client->bs_phase, BOOTSTRAP_DONE);
  }
  execution_context_t* server = nullptr;
  execution_context_t* client = nullptr;
};

TEST_F(Conformance, FloodsOf1001EventsBothWaysWithExplicitAndImplicitReturn) {
  connect();
  for (execution_context_t* from : {client, server}) {
    execution_context_t* const to = from == client ? server : client;
    EXPECT_EQ(event_channel_register(to->event_channels, kFlood, keep, nullptr), DO_SUCCESS);
    for (const bool explicitly : {false, true}) {
      seen() = {};
      std::vector<dpu_offload_event_t*> held;
      for (int i = 0; i < 1001; ++i) {
        dpu_offload_event_info_t info{sizeof i, explicitly, nullptr};
        dpu_offload_event_t* event = nullptr;
        ASSERT_EQ(event_get(from->event_channels, &info, &event), DO_SUCCESS);
        std::memcpy(event->payload, &i, sizeof i);
        ASSERT_GE(event_channel_emit(&event, kFlood, nullptr, 0, nullptr), 0);
        EXPECT_EQ(event != nullptr, explicitly);
        if (event != nullptr) held.push_back(event);
      }
      turn();
      for (dpu_offload_event_t*& event : held) {
        EXPECT_TRUE(event_completed(event));
        EXPECT_EQ(event_return(&event), DO_SUCCESS);
      }
      ASSERT_EQ(seen().numbers.size(), 1001U);
      for (int i = 0; i < 1001; ++i) ASSERT_EQ(seen().numbers[static_cast<std::size_t>(i)], i);
      EXPECT_EQ(event_channel_num_ongoing(from->event_channels), 0U);
    }
  }
}

TEST_F(Conformance, PayloadsFrom8To1024AndOfTelemetry) {
  connect();
  std::vector<int> sizes;
  for (int bytes = 8; bytes <= 1024; bytes *= 2) sizes.push_back(bytes);
  sizes.push_back(2096);
  for (const int bytes : sizes) {
    const std::uint64_t type = bytes == 2096 ? 2001 : kFlood;
    EXPECT_EQ(event_channel_register(server->event_channels, type, keep_size, nullptr), DO_SUCCESS);
    std::vector<unsigned char> payload(static_cast<std::size_t>(bytes), 9);
    dpu_offload_event_t* event = nullptr;
    ASSERT_EQ(event_get(client->event_channels, nullptr, &event), DO_SUCCESS);
    ASSERT_GE(
        event_channel_emit_with_payload(&event, type, nullptr, 0, nullptr, payload.data(), payload.size()),
        0);
    turn();
  }
  EXPECT_EQ(seen().numbers, sizes);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    EXPECT_EQ(seen().headers[i].payload_size, static_cast<std::uint64_t>(sizes[i]));
}

TEST_F(Conformance, PingPongTo1000) {
  connect();
  EXPECT_EQ(event_channel_register(server->event_channels, kPing, volley, nullptr), DO_SUCCESS);
  EXPECT_EQ(event_channel_register(client->event_channels, kPong, volley, nullptr), DO_SUCCESS);
  EXPECT_GE(emit(client, 1, kPing), 0);
  turn(2000);
  ASSERT_EQ(seen().numbers.size(), 1000U);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(seen().numbers[static_cast<std::size_t>(i)], i + 1);
}

TEST_F(Conformance, TenThousandBuffersOfAllSizes) {
  dpu_offload_ev_sys_t* const system = engine()->self_econtext->event_channels;
  const std::size_t sizes[] = {8, 16, 64, 128, 512, 1024, 4096, 8192};
  std::vector<dpu_offload_event_t*> events;
  for (std::size_t i = 0; i < 10'000; ++i) {
    dpu_offload_event_info_t info{sizes[i % 8], false, nullptr};
    ASSERT_EQ(event_get(system, &info, &events.emplace_back()), DO_SUCCESS);
    std::memset(events.back()->payload, static_cast<int>(i % 251), events.back()->payload_size);
  }
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto* const bytes = static_cast<const unsigned char*>(events[i]->payload);
    EXPECT_EQ(bytes[events[i]->payload_size - 1], i % 251);
    EXPECT_EQ(event_return(&events[i]), DO_SUCCESS);
  }
  EXPECT_EQ(event_channel_num_ongoing(system), 0U);
}

TEST_F(Conformance, EightRanksOfOneServiceProcessCompleteTheCache) {
  std::FILE* const file = std::fopen(path.c_str(), "w");
  std::fputs("# Format version: 1\nnode0,dpu0:10.0.0.1:7100:9100\n", file);
  std::fclose(file);
  offloading_engine_t* const own = engine();
  offloading_config_t& config = configs.emplace_back();
  INIT_DPU_CONFIG_DATA(&config);
  config.cfg_file = path.c_str();
  config.list_dpus = "dpu0";
  config.dpu_name = "dpu0";
  ASSERT_EQ(get_dpu_config(own, &config), DO_SUCCESS) << config.error;
  EXPECT_EQ(config.local_service_proc.host_init_params.conn_params->port, 9100);
  ASSERT_EQ(inter_dpus_connect_mgr(own, &config), DO_SUCCESS);
  execution_context_t* const own_server = open_to_ranks(0);
  for (int rank = 0; rank < 8; ++rank) rank_of(rank, 8, 8);
  turn();
  EXPECT_EQ(own_server->server->num_connected_clients, 8U);
  for (offloading_engine_t* each : engines) {
    ASSERT_TRUE(group_cache_populated(each, 1));
    for (int rank = 0; rank < 8; ++rank) EXPECT_TRUE(on_same_sp(each, 1, 0, rank));
  }
}

/// A worker of the caller.
struct Worker {
  Worker() {
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_TAG;
    EXPECT_EQ(ucp_init(&params, nullptr, &context), UCS_OK);
    ucp_worker_params_t worker_params{};
    worker_params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    worker_params.thread_mode = UCS_THREAD_MODE_SINGLE;
    EXPECT_EQ(ucp_worker_create(context, &worker_params, &worker), UCS_OK);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    ucp_worker_destroy(worker);
    ucp_cleanup(context);
  }
  ucp_context_h context = nullptr;
  ucp_worker_h worker = nullptr;
};

TEST(ConformanceUcx, AClientWithAWorkerOfItsOwnThatIsIdleAndThenEndsCleanly) {
  seen() = {};
  Worker external;
  offloading_engine_t* service = nullptr;
  offloading_engine_t* host = nullptr;
  ASSERT_EQ(offload_engine_init(&service), DO_SUCCESS);
  ASSERT_EQ(offload_engine_init(&host), DO_SUCCESS);
  init_params_t params;
  conn_params_t where;
  RESET_INIT_PARAMS(&params);
  RESET_CONN_PARAMS(&where);
  where.addr_str = "127.0.0.1";
  where.port = 0;
  params.conn_params = &where;
  execution_context_t* const server = server_init(service, &params);
  ASSERT_NE(server, nullptr) << offload_engine_error(service);
  where.port = server->server->port;
  params.worker = external.worker;
  params.ucp_context = external.context;
  params.stall_timeout_ms = 400;
  execution_context_t* client = client_init(host, &params);
  ASSERT_NE(client, nullptr) << offload_engine_error(host);
  const auto until = [&](auto condition, double limit) {
    const auto begin = std::chrono::steady_clock::now();
    while (!condition() && std::chrono::steady_clock::now() - begin < std::chrono::duration<double>(limit)) {
      offload_engine_progress(host);
      offload_engine_progress(service);
    }
  };
  until([&] { return client->client->bs_phase == BOOTSTRAP_DONE; }, 30);
  ASSERT_EQ(client->client->bs_phase, BOOTSTRAP_DONE);
  until([] { return false; }, 1.2);  // idle, three times as long as a silent peer may be
  ASSERT_EQ(client->client->bs_phase, BOOTSTRAP_DONE) << offload_engine_error(host);
  event_channel_register(server->event_channels, kFlood, keep, nullptr);
  int number = 77;
  dpu_offload_event_t* event = nullptr;
  ASSERT_EQ(event_get(client->event_channels, nullptr, &event), DO_SUCCESS);
  ASSERT_GE(event_channel_emit_with_payload(&event, kFlood, nullptr, 0, nullptr, &number, sizeof number), 0);
  until([] { return !seen().numbers.empty(); }, 10);
  EXPECT_EQ(seen().numbers, std::vector<int>{77});
  client_fini(&client);
  until([&] { return server->server->done; }, 10);
  EXPECT_TRUE(server->server->done);
  EXPECT_EQ(server->server->num_lost_clients, 0U);
  offload_engine_fini(&host);
  offload_engine_fini(&service);
}

}  // namespace
}  // namespace offramp::dpu_service
