// Class Run is the Team of the backend's coroutine; it uses this engine's messages. The coroutine may end
// within start(): complete() then runs once start() has finished its work (State::kStarting). A failed
// message does not end the algorithm, so that no peer waits for ever; all later sends of the rank carry
// failed_.
#include "lib/run/engine/collective.hpp"

#include <utility>

#include "lib/run/engine/collective_data.hpp"

namespace offramp {
class Collective::Run final : public Team, public detail::Pooled {
 public:
  Run(Collective& parent, std::uint8_t backend, int tag, Reducer* reducer)
      : Team(parent.context_.rank(), parent.context_.size(), true),
        parent_(parent),
        lane_(parent.engine_.lane()),
        backend_(backend),
        tag_(tag),
        reducer_(reducer) {}

  void start(const Operation& question, const CollectiveBuffers& buffers) {
    kind_ = question.kind;
    faults_ = parent_.engine_.faults();
    task_ = move_data(lane_.backend(backend_), question, *this, buffers);
    task_.start([](void* self) { static_cast<Run*>(self)->parent_.ended(); }, this);
  }

  /// Called once.
  Outcome outcome() {
    Outcome outcome = task_.result();
    if (failed_ && outcome == Outcome::kOk) outcome = Outcome::kFault;
    Engine& engine = parent_.engine_;
    // An unchanged number means that no message has described the fault, so the collective does.
    if (outcome == Outcome::kFault && engine.faults() == faults_) engine.note_fault(backend_, kind_);
    return outcome;
  }

  [[nodiscard]] int world_rank(int rank) const override { return parent_.context_.world_rank(rank); }
  [[nodiscard]] std::uint64_t context() const override { return parent_.context_.id(); }
  [[nodiscard]] std::uint64_t setup_context() const override { return parent_.context_.setup_id; }

  MutableBytes scratch(std::size_t bytes) override { return {scratch_.allocate(bytes), bytes}; }

 protected:
  void combine_elements(Bytes in, MutableBytes inout) override {
    if (reducer_ != nullptr) reducer_->combine(in, inout);
  }

  Handle start_send(int peer, Bytes data, const Stamp* /*stamp*/) override {
    TeamMessage* message = parent_.engine_.team_messages().acquire();
    message->sending = true;
    message->send.owner = message;
    message->send.on_complete = [](SendRecord& r) { static_cast<TeamMessage*>(r.owner)->resume(); };
    parent_.engine_.send(message->send, {parent_.context_, peer, tag_, data}, {backend_, failed_});
    return message;
  }

  Handle start_receive(int peer, MutableBytes data, bool /*token*/) override {
    TeamMessage* message = parent_.engine_.team_messages().acquire();
    message->sending = false;
    message->receive.owner = message;
    message->receive.on_complete = [](ReceiveRecord& r) { static_cast<TeamMessage*>(r.owner)->resume(); };
    parent_.engine_.receive(message->receive, parent_.context_, peer, tag_, data);
    return message;
  }

  bool ready(Handle handle) override { return static_cast<TeamMessage*>(handle)->done(); }

  void wait(Handle handle, std::coroutine_handle<> waiter) override {
    static_cast<TeamMessage*>(handle)->waiter = waiter;
  }

  Outcome finish(Handle handle) override {
    auto* message = static_cast<TeamMessage*>(handle);
    const Outcome outcome = message->sending ? message->send.outcome : message->receive.outcome;
    failed_ = failed_ || outcome == Outcome::kFault || outcome == Outcome::kCancelled;
    parent_.engine_.team_messages().release(message);
    return outcome;
  }

  Arrival finish_token(Handle handle) override { return {finish(handle), {}}; }

 private:
  Collective& parent_;
  Lane& lane_;
  std::uint8_t backend_;
  int tag_;
  Reducer* reducer_;
  OperationKind kind_ = OperationKind::kBarrier;
  std::uint64_t faults_ = 0;  // Engine::faults() at the start
  bool failed_ = false;       // a message failed or was cancelled; marks all later sends
  Task<Outcome> task_;
  detail::PooledMemory scratch_;
};

Collective::Collective(Engine& engine, Context& context) : engine_(engine), context_(context) {}
Collective::~Collective() = default;

void Collective::start(const Operation& operation, const CollectiveBuffers& buffers, Reducer* reducer) {
  state_ = State::kStarting;
  has_result_ = reducer != nullptr || !reduces(operation.kind);
  if (engine_.certificate() != nullptr) certify(operation, buffers);
  // complete() releases it. The program may free the communicator meanwhile.
  Engine::retain(context_);
  // Each collective gets a number, however its data moves: the numbers must agree on all members.
  const int tag = collective_tag(context_.collective_number++);
  Lane& lane = engine_.lane();
  const Lane::Choice choice = lane.choose(operation);
  CallCounter& counter = lane.counters.calls[engine_.function()];
  lane.count(counter, choice.backend, !choice.reason.empty());
  counter.bytes += operation.bytes;
  for (const Bytes block : buffers.send_blocks) counter.bytes += block.size();
  OneHop& one_hop = engine_.one_hop();
  const OneHop::Answer hop =
      has_result_ ? one_hop.query(context_, operation, choice.backend) : OneHop::Answer();
  const auto make_hop = [&]() -> HopOperation& {
    HopOperation& made = hop_.emplace(operation, buffers);
    made.context = &context_;
    made.plan = hop.plan;
    made.number = hop.number;
    made.reducer = reducer;
    made.backend = choice.backend;
    made.tag = tag;
    made.owner = this;
    made.on_end = [](HopOperation& self) { static_cast<Collective*>(self.owner)->on_hop_end(); };
    return made;
  };
  if (!hop.by_algorithm) {
    one_hop.start(make_hop());
  } else if (has_result_) {
    // A persistent collective may have used slots in its last start.
    hop_.reset();
    run_ = std::make_unique<Run>(*this, choice.backend, tag, reducer);
    run_->start(operation, buffers);
    const bool has_ended = state_ == State::kEnded;
    if (hop.is_numbered && one_hop.leave_to_algorithm(context_, operation, hop.number, has_ended))
      one_hop.watch(make_hop());
  } else {
    ended();
  }
  if (state_ == State::kEnded) return complete();
  state_ = State::kRunning;
}

void Collective::on_hop_end() {
  const bool is_done = hop_->state == HopOperation::State::kDone;
  if (run_ != nullptr) {  // which the slots overrule
    // The algorithm waits for ranks that have used their slots. Cancelled receives make it end.
    if (is_done) engine_.cancel_receives(context_, hop_->tag);
  } else if (is_done) {
    engine_.count_completion();
    ended();
  } else {
    run_ = std::make_unique<Run>(*this, hop_->backend, hop_->tag, hop_->reducer);
    engine_.one_hop().watch(*hop_);
    run_->start(hop_->operation, hop_->buffers);  // may end this object
  }
}

void Collective::ended() {
  if (run_ != nullptr) outcome_ = run_->outcome();
  if (hop_ && run_ != nullptr) {
    if (outcome_ == Outcome::kFault && hop_->state != HopOperation::State::kDone)
      engine_.one_hop().look_for_result(*hop_);
    engine_.one_hop().withdraw(*hop_);
  }
  if (hop_ && hop_->state == HopOperation::State::kDone) outcome_ = hop_->outcome;
  const bool is_starting = state_ == State::kStarting;
  state_ = State::kEnded;
  if (!is_starting) complete();  // otherwise start() calls it
}

void Collective::complete() {
  if (engine_.certificate() != nullptr && has_result_) compute_digest();
  engine_.release(context_);
  if (on_complete != nullptr) on_complete(*this);  // may end this object
}

void Collective::observe() {
  // A request can be tested again after its completion: only the first time counts.
  if (std::exchange(state_, State::kObserved) == State::kObserved) return;
  if (engine_.certificate() != nullptr) engine_.certificate()->note_data(digest_);
}

void Collective::rearm() {
  run_.reset();
  state_ = State::kIdle;
  outcome_ = Outcome::kOk;
}

void Collective::certify(const Operation& operation, const CollectiveBuffers& buffers) {
  receive_ = buffers.receive;
  receive_blocks_.assign(buffers.receive_blocks.begin(), buffers.receive_blocks.end());
  // Before a broadcast, only the root's buffer has data.
  const bool filled = operation.kind != OperationKind::kBcast || operation.root == context_.rank();
  std::uint64_t digest = filled ? Certificate::digest(buffers.send) : 0;
  for (const Bytes block : buffers.send_blocks) digest = Certificate::digest(block, digest);
  engine_.certificate()->note_data(digest);
}

/// Called on completion, before the result is unpacked.
void Collective::compute_digest() {
  digest_ = Certificate::digest(receive_);
  for (const MutableBytes block : receive_blocks_) digest_ = Certificate::digest(block, digest_);
}

}  // namespace offramp
