// A collective operation in progress at this rank: the algorithm of the backend that carries it.
#pragma once

#include <memory>
#include <vector>

#include "lib/engine/engine.hpp"

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

  /// Buffers and reducer live until completion. reducer may be null where nothing is reduced; a reduction
  /// without one combines nothing: somebody else makes its result, and it only takes its time on the live
  /// clock. Without that it is done at once.
  void start(const Operation& operation, const CollectiveBuffers& buffers, Reducer* reducer);
  /// Starts a meeting instead of an operation: the clocks of the members go to the latest one among them, as
  /// after a call that nobody leaves before all have entered. Costs nothing and carries nothing.
  /// Without a live clock there is nothing to meet for: it is done at once.
  void meet();
  /// The same among neighbours: this rank tells `to` its clock and hears those of `from`. Who is in one list
  /// has this rank in the other one, as often.
  void meet(std::vector<int> to, std::vector<int> from);
  /// The same where not all members take part, on a context where nothing else happens: the n-th time that
  /// one rank tells another its clock about `subject` is the n-th time that the other one hears of it.
  void meet(std::uint32_t subject, std::vector<int> to, std::vector<int> from);
  /// The program has learnt of the completion: its clocks move.
  void observe();

  [[nodiscard]] bool done() const { return started_ && ended_; }
  [[nodiscard]] Outcome outcome() const { return outcome_; }

  void (*on_complete)(Collective& self) = nullptr;
  void* owner = nullptr;

 private:
  class Run;
  template <typename Begin>
  void begin(std::uint32_t number, Begin begin);
  /// What moves no data serves the live clock only.
  [[nodiscard]] bool is_timed() const { return engine_.clock() != nullptr; }
  void ended();
  void complete();
  void certify(const Operation& operation, const CollectiveBuffers& buffers);
  void take_digest();

  Engine& engine_;
  Context& context_;
  std::unique_ptr<Run> run_;
  bool started_ = false;
  bool ended_ = false;      // the algorithm
  bool has_result_ = true;  // somebody else makes it otherwise
  bool observed_ = false;
  Outcome outcome_ = Outcome::kOk;
  // For the certificate.
  MutableBytes receive_;
  std::vector<MutableBytes> receive_blocks_;
  std::uint64_t digest_ = 0;
};

}  // namespace offramp
