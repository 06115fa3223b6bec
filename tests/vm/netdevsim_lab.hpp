// A netdevsim NIC: one port, virtual functions, devlink, and files in debugfs that inject faults.
#pragma once

#include <gtest/gtest.h>
#include <sys/mount.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "tests/vm/by_hand.hpp"

namespace lockstep {

class NetdevsimLab : public ::testing::Test {
 protected:
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
