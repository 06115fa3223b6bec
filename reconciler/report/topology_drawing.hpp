// One fabric, or the devices without cables, as a part of an SVG: tiers in rows, hosts at the bottom; the
// name of each row and the links between two rows are described on the left.
//
// Promises: no text leaves its box or covers another; a mark has a symbol and a word besides its colour. Each
// box lists its devices in `data-devices` and each strand its number of links in `data-links`, so that a
// program can count what is drawn.
#pragma once

#include <string>

#include "reconciler/report/topology_fold.hpp"
#include "reconciler/report/topology_marks.hpp"

namespace lockstep {

constexpr int kPictureWidth = 1560;  // with a scroll bar within 1,600 pixels
constexpr int kPictureMargin = 30;

struct MarkStyle {
  std::string_view style;   // class of its fill; with suffix "-line", of its stroke
  std::string_view symbol;  // the same as in the heat map
};
MarkStyle style_of(Mark mark);

struct DrawnPart {
  std::string svg;
  int height = 0;
};

DrawnPart draw_fabric(const Topology& topology, const FabricGraph& graph, const TopologyMarks& marks);
// Devices of no fabric, by DeviceSet; empty if there are none.
DrawnPart draw_uncabled(const Topology& topology, const TopologyMarks& marks);

// "1 device", "64 hosts", "8 leaf switches": this many devices of a tier.
std::string counted_of_tier(unsigned tier, std::size_t count);

}  // namespace lockstep
