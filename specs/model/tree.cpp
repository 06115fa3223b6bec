#include "specs/model/tree.hpp"

#include <algorithm>

namespace lockstep {
namespace {

bool by_path(const Leaf& a, const Leaf& b) { return a.path < b.path; }

}  // namespace

const Leaf* Tree::find(Path path) const {
  const auto at = std::lower_bound(leaves_.begin(), leaves_.end(), Leaf{path, 0, {}}, by_path);
  return at != leaves_.end() && at->path == path ? &*at : nullptr;
}

Value Tree::value(Path path) const {
  const Leaf* const leaf = find(path);
  return leaf ? leaf->value : Value{};
}

std::span<const Leaf> Tree::of_row(RowId row) const {
  const auto from = std::lower_bound(leaves_.begin(), leaves_.end(), row,
                                     [](const Leaf& leaf, RowId wanted) { return leaf.path.row() < wanted; });
  const auto to = std::upper_bound(from, leaves_.end(), row,
                                   [](RowId wanted, const Leaf& leaf) { return wanted < leaf.path.row(); });
  return {from, to};
}

Tree Tree::from_sorted(std::vector<Leaf> leaves) {
  Tree tree;
  tree.leaves_ = std::move(leaves);
  return tree;
}

void Tree::set(Path path, Value value, OriginId origin) {
  const Leaf leaf{path, origin, value};
  const auto at = std::lower_bound(leaves_.begin(), leaves_.end(), leaf, by_path);
  if (at != leaves_.end() && at->path == path)
    *at = leaf;
  else
    leaves_.insert(at, leaf);
}

void Tree::erase(Path path) {
  const auto at = std::lower_bound(leaves_.begin(), leaves_.end(), Leaf{path, 0, {}}, by_path);
  if (at != leaves_.end() && at->path == path) leaves_.erase(at);
}

std::string Tree::to_string() const {
  std::string out;
  for (const Leaf& leaf : leaves_) out += leaf.path.text() + " = " + leaf.value.to_string() + "\n";
  return out;
}

Tree TreeBuilder::build(std::vector<Clash>* clashes) {
  if (!std::is_sorted(leaves_.begin(), leaves_.end(), by_path))
    std::stable_sort(leaves_.begin(), leaves_.end(), by_path);
  Tree tree;
  tree.leaves_.reserve(leaves_.size());
  for (const Leaf& leaf : leaves_) {
    if (tree.leaves_.empty() || tree.leaves_.back().path != leaf.path) {
      tree.leaves_.push_back(leaf);
    } else if (clashes != nullptr && tree.leaves_.back().value != leaf.value) {
      clashes->push_back({leaf.path, tree.leaves_.back(), leaf});
    }
  }
  leaves_.clear();
  return tree;
}

}  // namespace lockstep
