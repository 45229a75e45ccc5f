// Base of readers for text traces of calls with one file per rank; each call begins on a line.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/programs/import/lines.hpp"
#include "lib/programs/import/mpi_calls.hpp"
#include "lib/programs/import/rank_files.hpp"

namespace offramp::trace {

/// One object reads one rank's file. Times are in nanoseconds.
class LineCalls : public Calls {
 public:
  /// source: each object reads from the start.
  explicit LineCalls(std::shared_ptr<const recording::Source> source) : lines_(std::move(source)) {}

  /// Skips lines that belong to no call.
  bool next() final {
    for (std::string_view line; error_.empty() && lines_.next(line);) {
      if (read(line)) return true;
    }
    if (error_.empty()) error_ = lines_.error();
    return false;
  }
  [[nodiscard]] std::string_view function() const final { return function_; }
  [[nodiscard]] std::optional<std::uint64_t> begun() const final { return begun_; }
  [[nodiscard]] std::optional<std::uint64_t> ended() const final { return ended_; }
  [[nodiscard]] const std::string& error() const final { return error_; }
  [[nodiscard]] const Unread& unread() const final { return unread_; }
  [[nodiscard]] std::string at(std::string_view what) const final { return lines_.at(what); }

 protected:
  /// Reads the call that begins on the line. Returns false if there is none, or after fail().
  virtual bool read(std::string_view line) = 0;

  /// Sets the function and the time of the call.
  void begin(std::string_view function, std::optional<std::uint64_t> when) {
    function_ = function;
    begun_ = when;
  }
  /// Sets the time at which the call returned, if the line has it.
  void end(std::optional<std::uint64_t> when) { ended_ = when; }
  /// Counts a line that belongs to no call, unless it is blank.
  void leave_out(std::string_view line) {
    if (line.find_first_not_of(" \t") == std::string_view::npos || unread_.lines++ > 0) return;
    unread_.first = fmt::format("{}:{}", lines_.file(), lines_.number());
  }
  /// Reads another line of the call. Returns false at the end.
  bool next_line(std::string_view& line) { return lines_.next(line); }
  /// Reports a problem with the last line, or the failure to read the file.
  bool fail(std::string_view what) {
    error_ = lines_.error().empty() ? lines_.at(what) : lines_.error();
    return false;
  }

 private:
  Lines lines_;
  std::string function_;
  std::optional<std::uint64_t> begun_;
  std::optional<std::uint64_t> ended_;
  Unread unread_;
  std::string error_;
};

/// The program of the named file and those beside it, read by CallsOfRank.
template <typename CallsOfRank>
Result<std::optional<Program>> program_of_lines(const Candidate& candidate, std::vector<std::string> notes) {
  Result<RankFiles> files = rank_files(candidate.name);
  if (!files) return failure(files.error());
  const auto shared = std::make_shared<const RankFiles>(std::move(*files));
  const auto open = [shared](int rank) -> std::unique_ptr<Calls> {
    return std::make_unique<CallsOfRank>((*shared)[static_cast<std::size_t>(rank)]);
  };
  return program_of_calls(candidate.name, static_cast<int>(shared->size()), open, std::move(notes));
}

}  // namespace offramp::trace
