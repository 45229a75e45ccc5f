// Trees of kernels that send windows to their parents. Filled level by level as in [aie-thesis] 4.4.3 (node i
// has the children k*i + 1 ... k*i + k), for any number of nodes.
#pragma once

#include <cstddef>
#include <vector>

namespace offramp::aie {

/// A rooted tree of kernels. Node 0 is the root.
class Tree {
 public:
  /// parents[i] < i; parents[0] is -1.
  explicit Tree(std::vector<int> parents);
  /// A tree filled level by level. arity: children per node.
  static Tree filled(int nodes, int arity);

  [[nodiscard]] int size() const { return static_cast<int>(parents_.size()); }
  // 1 for the root.
  [[nodiscard]] int parent(int node) const { return parents_[at(node)]; }
  /// Smaller subtrees first.
  [[nodiscard]] const std::vector<int>& children(int node) const { return children_[at(node)]; }
  /// Number of nodes of the subtree, including itself.
  [[nodiscard]] int extent(int node) const { return extents_[at(node)]; }
  /// Preorder, smaller subtrees first: subtrees are contiguous, and a node's shortest branch comes first.
  [[nodiscard]] const std::vector<int>& preorder() const { return preorder_; }
  /// The inverse of preorder().
  [[nodiscard]] int place_in_preorder(int node) const { return places_[at(node)]; }
  /// The most children of a node.
  [[nodiscard]] int arity() const;
  /// Returns whether this is a filled binary tree with 2^L - 1 nodes.
  [[nodiscard]] bool perfect_binary() const;

 private:
  static std::size_t at(int node) { return static_cast<std::size_t>(node); }
  std::vector<int> parents_;
  std::vector<std::vector<int>> children_;  // smaller subtrees first
  std::vector<int> extents_;
  std::vector<int> preorder_;
  std::vector<int> places_;
};

}  // namespace offramp::aie
