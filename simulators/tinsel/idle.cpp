// The three phases: kProbe repeats until every board is idle and the counts of sent and received messages
// balance; kRelease notifies all threads; kEnable lets them send. Detection runs this on an otherwise idle
// machine to compute the time of a barrier. IdleDetection can also run beside other software.
#include "simulators/tinsel/idle.hpp"

namespace offramp::tinsel {
namespace {

// Words of a token and of its answer.
enum Word : std::size_t { kPhase, kIdle, kVote, kBalance };

class Detection final : public Software, public IdleThreads {
 public:
  Detection(const MachineSpec& spec, const IdleSpec& idle)
      : machine_(spec), spec_(idle), idle_(machine_, idle, *this) {
    machine_.run_on(this);
  }

  IdleTimes run() {
    idle_.begin_round({});
    static_cast<void>(machine_.run());
    IdleTimes times;
    times.round = first_round_;
    // Threads of a core share its pipeline, and all of them must complete the call.
    times.barrier = end_ + machine_.spec().cycles(std::int64_t{spec_.wake_instructions} * kThreadsPerCore);
    times.wire = machine_.counters().link;
    return times;
  }

  void delivered(const Delivery& delivery) override { static_cast<void>(idle_.delivered(delivery)); }
  void at_bridge(Time at, const MailboxMessage& message) override { idle_.at_bridge(at, message); }
  void timer(Time at, std::uint64_t) override { idle_.begin_round(at); }

  State token(Time, int, IdlePhase, bool) override { return {true, true}; }
  void round_over(Time end, IdlePhase phase) override {
    end_ = end;
    if (phase == IdlePhase::kProbe) first_round_ = end;
    if (phase != IdlePhase::kEnable) machine_.set_timer(end, 0);
  }

 private:
  Machine machine_;
  const IdleSpec spec_;
  IdleDetection idle_;
  Time first_round_;
  Time end_;
};

}  // namespace

IdleDetection::IdleDetection(Machine& machine, const IdleSpec& spec, IdleThreads& threads)
    : machine_(machine),
      spec_(spec),
      threads_(threads),
      received_(static_cast<std::size_t>(machine.spec().mesh.boards())) {}

/// The master sends the tokens in order of boards.
void IdleDetection::begin_round(Time at) {
  for (int board = 0; board < machine_.spec().mesh.boards(); ++board) {
    MailboxMessage token;
    token.idle_token = true;
    token.to = Address::thread(ThreadLocation{static_cast<std::uint16_t>(board), 0, 0});
    token.words[kPhase] = static_cast<std::uint32_t>(phase_);
    // In the release phase, the threads learn the result of all votes.
    token.words[kVote] = all_vote_ ? 1 : 0;
    machine_.send_from_bridge(master_.acquire(at, machine_.spec().cycles(spec_.token_cycles)).end, token);
  }
  answers_ = 0;
  balance_ = 0;
  all_idle_ = true;
  if (phase_ == IdlePhase::kProbe) all_vote_ = true;
}

/// Runs on a board's first mailbox. A board that has received a message since the last token is not idle: its
/// reaction may have escaped the count of a board probed earlier.
bool IdleDetection::delivered(const Delivery& delivery) {
  const MailboxMessage& token = delivery.message;
  if (!token.idle_token) return false;
  const Time at = delivery.pointer[0];
  machine_.free(at, delivery.slot);
  const auto phase = static_cast<IdlePhase>(token.words[kPhase]);
  const IdleThreads::State state = threads_.token(at, token.board, phase, token.words[kVote] != 0);
  const BoardCounts& counts = machine_.counts(token.board);
  std::uint64_t& before = received_[token.board];
  MailboxMessage answer;
  answer.idle_token = true;
  answer.to = Address::bridge();
  answer.words[kIdle] = state.idle && counts.received == before ? 1 : 0;
  answer.words[kVote] = state.vote ? 1 : 0;
  // Unsigned, so differences of single boards may wrap. Only their sum counts.
  answer.words[kBalance] = static_cast<std::uint32_t>(counts.sent - counts.received);
  before = counts.received;
  machine_.send(at, ThreadLocation{token.board, 0, 0}, answer);
  return true;
}

void IdleDetection::at_bridge(Time at, const MailboxMessage& message) {
  all_idle_ = all_idle_ && message.words[kIdle] != 0;
  if (phase_ == IdlePhase::kProbe) all_vote_ = all_vote_ && message.words[kVote] != 0;
  balance_ += message.words[kBalance];
  if (++answers_ < machine_.spec().mesh.boards()) return;
  const IdlePhase ended = phase_;
  if (ended == IdlePhase::kProbe) {
    // Idle boards and balanced counts: no message is in flight that could wake a thread.
    if (all_idle_ && balance_ == 0) phase_ = IdlePhase::kRelease;
  } else {
    phase_ = ended == IdlePhase::kRelease ? IdlePhase::kEnable : IdlePhase::kProbe;
  }
  threads_.round_over(at + machine_.spec().cycles(spec_.round_cycles), ended);
}

IdleTimes detect_idle(const MachineSpec& machine, const IdleSpec& idle) {
  return Detection(machine, idle).run();
}

}  // namespace offramp::tinsel
