// Inventories: DeviceSets whose devices are listed in a CSV file (`from: {csv: FILE}`).
//
// The file has a header line. Column `name`: the device, one a row, in the order that numbers follow. Column
// `platform`: the device's, where it is not the set's; an empty cell is the set's. Every other column is a
// label of the device, as selectors match them, over the set's own; an empty cell is no label.
//
// Promises: the path is relative to the file that names it, and leads to nothing outside of the folder of
// specs (read_file.hpp); names, platforms and labels have their places in the CSV file, and its lines are in
// no excerpt. Refuses, with file:line:column: what is no CSV (csv.hpp), a header without `name`, a column
// twice, an absolute path; a name that is no device's or is there twice; `from: {netbox: ...}`, which nothing
// reads.
#pragma once

#include "specs/language/catalog.hpp"
#include "specs/language/reporter.hpp"

namespace lockstep {

void read_inventories(Catalog& catalog, Reporter& reporter);

}  // namespace lockstep
