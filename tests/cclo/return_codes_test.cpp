// Every return code, provoked through the register block, and its row in the table of codes.
#include <functional>
#include <map>
#include <random>

#include "tests/cclo/rig.hpp"

namespace offramp::cclo::return_codes_test {
namespace {

using Floats = std::vector<float>;
constexpr std::uint64_t kElsewhere = 0x7'0000'0000;  // no memory at this address

std::uint64_t bytes_of(const Rig& rig, std::uint64_t elements) {
  return rig.second() ? elements : 4 * elements;
}

/// Copies 25 floats within rank 0.
std::uint32_t copy_at(Rig& rig, std::uint64_t from, std::uint64_t to) {
  CallArguments call;
  call.scenario = Scenario::kCopy;
  call.count = bytes_of(rig, 25);
  call.a = from;
  call.b = call.c = to;
  return rig.call(0, call);
}
std::uint32_t copy(Rig& rig) {
  return copy_at(rig, rig.put(0, Floats(25)), rig.put(0, Floats(25)));
}

CallArguments send_to(Rig& rig, std::uint32_t peer, std::uint64_t elements = 25) {
  CallArguments call;
  call.scenario = Scenario::kSend;
  call.count = bytes_of(rig, elements);
  call.peer = peer;
  call.a = rig.put(0, Floats(elements));
  return call;
}
CallArguments receive_from(Rig& rig, std::uint32_t peer, std::uint64_t elements = 25) {
  CallArguments call;
  call.scenario = Scenario::kReceive;
  call.count = bytes_of(rig, elements);
  call.peer = peer;
  call.a = call.c = rig.put(0, Floats(elements));
  return call;
}
std::uint32_t send(Rig& rig) {
  return rig.call(0, send_to(rig, 1));
}
std::uint32_t receive(Rig& rig) {
  return rig.call(0, receive_from(rig, 1));
}

/// A message of 100 bytes from rank 1 with one mistake.
std::uint32_t receive_injected(Rig& rig, std::uint32_t length, std::size_t payload,
                               std::uint32_t tag = kTagAny, std::uint32_t number = 1) {
  const std::uint32_t expected = rig.second() ? number - 1 : number;
  rig.machine().inject(1, 0, {Time::us(1), Time::us(2), 0}, {length, tag, 1, expected}, payload);
  return receive(rig);
}

std::uint32_t combine(Rig& rig, std::uint32_t function = 0) {
  CallArguments call;
  call.scenario = Scenario::kCombine;
  call.count = bytes_of(rig, 25);
  call.function = function;
  call.a = rig.put(0, Floats(25, 1));
  call.b = rig.put(0, Floats(25, 2));
  call.c = rig.put(0, Floats(25));
  return rig.call(0, call);
}

std::uint64_t spoilt(Rig& rig, Answer answer) {
  const std::uint64_t address = rig.put(0, Floats(25));
  rig.engine(0).memory().spoil(address + 16, 4, answer);
  return address;
}

/// The descriptor field of RX buffer 0, which the host changes without the firmware's knowledge.
void change_buffer(Rig& rig, DescriptorField field, std::uint32_t value) {
  EXPECT_EQ(rig.configure(0, Gen1Config::kInterruptsOn), 0U);  // the buffers are enqueued
  rig.driver(0).space().write(rig.layout().descriptor_offset(0) + *rig.layout().offset(field), value);
}

std::uint32_t with_kernel(Rig& rig, std::size_t supplied, bool ends) {
  TestKernel kernel;
  kernel.fill(Floats(supplied, 1));
  kernel.ends = ends;
  rig.engine(0).attach(kernel);
  CallArguments call;
  call.scenario = Scenario::kCopy;
  call.count = 100;
  call.flags = kOperand0Stream;
  call.c = rig.put(0, Floats(100));
  return rig.call(0, call);
}

using Provoke = std::function<std::uint32_t(Rig&)>;
using Provocations = std::multimap<Error, Provoke>;

std::uint32_t broken_dma(Rig& rig, const DmaStatus& status) {
  rig.engine(0).state().broken.dma.push_back(status);
  return copy(rig);
}

const Provocations& first_generation() {
  static const Provocations all = {
      {Error::kNone, copy},
      {Error::kNone, [](Rig& rig) { return receive_injected(rig, 100, 100); }},
      {Error::kDmaMismatch,
       [](Rig& rig) {
         // The write of the first call succeeded, and its acknowledgement was never read.
         const std::uint64_t into = rig.put(0, Floats(25));
         EXPECT_EQ(copy_at(rig, kElsewhere, into), 3U);
         return copy(rig);
       }},
      {Error::kDmaInternal,
       [](Rig& rig) {
         EXPECT_EQ(rig.configure(0, Gen1Config::kTransactionSize, 0), 0U);
         return copy(rig);
       }},
      {Error::kDmaDecode, [](Rig& rig) { return copy_at(rig, kElsewhere, rig.put(0, Floats(25))); }},
      {Error::kDmaDecode, [](Rig& rig) { return copy_at(rig, rig.put(0, Floats(25)), kElsewhere); }},
      {Error::kDmaDecode,
       [](Rig& rig) {
         change_buffer(rig, DescriptorField::kAddressHigh, 7);
         return receive_injected(rig, 100, 100);
       }},
      {Error::kDmaSlave,
       [](Rig& rig) { return copy_at(rig, spoilt(rig, Answer::kError), rig.put(0, Floats(25))); }},
      {Error::kDmaNotOkay, [](Rig& rig) { return rig.configure(0, Gen1Config::kTransactionsInFlight, 21); }},
      {Error::kDmaNotEndOfPacket, [](Rig& rig) { return receive_injected(rig, 100, 0x800000); }},
      {Error::kDmaUnexpectedBytes, [](Rig& rig) { return receive_injected(rig, 100, 96); }},
      {Error::kDmaUnexpectedBytes,
       [](Rig& rig) { return rig.configure(0, Gen1Config::kTransactionSize, 0x800000); }},
      {Error::kDmaTimeout,
       [](Rig& rig) { return copy_at(rig, spoilt(rig, Answer::kSilence), rig.put(0, Floats(25))); }},
      {Error::kDmaTimeout,
       [](Rig& rig) {  // no kernel is attached
         CallArguments call;
         call.scenario = Scenario::kExternalStream;
         call.count = 100;
         call.a = rig.put(0, Floats(25));
         call.b = rig.put(0, Floats(25));
         return rig.call(0, call);
       }},
      {Error::kSwitch,
       [](Rig& rig) {
         rig.engine(0).state().broken.stream_switch = true;
         return copy(rig);
       }},
      {Error::kBufferStatus,
       [](Rig& rig) {
         change_buffer(rig, DescriptorField::kStatus, 0);
         return receive_injected(rig, 100, 100);
       }},
      {Error::kBufferStatus,
       [](Rig& rig) {
         change_buffer(rig, DescriptorField::kMaximumLength, 64);
         return receive_injected(rig, 100, 100);
       }},
      {Error::kBufferTagMismatch,
       [](Rig& rig) {
         change_buffer(rig, DescriptorField::kDmaTag, 5);
         return receive_injected(rig, 100, 100);
       }},
      {Error::kBufferIndex,
       [](Rig& rig) {
         EXPECT_EQ(rig.configure(0, Gen1Config::kInterruptsOn), 0U);
         rig.driver(0).space().write(rig.layout().exchange_base, 0);
         return receive_injected(rig, 100, 100);
       }},
      {Error::kReceiveTimeout, receive},
      {Error::kReceiveTimeout, [](Rig& rig) { return receive_injected(rig, 100, 100, kTagAny, 2); }},
      {Error::kReceiveTimeout, [](Rig& rig) { return receive_injected(rig, 96, 96); }},
      {Error::kReceiveTimeout,
       [](Rig& rig) {
         rig.machine().inject(1, 0, {Time::us(1), Time::us(2), 0}, {100, 5, 1, 1}, 100);
         CallArguments call = receive_from(rig, 1);
         call.tag = 6;
         return rig.call(0, call);
       }},
      {Error::kOpenPort,
       [](Rig& rig) {
         EXPECT_EQ(rig.configure(0, Gen1Config::kUseUdp), 0U);
         return rig.configure(0, Gen1Config::kOpenPort);
       }},
      {Error::kOpenConnection,
       [](Rig& rig) {
         EXPECT_EQ(rig.configure(0, Gen1Config::kReset), 0U);
         return rig.configure(0, Gen1Config::kOpenConnections);
       }},
      {Error::kArithmetic,
       [](Rig& rig) {
         rig.engine(0).state().broken.arithmetic = true;
         return combine(rig);
       }},
      {Error::kPacketizerTimeout,
       [](Rig& rig) {
         EXPECT_EQ(rig.configure(0, Gen1Config::kReset), 0U);
         return send(rig);
       }},
      {Error::kPacketizerSequence,
       [](Rig& rig) {
         // The first message was packed although its call failed. The second one gets its number and its
         // acknowledgement, and the third one those of the second.
         CallArguments failing = send_to(rig, 1);
         failing.a = kElsewhere;
         EXPECT_EQ(rig.call(0, failing), 3U);
         EXPECT_EQ(send(rig), 0U);
         return send(rig);
       }},
  };
  return all;
}

const Provocations& second_generation() {
  static const Provocations all = {
      {Error::kNone, copy},
      {Error::kNone, [](Rig& rig) { return receive_injected(rig, 100, 100); }},
      {Error::kDmaInternal,
       [](Rig& rig) {
         DmaStatus status;
         status.internal_error = true;
         return broken_dma(rig, status);
       }},
      {Error::kDmaDecode, [](Rig& rig) { return copy_at(rig, kElsewhere, rig.put(0, Floats(25))); }},
      {Error::kDmaDecode,
       [](Rig& rig) {  // a buffer of the card, which the call declares to be the host's
         CallArguments call = send_to(rig, 1);
         call.flags = kOperand0Host;
         return rig.call(0, call);
       }},
      {Error::kDmaSlave,
       [](Rig& rig) { return copy_at(rig, spoilt(rig, Answer::kError), rig.put(0, Floats(25))); }},
      {Error::kDmaNotOkay, [](Rig& rig) { return copy_at(rig, kElsewhere, rig.put(0, Floats(25))); }},
      {Error::kDmaTimeout,
       [](Rig& rig) { return copy_at(rig, spoilt(rig, Answer::kSilence), rig.put(0, Floats(25))); }},
      {Error::kBufferStatus,
       [](Rig& rig) {
         rig.driver(0).space().write(kGen2BufferLength, 64);
         return receive_injected(rig, 100, 100);
       }},
      {Error::kReceiveTimeout, receive},
      {Error::kReceiveTimeout, [](Rig& rig) { return receive_injected(rig, 100, 100, 5); }},
      {Error::kNotImplemented,
       [](Rig& rig) {
         CallWords words{};
         words[0] = 77;
         rig.start(0, words);
         return rig.finish(0);
       }},
      {Error::kNotImplemented,
       [](Rig& rig) {
         CallArguments call;
         call.scenario = Scenario::kAlltoall;
         call.count = 25;
         call.config = Config::kFloatHalf;
         call.compression = kMessagesCompressed;
         return rig.call(0, call);
       }},
      {Error::kEagerThreshold, [](Rig& rig) { return rig.configure(0, Gen2Config::kMaximumEager, 1023); }},
      {Error::kRendezvousThreshold,
       [](Rig& rig) { return rig.configure(0, Gen2Config::kMaximumRendezvous, 1024); }},
      {Error::kPacketizerTimeout,
       [](Rig& rig) {
         rig.engine(0).state().packetizers = false;
         return send(rig);
       }},
      {Error::kPacketizerSequence,
       [](Rig& rig) {
         rig.engine(0).state().broken.packetizer.push_back(1);
         return send(rig);
       }},
      {Error::kCompression, [](Rig& rig) { return combine(rig, 2); }},
      {Error::kCompression,
       [](Rig& rig) {  // two floats make one element, and 25 is odd
         const std::uint32_t record =
             rig.driver(0).arithmetic_config(static_cast<std::size_t>(Config::kFloat));
         rig.driver(0).space().write(record + 8, 1);
         CallArguments call = send_to(rig, 1);
         call.compression = kMessagesCompressed;
         return rig.call(0, call);
       }},
      {Error::kKernelTimeout, [](Rig& rig) { return with_kernel(rig, 99, false); }},
      {Error::kKernelCount, [](Rig& rig) { return with_kernel(rig, 99, true); }},
      {Error::kSegmenterBytes,
       [](Rig& rig) {
         TestKernel kernel;
         rig.engine(0).attach(kernel);
         rig.engine(0).state().broken.lost_words = 1;
         CallArguments call;
         call.scenario = Scenario::kCopy;
         call.count = 100;
         call.flags = kResultStream;
         call.a = rig.put(0, Floats(100));
         const std::uint32_t code = rig.call(0, call);
         EXPECT_EQ(kernel.taken.size(), 400U - 64U);
         return code;
       }},
      {Error::kSegmenterTag,
       [](Rig& rig) {
         DmaStatus status;
         status.tag = 3;
         return broken_dma(rig, status);
       }},
      {Error::kNotReady,
       [](Rig& rig) {
         const std::size_t call = rig.start_from_kernel(0, send_to(rig, 1, 1000));  // by rendezvous
         rig.machine().run();
         EXPECT_FALSE(rig.engine(0).result(call).done);
         // The reset has a code of its own, which follows that of the call.
         EXPECT_EQ(rig.configure(0, Gen2Config::kReset), 0U);
         EXPECT_TRUE(rig.engine(0).result(call).done);
         return rig.engine(0).result(call).code;
       }},
  };
  return all;
}

void expect_all(Generation generation, const Values& values, const Provocations& provocations) {
  for (const ReturnCode& row : return_codes()) {
    if (!row.defined(generation) && row.error != Error::kNone) {
      EXPECT_TRUE(row.in(generation).reason.empty()) << row.name;
      EXPECT_FALSE(provocations.contains(row.error)) << row.name;
      continue;
    }
    EXPECT_FALSE(row.in(generation).reason.empty()) << row.name;
    EXPECT_EQ(provocations.contains(row.error), row.in(generation).arises) << row.name;
  }
  for (const auto& [error, provoke] : provocations) {
    Rig rig(2, values);
    const std::uint32_t value = provoke(rig);
    const std::uint32_t wanted = encode(generation, error);
    if (generation == Generation::kFirst) {
      EXPECT_EQ(value, wanted) << to_string(error);
    } else {
      EXPECT_EQ(value & wanted, wanted) << to_string(error);
      EXPECT_TRUE(error == Error::kNotReady || value == rig.return_value(0)) << "RETVAL";
      if (error == Error::kNone) {
        EXPECT_EQ(value, 0U);
      }
    }
  }
}

TEST(CcloReturnCodes, AriseInTheFirstGenerationAsTheTableSays) {
  expect_all(Generation::kFirst, {}, first_generation());
}

TEST(CcloReturnCodes, AriseInTheSecondGenerationAsTheTableSays) {
  Provocations all = second_generation();
  // Over UDP a message's packets may arrive twice.
  all.emplace(Error::kDmaUnexpectedBytes, [](Rig& rig) {
    const Stamp stamp{Time::us(1), Time::us(2),
                      Stamp::kFailed | static_cast<std::uint64_t>(Error::kDmaUnexpectedBytes)};
    rig.machine().inject(1, 0, stamp, {100, kTagAny, 1, 0}, 100);
    return receive(rig);
  });
  expect_all(Generation::kSecond, {{"profile", word("gen2")}}, all);
}

TEST(CcloReturnCodes, CombineInTheSecondGeneration) {
  Rig rig(2, {{"profile", word("gen2")}});
  EXPECT_EQ(copy_at(rig, kElsewhere, rig.put(0, Floats(25))), 0x14U) << "decode error, and not okay";
  EXPECT_EQ(copy(rig), 0U) << "the next call is a new one";
  EXPECT_EQ(copy_at(rig, kElsewhere, spoilt(rig, Answer::kError)), 0x1cU);
}

TEST(CcloReturnCodes, AnErrorOfTheFirstGenerationStaysUntilAReset) {
  Rig rig(2);
  EXPECT_EQ(copy_at(rig, kElsewhere, rig.put(0, Floats(25))), 3U);
  EXPECT_EQ(copy(rig), 1U);
  EXPECT_EQ(rig.configure(0, Gen1Config::kReset), 0U);
  EXPECT_EQ(copy(rig), 0U);
}

TEST(CcloReturnCodes, UnknownCallsOfTheFirstGenerationSucceed) {
  for (const Values& values : {Values(), Values{{"profile", word("gen2")}}}) {
    Rig rig(2, values);
    CallWords words{};
    words[0] = 77;
    rig.start(0, words);
    EXPECT_EQ(rig.finish(0), rig.second() ? 0x4000U : 0U);
  }
}

TEST(CcloReturnCodes, ARankOutsideTheCommunicatorDoesNotCommunicate) {
  for (const Values& values : {Values(), Values{{"profile", word("gen2")}}}) {
    Rig rig(2, values);
    EXPECT_EQ(rig.call(0, send_to(rig, 7)), 0U) << "complete at the sender";
    EXPECT_EQ(rig.call(0, receive_from(rig, 0xffffffff)),
              encode(rig.spec(0).generation, Error::kReceiveTimeout));
    CallArguments bcast = send_to(rig, 2);
    bcast.scenario = Scenario::kBcast;
    EXPECT_EQ(rig.call(0, bcast), encode(rig.spec(0).generation, Error::kReceiveTimeout)) << "no root";
    EXPECT_EQ(rig.waits, "");
  }
}

TEST(CcloReturnCodes, AnyWordsEndACallOrWait) {
  std::mt19937 random(7);
  const auto one_of = [&random](std::initializer_list<std::uint64_t> values) {
    return values.begin()[random() % values.size()];
  };
  for (const Values& values : {Values(), Values{{"profile", word("gen2")}}}) {
    std::size_t done = 0;
    for (int i = 0; i < 3000; ++i) {
      Rig rig(2, values);
      TestKernel kernel;
      kernel.fill(Floats(100));
      rig.engine(0).attach(kernel);
      const std::uint64_t memory = rig.put(0, Floats(20000));
      std::vector<std::size_t> calls;
      for (int j = 0; j < 3; ++j) {
        CallWords words{};
        for (std::uint32_t& any : words) any = static_cast<std::uint32_t>(random());
        const auto set = [&words](Argument a, std::uint64_t value) {
          words[static_cast<std::size_t>(a)] = static_cast<std::uint32_t>(value);
        };
        set(Argument::kScenario, random() % 22);
        set(Argument::kCount, one_of({0, 1, 100, 4096, random() % 5000}));
        set(Argument::kCommunicator, one_of({rig.communicator(), rig.communicator(), 0, random() % 8192}));
        set(Argument::kRootSourceDestination, one_of({0, 1, 2, random()}));
        set(Argument::kFunction, random() % 15);
        if (rig.second()) set(Argument::kType0, rig.driver(0).arithmetic_config(random() % 6));
        for (const Argument low : {Argument::kAddress0Low, Argument::kAddress1Low, Argument::kAddress2Low}) {
          set(low, one_of({memory, memory + 64, random()}));
          words[static_cast<std::size_t>(low) + 1] = static_cast<std::uint32_t>(one_of({0, 0, 0, random()}));
        }
        rig.driver(0).space().write_arguments(words);
        rig.driver(0).space().write_control(kApCtrl, kApStart);
        calls.push_back(rig.engine(0).call(Time::us(j)));
        rig.finish(0);
      }
      for (const std::size_t call : calls) done += rig.engine(0).result(call).done ? 1 : 0;
    }
    EXPECT_GT(done, 6000U);
  }
}

TEST(CcloReturnCodes, ATimeoutTakesItsPolls) {
  Rig rig(2);
  const std::size_t call = rig.start(0, receive_from(rig, 1));
  EXPECT_EQ(rig.finish(0), 12U);
  EXPECT_GE(rig.engine(0).result(call).end, rig.spec(0).timeout);
}

}  // namespace
}  // namespace offramp::cclo::return_codes_test
