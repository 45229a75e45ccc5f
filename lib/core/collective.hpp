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
  /// The same without data, in all lanes: only the sizes of the buffers count, and no memory is touched.
  void watch(const Operation& operation, const CollectiveBuffers& buffers) {
    watches_ = true;
    start(operation, buffers, nullptr);
  }
  /// Starts a meeting instead of an operation: the clocks of the members go to the latest one among them, as
  /// after a call that nobody leaves before all have entered. Costs nothing and carries nothing.
  void meet();
  /// The same among neighbours: this rank tells `to` its clock and hears those of `from`. Who is in one list
  /// has this rank in the other one, as often.
  void meet(std::vector<int> to, std::vector<int> from);
  /// The same where not all members take part, on a context where nothing else happens: the n-th time that
  /// one rank tells another its clock about `subject` is the n-th time that the other one hears of it.
  void meet(std::uint32_t subject, std::vector<int> to, std::vector<int> from);
  /// The program has learnt of the completion: its clocks move.
  void observe();

  [[nodiscard]] bool done() const { return started_ && running_ == 0; }
  [[nodiscard]] Outcome outcome() const { return outcome_; }

  void (*on_complete)(Collective& self) = nullptr;
  void* owner = nullptr;

 private:
  class Run;
  template <typename Begin>
  void begin(std::uint32_t number, Begin begin);
  void ended(Run& run);
  void complete_one();
  void certify(const Operation& operation, const CollectiveBuffers& buffers);
  void take_digest();

  Engine& engine_;
  Context& context_;
  std::array<std::unique_ptr<Run>, kMaxLanes> runs_;
  int running_ = 0;
  std::uint64_t operation_ = 0;
  bool started_ = false;
  bool watches_ = false;  // the data goes another way
  bool meeting_ = false;  // no operation: nobody counts its size
  bool observed_ = false;
  Outcome outcome_ = Outcome::kOk;
  std::uint64_t bytes_ = 0;  // as counted
  // For the certificate.
  MutableBytes receive_;
  std::vector<MutableBytes> receive_blocks_;
  std::uint64_t digest_ = 0;
};

}  // namespace offramp
