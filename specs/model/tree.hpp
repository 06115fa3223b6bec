// Tree: the sorted leaves of one device, sixteen bytes each.
//
// A leaf's origin indexes Origins (0: none, as in observations). Built with TreeBuilder, which sorts once and
// reports leaves that were given twice with different values; immutable afterwards but for set() and erase().
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

struct Leaf {
  Path path;
  OriginId origin = 0;
  Value value;
};
static_assert(sizeof(Leaf) == 16);

class Tree {
 public:
  std::span<const Leaf> leaves() const { return leaves_; }
  std::size_t size() const { return leaves_.size(); }
  bool empty() const { return leaves_.empty(); }
  const Leaf* find(Path path) const;
  Value value(Path path) const;  // none when absent
  // The leaves of one row, all keys.
  std::span<const Leaf> of_row(RowId row) const;

  // `leaves` must be in path order without doubles: for a caller that makes them so. Nothing is compared.
  static Tree from_sorted(std::vector<Leaf> leaves);

  void set(Path path, Value value, OriginId origin = 0);
  void erase(Path path);

  // One line a leaf, "path = value", in order: for golden cases and people.
  std::string to_string() const;

 private:
  friend class TreeBuilder;
  std::vector<Leaf> leaves_;
};

struct Clash {
  Path path;
  Leaf first;
  Leaf second;
};

class TreeBuilder {
 public:
  void add(Path path, Value value, OriginId origin = 0) { leaves_.push_back({path, origin, value}); }
  void reserve(std::size_t count) { leaves_.reserve(count); }
  // Sorts. Of equal paths the first given stays; those with another value are returned as clashes.
  Tree build(std::vector<Clash>* clashes = nullptr);

 private:
  std::vector<Leaf> leaves_;
};

}  // namespace lockstep
