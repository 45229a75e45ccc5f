// A collective of one rank in a world: the team that the backend's algorithm sees.
#pragma once

#include <vector>

#include "simulators/world/no_memory.hpp"
#include "simulators/world/world_rank.hpp"

namespace offramp::world {

class Collective final : public Operation, public Team {
 public:
  Collective(Thread& thread, const Communicator& communicator, std::uint8_t backend, int tag);
  ~Collective() override;
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;

  /// The tags of its messages: of the communicator's number-th collective, or of exchanges about a subject.
  static int tag_of(std::uint32_t number) { return static_cast<int>(number % kExchange); }
  static int tag_of_exchange(std::uint32_t subject) {
    return static_cast<int>(kExchange + subject % kExchange);
  }

  /// An algorithm that is this team's, begun by a thread.
  void start(Thread& thread, Task<Outcome> algorithm);
  void start(Thread& thread, const offramp::Operation& question, const CollectiveSizes& sizes);
  /// By what it goes on between its messages.
  [[nodiscard]] Progress progress() const { return progress_; }
  /// It has waited for `part`, and what it goes on by is there.
  void go_on(Operation& part);
  /// The program, whose clock shows `at`, learns that it is done. Returns when it goes on.
  [[nodiscard]] Time observe(Time at);

  [[nodiscard]] int world_rank(int rank) const override { return Communicator::world_of(*group_, rank); }
  [[nodiscard]] std::uint64_t context() const override { return group_->context + 1; }
  [[nodiscard]] std::uint64_t setup_context() const override { return group_->setup + 1; }
  TeamHardware* hardware() override { return core().devices(backend_); }
  MutableBytes scratch(std::size_t size) override { return no_memory_.take(size); }

 protected:
  void combine_elements(Bytes, MutableBytes) override {}
  Handle start_send(int peer, Bytes data, const Stamp* stamp) override;
  Handle start_receive(int peer, MutableBytes data, bool token) override;
  bool ready(Handle handle) override;
  void wait(Handle handle, std::coroutine_handle<> algorithm) override;
  Outcome finish(Handle handle) override;
  Arrival take(Handle handle) override;

 private:
  Rank& own() { return *Operation::rank; }
  Core& core() { return own().core(); }
  Backend& own_backend() { return *core().device(own(), backend_).backend; }
  void ended();
  /// The processor works on this operation at times, and on nothing else then.
  [[nodiscard]] bool takes_turns() const { return progress_ != Progress::kHardware; }
  /// interrupts: a thread of the program, which computes; or null.
  void begin_turn(Time at, Thread* interrupts);
  void end_turn();
  /// The algorithm has moved the clock since it was left: that was work of the processor, if it has one.
  void settle_work();
  void put_in_place(OperationKind of, CollectiveBuffers& buffers);
  static MutableBytes writable(Bytes bytes) { return {const_cast<std::byte*>(bytes.data()), bytes.size()}; }
  Operation* begin(Kind kind);
  std::unique_ptr<Operation> end(Handle handle);

  static constexpr std::uint32_t kExchange = std::uint32_t{1} << 30;

  std::shared_ptr<const Communicator::Group> group_;
  std::uint8_t backend_;
  int tag_;
  Progress progress_ = Progress::kHardware;
  Time turn_began_;
  Thread* interrupts_ = nullptr;
  bool by_processor_;    // what the algorithm does is done by the rank's own
  Time left_;            // the clock when the algorithm went on
  bool failed_ = false;  // a message has: the algorithm goes on, and those it sends to get to know
  NoMemory no_memory_;
  std::vector<Bytes> send_blocks_;
  std::vector<MutableBytes> receive_blocks_;
  Operation* parts_ = nullptr;  // in progress
  Task<Outcome> task_;
};

}  // namespace offramp::world
