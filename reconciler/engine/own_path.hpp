// Own path: which devices this process's packets cross on the way to the devices that it manages over the
// network, and through which ports they enter each of them.
//
// The kernel decides through which port a packet leaves this machine (drivers/linux/first_hops.hpp); beyond
// that port the topology decides: all shortest paths that go up and then down again
// (specs/fabric/routing.hpp), as ECMP may take any of them. Between two switches, paths therefore cross no
// hosts or leaves. Replies take the same paths: a rail replies through the rail that was asked.
//
// Promises: pure; linear in the cables, for each port of this machine that is used. Traffic that leaves
// through a port that is not in the topology (a management network) crosses nothing here, and a device
// without such a path has none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

struct Topology;

// A device that is reached over the network; device and ports by their indices into the topology.
struct ReachedDevice {
  std::uint32_t device = 0;
  std::vector<std::uint32_t>
      by;  // cabled ports of this machine through which the kernel may send; none: through other ports
  std::optional<std::uint32_t> at{};  // the cabled port that has its address; none: any, as for a switch
};

// In the order in which they change.
enum class OwnRank : std::uint8_t { off, on_path, nearest };

struct OwnPath {
  struct Place {
    OwnRank rank = OwnRank::off;
    std::string to;  // the first device reached through it, or its own name; empty: this machine
  };
  std::map<std::string, Place> places;  // by device; off: not in it
  // By device: all ports through which own packets may enter it, sorted; not listed: they may come other
  // ways, too.
  std::map<std::string, std::vector<std::string>> entered_by;

  OwnRank rank(const std::string& device) const {
    const auto found = places.find(device);
    return found == places.end() ? OwnRank::off : found->second.rank;
  }
};

// `self`: the device that is this machine; none: it is not in the topology. `nearest` are this machine and
// the other ends of its ports in use.
OwnPath own_path(const Topology& topology, std::optional<std::uint32_t> self,
                 const std::vector<ReachedDevice>& reached);

}  // namespace lockstep
