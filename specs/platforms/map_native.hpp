// Native names: which typed entries an entry in a driver's own language corresponds to, so that `raw:` can't
// set what a typed field sets, and that both ends of a link can be compared.
//
// Promises: data, each row with its source. A name that is not listed corresponds to no known entry; names
// that contain no port correspond to the entry on every port.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "specs/language/object.hpp"
#include "specs/model/path.hpp"

namespace lockstep {

// Entries of one row with these leading keys.
struct MeantEntries {
  RowId row = 0;
  std::vector<std::string> keys;
  bool has(Path path) const;
};

// The entries that `PORT|Ethernet0: {mtu: 9100}` and the like correspond to, by name and fields; an entry
// that is no map corresponds to everything that its name can set. An entry's own path corresponds to that
// entry.
std::vector<MeantEntries> meant_entries(std::string_view driver, const std::string& name,
                                        const Literal& value);

}  // namespace lockstep
