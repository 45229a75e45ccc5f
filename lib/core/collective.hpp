// A collective operation in progress at this rank: in every lane, the algorithm of the backend that carries
// it there.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "lib/core/engine.hpp"

namespace offramp {

/// What the algorithm needs of MPI's reduction; implemented where MPI is known.
class Reducer {
 public:
  virtual ~Reducer() = default;
  /// inout = in (op) inout, both packed elements.
  virtual void combine(Bytes in, MutableBytes inout) = 0;
};

/// Started once; completes once (data in place in lane 0, all lanes ended); then observed once. Must stay
/// where it is.
class Collective {
 public:
  Collective(Engine& engine, Context& context);
  ~Collective();
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;

  /// Buffers and reducer live until completion. reducer may be null where nothing is reduced.
  void start(const Operation& operation, const CollectiveBuffers& buffers, Reducer* reducer);
  /// The program has learnt of the completion: its clocks move.
  void observe();

  [[nodiscard]] bool done() const { return started_ && running_ == 0; }
  [[nodiscard]] Outcome outcome() const { return outcome_; }

  void (*on_complete)(Collective& self) = nullptr;
  void* owner = nullptr;

 private:
  class Run;
  void ended(Run& run);
  void complete_one();

  Engine& engine_;
  Context& context_;
  std::array<std::unique_ptr<Run>, kMaxLanes> runs_;
  int running_ = 0;
  std::uint64_t operation_ = 0;
  bool started_ = false;
  bool observed_ = false;
  Outcome outcome_ = Outcome::kOk;
};

}  // namespace offramp
