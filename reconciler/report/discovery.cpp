#include "reconciler/report/discovery.hpp"

#include <fmt/format.h>

#include <map>

#include "reconciler/report/discovery_devlink.hpp"
#include "reconciler/report/table.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/language/quantity.hpp"

namespace lockstep {
namespace {

std::string joined(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& one : list) out += (out.empty() ? "" : ", ") + one;
  return out;
}

Shown link_text(const PcieLink& link, const Terminal& terminal) {
  // An idle GPU's link slows down; missing lanes stay missing.
  return link.narrow() ? terminal.paint(Ink::yellow, link.text()) : compose("{}", link.text());
}

std::string numa_text(const PciFunction& function) {
  return function.numa_node ? std::to_string(*function.numa_node) : "";
}

std::string on_off(std::optional<bool> mode) { return !mode ? "" : *mode ? "on" : "off"; }

// The GPUs, and the distance of the fabric's NICs to each in the terms of `nvidia-smi topo -m`.
std::string gpus_text(const DiscoveredDevice& found, const Terminal& terminal) {
  if (found.host.gpus.empty()) return {};
  std::vector<Table::Column> columns{{"device"}, {"gpu"},         {"model"}, {"driver"}, {"numa", true},
                                     {"pcie"},   {"persistence"}, {"ecc"},   {"state"}};
  for (const auto& [nic, distance] : found.host.gpus.front().nics) columns.push_back({nic});
  Table gpus(std::move(columns));
  for (const DiscoveredGpu& one : found.host.gpus) {
    const PciFunction& pci = one.gpu.pci;
    const NvmlGpu known = one.gpu.nvml.value_or(NvmlGpu{});
    const std::string trouble = known.trouble();
    std::vector<Table::Cell> cells{
        terminal.paint(Ink::cyan, found.device),
        pci.address,
        known.name.empty() ? fmt::format("{} {:04x}", gpu_vendor(pci), pci.device) : known.name,
        pci.driver,
        numa_text(pci),
        link_text(pci.link, terminal),
        on_off(known.persistence),
        on_off(one.gpu.amd_ecc ? one.gpu.amd_ecc : known.ecc),
        terminal.paint(Ink::red, trouble)};
    for (const auto& [nic, distance] : one.nics) cells.emplace_back(to_string(distance));
    gpus.add(std::move(cells));
  }
  return "\n" + gpus.render(terminal);
}

std::string settings_text(const DiscoveredDevice& found, const Terminal& terminal) {
  if (found.host.settings.empty()) return {};
  Table settings({{"device"}, {"setting"}, {"value"}});
  for (const HostFact& fact : found.host.settings)
    if (!fact.value.empty()) settings.add({terminal.paint(Ink::cyan, found.device), fact.what, fact.value});
  return "\n" + settings.render(terminal);
}

// "gpu/driver, gpu/ecc: no NVIDIA or AMD GPU ...": one line per reason.
std::vector<std::string> missing_settings(const DiscoveredHost& host) {
  std::map<std::string, std::string> by_reason;
  for (const HostFact& fact : host.settings) {
    if (!fact.value.empty()) continue;
    std::string& which = by_reason[fact.missing];
    which += (which.empty() ? "" : ", ") + fact.what;
  }
  std::vector<std::string> out;
  for (const auto& [reason, which] : by_reason) out.push_back(which + ": " + reason);
  return out;
}

nlohmann::json pci_json(const PciFunction& function) {
  nlohmann::json out{{"address", function.address}, {"driver", function.driver}};
  if (function.numa_node) out["numaNode"] = *function.numa_node;
  const PcieLink& link = function.link;
  if (link.width != 0)
    out["link"] = {{"speed", link.speed},
                   {"maxSpeed", link.max_speed},
                   {"width", link.width},
                   {"maxWidth", link.max_width}};
  return out;
}

nlohmann::json gpu_json(const DiscoveredGpu& one) {
  nlohmann::json out{{"pci", pci_json(one.gpu.pci)},
                     {"vendor", gpu_vendor(one.gpu.pci)},
                     {"deviceId", fmt::format("{:#06x}", one.gpu.pci.device)},
                     {"nics", nlohmann::json::object()}};
  if (one.gpu.amd_ecc) out["ecc"] = *one.gpu.amd_ecc;
  if (const std::optional<NvmlGpu>& known = one.gpu.nvml) {
    out["model"] = known->name;
    out["vbios"] = known->vbios;
    out["trouble"] = known->trouble();
    if (known->ecc) out["ecc"] = *known->ecc;
    if (known->ecc_after_reset) out["eccAfterReset"] = *known->ecc_after_reset;
    if (known->persistence) out["persistence"] = *known->persistence;
  }
  for (const auto& [nic, distance] : one.nics) out["nics"][nic] = to_string(distance);
  return out;
}

std::string mbps_text(std::uint32_t mbps) { return format(BitRate{std::uint64_t{mbps} * 1'000'000}); }

using Amounts = std::map<std::string, ethtool::Amount, std::less<>>;

// "rx 1024 of 8192, tx 1024 of 8192".
std::string amounts_text(const Amounts& amounts) {
  std::string out;
  for (const auto& [key, one] : amounts)
    out += fmt::format("{}{} {} of {}", out.empty() ? "" : ", ", key, one.now, one.max);
  return out;
}

// "RS by auto": the active mode, if it differs from the configured word.
std::string fec_text(const ethtool::NicFacts& nic) {
  if (nic.fec_active.empty() || nic.fec_active == nic.fec) return nic.fec;
  return nic.fec_active + " by " + nic.fec;
}

// "QSFP28 passive copper 3 m, VENDOR PART B2".
std::string module_text(const ethtool::ModuleFacts& module) {
  std::string out = module.kind + (module.medium.empty() ? "" : " " + module.medium);
  if (module.decimetres != 0) out += fmt::format(" {} m", module.decimetres / 10.0);
  std::string made;
  for (const std::string* const one : {&module.vendor, &module.part, &module.revision})
    if (!one->empty()) made += (made.empty() ? "" : " ") + *one;
  return out + (made.empty() ? "" : ", " + made);
}

// Only for ports that have such data: a veth has none.
std::string nics_text(const DiscoveredDevice& found, const Terminal& terminal) {
  Table nics({{"device"}, {"port"}, {"autoneg"}, {"speeds"}, {"fec"}, {"rings"}, {"channels"}, {"module"}});
  for (const DiscoveredPort& port : found.host.ports) {
    const ethtool::NicFacts& nic = port.nic;
    if (nic.speeds.empty() && nic.fec.empty() && nic.rings.empty() && !nic.module) continue;
    std::string speeds;
    for (const std::uint32_t one : nic.speeds) speeds += (speeds.empty() ? "" : ", ") + mbps_text(one);
    nics.add({terminal.paint(Ink::cyan, found.device), port.name, on_off(nic.autoneg), speeds, fec_text(nic),
              amounts_text(nic.rings), amounts_text(nic.channels),
              nic.module ? module_text(*nic.module) : ""});
  }
  return nics.empty() ? "" : "\n" + nics.render(terminal);
}

nlohmann::json amounts_json(const Amounts& amounts) {
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [key, one] : amounts) out[key] = {{"now", one.now}, {"max", one.max}};
  return out;
}

void add_nic_json(const ethtool::NicFacts& nic, nlohmann::json& out) {
  if (nic.speed) out["speedMbps"] = *nic.speed;
  if (!nic.speeds.empty()) out["speedsMbps"] = nic.speeds;
  if (nic.autoneg) out["autoneg"] = *nic.autoneg;
  if (!nic.fec.empty()) out["fec"] = nic.fec;
  if (!nic.fec_active.empty()) out["fecActive"] = nic.fec_active;
  if (!nic.rings.empty()) out["rings"] = amounts_json(nic.rings);
  if (!nic.channels.empty()) out["channels"] = amounts_json(nic.channels);
  if (!nic.module) return;
  nlohmann::json& module = out["module"];
  module["kind"] = nic.module->kind;
  for (const auto& [key, value] : {std::pair("vendor", &nic.module->vendor),
                                   {"part", &nic.module->part},
                                   {"revision", &nic.module->revision},
                                   {"serial", &nic.module->serial},
                                   {"medium", &nic.module->medium}})
    if (!value->empty()) module[key] = *value;
  if (nic.module->decimetres != 0) module["metres"] = nic.module->decimetres / 10.0;
}

nlohmann::json port_json(const DiscoveredPort& port) {
  nlohmann::json one{{"name", port.name},
                     {"driver", port.driver},
                     {"mac", port.hardware_address},
                     {"mtu", port.mtu},
                     {"adminUp", port.admin_up},
                     {"carrier", port.carrier},
                     {"addresses", port.addresses}};
  add_nic_json(port.nic, one);
  if (port.pci) one["pci"] = pci_json(*port.pci);
  one["rdmaDevices"] = port.rdma_devices;
  if (!port.peer.empty()) one["neighbour"] = port.peer;
  return one;
}

nlohmann::json rdma_json(const DiscoveredRdma& one) {
  nlohmann::json out{
      {"name", one.facts.name}, {"driver", one.facts.driver}, {"ports", nlohmann::json::array()}};
  if (!one.facts.pci.empty()) out["pci"] = one.facts.pci;
  if (!one.facts.firmware.empty()) out["firmware"] = one.facts.firmware;
  for (std::size_t at = 0; at < one.ports.size(); ++at) {
    const rdma::PortFacts& facts = one.facts.ports[at];
    nlohmann::json port{
        {"number", facts.number},        {"state", facts.state},   {"physicalState", facts.physical_state},
        {"linkLayer", facts.link_layer}, {"netdev", facts.netdev}, {"gids", nlohmann::json::array()}};
    if (one.ports[at].path_mtu != 0) port["pathMtu"] = one.ports[at].path_mtu;
    for (const rdma::Gid& gid : one.ports[at].gids)
      port["gids"].push_back(
          {{"index", gid.index}, {"gid", gid.text}, {"type", gid.type}, {"netdev", gid.netdev}});
    out["ports"].push_back(std::move(port));
  }
  return out;
}

// "3 v4, 4 v6": the GID indices that RoCE v2 would use now, by the peer's family.
std::string gids_text(const DiscoveredRdma::Port& port, const std::string& netdev) {
  std::string out;
  for (const bool v4 : {true, false})
    if (const rdma::Gid* const gid = rdma::choose_gid(port.gids, rdma::kRoceV2, v4, netdev))
      out += (out.empty() ? "" : ", ") + std::to_string(gid->index) + (v4 ? " v4" : " v6");
  return out;
}

std::string rdma_text(const DiscoveredDevice& found, const Terminal& terminal) {
  Table table({{"device"},
               {"rdma"},
               {"driver"},
               {"port", true},
               {"netdev"},
               {"state"},
               {"link"},
               {"path mtu", true},
               {"gids"},
               {"firmware"}});
  for (const DiscoveredRdma& one : found.host.rdma)
    for (std::size_t at = 0; at < one.ports.size(); ++at) {
      const rdma::PortFacts& port = one.facts.ports[at];
      const std::uint32_t mtu = one.ports[at].path_mtu;
      const bool active = port.state == "ACTIVE";
      table.add({terminal.paint(Ink::cyan, found.device), one.facts.name, one.facts.driver,
                 std::to_string(port.number), port.netdev,
                 terminal.paint(active ? Ink::green : Ink::yellow, port.state), port.link_layer,
                 mtu == 0 ? "" : std::to_string(mtu), gids_text(one.ports[at], port.netdev),
                 one.facts.firmware});
    }
  return table.empty() ? "" : "\n" + table.render(terminal);
}

}  // namespace

std::string speed_text(const DiscoveredPort& port) {
  return port.nic.speed ? mbps_text(*port.nic.speed) : "";
}

std::string discovery_text(const std::vector<DiscoveredDevice>& all, const Terminal& terminal) {
  std::string out;
  Table ports({{"device"},
               {"port"},
               {"driver"},
               {"speed", true},
               {"mtu", true},
               {"state"},
               {"addresses"},
               {"neighbor"},
               {"pci"},
               {"pcie"},
               {"numa", true},
               {"rdma"}});
  for (const DiscoveredDevice& found : all) {
    for (const DiscoveredPort& port : found.host.ports) {
      if (port.loopback) continue;
      const std::string state = !port.admin_up ? "down" : port.carrier ? "up" : "no carrier";
      ports.add({terminal.paint(Ink::cyan, found.device), port.name, port.driver, speed_text(port),
                 std::to_string(port.mtu), terminal.paint(state == "up" ? Ink::green : Ink::yellow, state),
                 joined(port.addresses), port.peer, port.pci ? port.pci->address : "",
                 port.pci ? link_text(port.pci->link, terminal) : Shown(),
                 port.pci ? numa_text(*port.pci) : "", joined(port.rdma_devices)});
    }
  }
  out += ports.empty() ? "no ports but the loopback\n" : ports.render(terminal);
  for (const DiscoveredDevice& found : all)
    out += nics_text(found, terminal) + devlink_text(found, terminal) + rdma_text(found, terminal) +
           gpus_text(found, terminal) + settings_text(found, terminal);
  std::map<std::string, std::vector<std::string>> notes;
  for (const DiscoveredDevice& found : all) {
    for (const std::string& note : found.host.notes) notes[note].push_back(found.device);
    for (const std::string& note : missing_settings(found.host)) notes[note].push_back(found.device);
  }
  for (const auto& [note, devices] : notes)
    out += terminal.paint(Ink::dim, compose("note: {} ({})", note, fold_hostlist(devices))) + "\n";
  return out;
}

nlohmann::json discovery_json(const std::vector<DiscoveredDevice>& all) {
  nlohmann::json devices = nlohmann::json::array();
  for (const DiscoveredDevice& found : all) {
    nlohmann::json ports = nlohmann::json::array();
    for (const DiscoveredPort& port : found.host.ports) ports.push_back(port_json(port));
    nlohmann::json gpus = nlohmann::json::array();
    for (const DiscoveredGpu& gpu : found.host.gpus) gpus.push_back(gpu_json(gpu));
    nlohmann::json rdma = nlohmann::json::array();
    for (const DiscoveredRdma& one : found.host.rdma) rdma.push_back(rdma_json(one));
    nlohmann::json devlink = nlohmann::json::array();
    for (const devlink::DeviceFacts& one : found.host.devlink) devlink.push_back(devlink_json(one));
    nlohmann::json settings = nlohmann::json::object();
    nlohmann::json missing = nlohmann::json::object();
    for (const HostFact& fact : found.host.settings)
      (fact.value.empty() ? missing : settings)[fact.what] = fact.value.empty() ? fact.missing : fact.value;
    devices.push_back({{"name", found.device},
                       {"ports", ports},
                       {"gpus", gpus},
                       {"rdma", rdma},
                       {"devlink", devlink},
                       {"settings", settings},
                       {"settingsMissing", missing},
                       {"notes", found.host.notes}});
  }
  return {{"kind", "Discovery"}, {"devices", devices}};
}

}  // namespace lockstep
