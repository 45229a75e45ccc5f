// The service library over UCX, both ends in this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "offramp/dpu/service.h"

namespace {

constexpr std::uint64_t kType = 1001;

struct Got {
  std::vector<std::vector<unsigned char>> payloads;
};
Got& got() {
  static Got all;
  return all;
}

int keep(dpu_offload_ev_sys_t*, execution_context_t*, am_header_t*, size_t, void* data, size_t bytes) {
  const auto* const begin = static_cast<const unsigned char*>(data);
  got().payloads.emplace_back(begin, begin + bytes);
  return 0;
}

class Ucx : public testing::Test {
 protected:
  void SetUp() override {
    got() = {};
    setenv("OFFRAMP_DPU_SECRET", "a secret of this test", 1);
    ASSERT_EQ(offload_engine_init(&service), DO_SUCCESS);
    ASSERT_EQ(offload_engine_init(&host), DO_SUCCESS);
    init_params_t params;
    conn_params_t where;
    RESET_INIT_PARAMS(&params);
    RESET_CONN_PARAMS(&where);
    where.addr_str = "127.0.0.1";
    where.port = 0;
    params.conn_params = &where;
    server = server_init(service, &params);
    ASSERT_NE(server, nullptr) << offload_engine_error(service);
    where.port = server->server->port;
    client = client_init(host, &params);
    ASSERT_NE(client, nullptr) << offload_engine_error(host);
    until([this] { return client->client->bs_phase == BOOTSTRAP_DONE; });
    ASSERT_EQ(client->client->bs_phase, BOOTSTRAP_DONE);
    event_channel_register(server->event_channels, kType, keep, nullptr);
  }
  void TearDown() override {
    for (offloading_engine_t** each : {&host, &service}) {
      if (*each != nullptr) offload_engine_fini(each);
    }
  }

  template <typename Condition>
  void until(Condition condition) {
    for (int i = 0; i < 10'000'000 && !condition(); ++i) {
      if (host != nullptr) offload_engine_progress(host);
      if (service != nullptr) offload_engine_progress(service);
    }
  }

  offloading_engine_t* service = nullptr;
  offloading_engine_t* host = nullptr;
  execution_context_t* server = nullptr;
  execution_context_t* client = nullptr;
};

TEST_F(Ucx, PayloadsOfAllSizesInOrder) {
  std::vector<std::vector<unsigned char>> sent;
  for (std::size_t bytes = 0; bytes <= (std::size_t{4} << 20); bytes = bytes == 0 ? 1 : bytes * 4) {
    sent.emplace_back(bytes, static_cast<unsigned char>(sent.size() + 1));
    sent.emplace_back(1, static_cast<unsigned char>(sent.size() + 1));
  }
  for (auto& payload : sent) {
    dpu_offload_event_t* event = nullptr;
    ASSERT_EQ(event_get(client->event_channels, nullptr, &event), DO_SUCCESS);
    ASSERT_GE(
        event_channel_emit_with_payload(&event, kType, nullptr, 0, nullptr, payload.data(), payload.size()),
        0);
  }
  until([&] {
    return got().payloads.size() == sent.size() && event_channel_num_ongoing(client->event_channels) == 0;
  });
  EXPECT_TRUE(got().payloads == sent);
  EXPECT_EQ(event_channel_num_ongoing(client->event_channels), 0U);
  EXPECT_NE(offload_ep_ucp(GET_SERVER_EP(client)), nullptr);
}

TEST_F(Ucx, FloodsStayInOrder) {
  constexpr int kEvents = 1001;
  for (int i = 0; i < kEvents; ++i) {
    dpu_offload_event_info_t info{sizeof i, false, nullptr};
    dpu_offload_event_t* event = nullptr;
    ASSERT_EQ(event_get(client->event_channels, &info, &event), DO_SUCCESS);
    std::memcpy(event->payload, &i, sizeof i);
    ASSERT_GE(event_channel_emit(&event, kType, nullptr, 0, nullptr), 0);
  }
  until([] { return got().payloads.size() == kEvents; });
  ASSERT_EQ(got().payloads.size(), static_cast<std::size_t>(kEvents));
  for (int i = 0; i < kEvents; ++i) {
    int number = -1;
    std::memcpy(&number, got().payloads[static_cast<std::size_t>(i)].data(), sizeof number);
    ASSERT_EQ(number, i);
  }
}

TEST_F(Ucx, AGoodbyeFollowsSentMessages) {
  std::vector<unsigned char> payload(std::size_t{1} << 20, 7);
  dpu_offload_event_t* event = nullptr;
  ASSERT_EQ(event_get(client->event_channels, nullptr, &event), DO_SUCCESS);
  ASSERT_GE(
      event_channel_emit_with_payload(&event, kType, nullptr, 0, nullptr, payload.data(), payload.size()), 0);
  client_fini(&client);
  until([this] { return server->server->done; });
  EXPECT_TRUE(server->server->done);
  EXPECT_EQ(server->server->num_lost_clients, 0U);
  ASSERT_EQ(got().payloads.size(), 1U);
  EXPECT_TRUE(got().payloads.front() == payload);
}

std::string error_without_connection(const char* variable, const char* value) {
  unsetenv("OFFRAMP_DPU_SECRET");
  setenv(variable, value, 1);
  offloading_engine_t* engine = nullptr;
  EXPECT_EQ(offload_engine_init(&engine), DO_SUCCESS);
  init_params_t params;
  conn_params_t where;
  RESET_INIT_PARAMS(&params);
  RESET_CONN_PARAMS(&where);
  where.port = 0;
  params.conn_params = &where;
  EXPECT_EQ(server_init(engine, &params), nullptr);
  std::string error = offload_engine_error(engine);
  offload_engine_fini(&engine);
  unsetenv(variable);
  return error;
}

TEST(Secret, OneThatOthersCouldKnowIsNotUsed) {
  const std::string path = testing::TempDir() + "dpu-secret-of-all";
  std::ofstream(path) << "a secret that is long enough";
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  const char* const file = "OFFRAMP_DPU_SECRET_FILE";
  EXPECT_EQ(error_without_connection(file, path.c_str()),
            "the secret of the offload service, " + path + ": other users have access to it; chmod 600");
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  std::ofstream(path) << "short";
  EXPECT_THAT(error_without_connection(file, path.c_str()),
              testing::HasSubstr("not between 16 and 4096 bytes"));
  EXPECT_THAT(error_without_connection(file, "/nowhere"), testing::HasSubstr("/nowhere: No such file"));
  EXPECT_THAT(error_without_connection(file, "/dev/null"), testing::HasSubstr("not a regular file"));
  EXPECT_THAT(error_without_connection("OFFRAMP_DPU_SECRET", "short"),
              testing::HasSubstr("OFFRAMP_DPU_SECRET is not"));
  std::remove(path.c_str());
}

}  // namespace
