// The closed form of a point-to-point message beside the network that it stands for: host, service process,
// wire, service process, host as processes with clocks of their own.
#include "simulators/dpu/message.hpp"

#include <gtest/gtest.h>

#include "offramp/kernel/channel.hpp"
#include "offramp/kernel/wire.hpp"

namespace offramp::dpu {
namespace {

constexpr Time kEmit = Time::ns(300);

struct Message {
  std::int64_t bytes;
  Time issued;
  Time posted;
};

struct Token {
  std::int64_t bytes = 0;
};
using Way = Channel<Token>;

Task<void> host(const CardSpec& card, const std::vector<Message>& messages, Way& to_service) {
  Arbiter pcie;
  for (const Message& message : messages) {
    Process& self = co_await this_process();
    self.clock = later(self.clock, message.issued) + kEmit;
    const Time time = card.pcie.bytes(framed(kNotificationHeader + message.bytes));
    const Token token{message.bytes};
    co_await to_service.write_at(token, pcie.acquire(self.clock, time).end + card.pcie_latency);
  }
}

Task<void> sending_service(const CardSpec& card, std::size_t messages, Way& from_host, Way& wire) {
  Arbiter link;
  for (std::size_t i = 0; i < messages; ++i) {
    const Token token = co_await from_host.read();
    Process& self = co_await this_process();
    self.clock += card.step();  // take it
    self.clock += card.step();  // send it on
    const Time time = card.link.bytes(framed(kNotificationHeader + token.bytes));
    co_await wire.write_at(token, link.acquire(self.clock, time).end + card.network_latency);
  }
}

Task<void> receiving_service(const CardSpec& card, const std::vector<Message>& messages, Way& wire,
                             std::vector<Time>& done) {
  Arbiter down;
  for (const Message& message : messages) {
    const Token token = co_await wire.read();
    Process& self = co_await this_process();
    self.clock = later(self.clock, message.posted + card.pcie_latency);  // the receive, a notification too
    self.clock += card.step();                                           // match
    self.clock += card.step();                                           // WRITE
    done.push_back(down.acquire(self.clock, card.dma_write.bytes(token.bytes)).end + card.pcie_latency +
                   card.poll);
  }
}

std::vector<Time> network(const PlatformSpec& spec, const std::vector<Message>& messages) {
  Scheduler scheduler;
  Way up(scheduler, 1000);
  Way wire(scheduler, 1000);
  std::vector<Time> done;
  scheduler.spawn("host", host(spec.card, messages, up));
  scheduler.spawn("sender", sending_service(spec.card, messages.size(), up, wire));
  scheduler.spawn("receiver", receiving_service(spec.card, messages, wire, done));
  scheduler.run();
  return done;
}

std::vector<Time> closed_form(const PlatformSpec& spec, const std::vector<Message>& messages) {
  const MessagePath path(spec, kEmit);
  Arbiter up;
  Arbiter service_out;
  Arbiter nic;
  Arbiter service_in;
  Arbiter down;
  std::vector<Time> done;
  Time host_free;
  for (const Message& message : messages) {
    const MessagePath::Sent sent = path.send(message.bytes, Distance::kNetwork, 0,
                                             later(host_free, message.issued), {up, service_out, nic});
    host_free = sent.host_free;
    done.push_back(path.receive(message.bytes, 1, sent.last, message.posted, {service_in, down}));
  }
  return done;
}

TEST(DpuMessage, TakesTheTimeOfItsNetwork) {
  const PlatformSpec spec;
  for (const std::int64_t bytes : {0, 1, 8, 4096, 4097, 65536}) {
    for (const Time posted : {Time(), Time::us(3), Time::ms(2)}) {
      const std::vector<Message> one = {{bytes, Time::ns(123), posted}};
      EXPECT_EQ(closed_form(spec, one), network(spec, one)) << bytes;
    }
  }
}

TEST(DpuMessage, QueuesAsInItsNetwork) {
  for (const CardSpec& card : {bluefield2(), bluefield3()}) {
    PlatformSpec spec;
    spec.card = card;
    std::vector<Message> window;
    for (int i = 0; i < 200; ++i)
      window.push_back({(i * 7919) % 65536, Time::ns(211) * (i / 5), Time::ns(97) * (i * 13 % 50)});
    EXPECT_EQ(closed_form(spec, window), network(spec, window));
  }
}

// About 4 to 10 us from host to service process and back, at the level of programs (published, crude).
TEST(DpuMessage, GoesToTheServiceProcessAndBackInThePublishedRange) {
  const PlatformSpec spec;
  const CardSpec& card = spec.card;
  const Time round = kEmit + card.pcie_latency + card.step() * 2 + card.pcie_latency + card.poll;
  EXPECT_GT(round, Time::us(3));
  EXPECT_LT(round, Time::us(10));
  // 1 KiB by READ within a machine: 4 us (published, whole microseconds).
  const Time local = card.step() + card.local_latency + card.pcie_latency * 2 + card.local_latency;
  EXPECT_NEAR(local.nanoseconds(), 4000, 1000);
}

TEST(DpuMessage, LongOnesWaitForTheirReceiveAndTellTheSender) {
  const PlatformSpec spec;
  const MessagePath path(spec, kEmit);
  const MessagePath::Read early = path.read(1 << 20, Distance::kNetwork, Time::us(10), {});
  const MessagePath::Read late = path.read(1 << 20, Distance::kNetwork, Time::us(10), Time::ms(1));
  EXPECT_EQ(late.landed - early.landed, Time::ms(1) + spec.card.pcie_latency - Time::us(10));
  EXPECT_GT(early.acked, early.landed);
  PlatformSpec staging;
  staging.path = DataPath::kStaging;
  EXPECT_GT(MessagePath(staging, kEmit).read(1 << 20, Distance::kNetwork, Time::us(10), {}).landed,
            early.landed);
}

}  // namespace
}  // namespace offramp::dpu
