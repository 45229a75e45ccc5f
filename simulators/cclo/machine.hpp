// Engines with memory, kernels and a network between them, driven through their registers: what a host that
// has such cards can do with them, beyond what MPI programs ask for.
//
//   Machine machine;
//   Engine& engine = machine.add(spec, space, state);      // one per card, set up by its driver
//   const std::uint64_t a = engine.memory().allocate(4096);
//   ... space.write_arguments(words); space.write_control(kApCtrl, kApStart);
//   const std::size_t call = engine.call(at);              // from the call block
//   machine.run();                                         // until no engine can go on
//   engine.result(call).code                               // also in RETVAL
//
// The control processor has one call at a time. In the second generation a call whose notification is missing
// goes into the retry queue, if its firmware does not spin there, and the processor alternates between new
// calls and that queue (read in [accl-2025]). What waits for a message that never comes ends in the receive
// timeout.
//
// Thread rule: one thread at a time.
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "offramp/model/resource.hpp"
#include "simulators/cclo/firmware.hpp"

namespace offramp::cclo {

class Machine;

class Engine final : public EnginePorts {
 public:
  // FIFOs of the second generation's control processor: 64 words each (read in [accl-2025]).
  static constexpr std::size_t kMostRetries = 4;        // calls of 16 words
  static constexpr std::size_t kMostNotifications = 9;  // of 7 words, which no call has asked for yet

  Engine(Machine& machine, int number, Spec& spec, IoSpace& space, EngineState& state);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] IoSpace& space() { return space_; }
  [[nodiscard]] EngineState& state() { return state_; }
  [[nodiscard]] DeviceMemory& memory() override { return memory_; }
  [[nodiscard]] Kernel* kernel() override { return kernel_; }
  void attach(Kernel& kernel) { kernel_ = &kernel; }

  /// The call that the host has started in the call block. Its index.
  std::size_t call(Time at);
  /// A call that comes from a kernel; RETVAL tells the host of it, but the call block does not.
  std::size_t call_from_kernel(const CallWords& words, Time at);
  struct Result {
    bool done = false;
    std::uint32_t code = 0;
    Time begin;  // the processor has taken it for the first time
    Time end;
    std::uint32_t retries = 0;  // times that it was taken from the retry queue and could go on
  };
  [[nodiscard]] const Result& result(std::size_t call) const;
  [[nodiscard]] std::size_t retrying() const { return retry_.size(); }
  /// Not empty: the control processor waits for a FIFO that nothing empties.
  [[nodiscard]] const std::string& stuck() const { return stuck_; }

  [[nodiscard]] const Incoming& incoming() const override { return incoming_; }
  void outgoing(const RxMessage& header) override { outgoing_ = header; }
  void send_to_kernel(int peer, std::uint32_t stream, Bytes data, const Flow& when) override;

 private:
  friend class Machine;
  class CallTeam;
  struct Call;
  struct Message {
    int source = 0;  // engine
    Stamp stamp;
    RxMessage header;
    std::vector<std::byte> data;
  };
  struct Turn {
    Time at;
    Call* call = nullptr;
    enum class From : std::uint8_t { kNew, kRetry, kSpin } from = From::kNew;
  };

  std::size_t add(const CallWords& words, Time at, bool from_kernel);
  [[nodiscard]] std::optional<Turn> turn() const;
  void take(const Turn& turn);
  void begin(Call& call, Time at);
  void resume(Call& call);
  void settle(Call& call);
  void queue(Call& call);
  void reset_retries();
  [[nodiscard]] bool may_time_out() const;
  void time_out();
  void prepare(Call& call);
  CallMemory memory_of(Call& call, Scenario scenario);
  MutableBytes operand(std::uint64_t address, std::uint64_t bytes, Place place, bool streamed);
  [[nodiscard]] const Message* find(const Call& call, int peer) const;
  void note_notifications(const Call& call);
  [[nodiscard]] Time retry_time() const;
  [[nodiscard]] std::string waits_for() const;

  Machine& machine_;
  int number_;
  Spec& spec_;
  IoSpace& space_;
  EngineState& state_;
  DeviceMemory memory_;
  Kernel* kernel_ = nullptr;
  std::vector<Resource> units_;
  std::list<Call> calls_;
  std::deque<Call*> new_;
  std::deque<Call*> retry_;
  Call* spinning_ = nullptr;
  Call* current_ = nullptr;  // that the control processor has
  Time free_;                // the control processor
  std::list<Message> mailbox_;
  std::list<std::vector<std::byte>> staging_;  // of operands that are streams
  Incoming incoming_;
  RxMessage outgoing_;
  std::string stuck_;
};

class Machine {
 public:
  /// An engine that its driver has set up; the arguments outlive it. Ranks of communicators are found by
  /// their session (over UDP: port), which is the number of the engine.
  Engine& add(Spec& spec, IoSpace& space, EngineState& state);
  [[nodiscard]] Engine& engine(int number) { return *engines_[static_cast<std::size_t>(number)]; }

  /// A message from a sender that is no engine of this machine, or one that breaks the rules: header and
  /// payload need not agree.
  void inject(int from, int to, const Stamp& stamp, const RxMessage& header, std::size_t payload);
  /// Until no engine can go on. Returns an empty text, or who waits for what for ever.
  std::string run();

 private:
  friend class Engine;
  std::vector<std::unique_ptr<Engine>> engines_;
};

}  // namespace offramp::cclo
