// Calls on one engine: their effect on memory, and what configuration calls switch.
#include <gtest/gtest.h>

#include <list>

#include "tests/cclo/support.hpp"

namespace offramp::cclo::firmware_test {
namespace {

/// The team of a single call, with data.
class DataTeam final : public Team {
 public:
  explicit DataTeam(std::vector<Stamp> arrivals = {}) : Team(0, 2, true), arrivals_(std::move(arrivals)) {}
  MutableBytes scratch(std::size_t bytes) override { return memory_.emplace_back(bytes); }
  std::vector<Stamp> sent;

 protected:
  void combine_elements(Bytes in, MutableBytes inout) override {
    Int32Sum sum;
    sum.combine(in, inout);
  }
  Handle start_send(int, Bytes, const Stamp* stamp) override {
    sent.push_back(*stamp);
    return nullptr;
  }
  Handle start_receive(int, MutableBytes, bool) override {
    return taken_ < arrivals_.size() ? &arrivals_[taken_++] : nullptr;
  }
  bool ready(Handle) override { return true; }
  void wait(Handle, std::coroutine_handle<>) override {}
  Outcome finish(Handle) override { return Outcome::kOk; }
  Arrival finish_token(Handle handle) override {
    if (handle == nullptr) return {};
    const Stamp& stamp = *static_cast<const Stamp*>(handle);
    return {stamp.failed() ? Outcome::kFault : Outcome::kOk, stamp};
  }

 private:
  std::vector<Stamp> arrivals_;
  std::size_t taken_ = 0;
  std::list<Buffer> memory_;
};

/// An engine, with the steps of its host.
struct Engine {
  explicit Engine(Profile profile, std::uint32_t buffers = 16, Transport transport = Transport::kUdp)
      : spec(profile == Profile::kGen2 ? gen2_spec() : udp_spec()), space(layout_of(profile)) {
    if (profile != Profile::kGen2) spec.transport = transport;
    Spec table = spec;
    table.rx_buffers = buffers;
    poke_buffers(space, table);
    communicator = space.layout().communicators_offset(buffers);
    poke_communicator(space, communicator, 2, 0);
  }

  Error call(Scenario scenario, std::uint32_t function = 0, std::uint32_t count = 0, CallMemory memory = {}) {
    CallContext context{spec, space, team, communicator, {}};
    context.state = &state;
    Processor processor(context, {});
    CallWords words{};
    words[static_cast<std::size_t>(Argument::kScenario)] = *code_of(spec.generation, scenario);
    words[static_cast<std::size_t>(Argument::kFunction)] = function;
    words[static_cast<std::size_t>(Argument::kCount)] = count;
    words[static_cast<std::size_t>(Argument::kRootSourceDestination)] = 1;
    Task<Error> task = run_call(processor, space, words, memory);
    task.start();
    const Error error = task.result();
    EXPECT_EQ(space.read(space.layout().return_value), encode(spec.generation, error));
    last = processor.now();
    return error;
  }
  Error configure(Gen1Config function, std::uint32_t value = 0) {
    return call(Scenario::kConfig, static_cast<std::uint32_t>(function), value);
  }
  Error configure(Gen2Config function, std::uint32_t value = 0) {
    return call(Scenario::kConfig, static_cast<std::uint32_t>(function), value);
  }
  Error send() {
    const Buffer data(100);
    return call(Scenario::kSend, 0, 100, {data, {}, 1});
  }
  Error receive(std::uint32_t message_tag = kTagAny, std::uint32_t tag = kTagAny) {
    DataTeam arriving({{Time::us(1), Time::us(2), std::uint64_t{message_tag} << kTagShift}});
    Buffer data(100);
    CallContext context{spec, space, arriving, communicator, {}};
    context.tag = tag;
    context.state = &state;
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
  EngineState state = EngineState::ready();
  DataTeam team;
  Time last;
};

constexpr Profile kGenerations[] = {Profile::kSeed, Profile::kGen2};

TEST(CcloCombine, AddsTwoBuffersInEitherGeneration) {
  for (const Profile profile : kGenerations) {
    Engine engine(profile);
    std::vector<std::int32_t> in(50000, 5);
    std::vector<std::int32_t> inout(in.size(), 37);
    const auto bytes = std::as_bytes(std::span(in));
    const auto into = std::as_writable_bytes(std::span(inout));
    EXPECT_EQ(engine.call(Scenario::kCombine, 2, 200000, {bytes, into, 4}), Error::kNone);
    EXPECT_EQ(inout, std::vector<std::int32_t>(in.size(), 42));
    // At most one word of both operands per cycle, and the rate of the memory.
    EXPECT_GT(engine.last, engine.spec.memory_channel.bytes(200000));
    EXPECT_LT(engine.last, engine.spec.memory_channel.bytes(200000) * 2);
    EXPECT_TRUE(engine.team.sent.empty());
  }
}

TEST(CcloConfiguration, CallsNeedPacketizersInterruptsAndConnections) {
  for (const Profile profile : kGenerations) {
    Engine engine(profile);
    engine.state = {};
    EXPECT_EQ(engine.send(), Error::kPacketizerTimeout);
    EXPECT_GE(engine.last, engine.spec.timeout);
    EXPECT_EQ(engine.receive(), Error::kReceiveTimeout);
    EXPECT_EQ(engine.call(Scenario::kNop), Error::kNone) << "needs no network";
    EXPECT_EQ(engine.call(Scenario::kCopy), Error::kNone);
    if (profile == Profile::kGen2) {
      EXPECT_EQ(engine.configure(Gen2Config::kEnginesOn), Error::kNone);
    } else {
      EXPECT_EQ(engine.configure(Gen1Config::kPacketizersOn), Error::kNone);
      EXPECT_EQ(engine.receive(), Error::kReceiveTimeout) << "interrupts serve the RX buffers";
      EXPECT_EQ(engine.configure(Gen1Config::kInterruptsOn), Error::kNone);
    }
    EXPECT_EQ(engine.send(), Error::kNone);
    EXPECT_EQ(engine.receive(), Error::kNone);
  }
  Engine tcp(Profile::kSeed, 16, Transport::kTcp);
  tcp.state.port = tcp.state.connections = false;
  EXPECT_EQ(tcp.send(), Error::kPacketizerTimeout) << "no session";
  EXPECT_EQ(tcp.configure(Gen1Config::kOpenConnections), Error::kOpenConnection) << "no port";
  EXPECT_EQ(tcp.configure(Gen1Config::kOpenPort, 5500), Error::kNone);
  EXPECT_EQ(tcp.configure(Gen1Config::kOpenConnections), Error::kNone);
  EXPECT_EQ(tcp.send(), Error::kNone);
  EXPECT_EQ(Engine(Profile::kSeed).configure(Gen1Config::kOpenPort), Error::kOpenPort) << "UDP has none";
}

TEST(CcloConfiguration, AResetForgetsAllButTheHardwareId) {
  for (const Profile profile : kGenerations) {
    Engine engine(profile);
    const Layout& layout = engine.space.layout();
    engine.space.poke(layout.hardware_id, 0xb35b7c3e);
    const Error error = profile == Profile::kGen2 ? engine.configure(Gen2Config::kReset)
                                                  : engine.configure(Gen1Config::kReset);
    EXPECT_EQ(error, Error::kNone);
    EXPECT_EQ(engine.space.peek(layout.hardware_id), 0xb35b7c3eU);
    EXPECT_EQ(engine.space.peek(layout.exchange_base), 0U) << "no RX buffers";
    EXPECT_EQ(engine.space.peek(engine.communicator), 0U);
    EXPECT_EQ(engine.send(), Error::kPacketizerTimeout);
  }
}

TEST(CcloReceive, MatchesTagsInTheDevice) {
  for (const Profile profile : kGenerations) {
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
