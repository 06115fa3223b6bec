// The map between leaves and lines of the appliance: the only place of this driver that names rows.
#pragma once

#include <optional>

#include "drivers/driver.hpp"

namespace lockstep::example {

std::vector<RowId> rows();
// The leaf that a line stands for; none: a line that is not ours.
std::optional<Leaf> leaf_of(std::string_view line);
// "port.rail0.mtu", and the whole line of a wanted value.
Result<std::string> key_of(Path path);
Result<std::string> line_of(const Change& change);

}  // namespace lockstep::example
