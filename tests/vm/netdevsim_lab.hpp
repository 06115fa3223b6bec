// A NIC of the kernel's netdevsim: one port, virtual functions, devlink, and files in debugfs that break it.
#pragma once

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace lockstep {

class NetdevsimLab : public ::testing::Test {
 protected:
  static constexpr const char* kPort = "eth0";
  static constexpr const char* kDevice = "netdevsim/netdevsim1";
  static constexpr const char* kFunctions = "/sys/bus/netdevsim/devices/netdevsim1/sriov_numvfs";
  static constexpr const char* kDebug = "/sys/kernel/debug/netdevsim/netdevsim1/";

  void SetUp() override {
    const int mounted = ::mount("debugfs", "/sys/kernel/debug", "debugfs", 0, nullptr);
    ASSERT_TRUE(mounted == 0 || errno == EBUSY);
    ASSERT_TRUE(write("/sys/bus/netdevsim/new_device", "1 1 8"));  // number, ports, queues
  }
  void TearDown() override { EXPECT_TRUE(write("/sys/bus/netdevsim/del_device", "1")); }

  static bool write(const std::string& path, const std::string& text) {
    std::ofstream file(path);
    file << text << std::flush;
    return file.good();
  }
  // devlink(8), as another hand: "dev param set ...".
  static bool by_hand(const std::string& words) {
    std::istringstream in("devlink " + words);
    std::vector<std::string> list{std::istream_iterator<std::string>(in), {}};
    std::vector<char*> arguments;
    for (std::string& word : list) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t child = 0;
    if (::posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0) return false;
    int status = 0;
    return ::waitpid(child, &status, 0) == child && status == 0;
  }
  void break_device(const std::string& file, bool on = true) {
    ASSERT_TRUE(write(kDebug + file, on ? "Y" : "N")) << file;
  }
  static std::string line(const std::string& path) {
    std::string out;
    std::ifstream file(path);
    std::getline(file, out);
    return out;
  }
};

}  // namespace lockstep
