// parents[i] < i makes one pass from the last node to the first enough for the sizes of all subtrees.
// Preorder is computed with a stack instead of recursion: with one child per kernel, the tree is as deep as
// the array has tiles.
#include "simulators/aie/tree.hpp"

#include <algorithm>
#include <utility>

namespace offramp::aie {

Tree::Tree(std::vector<int> parents)
    : parents_(std::move(parents)),
      children_(parents_.size()),
      extents_(parents_.size(), 1),
      places_(parents_.size()) {
  for (int node = size() - 1; node > 0; --node) extents_[at(parent(node))] += extent(node);
  for (int node = 1; node < size(); ++node) children_[at(parent(node))].push_back(node);
  for (std::vector<int>& list : children_)
    std::stable_sort(list.begin(), list.end(), [this](int a, int b) { return extent(a) < extent(b); });
  std::vector<int> stack = {0};
  while (!stack.empty()) {
    const int node = stack.back();
    stack.pop_back();
    places_[at(node)] = static_cast<int>(preorder_.size());
    preorder_.push_back(node);
    // The first child is on top of the stack.
    stack.insert(stack.end(), children(node).rbegin(), children(node).rend());
  }
}

Tree Tree::filled(int nodes, int arity) {
  std::vector<int> parents(at(nodes));
  parents[0] = -1;
  for (int node = 1; node < nodes; ++node) parents[at(node)] = (node - 1) / arity;
  return Tree(std::move(parents));
}

int Tree::arity() const {
  std::size_t most = 0;
  for (const std::vector<int>& list : children_) most = std::max(most, list.size());
  return static_cast<int>(most);
}

bool Tree::perfect_binary() const {
  // 2^L - 1 nodes.
  if (((size() + 1) & size()) != 0) return false;
  for (int node = 1; node < size(); ++node) {
    if (parent(node) != (node - 1) / 2) return false;
  }
  return true;
}

}  // namespace offramp::aie
