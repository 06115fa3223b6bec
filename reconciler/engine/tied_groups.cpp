#include "reconciler/engine/tied_groups.hpp"

#include <algorithm>

namespace lockstep {
namespace {

constexpr std::uint32_t kUnseen = 0xFFFF'FFFF;

// Tarjan, Depth-first search and linear graph algorithms (1972), without recursion: chains are as long as a
// fleet.
class Components {
 public:
  explicit Components(const std::vector<std::vector<std::uint32_t>>& next)
      : next_(next), number_(next.size(), kUnseen), low_(next.size(), 0), on_stack_(next.size(), false) {
    groups_.of.assign(next.size(), 0);
  }

  TiedGroups find() {
    for (std::uint32_t n = 0; n < next_.size(); ++n)
      if (number_[n] == kUnseen) walk_from(n);
    // Components are found last to first.
    std::reverse(groups_.members.begin(), groups_.members.end());
    for (std::uint32_t g = 0; g < groups_.members.size(); ++g) {
      std::sort(groups_.members[g].begin(), groups_.members[g].end());
      for (const std::uint32_t n : groups_.members[g]) groups_.of[n] = g;
    }
    return std::move(groups_);
  }

 private:
  struct Visit {
    std::uint32_t node = 0;
    std::size_t edge = 0;
  };

  void enter(std::uint32_t node) {
    number_[node] = low_[node] = count_++;
    stack_.push_back(node);
    on_stack_[node] = true;
    visits_.push_back({node, 0});
  }

  void walk_from(std::uint32_t root) {
    enter(root);
    while (!visits_.empty()) {
      Visit& at = visits_.back();
      if (at.edge == next_[at.node].size()) {
        leave();
        continue;
      }
      const std::uint32_t next = next_[at.node][at.edge++];
      if (number_[next] == kUnseen)
        enter(next);
      else if (on_stack_[next])
        low_[at.node] = std::min(low_[at.node], number_[next]);
    }
  }

  void leave() {
    const std::uint32_t node = visits_.back().node;
    visits_.pop_back();
    if (!visits_.empty()) low_[visits_.back().node] = std::min(low_[visits_.back().node], low_[node]);
    if (low_[node] != number_[node]) return;
    std::vector<std::uint32_t>& members = groups_.members.emplace_back();
    do {
      members.push_back(stack_.back());
      on_stack_[stack_.back()] = false;
      stack_.pop_back();
    } while (members.back() != node);
  }

  const std::vector<std::vector<std::uint32_t>>& next_;
  std::vector<std::uint32_t> number_;
  std::vector<std::uint32_t> low_;
  std::vector<bool> on_stack_;
  std::vector<std::uint32_t> stack_;
  std::vector<Visit> visits_;
  std::uint32_t count_ = 0;
  TiedGroups groups_;
};

}  // namespace

TiedGroups tied_groups(const std::vector<std::vector<std::uint32_t>>& after,
                       const std::vector<std::vector<std::uint32_t>>& together) {
  std::vector<std::vector<std::uint32_t>> next = after;
  for (const std::vector<std::uint32_t>& nodes : together)
    for (std::size_t i = 0; i < nodes.size(); ++i) next[nodes[i]].push_back(nodes[(i + 1) % nodes.size()]);
  return Components(next).find();
}

}  // namespace lockstep
