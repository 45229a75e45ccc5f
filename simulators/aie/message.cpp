// Two kernels: a message between them, and the ping-pong of the latency measurements.
#include <optional>

#include "simulators/aie/collectives.hpp"
#include "simulators/aie/network.hpp"

namespace offramp::aie {
namespace {

/// Records when the first window arrives.
class FirstNoted final : public Input {
 public:
  FirstNoted(Input& input, Time& clock, Time& first) : input_(input), clock_(clock), first_(first) {}
  Task<void> wait_full() override {
    const Task<void> wait = input_.wait_full();
    if (wait.valid()) co_await wait;
    if (!seen_) first_ = clock_;
    seen_ = true;
  }
  Task<void> set_empty() override { return input_.set_empty(); }

 private:
  Input& input_;
  Time& clock_;
  Time& first_;
  bool seen_ = false;
};

// What both kernels of a message need. It outlives them.
struct MessageCall {
  Chunks chunks;
  Code copies;
  const HostPath* host;
  Output* output;
  Input* input;
  MessageTiming* result;
};

Task<void> send_kernel(Core core, const MessageCall* what) {
  std::optional<OwnHostPort> port;
  std::optional<HostSource> source;
  CopyCall call{nullptr, what->output, what->chunks, what->copies};
  if (what->host != nullptr) {
    port.emplace(*what->host, what->chunks.window);
    source.emplace(core.clock, *port, *what->host, what->chunks.window, what->chunks.count());
    call.input = &*source;
  }
  co_await copy_kernel(core, call);
  what->result->complete = core.clock;
}

Task<void> receive_kernel(Core core, const MessageCall* what) {
  FirstNoted input(*what->input, core.clock, what->result->first);
  std::optional<OwnHostPort> port;
  std::optional<HostSink> sink;
  CopyCall call{&input, nullptr, what->chunks, what->copies};
  if (what->host != nullptr) {
    port.emplace(*what->host, what->chunks.window);
    sink.emplace(core.clock, *port, *what->host);
    call.output = &*sink;
  }
  co_await copy_kernel(core, call);
  if (sink) co_await sink->drain();
  what->result->last = core.clock;
}

// Cycles of the latency benchmark's kernels between locks. The partner's four are in the simulator trace; the
// others are assumed (two each).
constexpr double kTouch = 2;
constexpr double kAnswer = 4;
// The round trip is steady by then.
constexpr int kRounds = 8;

Task<void> ping(Core core, Output* out, Input* in, Time* round_trip) {
  for (int i = 0; i < kRounds; ++i) {
    const Time begin = core.clock;
    co_await acquire(core, *out, Acquire::kSingle);
    core.spend(kTouch);
    co_await release(core, *out);
    co_await acquire(core, *in, Acquire::kSingle);
    core.spend(kTouch);
    co_await release(core, *in);
    core.spend(kTouch);
    *round_trip = core.clock - begin;
  }
}

Task<void> pong(Core core, Output* out, Input* in) {
  for (int i = 0; i < kRounds; ++i) {
    co_await acquire(core, *out, Acquire::kSingle);
    // The partner has its output ready before the input arrives.
    co_await acquire(core, *in, Acquire::kSingle);
    core.spend(kAnswer);
    co_await release(core, *in);
    co_await release(core, *out);
  }
}

}  // namespace

MessageTiming run_message(const Timing& timing, const Connection& connection, const Chunks& chunks,
                          Code copies, const HostPath* host, int header_words) {
  Network network(timing);
  const Network::Ends ends = network.connect(connection, chunks.window, header_words);
  MessageTiming result;
  const MessageCall call{chunks, copies, host, ends.output, ends.inputs.front(), &result};
  network.add("aie.core", [&call](Core core) { return send_kernel(core, &call); }, {});
  network.add("aie.core", [&call](Core core) { return receive_kernel(core, &call); }, {});
  network.run();
  result.windows = network.windows();
  return result;
}

Time ping_pong(const Timing& timing, const Connection& connection) {
  constexpr std::size_t kBytes = 16;
  Network network(timing);
  const Network::Ends forth = network.connect(connection, kBytes);
  const Network::Ends back = network.connect(connection, kBytes);
  Time round_trip;
  network.add("aie.core",
              [&](Core core) { return ping(core, forth.output, back.inputs.front(), &round_trip); }, {});
  network.add("aie.core", [&](Core core) { return pong(core, back.output, forth.inputs.front()); }, {});
  network.run();
  return Time::ps(round_trip.count() / 2);
}

}  // namespace offramp::aie
