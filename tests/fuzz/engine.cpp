// Headers and payloads from a fabric that sends anything: envelopes, replies, handshakes, sequence numbers
// and contexts. Valid headers with a few changed bytes get deeper than random ones, so the input selects the
// changes of a valid one.
#include "lib/run/engine/engine.hpp"

#include <memory>
#include <vector>

#include "tests/fuzz/support.hpp"

namespace offramp {
namespace {

constexpr int kRanks = 3;
constexpr std::uint64_t kContext = 77;

/// Takes no time for anything. Synchronous messages need an answer.
class Instant final : public Backend {
 public:
  [[nodiscard]] Verdict supports(const Operation& operation) const override {
    return Verdict::accept(operation, kRegularOperations);
  }
  [[nodiscard]] bool waits_for_receiver(const Transfer&) const override { return false; }
  [[nodiscard]] std::span<const ResourceDescription> resources() const override { return {}; }
  void issue(const Transfer& transfer, Passage& passage) override {
    passage.host_free = passage.begin = passage.issued;
    if (transfer.synchronous) passage.protocol = Protocol::kConfirmed;
  }
  void depart(const Transfer&, Passage& passage, const Resources&) override {
    passage.leaves = passage.left = passage.complete = passage.begin;
  }
  void arrive(const Transfer&, Passage& passage, const Resources&) override { passage.stored = passage.last; }
  Time receive(const Transfer&, const Passage&, Time at, Matched) override { return at; }
  void confirm(const Transfer&, Passage& passage) override {
    passage.complete = later(passage.last, passage.posted);
  }
  [[nodiscard]] Time copy_time(std::size_t) const override { return {}; }
  [[nodiscard]] Time post_receive_cost() const override { return {}; }
  Task<Outcome> collective(const Operation&, Team&, CollectiveBuffers) override { co_return Outcome::kOk; }
  [[nodiscard]] WireCounters wire() const override { return {}; }
};

/// Discards sends; payloads at the sender have any number of bytes.
class Void final : public Fabric {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int ranks() const override { return kRanks; }
  State send(int, std::span<const std::byte>, std::span<const std::byte>, FabricWaiter&) override {
    return State::kDone;
  }
  State offer(int, std::span<const std::byte>, std::span<const std::byte>, FabricWaiter&) override {
    return State::kDone;
  }
  State pull(void* remote, std::span<std::byte> into, FabricWaiter&) override {
    std::fill(into.begin(), into.end(), std::byte{1});
    delete static_cast<char*>(remote);
    return State::kDone;
  }
  void drop(void* remote) override { delete static_cast<char*>(remote); }
  int progress(Sink&) override { return 0; }
};

std::unique_ptr<Lane> lane() {
  std::vector<Lane::Member> members;
  members.emplace_back("instant", std::make_unique<Instant>());
  return std::make_unique<Lane>(std::move(members), Lane::kHost, std::vector<RouteRule>(), 1);
}

Envelope good_envelope(std::uint32_t sequence) {
  Envelope envelope;
  envelope.context = kContext;
  envelope.source = 1;
  envelope.source_world = 1;
  envelope.sequence = sequence;
  envelope.token = std::uint64_t{1} << 32;
  return envelope;
}

}  // namespace
}  // namespace offramp

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace offramp;  // NOLINT: one function
  fuzz::Input input(data, size);
  Void fabric;
  std::vector<std::byte> buffers(8 * 64);
  std::vector<ReceiveRecord> receives(8);
  std::vector<SendRecord> sends(4);
  Engine engine(fabric, lane());
  Context& context = engine.open_context(kContext, 0, std::vector{0, 1, 2});
  for (std::size_t i = 0; i < sends.size(); ++i)
    engine.send(sends[i], {context, static_cast<int>(i % 2) + 1, 0, {}, ElementType::kByte, true});
  for (std::size_t i = 0; i < receives.size(); ++i)
    engine.receive(receives[i], context, i % 2 == 0 ? kAnySource : 1, i % 3 == 0 ? kAnyTag : 0,
                   {buffers.data() + i * 64, 64});
  std::uint32_t sequence = 0;
  while (!input.empty()) {
    const Envelope good = good_envelope(sequence++);
    std::vector<std::byte> bytes(good.encoded().begin(), good.encoded().end());
    const auto changes = input.take<std::uint8_t>();
    for (int i = 0; i < changes % 8; ++i) {
      const auto at = input.take<std::uint8_t>();
      bytes[at % bytes.size()] = input.take<std::byte>();
    }
    std::uint64_t claimed = 0;  // most messages have the right size
    std::memcpy(&claimed, bytes.data() + offsetof(Envelope, bytes), sizeof claimed);
    const bool honest = (changes & 8) != 0 && claimed <= 4096;
    const std::size_t length = honest ? static_cast<std::size_t>(claimed) : input.take<std::uint8_t>();
    const std::vector<std::byte> payload(length);
    if ((changes & 16) != 0) bytes.resize(input.take<std::uint8_t>());
    const bool remote = (changes & 32) != 0;
    engine.deliver({bytes, remote ? nullptr : payload.data(), length, remote ? new char : nullptr});
    if ((changes & 64) != 0)
      engine.close_context(engine.open_context(100 + (changes & 3U), 0, std::vector{0, 1, 2}));
  }
  for (ReceiveRecord& receive : receives) {
    if (receive.done) fuzz::require(receive.received <= 64);
    static_cast<void>(engine.cancel(receive));
    engine.observe(receive);
  }
  return 0;
}
