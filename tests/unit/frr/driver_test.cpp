// The driver over daemons that do as told.
#include "drivers/frr/driver.hpp"

#include <gtest/gtest.h>

#include "tests/unit/frr/fake_vty.hpp"
#include "tests/unit/frr/recorded.hpp"

namespace lockstep::frr {
namespace {

TEST(FrrDriverOverAFake, AResetThatCouldNotBeTriedComesAfterAWrite) {
  const Folder folder;
  const FakeVty bgpd(folder.name(), "bgpd", {.on = "end", .pieces = {framed("", 0)}, .vanish = true},
                     {{"show running-config", recorded("bgpd-datacenter.txt")},
                      {"show version", recorded("version.txt")},
                      {"show bgp summary json", recorded("bgp-summary.json")},
                      {"show bgp neighbors json", recorded("bgp-neighbors.json")}});
  FrrTarget target;
  target.device = "leaf0";
  target.run_dir = folder.name();
  const Attached attached = make_frr_driver(target);
  const Path hold = *Path::parse("bgp/neighbor[up0]/hold");
  Guard guard;
  guard.ticket = "t1";
  const auto receipt = attached.driver->apply(
      {{hold, {}, Value::integer(30), 0}}, guard,
      {.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10), .stop = {}});
  ASSERT_TRUE(receipt) << receipt.error().text();
  EXPECT_FALSE(bgpd.configured().empty()) << "nothing was set";
  ASSERT_TRUE(receipt->outcomes[0].error);
  EXPECT_NE(receipt->outcomes[0].error->text().find("keeps its former timers"), std::string::npos)
      << receipt->outcomes[0].error->text();
  EXPECT_EQ(receipt->outcomes[0].error->kind, ErrorKind::unknown_outcome);
}

}  // namespace
}  // namespace lockstep::frr
