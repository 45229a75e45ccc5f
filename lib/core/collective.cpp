#include "lib/core/collective.hpp"

#include <utility>

namespace offramp {
namespace {

// A lane that only watches hands its algorithm spans over no memory, in the same places relative to each
// other as the real ones: algorithms see from the addresses what is in place already. No process of x86-64 or
// AArch64 can have memory at these addresses (not canonical; the kernel's half).
constexpr std::uintptr_t kNoMemory = (std::uintptr_t{1} << 62) | (std::uintptr_t{1} << 55);
constexpr std::uintptr_t kNoScratch = kNoMemory | (std::uintptr_t{1} << 61);

std::byte* no_memory(const std::byte* real) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(real) + kNoMemory);
}

}  // namespace

class Collective::Run final : public Team {
 public:
  Run(Collective& parent, std::size_t lane, std::uint8_t backend, int tag, Reducer* reducer)
      : Team(parent.context_.rank(), parent.context_.size(), lane == 0 && parent.engine_.carries_payload()),
        parent_(parent),
        lane_(lane),
        backend_(backend),
        tag_(tag),
        reducer_(reducer) {
    units() = parent.engine_.lane(lane).units(backend);
    clock = parent.engine_.lane(lane).clock;
  }

  void start(const Operation& operation, CollectiveBuffers buffers) {
    kind_ = operation.kind;
    faults_ = parent_.engine_.faults();
    if (!carries_data()) {
      buffers.send = {no_memory(buffers.send.data()), buffers.send.size()};
      buffers.receive = {no_memory(buffers.receive.data()), buffers.receive.size()};
      for (const Bytes block : buffers.send_blocks)
        send_blocks_.emplace_back(no_memory(block.data()), block.size());
      for (const MutableBytes block : buffers.receive_blocks)
        receive_blocks_.emplace_back(no_memory(block.data()), block.size());
      buffers.send_blocks = send_blocks_;
      buffers.receive_blocks = receive_blocks_;
    }
    task_ = parent_.engine_.lane(lane_).backend(backend_).collective(operation, *this, buffers);
    task_.start([](void* self) { static_cast<Run*>(self)->parent_.ended(*static_cast<Run*>(self)); }, this);
    parent_.engine_.lane(lane_).advance_to(host_free);
  }

  /// Once.
  Outcome outcome() {
    Outcome outcome = task_.result();
    if (failed_ && outcome == Outcome::kOk) outcome = Outcome::kFault;
    Engine& engine = parent_.engine_;
    if (outcome == Outcome::kFault && engine.faults() == faults_) engine.note_fault(backend_, kind_);
    return outcome;
  }

  [[nodiscard]] int world_rank(int rank) const override { return parent_.context_.world(rank); }
  [[nodiscard]] std::uint64_t context() const override { return parent_.context_.id(); }

  void observe() {
    Lane& lane = parent_.engine_.lane(lane_);
    lane.units(backend_).merge(units());
    const Time host_done = later(lane.clock, host_begin) + host_work;
    lane.advance_to(clock);
    if (host_work > Time()) lane.advance_to(host_done);
  }

  MutableBytes scratch(std::size_t bytes) override {
    if (!carries_data())
      return {reinterpret_cast<std::byte*>(std::exchange(no_scratch_, no_scratch_ + bytes + 1)), bytes};
    scratch_.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
    return {scratch_.back().get(), bytes};
  }

 protected:
  void combine_elements(Bytes in, MutableBytes inout) override { reducer_->combine(in, inout); }

  Handle start_send(int peer, Bytes data, const Stamp* stamp) override {
    TeamMessage* message = parent_.engine_.team_messages.take();
    message->sending = true;
    message->send.owner = message;
    message->send.on_complete = [](SendRecord& r) { static_cast<TeamMessage*>(r.owner)->resume(); };
    SendArguments arguments{parent_.context_, peer, tag_, data, ElementType::kByte, false, carries_data()};
    parent_.engine_.send(message->send, arguments, position(), stamp);
    return message;
  }

  Handle start_receive(int peer, MutableBytes data, bool token) override {
    TeamMessage* message = parent_.engine_.team_messages.take();
    message->sending = false;
    message->receive.owner = message;
    message->receive.on_complete = [](ReceiveRecord& r) { static_cast<TeamMessage*>(r.owner)->resume(); };
    parent_.engine_.receive(message->receive, parent_.context_, peer, tag_, data, position(), token);
    return message;
  }

  bool ready(Handle handle) override { return static_cast<TeamMessage*>(handle)->done(); }

  void wait(Handle handle, std::coroutine_handle<> waiter) override {
    static_cast<TeamMessage*>(handle)->waiter = waiter;
  }

  Outcome finish(Handle handle) override {
    auto* message = static_cast<TeamMessage*>(handle);
    const Outcome outcome = message->sending ? message->send.outcome : message->receive.outcome;
    message->sending ? parent_.engine_.observe(message->send, position())
                     : parent_.engine_.observe(message->receive, position());
    failed_ = failed_ || outcome == Outcome::kFault;
    parent_.engine_.team_messages.give_back(message);
    return outcome;
  }

  Arrival take(Handle handle) override {
    auto* message = static_cast<TeamMessage*>(handle);
    Arrival arrival;
    if (message->sending) {
      arrival.outcome = message->send.outcome;
      arrival.stamp = message->send.header.lanes[lane_].stamp;
    } else {
      arrival.outcome = message->receive.outcome;
      arrival.stamp = message->receive.header.lanes[lane_].stamp;
    }
    failed_ = failed_ || arrival.outcome == Outcome::kFault || arrival.stamp.failed();
    parent_.engine_.team_messages.give_back(message);
    return arrival;
  }

 private:
  TeamPosition position() { return {lane_, backend_, &clock, &units(), failed_}; }

  Collective& parent_;
  std::size_t lane_;
  std::uint8_t backend_;
  int tag_;
  Reducer* reducer_;
  OperationKind kind_ = OperationKind::kBarrier;
  std::uint64_t faults_ = 0;  // of the engine, when this began
  bool failed_ = false;       // a message has: the algorithm goes on, and whoever it sends to gets to know
  Task<Outcome> task_;
  std::vector<std::unique_ptr<std::byte[]>> scratch_;
  std::uintptr_t no_scratch_ = kNoScratch;
  std::vector<Bytes> send_blocks_;  // without memory
  std::vector<MutableBytes> receive_blocks_;
};

Collective::Collective(Engine& engine, Context& context) : engine_(engine), context_(context) {}
Collective::~Collective() = default;

void Collective::start(const Operation& operation, const CollectiveBuffers& buffers, Reducer* reducer) {
  const std::uint32_t number = context_.collective_number++;
  const std::size_t lanes = engine_.lanes().size();
  Engine::retain(context_);
  started_ = true;
  running_ = static_cast<int>(lanes) + 1;  // one more, so that it does not end before every lane has begun
  for (std::size_t i = 0; i < lanes; ++i) {
    Lane& lane = engine_.lane(i);
    const Lane::Choice choice = lane.choose(operation);
    CallCounter& counter = lane.counters.calls[engine_.function];
    ++(choice.declined ? counter.declined : counter.offloaded);
    counter.bytes += operation.bytes;
    for (const Bytes block : buffers.send_blocks) counter.bytes += block.size();
    runs_[i] = std::make_unique<Run>(*this, i, choice.backend, collective_tag(number, i), reducer);
    runs_[i]->start(operation, buffers);
  }
  complete_one();
}

void Collective::ended(Run& run) {
  if (&run == runs_[0].get()) outcome_ = run.outcome();  // the others only watch
  complete_one();
}

void Collective::complete_one() {
  if (--running_ > 0) return;
  engine_.release(context_);
  if (on_complete != nullptr) on_complete(*this);  // may end this object
}

void Collective::observe() {
  if (std::exchange(observed_, true)) return;
  for (auto& run : runs_) {
    if (run != nullptr) run->observe();
  }
}

}  // namespace offramp
