// The arguments of a call as a replay needs them: sizes in bytes, valid peers and roots, blocks of all ranks.
// The first problem is kept and stops the call.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/programs/import/communicators.hpp"
#include "lib/programs/import/mpi_calls.hpp"
#include "lib/programs/import/mpi_library.hpp"
#include "lib/programs/recording/event.hpp"

namespace offramp::trace {

/// Base of the reader of calls. Values are those of the present call.
class CallArguments {
 public:
  /// calls: owned. library: explains the values of ranks and handles.
  CallArguments(std::unique_ptr<Calls> calls, int rank, int ranks, MpiLibrary library)
      : calls_(std::move(calls)), rank_(rank), communicators_(rank, ranks), library_(std::move(library)) {}

 protected:
  [[nodiscard]] Calls& calls() { return *calls_; }
  [[nodiscard]] RankCommunicators& communicators() { return communicators_; }
  [[nodiscard]] const MpiLibrary& library() const { return library_; }

  /// To be called before the first argument of each call.
  void begin_call() { problem_.clear(); }
  /// Only the first problem counts.
  void reject(std::string what) {
    if (problem_.empty()) problem_ = std::move(what);
  }
  /// True if no argument of the call was rejected.
  [[nodiscard]] bool is_valid() const { return problem_.empty(); }
  [[nodiscard]] const std::string& problem() const { return problem_; }

  /// The argument, from least to most. Rejects the call and returns 0 if it is missing or out of range.
  std::int64_t integer(std::string_view name, std::int64_t least, std::int64_t most);
  /// A number of elements, not negative.
  std::uint64_t count(std::string_view name);
  /// Rejects the call, and returns bytes, if the size of the type is unknown.
  Datatype datatype(std::string_view name);
  /// The class of bytes if the trace does not contain it.
  ElementType element(std::string_view name);
  /// The size of `count_name` elements of `type_name`, in bytes. Rejects a call whose size exceeds 64 bits.
  std::uint64_t bytes(std::string_view count_name, std::string_view type_name);
  /// A collective of equal blocks, with size and class from the arguments of side `own`, "send" or "recv".
  /// With MPI_IN_PLACE these may be 0 or invalid; then uses the other side.
  recording::Event block(OperationKind operation, std::string_view own, std::string_view other);
  /// A collective with one size and one type.
  recording::Event sized(OperationKind operation, std::string_view count_name, std::string_view type_name);

  /// The communicator's number.
  std::uint32_t communicator();
  /// The root of a collective, a rank of the communicator.
  int root(std::uint32_t communicator);
  /// This rank's rank in it.
  [[nodiscard]] int own_rank(std::uint32_t communicator) const;
  /// One value per rank of the communicator.
  std::vector<std::uint64_t> counts(std::string_view name, std::uint32_t communicator);
  /// counts() in bytes.
  std::vector<std::uint64_t> blocks(std::string_view name, std::string_view type, std::uint32_t communicator);
  /// The other rank of a send or a receive: a rank of the communicator, any, or none.
  int peer(std::string_view name, std::uint32_t communicator, bool sends, bool& none);
  /// A tag, or any tag for a receive.
  int tag(std::string_view name, bool sends);

 private:
  /// Rejects the call if the product exceeds 64 bits.
  std::uint64_t bytes_of(std::uint64_t elements, const Datatype& type);

  std::unique_ptr<Calls> calls_;
  int rank_;
  RankCommunicators communicators_;
  MpiLibrary library_;
  std::string problem_;
};

}  // namespace offramp::trace
