// Runs collectives, each by the algorithm that the settings name, that Open MPI or MPICH would choose, or
// that is the fastest.
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

/// An algorithm, and the pieces in which it forwards a long message; 0: as the settings say.
struct Decision {
  std::string_view algorithm;
  std::size_t segment = 0;
};

/// Who chooses where the settings name no algorithm.
struct Selection {
  std::string_view name;
  std::string_view text;
  /// bytes, elements, nodes: as Collectives::choose() has them. Null: the rules of decisions.cpp, or trials.
  Decision (*decide)(const Operation& operation, std::size_t bytes, std::size_t elements,
                     Nodes nodes) = nullptr;
  bool has_libnbc = true;  // which carries nonblocking collectives
  bool by_nodes = false;   // asks where the ranks are
};

class Collectives {
 public:
  Collectives(const Settings& settings, const LocalCosts& costs, const MachineLayout& machine = {});
  ~Collectives();

  [[nodiscard]] Task<Outcome> run(Call&& call) const;
  struct Choice {
    const Algorithm* algorithm = nullptr;
    std::size_t segment = 0;
  };
  /// bytes: see size_for_rules(); elements: of the whole vector or message; nodes: where the ranks are.
  [[nodiscard]] const Choice& choose(const Operation& operation, std::size_t bytes, std::size_t elements,
                                     Nodes nodes = Nodes::kAny) const;

  [[nodiscard]] const LocalCosts& costs() const { return costs_; }
  [[nodiscard]] std::size_t segment() const { return segment_; }
  /// Of the component "han".
  [[nodiscard]] std::size_t han_segment() const { return han_segment_; }
  /// Neighbouring world ranks that are on one node.
  [[nodiscard]] const MachineLayout& machine() const { return machine_; }

 private:
  struct Wanted {
    const Algorithm* named = nullptr;
    const Selection* selection = nullptr;  // where none is named
  };
  /// What was chosen last for one kind: a program repeats its calls.
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
  std::unique_ptr<Fastest> fastest_;  // null: it is asked for nowhere
};

/// The size that the rules for this kind look at: of the message or the block; where blocks differ of their
/// average (allgatherv) or their sum (reduce_scatterv).
std::size_t size_for_rules(const Operation& operation, const CollectiveBuffers& buffers);
/// The sizes at a rank where that is this, with equal blocks.
CollectiveSizes sizes_of_equal_blocks(const Operation& operation, std::size_t bytes, int rank);

// See Selection::decide.
Decision decide_as_openmpi_4_0(const Operation& operation, std::size_t bytes, std::size_t elements,
                               Nodes nodes);
Decision decide_as_mpich(const Operation& operation, std::size_t bytes, std::size_t elements, Nodes nodes);
/// As MPICH within the levels.
Decision decide_node_wise(const Operation& operation, std::size_t bytes, std::size_t elements, Nodes nodes);

/// Who chooses, and a row for each kind of which there are several algorithms.
std::vector<Parameter> algorithm_parameters();
/// Who chooses by these settings, behind what the ranks stand on: "and chooses algorithms as Open MPI does".
std::string selection_text(const Settings& settings);

}  // namespace offramp::host
