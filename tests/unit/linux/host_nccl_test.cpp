// /etc/nccl.conf of a recorded host with two RDMA devices.
#include "tests/unit/linux/host_lab.hpp"

namespace lockstep {
namespace {

class Nccl : public HostLab {
 protected:
  void SetUp() override {
    HostLab::SetUp();
    host.rdma(0, "rail0");
    host.rdma(1, "rail1");
  }
  static constexpr const char* kFile = "etc/nccl.conf";
};

TEST_F(Nccl, ReadsTheFileAndMapsDevicesToInterfaces) {
  EXPECT_EQ(value("nccl/hca"), "(none)");
  EXPECT_EQ(value("nccl/traffic-class"), "(none)");
  host.file(kFile, "NCCL_DEBUG=WARN\nNCCL_IB_HCA==mlx5_1:1,mlx5_0\nNCCL_IB_TC=106\nNCCL_IB_TC=41\n");
  EXPECT_EQ(value("nccl/hca"), "rail0, rail1");
  EXPECT_EQ(value("nccl/traffic-class"), "106") << "the first line counts";
}

TEST_F(Nccl, ReportsInexactDeviceNamesVerbatim) {
  host.file(kFile, "NCCL_IB_HCA=rail0\n");
  EXPECT_EQ(value("nccl/hca"), "NCCL_IB_HCA=rail0") << "no device has the interface's name";
  host.file(kFile, "NCCL_IB_HCA==mlx5_0,rail1\nNCCL_IB_TC=0x6a\n");
  EXPECT_EQ(value("nccl/hca"), "NCCL_IB_HCA==mlx5_0,rail1");
  EXPECT_EQ(value("nccl/traffic-class"), "0x6a");
}

TEST_F(Nccl, RestoresThePreviousText) {
  for (const std::string before :
       {"NCCL_IB_HCA=^mlx5_2\nNCCL_IB_TC=0x6a\n", "NCCL_IB_HCA==mlx5_9\nNCCL_IB_TC=9\n"}) {
    host.file(kFile, before);
    const Tree found = read();
    EXPECT_EQ(apply("nccl/hca", Value::set({"rail0"})), "");
    EXPECT_EQ(apply("nccl/traffic-class", Value::integer(106)), "");
    EXPECT_EQ(host.text(kFile), "NCCL_IB_HCA==mlx5_0:1\nNCCL_IB_TC=106\n");
    for (const char* const entry : {"nccl/hca", "nccl/traffic-class"})
      EXPECT_EQ(apply(entry, found.value(path(entry))), "");
    EXPECT_EQ(host.text(kFile), before);
  }
}

TEST_F(Nccl, SetsAndRollsBackBothAndKeepsForeignLines) {
  host.file(kFile, "NCCL_DEBUG=WARN\nNCCL_IB_TC=41\n# NCCL_IB_TC=9\n");
  EXPECT_EQ(apply("nccl/traffic-class", Value::integer(106)), "");
  EXPECT_EQ(apply("nccl/hca", Value::set({"rail0", "rail1"})), "");
  EXPECT_EQ(host.text(kFile),
            "NCCL_DEBUG=WARN\nNCCL_IB_TC=106\n# NCCL_IB_TC=9\nNCCL_IB_HCA==mlx5_0:1,mlx5_1:1\n");
  EXPECT_EQ(value("nccl/hca"), "rail0, rail1");
  EXPECT_EQ(apply("nccl/hca", Value{}), "");
  EXPECT_EQ(apply("nccl/traffic-class", Value{}), "");
  EXPECT_EQ(host.text(kFile), "NCCL_DEBUG=WARN\n# NCCL_IB_TC=9\n");
}

TEST_F(Nccl, ReadsSetsAndRollsBackEachVariable) {
  struct Variable {
    const char* entry;
    const char* name;
    Value value;
    const char* text;
  };
  const Variable all[] = {
      {"nccl/adaptive-routing", "NCCL_IB_ADAPTIVE_ROUTING", Value::boolean(true), "1"},
      {"nccl/cross-nic", "NCCL_CROSS_NIC", Value::text("avoid"), "2"},
      {"nccl/gid-index", "NCCL_IB_GID_INDEX", Value::integer(-1), "-1"},
      {"nccl/qps-per-connection", "NCCL_IB_QPS_PER_CONNECTION", Value::integer(4), "4"},
      {"nccl/service-level", "NCCL_IB_SL", Value::integer(3), "3"},
      {"nccl/split-data-on-qps", "NCCL_IB_SPLIT_DATA_ON_QPS", Value::boolean(false), "0"},
  };
  for (const Variable& one : all) {
    SCOPED_TRACE(one.entry);
    EXPECT_EQ(value(one.entry), "(none)");
    EXPECT_EQ(apply(one.entry, one.value), "");
    EXPECT_EQ(host.text(kFile), std::string(one.name) + "=" + one.text + "\n");
    EXPECT_EQ(read().value(path(one.entry)), one.value);
    const Change change{path(one.entry), {}, one.value, 0};
    EXPECT_EQ(part->native(change),
              "echo '" + std::string(one.name) + "=" + one.text + "' >> /etc/nccl.conf");
    EXPECT_EQ(apply(one.entry, Value{}), "");
    EXPECT_FALSE(std::filesystem::exists(host.root() / kFile));
  }
}

TEST_F(Nccl, ReportsAndRestoresInvalidValuesVerbatim) {
  const std::string before =
      "NCCL_CROSS_NIC=3\nNCCL_IB_ADAPTIVE_ROUTING=2\nNCCL_IB_QPS_PER_CONNECTION=0\nNCCL_IB_SPLIT_DATA_ON_QPS="
      "yes\n";
  host.file(kFile, before);
  const Tree found = read();
  const std::pair<const char*, Value> all[] = {{"nccl/cross-nic", Value::text("3")},
                                               {"nccl/adaptive-routing", Value::text("2")},
                                               {"nccl/qps-per-connection", Value::text("0")},
                                               {"nccl/split-data-on-qps", Value::text("yes")}};
  for (const auto& [entry, told] : all) {
    EXPECT_EQ(found.value(path(entry)), told) << entry;
    EXPECT_EQ(apply(entry, told), "");
  }
  EXPECT_EQ(host.text(kFile), before);
  EXPECT_NE(apply("nccl/qps-per-connection", Value::integer(129)).find("1 to 128"), std::string::npos);
  EXPECT_NE(apply("nccl/gid-index", Value::integer(-2)).find("-1 to 255"), std::string::npos);
  EXPECT_NE(apply("nccl/service-level", Value::integer(16)).find("0 to 15"), std::string::npos);
  EXPECT_EQ(host.text(kFile), before);
}

TEST_F(Nccl, RemovesAFileWhenOurLastLineGoes) {
  EXPECT_EQ(apply("nccl/traffic-class", Value::integer(106)), "");
  EXPECT_EQ(apply("nccl/traffic-class", Value{}), "");
  EXPECT_FALSE(std::filesystem::exists(host.root() / kFile));
}

TEST_F(Nccl, RefusesAnInterfaceWithoutADeviceAndAnOutOfRangeByte) {
  EXPECT_EQ(apply("nccl/hca", Value::set({"rail0", "eth0"})),
            "refused: no RDMA device here is on interface eth0");
  EXPECT_NE(apply("nccl/traffic-class", Value::integer(256)).find("0 to 255"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(host.root() / kFile));
}

}  // namespace
}  // namespace lockstep
