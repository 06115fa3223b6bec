// DataPlane: what the devices' values mean for traffic between hosts, in a small model of its own, for
// checkers: the oracle of what the program says a change can have touched.
//
// Promises: knows the topology and the values that a path needs (ports up, of which size, lossless, sessions'
// neighbours, addresses, routes), and nothing of how the program tells what a change touches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "specs/fabric/topology.hpp"
#include "specs/model/tree.hpp"

namespace lockstep::simulation {

class DataPlane {
 public:
  // What one value does for a path.
  enum class Role : std::uint8_t { there, addressed, on, mtu, lossless, spread };
  struct Need {
    DeviceIndex device = 0;
    Path path;
    Role role = Role::there;
  };
  // One way between a pair of hosts: on one rail, and between leaves over one spine.
  struct Way {
    std::vector<DeviceIndex> devices;
    std::vector<LinkIndex> cables;
    std::vector<Need> needs;
  };
  struct Figure {
    bool usable = true;
    std::uint32_t lossless = UINT32_MAX;  // priorities that are so all the way, as bits
    std::int64_t mtu = INT64_MAX;         // the smallest on the way
    std::int64_t spread = INT64_MAX;      // the smallest number of equal ways that a switch uses
    bool operator==(const Figure&) const = default;
  };

  // Each host with the next one, and with the one half of all hosts further on; `topology` outlives it.
  explicit DataPlane(const Topology& topology);
  const std::vector<Way>& ways() const { return ways_; }
  const std::vector<std::size_t>& ways_over(DeviceIndex device) const { return over_[device]; }
  // `trees`: of each device of the topology.
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
