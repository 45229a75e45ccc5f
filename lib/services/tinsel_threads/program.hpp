// Runs a C program on all threads of the modelled machine. Each is a fiber that is resumed when the machine's
// time reaches the thread's. Implements the calls of include/offramp/tinsel.h, with checks.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "lib/services/tinsel_threads/fiber.hpp"
#include "simulators/tinsel/idle.hpp"
#include "simulators/tinsel/machine.hpp"

namespace offramp::tinsel {

/// Instructions of calls (assumed: they are inline, with one to four accesses to control registers).
struct CallSpec {
  int pipeline = 8;  // cycles between two instructions of a thread
  int call = 2;
  int send = 4;  // plus one per word
};

/// The longest modelled time of a run that a machine's clock can represent.
inline constexpr Time kLongest = Time::ps(std::int64_t{1} << 60U);

class Program final : public Software, public IdleThreads {
 public:
  struct Options {
    std::size_t stack_bytes = 65536;
    Time limit = kLongest;
  };
  Program(Machine& machine, const Options& options);
  ~Program() override;

  /// Runs until all threads have returned. Returns false on failure, see error().
  bool run(void (*entry)(void*), void* argument);
  [[nodiscard]] const std::string& error() const { return error_; }
  /// The time at which the last thread returned.
  [[nodiscard]] Time end() const { return end_; }
  [[nodiscard]] std::uint64_t idle_rounds() const { return idle_rounds_; }

  /// The program whose thread is running in this thread of the process, or null.
  static Program* running();

  // The calls of the running thread.
  [[nodiscard]] std::uint32_t id() const;
  [[nodiscard]] std::uint64_t cycles();
  void work(std::uint64_t instructions);
  [[nodiscard]] volatile void* send_slot(bool extra);
  [[nodiscard]] bool can_send();
  void set_length(int n);
  void multicast(const char* call, std::uint32_t mailbox, std::uint64_t mask, volatile void* slot);
  [[nodiscard]] bool can_receive();
  [[nodiscard]] volatile void* receive();
  void free(volatile void* slot);
  void wait_until(unsigned condition);
  [[nodiscard]] int idle(bool vote);

  void delivered(const Delivery& delivery) override;
  void on_sent(Time at, const ThreadLocation& from) override;
  [[nodiscard]] bool reports_pointers() const override { return true; }
  void timer(Time at, std::uint64_t cookie) override;
  void at_bridge(Time at, const MailboxMessage& message) override { detection_.at_bridge(at, message); }
  State token(Time at, int board, IdlePhase phase, bool vote) override;
  void round_over(Time end, IdlePhase phase) override;

 private:
  enum class Sleep : std::uint8_t { kNot, kWaits, kIdles, kReturned };
  struct Pointer {
    Time at;  // when the thread can see it
    std::uint32_t slot = 0;
  };
  struct SlotMemory {
    Payload words{};
    int flits = 1;
  };
  struct Thread {
    Program* program = nullptr;
    ThreadLocation place;
    Fiber fiber;
    std::byte* stack = nullptr;
    std::uint64_t pending = 0;  // instructions since the machine's time equalled the thread's
    Sleep sleep = Sleep::kNot;
    unsigned condition = 0;     // of kWaits
    std::uint64_t resumed = 0;  // resume count; older timers are void
    bool vote = false;
    int answer = 0;  // of idle
    Time can_send;   // the time from which it can send
    int flits = 1;
    std::vector<Pointer> arrived;
    std::vector<std::uint32_t> held;
    std::array<Payload, 2> slots{};
  };
  struct BoardState {
    int awake = kThreadsPerBoard;
    int against = 0;  // waiting in idle without a vote
    bool enabled = true;
  };

  static void enter(void* thread);
  [[nodiscard]] std::size_t index_of(const ThreadLocation& place) const;
  [[nodiscard]] bool ready_to_send(const Thread& thread) const;
  [[nodiscard]] bool has_message(const Thread& thread) const;
  void resume(Thread& thread);
  void call_at(Time at, const Thread& thread);
  /// Accounts for instructions of the running thread, and for words at its mailbox's port.
  void spend(int instructions, int words = 0);
  void sleep(Sleep kind);
  [[nodiscard]] bool wakes(Thread& thread);
  /// Abandons the thread's stack. Destroys only `why`.
  [[noreturn]] void fail(std::string&& why);
  void stop_with_error(const std::string& why);

  Machine& machine_;
  const Options options_;
  const CallSpec calls_;
  Stacks stacks_;
  IdleDetection detection_;
  std::vector<Thread> threads_;
  std::vector<BoardState> boards_;
  std::vector<Arbiter> cores_;
  std::deque<SlotMemory> received_;  // by slot of the machine; addresses of words are stable
  Thread* current_ = nullptr;
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
  std::size_t left_ = 0;  // threads that have not returned
  std::uint64_t idle_rounds_ = 0;
  bool changed_ = false;  // a thread has run since the last round
  int quiet_rounds_ = 0;
  Time end_;
  std::string error_;
};

}  // namespace offramp::tinsel
