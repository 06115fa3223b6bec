#include "specs/model/tree.hpp"

#include <algorithm>

namespace lockstep {
namespace {

bool by_path(const Entry& a, const Entry& b) { return a.path < b.path; }

}  // namespace

const Entry* Tree::find(Path path) const {
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), Entry{path, 0, {}}, by_path);
  return at != entries_.end() && at->path == path ? &*at : nullptr;
}

Value Tree::value(Path path) const {
  const Entry* const entry = find(path);
  return entry ? entry->value : Value{};
}

std::span<const Entry> Tree::of_row(RowId row) const {
  const auto from =
      std::lower_bound(entries_.begin(), entries_.end(), row,
                       [](const Entry& entry, RowId wanted) { return entry.path.row() < wanted; });
  const auto to = std::upper_bound(
      from, entries_.end(), row, [](RowId wanted, const Entry& entry) { return wanted < entry.path.row(); });
  return {from, to};
}

Tree Tree::from_sorted(std::vector<Entry> entries) {
  Tree tree;
  tree.entries_ = std::move(entries);
  return tree;
}

void Tree::set(Path path, Value value, OriginId origin) {
  const Entry entry{path, origin, value};
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), entry, by_path);
  if (at != entries_.end() && at->path == path)
    *at = entry;
  else
    entries_.insert(at, entry);
}

void Tree::erase(Path path) {
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), Entry{path, 0, {}}, by_path);
  if (at != entries_.end() && at->path == path) entries_.erase(at);
}

std::string Tree::to_string() const {
  std::string out;
  for (const Entry& entry : entries_) out += entry.path.text() + " = " + entry.value.to_string() + "\n";
  return out;
}

Tree TreeBuilder::build(std::vector<Clash>* clashes) {
  if (!std::is_sorted(entries_.begin(), entries_.end(), by_path))
    std::stable_sort(entries_.begin(), entries_.end(), by_path);
  Tree tree;
  tree.entries_.reserve(entries_.size());
  for (const Entry& entry : entries_) {
    if (tree.entries_.empty() || tree.entries_.back().path != entry.path) {
      tree.entries_.push_back(entry);
    } else if (clashes != nullptr && tree.entries_.back().value != entry.value) {
      clashes->push_back({entry.path, tree.entries_.back(), entry});
    }
  }
  entries_.clear();
  return tree;
}

}  // namespace lockstep
