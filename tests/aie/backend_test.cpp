// The driver: messages against the network itself, the reasons of declines, and the explanations of times.
#include <gtest/gtest.h>

#include <ctime>
#include <tuple>

#include "backends/aie/aie.hpp"
#include "backends/aie/messages.hpp"
#include "backends/aie/planner.hpp"
#include "tests/aie/support.hpp"
#include "tests/message_stages.hpp"

namespace offramp::aie {
namespace {

constexpr Time kCommand = Time::ns(500);  // the parameter's default

struct Driver {
  explicit Driver(int ranks = 40)
      : backend(staged(aie_backend().create({0, ranks, settings, {}, nullptr}))) {}
  Settings settings = Settings::defaults(aie_backend().parameters);
  std::unique_ptr<StagedBackend> backend;
  Setup setup = setup_of(settings);
  Messages network{setup};
};

Transfer message(int destination, std::size_t bytes, bool synchronous = false) {
  Transfer transfer;
  transfer.destination = destination;
  transfer.bytes = bytes;
  transfer.synchronous = synchronous;
  return transfer;
}

TEST(AieMessages, TakeTheTimeOfTheNetworkWheneverTheyAreSent) {
  for (const int peer : {1, 2, 9, 39}) {
    for (const std::size_t bytes : {0U, 8U, 5000U, 65536U, 8U}) {
      for (const Time issued : {Time(), Time::us(77)}) {
        Driver driver;  // The links carry no other message.
        const MessageTiming expected = driver.network.simulate(0, peer, bytes);
        ManyUnits sender;
        ManyUnits receiver;
        const Departure departure = driver.backend->depart(message(peer, bytes), issued, sender);
        EXPECT_FALSE(departure.handshake);
        EXPECT_EQ(departure.complete, issued + kCommand + expected.complete);
        EXPECT_EQ(departure.passage.first, issued + kCommand + expected.first);
        EXPECT_EQ(driver.backend->receive(message(peer, bytes), departure.passage, issued, receiver),
                  issued + kCommand + expected.last + kCommand);
      }
    }
  }
}

TEST(AieMessages, ThatAreLongWaitForTheirReceiver) {
  Driver driver;
  ManyUnits sender;
  ManyUnits receiver;
  const Transfer transfer = message(1, 70000);
  const MessageTiming expected = driver.network.simulate(0, 1, 70000);
  const Departure departure = driver.backend->depart(transfer, {}, sender);
  ASSERT_TRUE(departure.handshake);
  const Time posted = Time::ms(3);
  EXPECT_EQ(driver.backend->match(transfer, departure.passage, posted).complete, posted + expected.complete);
  EXPECT_EQ(driver.backend->receive(transfer, departure.passage, posted, receiver),
            posted + expected.last + kCommand);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(AieMessages, WithEightBytesAreModelledInLessThanAMicrosecond) {
  Driver driver;
  ManyUnits units;
  const Transfer transfer = message(2, 8);
  constexpr int kMessages = 200'000;
  const std::clock_t begin = std::clock();
  for (int i = 0; i < kMessages; ++i) {
    const Departure departure = driver.backend->depart(transfer, Time::us(i), units);
    (void)driver.backend->receive(transfer, departure.passage, Time::us(i), units);
  }
  const double each = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC / kMessages;
  std::printf("%.0f ns\n", each * 1e9);
  EXPECT_LT(each, 1e-6);
}
#endif

TEST(AieBackend, DeclinesWithTheLimitThatIsHit) {
  Driver driver(70);
  Operation operation;
  EXPECT_EQ(driver.backend->supports(operation).reason,
            "packet identifiers of a tile's 2 channels reach 64 others, but the program has 70 ranks");
  operation.kind = OperationKind::kReduce;
  operation.element = ElementType::kFloatExtended;
  operation.function = ReduceFunction::kSum;
  EXPECT_NE(driver.backend->supports(operation).reason.find("floats of 32"), std::string_view::npos);
  operation.element = ElementType::kInt16;
  operation.bytes = 16;
  operation.ranks = 400;
  EXPECT_TRUE(driver.backend->supports(operation).yes());
  operation.ranks = 401;
  EXPECT_EQ(driver.backend->supports(operation).reason, "401 kernels, but the array has 400 tiles");
  operation.function = ReduceFunction::kUser;
  EXPECT_FALSE(driver.backend->supports(operation).yes());
}

std::string_view reason_of(const Backend& backend, OperationKind kind, int ranks, std::size_t bytes,
                           ElementType element = ElementType::kInt32,
                           ReduceFunction function = ReduceFunction::kSum, bool commutative = true) {
  Operation operation;
  operation.kind = kind;
  operation.ranks = ranks;
  operation.bytes = bytes;
  operation.element = element;
  operation.function = function;
  operation.commutative = commutative;
  return backend.supports(operation).reason;
}

TEST(AieBackend, GivesEachDeclineItsTrueReason) {
  const Driver driver;
  const Backend& backend = driver.backend->backend();
  EXPECT_EQ(reason_of(backend, OperationKind::kAlltoall, 64, 16384), "");
  for (const std::size_t bytes : {std::size_t{16385}, SIZE_MAX})
    EXPECT_EQ(reason_of(backend, OperationKind::kAlltoall, 64, bytes),
              "the root would hold the data of all pairs of ranks, more than 64 MiB");
  EXPECT_EQ(reason_of(backend, OperationKind::kAlltoallv, 4, 8), "the hardware has no such collective");
  constexpr OperationKind kReduce = OperationKind::kAllreduce;
  for (const ElementType element :
       {ElementType::kFloatExtended, ElementType::kComplex, ElementType::kPair, ElementType::kMixed})
    EXPECT_EQ(reason_of(backend, kReduce, 4, 8, element),
              "the kernels compute with integers of 8 to 64 bits and floats of 32 and 64 bits");
  EXPECT_EQ(reason_of(backend, kReduce, 4, 8, ElementType::kInt32, ReduceFunction::kUser),
            "the kernels have only sum, product, maximum, minimum, logical, and bitwise functions");
  EXPECT_EQ(reason_of(backend, kReduce, 4, 8, ElementType::kInt32, ReduceFunction::kSum, false),
            "the tree combines in the order of its root's subtrees, not in rank order");
  for (const ElementType element : {ElementType::kFloat32, ElementType::kFloat64})
    EXPECT_EQ(reason_of(backend, kReduce, 4, 8, element, ReduceFunction::kLogicalXor),
              "the kernels have no logical or bitwise functions of floats");
  for (const ElementType element : {ElementType::kInt8, ElementType::kUint16, ElementType::kInt64,
                                    ElementType::kFloat32, ElementType::kFloat64}) {
    for (const ReduceFunction function : {ReduceFunction::kSum, ReduceFunction::kMinimum})
      EXPECT_EQ(reason_of(backend, kReduce, 4, 8, element, function), "");
  }
}

TEST(AieBackend, HasSmallerWindowsBesideKernelsOfTheProgram) {
  Settings settings = Settings::defaults(aie_backend().parameters);
  settings.set("window", {8192, {}});
  settings.set("data", {0, "tiles"});
  Operation operation;
  operation.kind = OperationKind::kReduce;
  operation.element = ElementType::kInt32;
  operation.function = ReduceFunction::kSum;
  operation.ranks = 63;
  operation.bytes = 8192;
  const auto need = [&](int user_memory) {
    settings.set("user_memory", {static_cast<double>(user_memory), {}});
    const aie::Setup setup = aie::setup_of(settings);
    Planner planner(setup);
    const ArrayRequirements found = planner.requirements(operation);
    return std::tuple(found.tree_window, std::string(found.instead), std::string(found.limit));
  };
  EXPECT_EQ(need(0), std::tuple(std::size_t{8192}, "", ""));
  const auto [window, instead, limit] = need(16384);
  EXPECT_LT(window, 8192U);
  EXPECT_NE(instead, "");
  EXPECT_EQ(limit, "");
  EXPECT_EQ(
      std::get<2>(need(22497)),
      "8192 B of local data: a tile has 32768 B, less 2080 B of stack, heap and synchronisation and 22497 "
      "B of the program's kernels");
  EXPECT_NE(std::get<2>(need(1048576)), "");
}

TEST(AieBackend, NamesOfTwoLimitsTheOneThatIsHit) {
  Settings small = Settings::defaults(aie_backend().parameters);
  small.set("rows", {2, {}});
  small.set("columns", {10, {}});
  const Operation send;
  const auto reason = [&](int ranks) {
    return std::string(aie_backend().create({0, ranks, small, {}, nullptr})->supports(send).reason);
  };
  EXPECT_EQ(reason(20), "");
  EXPECT_EQ(reason(21), "21 ranks, but the array has 20 tiles");  // the identifiers would allow 65 messages
}

TEST(AieExplain, DrawsAPlacementOrNamesTheError) {
  Driver driver;
  const ExplainTopic& placement = aie_backend().topics[0];
  const std::vector<std::string> words = {"ranks=127", "bytes=16"};
  const Explanation drawn = placement.render({driver.settings, {}, {}, words});
  EXPECT_EQ(drawn.error, "");
  EXPECT_EQ(drawn.text.rfind("<svg", 0), 0U);
  EXPECT_NE(drawn.text.find("127 kernels"), std::string::npos);
  EXPECT_NE(drawn.text.find("<polyline"), std::string::npos);
  const std::vector<std::string> many = {"ranks=500"};
  EXPECT_EQ(placement.render({driver.settings, {}, {}, many}).error,
            "500 kernels, but the array has 400 tiles");
  for (const char* const word :
       {"ranks=0", "ranks=x", "ranks", "=", "bytes=99999999999999999999", "what=3"}) {
    const std::vector<std::string> wrong = {word};
    EXPECT_NE(placement.render({driver.settings, {}, {}, wrong}).error, "") << word;
  }
}

TEST(AieExplain, ListsTheLimits) {
  Driver driver;
  const std::vector<std::string> words = {"ranks=255", "bytes=8192"};
  const Explanation listed = aie_backend().topics[1].render({driver.settings, {}, {}, words});
  EXPECT_NE(listed.text.find("equation 4.9"), std::string::npos);
}

}  // namespace
}  // namespace offramp::aie
