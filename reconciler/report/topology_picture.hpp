// The fabric as a picture: text for a terminal, Graphviz dot, or an SVG that needs no other program.
//
// Tiers are rows, spines on top, hosts at the bottom. The text form folds names and lists the cables by law,
// so that it stays readable at thousands of devices; dot and SVG draw every cable.
#pragma once

#include <string>

#include "reconciler/report/terminal.hpp"
#include "specs/fabric/topology.hpp"

namespace lockstep {

std::string topology_text(const Catalog& catalog, const Topology& topology, const Terminal& terminal);
std::string topology_dot(const Catalog& catalog, const Topology& topology);
std::string topology_svg(const Catalog& catalog, const Topology& topology);

}  // namespace lockstep
