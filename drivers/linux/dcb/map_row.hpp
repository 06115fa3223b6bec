// One line of the map between entries and a port's DCB and pause, and the table of the lines for traffic
// classes (map_classes.cpp); the port's other lines are in map.cpp.
#pragma once

#include <charconv>
#include <span>

#include "drivers/linux/dcb/map.hpp"
#include "drivers/linux/dcb/priorities.hpp"

namespace lockstep::dcb_map {

struct MapRow {
  RowId row;
  Object object;
  Value (*read)(Path, const dcb::PortState&);
  Result<Done> (*write)(const Change&, dcb::PortState&);
  std::string (*native)(const Change&);
};

std::span<const MapRow> class_rows();

using dcb::kPriorities;

inline Error wrong(const Change& change, std::string_view takes) {
  return Error{ErrorKind::invalid_spec, change.path.text() + " takes " + std::string(takes)};
}

// Parses a number in a key or a list.
inline std::optional<std::size_t> below(std::size_t bound, std::string_view text) {
  std::size_t out = 0;
  const auto end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, out);
  if (read.ec != std::errc{} || read.ptr != end || out >= bound) return std::nullopt;
  return out;
}

}  // namespace lockstep::dcb_map
