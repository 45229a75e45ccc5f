// Runs collectives. The algorithm is named in the settings, selected as by Open MPI or MPICH, or the fastest.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "backends/host/algorithms.hpp"
#include "offramp/model/parameter.hpp"
#include "simulators/world/world.hpp"

namespace offramp::host {

class Fastest;

/// An algorithm, and the segment size for long messages; 0: that of the settings.
struct Decision {
  std::string_view algorithm;
  std::size_t segment = 0;
};

/// A rule that selects algorithms where the settings name none.
struct Selection {
  std::string_view name;
  std::string_view text;
  /// Arguments as for Collectives::choose(). nullptr: the rules of decisions.cpp, or trials.
  Decision (*decide)(const Operation& operation, std::size_t bytes, std::size_t elements,
                     Nodes nodes) = nullptr;
  bool has_libnbc = true;  // libnbc carries nonblocking collectives
  bool by_nodes = false;   // depends on the ranks' nodes
};

class Collectives {
 public:
  Collectives(const Settings& settings, const LocalCosts& costs, const MachineLayout& machine = {});
  ~Collectives();

  [[nodiscard]] Task<Outcome> run(AlgorithmCall&& call) const;
  struct Choice {
    const Algorithm* algorithm = nullptr;
    std::size_t segment = 0;
  };
  /// bytes: see size_for_rules(); elements: of the whole vector or message; nodes: distribution of the ranks.
  [[nodiscard]] const Choice& choose(const Operation& operation, std::size_t bytes, std::size_t elements,
                                     Nodes nodes = Nodes::kAny) const;

  [[nodiscard]] const LocalCosts& costs() const { return costs_; }
  [[nodiscard]] std::size_t segment() const { return segment_; }
  /// Segment size of the component "han".
  [[nodiscard]] std::size_t han_segment() const { return han_segment_; }
  /// The distribution of world ranks over nodes.
  [[nodiscard]] const MachineLayout& machine() const { return machine_; }

 private:
  struct Wanted {
    const Algorithm* named = nullptr;
    const Selection* selection = nullptr;  // if no algorithm is named
  };
  /// Caches the last choice per kind, since a program repeats its calls.
  struct LastChoice {
    std::size_t bytes = 0;
    std::size_t elements = 0;
    int ranks = 0;
    bool commutative = true;
    Nodes nodes = Nodes::kAny;
    Choice choice = {};
  };
  [[nodiscard]] const Wanted& wanted(OperationKind kind) const {
    return wanted_[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] Choice find(const Operation& operation, std::size_t bytes, std::size_t elements,
                            Nodes nodes) const;

  static constexpr auto kKinds = static_cast<std::size_t>(OperationKind::kCount);
  std::array<Wanted, kKinds> wanted_{};
  mutable std::array<LastChoice, kKinds> chosen_;
  LocalCosts costs_;
  std::size_t segment_;
  std::size_t han_segment_;
  MachineLayout machine_;
  std::unique_ptr<Fastest> fastest_;  // nullptr: unused
};

/// The size that the rules for this kind consider: the message or the block; for different blocks, their
/// average (allgatherv) or their sum (reduce_scatterv).
std::size_t size_for_rules(const Operation& operation, const CollectiveBuffers& buffers);
/// The sizes at a rank for which size_for_rules() is `bytes`, with equal blocks.
CollectiveSizes sizes_of_equal_blocks(const Operation& operation, std::size_t bytes, int rank);

// See Selection::decide.
Decision decide_as_openmpi_4_0(const Operation& operation, std::size_t bytes, std::size_t elements,
                               Nodes nodes);
Decision decide_as_mpich(const Operation& operation, std::size_t bytes, std::size_t elements, Nodes nodes);
// In node_wise.cpp, with tables.
Decision decide_node_wise(const Operation& operation, std::size_t bytes, std::size_t elements, Nodes nodes);
Decision decide_as_acoll(const Operation& operation, std::size_t bytes, std::size_t elements, Nodes nodes);
Decision decide_as_hcoll(const Operation& operation, std::size_t bytes, std::size_t elements, Nodes nodes);

/// The parameters for the selection rule, and for each kind with several algorithms.
std::vector<Parameter> algorithm_parameters();
/// Describes the selection, after the hardware: "and chooses algorithms as Open MPI does".
std::string selection_text(const Settings& settings);

}  // namespace offramp::host
