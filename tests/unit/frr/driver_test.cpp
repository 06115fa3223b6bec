// The driver against scripted daemons.
#include "drivers/frr/driver.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "specs/model/schema_rows.hpp"
#include "tests/unit/frr/fake_vty.hpp"
#include "tests/unit/frr/recorded.hpp"

namespace lockstep::frr {
namespace {

TEST(FrrDriverOverAFake, AFailedSessionResetIsReportedAfterTheWrite) {
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

// Parsing stops at the limits: entries of an oversized answer are unread rather than absent.
TEST(FrrDriverOverAFake, AnOversizedAnswerIsUnreadAndNotAbsent) {
  std::string wide = "{\"peers\": [";
  for (int i = 0; i < 5'000'000; ++i) wide += "0,";
  for (const std::string& bomb : {std::string(1U << 20, '['), wide + "0]}"}) {
    const Folder folder;
    const FakeVty bgpd(folder.name(), "bgpd", {},
                       {{"show running-config", recorded("bgpd-datacenter.txt")},
                        {"show version", recorded("version.txt")},
                        {"show bgp summary json", bomb},
                        {"show bgp neighbors json", recorded("bgp-neighbors.json")}});
    FrrTarget target;
    target.device = "leaf0";
    target.run_dir = folder.name();
    const auto seen = make_frr_driver(target).driver->observe(
        Scope{}, "", {.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60), .stop = {}});
    if (!seen) {
      EXPECT_NE(seen.error().text().find("JSON"), std::string::npos) << seen.error().text();
      continue;
    }
    EXPECT_TRUE(seen->revision.empty());
    const bool told = std::any_of(seen->unread.begin(), seen->unread.end(), [](const Unread& one) {
      return schema_row(one.row).pattern.starts_with("bgp/neighbor") &&
             one.why.text().find("JSON") != std::string::npos;
    });
    EXPECT_TRUE(told) << seen->unread.size();
  }
}

}  // namespace
}  // namespace lockstep::frr
