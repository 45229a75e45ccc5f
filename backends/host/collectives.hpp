// Runs collectives, each by the algorithm that Open MPI would choose or that the settings name.
#pragma once

#include <array>
#include <vector>

#include "backends/host/algorithms.hpp"
#include "offramp/model/parameter.hpp"

namespace offramp::host {

class Collectives {
 public:
  Collectives(const Settings& settings, const LocalCosts& costs, const MachineLayout& machine = {});

  [[nodiscard]] Task<Outcome> run(Call call) const;
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
  /// What was chosen last for one kind: a program repeats its calls.
  struct Choice {
    std::size_t bytes = 0;
    std::size_t elements = 0;
    int ranks = 0;
    bool commutative = true;
    Nodes nodes = Nodes::kAny;
    const Algorithm* algorithm = nullptr;
  };
  [[nodiscard]] const Algorithm& find(const Operation& operation, std::size_t bytes, std::size_t elements,
                                      Nodes nodes) const;
  [[nodiscard]] const Algorithm* named(OperationKind kind) const {
    const auto place = static_cast<std::size_t>(kind);
    return place < named_.size() ? named_[place] : nullptr;
  }

  static constexpr auto kKinds = static_cast<std::size_t>(OperationKind::kCount);
  std::array<const Algorithm*, kKinds> named_{};  // null: auto
  mutable std::array<Choice, kKinds> chosen_;
  LocalCosts costs_;
  std::size_t segment_;
  std::size_t han_segment_;
  MachineLayout machine_;
};

/// The size that the rules for this kind look at: of the message or the block; where blocks differ of their
/// average (allgatherv) or their sum (reduce_scatterv).
std::size_t size_for_rules(const Operation& operation, const CollectiveBuffers& buffers);

/// A row for each kind of which there are several algorithms.
std::vector<Parameter> algorithm_parameters();

}  // namespace offramp::host
