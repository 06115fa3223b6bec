// Two network namespaces joined by a veth pair, created and removed with plain iproute2, so that the driver
// is tested against what another program sees and does. Skips the test with a reason when not root.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "drivers/linux/driver.hpp"
#include "tests/needs.hpp"
#include "tests/unit/linux/operational.hpp"

namespace lockstep {

inline int shell(const std::string& line) { return std::system((line + " >/dev/null 2>&1").c_str()); }

inline std::string shell_output(const std::string& line) {
  std::string out;
  FILE* pipe = ::popen((line + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return out;
  char piece[512];
  while (std::fgets(piece, sizeof(piece), pipe) != nullptr) out += piece;
  ::pclose(pipe);
  return out;
}

inline Call within(std::chrono::milliseconds limit) {
  Call call;
  call.deadline = std::chrono::steady_clock::now() + limit;
  return call;
}

inline Guard guarded(std::string ticket, std::string revision = {}, std::uint64_t epoch = 0) {
  Guard out;
  out.ticket = std::move(ticket);
  out.revision = std::move(revision);
  out.epoch = epoch;
  return out;
}

class Lab : public ::testing::Test {
 protected:
  void SetUp() override {
    LOCKSTEP_NEEDS_ROOT("makes network namespaces");
    static int count = 0;
    name_ = "lslinux-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
    // One batch that creates both ends in their namespaces.
    const std::string batch = "netns add " + name_ + "\nnetns add " + name_ + "p\n" +
                              "link add name rail0 netns " + name_ +
                              " mtu 1500 type veth peer name swp1 netns " + name_ + "p mtu 9216\n";
    ASSERT_EQ(shell("printf '" + batch + "' | ip -batch -"), 0);
    ASSERT_EQ(ip("link set lo up"), 0);
    ASSERT_EQ(shell("ip -n " + name_ + "p link set swp1 up"), 0);
    attached_ = make_linux_driver(target());
  }
  void TearDown() override {
    if (name_.empty()) return;
    shell("ip netns del " + name_);
    shell("ip netns del " + name_ + "p");
  }

  LinuxTarget target(std::string lldpd_socket = {}) const {
    LinuxTarget out;
    out.device = "gpu1";
    out.netns_path = path();
    out.lldpd_socket = std::move(lldpd_socket);
    return out;
  }
  std::string path() const { return "/run/netns/" + name_; }
  int ip(const std::string& rest) const { return shell("ip -n " + name_ + " " + rest); }
  int tc(const std::string& rest) const { return shell("tc -n " + name_ + " " + rest); }
  std::string said(const std::string& tool, const std::string& rest) const {
    return shell_output(tool + " -n " + name_ + " " + rest);
  }
  // Sets rail0 up and waits until both ends accept frames.
  void bring_up() const {
    ASSERT_EQ(ip("link set rail0 up"), 0);
    await_operational(path(), {"rail0"});
    await_operational(path() + "p", {"swp1"});
  }
  Driver& driver() { return *attached_.driver; }

  Observation observed(std::vector<Path> named = {}) {
    auto seen = driver().observe(Scope{{}, std::move(named)}, {}, within(std::chrono::seconds(5)));
    EXPECT_TRUE(seen) << (seen ? "" : seen.error().text());
    return seen ? *std::move(seen) : Observation{};
  }
  Value value(const std::string& entry) {
    const auto parsed = Path::parse(entry);
    EXPECT_TRUE(parsed) << entry;
    return parsed ? observed({*parsed}).have.value(*parsed) : Value{};
  }
  // Applies the changes; returns the text of every outcome in order ("" on success).
  std::vector<std::string> apply(const std::vector<std::pair<std::string, Value>>& wanted) {
    ChangeSet changes;
    for (const auto& [entry, want] : wanted) {
      const auto parsed = Path::parse(entry);
      EXPECT_TRUE(parsed) << entry;
      if (parsed) changes.push_back(Change{*parsed, {}, want, 0});
    }
    std::vector<std::string> out;
    auto receipt = driver().apply(changes, guarded("t1"), within(std::chrono::seconds(5)));
    EXPECT_TRUE(receipt) << (receipt ? "" : receipt.error().text());
    if (!receipt) return out;
    EXPECT_EQ(receipt->ticket, "t1");
    for (const auto& one : receipt->outcomes) out.push_back(one.error ? one.error->text() : "");
    return out;
  }
  void applies(const std::vector<std::pair<std::string, Value>>& wanted) {
    for (const std::string& outcome : apply(wanted)) EXPECT_EQ(outcome, "");
  }

  std::string name_;
  Attached attached_;
};

}  // namespace lockstep
