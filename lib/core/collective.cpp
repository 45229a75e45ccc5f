#include "lib/core/collective.hpp"

#include <utility>

#include "lib/core/operation_id.hpp"
#include "simulators/model/meeting.hpp"
#include "simulators/model/no_memory.hpp"

namespace offramp {
class Collective::Run final : public Team, public detail::Pooled {
 public:
  Run(Collective& parent, std::size_t lane, std::uint8_t backend, int tag, Reducer* reducer)
      : Team(parent.context_.rank(), parent.context_.size(),
             lane == 0 && !parent.watches_ && parent.engine_.carries_payload()),
        parent_(parent),
        lane_(lane),
        backend_(backend),
        tag_(tag),
        reducer_(reducer),
        units_(parent.engine_.lane(lane).units(backend)),
        units_at_issue_(units_) {
    clock = issued_ = parent.engine_.lane(lane).clock;
    operation = parent.operation_;
  }

  void start(const Operation& question, CollectiveBuffers buffers) {
    kind_ = question.kind;
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
    start(parent_.engine_.lane(lane_).backend(backend_).collective(question, *this, buffers));
    parent_.engine_.lane(lane_).advance_to(host_free);
  }
  void start(Task<Outcome> task) {
    task_ = std::move(task);
    task_.start([](void* self) { static_cast<Run*>(self)->parent_.ended(*static_cast<Run*>(self)); }, this);
  }

  /// Once.
  Outcome outcome() {
    Outcome outcome = task_.result();
    if (failed_ && outcome == Outcome::kOk) outcome = Outcome::kFault;
    Engine& engine = parent_.engine_;
    if (outcome == Outcome::kFault && engine.faults() == faults_) engine.note_fault(backend_, kind_);
    return outcome;
  }

  /// Once, instead of outcome().
  void count_failure() {
    if (task_.result() == Outcome::kFault) ++parent_.engine_.lane(lane_).counters.given_up;
  }

  [[nodiscard]] int world_rank(int rank) const override { return parent_.context_.world(rank); }
  [[nodiscard]] std::uint64_t context() const override { return parent_.context_.id(); }

  void observe() {
    Lane& lane = parent_.engine_.lane(lane_);
    const Time delay = lane.units(backend_).join(units_, units_at_issue_, issued_);
    const Time host_done = later(lane.clock, host_begin) + host_work;
    lane.advance_to(clock + delay);
    if (host_work > Time()) lane.advance_to(host_done);
  }

  Units* units() override { return &units_; }

  MutableBytes scratch(std::size_t bytes) override {
    if (!carries_data()) return no_memory_.take(bytes);
    return {scratch_.take(bytes), bytes};
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
      parent_.engine_.took_token(message->receive, position());
      arrival.outcome = message->receive.outcome;
      arrival.stamp = message->receive.header.lanes[lane_].stamp;
      const Envelope& e = message->receive.header.envelope;
      PathLog* const path = parent_.engine_.lane(lane_).path.get();
      if (path != nullptr && arrival.outcome == Outcome::kOk && arrival.stamp.last > clock)
        path->waited({arrival.stamp.last, e.bytes, e.source_world, e.operation});
    }
    failed_ = failed_ || arrival.outcome == Outcome::kFault || arrival.stamp.failed();
    parent_.engine_.team_messages.give_back(message);
    return arrival;
  }

 private:
  TeamPosition position() { return {lane_, backend_, &clock, &units_, operation, failed_}; }

  Collective& parent_;
  std::size_t lane_;
  std::uint8_t backend_;
  int tag_;
  Reducer* reducer_;
  Time issued_;
  Units units_;
  Units units_at_issue_;
  OperationKind kind_ = OperationKind::kBarrier;
  std::uint64_t faults_ = 0;  // of the engine, when this began
  bool failed_ = false;       // a message has: the algorithm goes on, and whoever it sends to gets to know
  Task<Outcome> task_;
  detail::PooledMemory scratch_;
  NoMemory no_memory_;
  std::vector<Bytes> send_blocks_;  // without memory
  std::vector<MutableBytes> receive_blocks_;
};

Collective::Collective(Engine& engine, Context& context) : engine_(engine), context_(context) {}
Collective::~Collective() = default;

/// begin(lane, tag) makes the lane's run and starts it.
template <typename Begin>
void Collective::begin(std::uint32_t number, Begin begin) {
  const std::size_t lanes = engine_.lanes().size();
  Engine::retain(context_);
  started_ = true;
  operation_ = engine_.next_operation() | kCollectiveOperation;
  if (engine_.log != nullptr) engine_.log->used(operation_);
  running_ = static_cast<int>(lanes) + 1;  // one more, so that it does not end before every lane has begun
  for (std::size_t i = 0; i < lanes; ++i) begin(i, collective_tag(number, i, watches_));
  complete_one();
}

void Collective::start(const Operation& operation, const CollectiveBuffers& buffers, Reducer* reducer) {
  bytes_ = operation.bytes;
  for (const Bytes block : buffers.send_blocks) bytes_ += block.size();
  if (engine_.certificate != nullptr) certify(operation, buffers);
  begin(context_.collective_number++, [&](std::size_t i, int tag) {
    Lane& lane = engine_.lane(i);
    const Lane::Choice choice = lane.choose(operation);
    CallCounter& counter = lane.counters.calls[engine_.function];
    lane.count(counter, choice);
    counter.bytes += bytes_;
    runs_[i] = std::make_unique<Run>(*this, i, choice.backend, tag, reducer);
    const Time before = lane.clock;
    runs_[i]->start(operation, buffers);
    if (lane.sizes != nullptr) lane.sizes->add(SizeTable::Kind::kCollective, bytes_, lane.clock - before);
  });
}

void Collective::meet() {
  meeting_ = true;
  begin(context_.collective_number++, [this](std::size_t i, int tag) {
    runs_[i] = std::make_unique<Run>(*this, i, Lane::kHost, tag, nullptr);
    runs_[i]->start(meet_everyone(*runs_[i]));
  });
}

void Collective::meet(std::vector<int> to, std::vector<int> from) {
  meet(context_.collective_number++, std::move(to), std::move(from));
}

void Collective::meet(std::uint32_t subject, std::vector<int> to, std::vector<int> from) {
  meeting_ = true;
  begin(subject, [&](std::size_t i, int tag) {
    runs_[i] = std::make_unique<Run>(*this, i, Lane::kHost, tag, nullptr);
    runs_[i]->start(meet_neighbours(*runs_[i], to, from));
  });
}

void Collective::ended(Run& run) {
  if (&run == runs_[0].get()) {
    outcome_ = run.outcome();
  } else {
    run.count_failure();  // it only watches
  }
  complete_one();
}

void Collective::complete_one() {
  if (--running_ > 0) return;
  if (engine_.certificate != nullptr && engine_.carries_payload() && !watches_) take_digest();
  engine_.release(context_);
  if (on_complete != nullptr) on_complete(*this);  // may end this object
}

void Collective::observe() {
  if (std::exchange(observed_, true)) return;
  if (engine_.log != nullptr) engine_.log->used(operation_);
  for (std::size_t i = 0; i < engine_.lanes().size(); ++i) {
    Lane& lane = engine_.lane(i);
    const Time before = lane.clock;
    runs_[i]->observe();
    if (lane.sizes != nullptr && !meeting_)
      lane.sizes->add_time(SizeTable::Kind::kCollective, bytes_, lane.clock - before);
  }
  if (engine_.certificate == nullptr) return;
  engine_.certificate->note({static_cast<std::uint64_t>(outcome_)});
  engine_.certificate->note_data(digest_);
}

void Collective::certify(const Operation& operation, const CollectiveBuffers& buffers) {
  Certificate& certificate = *engine_.certificate;
  certificate.note({engine_.function, context_.id(), static_cast<std::uint64_t>(operation.kind),
                    static_cast<std::uint64_t>(operation.element),
                    static_cast<std::uint64_t>(operation.function), operation.bytes,
                    static_cast<std::uint64_t>(operation.root)});
  receive_ = buffers.receive;
  receive_blocks_.assign(buffers.receive_blocks.begin(), buffers.receive_blocks.end());
  if (!engine_.carries_payload()) return;
  // Of a broadcast's buffer only the root has filled in anything yet.
  const bool filled = operation.kind != OperationKind::kBcast || operation.root == context_.rank();
  std::uint64_t digest = filled ? Certificate::digest(buffers.send) : 0;
  for (const Bytes block : buffers.send_blocks) digest = Certificate::digest(block, digest);
  certificate.note_data(digest);
}

/// On completion, before the result is unpacked.
void Collective::take_digest() {
  digest_ = Certificate::digest(receive_);
  for (const MutableBytes block : receive_blocks_) digest_ = Certificate::digest(block, digest_);
}

}  // namespace offramp
