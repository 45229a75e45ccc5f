// What was measured of a machine's MPI library: by the measuring program (measure.c), or read from the
// outputs of OSU's benchmarks or Intel's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "offramp/kernel/result.hpp"

namespace offramp::tool {

struct Measured {
  std::string place;  // node: between two ranks of a node; network: of two nodes; rank: one alone; all
  std::string name;   // of the measuring program; window: a message among many, both ways: in each direction;
                      // loaded: a message while other pairs have theirs; rate: one of all pairs; a collective
  std::size_t bytes = 0;
  double seconds = 0;
  // Of collectives, whose ranks are in blocks of neighbours, and of messages of several pairs.
  int ranks = 0;
  int ranks_per_node = 0;    // 0: not placed as the model places them
  bool mean_of_all = false;  // the mean over the ranks, with a barrier after each call; or the slowest rank
};

struct Measurement {
  std::vector<Measured> figures;
  std::string from;  // in words, for a comment
  std::vector<std::string> notes;
  // Of the measuring program; 0: read from outputs.
  int ranks = 0;
  int nodes = 0;
  int ranks_per_node = 0;

  [[nodiscard]] const Measured* find(std::string_view place, std::string_view name) const {
    const auto found = std::find_if(figures.begin(), figures.end(), [&](const Measured& one) {
      return one.place == place && one.name == name;
    });
    return found == figures.end() ? nullptr : &*found;
  }
  [[nodiscard]] bool has(std::string_view place) const {
    return std::any_of(figures.begin(), figures.end(),
                       [&](const Measured& one) { return one.place == place; });
  }
};

/// How the ranks were placed, which the output of a benchmark does not say itself.
struct Placement {
  bool within_node = false;  // messages: between two ranks of a node, or of two nodes
  int ranks = 0;             // of OSU's collectives and osu_multi_lat; 0: not known
  int ranks_per_node = 0;
};

/// Appends the figures of one file: the text that OSU's benchmarks or Intel's print, also with a launcher's
/// prefix on each line, or a table with the columns benchmark, nodes, ranks_per_node, bytes and value. The
/// error names file and line; figures before it are appended.
Result<void> read_benchmarks(const std::string& path, const Placement& placement, Measurement& measurement);

}  // namespace offramp::tool
