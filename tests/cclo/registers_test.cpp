// The IO space: tables, layouts, the dump of [accl], codes and the message header.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "backends/cclo/driver.hpp"
#include "simulators/cclo/exchange_memory.hpp"
#include "simulators/cclo/header.hpp"
#include "simulators/cclo/move.hpp"
#include "tests/cclo/support.hpp"

namespace offramp::cclo::registers_test {
namespace {

/// Reads HWID, as the second generation's driver does.
HardwareId decode_hardware_id(std::uint32_t word) {
  const auto bit = [word](int n) { return (word >> n & 1U) != 0; };
  HardwareId id;
  id.stack = static_cast<HardwareId::Stack>(word & 3U);
  id.internal_dma = bit(2);
  id.arithmetic = bit(3);
  id.compression = bit(4);
  id.kernel_streams = bit(5);
  id.debug = bit(6);
  id.external_dma = bit(7);
  id.commit = word >> 8;
  return id;
}

std::uint32_t at(const CallWords& words, Argument argument) {
  return words[static_cast<std::size_t>(argument)];
}

TEST(CcloCallBlock, DecodesTheDumpOfTheDocument) {
  IoSpace space(layout_of(Profile::kDump));
  const std::uint32_t dump[32] = {0x4, 0, 0,    0, 0x2, 0, 0x3d0900, 0, 0x1244, 0, 0x2,       0,
                                  0x0, 0, 0x19, 0, 0x0, 0, 0x0,      0, 0,      0, 0xd0b73000};
  EXPECT_EQ(space.read(kApCtrl), dump[0]) << "a quiescent engine is idle and nothing else";
  for (std::uint32_t i = 4; i < 32; ++i) space.write(4 * i, dump[i]);
  space.write(kApCtrl, kApStart);
  const CallWords words = space.pop_call().value();
  EXPECT_EQ(scenario_of(Generation::kFirst, at(words, Argument::kScenario)), Scenario::kReceive);
  EXPECT_EQ(at(words, Argument::kCount), 4'000'000U);
  EXPECT_EQ(at(words, Argument::kCommunicator), 0x1244U);
  EXPECT_EQ(at(words, Argument::kRootSourceDestination), 2U);
  EXPECT_EQ(at(words, Argument::kFunction), 0U);
  EXPECT_EQ(at(words, Argument::kTag), 25U);
  EXPECT_EQ(at(words, Argument::kAddress0Low), 0xd0b73000U);
  for (const Argument zero :
       {Argument::kType0, Argument::kType1, Argument::kType2, Argument::kAddress0High, Argument::kAddress1Low,
        Argument::kAddress1High, Argument::kAddress2Low, Argument::kAddress2High})
    EXPECT_EQ(at(words, zero), 0U);
  EXPECT_EQ(layout_of(Profile::kDump).communicators_offset(16), 0x1244U);
}

TEST(CcloCallBlock, NamesStreamsAndHostMemoryByOneBitEach) {
  std::uint32_t all = 0;
  for (const OperandFlag& flag : kOperandFlags) {
    EXPECT_EQ(all & flag.bit, 0U);
    all |= flag.bit;
  }
  EXPECT_EQ(all, 0x0703U) << "the second operand is never a stream";
}

TEST(CcloCallBlock, HasEveryRegisterAtTheDocumentedOffset) {
  const std::pair<Argument, std::uint32_t> table[] = {
      {Argument::kScenario, 0x10},     {Argument::kCount, 0x18},
      {Argument::kCommunicator, 0x20}, {Argument::kRootSourceDestination, 0x28},
      {Argument::kFunction, 0x30},     {Argument::kTag, 0x38},
      {Argument::kType0, 0x40},        {Argument::kType1, 0x48},
      {Argument::kType2, 0x50},        {Argument::kAddress0Low, 0x58},
      {Argument::kAddress0High, 0x5c}, {Argument::kAddress1Low, 0x64},
      {Argument::kAddress1High, 0x68}, {Argument::kAddress2Low, 0x70},
      {Argument::kAddress2High, 0x74}};
  for (const auto& [argument, offset] : table) EXPECT_EQ(offset_of(argument), offset);
}

TEST(CcloCallBlock, ShakesHandsAsApCtrlHs) {
  IoSpace space(layout_of(Profile::kSeed));
  EXPECT_FALSE(space.pop_call());
  space.write(kApCtrl, kApStart);
  EXPECT_EQ(space.read(kApCtrl), kApStart) << "busy";
  EXPECT_TRUE(space.pop_call());
  EXPECT_FALSE(space.pop_call()) << "a call is handed over once";
  space.complete(12);
  EXPECT_EQ(space.read(kApCtrl), kApDone | kApIdle | kApReady);
  EXPECT_EQ(space.read(kApCtrl), kApIdle) << "done is cleared by reading";
  EXPECT_EQ(space.read(0x0ffc), 12U);
}

TEST(CcloCallBlock, TakesOneCallAtATime) {
  IoSpace space(layout_of(Profile::kSeed));
  space.write(kApCtrl, kApStart);
  EXPECT_TRUE(space.pop_call());
  space.write(kApCtrl, kApStart);
  EXPECT_FALSE(space.pop_call());
}

TEST(CcloIoSpace, AnswersAnyAddress) {
  for (const Profile profile : {Profile::kSeed, Profile::kDump, Profile::kGen2}) {
    IoSpace space(layout_of(profile));
    std::mt19937 random(1);
    for (int i = 0; i < 10000; ++i) {
      const auto offset = static_cast<std::uint32_t>(random());
      space.write(offset, static_cast<std::uint32_t>(random()));
      space.write_control(offset, static_cast<std::uint32_t>(random()));
      (void)space.read_control(offset);
      EXPECT_EQ(space.read(offset | 1U), 0U);
    }
    EXPECT_EQ(space.read(kIoSpaceBytes), 0U);
  }
}

TEST(CcloExchangeMemory, HasTheCommunicatorBehindTheRxDescriptors) {
  const std::uint32_t buffers[] = {1, 2, 3, 4, 8, 10, 16, 32};
  const std::uint32_t seed[] = {0x828, 0x84c, 0x870, 0x894, 0x924, 0x96c, 0xa44, 0xc84};
  const std::uint32_t dump[] = {0x1028, 0x104c, 0x1070, 0x1094, 0x1124, 0x116c, 0x1244, 0x1484};
  const std::uint32_t gen2[] = {0x24, 0x40, 0x5c, 0x78, 0xe8, 0x120, 0x1c8, 0x388};
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(layout_of(Profile::kSeed).communicators_offset(buffers[i]), seed[i]);
    EXPECT_EQ(layout_of(Profile::kDump).communicators_offset(buffers[i]), dump[i]);
    EXPECT_EQ(layout_of(Profile::kGen2).communicators_offset(buffers[i]), gen2[i]);
  }
  for (std::uint32_t n = 0; n < 200; ++n)
    EXPECT_NE(layout_of(Profile::kSeed).communicators_offset(n), 0x1244U) << "no count gives the dump's";
}

TEST(CcloExchangeMemory, HasRoomForALimitedNumberOfRanks) {
  const Layout& seed = layout_of(Profile::kSeed);
  EXPECT_EQ(seed.most_buffers(4), 54U);
  EXPECT_EQ(seed.free_words(16), 365U);
  EXPECT_EQ(seed.communicator_words(128), 642U);
  EXPECT_EQ(seed.free_words(1000), 0U);
  const auto most_ranks = [](Profile profile) {
    const Layout& layout = layout_of(profile);
    return (layout.free_words(16) - kCommunicatorHeadWords) / layout.rank_words();
  };
  EXPECT_EQ(most_ranks(Profile::kSeed), 72U);
  EXPECT_EQ(most_ranks(Profile::kDump), 174U);
  EXPECT_EQ(most_ranks(Profile::kGen2), 310U);
}

TEST(CcloExchangeMemory, HasSixConfigurationsBehindTheCommunicatorInTheSecondGeneration) {
  const Layout& layout = layout_of(Profile::kGen2);
  const std::uint64_t communicator = layout.communicators_offset(16);
  EXPECT_EQ(communicator, 0x1c8U);
  const std::uint64_t behind = communicator + 4 * layout.communicator_words(4);
  EXPECT_EQ(behind, 0x230U);
  EXPECT_EQ(behind + 36 * 2, 0x278U) << "f32";
  EXPECT_EQ(behind + 36 * 6, 0x308U) << "the next communicator";
  const std::array<std::uint32_t, 9> f32 = {4, 4, 0, 0, 0, 2, 0, 0, 5};
  EXPECT_EQ(arithmetic_configs()[2].words, f32);
  EXPECT_EQ(layout.free_words(16), (0x1fc4U - 0x1c8U) / 4 - 54);
}

TEST(CcloExchangeMemory, FieldsAreInTheDocumentedOrder) {
  const Layout& seed = layout_of(Profile::kSeed);
  EXPECT_EQ(seed.offset(DescriptorField::kStatus), 16U);
  EXPECT_EQ(seed.offset(DescriptorField::kSequence), 32U);
  const Layout& gen2 = layout_of(Profile::kGen2);
  EXPECT_EQ(gen2.offset(DescriptorField::kStatus), 0U);
  EXPECT_EQ(gen2.offset(DescriptorField::kDmaTag), std::nullopt);
  EXPECT_EQ(seed.offset(RankField::kSession), 16U);
  EXPECT_EQ(seed.offset(RankField::kMaximumSegment), std::nullopt);
  EXPECT_EQ(gen2.offset(RankField::kMaximumSegment), 20U);
  for (const Profile profile : {Profile::kSeed, Profile::kDump, Profile::kGen2}) {
    const Layout& layout = layout_of(profile);
    std::set<std::uint32_t> offsets;
    for (const Register& r : layout.registers) EXPECT_TRUE(offsets.insert(r.offset).second);
    EXPECT_NE(print_layout(layout, 16).find("RETVAL"), std::string::npos);
  }
}

struct Engine {
  explicit Engine(const Values& values, int rank, int ranks)
      : configuration(configuration_of(settings_with(values))),
        spec(configuration.spec),
        driver(configuration, spec, rank, ranks) {}
  std::vector<std::uint32_t> words(std::uint32_t from, std::size_t count) {
    std::vector<std::uint32_t> out;
    for (std::size_t i = 0; i < count; ++i)
      out.push_back(driver.space().read(from + 4 * static_cast<std::uint32_t>(i)));
    return out;
  }
  Configuration configuration;
  Spec spec;
  Driver driver;
};

TEST(CcloDriver, WritesTheCommunicatorOfTheVector) {  // with sessions open
  Engine tcp({{"profile", word("dump")}}, 1, 2);
  const std::vector<std::uint32_t> expected = {2, 1, 0x0a0a0a01, 5500, 0, 0, 0, 0x0a0a0a02, 5501, 0, 0, 1};
  EXPECT_EQ(tcp.words(0x1244, 12), expected);
  Engine udp({{"profile", word("dump")}, {"transport", word("udp")}}, 1, 2);
  const std::vector<std::uint32_t> ports = {2,          1,          0x0a0a0a01, 0, 0, 0,
                                            kNoSession, 0x0a0a0a02, 1,          0, 0, kNoSession};
  EXPECT_EQ(udp.words(0x1244, 12), ports);
}

TEST(CcloDriver, SetsUpRxBuffersInTheSeedsLayout) {
  Engine engine({}, 0, 4);
  EXPECT_EQ(engine.driver.problem(), "");
  EXPECT_EQ(engine.words(0x800, 1), std::vector<std::uint32_t>{16});
  for (std::uint32_t i = 0; i < 16; ++i) {
    const std::vector<std::uint32_t> d = engine.words(0x804 + 36 * i, 9);
    const std::vector<std::uint32_t> expected = {0x10000000 + 65536 * i, 0, 65536, 0, 0, 0, 0, 0, 0};
    EXPECT_EQ(d, expected);
  }
  EXPECT_EQ(engine.words(0x0ffc, 1), std::vector<std::uint32_t>{0}) << "the last call succeeded";
  EXPECT_EQ(decode_hardware_id(engine.words(0x0ff8, 1)[0]).stack, HardwareId::Stack::kTcp);
}

TEST(CcloDriver, DeclinesRxBuffersThatDoNotFit) {
  EXPECT_EQ(Engine({{"rx_buffers", number(54)}}, 0, 2).driver.problem(), "");
  EXPECT_NE(Engine({{"rx_buffers", number(56)}}, 0, 2).driver.problem().find("55 fit"), std::string::npos);
  EXPECT_NE(Engine({{"transport", word("rdma")}}, 0, 2).driver.problem(), "");
}

TEST(CcloDriver, EvictsTheLeastRecentlyUsedEntry) {
  Engine engine({}, 0, 20);  // 102 of 365 words
  Driver& driver = engine.driver;
  EXPECT_EQ(driver.place(20, 0, 0).cost, Time());
  const Driver::Placed a = driver.place(30, 1, 0);  // 152
  EXPECT_EQ(a.address, 0xa44U + 4 * 102);
  EXPECT_EQ(a.cost, Time::ns(100) * 152);
  EXPECT_EQ(driver.place(20, 0, 0).cost, Time());
  const Driver::Placed b = driver.place(40, 2, 0);  // 202: the one of 30 is removed
  EXPECT_EQ(b.address, a.address);
  EXPECT_EQ(driver.place(20, 0, 0).cost, Time());
  EXPECT_GT(driver.place(30, 1, 0).cost, Time());
  EXPECT_GT(driver.place(72, 3, 0).cost, Time()) << "takes nearly everything";
  EXPECT_EQ(engine.words(0xa44, 2), (std::vector<std::uint32_t>{72, 3}));
}

TEST(CcloConfiguration, IsCheckedAsByTheFirmware) {
  Spec gen1;
  EngineState state;
  const auto one = [&](Gen1Config f, std::uint32_t v) {
    return encode(Generation::kFirst, configure(gen1, state, static_cast<std::uint32_t>(f), v));
  };
  EXPECT_EQ(one(Gen1Config::kTransactionSize, 0x800000), 7U);
  EXPECT_EQ(one(Gen1Config::kTransactionSize, 0x7fffff), 0U);
  EXPECT_EQ(one(Gen1Config::kTransactionsInFlight, 21), 5U);
  EXPECT_EQ(one(Gen1Config::kTransactionsInFlight, 20), 0U);
  Spec gen2 = gen2_spec();
  const auto two = [&](Gen2Config f, std::uint32_t v) {
    return encode(Generation::kSecond, configure(gen2, state, static_cast<std::uint32_t>(f), v));
  };
  EXPECT_EQ(two(Gen2Config::kMaximumEager, 1023), 0x10000U);
  EXPECT_EQ(two(Gen2Config::kMaximumEager, 1024), 0U);
  EXPECT_EQ(two(Gen2Config::kMaximumRendezvous, 1024), 0x20000U);
  EXPECT_EQ(two(Gen2Config::kMaximumRendezvous, 32768), 0U);
}

TEST(CcloCodes, AreThoseOfBothGenerations) {
  EXPECT_EQ(encode(Generation::kFirst, Error::kReceiveTimeout), 12U);
  EXPECT_EQ(encode(Generation::kSecond, Error::kReceiveTimeout), 0x800U);
  EXPECT_EQ(encode(Generation::kSecond, Error::kNotImplemented), 0x4000U);
  for (const Generation generation : {Generation::kFirst, Generation::kSecond}) {
    std::set<std::uint32_t> seen;
    for (const ReturnCode& code : return_codes()) {
      const bool there = generation == Generation::kFirst ? code.gen1 >= 0 : code.gen2_bit >= 0;
      if (!there) continue;
      EXPECT_TRUE(seen.insert(encode(generation, code.error)).second) << code.name;
      EXPECT_EQ(decode(generation, encode(generation, code.error)), code.error);
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(Scenario::kNumber); ++i) {
      const auto scenario = static_cast<Scenario>(i);
      if (const auto code = code_of(generation, scenario)) {
        EXPECT_EQ(scenario_of(generation, *code), scenario);
      }
    }
    EXPECT_EQ(scenario_of(generation, 77), std::nullopt);
  }
}

TEST(CcloHardwareId, DecodesPublishedWords) {
  const std::pair<std::uint32_t, std::uint32_t> words[] = {
      {3009117246U, 0xb35b7c}, {2696576574U, 0xa0ba7e}, {4147289406U, 0xf7329d}};
  for (const auto& [word, commit] : words) {
    const HardwareId id = decode_hardware_id(word);
    EXPECT_EQ(id, (HardwareId{HardwareId::Stack::kRdma, true, true, true, true, false, false, commit}));
    EXPECT_EQ(encode(id), word);
  }
}

TEST(CcloHeader, IsTheSecondGenerationsByteForByte) {
  Header eager;
  eager.set(HeaderField::kCount, 1024);
  eager.set(HeaderField::kTag, 7);
  eager.set(HeaderField::kSource, 2);
  eager.set(HeaderField::kDestination, 5);
  const std::string zeros(64, '0');
  EXPECT_EQ(hex(encode(Generation::kSecond, eager)),
            "0004000007000000020000000000000000000000050000000000000000000000" + zeros);
  Header data;
  data.set(HeaderField::kCount, 0x100000);
  data.set(HeaderField::kTag, kTagAny);
  data.set(HeaderField::kSource, 1);
  data.set(HeaderField::kSequence, 3);
  data.set(HeaderField::kDestination, 1);
  data.set(HeaderField::kType, static_cast<std::uint64_t>(MessageType::kRendezvousData));
  data.set(HeaderField::kHost, 1);
  data.set(HeaderField::kAddress, 0x123456789abc);
  const HeaderImage image = encode(Generation::kSecond, data);
  EXPECT_EQ(hex(image), "00001000ffffffff01000000030000000000000001000101bc9a785634120000" + zeros);
  EXPECT_EQ(decode(Generation::kSecond, image), data);
}

TEST(CcloHeader, HasFourWordsInTheFirstGeneration) {
  Header header;
  header.set(HeaderField::kCount, 1024);
  header.set(HeaderField::kTag, 25);
  header.set(HeaderField::kSequence, 1);
  header.set(HeaderField::kDestination, 9);
  EXPECT_EQ(hex(encode(Generation::kFirst, header)).substr(0, 64),
            "0004000019000000000000000100000000000000000000000000000000000000");
}

TEST(CcloHeader, TakesAnyBytes) {
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    Buffer bytes(random() % 80);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random());
    for (const Generation generation : {Generation::kFirst, Generation::kSecond}) {
      const auto header = decode(generation, bytes);
      if (bytes.size() < kHeaderBytes) {
        EXPECT_FALSE(header);
      }
      if (header && generation == Generation::kSecond) {
        EXPECT_LT(header->get(HeaderField::kType), 4U);
      }
    }
  }
}

TEST(CcloPacketizer, CutsAsTheVectorsSay) {
  const auto words = [](Generation g, std::uint32_t packet, std::uint64_t bytes) {
    const PacketCut cut = cut_message(g, Transport::kUdp, packet, bytes);
    std::vector<std::int64_t> out(cut.full, Spec::words(cut.full_bytes));
    out.push_back(Spec::words(cut.last_bytes));
    return out;
  };
  using Words = std::vector<std::int64_t>;
  EXPECT_EQ(words(Generation::kSecond, 4096, 1024), Words{17});
  EXPECT_EQ(words(Generation::kSecond, 4096, 4032), Words{64});
  EXPECT_EQ(words(Generation::kSecond, 4096, 4096), (Words{64, 1}));
  EXPECT_EQ(words(Generation::kSecond, 4096, 100), Words{3});
  EXPECT_EQ(cut_message(Generation::kSecond, Transport::kUdp, 4096, 100).last_bytes, 192U) << "padded";
  EXPECT_EQ(words(Generation::kFirst, 1536, 1472), Words{24});
  EXPECT_EQ(words(Generation::kFirst, 1536, 1536), (Words{24, 1}));
  EXPECT_EQ(cut_message(Generation::kFirst, Transport::kUdp, 1536, 100).last_bytes, 164U) << "byte-exact";
}

TEST(CcloMove, HasTheOpcodesOfTheVector) {
  const auto set = [](Access op0, Access op1, Access res) {
    return MoveOpcode()
        .with(MoveField::kOperand0, op0)
        .with(MoveField::kOperand1, op1)
        .with(MoveField::kResult, res);
  };
  using A = Access;
  EXPECT_EQ(set(A::kImmediate, A::kNone, A::kImmediate).word(), 0x82U) << "copy";
  const MoveOpcode send = set(A::kImmediate, A::kNone, A::kImmediate).with(MoveField::kRemote, 1);
  EXPECT_EQ(send.word(), 0x282U);
  EXPECT_EQ(send.with(MoveField::kOperand0, A::kStride).word(), 0x286U) << "its next segment";
  const MoveOpcode receive = set(A::kNone, A::kOnReceive, A::kImmediate);
  EXPECT_EQ(receive.word(), 0x98U);
  EXPECT_EQ(receive.with(MoveField::kResult, A::kStride).word(), 0x198U) << "its next segment";
  const MoveOpcode fused = receive.with(MoveField::kOperand0, A::kImmediate);
  EXPECT_EQ(fused.word(), 0x9aU);
  EXPECT_EQ(fused.with(MoveField::kRemote, 1).word(), 0x29aU);
  EXPECT_EQ(set(A::kImmediate, A::kImmediate, A::kImmediate).with(MoveField::kFunction, 1).word(), 0x2092U);
  EXPECT_EQ(send.with(MoveField::kRendezvous, 1).word(), 0x100282U);
  EXPECT_EQ(MoveOpcode(0x29a).get(MoveField::kOperand1), 3U);
  EXPECT_EQ(move_words(MoveOpcode(0x82)), 7);
  EXPECT_EQ(move_words(MoveOpcode(0x29a)), 12);
}

struct Pool {
  explicit Pool(Profile profile, std::uint32_t buffers = 4) : space(layout_of(profile)), pool(space) {
    Spec spec;
    spec.rx_buffers = buffers;
    spec.rx_buffer_bytes = 1024;
    poke_buffers(space, spec);
  }
  IoSpace space;
  RxPool pool;
};

TEST(CcloRxPool, GoesThroughItsStates) {
  Pool p(Profile::kSeed);
  EXPECT_EQ(p.pool.status(0), BufferStatus::kIdle);
  EXPECT_FALSE(p.pool.fill({100, 5, 1, 1})) << "nothing is enqueued";
  EXPECT_EQ(p.pool.enqueue(), 4U);
  EXPECT_EQ(p.pool.fill({100, 5, 1, 1}), 0U) << "the lowest";
  EXPECT_EQ(p.pool.status(0), BufferStatus::kReserved);
  EXPECT_EQ(p.pool.seek(1, 5, 1), 0U);
  EXPECT_FALSE(p.pool.seek(1, 5, 2)) << "another number";
  EXPECT_FALSE(p.pool.seek(2, 5, 1)) << "another source";
  p.pool.release(0);
  EXPECT_EQ(p.pool.status(0), BufferStatus::kIdle);
  EXPECT_FALSE(p.pool.seek(1, 5, 1));
  EXPECT_EQ(p.space.read(0x804 + 24), 100U) << "rx_len of descriptor 0";
}

TEST(CcloRxPool, KeepsMessagesUntilTheyAreClaimed) {
  Pool p(Profile::kSeed);
  (void)p.pool.enqueue();
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(p.pool.fill({8, kTagAny, 1, i + 1}), i);
  EXPECT_EQ(p.pool.enqueue(), 0U);
  EXPECT_FALSE(p.pool.fill({8, kTagAny, 1, 5}));
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(p.pool.seek(1, kTagAny, i + 1), i);
}

TEST(CcloRxPool, EnqueuesNoMoreThanThereAreDmaTags) {
  Pool p(Profile::kSeed, 30);
  EXPECT_EQ(p.pool.enqueue(), RxPool::kMostEnqueued);
}

TEST(CcloRxPool, FlagsASegmentThatIsTooLong) {
  for (const Profile profile : {Profile::kSeed, Profile::kGen2}) {
    Pool p(profile);
    (void)p.pool.enqueue();
    EXPECT_EQ(p.pool.fill({1025, kTagAny, 1, 1}), 0U);
    EXPECT_EQ(p.pool.status(0), BufferStatus::kError);
  }
}

TEST(CcloRxPool, HasTheWildcardAtTheReceiverOrAtTheMessage) {
  Pool first(Profile::kSeed);
  (void)first.pool.enqueue();
  (void)first.pool.fill({8, 5, 1, 1});
  (void)first.pool.fill({8, kTagAny, 2, 1});
  EXPECT_TRUE(first.pool.seek(1, kTagAny, 1));
  EXPECT_FALSE(first.pool.seek(2, 5, 1));
  Pool second(Profile::kGen2);
  (void)second.pool.enqueue();
  (void)second.pool.fill({8, 5, 1, 0});
  (void)second.pool.fill({8, kTagAny, 2, 0});
  EXPECT_FALSE(second.pool.seek(1, kTagAny, 0));
  EXPECT_TRUE(second.pool.seek(2, 5, 0));
}

TEST(CcloCommunicator, NumbersMessagesFromOneAndFromZero) {
  for (const Profile profile : {Profile::kSeed, Profile::kGen2}) {
    IoSpace space(layout_of(profile));
    poke_communicator(space, 0x900, 2, 0);
    Communicator communicator(space, 0x900);
    const std::uint32_t first = profile == Profile::kSeed ? 1 : 0;
    EXPECT_EQ(communicator.next_outbound(1), first);
    EXPECT_EQ(communicator.next_outbound(1), first + 1);
    EXPECT_EQ(communicator.expected_inbound(1), first);
    communicator.count_inbound(1);
    EXPECT_EQ(communicator.expected_inbound(1), first + 1);
    EXPECT_EQ(communicator.get(7, RankField::kIp), 0U) << "beyond its ranks";
  }
}

TEST(CcloExplain, RendersEveryTopic) {
  for (const char* profile : {"seed", "dump", "gen2"}) {
    const Settings settings = settings_with({{"profile", word(profile)}});
    for (const ExplainTopic& topic : cclo_backend().topics) {
      const Explanation text = topic.render({settings, {}, {}, {}});
      EXPECT_EQ(text.error, "");
      EXPECT_GT(text.text.size(), 60U) << topic.topic;
    }
  }
}

}  // namespace
}  // namespace offramp::cclo::registers_test
