// Methods by which RDMA NICs access GPU memory, on a recorded host with NVIDIA GPUs.
#include "tests/unit/linux/host_lab.hpp"

namespace lockstep {
namespace {

class GpuDirectRdma : public HostLab {
 protected:
  void module(const std::string& kind) const {
    host.file("proc/driver/nvidia/version",
              "NVRM version: NVIDIA UNIX " + kind + "  550.54.15  Release Build\n");
  }
  void peermem(const std::string& name) const { host.file("sys/module/" + name + "/refcnt", "0\n"); }
};

TEST_F(GpuDirectRdma, WithoutModulesNoMethodIsReadyAndEachReportsWhy) {
  EXPECT_EQ(value("gpu/direct[dmabuf]"), "the module nvidia is not loaded");
  EXPECT_EQ(value("gpu/direct[peermem]"), "the module nvidia_peermem is not loaded");
  EXPECT_EQ(value("gpu/direct[any]"),
            "the module nvidia is not loaded; the module nvidia_peermem is not loaded");
}

TEST_F(GpuDirectRdma, DmabufNeedsTheOpenModuleAndAKernelOf512) {
  module("x86_64 Kernel Module");
  EXPECT_NE(value("gpu/direct[dmabuf]").find("is not the open one"), std::string::npos);
  module("Open Kernel Module for x86_64");
  EXPECT_EQ(value("gpu/direct[dmabuf]"), "ready");
  EXPECT_EQ(value("gpu/direct[any]"), "ready");
  EXPECT_EQ(value("gpu/direct[peermem]"), "the module nvidia_peermem is not loaded");
  host.file("proc/sys/kernel/osrelease", "5.4.0-216-generic\n");
  EXPECT_EQ(value("gpu/direct[dmabuf]"), "kernel 5.4.0-216-generic is older than 5.12");
  host.file("proc/sys/kernel/osrelease", "5.12.0\n");
  EXPECT_EQ(value("gpu/direct[dmabuf]"), "ready");
}

TEST_F(GpuDirectRdma, PeermemIsReadyWithItsModuleOrThePredecessor) {
  module("x86_64 Kernel Module");
  for (const char* const name : {"nvidia_peermem", "nv_peer_mem"}) {
    peermem(name);
    EXPECT_EQ(value("gpu/direct[peermem]"), "ready") << name;
    EXPECT_EQ(value("gpu/direct[any]"), "ready") << name;
    EXPECT_NE(value("gpu/direct[dmabuf]"), "ready") << name;
    host.remove(std::string("sys/module/") + name);
    EXPECT_NE(value("gpu/direct[peermem]"), "ready") << name;
  }
}

TEST_F(GpuDirectRdma, AnUnreadableFileLeavesTheEntryUnread) {
  std::filesystem::create_directories(host.root() / "proc/driver/nvidia/version");
  EXPECT_EQ(value("gpu/direct[dmabuf]"), "(none)");
  EXPECT_NE(not_read("gpu/direct[dmabuf]"), "");
  EXPECT_EQ(value("gpu/direct[peermem]"), "the module nvidia_peermem is not loaded");
}

TEST_F(GpuDirectRdma, IsNotSupportedWithoutAnNvidiaGpu) {
  EXPECT_EQ(lacks("gpu/direct[dmabuf]"), "");
  for (unsigned rail = 0; rail < 2; ++rail) host.remove(RecordedHost::sysfs(RecordedHost::gpu(rail)));
  EXPECT_NE(lacks("gpu/direct[dmabuf]").find("no NVIDIA GPU"), std::string::npos);
  EXPECT_EQ(value("gpu/direct[any]"), "(none)");
  EXPECT_NE(apply("gpu/direct[any]", Value::text("ready")), "");
}

}  // namespace
}  // namespace lockstep
