// The output of `lockstep diff`: the changes in desired state between two versions of the specs.
//
// Devices with the same differences are shown once, and so are their ports; an added or removed device is one
// line, because all of its entries differ.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "reconciler/report/terminal.hpp"
#include "reconciler/session/spec_diff.hpp"

namespace lockstep {

std::string spec_diff_text(const SpecDiff& diff, const Terminal& terminal);
// One page for a merge request, however many devices differ: what needs approval, then the changes, those
// with the greatest disruption first. Says how much it leaves out.
std::string spec_diff_markdown(const SpecDiff& diff);
// "2 devices changed: 4 entries changed; disruption: traffic".
std::string spec_diff_summary(const SpecDiff& diff);
// With all entries of each device.
nlohmann::json spec_diff_json(const SpecDiff& diff);

}  // namespace lockstep
