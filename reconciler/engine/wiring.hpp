// Wiring: what the planner needs to know about how devices are connected, and nothing more: cables,
// redundancy, how the reconciler reaches a device, and how much capacity an outage leaves.
//
// Promises: plain data except `capacity_left`, which the caller binds to the fabric's model; empty members
// mean "not known" and never forbid anything.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "reconciler/engine/own_path.hpp"

namespace lockstep {

struct PortName {
  std::string device;
  std::string port;
  auto operator<=>(const PortName&) const = default;
  std::string text() const { return device + ":" + port; }
};

struct Cable {
  PortName a;  // the end nearer to the hosts
  PortName b;
};

// What is out of service at one moment.
struct Outage {
  std::vector<std::string> devices;   // sorted
  std::vector<std::uint32_t> cables;  // indices into Wiring::cables, sorted
  // Those devices that a step takes out: they return shortly.
  std::vector<std::string> returning{};  // sorted
};

class Wiring {
 public:
  std::vector<Cable> cables;  // call index() after filling
  // Devices that can replace each other: one member of a group changes at a time.
  std::map<std::string, std::string> redundancy_group;
  // The ports of a device through which the reconciler reaches it, as declared in the specs, if they are
  // ports that a change could touch.
  std::map<std::string, std::vector<std::string>> management_ports;
  OwnPath own_path;  // as observed
  // The share of bandwidth that the worst pair of endpoints keeps, 1: all of it. Pairs with an end that is
  // itself out don't count, unless it is returning: it may be back before the rest is.
  std::function<double(const Outage&)> capacity_left;

  void index();
  std::optional<std::uint32_t> cable_at(const std::string& device, std::string_view port) const;
  // The port at the other end; null if the port is not cabled.
  const PortName* peer(const std::string& device, std::string_view port) const;

 private:
  std::unordered_map<std::string, std::uint32_t> by_port_;  // "device:port"
};

// Cables in link order (cable i is Topology::links[i]); groups: switches of one tier with the same
// neighbours.
Wiring wiring_of(const Topology& topology);

}  // namespace lockstep
