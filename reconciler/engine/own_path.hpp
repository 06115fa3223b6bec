// Own path: which devices the packets of this process cross on the way to those that it reaches over the
// network, and by which of its ports they enter each of them.
//
// Where a packet leaves this machine is the kernel's answer (drivers/linux/first_hops.hpp), what lies behind
// that port the topology's: all shortest ways that go up and then down again (specs/fabric/routing.hpp), as
// ECMP may take any. So neither hosts nor leaves are crossed on the way from one switch to another. Answers
// come back the same ways: a rail answers by the rail that was asked.
//
// Promises: pure; linear in the cables, for each port of this machine that is used. What leaves by a port
// that is not in the topology (a management network) crosses nothing here, and a device to which no such way
// leads has none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

struct Topology;

// A device that is reached over the network; it and ports by their indices into the topology.
struct ReachedDevice {
  std::uint32_t device = 0;
  std::vector<std::uint32_t>
      by;  // cabled ports of this machine, by which the kernel may send; none: by others
  std::optional<std::uint32_t> at{};  // the cabled port that has its address; none: any, as of a switch
};

// In the order in which they change.
enum class OwnRank : std::uint8_t { off, on_path, nearest };

struct OwnPath {
  struct Place {
    OwnRank rank = OwnRank::off;
    std::string to;  // the first device that is reached through it, or it itself; empty: it is this machine
  };
  std::map<std::string, Place> places;  // by device; off: not in it
  // By device: all ports by which own packets may enter it, sorted; not in it: they come by other ways, too.
  std::map<std::string, std::vector<std::string>> entered_by;

  OwnRank rank(const std::string& device) const {
    const auto found = places.find(device);
    return found == places.end() ? OwnRank::off : found->second.rank;
  }
};

// `self`: the device that is this machine; none: it is none of the topology's. Nearest are itself and the
// other ends of the ports that are used.
OwnPath own_path(const Topology& topology, std::optional<std::uint32_t> self,
                 const std::vector<ReachedDevice>& reached);

}  // namespace lockstep
