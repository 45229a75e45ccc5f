// A thread executes one instruction per pass of the pipeline, and the threads of a core share one instruction
// per cycle. An activity ends when both limits are met. Destinations are drawn from a seed, on the own board
// or, for `crossing` per cent, on a neighbouring one.
#include "simulators/tinsel/exchange.hpp"

#include <bit>
#include <deque>

#include "offramp/kernel/random.hpp"

namespace offramp::tinsel {
namespace {

class Exchange final : public Software {
 public:
  Exchange(Machine& machine, const ExchangeSpec& spec) : machine_(machine), spec_(spec), state_(spec.seed) {
    const auto boards = static_cast<std::size_t>(machine.spec().mesh.boards());
    threads_.resize(boards * kThreadsPerBoard);
    cores_.resize(threads_.size() / kThreadsPerCore);
  }

  Time run() {
    machine_.reset();
    machine_.run_on(this);
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      threads_[i].to_send = spec_.messages;
      advance({}, i);
    }
    const bool whole = machine_.run();
    machine_.run_on(nullptr);
    return whole ? end_ : Time();
  }

  void delivered(const Delivery& delivery) override {
    const MailboxMessage& m = delivery.message;
    // Only unicast messages are sent, so the mask has one thread.
    const auto thread = static_cast<std::uint8_t>(std::countr_zero(m.to.mask));
    const std::size_t index = index_of({m.board, m.mailbox, thread});
    threads_[index].arrived.push_back(delivery.slot);
    advance(delivery.pointer[thread], index);
  }

  void on_sent(Time at, const ThreadLocation& from) override {
    threads_[index_of(from)].may_send = true;
    advance(at, index_of(from));
  }

  /// The thread has finished its current send or receive.
  void timer(Time at, std::uint64_t cookie) override {
    Thread& thread = threads_[cookie];
    if (thread.receives) {
      machine_.free(at, thread.arrived.front());
      thread.arrived.pop_front();
      end_ = later(end_, at);
    } else {
      --thread.to_send;
      thread.may_send = false;
      MailboxMessage message;
      message.to = Address::thread(destination(cookie));
      machine_.send(at, place_at(cookie), message);
    }
    thread.busy = false;
    advance(at, cookie);
  }

 private:
  struct Thread {
    int to_send = 0;
    bool may_send = true;
    bool busy = false;
    bool receives = false;
    std::deque<std::uint32_t> arrived;  // slots
  };

  static std::size_t index_of(const ThreadLocation& place) {
    return (std::size_t{place.board} * kMailboxes + place.mailbox) * kThreadsPerMailbox + place.thread;
  }
  static ThreadLocation place_at(std::size_t index) {
    return {static_cast<std::uint16_t>(index / kThreadsPerBoard),
            static_cast<std::uint8_t>(index / kThreadsPerMailbox % kMailboxes),
            static_cast<std::uint8_t>(index % kThreadsPerMailbox)};
  }

  std::uint64_t below(std::uint64_t bound) { return splitmix(state_) % bound; }

  ThreadLocation destination(std::size_t from) {
    ThreadLocation to = place_at(below(kThreadsPerBoard));
    to.board = place_at(from).board;
    if (below(100) >= static_cast<std::uint64_t>(spec_.crossing)) return to;
    int next = -1;
    // Draws again at the edge of the mesh.
    while (next < 0) next = machine_.spec().mesh.neighbour(to.board, static_cast<Direction>(below(kLinks)));
    to.board = static_cast<std::uint16_t>(next);
    return to;
  }

  void advance(Time at, std::size_t index) {
    Thread& thread = threads_[index];
    // Receiving comes first, so that mailboxes drain.
    thread.receives = thread.busy ? thread.receives : !thread.arrived.empty();
    if (thread.busy || (!thread.receives && (thread.to_send == 0 || !thread.may_send))) return;
    thread.busy = true;
    const int count = thread.receives ? spec_.receive : spec_.send;
    const MachineSpec& spec = machine_.spec();
    // The core limits the rate of all of its threads, the pipeline that of one.
    const Time end = cores_[index / kThreadsPerCore].acquire(at, spec.cycles(count)).end;
    machine_.set_timer(later(end, at + spec.cycles(std::int64_t{spec_.pipeline} * count)), index);
  }

  Machine& machine_;
  const ExchangeSpec spec_;
  std::uint64_t state_;
  std::vector<Thread> threads_;
  std::vector<Arbiter> cores_;
  Time end_;
};

}  // namespace

Time run_exchange(Machine& machine, const ExchangeSpec& exchange) {
  return Exchange(machine, exchange).run();
}

}  // namespace offramp::tinsel
