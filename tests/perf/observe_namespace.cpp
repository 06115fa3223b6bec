// The time to observe one host's namespace (two rails, shaped and classified, policy routing), against the
// iproute2, ethtool and sysctl commands that read the same. Goal: under 3 ms. Needs root.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "drivers/linux/driver.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using namespace lockstep;

bool shell(const std::string& line) { return std::system((line + " >/dev/null 2>&1").c_str()) == 0; }

// One rail as in examples/rail-pod: address, per-rail table, rule, rate and three traffic classes.
std::vector<std::pair<std::string, Value>> rail_entries(int rail) {
  const std::string port = "rail" + std::to_string(rail);
  const std::string own = "10.64." + std::to_string(rail) + ".1";
  const std::string table = std::to_string(100 + rail);
  const auto entry = [&](const std::string& rest) { return "interface[" + port + "]/" + rest; };
  return {{entry("mtu"), Value::integer(9000)},
          {entry("rate"), Value::integer(1'000'000'000)},
          {entry("class[0]"), Value::present()},
          {entry("class[0]/dscp"), Value::set({"0"})},
          {entry("class[0]/share"), Value::integer(40)},
          {entry("class[3]"), Value::present()},
          {entry("class[3]/dscp"), Value::set({"26"})},
          {entry("class[3]/share"), Value::integer(60)},
          {entry("class[6]"), Value::present()},
          {entry("class[6]/dscp"), Value::set({"48"})},
          {entry("class[6]/strict"), Value::boolean(true)},
          {entry("class[6]/max-rate"), Value::integer(50'000'000)},
          {entry("address[" + own + "/31]"), Value::present()},
          {entry("admin"), Value::boolean(true)},
          {"sysctl[net.ipv4.conf." + port + ".rp_filter]", Value::text("2")},
          {"route[" + table + ":0.0.0.0/0]",
           Value::set({"via 10.64." + std::to_string(rail) + ".0 dev " + port})},
          {"rule[" + std::to_string(1000 + rail) + "]", Value::text("from " + own + "/32 lookup " + table)}};
}

double milliseconds(Clock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

template <class Body>
std::vector<double> timed(int times, const Body& body) {
  std::vector<double> out;
  for (int i = 0; i < times; ++i) {
    const auto begin = Clock::now();
    if (!body()) return {};
    out.push_back(milliseconds(Clock::now() - begin));
  }
  std::sort(out.begin(), out.end());
  return out;
}

void print(const char* what, const std::vector<double>& sorted) {
  if (sorted.empty()) {
    std::printf("%-34s failed\n", what);
    return;
  }
  std::printf("%-34s median %8.3f ms   p99 %8.3f ms   n %zu\n", what, sorted[sorted.size() / 2],
              sorted[sorted.size() * 99 / 100], sorted.size());
}

int measure(const std::string& name) {
  LinuxTarget target;
  target.device = "gpu1";
  target.netns_path = "/run/netns/" + name;
  const Attached attached = make_linux_driver(std::move(target));
  ChangeSet changes;
  for (int rail = 0; rail < 2; ++rail)
    for (const auto& [entry, want] : rail_entries(rail)) {
      const auto path = Path::parse(entry);
      if (!path) return 1;
      changes.push_back(Change{*path, {}, want, 0});
    }
  Guard guard;
  guard.ticket = "perf";
  const auto receipt = attached.driver->apply(changes, guard, Call{});
  if (!receipt) return 1;
  for (const auto& one : receipt->outcomes)
    if (one.error) std::printf("%s: %s\n", one.path.text().c_str(), one.error->text().c_str());

  std::size_t entries = 0;
  print("observe, lockstep", timed(500, [&] {
          const auto seen = attached.driver->observe(Scope{}, {}, Call{});
          if (seen) entries = seen->have.size();
          return seen && seen->unread.empty();
        }));
  const std::string in = "-n " + name + " -j ";
  const std::string exec = "ip netns exec " + name + " ";
  const std::vector<std::string> commands = {
      "ip " + in + "link",
      "ip " + in + "address",
      "ip " + in + "-4 route show table all",
      "ip " + in + "-6 route show table all",
      "ip " + in + "nexthop",
      "ip " + in + "-4 rule",
      "ip " + in + "-6 rule",
      "tc " + in + "qdisc",
      "tc " + in + "class show dev rail0",
      "tc " + in + "class show dev rail1",
      "tc " + in + "filter show dev rail0",
      "tc " + in + "filter show dev rail1",
      exec + "ethtool -k rail0",
      exec + "ethtool -k rail1",
      exec +
          "sysctl net.ipv4.ip_forward net.ipv4.tcp_ecn "
          "net.ipv4.conf.rail0.rp_filter net.ipv4.conf.rail1.rp_filter"};
  print("the same reads by ip -j, tc, ...",
        timed(20, [&] { return std::all_of(commands.begin(), commands.end(), shell); }));
  std::printf("%zu entries; %zu commands\n", entries, commands.size());
  return 0;
}

}  // namespace

int main() {
  if (::geteuid() != 0) {
    std::puts("needs root: makes a network namespace");
    return 0;
  }
  const std::string name = "lslinux-perf-" + std::to_string(::getpid());
  bool made = shell("ip netns add " + name) && shell("ip -n " + name + " link set lo up");
  for (const std::string rail : {"rail0", "rail1"})
    made = made && shell("ip -n " + name + " link add " + rail + " type veth peer name " + rail + "p") &&
           shell("ip -n " + name + " link set " + rail + "p up");
  const int code = made ? measure(name) : 1;
  shell("ip netns del " + name);
  return code;
}
