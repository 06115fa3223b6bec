// Native names: which typed entries an entry in a driver's own language stands for, so that `raw:` can't say
// there what a typed field says here, and that both ends of a link can be compared.
//
// Promises: data, each row with its source. A name that is not here is not known to stand for any entry;
// names that name no port stand for the entry on every port.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "specs/language/object.hpp"
#include "specs/model/path.hpp"

namespace lockstep {

// Entries of one row whose leading keys are these.
struct MeantEntries {
  RowId row = 0;
  std::vector<std::string> keys;
  bool has(Path path) const;
};

// What an entry (`PORT|Ethernet0: {mtu: 9100}`) stands for: by its name and fields; an entry that is no map,
// for all that its name can say. An entry's own path stands for that entry.
std::vector<MeantEntries> meant_entries(std::string_view driver, const std::string& name,
                                        const Literal& value);

}  // namespace lockstep
