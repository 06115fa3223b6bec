#include "drivers/linux/diversion/atoms.hpp"

#include <algorithm>
#include <optional>

namespace lockstep::diversion {
namespace {

// A prefix that contains the current position while the sorted prefixes are walked.
struct Open {
  IpAddress last;
  std::optional<IpAddress> next;  // its first address that no prefix has covered yet; none: past its end
  bool answered = false;
};

}  // namespace

// Prefixes are nested or disjoint, so in order of address, shorter ones first, those that contain the next
// one form a stack.
std::vector<IpAddress> atoms_of(const IpPrefix& pool, std::vector<IpPrefix> cuts) {
  for (IpPrefix& one : cuts) one = one.network();
  std::erase_if(cuts, [&](const IpPrefix& one) { return !pool.contains(one); });
  cuts.push_back(pool.network());
  std::ranges::sort(cuts);
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());

  std::vector<IpAddress> out;
  std::vector<Open> open;
  const auto answer_up_to = [&](Open& one, const std::optional<IpAddress>& end) {
    if (one.answered || !one.next || one.next->v6 != pool.address.v6 || *one.next > one.last) return;
    if (end && *one.next >= *end) return;
    out.push_back(*one.next);
    one.answered = true;
  };
  const auto close_before = [&](const std::optional<IpAddress>& begin) {
    while (!open.empty() && (!begin || open.back().last < *begin)) {
      answer_up_to(open.back(), std::nullopt);
      const IpAddress last = open.back().last;
      open.pop_back();
      if (!open.empty()) open.back().next = last.plus(1);
    }
  };
  for (const IpPrefix& one : cuts) {
    close_before(one.address);
    if (!open.empty()) answer_up_to(open.back(), one.address);
    open.push_back({one.last(), one.address});
  }
  close_before(std::nullopt);
  return out;
}

}  // namespace lockstep::diversion
