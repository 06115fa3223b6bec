// The rows that compile reports as set by no driver are those that the linux driver cannot set on any port.
// The FRR driver has routing rows only.
#include "specs/compile/unset_rows.hpp"

#include <gtest/gtest.h>

#include "drivers/linux/dcb/map.hpp"
#include "drivers/linux/driver.hpp"
#include "tests/unit/linux/lab.hpp"

namespace lockstep {
namespace {

bool is_set_by_none(RowId id) { return is_set_by_no_driver(id, std::array{DriverName::linux_kernel}); }

// A port whose driver implements all of dcbnl.
dcb::PortState able() {
  dcb::PortState out;
  out.dcb.ets = ieee_ets{};
  out.dcb.pfc = ieee_pfc{};
  out.dcb.maxrate = ieee_maxrate{};
  out.dcb.buffer = dcbnl_buffer{};
  out.dcb.mode = DCB_CAP_DCBX_HOST;
  out.trust.emplace();
  return out;
}

TEST(UnsetRows, AreTheRowsThatThisDriverCanSetOnNoPort) {
  const auto attached = make_linux_driver({});
  const Result<Traits> traits = attached.driver->traits(within(std::chrono::seconds(5)));
  ASSERT_TRUE(traits) << traits.error().text();
  const std::vector<RowId>& writes = traits->writes;
  const std::vector<RowId> of_ports = dcb_map::rows(true);
  for (std::size_t i = 0; i < kSchema.size(); ++i) {
    const auto id = static_cast<RowId>(i);
    const bool is_lossless = std::ranges::find(of_ports, id) != of_ports.end();
    const bool can_not = is_lossless && !dcb_map::object_of(id);
    EXPECT_TRUE(!can_not || is_set_by_none(id)) << kSchema[i].pattern;
    if (!is_set_by_none(id)) continue;
    EXPECT_TRUE(can_not || std::ranges::find(writes, id) == writes.end()) << kSchema[i].pattern;
    EXPECT_TRUE(!is_lossless || !dcb_map::lacking(id, able()).empty()) << kSchema[i].pattern;
  }
}

}  // namespace
}  // namespace lockstep
