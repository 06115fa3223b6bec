// The time to observe a leaf switch of 128 ports with 1,000 prefixes over two next hops each, including
// diversions of the pool, the first time and again. Goal: under 100 ms (issue 12). Needs root.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "drivers/linux/driver.hpp"
#include "tests/large_leaf.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using namespace lockstep;

constexpr int kTimes = 50;

int measure(const std::string& name) {
  LinuxTarget target;
  target.device = "leaf0";
  target.netns_path = "/run/netns/" + name;
  const Attached attached = make_linux_driver(std::move(target));
  const Scope scope{{}, large_leaf_names()};
  std::vector<double> took;
  for (int i = 0; i <= kTimes; ++i) {
    const auto begin = Clock::now();
    const auto seen = attached.driver->observe(scope, {}, Call{});
    took.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    if (!seen || !seen->unread.empty() || seen->have.value(scope.named.front()) != Value::set({})) {
      fmt::print("not observed whole, or something is diverted\n");
      return 1;
    }
    if (i == 0) fmt::print("{} entries, first time {:.1f} ms\n", seen->have.size(), took.front());
  }
  std::sort(took.begin() + 1, took.end());
  fmt::print("again: median {:.1f} ms, largest {:.1f} ms of {}\n", took[1 + kTimes / 2], took.back(), kTimes);
  return 0;
}

}  // namespace

int main() {
  if (::geteuid() != 0) {
    std::puts("needs root: makes a network namespace");
    return 0;
  }
  const std::string name = "lsleaf-perf-" + std::to_string(::getpid());
  const bool made = std::system(("ip netns add " + name).c_str()) == 0 && make_large_leaf(name);
  const int code = made ? measure(name) : 1;
  if (std::system(("ip netns del " + name).c_str()) != 0) return 1;
  return code;
}
