#include "tests/unit/bench/lab.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <sstream>

extern char** environ;

namespace lockstep::bench {

int run_program(const std::vector<std::string>& words) {
  std::vector<std::string> copy = words;
  std::vector<char*> argv;
  for (std::string& word : copy) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  if (posix_spawnp(&pid, argv[0], nullptr, nullptr, argv.data(), environ) != 0) return -1;
  int status = 0;
  if (waitpid(pid, &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Lab::Lab() {
  static std::atomic<int> count{0};
  prefix_ = "lsbench-" + std::to_string(getpid()) + "-" + std::to_string(count++) + "-";
}

Lab::~Lab() {
  for (const std::string& node : nodes_) (void)run_program({"ip", "netns", "del", prefix_ + node});
}

std::string Lab::add(const std::string& node) {
  EXPECT_EQ(run_program({"ip", "netns", "add", prefix_ + node}), 0);
  nodes_.push_back(node);
  ip(node, "link set dev lo up");
  return prefix_ + node;
}

void Lab::ip(const std::string& node, const std::string& words) {
  std::vector<std::string> argv{"ip", "-n", prefix_ + node};
  std::istringstream split(words);
  for (std::string word; split >> word;) argv.push_back(word);
  EXPECT_EQ(run_program(argv), 0) << words;
}

void Lab::link(const std::string& a, const std::string& port_a, const std::string& b,
               const std::string& port_b, int mtu) {
  ip(a, "link add name " + port_a + " mtu " + std::to_string(mtu) + " type veth peer name " + port_b +
            " netns " + prefix_ + b + " mtu " + std::to_string(mtu));
  ip(a, "link set dev " + port_a + " up");
  ip(b, "link set dev " + port_b + " up");
}

void Lab::pair(const std::string& a, const std::string& b, int mtu) {
  add(a);
  add(b);
  link(a, "eth0", b, "eth0", mtu);
  ip(a, "addr add 10.97.0.1/24 dev eth0");
  ip(b, "addr add 10.97.0.2/24 dev eth0");
}

void Lab::behind_router(const std::vector<std::string>& nodes, int mtu) {
  const std::string router = add("router");
  EXPECT_EQ(run_program({"ip", "netns", "exec", router, "sysctl", "-qw", "net.ipv4.ip_forward=1"}), 0);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string net = "10.97." + std::to_string(i + 1);
    add(nodes[i]);
    link(nodes[i], "eth0", "router", nodes[i], mtu);
    ip(nodes[i], "addr add " + net + ".1/24 dev eth0");
    ip("router", "addr add " + net + ".254/24 dev " + nodes[i]);
    ip(nodes[i], "route add default via " + net + ".254");
  }
}

ProbeEndpoint Lab::endpoint(const std::string& node, const std::string& address) const {
  ProbeEndpoint made;
  made.endpoint.device = node;
  made.endpoint.port = "eth0";
  made.endpoint.address = address;
  made.netns = netns(node);
  return made;
}

}  // namespace lockstep::bench
