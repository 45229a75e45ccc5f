// Base of the readers of all formats: the events of one rank, made a few at a time from a file's contents.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/programs/import/datatype.hpp"
#include "lib/programs/recording/unrecorded_reader.hpp"

namespace offramp::trace {

/// The maximum number of ranks, as in a world.
inline constexpr int kMostRanks = 1 << 20;

/// The MPI functions in traces, in the order of their names in made_events.cpp.
enum class MpiFunction : std::uint16_t {
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
  kCollectives,  // from here on one per OperationKind, first blocking, then nonblocking
};

/// For Event::call.
constexpr std::uint16_t number_of(MpiFunction call) {
  return static_cast<std::uint16_t>(call);
}
/// "MPI_Send"; empty if there is no such call.
std::string_view name_of_call(std::uint16_t number);
/// The number of a collective's call.
std::uint16_t call_of(OperationKind operation, bool blocking);

/// A collective for traces with only bytes. Reductions add 32-bit floats, or combine bytes if need be.
recording::Event collective_of_bytes(OperationKind operation, std::uint64_t bytes);

/// Traces do not contain matches of wildcards, or they contain the matched source. A rank with MPI_Init but
/// without MPI_Finalize counts as cut, a rank without both as complete.
class MadeEvents : public recording::UnrecordedReader {
 public:
  /// Makes events when the last ones are used up.
  bool next(recording::Event& event) final;
  [[nodiscard]] recording::Times times() const final { return current_.times; }
  [[nodiscard]] std::span<const std::uint64_t> list(std::uint32_t number) const override;
  [[nodiscard]] std::uint32_t thread() const final { return current_.thread; }
  [[nodiscard]] std::string_view call(std::uint16_t number) const final;
  /// Only known at the end: until then a rank does not count as cut.
  [[nodiscard]] std::string_view cut() const final {
    return ended_ && error_.empty() && initialized_ && !finalized_ ? recording::kCut : std::string_view();
  }
  [[nodiscard]] const std::string& error() const final { return error_; }

 protected:
  /// Makes at least one more event. Returns false at the end, or after fail().
  virtual bool make_more() = 0;

  /// Ends the events with this error. Returns false, for make_more().
  bool fail(std::string what) {
    error_ = std::move(what);
    return false;
  }

  /// Subsequent events belong to this thread.
  void switch_thread(std::uint32_t thread) { thread_ = thread; }
  /// Adds computing before the next event.
  void compute(std::uint64_t nanoseconds);
  /// Adds time before the next event in which the program waits for something other than MPI.
  void rest(std::uint64_t nanoseconds);
  /// A number for Event::list of an event that is made before make_more() returns.
  std::uint32_t intern(std::span<const std::uint64_t> values);
  /// Adds an event, with the time passed to compute() and rest() since the last one.
  void add(const recording::Event& event);
  /// Names the function of the newest event.
  void name_last(const std::string& function);
  /// A call without a model, which lasts as long as in the trace.
  void native(MpiFunction call, std::uint64_t nanoseconds = 0);
  /// Returns the number of the request that it begins, if any.
  std::uint64_t message(recording::EventKind kind, MpiFunction call, int peer, int tag, std::uint64_t bytes,
                        std::uint8_t flags, ElementType element = ElementType::kByte,
                        std::uint32_t communicator = recording::kWorld);
  /// Collectives whose blocks differ, with sizes in bytes. For rooted ones, only the root's sizes count.
  recording::Event gatherv(std::uint64_t sent, std::span<const std::uint64_t> blocks, int root, bool at_root);
  recording::Event scatterv(std::span<const std::uint64_t> blocks, std::uint64_t received, int root,
                            bool at_root);
  recording::Event allgatherv(std::uint64_t sent, std::span<const std::uint64_t> blocks);
  recording::Event alltoallv(std::span<const std::uint64_t> sent, std::span<const std::uint64_t> received);
  /// Blocks in elements. Equal sizes: MPI_Reduce_scatter_block. `nullopt` if a size exceeds 64 bits.
  std::optional<recording::Event> reduce_scatter(std::span<const std::uint64_t> blocks, const Datatype& of);
  /// The rank's next communicator. id: see recording::Event::extra.
  void make_communicator(std::span<const std::uint64_t> members, std::uint64_t id);
  /// Also sets the name of the call. A nonblocking collective begins a request, whose number is returned.
  std::uint64_t collective(recording::Event event, bool blocking);
  /// A wait for, or the end of, one request.
  void end_of(std::uint64_t request, recording::EventKind kind, MpiFunction call = MpiFunction::kOther);
  void wait_for(std::uint64_t request) { end_of(request, recording::EventKind::kWait, MpiFunction::kWait); }
  /// One call that waits for all of them, or for some with the flags kAny and kSome of recording::EventFlag.
  void wait_for(std::span<const std::uint64_t> requests, MpiFunction call = MpiFunction::kWaitall,
                std::uint8_t flags = 0);
  /// The numbers of requests and of events so far.
  [[nodiscard]] std::uint64_t begun() const { return begun_; }
  [[nodiscard]] std::uint64_t made() const { return events_; }

 private:
  struct Made {
    recording::Event event;
    recording::Times times;
    std::uint32_t thread = 0;
  };
  /// The newest event. Invalid before the first one is made.
  [[nodiscard]] Made& newest() { return made_.empty() ? current_ : made_.back(); }
  Made current_;            // the last event of next(), or the next one
  bool is_next_ = false;    // current_ has not been returned yet
  std::vector<Made> made_;  // the events after it; most turns make one only
  std::size_t taken_ = 0;   // events of made_ that have been in current_
  /// Lists of the events in made_. Their memory is reused.
  std::vector<std::vector<std::uint64_t>> lists_;
  std::vector<std::string> names_;  // of other functions than those of MpiFunction
  recording::Times times_;          // before the next event
  std::uint32_t thread_ = 0;
  std::uint64_t begun_ = 0;
  std::uint64_t events_ = 0;
  bool initialized_ = false;
  bool finalized_ = false;
  bool ended_ = false;
  std::string error_;
};

}  // namespace offramp::trace
