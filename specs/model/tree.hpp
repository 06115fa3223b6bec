// Tree: the sorted entries of one device, sixteen bytes each.
//
// An entry's origin indexes Origins (0: none, as in observations). Built with TreeBuilder, which sorts once
// and reports duplicate entries with different values; immutable afterwards except for set() and erase().
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "specs/model/path.hpp"
#include "specs/model/value.hpp"

namespace lockstep {

using OriginId = std::uint32_t;

struct Entry {
  Path path;
  OriginId origin = 0;
  Value value;
};
static_assert(sizeof(Entry) == 16);

class Tree {
 public:
  std::span<const Entry> entries() const { return entries_; }
  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  const Entry* find(Path path) const;
  Value value(Path path) const;  // none when absent
  // The entries of one row, all keys.
  std::span<const Entry> of_row(RowId row) const;

  // `entries` must be in path order without duplicates. Nothing is checked.
  static Tree from_sorted(std::vector<Entry> entries);

  void set(Path path, Value value, OriginId origin = 0);
  void erase(Path path);

  // One line per entry, "path = value", in order: for golden cases and people.
  std::string to_string() const;

 private:
  friend class TreeBuilder;
  std::vector<Entry> entries_;
};

struct Clash {
  Path path;
  Entry first;
  Entry second;
};

class TreeBuilder {
 public:
  void add(Path path, Value value, OriginId origin = 0) { entries_.push_back({path, origin, value}); }
  void reserve(std::size_t count) { entries_.reserve(count); }
  // Sorts. Of equal paths the first one added is kept; those with another value are returned as clashes.
  Tree build(std::vector<Clash>* clashes = nullptr);

 private:
  std::vector<Entry> entries_;
};

}  // namespace lockstep
