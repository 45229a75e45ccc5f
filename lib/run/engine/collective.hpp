// A collective operation in progress at this rank: the algorithm of the backend that carries it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "lib/run/engine/engine.hpp"

namespace offramp {

/// What the algorithm needs of MPI's reduction; implemented where MPI is known.
class Reducer {
 public:
  virtual ~Reducer() = default;
  /// inout = in (op) inout, both packed elements.
  virtual void combine(Bytes in, MutableBytes inout) = 0;
};

/// Started once; completes once (data in place, algorithm ended); then observed once. Must stay where it is.
class Collective {
 public:
  Collective(Engine& engine, Context& context);
  ~Collective();
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;

  /// Buffers and reducer live until completion. reducer may be null where nothing is reduced. A reduction
  /// without one is counted and done at once: the MPI library makes its result.
  void start(const Operation& operation, const CollectiveBuffers& buffers, Reducer* reducer);
  /// The program has learnt of the completion.
  void observe();

  [[nodiscard]] bool done() const { return started_ && ended_; }
  [[nodiscard]] Outcome outcome() const { return outcome_; }

  void (*on_complete)(Collective& self) = nullptr;
  void* owner = nullptr;

 private:
  class Run;
  void on_hop_end();
  void ended();
  void complete();
  void certify(const Operation& operation, const CollectiveBuffers& buffers);
  void compute_digest();

  Engine& engine_;
  Context& context_;
  std::unique_ptr<Run> run_;
  std::optional<HopOperation> hop_;  // instead of `run_`, or watches it
  bool is_overruled_ = false;        // the result is that of `hop_`, although there is `run_`
  bool started_ = false;
  bool ended_ = false;      // the algorithm
  bool has_result_ = true;  // the MPI library makes it otherwise
  bool observed_ = false;
  Outcome outcome_ = Outcome::kOk;
  // For the certificate.
  MutableBytes receive_;
  std::vector<MutableBytes> receive_blocks_;
  std::uint64_t digest_ = 0;
};

}  // namespace offramp
