// A Fabric's `allow` accepts exactly what a line of a drift report shows.
#include <gtest/gtest.h>

#include "specs/language/codes.hpp"
#include "specs/language/load.hpp"

namespace lockstep {
namespace {

Loaded loaded_with(const std::string& exception) {
  return load_text("fabric.yaml", R"(apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: all}
spec: {names: "a[1-2]", role: leaf, drivers: [linux]}
---
apiVersion: lockstep.dev/v1alpha1
kind: Fabric
metadata: {name: one}
spec:
  role: backend
  topology: rail-only
  cabling: [{from: "a1:p", to: "a2:p", by: pairs}]
  allow:
    - )" + exception + "\n");
}

// "LS1023 14:14: message", or nothing.
std::string said_of(const std::string& exception) {
  const Loaded loaded = loaded_with(exception);
  std::string out;
  for (const Diagnostic& one : loaded.diagnostics)
    out += one.code + " " + std::to_string(one.at.line) + ":" + std::to_string(one.at.column) + ": " +
           one.message + "\n";
  return out;
}

TEST(Allow, AcceptsTextAsReportsShowIt) {
  for (const std::string what :
       {"route: blackhole 10.64.0.64/26 proto static",
        "route: 10.64.1.0/24 via 10.64.0.1 dev rail0 proto boot",
        "rule: 'rule 50: from all lookup 77 (10.64.1.0/24 via 10.64.0.1 dev rail0 proto boot table 77)'",
        "neighbor: 10.64.0.1 at 02:00:00:00:00:99 on rail0", "filter: 'nft inet f c (forward): policy drop'",
        "filter: 'tc ingress of swp1: bpf count'", "filter: XDP on swp1 (native)",
        "filter: 'xfrm policy out: from 10.64.0.0/16 to 10.64.0.0/16 tmpl'"})
    EXPECT_EQ(said_of("{" + what + ", reason: x, until: 2026-12-01}"), "") << what;
  const Loaded loaded = loaded_with("{filter: XDP on a (native), reason: a trial, until: 2026-12-01}");
  const AllowedState& one = loaded.catalog.fabrics.at(0).allow.at(0);
  EXPECT_EQ(*one.filter, "XDP on a (native)");
  EXPECT_EQ(*one.reason, "a trial");
  EXPECT_EQ(format(*one.until), "2026-12-01");
}

TEST(Allow, OtherTextIsAnErrorAtItsPlace) {
  for (const std::string what :
       {"route: 'rule 5: from all blackhole'", "route: address 10.64.1.1/32 on extra0",
        "route: rail0 is under br0 (bridge)", "route: 10.64.1.1 from 10.64.0.1 iif swp1",
        "neighbor: rail0 asks for no neighbors (arp off)", "filter: forward drops"})
    EXPECT_EQ(said_of("{" + what + ", reason: x, until: 2026-12-01}").substr(0, 8), "LS1023 1") << what;
  EXPECT_EQ(said_of("{rule: from all blackhole, reason: x, until: 2026-12-01}"),
            "LS1023 14:14: 'from all blackhole' is no rule as a report names it\n");
}

TEST(Allow, ExceptionNeedsOneObjectAReasonAndADate) {
  EXPECT_NE(said_of("{reason: x, until: 2026-12-01}").find("LS1003 14:7"), std::string::npos);
  EXPECT_NE(
      said_of("{rule: 'rule 5: from all blackhole', filter: XDP on a (native), reason: x, until: 2026-12-01}")
          .find("LS1010 14:7: an exception names one of route, rule, neighbor and filter"),
      std::string::npos);
  EXPECT_NE(said_of("{filter: XDP on a (native), reason: x}").find("'until' is missing"), std::string::npos);
  EXPECT_NE(said_of("{filter: XDP on a (native), until: 2026-12-01}").find("'reason' is missing"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep
