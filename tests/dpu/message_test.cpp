// The stages of a point-to-point message against the network that they abbreviate: host, service process,
// wire, service process, host, as processes with clocks of their own.
#include "simulators/dpu/message.hpp"

#include <gtest/gtest.h>

#include "offramp/kernel/channel.hpp"
#include "offramp/kernel/wire.hpp"

namespace offramp::dpu::message_test {
namespace {

constexpr Time kEmit = Time::ns(300);

struct Message {
  std::int64_t bytes;
  Time issued;
};

struct Token {
  std::int64_t bytes = 0;
};
using Way = Channel<Token>;

PlatformSpec one_rank_per_node(const CardSpec& card = {}) {
  PlatformSpec spec;
  spec.card = card;
  spec.ranks_per_node = 1;
  return spec;
}

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
    self.clock += card.step();  // receive it
    self.clock += card.step();  // send it on
    const Time time = card.link.bytes(framed(kNotificationHeader + token.bytes));
    co_await wire.write_at(token, link.acquire(self.clock, time).end + card.network_latency);
  }
}

Task<void> receiving_service(const CardSpec& card, std::size_t messages, Way& wire, std::vector<Time>& done) {
  for (std::size_t i = 0; i < messages; ++i) {
    const Token token = co_await wire.read();
    Process& self = co_await this_process();
    self.clock += card.step();  // match
    self.clock += card.arm_copy.bytes(token.bytes);
    self.clock += card.step();  // WRITE
    done.push_back(self.clock + later(card.dma_request, card.dma_write.bytes(token.bytes)) +
                   card.pcie_latency + card.poll);
  }
}

std::vector<Time> network(const PlatformSpec& spec, const std::vector<Message>& messages) {
  Scheduler scheduler;
  Way up(scheduler, 1000);
  Way wire(scheduler, 1000);
  std::vector<Time> done;
  scheduler.spawn("host", host(spec.card, messages, up));
  scheduler.spawn("sender", sending_service(spec.card, messages.size(), up, wire));
  scheduler.spawn("receiver", receiving_service(spec.card, messages.size(), wire, done));
  scheduler.run();
  return done;
}

/// The two ends of messages from rank 0 to rank 1.
struct Ends {
  explicit Ends(const PlatformSpec& spec_)
      : spec(spec_),
        node(spec),
        path(spec, node, kEmit),
        source(node.descriptions().size()),
        destination(node.descriptions().size()) {}

  Passage pass(std::int64_t bytes, Time issued, Protocol protocol = Protocol::kDirect, Time posted = {}) {
    transfer.source = 0;
    transfer.destination = 1;
    transfer.bytes = static_cast<std::size_t>(bytes);
    Passage passage;
    passage.protocol = protocol;
    passage.issued = issued;
    passage.begin = passage.host_free = issued + kEmit;
    const Resources sender = Resources(node.descriptions(), source.data());
    const Resources receiver = Resources(node.descriptions(), destination.data());
    to_its_end(passage, [&] { (void)path.depart(transfer, passage, sender); });
    if (protocol == Protocol::kRendezvous) {
      passage.granted = later(passage.requested, posted);
      to_its_end(passage, [&] { path.answer(transfer, passage, receiver); });
      to_its_end(passage, [&] { path.transmit(transfer, passage, sender); });
    }
    passage.first = passage.leaves + passage.latency;
    passage.last = passage.left + passage.latency;
    to_its_end(passage, [&] { path.arrive(transfer, passage, receiver); });
    return passage;
  }
  [[nodiscard]] Time receive(const Passage& passage) const {
    return path.receive(transfer, passage, passage.stored, Matched::kPosted);
  }

  PlatformSpec spec;
  NodeResources node;
  MessagePath path;
  std::vector<Resource> source;
  std::vector<Resource> destination;
  Transfer transfer;
};

TEST(DpuMessage, TakesTheTimeOfItsNetwork) {
  for (const CardSpec& card : {bluefield2(), bluefield3()}) {
    for (const std::int64_t bytes : {0, 1, 8, 4096, 4097, 65536}) {
      Ends ends(one_rank_per_node(card));
      const std::vector<Message> one = {{bytes, Time::ns(123)}};
      EXPECT_EQ(ends.receive(ends.pass(bytes, one[0].issued)), network(ends.spec, one)[0]) << bytes;
    }
  }
}

TEST(DpuMessage, SmallOnesQueueAsInTheirNetwork) {
  Ends ends(one_rank_per_node());
  std::vector<Message> window;
  for (int i = 0; i < 200; ++i) window.push_back({(i * 79) % 512, Time::ns(311) * i});
  const std::vector<Time> expected = network(ends.spec, window);
  for (std::size_t i = 0; i < window.size(); ++i)
    EXPECT_NEAR(ends.receive(ends.pass(window[i].bytes, window[i].issued)).nanoseconds(),
                expected[i].nanoseconds(), 200)
        << i;
}

// About 4 to 10 us from host to service process and back, measured by programs (published, crude).
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

TEST(DpuMessage, LongOnesWaitForTheirReceiveAndNotifyTheSender) {
  const auto pass = [](DataPath way, Time posted) {
    PlatformSpec spec = one_rank_per_node();
    spec.path = way;
    return Ends(spec).pass(1 << 20, Time::us(10), Protocol::kRendezvous, posted);
  };
  const Passage early = pass(DataPath::kGvmi, {});
  const Passage late = pass(DataPath::kGvmi, Time::ms(1));
  EXPECT_EQ(late.stored - early.stored, Time::ms(1) + CardSpec().pcie_latency - early.requested);
  EXPECT_GT(early.complete, early.stored);
  EXPECT_GT(pass(DataPath::kStaging, {}).stored, early.stored);
}

}  // namespace
}  // namespace offramp::dpu::message_test
