// Load: reads spec files and returns typed objects and all errors in them.
//
// Promises: every error at once, each with file:line:column; bounded time and memory whatever the bytes are;
// no exception. Checks what can be checked without knowing platforms: syntax, fields, types, quantities,
// references between objects, devices that are in no DeviceSet. Refuses: see codes.hpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "specs/language/catalog.hpp"

namespace lockstep {

struct Loaded {
  Catalog catalog;
  Diagnostics diagnostics;     // ordered by file, line, column
  Diagnostics without_effect;  // same order; warnings: fields and kinds that nothing reads (idle_fields.hpp)
};

// Each path is a folder (all *.yaml and *.yml below it; hidden names and links to folders are not followed; a
// file in its folder `platforms` that has no apiVersion describes a platform, and is only stored here), a
// file, or "-" for standard input. Inventories that specs name (inventory.hpp) are read too. Nothing is read
// outside the folder, or outside the folder of the file (read_file.hpp).
Loaded load(const std::vector<std::string>& paths);

// The same for text in memory; diagnostics show `name`.
Loaded load_text(std::string name, std::string text);

}  // namespace lockstep
