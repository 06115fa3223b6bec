#include "specs/compile/entry_list.hpp"

#include <algorithm>

namespace lockstep {

std::vector<Entry> EntryList::sorted(std::vector<Clash>& clashes) {
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.path < b.path; });
  std::vector<Entry> out;
  out.reserve(entries_.size());
  for (const Entry& entry : entries_) {
    if (out.empty() || out.back().path != entry.path)
      out.push_back(entry);
    else if (out.back().value != entry.value)
      clashes.push_back({entry.path, out.back(), entry});
  }
  entries_.clear();
  return out;
}

}  // namespace lockstep
