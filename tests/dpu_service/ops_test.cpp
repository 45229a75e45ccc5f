// Operations that a service process runs for ranks, and keys of host memory.
#include <numeric>

#include "tests/dpu_service/in_process.hpp"

namespace offramp::dpu_service {
namespace {

constexpr std::uint64_t kSumOf = 7;

/// Adds up the integers of its arguments, one per pass.
struct Adding {
  std::size_t next = 0;
  int sum = 0;
};
int& freed() {
  static int count = 0;
  return count;
}

int begin_adding(offload_active_op_t* op) {
  if (op->args_size % sizeof(int) != 0) return -9;
  op->state = new Adding;
  return 0;
}

int add_one(offload_active_op_t* op) {
  auto& adding = *static_cast<Adding*>(op->state);
  if (adding.next == op->args_size / sizeof(int)) return EVENT_DONE;
  const int number = static_cast<const int*>(op->args)[adding.next++];
  if (number < 0) return -5;
  adding.sum += number;
  return EVENT_INPROGRESS;
}

void end_adding(offload_active_op_t* op) {
  static int result = 0;
  result = static_cast<Adding*>(op->state)->sum;
  op->result = &result;
  op->result_size = sizeof result;
  delete static_cast<Adding*>(op->state);
  ++freed();
}

class Ops : public InProcess {
 protected:
  void SetUp() override {
    freed() = 0;
    service = engine();
    server = serve(service);
    client = join(engine());
    const offload_op_t op{kSumOf, begin_adding, add_one, end_adding};
    ASSERT_EQ(register_new_op(service, &op), DO_SUCCESS);
    EXPECT_EQ(register_new_op(service, &op), DO_ERROR) << "twice";
    turn();
  }
  offload_op_desc_t* submit(std::vector<int> numbers, std::uint64_t algorithm = kSumOf,
                            std::size_t cut = 0) const {
    offload_op_desc_t* desc = nullptr;
    EXPECT_EQ(op_desc_get(client, algorithm, &desc), DO_SUCCESS);
    desc->args = numbers.data();
    desc->args_size = numbers.size() * sizeof(int) - cut;
    EXPECT_EQ(op_desc_submit(desc), DO_SUCCESS);
    EXPECT_EQ(op_desc_submit(desc), DO_ERROR) << "twice";
    return desc;
  }
  offloading_engine_t* service = nullptr;
  execution_context_t* server = nullptr;
  execution_context_t* client = nullptr;
};

TEST_F(Ops, RunWhileTheRankDoesSomethingElse) {
  std::vector<int> numbers(50);
  std::iota(numbers.begin(), numbers.end(), 1);
  offload_op_desc_t* first = submit(numbers);
  offload_op_desc_t* second = submit({1000, 1});
  EXPECT_NE(first->op_id, second->op_id);
  EXPECT_EQ(op_desc_return(&first), DO_ERROR) << "it is not completed";
  for (int i = 0; i < 10; ++i) offload_engine_progress(service);
  EXPECT_EQ(num_active_ops(service), 1U) << "the short one is done";
  EXPECT_FALSE(second->completed) << "its rank has not looked";
  offload_engine_progress(client->engine);
  EXPECT_TRUE(second->completed);
  EXPECT_FALSE(first->completed);
  turn(60);
  ASSERT_TRUE(first->completed);
  EXPECT_EQ(first->status, DO_SUCCESS);
  ASSERT_EQ(first->result_size, sizeof(int));
  EXPECT_EQ(*static_cast<const int*>(first->result), 1275);
  EXPECT_EQ(*static_cast<const int*>(second->result), 1001);
  EXPECT_EQ(op_desc_return(&first), DO_SUCCESS);
  EXPECT_EQ(first, nullptr);
  EXPECT_EQ(num_active_ops(service), 0U);
  EXPECT_EQ(freed(), 2);
}

TEST_F(Ops, FailuresAreTheRanksStatus) {
  offload_op_desc_t* const negative = submit({1, -1});
  offload_op_desc_t* const crooked = submit({1, 2}, kSumOf, 1);
  offload_op_desc_t* const unknown = submit({1}, 8);
  turn(10);
  EXPECT_EQ(negative->status, -5);
  EXPECT_EQ(negative->result_size, 0U);
  EXPECT_EQ(crooked->status, -9);
  EXPECT_EQ(unknown->status, DO_NOT_APPLICABLE);
  EXPECT_TRUE(negative->completed && crooked->completed && unknown->completed);
}

TEST_F(Ops, ARankThatGoesAbandonsItsOwn) {
  submit(std::vector<int>(1000, 1));
  turn(4);
  ASSERT_EQ(num_active_ops(service), 1U);
  client_fini(&client);
  turn(4);
  EXPECT_EQ(num_active_ops(service), 0U);
  EXPECT_EQ(freed(), 1) << "its state is freed";
}

TEST_F(Ops, AServiceProcessThatGoesCompletesThemAsLost) {
  int told = 0;
  offload_op_desc_t* desc = nullptr;
  ASSERT_EQ(op_desc_get(client, kSumOf, &desc), DO_SUCCESS);
  desc->ctx = &told;
  desc->completed_cb = [](offload_op_desc_t* done) { ++*static_cast<int*>(done->ctx); };
  std::vector<int> numbers(1000, 1);
  desc->args = numbers.data();
  desc->args_size = numbers.size() * sizeof(int);
  ASSERT_EQ(op_desc_submit(desc), DO_SUCCESS);
  turn(2);
  server_fini(&server);
  turn(4);
  EXPECT_TRUE(desc->completed);
  EXPECT_EQ(desc->status, DO_PEER_LOST);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(op_desc_return(&desc), DO_SUCCESS);
  offload_op_desc_t* late = nullptr;
  ASSERT_EQ(op_desc_get(client, kSumOf, &late), DO_SUCCESS);
  EXPECT_LT(op_desc_submit(late), 0);
  EXPECT_EQ(op_desc_return(&late), DO_SUCCESS);
}

TEST_F(Ops, KeysAreLentAndTakenBack) {
  const std::string bytes = "a key of another's";
  const xgvmi_key_t lent{3, 0x7000, 4096, bytes.size(), bytes.data()};
  ASSERT_EQ(send_key_to_dpu(client, &lent), DO_SUCCESS);
  EXPECT_EQ(send_key_to_dpu(server, &lent), DO_ERROR) << "only ranks lend";
  const xgvmi_key_t large{4, 0, 1, XGVMI_MAX_KEY + 1, bytes.data()};
  EXPECT_EQ(send_key_to_dpu(client, &large), DO_ERROR);
  turn(2);
  xgvmi_key_t key;
  ASSERT_EQ(get_key_of_client(server, 0, 3, &key), DO_SUCCESS);
  EXPECT_EQ(key.addr, 0x7000U);
  EXPECT_EQ(key.length, 4096U);
  EXPECT_EQ(std::string(static_cast<const char*>(key.key), key.key_size), bytes);
  EXPECT_EQ(get_key_of_client(server, 0, 4, &key), DO_NOT_APPLICABLE);
  EXPECT_EQ(get_key_of_client(server, 5, 3, &key), DO_NOT_APPLICABLE) << "no such client";
  ASSERT_EQ(revoke_key_on_dpu(client, 3), DO_SUCCESS);
  turn(2);
  EXPECT_EQ(get_key_of_client(server, 0, 3, &key), DO_NOT_APPLICABLE);
  ASSERT_EQ(send_key_to_dpu(client, &lent), DO_SUCCESS);
  turn(2);
  client_fini(&client);
  turn(4);
  EXPECT_EQ(get_key_of_client(server, 0, 3, &key), DO_NOT_APPLICABLE) << "the rank has gone";
}

}  // namespace
}  // namespace offramp::dpu_service
