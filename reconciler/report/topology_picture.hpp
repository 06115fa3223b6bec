// The fabric as a picture: text for a terminal, Graphviz dot, or an SVG that needs no other program.
//
// Tiers are rows, spines on top, hosts at the bottom. The text form folds names and lists the cables by law,
// so that it stays readable at thousands of devices; dot has every cable. The SVG folds devices that are
// cabled alike, and the cables between them, so that it fits one screen (topology_fold.hpp), and may show the
// findings of reports.
#pragma once

#include <string>

#include "reconciler/report/terminal.hpp"
#include "reconciler/report/topology_marks.hpp"
#include "specs/fabric/topology.hpp"

namespace lockstep {

std::string topology_text(const Catalog& catalog, const Topology& topology, const Terminal& terminal);
std::string topology_dot(const Catalog& catalog, const Topology& topology);
// `title`: the cluster's.
std::string topology_svg(const std::string& title, const Catalog& catalog, const Topology& topology,
                         const TopologyMarks& marks);

}  // namespace lockstep
