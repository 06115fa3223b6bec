// DataPlane: a small independent model of what the values of devices mean for traffic between hosts. Checkers
// use it as the oracle for the program's claims about what a change can touch.
//
// Promises: knows the topology and the values that a path needs (ports up, their MTU, lossless priorities,
// neighbours of sessions, addresses, routes), and nothing of how the program computes what a change touches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "specs/fabric/topology.hpp"
#include "specs/model/tree.hpp"

namespace lockstep::simulation {

class DataPlane {
 public:
  // The role of one value on a path.
  enum class Role : std::uint8_t { there, addressed, on, mtu, lossless, spread };
  struct Need {
    DeviceIndex device = 0;
    Path path;
    Role role = Role::there;
  };
  // One path between a pair of hosts: on one rail, and between leaf switches over one spine switch.
  struct Way {
    std::vector<DeviceIndex> devices;
    std::vector<LinkIndex> cables;
    std::vector<Need> needs;
  };
  struct Figure {
    bool usable = true;
    std::uint32_t lossless = UINT32_MAX;  // lossless priorities on the whole path, as bits
    std::int64_t mtu = INT64_MAX;         // the smallest on the path
    std::int64_t spread = INT64_MAX;      // the smallest number of equal-cost paths of a switch
    bool operator==(const Figure&) const = default;
  };

  // Pairs each host with the next one and with the one half of all hosts further on. `topology` must outlive
  // this object.
  explicit DataPlane(const Topology& topology);
  const std::vector<Way>& ways() const { return ways_; }
  const std::vector<std::size_t>& ways_over(DeviceIndex device) const { return over_[device]; }
  // `trees`: one for each device of the topology.
  static Figure figure(const Way& way, const std::vector<const Tree*>& trees);
  std::string name(const Way& way) const;

 private:
  void add_pair(DeviceIndex from, DeviceIndex to);
  void cross(Way& way, DeviceIndex near, LinkIndex cable, bool between_switches) const;
  DeviceIndex far_device(DeviceIndex near, LinkIndex cable) const;

  const Topology& topology_;
  std::vector<Way> ways_;
  std::vector<std::vector<std::size_t>> over_;  // by device
};

}  // namespace lockstep::simulation
