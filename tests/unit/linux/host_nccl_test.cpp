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

TEST_F(Nccl, WhatIsThereIsReadAndInterfacesStandForDevices) {
  EXPECT_EQ(value("nccl/hca"), "(none)");
  EXPECT_EQ(value("nccl/traffic-class"), "(none)");
  host.file(kFile, "NCCL_DEBUG=WARN\nNCCL_IB_HCA==mlx5_1:1,mlx5_0\nNCCL_IB_TC=106\nNCCL_IB_TC=41\n");
  EXPECT_EQ(value("nccl/hca"), "rail0, rail1");
  EXPECT_EQ(value("nccl/traffic-class"), "106") << "the first line counts";
}

TEST_F(Nccl, WhatNamesNoDeviceExactlyIsToldAsItIs) {
  host.file(kFile, "NCCL_IB_HCA=rail0\n");
  EXPECT_EQ(value("nccl/hca"), "NCCL_IB_HCA=rail0") << "no device has the interface's name";
  host.file(kFile, "NCCL_IB_HCA==mlx5_0,rail1\nNCCL_IB_TC=0x6a\n");
  EXPECT_EQ(value("nccl/hca"), "NCCL_IB_HCA==mlx5_0,rail1");
  EXPECT_EQ(value("nccl/traffic-class"), "0x6a");
}

TEST_F(Nccl, WhatWasThereIsPutBackAsItWas) {
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

TEST_F(Nccl, BothAreSetBesideWhatOthersWroteAndTakenBack) {
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

TEST_F(Nccl, AFileOfOursAloneGoesWithItsLastLine) {
  EXPECT_EQ(apply("nccl/traffic-class", Value::integer(106)), "");
  EXPECT_EQ(apply("nccl/traffic-class", Value{}), "");
  EXPECT_FALSE(std::filesystem::exists(host.root() / kFile));
}

TEST_F(Nccl, AnInterfaceWithoutADeviceAndAByteThatIsNoneAreRefused) {
  EXPECT_EQ(apply("nccl/hca", Value::set({"rail0", "eth0"})),
            "refused: no RDMA device here is on interface eth0");
  EXPECT_NE(apply("nccl/traffic-class", Value::integer(256)).find("0 to 255"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(host.root() / kFile));
}

}  // namespace
}  // namespace lockstep
