// A leaf of 128 ports, two of them to spines, that knows 1,000 prefixes over both, in a network namespace.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "specs/model/path.hpp"

namespace lockstep {

inline constexpr int kLargeLeafPorts = 128;
inline constexpr const char* kLargeLeafTransit = "diverted[10.65.0.0/16]/transit";

// `netns`: by name. False: ip(8) failed.
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

// What an observation of it asks for by name: its pool's transit, first, and its ports.
inline std::vector<Path> large_leaf_names() {
  std::vector<Path> out{*Path::parse(kLargeLeafTransit)};
  for (int port = 0; port < kLargeLeafPorts; ++port)
    out.push_back(*Path::parse("interface[swp" + std::to_string(port) + "]"));
  return out;
}

}  // namespace lockstep
