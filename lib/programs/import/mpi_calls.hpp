// Common part of all traces of MPI calls: a call has a function, named arguments, and times. A format reads
// the calls of one rank; their meaning is the same for all formats.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/programs/import/communicators.hpp"
#include "lib/programs/import/datatype.hpp"
#include "lib/programs/import/program.hpp"

namespace offramp::trace {

/// The calls of one rank. Arguments have the names of MPI's prototypes ("count", "sendtype", "recvcounts").
/// Arrays of requests are "requests", a communicator is "comm", the parent of a new one "oldcomm".
class Calls {
 public:
  virtual ~Calls() = default;
  /// Returns false at the end or on an error().
  virtual bool next() = 0;
  /// "MPI_Send".
  [[nodiscard]] virtual std::string_view function() const = 0;
  /// In nanoseconds from an arbitrary origin. `nullopt` if the call has no times.
  [[nodiscard]] virtual std::optional<std::uint64_t> begun() const = 0;
  /// As begun(), for the return of the call.
  [[nodiscard]] virtual std::optional<std::uint64_t> ended() const = 0;
  /// Names the file and the line.
  [[nodiscard]] virtual const std::string& error() const = 0;
  /// The number of lines so far that belong to no call, and the first of them as "FILE:12".
  struct Unread {
    std::uint64_t lines = 0;
    std::string first;
  };
  /// Formats without lines of that kind have none.
  [[nodiscard]] virtual const Unread& unread() const {
    static const Unread none;
    return none;
  }
  /// "FILE:12: what", for the last call.
  [[nodiscard]] virtual std::string at(std::string_view what) const = 0;
  /// True if ranks and handles are values of the program's MPI library, which MpiLibraryEvidence determines.
  /// False if the format has its own, with -1 for any rank and lower values for none.
  [[nodiscard]] virtual bool has_library_values() const { return false; }

  // Arguments. `nullopt` if the trace does not contain them, or if they are invalid.
  virtual std::optional<std::int64_t> integer(std::string_view name) = 0;
  /// An array of numbers, such as the counts of a vector collective.
  virtual std::optional<std::vector<std::int64_t>> integers(std::string_view name) = 0;
  virtual std::optional<Datatype> datatype(std::string_view name) = 0;
  virtual std::optional<CommunicatorName> communicator(std::string_view name) = 0;
  /// A value by which the trace names an object, for example a request.
  virtual std::optional<std::uint64_t> handle(std::string_view name) = 0;
  /// kUser if the trace does not contain it.
  virtual ReduceFunction reduce_function() = 0;
  /// Keys of an array of `count` requests. With addresses, only that of the first one: the others follow it.
  struct Requests {
    std::vector<std::uint64_t> keys;
    bool are_addresses = false;
  };
  virtual std::optional<Requests> requests(std::string_view name, std::size_t count) = 0;
};

/// A program from the calls of all ranks. Reads each rank twice, first for the communicators that it makes.
/// notes: of the format. Fails if communicators are made inconsistently.
Result<std::optional<Program>> program_of_calls(const std::string& name, int ranks,
                                                std::function<std::unique_ptr<Calls>(int rank)> calls,
                                                std::vector<std::string> notes);

}  // namespace offramp::trace
