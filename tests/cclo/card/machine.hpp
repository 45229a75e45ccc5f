// Engines with memory, kernels, and a network between them, driven through their registers: the full
// functionality of the cards, beyond what MPI programs use. A library for tests and for
// examples/cclo_card/send_and_combine.cpp.
//
//   Machine machine;
//   OffloadEngine& engine = machine.add(spec, space);      // one per card; its descriptors are written
//   const std::uint64_t a = engine.memory().allocate(4096);
//   ... space.write_arguments(words); space.write_control(kApCtrl, kApStart);
//   const std::size_t call = engine.call(at);              // from the call block
//   machine.run();                                         // until no engine can continue
//   engine.result(call).code                               // also in RETVAL
//
// The control processor executes one call at a time. In the second generation, a call without its
// notification enters the retry queue unless its firmware spins. The processor alternates between new calls
// and that queue (read in [accl-2025]). A missing eager message ends in the receive timeout. One thread at a
// time.
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "offramp/model/resource.hpp"
#include "tests/cclo/card/card_processor.hpp"

namespace offramp::cclo {

class Machine;

/// One engine of a machine. Created by Machine::add().
class OffloadEngine final : public EnginePorts {
 public:
  // FIFOs of the second generation's control processor: 64 words each (read in [accl-2025]).
  static constexpr std::size_t kMostRetries = 4;        // calls of 16 words
  static constexpr std::size_t kMostNotifications = 9;  // 7 words each, not yet requested by a call

  OffloadEngine(Machine& machine, int number, Spec& spec, IoSpace& space, const EngineState& state);
  ~OffloadEngine();
  OffloadEngine(const OffloadEngine&) = delete;
  OffloadEngine& operator=(const OffloadEngine&) = delete;

  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] IoSpace& space() { return space_; }
  [[nodiscard]] CardState& state() { return state_; }
  [[nodiscard]] DeviceMemory& memory() override { return memory_; }
  [[nodiscard]] Kernel* kernel() override { return kernel_; }
  void attach(Kernel& kernel) { kernel_ = &kernel; }

  /// Accepts the call that the host has started in the call block. Returns its index.
  std::size_t call(Time at);
  /// Accepts a call from a kernel. It reports in RETVAL, but not in the call block.
  std::size_t call_from_kernel(const CallWords& words, Time at);
  struct Result {
    bool done = false;
    std::uint32_t code = 0;
    Time begin;  // the processor first took the call
    Time end;
    std::uint32_t retries = 0;  // how often it continued from the retry queue
  };
  [[nodiscard]] const Result& result(std::size_t call) const;
  [[nodiscard]] std::size_t retrying() const { return retry_.size(); }
  /// Returns the reason why a full FIFO blocks the control processor, or an empty text.
  [[nodiscard]] const std::string& stuck() const { return stuck_; }

  [[nodiscard]] const Incoming& incoming() const override { return incoming_; }
  void outgoing(const RxMessage& header) override { outgoing_ = header; }
  void send_to_kernel(int peer, std::uint32_t stream, Bytes data, const Flow& when) override;

 private:
  friend class Machine;
  class CallTeam;
  struct FirmwareCall;
  struct ArrivedMessage {
    int source = 0;  // engine
    Stamp stamp;
    RxMessage header;
    std::vector<std::byte> data;
  };
  struct Turn {
    Time at;
    FirmwareCall* call = nullptr;
    enum class From : std::uint8_t { kNew, kRetry, kSpin } from = From::kNew;
  };

  std::size_t add(const CallWords& words, Time at, bool from_kernel);
  [[nodiscard]] std::optional<Turn> turn() const;
  void serve(const Turn& turn);
  void begin(FirmwareCall& call, Time at);
  void resume(FirmwareCall& call);
  void record_progress(FirmwareCall& call);
  void queue(FirmwareCall& call);
  void reset_retries();
  [[nodiscard]] bool may_time_out() const;
  void time_out();
  void prepare(FirmwareCall& call);
  CardMemory memory_of(FirmwareCall& call, Scenario scenario);
  MutableBytes operand(std::uint64_t address, std::uint64_t bytes, BufferLocation place, bool streamed);
  [[nodiscard]] const ArrivedMessage* find(const FirmwareCall& call, int peer) const;
  void note_notifications(const FirmwareCall& call);
  [[nodiscard]] Time retry_time() const;
  [[nodiscard]] std::string waits_for() const;

  Machine& machine_;
  int number_;
  Spec& spec_;
  IoSpace& space_;
  CardState state_;
  DeviceMemory memory_;
  Kernel* kernel_ = nullptr;
  std::vector<Resource> units_;
  std::list<FirmwareCall> calls_;
  std::deque<FirmwareCall*> new_;
  std::deque<FirmwareCall*> retry_;
  FirmwareCall* spinning_ = nullptr;
  FirmwareCall* current_ = nullptr;  // being executed
  Time free_;                        // when the control processor is free
  std::list<ArrivedMessage> mailbox_;
  std::list<std::vector<std::byte>> staging_;  // operands that are streams
  Incoming incoming_;
  RxMessage outgoing_;
  std::string stuck_;
};

/// The machine: all engines, and the messages between them.
class Machine {
 public:
  /// Adds an engine whose RX descriptors the host has written; spec and space must outlive it. state: what
  /// the driver's configuration calls have switched on. The session of a rank in a communicator (over UDP:
  /// its port) is its engine's number.
  OffloadEngine& add(Spec& spec, IoSpace& space, const EngineState& state = {});
  [[nodiscard]] OffloadEngine& engine(int number) { return *engines_[static_cast<std::size_t>(number)]; }

  /// Injects a message from outside of the machine. Header and payload may be inconsistent.
  void inject(int from, int to, const Stamp& stamp, const RxMessage& header, std::size_t payload);
  /// Runs until no engine can continue. Returns an empty text, or which engines wait forever and for what.
  std::string run();

 private:
  friend class OffloadEngine;
  std::vector<std::unique_ptr<OffloadEngine>> engines_;
};

}  // namespace offramp::cclo
