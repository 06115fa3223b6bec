// Shared by the tests of live twins: layouts, a twin that is always taken down, queries of this machine.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "reconciler/twin/namespace.hpp"
#include "reconciler/twin/remains.hpp"
#include "reconciler/twin/twin.hpp"
#include "tests/needs.hpp"

namespace lockstep {

#define NEEDS_ROOT LOCKSTEP_NEEDS_ROOT("makes network namespaces")

inline std::string test_cluster(const std::string& suffix) {
  return "lstwin" + std::to_string(::getpid()) + suffix;
}

// `hosts` hosts with `rails` ports each, rail r to leaf r, every leaf to every spine.
inline TwinLayout rail_pod(const std::string& cluster, int hosts, int rails, int spines,
                           bool offload = true) {
  TwinLayout out;
  out.cluster = cluster;
  const auto name = [](const char* kind, int number) { return kind + std::to_string(number); };
  for (int h = 0; h < hosts; ++h) out.devices.push_back({name("gpu", h), TwinRole::host, false});
  for (int r = 0; r < rails; ++r) out.devices.push_back({name("leaf", r), TwinRole::device_switch, true});
  for (int s = 0; s < spines; ++s) out.devices.push_back({name("spine", s), TwinRole::device_switch, true});
  for (int h = 0; h < hosts; ++h)
    for (int r = 0; r < rails; ++r)
      out.cables.push_back({name("gpu", h), name("rail", r), name("leaf", r), name("swp", h), offload});
  for (int r = 0; r < rails; ++r)
    for (int s = 0; s < spines; ++s)
      out.cables.push_back({name("leaf", r), name("up", s), name("spine", s), name("swp", r), offload});
  return out;
}

inline TwinOptions without_lldp() {
  TwinOptions out;
  out.lldp = false;
  return out;
}

// Whether the same process is alive and not a zombie.
inline bool runs(const ProcessIdentity& who) {
  const auto now = identity_of(who.pid);
  if (!now || now->started != who.started) return false;
  std::error_code gone;
  return std::filesystem::exists("/proc/" + std::to_string(who.pid) + "/fd/1", gone);
}

inline bool eventually(const std::function<bool()>& holds,
                       std::chrono::milliseconds patience = std::chrono::milliseconds(10'000)) {
  for (const auto until = std::chrono::steady_clock::now() + patience;
       std::chrono::steady_clock::now() < until;) {
    if (holds()) return true;
    (void)::poll(nullptr, 0, 2);  // between two checks
  }
  return holds();
}

// Every process of a twin: the supervisor and the daemons, by pid and start time.
inline std::vector<ProcessIdentity> processes_of(const TwinReport& report) {
  std::vector<ProcessIdentity> out;
  if (auto one = identity_of(report.supervisor)) out.push_back(*one);
  for (const DaemonState& daemon : report.daemons)
    if (auto one = identity_of(daemon.pid)) out.push_back(*one);
  return out;
}

inline void expect_nothing_left(const std::string& cluster, const std::vector<ProcessIdentity>& processes) {
  EXPECT_EQ(remains_of(cluster), std::vector<std::string>());
  EXPECT_FALSE(std::filesystem::exists(twin_places(cluster).run_dir));
  for (const ProcessIdentity& one : processes) EXPECT_FALSE(runs(one)) << "pid " << one.pid;
}

inline std::string read_whole(int descriptor) {
  std::string out;
  char piece[4096];
  for (ssize_t got; (got = ::read(descriptor, piece, sizeof(piece))) > 0;)
    out.append(piece, static_cast<std::size_t>(got));
  return out;
}

// Runs `argv` in a device and returns its output.
inline std::string output_of(const std::string& cluster, const std::string& device,
                             const std::vector<std::string>& argv) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], 1);
    ::close(ends[0]);
    ::close(ends[1]);
    const Error failed = exec(cluster, device, argv);
    (void)::dprintf(1, "%s\n", failed.text().c_str());
    ::_exit(127);
  }
  ::close(ends[1]);
  std::string out = read_whole(ends[0]);
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return out;
}

// Takes the cluster down at the end of a test, even if the test fails half-way.
struct DownAtEnd {
  std::string cluster;
  ~DownAtEnd() {
    if (const auto gone = down(cluster); !gone) ADD_FAILURE() << gone.error().text();
  }
};

}  // namespace lockstep
