// What the readers of all formats share: the events of one rank, made a few at a time from what a file says.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/programs/import/datatype.hpp"
#include "lib/programs/recording/unrecorded_reader.hpp"

namespace offramp::trace {

/// That a reader takes; as many as a world has.
inline constexpr int kMostRanks = 1 << 20;

/// The MPI functions that traces become; their order is that of the names in made_events.cpp.
enum class Call : std::uint16_t {
  kInit,
  kFinalize,
  kSend,
  kSsend,
  kBsend,
  kIsend,
  kIssend,
  kIbsend,
  kRecv,
  kIrecv,
  kProbe,
  kSendrecv,
  kWait,
  kWaitall,
  kWaitany,
  kWaitsome,
  kTest,
  kOther,
  kSplit,
  kCollectives,  // from here on one for each OperationKind, then the same of the nonblocking forms
};

/// "MPI_Send"; empty if there is no such call.
std::string_view name_of_call(std::uint16_t number);
/// The number of a collective's call.
std::uint16_t call_of(OperationKind operation, bool blocking);

/// A collective of a trace that says bytes and neither type nor function: a reduction adds 32-bit floats, or
/// where they do not fit, combines bytes.
recording::Event collective_of_bytes(OperationKind operation, std::uint64_t bytes);

/// Traces do not say what wildcards took, or hold the source that was matched. A rank that has MPI_Init and
/// no MPI_Finalize is cut; one that has neither is whole.
class MadeEvents : public recording::UnrecordedReader {
 public:
  bool next(recording::Event& event) final;
  [[nodiscard]] std::uint64_t computed() const final { return current_.computed; }
  [[nodiscard]] std::span<const std::uint64_t> list(std::uint32_t number) const final;
  [[nodiscard]] std::uint32_t thread() const final { return current_.thread; }
  [[nodiscard]] std::string_view call(std::uint16_t number) const final;
  [[nodiscard]] std::string_view cut() const final {
    return ended_ && error_.empty() && initialized_ && !finalized_ ? recording::kCut : std::string_view();
  }
  [[nodiscard]] const std::string& error() const final { return error_; }

 protected:
  /// Makes the next events, at least one. False: there are no more, or fail() said why.
  virtual bool more() = 0;

  bool fail(std::string what) {
    error_ = std::move(what);
    return false;
  }

  /// Events that are made from here on are of this thread.
  void turn(std::uint32_t thread) { thread_ = thread; }
  /// The rank computes before the next event.
  void compute(std::uint64_t nanoseconds);
  /// A number for Event::list of an event that is made before more() returns.
  std::uint32_t keep(std::span<const std::uint64_t> values);
  void add(const recording::Event& event);
  /// A call that takes no modelled time.
  void native(Call call);
  /// The number of the request that it begins, if it begins one.
  std::uint64_t message(recording::EventKind kind, Call call, int peer, int tag, std::uint64_t bytes,
                        std::uint8_t flags, ElementType element = ElementType::kByte,
                        std::uint32_t communicator = recording::kWorld);
  /// Collectives whose blocks differ: their sizes are in bytes, and count at the root alone where there is
  /// one.
  recording::Event gatherv(std::uint64_t sent, std::span<const std::uint64_t> blocks, int root, bool at_root);
  recording::Event scatterv(std::span<const std::uint64_t> blocks, std::uint64_t received, int root,
                            bool at_root);
  recording::Event allgatherv(std::uint64_t sent, std::span<const std::uint64_t> blocks);
  recording::Event alltoallv(std::span<const std::uint64_t> sent, std::span<const std::uint64_t> received);
  /// Blocks in elements; of one size, they are those of MPI_Reduce_scatter_block. Nothing: it is beyond 64
  /// bits.
  std::optional<recording::Event> reduce_scatter(std::span<const std::uint64_t> blocks, const Datatype& of);
  /// The rank's next communicator. id: see recording::Event::extra.
  void make_communicator(std::span<const std::uint64_t> members, std::uint64_t id);
  /// With the name of its call. blocking: else it begins a request, whose number is returned.
  std::uint64_t collective(recording::Event event, bool blocking);
  void wait_for(std::uint64_t request);
  void wait_for(std::span<const std::uint64_t> requests, Call call = Call::kWaitall, std::uint8_t flags = 0);
  /// Of requests, and of events, so far.
  [[nodiscard]] std::uint64_t begun() const { return begun_; }
  [[nodiscard]] std::uint64_t made() const { return events_; }

 private:
  struct Made {
    recording::Event event;
    std::uint64_t computed = 0;
    std::uint32_t thread = 0;
  };
  std::vector<Made> made_;
  std::size_t taken_ = 0;
  Made current_;
  std::vector<std::vector<std::uint64_t>> lists_;
  std::uint64_t computing_ = 0;
  std::uint32_t thread_ = 0;
  std::uint64_t begun_ = 0;
  std::uint64_t events_ = 0;
  bool initialized_ = false;
  bool finalized_ = false;
  bool ended_ = false;
  std::string error_;
};

}  // namespace offramp::trace
