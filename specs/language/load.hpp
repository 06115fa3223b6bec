// Load: files of specs in, typed objects and everything that is wrong with them out.
//
// Promises: every error at once, each with file:line:column; bounded time and memory whatever the bytes are;
// no exception. Checks what can be checked without knowing platforms: syntax, fields, types, quantities,
// references between objects, devices named in no DeviceSet. Refuses: see codes.hpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "specs/language/catalog.hpp"

namespace lockstep {

struct Loaded {
  Catalog catalog;
  Diagnostics diagnostics;     // in the order of file, line, column
  Diagnostics without_effect;  // so, warnings: fields and kinds that nothing reads yet (idle_fields.hpp)
};

// Each path is a folder (all *.yaml and *.yml below it; hidden names and links to folders are not followed; a
// file in its folder `platforms` that has no apiVersion describes a platform, and is only kept here),
// a file, or "-" for standard input. Inventories that they name (inventory.hpp) are read too. Nothing is read
// outside of that folder, or of the folder that a file is in (read_file.hpp).
Loaded load(const std::vector<std::string>& paths);

// The same for text that is already in memory, under the name that diagnostics shall show.
Loaded load_text(std::string name, std::string text);

}  // namespace lockstep
