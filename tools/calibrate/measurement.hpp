// Times of a machine's MPI library, from the measuring program (measure.c) or from benchmark outputs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "offramp/kernel/result.hpp"

namespace offramp::tool {

struct Measured {
  std::string place;  // node: two ranks of a node; network: two nodes; rank: one alone; all
  // A name of the measuring program, or a collective. window: a message among many; both ways: in each
  // direction; loaded: a message while the other pairs send theirs; rate: one message of all pairs; exchange:
  // all ranks send to the next one and receive from the one before.
  std::string name;
  std::size_t bytes = 0;
  double seconds = 0;
  // For collectives, whose ranks are in blocks of neighbours, and messages of several pairs.
  int ranks = 0;
  int ranks_per_node = 0;  // 0: placed unlike the model's ranks
  // The mean over the ranks, with a barrier after each call. False: the slowest rank.
  bool mean_of_all = false;
};

struct Measurement {
  std::vector<Measured> figures;
  std::string from;  // description for a comment
  std::vector<std::string> notes;
  // Set by the measuring program; 0 if read from outputs.
  int ranks = 0;
  int nodes = 0;
  int ranks_per_node = 0;

  /// The first figure of this name. Null if there is none.
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

/// The placement of the ranks, which the outputs of benchmarks do not contain.
struct Placement {
  bool within_node = false;  // messages: between two ranks of a node; otherwise of two nodes
  int ranks = 0;             // of OSU's collectives and osu_multi_lat; 0: unknown
  int ranks_per_node = 0;
};

/// Appends the figures of a file: output of the OSU or Intel benchmarks, optionally with a launcher's prefix
/// on each line, or a table with the columns benchmark, nodes, ranks_per_node, bytes and value. An error
/// names file and line; figures before it are kept.
Result<void> read_benchmarks(const std::string& path, const Placement& placement, Measurement& measurement);

}  // namespace offramp::tool
