// Network namespaces for the tests, always removed at the end. Needs root.
#pragma once

#include <string>
#include <vector>

#include "bench/tcp/run.hpp"

namespace lockstep::bench {

// Runs a program and waits for it; returns its exit status, or -1.
int run_program(const std::vector<std::string>& words);

class Lab {
 public:
  Lab();
  ~Lab();
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  std::string add(const std::string& node);  // the namespace's name
  std::string netns(const std::string& node) const { return "/run/netns/" + prefix_ + node; }
  void ip(const std::string& node, const std::string& words);  // "addr add 10.9.0.1/24 dev eth0"
  void link(const std::string& a, const std::string& port_a, const std::string& b, const std::string& port_b,
            int mtu = 1500);
  // Each node gets one port named eth0: both at the ends of one veth pair, or all behind a router.
  void pair(const std::string& a, const std::string& b, int mtu = 1500);
  void behind_router(const std::vector<std::string>& nodes, int mtu = 1500);

  // The address follows from the position of the node in the order of add(): 10.97.<position>.1
  // (behind_router) or 10.97.0.<position> (pair).
  ProbeEndpoint endpoint(const std::string& node, const std::string& address) const;

 private:
  std::string prefix_;
  std::vector<std::string> nodes_;
};

}  // namespace lockstep::bench
