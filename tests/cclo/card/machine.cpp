// Cards without MPI: calls come through registers, messages wait in an engine's mailbox, and the machine runs
// the engine with the earliest turn.
//
// turn() determines the next action of an engine's control processor and its time: a spinning call whose
// message is there, a new call, or (second generation) a queued call whose notification has come. New calls
// and retries alternate in periods of retry_time(), so the time is rounded up to whole periods instead of
// simulating empty polls. serve() executes the action. record_progress() records whether the call is done,
// spinning, or queued. If no engine has a turn, the spinning call with the earliest clock times out. If none
// can, the machine stops, and OffloadEngine::waits_for() explains why.
#include "tests/cclo/card/machine.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "simulators/cclo/message.hpp"

namespace offramp::cclo {
namespace {

bool is_reset_call(const Spec& spec, const CallWords& words) {
  const auto word = [&](Argument a) { return words[static_cast<std::size_t>(a)]; };
  return scenario_of(spec.generation, word(Argument::kScenario)) == Scenario::kConfig &&
         is_reset(spec.generation, word(Argument::kFunction));
}

std::uint64_t address(const CallWords& words, Argument low) {
  const auto i = static_cast<std::size_t>(low);
  return std::uint64_t{words[i + 1]} << 32 | words[i];
}

/// The lane for `function` ([accl] Software interface). All values above 2 select 64-bit integers.
std::uint32_t lane_of_first(std::uint32_t function) {
  return std::min(function, 3U);
}

}  // namespace

/// The ranks of a call's communicator. Each is an engine.
class OffloadEngine::CallTeam final : public Team, private TeamHardware {
 public:
  CallTeam(OffloadEngine& engine, FirmwareCall& call, int rank, int size)
      : Team(rank, size, true), engine_(engine), call_(call) {}

  MutableBytes scratch(std::size_t bytes) override { return memory_.emplace_back(bytes); }
  TeamHardware* hardware() override { return this; }
  [[nodiscard]] int world_rank(int rank) const override { return engine_of(rank); }

  std::coroutine_handle<> waiter;
  int awaited = 0;  // the peer of the pending receive

 protected:
  void combine_elements(Bytes in, MutableBytes inout) override;
  Handle start_send(int peer, Bytes data, const Stamp* stamp) override;
  Handle start_receive(int peer, MutableBytes data, bool) override {
    awaited = peer;
    into_ = data;
    return this;
  }
  bool ready(Handle handle) override;
  void wait(Handle, std::coroutine_handle<> coroutine) override { waiter = coroutine; }
  Outcome finish(Handle) override { return Outcome::kOk; }
  Arrival finish_token(Handle handle) override;

 private:
  Resources resources(int /*world_rank*/) override { return {kEngineResources, engine_.units_.data()}; }
  /// The engine of a rank, or -1 if the communicator has no such rank.
  [[nodiscard]] int engine_of(int rank) const {
    if (rank < 0 || rank >= size()) return -1;
    const Communicator communicator(engine_.space_, communicator_address());
    const RankField field =
        engine_.spec_.transport == Transport::kUdp ? RankField::kPort : RankField::kSession;
    return static_cast<int>(communicator.get(static_cast<std::uint32_t>(rank), field));
  }
  [[nodiscard]] std::uint32_t communicator_address() const;

  friend class OffloadEngine;
  OffloadEngine& engine_;
  FirmwareCall& call_;
  MutableBytes into_;
  std::list<std::vector<std::byte>> memory_;
};

struct OffloadEngine::FirmwareCall {
  CallWords words{};
  Time at;
  bool from_kernel = false;
  Result result;
  bool started = false;
  Datapath datapath;
  std::optional<CallTeam> team;
  std::optional<CardProcessor> processor;
  Task<Error> task;
  [[nodiscard]] std::uint32_t word(Argument a) const { return words[static_cast<std::size_t>(a)]; }
};

std::uint32_t OffloadEngine::CallTeam::communicator_address() const {
  return call_.word(Argument::kCommunicator);
}

void OffloadEngine::CallTeam::combine_elements(Bytes in, MutableBytes inout) {
  const bool first = engine_.spec_.generation == Generation::kFirst;
  compute(first ? lane_of_first(call_.word(Argument::kFunction)) : call_.datapath.lane(), in, inout, inout);
}

Team::Handle OffloadEngine::CallTeam::start_send(int peer, Bytes data, const Stamp* stamp) {
  const int to = engine_of(peer);
  if (to < 0 || to >= static_cast<int>(engine_.machine_.engines_.size())) return nullptr;  // lost
  ArrivedMessage message;
  message.source = engine_.number_;
  message.stamp = *stamp;
  message.header = engine_.outgoing_;
  message.header.tag = static_cast<std::uint32_t>(stamp->detail >> kTagShift);
  message.data.assign(data.begin(), data.end());
  engine_.machine_.engine(to).mailbox_.push_back(std::move(message));
  return nullptr;
}

/// A call that may be retried uses only messages that have arrived by its own clock.
bool OffloadEngine::CallTeam::ready(Handle handle) {
  if (handle == nullptr) return true;
  const ArrivedMessage* const message = engine_.find(call_, awaited);
  const bool retries = call_.processor->blocked_on().missing == Processor::Missing::kRetry;
  if (call_.processor->blocked_on().type != MessageType::kEager) engine_.note_notifications(call_);
  if (message == nullptr) return false;
  return !retries || message->stamp.last <= call_.processor->now();
}

Team::Arrival OffloadEngine::CallTeam::finish_token(Handle handle) {
  if (handle == nullptr) return {};
  const ArrivedMessage* const found = engine_.find(call_, awaited);
  if (found == nullptr) {  // the timeout has expired
    const Time now = call_.processor->now();
    return {Outcome::kFault,
            {now, now, Stamp::kFailed | kLost | static_cast<std::uint64_t>(Error::kReceiveTimeout)}};
  }
  const auto place = std::find_if(engine_.mailbox_.begin(), engine_.mailbox_.end(),
                                  [found](const ArrivedMessage& m) { return &m == found; });
  const ArrivedMessage message = std::move(*place);
  engine_.mailbox_.erase(place);
  engine_.incoming_ = {message.header, message.data.size()};
  const std::size_t bytes = std::min(message.data.size(), into_.size());
  copy(Bytes(message.data).first(bytes), into_.first(bytes));
  return {message.stamp.failed() ? Outcome::kFault : Outcome::kOk, message.stamp};
}

OffloadEngine::OffloadEngine(Machine& machine, int number, Spec& spec, IoSpace& space,
                             const EngineState& state)
    : machine_(machine),
      number_(number),
      spec_(spec),
      space_(space),
      state_(state),
      units_(EngineUnits::kCount) {
  const CardPool pool(space);
  for (std::uint32_t i = 0; i < pool.buffers(); ++i) {
    if (pool.address(i) != 0) memory_.place_at(pool.address(i), pool.capacity(i));
  }
}

OffloadEngine::~OffloadEngine() = default;

std::size_t OffloadEngine::add(const CallWords& words, Time at, bool from_kernel) {
  FirmwareCall& call = calls_.emplace_back();
  call.words = words;
  call.at = at;
  call.from_kernel = from_kernel;
  new_.push_back(&call);
  return calls_.size() - 1;
}

std::size_t OffloadEngine::call(Time at) {
  return add(space_.pop_call().value_or(CallWords{}), at, false);
}

std::size_t OffloadEngine::call_from_kernel(const CallWords& words, Time at) {
  return add(words, at, true);
}

const OffloadEngine::Result& OffloadEngine::result(std::size_t call) const {
  return std::next(calls_.begin(), static_cast<std::ptrdiff_t>(call))->result;
}

/// The message that a call waits for. Eager messages of a source come in order. Notifications match by type,
/// source, and tag, where the message may have the wildcard.
const OffloadEngine::ArrivedMessage* OffloadEngine::find(const FirmwareCall& call, int peer) const {
  const CardProcessor::Wanted& wanted = call.processor->blocked_on();
  const int source = call.team->engine_of(peer);
  const std::uint32_t tag = call.processor->tag();
  for (const ArrivedMessage& message : mailbox_) {
    const MessageType type = type_of(message.stamp);
    if (message.source != source || type != wanted.type) continue;
    if (type == MessageType::kEager || message.header.tag == tag || message.header.tag == kTagAny)
      return &message;
  }
  return nullptr;
}

void OffloadEngine::note_notifications(const FirmwareCall& call) {
  const ArrivedMessage* const own = find(call, call.team->awaited);
  const auto pending = std::count_if(mailbox_.begin(), mailbox_.end(), [&](const ArrivedMessage& m) {
    return &m != own && type_of(m.stamp) != MessageType::kEager && m.stamp.last <= call.processor->now();
  });
  if (static_cast<std::size_t>(pending) > kMostNotifications && stuck_.empty())
    stuck_ =
        fmt::format("{} notifications wait for calls, but their FIFO holds {}", pending, kMostNotifications);
}

/// Time to take a call of 16 words from the retry queue, check its notification, and put it back.
Time OffloadEngine::retry_time() const {
  return spec_.cycles(spec_.firmware.fetch + 17 * spec_.firmware.word + spec_.firmware.step);
}

std::optional<OffloadEngine::Turn> OffloadEngine::turn() const {
  if (!stuck_.empty()) return std::nullopt;
  if (spinning_ != nullptr) {
    if (find(*spinning_, spinning_->team->awaited) == nullptr) return std::nullopt;
    return Turn{free_, spinning_, Turn::From::kSpin};
  }
  std::optional<Turn> best;
  const std::int64_t period = std::max<std::int64_t>(1, retry_time().count());
  const auto rounds = [](std::int64_t time, std::int64_t round) {
    return time <= 0 ? 0 : (time + round - 1) / round;
  };
  if (!new_.empty()) {
    FirmwareCall* const call = new_.front();
    Time at = later(free_, call->at);
    if (!retry_.empty()) at = free_ + Time::ps(rounds((at - free_).count(), period) * period);
    best = Turn{at, call, Turn::From::kNew};
  }
  const auto queued = static_cast<std::int64_t>(retry_.size());
  for (std::int64_t i = 0; i < queued; ++i) {
    FirmwareCall* const call = retry_[static_cast<std::size_t>(i)];
    const ArrivedMessage* const message = call->started ? find(*call, call->team->awaited) : nullptr;
    if (call->started ? message == nullptr : queued > 1) continue;
    const Time first = free_ + Time::ps(period * (i + 1));
    const Time there = call->started ? message->stamp.last : first;
    const Time at = first + Time::ps(rounds((there - first).count(), queued * period) * queued * period);
    if (!best || at < best->at) best = Turn{at, call, Turn::From::kRetry};
  }
  return best;
}

void OffloadEngine::serve(const Turn& turn) {
  FirmwareCall& call = *turn.call;
  if (turn.from == Turn::From::kNew) {
    new_.pop_front();
    return begin(call, turn.at);
  }
  if (turn.from == Turn::From::kRetry) {
    retry_.erase(std::find(retry_.begin(), retry_.end(), &call));
    call.processor->wait(turn.at);
    ++call.result.retries;
  } else {
    spinning_ = nullptr;
  }
  resume(call);
}

void OffloadEngine::resume(FirmwareCall& call) {
  current_ = &call;
  if (call.started) {
    std::exchange(call.team->waiter, nullptr).resume();
  } else {
    call.started = true;
    call.task.start();
  }
  record_progress(call);
}

void OffloadEngine::begin(FirmwareCall& call, Time at) {
  if (is_reset_call(spec_, call.words)) reset_retries();
  call.result.begin = at;
  prepare(call);
  const bool waits = scenario_of(spec_.generation, call.word(Argument::kScenario)) == Scenario::kBarrier;
  if (waits && !retry_.empty()) return queue(call);  // BARRIER begins only when the retry queue is empty
  resume(call);
}

void OffloadEngine::queue(FirmwareCall& call) {
  if (retry_.size() == kMostRetries && stuck_.empty())
    stuck_ = fmt::format("the retry queue holds {} calls", kMostRetries);
  retry_.push_back(&call);
}

void OffloadEngine::record_progress(FirmwareCall& call) {
  free_ = later(free_, call.processor->now());
  if (call.task.done()) {
    call.result.done = true;
    call.result.code = call.processor->return_value();
    call.result.end = call.processor->now();
    return;
  }
  if (call.processor->blocked_on().missing == Processor::Missing::kSpin) {
    spinning_ = &call;
    return;
  }
  queue(call);
}

/// A reset completes the calls that it drops (read in [accl-2025]).
void OffloadEngine::reset_retries() {
  for (FirmwareCall* const call : std::exchange(retry_, {})) {
    call->task.reset();
    call->result.done = true;
    call->result.code = encode(spec_.generation, Error::kNotReady);
    call->result.end = free_;
    complete_call(space_, call->result.code, call->from_kernel);
  }
}

/// Returns whether a call spins for an eager message that does not come.
bool OffloadEngine::may_time_out() const {
  return spinning_ != nullptr && stuck_.empty() &&
         spinning_->processor->blocked_on().type == MessageType::kEager;
}

void OffloadEngine::time_out() {
  resume(*std::exchange(spinning_, nullptr));
}

MutableBytes OffloadEngine::operand(std::uint64_t address, std::uint64_t bytes, BufferLocation place,
                                    bool streamed) {
  if (streamed) return staging_.emplace_back(bytes);
  return bytes == 0 ? MutableBytes() : memory_.at(address, bytes, place);
}

void OffloadEngine::prepare(FirmwareCall& call) {
  const std::uint32_t communicator_address = call.word(Argument::kCommunicator);
  const Communicator communicator(space_, communicator_address);
  const auto size = static_cast<int>(std::clamp(communicator.size(), 1U, 1024U));
  const auto rank = static_cast<int>(communicator.local_rank()) % size;
  call.team.emplace(*this, call, rank, size);
  CallContext context{spec_, space_, *call.team, communicator_address, {}};
  context.tag = kTagAny;
  const auto scenario = scenario_of(spec_.generation, call.word(Argument::kScenario));
  if (scenario == Scenario::kSend || scenario == Scenario::kReceive || scenario == Scenario::kCopy ||
      scenario == Scenario::kCombine)
    context.tag = call.word(Argument::kTag);
  if (spec_.generation == Generation::kSecond) {
    call.datapath = {read_record(space_, call.word(Argument::kType0)), call.word(Argument::kType1) & 0xfU,
                     call.word(Argument::kType2) & 0xffU, call.word(Argument::kFunction)};
    const bool is_root = call.word(Argument::kRootSourceDestination) == static_cast<std::uint32_t>(rank);
    if (scenario == Scenario::kReduce && !is_root)
      call.datapath.streams &= kOperand0Stream;  // only the root has a result (read in [accl-2025])
  }
  call.processor.emplace(context, call.result.begin,
                         CardCall{*this, state_, spec_, call.datapath, call.from_kernel});
  const CardMemory memory = scenario ? memory_of(call, *scenario) : CardMemory{};
  call.task = call.processor->run_call(call.words, memory);
}

/// The buffers of a call and their sizes ([accl] Kernel Parameters; read in [accl-2021] and [accl-2025]).
CardMemory OffloadEngine::memory_of(FirmwareCall& call, Scenario scenario) {
  const bool first = spec_.generation == Generation::kFirst;
  const Datapath& path = call.datapath;
  const std::uint64_t count = call.word(Argument::kCount);
  const auto ranks = static_cast<std::uint64_t>(call.team->size());
  const bool root =
      call.word(Argument::kRootSourceDestination) == static_cast<std::uint32_t>(call.team->rank());
  const std::uint32_t flags = first ? 0 : call.word(Argument::kType2);
  CardMemory memory;
  memory.element_bytes = !first ? path.record.plain_bytes : call.word(Argument::kFunction) % 2 == 0 ? 4 : 8;
  const auto bytes = [&](std::uint64_t parts, std::uint32_t which) {
    return parts * (first ? count : path.record.bytes(count, path.compressed(which)));
  };
  const auto place = [flags](std::uint32_t bit) {
    return (flags & bit) != 0 ? BufferLocation::kHost : BufferLocation::kDevice;
  };
  const auto a = [&](std::uint64_t parts) {
    return operand(address(call.words, Argument::kAddress0Low), bytes(parts, kOperand0Compressed),
                   place(kOperand0Host), (flags & kOperand0Stream) != 0);
  };
  const auto b = [&] {
    return operand(address(call.words, Argument::kAddress1Low), bytes(1, kOperand1Compressed),
                   place(kOperand1Host), false);
  };
  const auto result = [&](std::uint64_t parts, std::uint64_t offset = 0) {
    const Argument low = first ? Argument::kAddress1Low : Argument::kAddress2Low;
    return operand(address(call.words, low) + offset, bytes(parts, kResultCompressed), place(kResultHost),
                   (flags & kResultStream) != 0);
  };
  switch (scenario) {
    case Scenario::kSend:
      memory.send = a(1);
      break;
    case Scenario::kReceive:
      memory.receive = first ? a(1) : result(1);
      break;
    case Scenario::kBcast:
      memory.receive = a(1);
      memory.send = memory.receive;
      break;
    case Scenario::kScatter:
      memory.send = a(root ? ranks : 0);
      memory.receive = result(1);
      break;
    case Scenario::kGather:
      memory.send = a(1);
      memory.receive = result(root ? ranks : 0);
      break;
    case Scenario::kReduce:
      memory.send = a(1);
      memory.receive = result(root ? 1 : 0);
      break;
    case Scenario::kAllgather:
      memory.send = a(1);
      memory.receive = result(ranks);
      break;
    case Scenario::kReduceScatter:
      memory.send = a(ranks);
      memory.receive =
          result(1, first ? static_cast<std::uint64_t>(call.team->rank()) * bytes(1, kResultCompressed) : 0);
      break;
    case Scenario::kAlltoall:
      memory.send = a(ranks);
      memory.receive = result(ranks);
      break;
    case Scenario::kAllreduce:
    case Scenario::kCopy:
    case Scenario::kExternalStream:
      memory.send = a(1);
      memory.receive = result(1);
      break;
    case Scenario::kCombine:
      memory.send = a(1);
      memory.receive = result(1);
      if (!first) memory.second = b();
      break;
    case Scenario::kExternalReduce:
      memory.send = a(1);
      memory.second = b();
      memory.receive =
          operand(address(call.words, Argument::kAddress2Low), count, BufferLocation::kDevice, false);
      break;
    default:
      break;
  }
  // Reads run ahead of writes, so an operand that partly overlaps the result keeps its old content.
  for (Bytes* const read : {&memory.send, &memory.second}) {
    if (read->data() == memory.receive.data() || !overlap(*read, memory.receive)) continue;
    *read = staging_.emplace_back(read->begin(), read->end());
  }
  return memory;
}

/// The packets use the receiver's link and depacketizer, but no RX buffer.
void OffloadEngine::send_to_kernel(int peer, std::uint32_t stream, Bytes data, const Flow& when) {
  const int number = current_->team->engine_of(peer);
  if (number < 0 || number >= static_cast<int>(machine_.engines_.size())) return;
  OffloadEngine& other = machine_.engine(number);
  EngineUnits units(Resources(kEngineResources, other.units_.data()));
  const Time last = Receiver(other.spec_, units).land(when.first, when.last, data.size(), true);
  const std::uint32_t destination = stream & 0xffU;  // in the stream switch
  if (other.kernel_ != nullptr && destination >= kFirstStream)
    other.kernel_->consume(destination - kFirstStream, data, {when.first, last});
}

std::string OffloadEngine::waits_for() const {
  if (!stuck_.empty()) return fmt::format("engine {}: {}\n", number_, stuck_);
  std::string text;
  if (spinning_ != nullptr)
    text += fmt::format("engine {} waits for a notification of rank {}\n", number_, spinning_->team->awaited);
  for (const FirmwareCall* const call : retry_)
    text += fmt::format("engine {} retries a call that waits for a notification of rank {}\n", number_,
                        call->team->awaited);
  return text;
}

OffloadEngine& Machine::add(Spec& spec, IoSpace& space, const EngineState& state) {
  return *engines_.emplace_back(
      std::make_unique<OffloadEngine>(*this, static_cast<int>(engines_.size()), spec, space, state));
}

void Machine::inject(int from, int to, const Stamp& stamp, const RxMessage& header, std::size_t payload) {
  OffloadEngine::ArrivedMessage message;
  message.source = from;
  message.stamp = stamp;
  message.stamp.detail |= std::uint64_t{header.tag} << kTagShift;
  message.header = header;
  message.data.resize(payload);
  engine(to).mailbox_.push_back(std::move(message));
}

std::string Machine::run() {
  for (;;) {
    OffloadEngine* next = nullptr;
    std::optional<OffloadEngine::Turn> turn;
    for (const auto& engine : engines_) {
      const auto own = engine->turn();
      if (!own || (turn && turn->at <= own->at)) continue;
      turn = own;
      next = engine.get();
    }
    if (next != nullptr) {
      next->serve(*turn);
      continue;
    }
    OffloadEngine* late = nullptr;
    for (const auto& engine : engines_) {
      if (engine->may_time_out() && (late == nullptr || engine->free_ < late->free_)) late = engine.get();
    }
    if (late == nullptr) break;
    late->time_out();
  }
  std::string text;
  for (const auto& engine : engines_) text += engine->waits_for();
  return text;
}

}  // namespace offramp::cclo
