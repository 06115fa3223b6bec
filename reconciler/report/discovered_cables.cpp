#include "reconciler/report/discovered_cables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "specs/language/hostlist.hpp"
#include "specs/language/scalars.hpp"
#include "specs/model/path.hpp"
#include "specs/model/printable.hpp"

namespace lockstep {
namespace {

// A cable as one end reports it.
struct Neighbour {
  ObservedCable cable;
  std::string near;  // "gpu1:rail0"
  std::string peer;  // as LLDP reports it
  bool both = false;
};

std::optional<DeviceRole> role_of(std::string_view text) {
  for (std::size_t i = 0; i < words(DeviceRole{}).size(); ++i)
    if (words(DeviceRole{})[i] == text) return static_cast<DeviceRole>(i);
  return std::nullopt;
}

// Whether the end is nearer to the hosts; of two of one role the name decides.
bool is_nearer(const CableEnd& one, const CableEnd& other) {
  const auto tier = [](const CableEnd& end) {
    return end.role ? static_cast<std::size_t>(*end.role) : words(DeviceRole{}).size();
  };
  if (tier(one) != tier(other)) return tier(one) < tier(other);
  const auto order = compare_natural(one.device, other.device);
  return order != 0 ? order < 0 : compare_natural(one.port, other.port) < 0;
}

class Gathering {
 public:
  explicit Gathering(const std::vector<DiscoveredDevice>& all) : all_(all) {
    for (const DiscoveredDevice& one : all) roles_.emplace(one.device, role_of(one.role));
  }

  DiscoveredCables run() {
    for (const DiscoveredDevice& found : all_)
      for (const DiscoveredPort& port : found.host.ports)
        if (takes_cables(port) && is_port_name(port.name) && !port.peer.empty()) add(found, port);
    for (const bool both : {true, false})
      for (const auto& [ends, heard] : heard_)
        if (heard.both == both) take(heard);
    return std::move(out_);
  }

 private:
  void add(const DiscoveredDevice& found, const DiscoveredPort& port) {
    const std::size_t colon = port.peer.find(':');
    CableEnd from{found.device, port.name, roles_.at(found.device)};
    CableEnd to{port.peer.substr(0, colon), colon == port.peer.npos ? "" : port.peer.substr(colon + 1), {}};
    Neighbour heard{{}, found.device + ":" + port.name, port.peer};
    if (!is_host_name(to.device) || !is_port_name(to.port))
      return leave_out(heard, "specs can't write this name");
    if (to.device == from.device) return leave_out(heard, "a device is not cabled to itself");
    if (const auto known = roles_.find(to.device); known != roles_.end()) to.role = known->second;
    if (is_nearer(to, from)) std::swap(from, to);
    heard.cable = {std::move(from), std::move(to)};
    const ObservedCable& cable = heard.cable;
    const auto [at, fresh] =
        heard_.try_emplace({cable.from.device, cable.from.port, cable.to.device, cable.to.port}, heard);
    at->second.both = !fresh;
  }

  void take(const Neighbour& heard) {
    const CableEnd& from = heard.cable.from;
    const CableEnd& to = heard.cable.to;
    if (cabled_.contains({from.device, from.port}) || cabled_.contains({to.device, to.port}))
      return leave_out(heard, "another cable ends there, or here");
    cabled_.insert({{from.device, from.port}, {to.device, to.port}});
    out_.cables.push_back(heard.cable);
  }

  void leave_out(const Neighbour& heard, std::string_view why) {
    out_.left_out.push_back(left_out_name(heard.near + "'s neighbor", heard.peer, why));
  }

  const std::vector<DiscoveredDevice>& all_;
  std::unordered_map<std::string, std::optional<DeviceRole>> roles_;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, Neighbour> heard_;
  std::set<std::pair<std::string, std::string>> cabled_;
  DiscoveredCables out_;
};

}  // namespace

DiscoveredCables discovered_cables(const std::vector<DiscoveredDevice>& all) { return Gathering(all).run(); }

bool is_port_name(const std::string& text) {
  // It is written between double quotes in YAML.
  if (printable(text) != text || text.find_first_of("\"\\") != text.npos) return false;
  const auto names = expand_hostlist(text, 1);
  return names && names->front() == text;
}

bool takes_cables(const DiscoveredPort& port) {
  return !port.loopback && port.kind != "ifb" && port.kind != "dummy" && port.kind != "bridge" &&
         port.kind != "tun";
}

std::string left_out_name(std::string_view what, std::string_view name, std::string_view why) {
  return fmt::format("{} '{}': {}", printable(what), printable(name), why);
}

}  // namespace lockstep
