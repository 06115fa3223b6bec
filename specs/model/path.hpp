// Path: identifies an entry by its schema row and keys, written `interface[rail0]/mtu`.
//
// Promises: a path is a 32-bit id; equal paths have equal ids. Order is by row, then by key text (digit runs
// compare as numbers: rail2 before rail10), the same in every run. Refuses texts that match no row.
#pragma once

#include <compare>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "specs/model/interned.hpp"
#include "specs/model/result.hpp"
#include "specs/model/schema.hpp"

namespace lockstep {

// Compares texts with runs of digits as numbers: rail2 before rail10. Texts that differ only in zero padding
// are in plain order.
std::strong_ordering compare_natural(std::string_view a, std::string_view b);

class Path {
 public:
  static constexpr std::size_t kKeysMax = 3;

  Path() = default;  // no entry: compares equal only to itself; has no row
  Path(RowId row, std::initializer_list<std::string_view> keys);

  // Error::what states what was expected ("no entry is called interface[*]/mtuu; did you mean
  // interface[*]/mtu?").
  static Result<Path> parse(std::string_view text);

  RowId row() const;
  std::size_t key_count() const;
  std::string_view key(std::size_t index) const;
  TextId key_id(std::size_t index) const;  // interned: equality only
  std::string text() const;

  std::uint32_t id() const { return id_; }
  bool operator==(const Path&) const = default;
  std::strong_ordering operator<=>(const Path& other) const;

 private:
  std::uint32_t id_ = 0;
};

}  // namespace lockstep
