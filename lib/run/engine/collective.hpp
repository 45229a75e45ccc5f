// A collective operation in progress at this rank. It runs the algorithm of its backend, or moves the data in
// one hop (OneHop). Called under the engine's lock.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "lib/run/engine/engine.hpp"

namespace offramp {

/// Applies MPI's reduction operation. lib/run/mpi implements it.
class Reducer {
 public:
  virtual ~Reducer() = default;
  /// inout = in (op) inout, both packed elements.
  virtual void combine(Bytes in, MutableBytes inout) = 0;
};

/// Started once, completed once (data in place, algorithm ended), observed once; then again after rearm().
/// Must not move.
class Collective {
 public:
  /// engine and context must outlive the object.
  Collective(Engine& engine, Context& context);
  ~Collective();
  Collective& operator=(Collective&&) = delete;

  /// Buffers and reducer must live until completion. reducer may be null. A reduction without a reducer is
  /// only counted, and completes at once: the MPI library computes its result.
  void start(const Operation& operation, const CollectiveBuffers& buffers, Reducer* reducer);
  /// Called when the program learns of the completion.
  void observe();
  /// Prepares an observed operation for another start().
  void rearm();

  /// True from completion on. The program may not know of it yet: see observe().
  [[nodiscard]] bool done() const { return state_ >= State::kEnded; }
  /// Final once done() is true.
  [[nodiscard]] Outcome outcome() const { return outcome_; }

  /// Called once at completion. The callback may destroy this object.
  void (*on_complete)(Collective& self) = nullptr;
  void* owner = nullptr;

 private:
  class Run;
  /// The slots are done with the operation: it has its result, or the algorithm must carry it.
  void on_hop_end();
  /// The algorithm or the slots have ended. Completes, unless start() is still running.
  void ended();
  /// Releases the context and notifies the owner.
  void complete();
  /// Adds what this rank contributes to the certificate, and remembers where the result will be.
  void certify(const Operation& operation, const CollectiveBuffers& buffers);
  void compute_digest();

  Engine& engine_;
  Context& context_;
  std::unique_ptr<Run> run_;
  std::optional<HopOperation> hop_;  // replaces `run_`, or watches it
  enum class State : std::uint8_t { kIdle, kStarting, kRunning, kEnded, kObserved };
  State state_ = State::kIdle;
  bool has_result_ = true;  // false: the MPI library computes it
  Outcome outcome_ = Outcome::kOk;
  // For the certificate.
  MutableBytes receive_;
  std::vector<MutableBytes> receive_blocks_;
  std::uint64_t digest_ = 0;
};

}  // namespace offramp
