// Calls on one engine: their effect on memory, and what configuration calls switch.
#include <list>

#include "tests/cclo/rig.hpp"

namespace offramp::cclo::firmware_test {
namespace {

const Values kFirst = {{"transport", word("udp")}};
const Values kGen2 = {{"profile", word("gen2")}};

std::uint32_t code(const Rig& rig, Error error) {
  return encode(rig.layout().generation, error);
}

/// A SEND to rank 1, COPY, or another call of 100 bytes.
std::uint32_t call(Rig& rig, Scenario scenario) {
  CallArguments arguments;
  arguments.scenario = scenario;
  arguments.count = rig.second() ? 25 : 100;
  arguments.peer = 1;
  arguments.a = rig.put(0, std::vector<float>(25));
  arguments.b = arguments.c = rig.put(0, std::vector<float>(25));
  return rig.call(0, arguments);
}
/// A RECV of a message from rank 1 that has arrived.
std::uint32_t receive(Rig& rig, std::uint32_t number) {
  rig.machine().inject(1, 0, {Time::us(1), Time::us(2), 0}, {100, kTagAny, 1, number}, 100);
  return call(rig, Scenario::kReceive);
}

TEST(CcloCombine, AddsTwoBuffersInEitherGeneration) {
  for (const Values& values : {kFirst, kGen2}) {
    Rig rig(2, values);
    const std::vector<std::int32_t> in(50000, 5);
    const std::vector<std::int32_t> inout(in.size(), 37);
    CallArguments combine;
    combine.scenario = Scenario::kCombine;
    combine.count = rig.second() ? in.size() : 4 * in.size();
    combine.function = rig.second() ? 0 : 2;
    combine.config = Config::kInt32;
    combine.a = rig.put(0, in);
    combine.b = combine.c = rig.put(0, inout);
    const std::size_t index = rig.start(0, combine);
    EXPECT_EQ(rig.finish(0), 0U);
    EXPECT_EQ(rig.get<std::int32_t>(0, combine.c, in.size()), std::vector<std::int32_t>(in.size(), 42));
    // At most one word of both operands per cycle, and the rate of the memory.
    const OffloadEngine::Result& result = rig.engine(0).result(index);
    EXPECT_GT(result.end - result.begin, rig.spec(0).memory_channel.bytes(200000));
    EXPECT_LT(result.end - result.begin, rig.spec(0).memory_channel.bytes(200000) * 2);
  }
}

TEST(CcloConfiguration, CallsNeedPacketizersInterruptsAndConnections) {
  for (const Values& values : {kFirst, kGen2}) {
    Rig rig(2, values);
    CardState& state = rig.engine(0).state();
    state = {};
    const std::uint32_t first = rig.second() ? 0 : 1;
    EXPECT_EQ(call(rig, Scenario::kSend), code(rig, Error::kPacketizerTimeout));
    EXPECT_GE(rig.engine(0).result(0).end, rig.spec(0).timeout);
    EXPECT_EQ(call(rig, Scenario::kReceive), code(rig, Error::kReceiveTimeout));
    EXPECT_EQ(call(rig, Scenario::kNop), 0U) << "needs no network";
    EXPECT_EQ(call(rig, Scenario::kCopy), 0U);
    if (rig.second()) {
      EXPECT_EQ(rig.configure(0, Gen2Config::kEnginesOn), 0U);
    } else {
      EXPECT_EQ(rig.configure(0, Gen1Config::kPacketizersOn), 0U);
      EXPECT_EQ(call(rig, Scenario::kReceive), code(rig, Error::kReceiveTimeout))
          << "interrupts serve the RX buffers";
      EXPECT_EQ(rig.configure(0, Gen1Config::kInterruptsOn), 0U);
    }
    EXPECT_EQ(call(rig, Scenario::kSend), 0U);
    EXPECT_EQ(receive(rig, first), 0U);
  }
  Rig tcp(2);
  tcp.engine(0).state().port = tcp.engine(0).state().connections = false;
  const auto of_first = [](Error error) { return encode(Generation::kFirst, error); };
  EXPECT_EQ(call(tcp, Scenario::kSend), of_first(Error::kPacketizerTimeout)) << "no session";
  EXPECT_EQ(tcp.configure(0, Gen1Config::kOpenConnections), of_first(Error::kOpenConnection)) << "no port";
  EXPECT_EQ(tcp.configure(0, Gen1Config::kOpenPort, 5500), 0U);
  EXPECT_EQ(tcp.configure(0, Gen1Config::kOpenConnections), 0U);
  EXPECT_EQ(call(tcp, Scenario::kSend), 0U);
  Rig udp(2, kFirst);
  EXPECT_EQ(udp.configure(0, Gen1Config::kOpenPort), of_first(Error::kOpenPort)) << "UDP has none";
}

TEST(CcloConfiguration, AResetForgetsAllButTheHardwareId) {
  for (const Values& values : {kFirst, kGen2}) {
    Rig rig(2, values);
    IoSpace& space = rig.driver(0).space();
    const std::uint32_t id = space.peek(rig.layout().hardware_id);
    EXPECT_NE(id, 0U);
    rig.engine(0).state().broken.arithmetic = true;
    EXPECT_EQ(rig.second() ? rig.configure(0, Gen2Config::kReset) : rig.configure(0, Gen1Config::kReset), 0U);
    EXPECT_EQ(space.peek(rig.layout().hardware_id), id);
    EXPECT_EQ(space.peek(rig.layout().exchange_base), 0U) << "no RX buffers";
    EXPECT_EQ(space.peek(rig.communicator()), 0U);
    EXPECT_FALSE(rig.engine(0).state().broken.arithmetic) << "the units are as after power-on";
    if (!rig.second()) {
      EXPECT_EQ(call(rig, Scenario::kSend), code(rig, Error::kPacketizerTimeout));
    }
  }
}

/// The team of a RECV whose message has arrived.
class ArrivedTeam final : public Team {
 public:
  explicit ArrivedTeam(const Stamp& stamp) : Team(0, 2, true), stamp_(stamp) {}
  MutableBytes scratch(std::size_t bytes) override { return memory_.emplace_back(bytes); }

 protected:
  void combine_elements(Bytes, MutableBytes) override {}
  Handle start_send(int, Bytes, const Stamp*) override { return nullptr; }
  Handle start_receive(int, MutableBytes, bool) override { return &stamp_; }
  bool ready(Handle) override { return true; }
  void wait(Handle, std::coroutine_handle<>) override {}
  Outcome finish(Handle) override { return Outcome::kOk; }
  Arrival finish_token(Handle) override { return {Outcome::kOk, stamp_}; }

 private:
  Stamp stamp_;
  std::list<Buffer> memory_;
};

/// An engine without a card, as the backend has it.
struct Engine {
  explicit Engine(Profile profile)
      : spec(profile == Profile::kGen2 ? gen2_spec() : udp_spec()),
        space(layout_of(profile)),
        communicator(space.layout().communicators_offset(spec.rx_buffers)) {
    poke_buffers(space, spec);
    poke_communicator(space, communicator, 2, 0);
  }

  Error receive(std::uint32_t message_tag, std::uint32_t tag) {
    ArrivedTeam team({Time::us(1), Time::us(2), std::uint64_t{message_tag} << kTagShift});
    Buffer data(100);
    CallContext context{spec, space, team, communicator, {}};
    context.tag = tag;
    Processor processor(context, {});
    CallWords words{};
    words[static_cast<std::size_t>(Argument::kScenario)] = *code_of(spec.generation, Scenario::kReceive);
    words[static_cast<std::size_t>(Argument::kRootSourceDestination)] = 1;
    Task<Error> task = run_call(processor, space, words, {{}, data, 1});
    task.start();
    return task.result();
  }

  Spec spec;
  IoSpace space;
  std::uint32_t communicator;
};

TEST(CcloReceive, MatchesTagsInTheDevice) {
  for (const Profile profile : {Profile::kSeed, Profile::kGen2}) {
    const bool second = profile == Profile::kGen2;
    const auto receive = [&](std::uint32_t message, std::uint32_t receiver) {
      return Engine(profile).receive(message, receiver);
    };
    EXPECT_EQ(receive(5, 5), Error::kNone);
    EXPECT_EQ(receive(5, 6), Error::kReceiveTimeout);
    EXPECT_EQ(receive(5, kTagAny), second ? Error::kReceiveTimeout : Error::kNone);
    EXPECT_EQ(receive(kTagAny, 5), second ? Error::kNone : Error::kReceiveTimeout);
    Engine engine(profile);
    EXPECT_EQ(engine.receive(25, 25), Error::kNone);
    const Layout& layout = engine.space.layout();
    EXPECT_EQ(engine.space.peek(layout.descriptor_offset(0) + *layout.offset(DescriptorField::kRxTag)), 25U);
  }
}

}  // namespace
}  // namespace offramp::cclo::firmware_test
