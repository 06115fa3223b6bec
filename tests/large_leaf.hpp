// Makes a leaf switch in a network namespace: 128 ports, and 1,000 prefixes with next hops over two spines.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "specs/model/path.hpp"

namespace lockstep {

inline constexpr int kLargeLeafPorts = 128;
inline constexpr const char* kLargeLeafTransit = "diverted[10.65.0.0/16]/transit";

// `netns` is the name of the namespace. Returns false if ip(8) failed.
inline bool make_large_leaf(const std::string& netns) {
  constexpr int kPrefixes = 1000;
  std::string batch;
  for (int port = 0; port < kLargeLeafPorts; ++port) {
    const std::string number = std::to_string(port);
    batch += "link add swp" + number + " type veth peer name far" + number + "\nlink set swp" + number +
             " up\nlink set far" + number + " up\naddress add 10.65.0." + std::to_string(2 * port) +
             "/31 dev swp" + number + "\n";
  }
  for (int one = 0; one < kPrefixes; ++one)
    batch += "route add 10.65." + std::to_string(1 + one / 4) + "." + std::to_string(one % 4 * 64) +
             "/26 proto bgp nexthop via 10.65.0.1 nexthop via 10.65.0.3\n";
  FILE* const pipe = ::popen(("ip -n " + netns + " -batch -").c_str(), "w");
  if (pipe == nullptr) return false;
  std::fputs(batch.c_str(), pipe);
  return ::pclose(pipe) == 0;
}

// The entries that an observation requests by name: first the pool's transit, then the ports.
inline std::vector<Path> large_leaf_names() {
  std::vector<Path> out{*Path::parse(kLargeLeafTransit)};
  for (int port = 0; port < kLargeLeafPorts; ++port)
    out.push_back(*Path::parse("interface[swp" + std::to_string(port) + "]"));
  return out;
}

}  // namespace lockstep
