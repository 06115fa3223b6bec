// Inventories: DeviceSets whose devices are listed in a CSV file (`from: {csv: FILE}`).
//
// The file has a header line. Column `name`: the device, one per row; allocated numbers follow this order.
// Column `platform`: overrides the set's platform; an empty cell means the set's. Every other column is a
// label of the device for selectors, overriding the set's own; an empty cell is no label.
//
// Promises: the path is relative to the file that names it, and must lie within the folder of specs
// (read_file.hpp); names, platforms and labels have positions in the CSV file, whose lines are not shown in
// excerpts. Refuses, with file:line:column: a file that is not CSV (csv.hpp), a header without `name`, a
// duplicate column, an absolute path; an invalid or duplicate device name; `from: {netbox: ...}`, which is
// not implemented.
#pragma once

#include "specs/language/catalog.hpp"
#include "specs/language/reporter.hpp"

namespace lockstep {

void read_inventories(Catalog& catalog, Reporter& reporter);

}  // namespace lockstep
