#include "reconciler/report/topology_picture.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "reconciler/report/escape.hpp"
#include "reconciler/report/table.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/language/quantity.hpp"

namespace lockstep {
namespace {

constexpr std::array<std::string_view, 4> kTierNames{"hosts", "leaves", "spines", "superspines"};

template <class Devices>
std::vector<std::string> names_of(const Topology& topology, const Devices& devices) {
  std::vector<std::string> names;
  for (const DeviceIndex device : devices) names.push_back(topology.devices[device].name);
  return names;
}

std::string speed_text(std::uint64_t bits_per_second) { return format(BitRate{bits_per_second}); }

// The cables of one law between one pair of tiers, counted.
struct LawRow {
  std::uint32_t law = 0;
  std::set<DeviceIndex> from;  // in the specs' order: gpu2 before gpu10
  std::set<DeviceIndex> to;
  std::size_t links = 0;
  std::uint64_t speed = 0;
  std::uint64_t speed_in_twin = 0;
};

std::vector<LawRow> rows_of(const Topology& topology, const FabricGraph& graph) {
  std::map<std::uint32_t, LawRow> by_law;
  for (const LinkIndex index : graph.links) {
    const TopologyLink& link = topology.links[index];
    LawRow& row = by_law[link.law];
    row.law = link.law;
    row.from.insert(topology.ports[link.a].device);
    row.to.insert(topology.ports[link.b].device);
    row.speed = link.speed;
    row.speed_in_twin = link.speed_in_twin;
    ++row.links;
  }
  std::vector<LawRow> rows;
  for (auto& [law, row] : by_law) rows.push_back(std::move(row));
  return rows;
}

int tiers_of(const FabricGraph& graph) {
  int tiers = 0;
  for (unsigned tier = 0; tier < kTierNames.size(); ++tier)
    if (!graph.tier(tier).empty()) tiers = static_cast<int>(tier) + 1;
  return tiers;
}

}  // namespace

std::string topology_text(const Catalog& catalog, const Topology& topology, const Terminal& terminal) {
  std::string out;
  for (std::size_t i = 0; i < topology.fabrics.size(); ++i) {
    const FabricGraph& graph = topology.fabrics[i];
    const Fabric& fabric = catalog.fabrics[i];
    out += terminal.paint(Ink::bold, "Fabric/" + fabric.metadata.name.value) + "  " +
           std::string(to_string(fabric.topology.value)) +
           fmt::format(", {} rails, {} links\n", graph.rails, graph.links.size());
    Table tiers({{"tier"}, {"count", true}, {"devices"}});
    for (int tier = tiers_of(graph) - 1; tier >= 0; --tier) {
      const auto& devices = graph.tier(static_cast<unsigned>(tier));
      if (devices.empty()) continue;
      tiers.add({std::string(kTierNames[static_cast<std::size_t>(tier)]), std::to_string(devices.size()),
                 fold_hostlist(names_of(topology, devices))});
    }
    out += tiers.render(terminal, "  ") + "\n";
    Table cables({{"from"}, {"to"}, {"links", true}, {"speed", true}, {"in the twin", true}, {"by"}});
    for (const LawRow& row : rows_of(topology, graph)) {
      const Cabling& law = fabric.cabling[row.law];
      cables.add({fold_hostlist(names_of(topology, row.from)), fold_hostlist(names_of(topology, row.to)),
                  std::to_string(row.links), speed_text(row.speed),
                  row.speed_in_twin == 0 ? "" : speed_text(row.speed_in_twin),
                  std::string(to_string(law.by.value))});
    }
    out += cables.render(terminal, "  ");
    if (i + 1 < topology.fabrics.size()) out += "\n";
  }
  return out;
}

std::string topology_dot(const Catalog& catalog, const Topology& topology) {
  std::string out =
      "graph lockstep {\n  rankdir=BT; node [shape=box, fontname=\"sans-serif\"]; edge [color=gray40];\n";
  for (std::size_t i = 0; i < topology.fabrics.size(); ++i) {
    const FabricGraph& graph = topology.fabrics[i];
    out += fmt::format("  // Fabric/{}\n", dot_text(catalog.fabrics[i].metadata.name.value));
    for (int tier = 0; tier < tiers_of(graph); ++tier) {
      out += "  {rank=same;";
      for (const std::string& name : names_of(topology, graph.tier(static_cast<unsigned>(tier))))
        out += " \"" + dot_text(name) + "\";";
      out += "}\n";
    }
    for (const LinkIndex index : graph.links) {
      const TopologyLink& link = topology.links[index];
      out += fmt::format("  \"{}\" -- \"{}\" [taillabel=\"{}\", headlabel=\"{}\", fontsize=8];\n",
                         dot_text(topology.device_of(link.a)), dot_text(topology.device_of(link.b)),
                         dot_text(topology.ports[link.a].name), dot_text(topology.ports[link.b].name));
    }
  }
  return out + "}\n";
}

}  // namespace lockstep
