#include "reconciler/report/topology_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
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

// Where a device stands in the SVG: its tier's row, spread evenly.
struct Place {
  int x = 0;
  int y = 0;
};

constexpr int kBoxWidth = 84;
constexpr int kBoxHeight = 28;
constexpr int kGap = 24;
constexpr int kRowHeight = 120;
constexpr int kMargin = 40;

std::map<DeviceIndex, Place> places_of(const FabricGraph& graph, int width, int tiers) {
  std::map<DeviceIndex, Place> places;
  for (int tier = 0; tier < tiers; ++tier) {
    const auto& devices = graph.tier(static_cast<unsigned>(tier));
    const int count = static_cast<int>(devices.size());
    for (int i = 0; i < count; ++i)
      places[devices[static_cast<std::size_t>(i)]] = {
          width * (2 * i + 1) / (2 * count), kMargin + (tiers - 1 - tier) * kRowHeight + kBoxHeight / 2};
  }
  return places;
}

int tiers_of(const FabricGraph& graph) {
  int tiers = 0;
  for (unsigned tier = 0; tier < kTierNames.size(); ++tier)
    if (!graph.tier(tier).empty()) tiers = static_cast<int>(tier) + 1;
  return tiers;
}

int width_of(const FabricGraph& graph, int tiers) {
  std::size_t widest = 1;
  for (int tier = 0; tier < tiers; ++tier)
    widest = std::max(widest, graph.tier(static_cast<unsigned>(tier)).size());
  return static_cast<int>(widest) * (kBoxWidth + kGap) + 2 * kMargin;
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

std::string topology_svg(const Catalog& catalog, const Topology& topology) {
  std::string body;
  int top = 0;
  int widest = 0;
  for (std::size_t i = 0; i < topology.fabrics.size(); ++i) {
    const FabricGraph& graph = topology.fabrics[i];
    const int tiers = tiers_of(graph);
    const int width = width_of(graph, tiers);
    const auto places = places_of(graph, width, tiers);
    body += fmt::format(
        "<g transform=\"translate(0,{})\">\n<text x=\"{}\" y=\"20\" font-weight=\"bold\">Fabric/{}</text>\n",
        top, width / 2, xml_text(catalog.fabrics[i].metadata.name.value));
    for (const LinkIndex index : graph.links) {
      const Place& a = places.at(topology.ports[topology.links[index].a].device);
      const Place& b = places.at(topology.ports[topology.links[index].b].device);
      body += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"><title>{} - {}</title></line>\n",
                          a.x, a.y, b.x, b.y, xml_text(topology.port_text(topology.links[index].a)),
                          xml_text(topology.port_text(topology.links[index].b)));
    }
    for (const auto& [device, place] : places)
      body += fmt::format(
          "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\"/><text x=\"{}\" y=\"{}\">{}</text>\n",
          place.x - kBoxWidth / 2, place.y - kBoxHeight / 2, kBoxWidth, kBoxHeight, place.x, place.y + 4,
          xml_text(topology.devices[device].name));
    body += "</g>\n";
    top += tiers * kRowHeight + kMargin;
    widest = std::max(widest, width);
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n"
      "<style>text{{font:12px sans-serif;text-anchor:middle}}rect{{fill:#eef4fb;stroke:#3b6ea5}}"
      "line{{stroke:#9aa7b5}}</style>\n{2}</svg>\n",
      widest, top, body);
}

}  // namespace lockstep
