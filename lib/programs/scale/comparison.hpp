// Two programs of as many ranks, compared call by call: which calls come out exactly, by function and role.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "lib/programs/import/program.hpp"

namespace offramp::scale {

struct Share {
  std::uint64_t exact = 0;
  std::uint64_t wrong = 0;
  std::uint64_t unknown = 0;  // of ranks that the made program does not have

  [[nodiscard]] std::uint64_t all() const { return exact + wrong + unknown; }
  void add(const Share& other) {
    exact += other.exact;
    wrong += other.wrong;
    unknown += other.unknown;
  }
};

struct Comparison {
  std::map<std::pair<std::string, std::string>, Share> shares;  // by function and role
  std::string first_difference;                                 // in words; empty: there is none

  [[nodiscard]] Share total() const;
};

/// made: what should be as the recorded one; nothing for ranks that it does not have. Neither CPU times nor
/// what the order of arrival decided are compared, nor the ids of communicators. Fails where calls of a
/// recorded rank are of several threads, or cannot be read.
Result<Comparison> compare(const trace::Program& recorded,
                           const std::function<std::unique_ptr<recording::Reader>(int rank)>& made,
                           const std::function<std::string(int rank)>& role);

/// What two ranks do differently, in words; empty: nothing.
std::string first_difference(recording::Reader& recorded, recording::Reader& made);

}  // namespace offramp::scale
