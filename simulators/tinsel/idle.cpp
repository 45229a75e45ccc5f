#include "simulators/tinsel/idle.hpp"

#include "offramp/kernel/arbiter.hpp"
#include "simulators/tinsel/machine.hpp"

namespace offramp::tinsel {
namespace {

constexpr int kPhases = 3;

class Detection final : public Software {
 public:
  Detection(const MachineSpec& spec, const IdleSpec& idle) : machine_(spec), idle_(idle) {
    machine_.run_on(this);
  }

  IdleTimes run() {
    begin_round({});
    static_cast<void>(machine_.run());
    IdleTimes times;
    times.round = first_round_;
    // Threads of a core share its pipeline: all of them have to get through the call.
    times.barrier = end_ + machine_.spec().cycles(std::int64_t{idle_.wake_instructions} * kThreadsPerCore);
    times.wire = machine_.counters().link;
    return times;
  }

  /// The detector of a board, on its first mailbox.
  void delivered(const Delivery& delivery) override {
    const Time at = delivery.pointer[0];
    machine_.free(at, delivery.slot);
    Message answer;
    answer.to = Address::bridge();
    machine_.send(at, Place{delivery.message.board, 0, 0}, answer);
  }

  void at_bridge(Time at, const Message&) override {
    if (++answers_ < machine_.spec().mesh.boards()) return;
    end_ = at + machine_.spec().cycles(idle_.round_cycles);
    if (phase_++ == 0) first_round_ = end_;
    if (phase_ < kPhases) machine_.set_timer(end_, 0);
  }
  void timer(Time at, std::uint64_t) override { begin_round(at); }

 private:
  /// The master serves boards in order.
  void begin_round(Time at) {
    answers_ = 0;
    for (int board = 0; board < machine_.spec().mesh.boards(); ++board) {
      Message token;
      token.to = Address::thread(Place{static_cast<std::uint16_t>(board), 0, 0});
      machine_.send_from_bridge(master_.acquire(at, machine_.spec().cycles(idle_.token_cycles)).end, token);
    }
  }

  Machine machine_;
  const IdleSpec idle_;
  Arbiter master_;
  int answers_ = 0;
  int phase_ = 0;
  Time first_round_;
  Time end_;
};

}  // namespace

IdleTimes detect_idle(const MachineSpec& machine, const IdleSpec& idle) {
  return Detection(machine, idle).run();
}

}  // namespace offramp::tinsel
