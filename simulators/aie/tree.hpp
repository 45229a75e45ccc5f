// Graphs of kernels: who sends windows to whom. Trees are filled level by level (node i has the children
// k*i + 1 ... k*i + k), as [aie-thesis] 4.4.3 connects them, for any number of nodes.
#pragma once

#include <cstddef>
#include <vector>

namespace offramp::aie {

class Tree {
 public:
  /// parents[i] < i; parents[0] is -1.
  explicit Tree(std::vector<int> parents);
  static Tree filled(int nodes, int arity);

  [[nodiscard]] int size() const { return static_cast<int>(parents_.size()); }
  [[nodiscard]] int parent(int node) const { return parents_[at(node)]; }
  [[nodiscard]] const std::vector<int>& children(int node) const { return children_[at(node)]; }
  /// Nodes of the subtree, itself included.
  [[nodiscard]] int extent(int node) const { return extents_[at(node)]; }
  /// Preorder, smaller subtrees first: a subtree's nodes stand together, and a node's shortest way down comes
  /// right behind it.
  [[nodiscard]] const std::vector<int>& preorder() const { return preorder_; }
  [[nodiscard]] int place_in_preorder(int node) const { return places_[at(node)]; }
  [[nodiscard]] int arity() const;
  /// 2^L - 1 nodes of a binary tree, filled.
  [[nodiscard]] bool perfect_binary() const;

 private:
  static std::size_t at(int node) { return static_cast<std::size_t>(node); }
  std::vector<int> parents_;
  std::vector<std::vector<int>> children_;  // in the order of smaller subtrees first
  std::vector<int> extents_;
  std::vector<int> preorder_;
  std::vector<int> places_;
};

}  // namespace offramp::aie
