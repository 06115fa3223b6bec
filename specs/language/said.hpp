// Said<T>: a spec field that records whether and where it was written: the origin of everything derived from
// it.
//
// Promises: `value` is always usable: the written value, or the default from the kind's struct; `said` is
// true if it was written; `at` is the position of the written value (file 0 if none). MapEntry<T> is one key
// of a map with free keys (labels, sysctl), with the key's own position.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "specs/model/diagnostic.hpp"

namespace lockstep {

template <class T>
struct Said {
  T value{};
  Position at{};
  bool said = false;

  const T& operator*() const { return value; }
  const T* operator->() const { return &value; }
  // The written value, else `otherwise` (for a default that depends on other fields).
  T or_else(T otherwise) const { return said ? value : std::move(otherwise); }
};

template <class T>
struct MapEntry {
  Said<std::string> key;
  Said<T> value;
};

template <class T>
using MapEntries = std::vector<MapEntry<T>>;

template <class T>
const Said<T>* find_entry(const MapEntries<T>& entries, std::string_view key) {
  for (const MapEntry<T>& one : entries)
    if (one.key.value == key) return &one.value;
  return nullptr;
}

// Enums that specs spell: `words(E)` lists the spellings in the order of the enumerators.
template <class E>
requires requires(E e) { words(e); }
constexpr std::string_view to_string(E e) { return words(e)[static_cast<std::size_t>(e)]; }

}  // namespace lockstep
