// A RoceProfile on a port whose speed is limited by software: from YAML to the scheduler of the port; drift
// by tc is reported with its spec line and repaired.
#include "specs/compile/compile.hpp"
#include "specs/language/load.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/vm/by_hand.hpp"
#include "tests/vm/compare_device.hpp"
#include "tests/vm/egress_lab.hpp"
#include "tests/vm/roce_cluster.hpp"

namespace lockstep {
namespace {

const std::string kCluster = roce_cluster("rail0", "");
constexpr std::string_view kPort = "interface[rail0]/";
constexpr RowId kClass = row("interface[*]/class[*]");

std::string at_line_of(std::string_view words) { return std::to_string(line_of(kCluster, words)) + " "; }

class QueueingSpecs : public EgressLab {
 protected:
  void SetUp() override {
    EgressLab::SetUp();
    const Loaded loaded = load_text("cluster.yaml", kCluster);
    ASSERT_TRUE(loaded.diagnostics.empty());
    compiled_ = compile(loaded.catalog, {.twin = TwinScale{}, .today = {}, .allocation = {}});
    const Intent& all = compiled_.intents[compiled_.topology.find_device("gpu1")];
    // Keeps the queueing entries of the port only: the rest of the host is not tested here.
    for (const Entry& entry : all.want.entries()) {
      const std::string text = entry.path.text();
      if (text.starts_with(std::string(kPort) + "class[") || text == std::string(kPort) + "rate")
        intent_.want.set(entry.path, entry.value, entry.origin);
    }
    for (const Claim& claim : all.claims)
      if (claim.collection == kClass) intent_.claims.push_back(claim);
  }
  ChangeSet differing() { return compare_device("gpu1", intent_, near_, soon()).difference.changes; }
  // The drifted entries, each as "LINE class[3]/dscp".
  std::vector<std::string> drift() {
    std::vector<std::string> out;
    for (const Change& one : differing())
      out.push_back(std::to_string(compiled_.origins[one.origin].at.line) + " " +
                    one.path.text().substr(kPort.size()));
    return out;
  }
  void converge() {
    apply(*near_.driver, differing());
    EXPECT_EQ(drift(), std::vector<std::string>{});
  }
  static void tc(const std::string& words) {
    EXPECT_TRUE(in_namespace("/run/netns/sender", [&] { by_hand("tc " + words); }));
  }

  Compiled compiled_;
  Intent intent_;
};

TEST_F(QueueingSpecs, ReportsDriftByTcWithItsSpecLineAndRepairsIt) {
  converge();
  const std::string rdma = at_line_of("{name: rdma, dscp");
  const std::string cnp = at_line_of("{name: cnp, dscp");
  tc("qdisc change dev rail0 root handle 4c53: tbf rate 50mbit burst 64kb limit 512kb");
  EXPECT_EQ(drift(), std::vector<std::string>{at_line_of("cabling: [") + "rate"});
  converge();
  tc("class change dev rail0 classid 4c5c:2 ets quantum 3000");
  EXPECT_EQ(drift(), std::vector<std::string>{rdma + "class[3]/share"});
  converge();
  tc("filter del dev rail0 egress pref 82");
  EXPECT_EQ(drift(), (std::vector<std::string>{rdma + "class[3]/dscp", cnp + "class[6]/dscp"}));
  converge();
}

}  // namespace
}  // namespace lockstep
