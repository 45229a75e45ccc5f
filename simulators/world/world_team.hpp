// One rank's part of a collective in a world: the Team that a backend's algorithm uses. Lives from the call
// until the program has completed it.
#pragma once

#include <vector>

#include "simulators/world/no_memory.hpp"
#include "simulators/world/world_rank.hpp"

namespace offramp::world {

/// Both the rank's operation and the Team of its algorithm.
class Collective final : public Operation, public Team {
 public:
  /// waits: see RankHandle::start().
  Collective(Thread& thread, const Communicator& communicator, std::uint8_t backend, int tag, bool waits);
  ~Collective() override;
  Collective& operator=(Collective&&) = delete;

  /// The message tag of the communicator's number-th collective.
  static int tag_of(std::uint32_t number) { return static_cast<int>(number % (1U << 31)); }

  /// Starts an algorithm on this team. The calling thread's clock advances by the time of the call.
  void start(Thread& thread, Task<Outcome> algorithm);
  void start(Thread& thread, const offramp::Operation& question, const CollectiveSizes& sizes);
  /// Starts a neighbourhood collective: see RankHandle::neighbours().
  struct CarriedBlock : RankHandle::Block {
    std::uint8_t backend = 0;
  };
  void start_neighbours(Thread& thread, std::span<const CarriedBlock> to,
                        std::span<const RankHandle::Block> from, bool nonblocking);
  /// Returns what makes progress on the algorithm between its messages.
  [[nodiscard]] Progress progress() const { return progress_; }
  /// Returns whether the program does nothing before it completes the collective.
  [[nodiscard]] bool has_program_waiting() const { return program_waits_ || awaiting() != nullptr; }
  /// Resumes the algorithm, which waited for `part`. Its processor or device must be available.
  void resume(Operation& part);
  /// Completes the collective for a program whose clock is `at`. Returns the time when the program continues.
  [[nodiscard]] Time observe(Time at);

  [[nodiscard]] int world_rank(int rank) const override { return Communicator::world_of(*group_, rank); }
  [[nodiscard]] std::uint64_t context() const override { return group_->context + 1; }
  [[nodiscard]] std::uint64_t setup_context() const override { return group_->setup + 1; }
  TeamHardware* hardware() override { return core().devices(backend_); }
  MutableBytes scratch(std::size_t size) override { return no_memory_.reserve(size); }

 protected:
  void combine_elements(Bytes, MutableBytes) override {}
  Handle start_send(int peer, Bytes data, const Stamp* stamp) override;
  Handle start_receive(int peer, MutableBytes data, bool token) override;
  bool ready(Handle handle) override;
  void wait(Handle handle, std::coroutine_handle<> algorithm) override;
  Outcome finish(Handle handle) override;
  Arrival finish_token(Handle handle) override;

 private:
  Rank& own() { return *Operation::rank; }
  Core& core() { return own().core(); }
  Backend& own_backend() { return *core().device(own(), backend_).backend; }
  void ended();
  Task<Outcome> send_to_neighbours(std::span<const CarriedBlock> to, std::span<const RankHandle::Block> from);
  void begin_progress(const Thread& thread, OperationKind of, bool nonblocking);
  void end_first_round(Thread& thread);
  /// Returns whether the operation uses the processor in turns, one operation at a time.
  [[nodiscard]] bool takes_turns() const { return progress_ != Progress::kHardware; }
  /// interrupts: the computing thread that this turn interrupts, or null.
  void begin_turn(Time at, Thread* interrupts);
  void end_turn();
  /// Charges the processor, if it is used, for the clock's advance since left_.
  void charge_work();
  void put_in_place(OperationKind of, CollectiveBuffers& buffers);
  static MutableBytes writable(Bytes bytes) { return {const_cast<std::byte*>(bytes.data()), bytes.size()}; }
  /// Tokens that are sent need no operation. Their handle is null, or &failed_ if they carry a failure on.
  [[nodiscard]] bool is_sent_token(Handle handle) const { return handle == nullptr || handle == &failed_; }
  Operation* begin(Kind kind);
  std::unique_ptr<Operation> end(Handle handle);

  std::shared_ptr<const Communicator::Group> group_;
  std::uint8_t backend_;
  int tag_;
  Progress progress_ = Progress::kHardware;
  Time turn_began_;
  Thread* interrupts_ = nullptr;
  bool by_processor_;    // the algorithm runs on the rank's processor
  bool program_waits_;   // from the call on
  Time left_;            // the clock at the last charge
  bool failed_ = false;  // a message has failed; later messages carry the failure on
  NoMemory no_memory_;
  std::vector<Bytes> send_blocks_;
  std::vector<MutableBytes> receive_blocks_;
  Operation* parts_ = nullptr;  // in progress
  Task<Outcome> task_;
};

}  // namespace offramp::world
