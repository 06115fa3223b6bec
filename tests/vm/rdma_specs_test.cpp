// A RoceProfile on a host whose NIC is Soft-RoCE: from YAML to the configfs of rdma_cm, manual drift that is
// reported with its spec line, and unsupported settings.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "drivers/linux/driver.hpp"
#include "specs/compile/compile.hpp"
#include "specs/language/load.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/vm/by_hand.hpp"
#include "tests/vm/compare_device.hpp"
#include "tests/vm/roce_cluster.hpp"
#include "tests/vm/rxe_lab.hpp"

namespace lockstep {
namespace {

const std::string kCluster = roce_cluster("h1", "  congestionControl: dcqcn\n");
constexpr std::int64_t kTos = 26 << 2 | 2;  // with ECT(0), RFC 3168

Call soon() {
  return Call{.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30), .stop = {}};
}

class RdmaSpecs : public RxeLab {
 protected:
  void SetUp() override {
    RxeLab::SetUp();
    const Loaded loaded = load_text("cluster.yaml", kCluster);
    ASSERT_TRUE(loaded.diagnostics.empty());
    compiled_ = compile(loaded.catalog);
    // Keeps the RDMA entries only: the rest of the host is not tested here.
    for (const Entry& entry : compiled_.intents[compiled_.topology.find_device("gpu1")].want.entries())
      if (kRows.contains(entry.path.row())) intent_.want.set(entry.path, entry.value, entry.origin);
    attach();
  }
  // Attaches a new driver, as each command does: a driver caches what the machine does not support.
  void attach() {
    LinuxTarget target;
    target.device = "gpu1";
    attached_ = make_linux_driver(target);
  }
  DeviceState compared() { return compare_device("gpu1", intent_, attached_, soon()); }
  void apply(const ChangeSet& changes) {
    const auto receipt = attached_.driver->apply(changes, Guard{}, soon());
    ASSERT_TRUE(receipt) << receipt.error().text();
    for (const Receipt::Outcome& one : receipt->outcomes)
      EXPECT_FALSE(one.error) << one.path.text() << ": " << one.error->text();
  }

  inline static const std::set<RowId> kRows = {row("interface[*]/roce-tos"), row("interface[*]/cnp-dscp"),
                                               row("interface[*]/cnp-priority"),
                                               row("interface[*]/congestion-control")};
  Compiled compiled_;
  Intent intent_;
  Attached attached_;
};

TEST_F(RdmaSpecs, TheTosOfAProfileConvergesAndDriftIsReportedAndRepaired) {
  apply(compared().difference.changes);
  EXPECT_TRUE(compared().difference.changes.empty());
  const std::string entry = "/sys/kernel/config/rdma_cm/rxe1";
  ASSERT_EQ(::mkdir(entry.c_str(), 0755), 0);
  std::int64_t now = 0;
  std::ifstream(entry + "/ports/1/default_roce_tos") >> now;
  EXPECT_EQ(now, kTos);
  EXPECT_TRUE(std::ofstream(entry + "/ports/1/default_roce_tos") << 0 << std::flush);
  const ChangeSet drift = compared().difference.changes;
  ASSERT_EQ(drift.size(), 1U);
  EXPECT_EQ(drift[0].path.text(), "interface[h1]/roce-tos");
  EXPECT_EQ(drift[0].was, Value::integer(0));
  EXPECT_EQ(compiled_.origins[drift[0].origin].at.line, line_of(kCluster, "dscp: [26]"));
  apply(drift);
  EXPECT_TRUE(compared().difference.changes.empty());
  EXPECT_EQ(::rmdir(entry.c_str()), 0);
}

TEST_F(RdmaSpecs, ReportsAndRepairsAManuallyRecreatedDevice) {
  apply(compared().difference.changes);
  by_hand("rdma link delete rxe1");
  const std::string tos = "interface[h1]/roce-tos";
  attach();
  const DeviceState gone = compared();
  const auto lacking = std::ranges::find(gone.not_applied, tos, [](auto& one) { return one.path.text(); });
  ASSERT_NE(lacking, gone.not_applied.end());
  EXPECT_EQ(lacking->reason, "no RDMA device has this port");
  EXPECT_EQ(compiled_.origins[lacking->origin].at.line, line_of(kCluster, "dscp: [26]"));
  by_hand("rdma link add rxe1 type rxe netdev h1");
  attach();
  const ChangeSet drift = compared().difference.changes;
  ASSERT_EQ(drift.size(), 1U);
  EXPECT_EQ(drift[0].path.text(), tos);
  EXPECT_EQ(drift[0].was, Value::integer(0));
  EXPECT_EQ(compiled_.origins[drift[0].origin].at.line, line_of(kCluster, "dscp: [26]"));
  apply(drift);
  EXPECT_TRUE(compared().difference.changes.empty());
}

TEST_F(RdmaSpecs, SettingsUnsupportedBySoftRoceAreReportedAndAreNotDrift) {
  std::set<std::string> entries;
  for (const NotApplied& one : compared().not_applied) {
    entries.insert(one.path.text());
    EXPECT_NE(one.reason.find("ignores congestion marks"), std::string::npos) << one.reason;
    EXPECT_NE(one.origin, 0U) << "the spec line that wants it";
  }
  EXPECT_EQ(entries, (std::set<std::string>{"interface[h1]/cnp-dscp", "interface[h1]/cnp-priority",
                                            "interface[h1]/congestion-control"}));
}

}  // namespace
}  // namespace lockstep
