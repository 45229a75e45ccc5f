// Compares two programs with equal numbers of ranks call by call: exact calls by function and role.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "lib/programs/import/program.hpp"

namespace offramp::scale {

/// How many calls agree, among those of one function and role.
struct Share {
  std::uint64_t exact = 0;
  std::uint64_t wrong = 0;
  std::uint64_t unknown = 0;  // of ranks that the made program lacks

  /// All calls.
  [[nodiscard]] std::uint64_t count() const { return exact + wrong + unknown; }
  void add(const Share& other) {
    exact += other.exact;
    wrong += other.wrong;
    unknown += other.unknown;
  }
};

/// The result for all ranks together.
struct Comparison {
  std::map<std::pair<std::string, std::string>, Share> shares;  // by function and role
  std::string first_difference;                                 // in words; empty if there is none

  /// Over all functions and roles.
  [[nodiscard]] Share total() const;
};

/// made: readers of the program to check; null for ranks that it lacks. Ignores CPU times, arrival order, and
/// communicator ids. Fails if several threads of a recorded rank make calls, or if it cannot be read.
Result<Comparison> compare(const trace::Program& recorded,
                           const std::function<std::unique_ptr<recording::Reader>(int rank)>& made,
                           const std::function<std::string(int rank)>& role);

/// Describes the first difference between two ranks. Empty if there is none.
std::string first_difference(recording::Reader& recorded, recording::Reader& made);

}  // namespace offramp::scale
