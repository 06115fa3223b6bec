// DCB and pause of ports of our test netdev, by the linux driver.
#pragma once

#include "drivers/linux/ethtool/ethtool.hpp"
#include "tests/vm/nic_driver_lab.hpp"

namespace lockstep {

class DcbDriver : public NicDriver {
 protected:
  unsigned pfc(const std::string& port) { return read(port).pfc.value_or(ieee_pfc{}).pfc_en; }
  std::uint32_t size(const std::string& port, std::size_t priority) {
    const dcbnl_buffer buffer = read(port).buffer.value_or(dcbnl_buffer{});
    return buffer.buffer_size[buffer.prio2buffer[priority]];
  }
  // Sets global pause manually, bypassing the driver.
  void set_pause(const std::string& port, bool on) {
    auto ethtool = Ethtool::open(soon());
    ASSERT_TRUE(ethtool);
    const auto set = ethtool->set_pause(index(port), on, soon());
    ASSERT_TRUE(set) << set.error().text();
  }
  bool pause(const std::string& port) {
    auto ethtool = Ethtool::open(soon());
    EXPECT_TRUE(ethtool);
    if (!ethtool) return false;
    const auto pauses = ethtool->pauses(soon());
    EXPECT_TRUE(pauses);
    return pauses && pauses->contains(index(port)) && pauses->at(index(port));
  }
};

}  // namespace lockstep
