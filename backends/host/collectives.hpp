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

/// Who chooses where the settings name no algorithm.
enum class Selection : std::uint8_t { kOpenMpi, kMpich, kBest };

class Collectives {
 public:
  Collectives(const Settings& settings, const LocalCosts& costs, const MachineLayout& machine = {});
  ~Collectives();

  [[nodiscard]] Task<Outcome> run(Call&& call) const;
  /// bytes: see size_for_rules(); elements: of the whole vector or message; nodes: where the ranks are.
  [[nodiscard]] const Algorithm& choose(const Operation& operation, std::size_t bytes, std::size_t elements,
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
    Selection selection = Selection::kOpenMpi;  // where none is named
  };
  /// What was chosen last for one kind: a program repeats its calls.
  struct Choice {
    std::size_t bytes = 0;
    std::size_t elements = 0;
    int ranks = 0;
    bool commutative = true;
    Nodes nodes = Nodes::kAny;
    const Algorithm* algorithm = nullptr;
  };
  [[nodiscard]] const Wanted& wanted(OperationKind kind) const {
    return wanted_[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] const Algorithm& find(const Operation& operation, std::size_t bytes, std::size_t elements,
                                      Nodes nodes) const;

  static constexpr auto kKinds = static_cast<std::size_t>(OperationKind::kCount);
  std::array<Wanted, kKinds> wanted_{};
  mutable std::array<Choice, kKinds> chosen_;
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

/// Which one MPICH takes. bytes, elements, nodes: as Collectives::choose() has them.
const Algorithm& algorithm_of_mpich(const Operation& operation, std::size_t bytes, std::size_t elements,
                                    Nodes nodes);

/// Who chooses, and a row for each kind of which there are several algorithms.
std::vector<Parameter> algorithm_parameters();
/// Who chooses by these settings, behind what the ranks stand on: "and chooses algorithms as Open MPI does".
std::string selection_text(const Settings& settings);

}  // namespace offramp::host
