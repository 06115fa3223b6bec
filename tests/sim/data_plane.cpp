#include "data_plane.hpp"

#include <algorithm>

#include "specs/model/schema_rows.hpp"

namespace lockstep::simulation {
namespace {

constexpr const char* kPool = ":10.0.0.0/8";

Path on_port(RowId row, std::string_view port) { return Path(row, {port}); }

bool has_address(const Tree& tree, Path port) {
  return std::ranges::any_of(tree.of_row(row("interface[*]/address[*]")),
                             [port](const Entry& one) { return one.path.key_id(0) == port.key_id(0); });
}

std::uint32_t priorities(Value lossless) {
  std::uint32_t out = 0;
  if (lossless.kind() != Value::Kind::list) return out;
  for (const std::string_view one : lossless.as_list()) out |= 1U << static_cast<unsigned>(one[0] - '0');
  return out;
}

}  // namespace

DataPlane::DataPlane(const Topology& topology) : topology_(topology), over_(topology.devices.size()) {
  const std::vector<DeviceIndex>& hosts = topology.fabrics.front().hosts;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    for (const std::size_t by : {std::size_t{1}, hosts.size() / 2})
      if (by % hosts.size() != 0) add_pair(hosts[i], hosts[(i + by) % hosts.size()]);
  for (std::size_t i = 0; i < ways_.size(); ++i)
    for (const DeviceIndex device : ways_[i].devices) over_[device].push_back(i);
}

DeviceIndex DataPlane::far_device(DeviceIndex near, LinkIndex cable) const {
  const TopologyLink& one = topology_.links[cable];
  const DeviceIndex a = topology_.ports[one.a].device;
  return a == near ? topology_.ports[one.b].device : a;
}

void DataPlane::add_pair(DeviceIndex from, DeviceIndex to) {
  const auto ports_of = [this](DeviceIndex device) {
    const TopologyDevice& one = topology_.devices[device];
    return std::span(topology_.ports).subspan(one.first_port, one.port_count);
  };
  for (std::size_t rail = 0; rail < ports_of(from).size(); ++rail) {
    const LinkIndex first = ports_of(from)[rail].link;
    const LinkIndex last = ports_of(to)[rail].link;
    const DeviceIndex leaf = far_device(from, first);
    const DeviceIndex other = far_device(to, last);
    Way way;
    cross(way, from, first, false);
    cross(way, to, last, false);
    if (leaf == other) {
      ways_.push_back(std::move(way));
      continue;
    }
    for (const TopologyPort& up : ports_of(leaf))
      for (const TopologyPort& down : ports_of(other)) {
        const DeviceIndex spine = far_device(leaf, up.link);
        if (spine != far_device(other, down.link) || topology_.devices[spine].role != DeviceRole::spine)
          continue;
        Way over = way;
        cross(over, leaf, up.link, true);
        cross(over, other, down.link, true);
        ways_.push_back(std::move(over));
      }
  }
}

// Adds the needs of the cable and of the devices at its ends, each once.
void DataPlane::cross(Way& way, DeviceIndex near, LinkIndex cable, bool between_switches) const {
  way.cables.push_back(cable);
  for (const PortIndex end : {topology_.links[cable].a, topology_.links[cable].b}) {
    const DeviceIndex device = topology_.ports[end].device;
    const std::string_view port = topology_.ports[end].name;
    const auto need = [&](Role role, Path path) { way.needs.push_back({device, path, role}); };
    if (std::ranges::find(way.devices, device) == way.devices.end()) way.devices.push_back(device);
    need(Role::on, on_port(row("interface[*]/admin"), port));
    need(Role::mtu, on_port(row("interface[*]/mtu"), port));
    need(Role::lossless, on_port(row("interface[*]/pfc"), port));
    if (between_switches) {
      need(Role::there, Path(row("bgp"), {}));
      need(Role::there, Path(row("bgp/router-id"), {}));
      need(Role::spread, Path(row("bgp/max-paths"), {}));
      need(Role::there, on_port(row("bgp/neighbor[*]"), port));
    } else if (device == near) {
      need(Role::addressed, on_port(row("interface[*]"), port));
      need(Role::there, on_port(row("route[*]"), std::string(port) + kPool));
      need(Role::there, Path(row("sysctl[*]"), {"net.ipv4.conf.all.arp_ignore"}));
    }
  }
}

DataPlane::Figure DataPlane::figure(const Way& way, const std::vector<const Tree*>& trees) {
  Figure out;
  for (const Need& need : way.needs) {
    const Value value = trees[need.device]->value(need.path);
    const auto least = [&value](std::int64_t other) {
      return std::min(other, value.kind() == Value::Kind::integer ? value.as_integer() : std::int64_t{0});
    };
    switch (need.role) {
      case Role::there: out.usable = out.usable && bool(value); break;
      case Role::addressed: out.usable = out.usable && has_address(*trees[need.device], need.path); break;
      case Role::on: out.usable = out.usable && value == Value::boolean(true); break;
      case Role::mtu: out.mtu = least(out.mtu); break;
      case Role::lossless: out.lossless &= priorities(value); break;
      case Role::spread: out.spread = least(out.spread); break;
    }
  }
  return out;
}

std::string DataPlane::name(const Way& way) const {
  std::string out;
  for (const DeviceIndex device : way.devices)
    out += (out.empty() ? "" : " - ") + topology_.devices[device].name;
  return out;
}

}  // namespace lockstep::simulation
