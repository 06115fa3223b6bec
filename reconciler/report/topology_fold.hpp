// The boxes and strands that a picture of a fabric draws for its devices and links: a box is one device or
// several that are cabled alike, a strand is all links of one rail and speed between two boxes.
//
// Promises: each device of the fabric is in one box and each link in one strand; deterministic; a tier has no
// more boxes than fit into `columns` characters, whatever the size of the fabric. Hosts that are cabled alike
// share a box if there are more than a few; switches only if there are more than fit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "specs/fabric/topology.hpp"

namespace lockstep {

struct PictureBox {
  unsigned tier = 0;
  std::vector<DeviceIndex> devices;
  std::string name;                  // "gpu[1-64]"
  std::vector<std::uint32_t> rails;  // of its hosts' links, ascending
};

struct PictureStrand {
  std::size_t a = 0;  // into FoldedFabric::boxes; the one closer to the hosts
  std::size_t b = 0;
  std::uint32_t rail = kNone;
  std::uint64_t speed = 0;
  std::vector<LinkIndex> links;
};

struct FoldedFabric {
  std::vector<PictureBox> boxes;  // by tier, each in the specs' order
  std::vector<PictureStrand> strands;
};

// Maximum number of characters shown of a box's name.
constexpr std::size_t kBoxNameMost = 20;

FoldedFabric fold_fabric(const Topology& topology, const FabricGraph& graph, std::size_t columns);

// The names as one hostlist, also if a number other than the last one varies: "g[1-8]r0".
std::string picture_name(const std::vector<std::string>& names);
std::string picture_name(const Topology& topology, const std::vector<DeviceIndex>& devices);

}  // namespace lockstep
