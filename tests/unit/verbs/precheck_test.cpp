// The reasons why RDMA cannot run, on recorded trees and facts.
#include "bench/verbs/precheck.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/verbs/exchange.hpp"

namespace lockstep::bench::verbs {
namespace {

namespace fs = std::filesystem;

// Two devices of a server with ConnectX NICs (mlx5: every address has a RoCE v1 and a v2 GID).
class RecordedTree {
 public:
  RecordedTree() {
    port("mlx5_0", "4: ACTIVE", "1");
    gid("mlx5_0", 0, "fe80:0000:0000:0000:0000:00ff:fe00:0001", "IB/RoCE v1", "eth0");
    gid("mlx5_0", 1, "fe80:0000:0000:0000:0000:00ff:fe00:0001", "RoCE v2", "eth0");
    gid("mlx5_0", 2, "0000:0000:0000:0000:0000:ffff:0a00:0001", "IB/RoCE v1", "eth0");
    gid("mlx5_0", 3, "0000:0000:0000:0000:0000:ffff:0a00:0001", "RoCE v2", "eth0");
    gid("mlx5_0", 4, "0000:0000:0000:0000:0000:0000:0000:0000", "", "");
    port("mlx5_1", "1: DOWN", "0");
    gid("mlx5_1", 0, "0000:0000:0000:0000:0000:ffff:0a00:0101", "IB/RoCE v1", "eth1");
  }
  ~RecordedTree() { fs::remove_all(root_); }
  HostFiles files() const { return HostFiles(root_); }

 private:
  void put(const fs::path& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
  }
  void port(const std::string& device, const std::string& state, const std::string& node) const {
    const fs::path folder = fs::path("sys/class/infiniband") / device;
    put(folder / "device/numa_node", node);
    put(folder / "ports/1/state", state);
  }
  void gid(const std::string& device, int index, const std::string& gid, const std::string& type,
           const std::string& netdev) const {
    const fs::path folder = fs::path("sys/class/infiniband") / device / "ports/1";
    put(folder / "gids" / std::to_string(index), gid);
    put(folder / "gid_attrs/types" / std::to_string(index), type);
    put(folder / "gid_attrs/ndevs" / std::to_string(index), netdev);
  }
  fs::path root_ = fs::temp_directory_path() / ("verbs-tree-" + std::to_string(getpid()));
};

class Precheck : public ::testing::Test {
 protected:
  Precheck() {
    good_.address = "10.0.0.1";
    good_.netdev = good_.leaves_by = "eth0";
    good_.netdev_mtu = 9000;
    good_.devices = read_rdma_devices(tree_.files(), Call{});
    good_.peer = good_.next_hop = "10.0.0.2";
    good_.neighbour = "reachable";
  }
  static std::vector<std::string> texts(const Facts& facts, const Workload& workload = {}) {
    std::vector<std::string> out;
    for (const Finding& one : precheck(facts, workload))
      out.push_back(std::string(word(one.what)) + ": " + one.text);
    return out;
  }
  using Texts = std::vector<std::string>;

  RecordedTree tree_;
  Facts good_;
};

TEST_F(Precheck, AHealthyEndHasNoObstacle) { EXPECT_EQ(texts(good_), Texts{}); }

TEST_F(Precheck, TheGidIsChosenByTypeAndAddress) {
  const auto gid = choose_gid(good_.devices, "10.0.0.1", "");
  ASSERT_TRUE(gid) << gid.error().text();
  EXPECT_EQ(gid->device, "mlx5_0");
  EXPECT_EQ(gid->index, 3U);
  EXPECT_EQ(gid->netdev, "eth0");
  EXPECT_EQ(gid->numa_node, 1);
  const auto v6 = choose_gid(good_.devices, "fe80::ff:fe00:1", "");
  ASSERT_TRUE(v6) << v6.error().text();
  EXPECT_EQ(v6->index, 1U);
  EXPECT_FALSE(choose_gid(good_.devices, "ten", ""));
}

TEST_F(Precheck, ReportsMissingDevicesAndGids) {
  Facts bad = good_;
  bad.devices.clear();
  EXPECT_EQ(texts(bad),
            Texts{"device: there is no RDMA device on this machine: none in /sys/class/infiniband"});
  bad = good_;
  bad.address = "10.0.1.1";
  bad.netdev = bad.leaves_by = "eth1";
  EXPECT_EQ(texts(bad),
            Texts{"gid: no RDMA device has a RoCE v2 GID of 10.0.1.1 "
                  "(0000:0000:0000:0000:0000:ffff:0a00:0101): mlx5_1 has it as IB/RoCE v1 on eth1"});
  bad.address = "10.0.2.1";
  bad.netdev = bad.leaves_by = "eth2";
  EXPECT_EQ(texts(bad), (Texts{"device: eth2 has no RDMA device (there are: mlx5_0, mlx5_1)",
                               "gid: no RDMA device has a RoCE v2 GID of 10.0.2.1 "
                               "(0000:0000:0000:0000:0000:ffff:0a00:0201)"}));
  bad = good_;
  bad.wanted_device = "mlx5_1";
  EXPECT_EQ(texts(bad),
            Texts{"gid: mlx5_1 does not have a RoCE v2 GID of 10.0.0.1 "
                  "(0000:0000:0000:0000:0000:ffff:0a00:0001): mlx5_0 has it as IB/RoCE v1 on eth0; "
                  "mlx5_0 has it as RoCE v2 on eth0"});
}

TEST_F(Precheck, ReportsPortsInterfacesAndAccess) {
  Facts bad = good_;
  bad.devices[0].ports[0].facts.state = "INIT";
  EXPECT_EQ(texts(bad), Texts{"port-state: mlx5_0 port 1 is INIT"});
  bad = good_;
  bad.carrier = false;
  EXPECT_EQ(texts(bad), Texts{"netdev: eth0 has no carrier"});
  bad.up = false;
  EXPECT_EQ(texts(bad), Texts{"netdev: eth0 is down"});
  bad = good_;
  bad.netdev.clear();
  EXPECT_EQ(texts(bad), Texts{"netdev: no interface here has the address 10.0.0.1"});
  bad = good_;
  bad.cannot_open = "/dev/infiniband/uverbs0: Permission denied";
  EXPECT_EQ(texts(bad), Texts{"access: /dev/infiniband/uverbs0: Permission denied"});
}

TEST_F(Precheck, ReportsThePathToThePeer) {
  Facts bad = good_;
  bad.no_route = "Network is unreachable";
  EXPECT_EQ(texts(bad), Texts{"route: no route from eth0 to 10.0.0.2: Network is unreachable"});
  bad = good_;
  bad.leaves_by = "eth7";
  EXPECT_EQ(texts(bad), Texts{"route: packets to 10.0.0.2 leave by eth7, not by eth0"});
  bad = good_;
  bad.neighbour = "failed";
  EXPECT_EQ(texts(bad),
            Texts{"neighbor: 10.0.0.2 does not answer on eth0 (neighbor failed): it is off, or in "
                  "another VLAN"});
  bad.neighbour = "";
  EXPECT_EQ(texts(bad), Texts{}) << "never asked";
}

TEST_F(Precheck, ChecksMtuAndMemlockAgainstTheWorkload) {
  Facts bad = good_;
  bad.netdev_mtu = 1500;
  Workload workload;
  workload.path_mtu = 4096;
  EXPECT_EQ(texts(bad, workload),
            Texts{"mtu: eth0's MTU of 1500 gives an RDMA MTU of 1024, below the 4096 asked for"});
  const auto told = precheck(bad, Workload{});
  ASSERT_EQ(told.size(), 1U);
  EXPECT_FALSE(told.front().blocks) << "smaller packets are no obstacle";
  bad.netdev_mtu = 300;
  EXPECT_TRUE(blocked(precheck(bad, Workload{})));
  bad = good_;
  bad.memlock = 65536;
  EXPECT_EQ(texts(bad), Texts{});
  Workload large;
  large.bytes = 262144;
  EXPECT_EQ(texts(bad, large),
            Texts{"memlock: this process may lock 65536 bytes of memory (RLIMIT_MEMLOCK), the workload "
                  "needs 262144: raise the limit, or give CAP_IPC_LOCK"});
  Workload datagram;
  datagram.operation = Operation::send;
  datagram.service = Service::datagram;
  datagram.measure = Measure::latency;
  datagram.bytes = 4097;
  EXPECT_EQ(texts(good_, datagram),
            Texts{"mtu: a UD message of 4097 bytes does not fit the RDMA MTU of 4096"});
}

TEST(Mtu, OfPortsAndPackets) {
  EXPECT_EQ(packet_bytes(4096, false), 4156U);
  EXPECT_EQ(*path_mtu_of(4096, 1024, Workload{}), 1024U);
  Workload wide;
  wide.path_mtu = 2048;
  EXPECT_EQ(*path_mtu_of(4096, 4096, wide), 2048U);
  EXPECT_FALSE(path_mtu_of(4096, 1024, wide));
}

TEST(Facts, OfThisMachinesOwnKernel) {
  Call call;
  call.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  const Facts here = read_facts(HostFiles("/nowhere"), "127.0.0.1", "", "127.0.0.2", call);
  EXPECT_EQ(here.netdev, "lo");
  EXPECT_GT(here.netdev_mtu, 0U);
  EXPECT_EQ(here.leaves_by, "lo");
  EXPECT_EQ(here.no_route, "");
  EXPECT_LT(std::chrono::steady_clock::now(), call.deadline);
  EXPECT_EQ(read_facts(HostFiles("/nowhere"), "192.0.2.77", "", "127.0.0.2", call).netdev, "");
}

}  // namespace
}  // namespace lockstep::bench::verbs
