// The service library's C interface, with several engines in this process and no network.
#include "tests/dpu_service/in_process.hpp"

namespace offramp::dpu_service {
namespace {

TEST_F(InProcess, NotificationsBothWaysInOrderAndFromHandlers) {
  execution_context_t* const server = serve(engine());
  execution_context_t* const client = join(engine());
  EXPECT_EQ(GET_ECONTEXT_BOOTSTRAPING_PHASE(client), BOOTSTRAP_NOT_INITIATED);
  turn();
  ASSERT_EQ(GET_ECONTEXT_BOOTSTRAPING_PHASE(client), BOOTSTRAP_DONE);
  event_channel_register(server->event_channels, kType, answer, nullptr);
  event_channel_register(client->event_channels, kType + 1, keep, nullptr);
  for (int i = 0; i < 1001; ++i) ASSERT_EQ(emit(client, 2 * i), EVENT_DONE);
  turn();
  ASSERT_EQ(seen().numbers.size(), 2002U);
  for (int i = 0; i < 1001; ++i) {
    EXPECT_EQ(seen().numbers[static_cast<std::size_t>(i)], 2 * i);
    EXPECT_EQ(seen().numbers[static_cast<std::size_t>(1001 + i)], 2 * i + 1);
  }
  EXPECT_EQ(seen().headers.front().scope_id, SCOPE_HOST_DPU);
  EXPECT_EQ(seen().headers.front().sender_type, CONTEXT_CLIENT);
  EXPECT_EQ(seen().headers.front().payload_size, sizeof(int));
  EXPECT_EQ(event_channel_num_ongoing(client->event_channels), 0U);
}

TEST_F(InProcess, AServerDistinguishesItsClients) {
  execution_context_t* const server = serve(engine());
  execution_context_t* const first = join(engine());
  turn();
  execution_context_t* const second = join(engine());
  turn();
  EXPECT_EQ(first->client->id, 0U);
  EXPECT_EQ(second->client->id, 1U);
  EXPECT_EQ(server->server->num_connected_clients, 2U);
  event_channel_register(second->event_channels, kType, keep, nullptr);
  EXPECT_EQ(emit(server, 5, kType, 1), EVENT_DONE);
  EXPECT_EQ(emit(server, 6, kType, 2), DO_ERROR) << "there is no third client";
  turn();
  EXPECT_EQ(seen().numbers, std::vector<int>{5});
  event_channel_register(server->event_channels, kType, keep, nullptr);
  emit(second, 7);
  turn();
  EXPECT_EQ(seen().headers.back().client_id, 1U);
  EXPECT_EQ(offload_ep_status(GET_CLIENT_EP(server, 1)), DO_SUCCESS);
  EXPECT_EQ(GET_CLIENT_EP(server, 2), nullptr);
}

TEST_F(InProcess, SelfNotificationsAreCallsOfTheHandler) {
  offloading_engine_t* const own = engine();
  EXPECT_EQ(engine_register_default_notification_handler(own, kType, keep, nullptr), DO_SUCCESS);
  EXPECT_EQ(engine_register_default_notification_handler(own, kType, keep, nullptr), DO_ERROR) << "twice";
  EXPECT_EQ(emit(own->self_econtext, 3), EVENT_DONE);
  EXPECT_EQ(seen().numbers, std::vector<int>{3});
}

TEST_F(InProcess, RulesOfHandlers) {
  dpu_offload_ev_sys_t* const system = engine()->self_econtext->event_channels;
  for (const int type : {32, 43, 50, int{OFFLOAD_MAX_TYPES}})
    EXPECT_EQ(event_channel_register(system, type, keep, nullptr), DO_ERROR) << type;
  emit(engines.front()->self_econtext, 1);
  emit(engines.front()->self_econtext, 2);
  EXPECT_TRUE(seen().numbers.empty());
  EXPECT_EQ(event_channel_register(system, kType, keep, nullptr), DO_SUCCESS);
  EXPECT_EQ(seen().numbers, (std::vector<int>{1, 2})) << "what came before, in order";
  EXPECT_EQ(event_channel_register(system, kType, answer, nullptr), DO_SUCCESS) << "without effect";
  EXPECT_EQ(event_channel_deregister(system, kType), DO_SUCCESS);
  EXPECT_EQ(event_channel_deregister(system, kType), DO_ERROR);
}

struct Pool {
  std::array<char, 64> buffer{};
  int out = 0;
  static void* get(void* pool, void*) { return static_cast<Pool*>(pool)->out++ == 0 ? pool : nullptr; }
  static void give_back(void* pool, void*) { --static_cast<Pool*>(pool)->out; }
};

TEST_F(InProcess, PoolsAreUsedAndGetTheirBuffersBack) {
  Pool pool;
  notification_info_t info{&pool, Pool::get, Pool::give_back, nullptr, 64};
  execution_context_t* const self = engine()->self_econtext;
  event_channel_register(self->event_channels, kType, keep, nullptr);
  dpu_offload_event_info_t wanted{32, false, &info};
  dpu_offload_event_t* event = nullptr;
  ASSERT_EQ(event_get(self->event_channels, &wanted, &event), DO_SUCCESS);
  EXPECT_EQ(event->payload, &pool);
  dpu_offload_event_t* other = nullptr;
  wanted.payload_size = 65;
  EXPECT_EQ(event_get(self->event_channels, &wanted, &other), DO_ERROR) << "larger than an element";
  EXPECT_EQ(event_channel_emit(&event, kType, nullptr, 0, nullptr), EVENT_DONE);
  EXPECT_EQ(pool.out, 0);
  EXPECT_EQ(event_channel_update(self->event_channels, kType, &info), DO_SUCCESS);
  EXPECT_EQ(emit(self, 9), EVENT_DONE);
  EXPECT_EQ(pool.out, 0);
  EXPECT_EQ(seen().numbers.back(), 9);
}

TEST_F(InProcess, ExplicitReturnAndCompletionCallback) {
  execution_context_t* const self = engine()->self_econtext;
  event_channel_register(self->event_channels, kType, keep, nullptr);
  dpu_offload_event_info_t info{0, true, nullptr};
  dpu_offload_event_t* event = nullptr;
  ASSERT_EQ(event_get(self->event_channels, &info, &event), DO_SUCCESS);
  event->completion_cb = [](dpu_offload_event_t* done) { seen().states.push_back(done->status); };
  int number = 4;
  EXPECT_EQ(event_channel_emit_with_payload(&event, kType, nullptr, 0, &number, &number, sizeof number),
            EVENT_DONE);
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(event->ctx, &number);
  EXPECT_TRUE(event_completed(event));
  EXPECT_EQ(seen().states, std::vector<int>{DO_SUCCESS});
  EXPECT_EQ(event_return(&event), DO_SUCCESS);
  EXPECT_EQ(event, nullptr);
}

TEST_F(InProcess, MetaEvents) {
  serve(engine());
  execution_context_t* const client = join(engine());
  turn();
  dpu_offload_event_t* meta = nullptr;
  event_get(client->event_channels, nullptr, &meta);
  EXPECT_EQ(event_channel_emit(&meta, META_EVENT_TYPE, nullptr, 0, nullptr), EVENT_DONE) << "an empty one";
  EXPECT_EQ(meta, nullptr);
  event_get(client->event_channels, nullptr, &meta);
  std::array<dpu_offload_event_t*, 3> subs{};
  for (std::size_t i = 0; i < subs.size(); ++i) {  // the last one goes to this process itself
    event_get((i < 2 ? client : client->engine->self_econtext)->event_channels, nullptr, &subs[i]);
    ASSERT_EQ(QUEUE_SUBEVENT(meta, subs[i]), DO_SUCCESS);
    EXPECT_EQ(QUEUE_SUBEVENT(meta, subs[i]), DO_ERROR) << "twice";
  }
  EXPECT_EQ(event_channel_emit(&meta, META_EVENT_TYPE, nullptr, 0, nullptr), EVENT_INPROGRESS);
  EXPECT_EQ(event_channel_num_ongoing(client->event_channels), 1U);
  for (dpu_offload_event_t*& sub : subs)
    EXPECT_EQ(event_channel_emit(&sub, kType, nullptr, 0, nullptr), EVENT_DONE);
  turn();
  EXPECT_EQ(event_channel_num_ongoing(client->event_channels), 0U);
}

TEST_F(InProcess, PoolsOfEventsGrow) {
  dpu_offload_ev_sys_t* const system = engine()->self_econtext->event_channels;
  std::vector<dpu_offload_event_t*> events(1000);
  for (dpu_offload_event_t*& each : events) ASSERT_EQ(event_get(system, nullptr, &each), DO_SUCCESS);
  EXPECT_EQ(event_channel_capacity(system), 1024U);
  for (dpu_offload_event_t*& each : events) ASSERT_EQ(event_return(&each), DO_SUCCESS);
}

TEST_F(InProcess, GoodbyesAndLosses) {
  execution_context_t* const server = serve(engine());
  execution_context_t* const polite = join(engine());
  turn();
  offloading_engine_t*& third = engine();
  join(third);
  turn();
  execution_context_t* leaving = polite;
  client_fini(&leaving);
  turn();
  EXPECT_EQ(server->server->num_connected_clients, 1U);
  EXPECT_EQ(offload_ep_status(GET_CLIENT_EP(server, 0)), DO_NOT_APPLICABLE);
  EXPECT_FALSE(engines.front()->done);
  offload_engine_fini(&third);
  turn();
  EXPECT_TRUE(server->server->done);
  EXPECT_TRUE(engines.front()->done);
  EXPECT_EQ(server->server->num_lost_clients, 0U);
  EXPECT_LT(emit(server, 1), 0) << "to one who has gone";
}

TEST_F(InProcess, NoServerIsAnErrorInTime) {
  execution_context_t* const client = join(engine(), 5000, nullptr, 20);
  for (int i = 0; i < 100'000'000 && client->client->bs_phase != DISCONNECTED; ++i) turn(1);
  EXPECT_EQ(client->client->bs_phase, DISCONNECTED);
  EXPECT_EQ(client->client->status, DO_ERROR);
  EXPECT_STREQ(offload_engine_error(client->engine), "no server answered in time");
  EXPECT_LT(emit(client, 1), 0);
}

TEST_F(InProcess, WrongParametersAreErrors) {
  offloading_engine_t* const own = engine();
  EXPECT_EQ(join(own, 70000), nullptr);
  EXPECT_STREQ(offload_engine_error(own), "the port is not in 1 .. 65535");
  ASSERT_NE(serve(own), nullptr);
  EXPECT_EQ(serve(own), nullptr);
  EXPECT_STREQ(offload_engine_error(own), "the address is in use");
  offloading_config_t config;
  INIT_DPU_CONFIG_DATA(&config);
  config.cfg_file = "/nowhere";
  EXPECT_EQ(get_host_config(&config), DO_ERROR);
  EXPECT_STREQ(config.error, "/nowhere:0: cannot be read");
}

TEST_F(InProcess, TwoServicesInOneProcessDoNotMix) {
  execution_context_t* const a = serve(engine(), 5000);
  execution_context_t* const b = serve(engine(), 5001);
  execution_context_t* const to_a = join(engine(), 5000);
  join(engine(), 5001);
  turn();
  event_channel_register(a->event_channels, kType, keep, nullptr);
  event_channel_register(b->event_channels, kType, answer, nullptr);
  emit(to_a, 11);
  turn();
  EXPECT_EQ(seen().numbers, std::vector<int>{11});
}

// The trace of tests/dpu/population_test.cpp: 2 hosts x 2 service processes, 8 ranks.
class Platform : public InProcess {
 protected:
  void start() {
    for (int id = 0; id < 4; ++id) process(id);
    turn();
    for (int id = 0; id < 4; ++id) {
      ASSERT_EQ(engines[static_cast<std::size_t>(id)]->num_connected_service_procs, 3U);
      servers.push_back(open_to_ranks(id));
      ASSERT_NE(servers.back(), nullptr);
    }
    for (int rank = 0; rank < 8; ++rank) ranks.push_back(rank_of(rank, 4, 8));
    turn();
  }
  static rank_info_t member(int rank, int size, std::uint32_t incarnation = 1) {
    rank_info_t info;
    RESET_RANK_INFO(&info);
    info.group_id = 99;
    info.group_rank = rank;
    info.group_size = size;
    info.group_seq_num = incarnation;
    return info;
  }
  std::vector<execution_context_t*> servers;
  std::vector<execution_context_t*> ranks;
};

TEST_F(Platform, EveryoneKnowsTheServiceProcessOfEveryRank) {
  start();
  for (offloading_engine_t* each : engines) {
    ASSERT_TRUE(group_cache_populated(each, 1));
    int64_t id = -1;
    EXPECT_EQ(get_sp_id_by_group_rank(each, 1, 5, &id), DO_SUCCESS);
    EXPECT_EQ(id, 3);
    EXPECT_EQ(get_sp_id_by_group_rank(each, 1, 8, &id), DO_NOT_APPLICABLE);
    EXPECT_TRUE(on_same_host(each, 1, 0, 3));
    EXPECT_TRUE(on_same_sp(each, 1, 0, 2));
    EXPECT_FALSE(on_same_sp(each, 1, 0, 1));
    EXPECT_EQ(get_group_rank_host(each, 1, 6), 1);
    std::array<int64_t, 8> list{};
    EXPECT_EQ(get_all_sps_by_group(each, 1, list.data(), list.size()), 4U);
    EXPECT_EQ(get_all_hosts_by_group(each, 1, list.data(), list.size()), 2U);
    EXPECT_EQ(get_all_ranks_by_group_sp_gid(each, 1, 3, list.data(), list.size()), 2U);
    EXPECT_EQ(list[0], 5);
    EXPECT_EQ(list[1], 7);
    EXPECT_EQ(get_group_ranks_on_host(each, 1, 0, nullptr, 0), 4U);
  }
  EXPECT_EQ(ranks[0]->client->server_id, 4U) << "the slot behind all service processes";
  EXPECT_EQ(ranks[5]->client->server_global_id, 3);
}

TEST_F(Platform, ServiceProcessesReachEachOther) {
  start();
  for (std::uint64_t to = 0; to < 4; ++to) {
    offload_ep_t* ep = nullptr;
    execution_context_t* context = nullptr;
    uint64_t id = 0;
    ASSERT_EQ(get_sp_ep_by_id(engines[1], to, &ep, &context, &id), DO_SUCCESS);
    dpu_offload_event_t* event = nullptr;
    event_get(context->event_channels, nullptr, &event);
    EXPECT_EQ(event_channel_emit(&event, kType, ep, id, nullptr), EVENT_DONE);
  }
  turn();
  for (offloading_engine_t* const each : {engines[0], engines[2], engines[3]}) {
    const std::size_t before = seen().headers.size();
    event_channel_register(each->service_procs[1].econtext->event_channels, kType, keep, nullptr);
    ASSERT_EQ(seen().headers.size(), before + 1);
    EXPECT_EQ(seen().headers.back().scope_id, SCOPE_INTER_SERVICE_PROCS);
  }
  offload_ep_t* ep = nullptr;
  execution_context_t* context = nullptr;
  uint64_t id = 0;
  EXPECT_EQ(get_sp_ep_by_id(ranks[5]->engine, 3, &ep, &context, &id), DO_SUCCESS);
  EXPECT_EQ(get_sp_ep_by_id(ranks[5]->engine, 2, &ep, &context, &id), DO_NOT_APPLICABLE);
}

TEST_F(Platform, GroupsComeGoAndComeAgain) {
  start();
  const std::array<int32_t, 3> world = {1, 4, 6};
  const auto add = [&](std::size_t rank, std::uint32_t incarnation) {
    const rank_info_t info = member(static_cast<int>(rank), 3, incarnation);
    return send_add_group_rank_request(ranks[static_cast<std::size_t>(world[rank])], &info, world.data());
  };
  const auto leave = [&](std::size_t rank) {
    const rank_info_t info = member(static_cast<int>(rank), 3);
    return send_revoke_group_rank_request(ranks[static_cast<std::size_t>(world[rank])], &info);
  };
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_FALSE(group_cache_populated(ranks[4]->engine, 99));
    EXPECT_EQ(add(rank, 1), DO_SUCCESS);
    turn();
  }
  EXPECT_TRUE(group_cache_populated(ranks[4]->engine, 99));
  EXPECT_TRUE(group_cache_populated(engines[1], 99));
  EXPECT_FALSE(is_in_cache(ranks[0]->engine, 99, 0)) << "not a member";
  int64_t id = -1;
  EXPECT_EQ(get_sp_id_by_group_rank(ranks[6]->engine, 99, 0, &id), DO_SUCCESS);
  EXPECT_EQ(id, 1);
  // One member is early: it has begun the next incarnation.
  leave(0);
  add(0, 2);
  turn();
  EXPECT_TRUE(group_cache_populated(ranks[4]->engine, 99)) << "two members are still in it";
  leave(1);
  leave(2);
  turn();
  EXPECT_FALSE(group_cache_populated(ranks[4]->engine, 99));
  add(1, 2);
  add(2, 2);
  turn();
  for (const int32_t rank : world)
    EXPECT_TRUE(group_cache_populated(ranks[static_cast<std::size_t>(rank)]->engine, 99)) << rank;
  EXPECT_EQ(revoke_group_cache(ranks[4]->engine, 99), DO_SUCCESS);
  EXPECT_EQ(revoke_group_cache(ranks[4]->engine, 99), DO_NOT_APPLICABLE);
}

TEST(Formulas, RanksPerServiceProcess) {
  std::uint64_t ranks = 0;
  for (std::uint64_t id = 0; id < 3; ++id) {
    EXPECT_EQ(get_num_connecting_ranks(3, 40, id, &ranks), DO_SUCCESS);
    EXPECT_EQ(ranks, id == 0 ? 14U : 13U);
  }
  EXPECT_EQ(get_num_connecting_ranks(3, 40, 3, &ranks), DO_ERROR);
  const std::array<std::int32_t, 2> a = {0, 1};
  const std::array<std::int32_t, 2> b = {1, 0};
  EXPECT_NE(offload_group_uid(0, a.data(), 2), offload_group_uid(0, b.data(), 2));
}

}  // namespace

}  // namespace offramp::dpu_service
