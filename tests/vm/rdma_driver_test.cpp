// RDMA by the linux driver on Soft-RoCE: from entries to the configfs of rdma_cm and back, manual drift,
// refusals and discovery. The actual state is read from the kernel, not from the driver.
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "drivers/linux/discover.hpp"
#include "drivers/linux/driver.hpp"
#include "drivers/linux/rdma/counters.hpp"
#include "drivers/linux/rdma/inventory.hpp"
#include "drivers/linux/rdma/part.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/unit/linux/no_descriptors.hpp"
#include "tests/vm/rxe_lab.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kTos = "interface[h1]/roce-tos";
const std::string kEntry = "/sys/kernel/config/rdma_cm/rxe1";

Call soon() {
  return Call{.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30), .stop = {}};
}

Path path(std::string_view text) {
  const auto parsed = Path::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : Path{};
}

// A foreign user of configfs with their own entry, which is removed with the object.
class ByHand {
 public:
  ByHand() { EXPECT_EQ(::mkdir(kEntry.c_str(), 0755), 0); }
  ByHand(const ByHand&) = delete;
  ByHand& operator=(const ByHand&) = delete;
  ~ByHand() { EXPECT_EQ(::rmdir(kEntry.c_str()), 0); }
  static std::string text(const std::string& name) {
    std::string out;
    std::getline(std::ifstream(kEntry + "/ports/1/" + name), out);
    return out;
  }
  static void write(const std::string& name, const std::string& value) {
    EXPECT_TRUE(std::ofstream(kEntry + "/ports/1/" + name) << value << std::flush) << name;
  }
};

class RdmaDriver : public RxeLab {
 protected:
  void SetUp() override {
    RxeLab::SetUp();
    LinuxTarget target;
    target.device = "gpu1";
    attached_ = make_linux_driver(target);
  }
  Driver& driver() { return *attached_.driver; }
  Value value(std::string_view entry) {
    const auto seen = driver().observe(Scope{{path(entry).row()}}, "", soon());
    EXPECT_TRUE(seen) << seen.error().text();
    if (!seen) return {};
    for (const Unread& one : seen->unread) ADD_FAILURE() << one.why.text();
    return seen->have.value(path(entry));
  }
  // Returns "" on success.
  std::string apply(std::string_view entry, Value want) {
    const auto receipt = driver().apply({{path(entry), {}, want, 0}}, Guard{}, soon());
    EXPECT_TRUE(receipt) << receipt.error().text();
    if (!receipt || receipt->outcomes.size() != 1) return "no receipt";
    return receipt->outcomes[0].error ? receipt->outcomes[0].error->text() : "";
  }
  std::string why_incapable(RowId row, const std::string& port) {
    const auto seen = driver().observe({}, "", soon());
    EXPECT_TRUE(seen) << seen.error().text();
    if (!seen) return {};
    for (const Incapable& one : seen->incapable)
      if (one.row == row && one.keys == std::vector{port}) return one.reason;
    return {};
  }

  Attached attached_;
};

TEST_F(RdmaDriver, SetsReadsBackAndRollsBackTheTos) {
  EXPECT_EQ(value(kTos), Value::integer(0));
  EXPECT_EQ(apply(kTos, Value::integer(106)), "");
  EXPECT_EQ(value(kTos), Value::integer(106));
  EXPECT_EQ(value("interface[h2]/roce-tos"), Value::integer(0)) << "another device's";
  EXPECT_NE(::access(kEntry.c_str(), F_OK), 0) << "the entry stayed";
  {
    const ByHand hand;
    EXPECT_EQ(ByHand::text("default_roce_tos"), "106");
    EXPECT_EQ(ByHand::text("default_roce_mode"), "RoCE v2");
  }
  EXPECT_EQ(apply(kTos, Value::integer(0)), "");
  EXPECT_EQ(value(kTos), Value::integer(0));
}

TEST_F(RdmaDriver, DetectsAndRepairsManualDriftAndKeepsTheForeignEntry) {
  ASSERT_EQ(apply(kTos, Value::integer(106)), "");
  const ByHand hand;
  ByHand::write("default_roce_tos", "8");
  Intent intent;
  intent.want.set(path(kTos), Value::integer(106));
  const auto seen = driver().observe(Scope{}, "", soon());
  ASSERT_TRUE(seen) << seen.error().text();
  const ChangeSet drift = diff(intent, *seen).changes;
  ASSERT_EQ(drift.size(), 1U);
  EXPECT_EQ(drift[0].was, Value::integer(8));
  EXPECT_EQ(apply(kTos, drift[0].want), "");
  EXPECT_EQ(ByHand::text("default_roce_tos"), "106");
}

TEST_F(RdmaDriver, ARefusalHasTheKernelsMessageAndChangesNothing) {
  ASSERT_EQ(apply(kTos, Value::integer(106)), "");
  EXPECT_NE(apply(kTos, Value::integer(256)).find("Numerical result out of range"), std::string::npos);
  EXPECT_NE(apply(kTos, Value::text("0 (IB/RoCE v1)")).find("default_roce_mode: Invalid argument"),
            std::string::npos);
  EXPECT_EQ(value(kTos), Value::integer(106));
}

TEST_F(RdmaDriver, ReportsWhatAPortDoesNotSupport) {
  EXPECT_EQ(why_incapable(row("interface[*]/roce-tos"), "h1"), "");
  EXPECT_EQ(why_incapable(row("interface[*]/cnp-dscp"), "h1"),
            "rxe: software RDMA ignores congestion marks and sends no CNP");
  EXPECT_EQ(why_incapable(row("interface[*]/roce-tos"), "lo"), "no RDMA device has this port");
  EXPECT_NE(apply("interface[h1]/congestion-control", Value::text("dcqcn")).find("ignores congestion marks"),
            std::string::npos);
  EXPECT_NE(apply("interface[lo]/roce-tos", Value::integer(106)).find("no RDMA device has this port"),
            std::string::npos);
}

TEST_F(RdmaDriver, AFailedRequestIsNotReportedAsIncapable) {
  const auto part = make_rdma_part({});
  std::vector<Link> ports(1);
  ports[0].name = "h1";
  EXPECT_FALSE(part->incapable({}, ports, soon()).empty());
  const NoDescriptors none;
  const auto unasked = part->incapable({}, ports, soon());
  EXPECT_TRUE(unasked.empty()) << unasked.front().reason;
}

TEST_F(RdmaDriver, FindsDevicesPortsAndGids) {
  const auto host = discover_host(DiscoverTarget{}, soon());
  ASSERT_TRUE(host) << host.error().text();
  ASSERT_EQ(host->rdma.size(), 2U);
  const DiscoveredRdma& one = host->rdma[0];
  EXPECT_EQ(one.facts.name + " " + one.facts.driver, "rxe1 rxe");
  ASSERT_EQ(one.ports.size(), 1U);
  EXPECT_EQ(one.facts.ports[0].netdev, "h1");
  EXPECT_EQ(one.facts.ports[0].link_layer, "Ethernet");
  EXPECT_EQ(one.ports[0].path_mtu, 4096U);
  const rdma::Gid* const gid = rdma::choose_gid(one.ports[0].gids, rdma::kRoceV2, true, "h1");
  ASSERT_NE(gid, nullptr);
  EXPECT_EQ(gid->text, "0000:0000:0000:0000:0000:ffff:0a00:0001");
  const rdma::Gid* const six = rdma::choose_gid(one.ports[0].gids, rdma::kRoceV2, false, "h1");
  ASSERT_NE(six, nullptr);
  EXPECT_TRUE(six->link_local);
  EXPECT_EQ(rdma::choose_gid(one.ports[0].gids, "IB/RoCE v1", true, "h1"), nullptr);
}

TEST_F(RdmaDriver, EveryCounterOfRxeHasItsMeaning) {
  const HostFiles files("/");
  const auto before = rdma::read_counters(files, "rxe1", 1, "h1");
  ASSERT_TRUE(before) << before.error().text();
  EXPECT_TRUE(before->values.contains("sent_pkts"));
  const std::set<std::string> others = {"lifespan", "ack_deferred", "rdma_sends", "rdma_recvs"};
  for (const auto& [name, value] : before->values)
    EXPECT_TRUE(others.contains(name) || rdma::signal_of(name)) << name;
}

}  // namespace
}  // namespace lockstep
