// Algorithms of collectives, from files of several formats: what each rank sends and receives, in place of a
// program's collectives of that kind.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/trace/program.hpp"

namespace offramp::trace {

struct Algorithm {
  int ranks = 1;
  /// As the file calls it: "allreduce", "reduce_scatter".
  std::string collective;
  /// Where the file says so, for messages: "ring.xml:1".
  std::string place;
  /// What a rank does where the collective's whole buffer has so many bytes.
  std::function<Result<Graph>(int rank, std::uint64_t bytes)> graph;
  /// Whether it is for that size. Empty: for all.
  std::function<bool(std::uint64_t bytes)> takes = {};
  /// What its user should know.
  std::vector<std::string> notes;
};

/// What `--algorithm` names, "FILE" or "COLLECTIVE[:BYTES]=FILE", whatever the format: an error names file
/// and place.
Result<Algorithm> read_algorithm(const std::string& named);

/// The program with the algorithm in place of its collectives of that kind, where they block, are on as many
/// ranks, begin at rank 0 if they have a root and have a size that the algorithm is for. What the order of
/// arrival decided in it, is decided anew. An error: nothing here is such a collective, the program has fewer
/// ranks or several threads on one, or the algorithm makes no sense.
Result<Program> with_algorithm(Program program, const std::string& named);

/// Those of the formats. Nothing: the file is of another one.
Result<std::optional<Algorithm>> read_msccl_algorithm(const std::string& path, std::string_view begin);
Result<std::optional<Algorithm>> read_mscclpp_algorithm(const std::string& path, std::string_view begin);

/// What "FILE:BYTES" names, where the file begins as it should: an algorithm as a program. Nothing: it is
/// none. is_one: tells it by the first bytes.
struct SizedFile {
  std::string path;
  std::uint64_t bytes = 0;
};
Result<std::optional<SizedFile>> sized_algorithm(const Candidate& candidate,
                                                 bool (*is_one)(std::string_view begin));

}  // namespace offramp::trace
