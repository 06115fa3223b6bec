#include "specs/fabric/topology_cabling.hpp"

#include <algorithm>
#include <map>

#include "specs/fabric/codes.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

// Far above any port count, and small enough that the product of two can't overflow.
constexpr std::uint32_t kFactorMax = 1024;

std::string number(std::uint64_t count) { return std::to_string(count); }

std::string counted(std::uint64_t count, std::string_view noun) {
  return number(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

void report(Diagnostics& diagnostics, std::string_view code, Position at, std::string message,
            std::string hint, std::vector<Related> related = {}) {
  diagnostics.push_back(Diagnostic{.code = std::string(code),
                                   .at = at,
                                   .message = std::move(message),
                                   .hint = std::move(hint),
                                   .related = std::move(related)});
}

struct Law {
  const Cabling& said;
  const CablingSide& from;
  const CablingSide& to;
  std::uint32_t planes;
  std::uint32_t parallel;

  void mismatch(Diagnostics& diagnostics, std::string message, std::string hint) const {
    report(diagnostics, fabric_code::cabling_counts, from.at, std::move(message), std::move(hint),
           {{to.at, "the other side is here"}});
  }
};

void lay_rail(const Law& law, std::vector<LaidCable>& out, Diagnostics& diagnostics) {
  const auto hosts = static_cast<std::uint32_t>(law.from.devices.size());
  const auto ports = static_cast<std::uint32_t>(law.from.names.size());
  const auto leaves = static_cast<std::uint32_t>(law.to.devices.size());
  const auto slots =
      static_cast<std::uint32_t>(law.to.names.size()) / law.parallel;  // hosts that fit one leaf
  if (ports % (law.planes * law.parallel) != 0)
    return law.mismatch(diagnostics,
                        number(ports) + " ports a host do not divide into " + number(law.planes) +
                            " planes of " + number(law.parallel) + " parallel links",
                        "name planes x parallel ports for each rail");
  const std::uint32_t rails = ports / (law.planes * law.parallel);
  if (leaves % (law.planes * rails) != 0)
    return law.mismatch(diagnostics,
                        counted(rails, "rail") + " in " + counted(law.planes, "plane") +
                            " need a multiple of " + number(std::uint64_t{law.planes} * rails) +
                            " leaf switches, not " + number(leaves),
                        "name one leaf switch for each rail and plane; more hosts need as many again");
  const std::uint32_t groups = leaves / (law.planes * rails);
  if (hosts > std::uint64_t{groups} * slots)
    return law.mismatch(
        diagnostics,
        number(hosts) +
            " hosts do not fit: " + (groups == 1 ? "1 leaf switch" : number(groups) + " leaf switches") +
            (law.planes == 1 ? " for each rail" : " for each rail and plane") +
            (groups == 1 ? " takes " : " take ") + counted(std::uint64_t{groups} * slots, "host") +
            (groups == 1 ? "" : ", " + number(slots) + " each"),
        "name more ports of leaf switches, or more leaf switches");
  if (groups > 1 && hosts <= std::uint64_t{groups - 1} * slots)
    return law.mismatch(
        diagnostics,
        number(hosts) + " hosts leave some of the " + number(leaves) +
            " leaf switches without any: they fit in fewer",
        "name only leaf switches that are cabled; hosts fill the ports of the first ones first");
  out.reserve(out.size() + std::size_t{hosts} * ports);
  for (std::uint32_t host = 0; host < hosts; ++host) {
    const std::uint32_t group = host / slots;
    const std::uint32_t slot = host % slots;
    for (std::uint32_t port = 0; port < ports; ++port) {
      const std::uint32_t rail = port / (law.planes * law.parallel);
      const std::uint32_t plane = port / law.parallel % law.planes;
      const std::uint32_t strand = port % law.parallel;
      out.push_back({law.from.devices[host], law.from.names[port],
                     law.to.devices[(plane * groups + group) * rails + rail],
                     law.to.names[slot * law.parallel + strand], rail, plane});
    }
  }
}

void lay_mesh(const Law& law, std::vector<LaidCable>& out, Diagnostics& diagnostics) {
  const auto froms = static_cast<std::uint32_t>(law.from.devices.size());
  const auto tos = static_cast<std::uint32_t>(law.to.devices.size());
  if (froms % law.planes != 0 || tos % law.planes != 0)
    return law.mismatch(diagnostics,
                        number(froms) + " and " + number(tos) + " devices do not divide into " +
                            number(law.planes) + " planes",
                        "each plane has an equal, consecutive part of both sides");
  const std::uint32_t from_part = froms / law.planes;
  const std::uint32_t to_part = tos / law.planes;
  if (law.from.names.size() != std::size_t{to_part} * law.parallel)
    return law.mismatch(diagnostics,
                        "a mesh of " + counted(law.parallel, "link") + " to each of " +
                            counted(to_part, "device") + " needs " +
                            counted(std::uint64_t{to_part} * law.parallel, "port") + " on this side, not " +
                            number(law.from.names.size()),
                        "name one port for each device of the other side and parallel link");
  if (law.to.names.size() < std::size_t{from_part} * law.parallel)
    return law.mismatch(diagnostics,
                        "a mesh of " + counted(law.parallel, "link") + " to each of " +
                            counted(from_part, "device") + " needs " +
                            counted(std::uint64_t{from_part} * law.parallel, "port") +
                            " on the `to` side, not " + number(law.to.names.size()),
                        "name one port for each device of this side and parallel link");
  out.reserve(out.size() + std::size_t{froms} * to_part * law.parallel);
  for (std::uint32_t from = 0; from < froms; ++from) {
    const std::uint32_t plane = from / from_part;
    for (std::uint32_t to = 0; to < to_part; ++to) {
      for (std::uint32_t strand = 0; strand < law.parallel; ++strand) {
        const std::uint32_t port = to * law.parallel + strand;
        out.push_back({law.from.devices[from], law.from.names[port], law.to.devices[plane * to_part + to],
                       law.to.names[from % from_part * law.parallel + strand], port, plane});
      }
    }
  }
}

void lay_pairs(const Law& law, std::vector<LaidCable>& out, Diagnostics& diagnostics) {
  const std::size_t count = law.from.devices.size() * law.from.names.size();
  if (count != law.to.devices.size() * law.to.names.size())
    return law.mismatch(
        diagnostics,
        number(count) + " ports can't be paired with " + number(law.to.devices.size() * law.to.names.size()),
        "both sides must stand for equally many ports");
  out.reserve(out.size() + count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t from_ports = law.from.names.size();
    const std::size_t to_ports = law.to.names.size();
    out.push_back({law.from.devices[i / from_ports], law.from.names[i % from_ports],
                   law.to.devices[i / to_ports], law.to.names[i % to_ports],
                   static_cast<std::uint32_t>(i % from_ports), 0});
  }
}

}  // namespace

void lay_cables(const Cabling& said, const CablingSide& from, const CablingSide& to,
                std::vector<LaidCable>& out, Diagnostics& diagnostics) {
  const Law law{said, from, to, *said.planes, *said.parallel};
  const auto possible = [](std::uint32_t factor) { return factor >= 1 && factor <= kFactorMax; };
  if (!possible(law.planes) || !possible(law.parallel))
    return report(
        diagnostics, fabric_code::cabling_meaning, possible(law.planes) ? said.parallel.at : said.planes.at,
        "planes and parallel are numbers from 1 to " + number(kFactorMax), "leave the field out: it is 1");
  if (from.devices.empty() || to.devices.empty() || from.names.empty() || to.names.empty()) return;
  const CablingRule rule = *said.by;
  if (rule == CablingRule::pairs && (said.planes.said || said.parallel.said))
    return report(
        diagnostics, fabric_code::cabling_meaning, said.planes.said ? said.planes.at : said.parallel.at,
        "`by: pairs` names every port itself: planes and parallel mean nothing there", "leave the field out");
  if (rule == CablingRule::rail) return lay_rail(law, out, diagnostics);
  if (rule == CablingRule::mesh) return lay_mesh(law, out, diagnostics);
  lay_pairs(law, out, diagnostics);
}

Diagnostics uncabled_hosts(const Catalog& catalog, const Topology& topology) {
  struct Hosts {
    std::vector<std::string> without;
    std::uint32_t first = 0;  // of these, by position in the set
    bool any_cabled = false;
  };
  std::map<std::uint32_t, Hosts> sets;
  for (const TopologyDevice& device : topology.devices) {
    if (device.is_switch()) continue;
    Hosts& hosts = sets[device.set];
    const auto first = topology.ports.begin() + device.first_port;
    if (std::any_of(first, first + device.port_count,
                    [](const TopologyPort& one) { return one.link != kNone; })) {
      hosts.any_cabled = true;
      continue;
    }
    if (hosts.without.empty()) hosts.first = device.ordinal;
    hosts.without.push_back(device.name);
  }
  Diagnostics out;
  for (const auto& [set, hosts] : sets) {
    if (!hosts.any_cabled || hosts.without.empty()) continue;
    out.push_back(Diagnostic{.code = std::string(fabric_code::not_cabled),
                             .severity = Severity::warning,
                             .at = name_at(catalog.device_sets[set], hosts.first),
                             .message = "no cable of a Fabric ends at " + fold_hostlist(hosts.without) +
                                        ", and others of this DeviceSet have cables",
                             .hint = "name " + std::string(hosts.without.size() == 1 ? "it" : "them") +
                                     " in a line of the cabling",
                             .related = {}});
  }
  return out;
}

}  // namespace lockstep
