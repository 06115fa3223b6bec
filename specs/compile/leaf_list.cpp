#include "specs/compile/leaf_list.hpp"

#include <algorithm>

namespace lockstep {

std::vector<Leaf> LeafList::sorted(std::vector<Clash>& clashes) {
  std::stable_sort(leaves_.begin(), leaves_.end(),
                   [](const Leaf& a, const Leaf& b) { return a.path < b.path; });
  std::vector<Leaf> out;
  out.reserve(leaves_.size());
  for (const Leaf& leaf : leaves_) {
    if (out.empty() || out.back().path != leaf.path)
      out.push_back(leaf);
    else if (out.back().value != leaf.value)
      clashes.push_back({leaf.path, out.back(), leaf});
  }
  leaves_.clear();
  return out;
}

}  // namespace lockstep
