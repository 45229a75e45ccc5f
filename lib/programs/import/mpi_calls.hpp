// What traces of MPI's calls share, whatever their text: a call has a function, arguments by their names, and
// times. A format reads the calls of one rank; what they mean is the same for all.
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

/// The calls of one rank. Arguments have the names of MPI's prototypes ("count", "sendtype", "recvcounts");
/// arrays of requests are "requests", a communicator is "comm", what another one is made from "oldcomm".
class Calls {
 public:
  virtual ~Calls() = default;
  /// False: there are no more, or error() says why not.
  virtual bool next() = 0;
  /// "MPI_Send".
  [[nodiscard]] virtual std::string_view function() const = 0;
  /// In nanoseconds from any time on; nothing where the call has none.
  [[nodiscard]] virtual std::optional<std::uint64_t> begun() const = 0;
  [[nodiscard]] virtual std::optional<std::uint64_t> ended() const = 0;
  [[nodiscard]] virtual const std::string& error() const = 0;
  /// Lines that belong to no call, so far, and the first of them as "FILE:12".
  struct Unread {
    std::uint64_t lines = 0;
    std::string first;
  };
  [[nodiscard]] virtual const Unread& unread() const {
    static const Unread none;
    return none;
  }
  /// "FILE:12: what", of the call.
  [[nodiscard]] virtual std::string at(std::string_view what) const = 0;
  /// Ranks and handles are those of the program's MPI library, which MpiLibraryEvidence tells; else the
  /// format has its own, where -1 is any rank and less is none.
  [[nodiscard]] virtual bool has_library_values() const { return false; }

  // Arguments. Nothing: the trace does not say it, or it makes no sense.
  virtual std::optional<std::int64_t> integer(std::string_view name) = 0;
  virtual std::optional<std::vector<std::int64_t>> integers(std::string_view name) = 0;
  virtual std::optional<Datatype> datatype(std::string_view name) = 0;
  virtual std::optional<CommunicatorName> communicator(std::string_view name) = 0;
  virtual std::optional<std::uint64_t> handle(std::string_view name) = 0;
  virtual ReduceFunction reduce_function() = 0;
  /// Keys of an array of count requests. With addresses it is that of the first: they are one behind the
  /// other.
  struct Requests {
    std::vector<std::uint64_t> keys;
    bool are_addresses = false;
  };
  virtual std::optional<Requests> requests(std::string_view name, std::size_t count) = 0;
};

/// A program of the calls of all ranks, each of which is read twice: what they make is found first. notes: of
/// the format. An error: what is wrong with how communicators are made.
Result<std::optional<Program>> program_of_calls(const std::string& name, int ranks,
                                                std::function<std::unique_ptr<Calls>(int rank)> calls,
                                                std::vector<std::string> notes);

}  // namespace offramp::trace
