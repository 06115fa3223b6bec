// GPUs through a stub of NVML (host_nvml_stub.c), without a real GPU.
#include <thread>

#include "drivers/linux/host/gpu.hpp"
#include "tests/unit/linux/host_lab.hpp"
#include "tests/unit/linux/host_nvml.hpp"

namespace lockstep {
namespace {

class GpuTest : public HostLab {
 protected:
  void SetUp() override {
    stub = load_nvml_stub(LOCKSTEP_NVML_STUB);
    ASSERT_NE(stub, nullptr);
    make({}, LOCKSTEP_NVML_STUB);
  }
  void TearDown() override { EXPECT_EQ(stub->open_sessions, 0); }
  HostGpus gpus() {
    Nvml nvml("/", LOCKSTEP_NVML_STUB);
    const HostFiles files(host.root());
    return read_gpus(files, read_pci(files), nvml, within(std::chrono::seconds(5)));
  }

  nvml_stub* stub = nullptr;
};

TEST_F(GpuTest, ReadsAllNvmlValuesByPciAddress) {
  stub->gpus[1].persistence = 0;
  stub->gpus[1].clock_limits = 0x4 | 0x40;
  stub->gpus[1].rows_pending = 1;
  const HostGpus found = gpus();
  ASSERT_EQ(found.all.size(), 2U);
  EXPECT_EQ(found.driver, "550.54.15");
  ASSERT_TRUE(found.all[1].nvml);
  EXPECT_EQ(found.all[1].nvml->pci, RecordedHost::gpu(1));
  EXPECT_EQ(found.all[1].nvml->name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(found.all[1].nvml->vbios, "96.00.74.00.01");
  EXPECT_EQ(found.all[0].nvml->trouble(), "");
  EXPECT_EQ(found.all[1].nvml->trouble(), "thermal slowdown by hardware, a remapped row waits for a reset");
  EXPECT_EQ(found.all[0].near, PciDistance::pix);
  EXPECT_EQ(value("gpu/count"), "2");
  EXPECT_EQ(value("gpu/driver"), "550.54.15");
  EXPECT_EQ(value("gpu/ecc"), "true");
  EXPECT_EQ(value("gpu/persistence"), "false (1 of 2), true (1 of 2)");
  EXPECT_EQ(value("gpu/nic-affinity"), "nearest");
}

TEST_F(GpuTest, PersistenceIsSetOnAll) {
  for (nvml_stub_gpu& one : stub->gpus) one.persistence = 0;
  stub->gpus[1].persistence = 1;
  EXPECT_EQ(value("gpu/persistence"), "false (1 of 2), true (1 of 2)");
  EXPECT_EQ(apply("gpu/persistence", Value::boolean(true)), "");
  EXPECT_EQ(value("gpu/persistence"), "true");
  EXPECT_EQ(stub->gpus[0].persistence, 1);
  EXPECT_EQ(stub->gpus[2].persistence, 0) << "NVML counts two";
}

TEST_F(GpuTest, ReadsTheCurrentEccModeAndTheOnePendingAReset) {
  EXPECT_EQ(apply("gpu/ecc", Value::boolean(false)), "");
  EXPECT_EQ(stub->gpus[0].ecc_pending, 0);
  EXPECT_EQ(value("gpu/ecc"), "true, false after a reset");
  for (nvml_stub_gpu& one : stub->gpus) one.ecc = one.ecc_pending;
  EXPECT_EQ(value("gpu/ecc"), "false");
}

TEST_F(GpuTest, ReportsWhatNvmlRefusesOrIgnores) {
  stub->set_code = 4;
  EXPECT_EQ(apply("gpu/persistence", Value::boolean(false)),
            "denied: NVML: set persistence mode: Insufficient Permissions");
  stub->set_code = 0;
  stub->ignores_sets = 1;
  EXPECT_EQ(apply("gpu/ecc", Value::boolean(false)),
            "refused: NVML: set ECC mode: acknowledged, and did not take");
  EXPECT_EQ(apply("gpu/ecc", Value::text("true, false after a reset")).substr(0, 12), "invalid spec");
}

TEST_F(GpuTest, ARefusingGpuLeavesAllUnchanged) {
  stub->gpus[1].set_code = 4;
  EXPECT_EQ(apply("gpu/persistence", Value::boolean(false)),
            "denied: NVML: set persistence mode: Insufficient Permissions");
  EXPECT_EQ(stub->gpus[0].persistence, 1);
  EXPECT_EQ(value("gpu/persistence"), "true");
}

TEST_F(GpuTest, ALostGpuIsNotCounted) {
  stub->gpus[0].lost = 1;
  EXPECT_EQ(value("gpu/count"), "1");
  EXPECT_EQ(value("gpu/ecc"), "true") << "of those that answer";
  EXPECT_EQ(apply("gpu/ecc", Value::boolean(false)),
            "refused: NVML: nvmlDeviceGetHandleByIndex: GPU is lost");
  EXPECT_FALSE(gpus().all[0].nvml);
}

TEST_F(GpuTest, AFailingNvmlLeavesItsEntriesUnread) {
  stub->init_code = 18;
  EXPECT_EQ(not_read("gpu/count"), "NVML: nvmlInit: Driver/library version mismatch");
  EXPECT_EQ(not_read("gpu/ecc"), not_read("gpu/count"));
  EXPECT_EQ(value("gpu/driver"), "550.54.15") << "by /sys/module/nvidia/version";
  EXPECT_EQ(value("gpu/nic-affinity"), "nearest") << "by PCI";
  EXPECT_EQ(lacks("gpu/ecc"), "");
}

TEST_F(GpuTest, WithoutNvmlGpusAreCountedOnTheBus) {
  make({}, "/nonexistent/libnvidia-ml.so.1");
  EXPECT_EQ(value("gpu/count"), "2");
  EXPECT_EQ(value("gpu/driver"), "550.54.15");
  EXPECT_NE(lacks("gpu/persistence").find("NVML is not here: /nonexistent/"), std::string::npos);
  EXPECT_NE(lacks("gpu/ecc").find("NVML is not here"), std::string::npos);
  EXPECT_EQ(not_read("gpu/ecc"), "");
  EXPECT_EQ(apply("gpu/ecc", Value::boolean(true)).substr(0, 11), "unsupported");
}

TEST_F(GpuTest, DoesNotUseThisMachinesLibraryForARecordedOne) {
  make({}, "libc.so.6");
  EXPECT_NE(lacks("gpu/ecc").find(host.root().string() + "/usr/lib/libc.so.6"), std::string::npos);
}

TEST_F(GpuTest, UsesTheFunctionsThatAnOldLibraryHas) {
  make({}, LOCKSTEP_NVML_STUB_OLD);
  EXPECT_EQ(lacks("gpu/ecc"), "no GPU here has an ECC mode");
  EXPECT_EQ(lacks("gpu/persistence"), "no GPU here has a persistence mode");
  EXPECT_EQ(value("gpu/count"), "0") << "the other stub's count, which nobody set";
  make({}, LOCKSTEP_NVML_STUB_BROKEN);
  EXPECT_NE(lacks("gpu/ecc").find("it has no nvmlDeviceGetHandleByIndex_v2"), std::string::npos);
  EXPECT_EQ(value("gpu/count"), "2");
}

TEST_F(GpuTest, AbandonsAHungLibraryAtTheDeadlineUntilItAnswers) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  stub->hang_fd = ends[0];
  Nvml nvml("/", LOCKSTEP_NVML_STUB);
  const auto late = nvml.read(within(std::chrono::milliseconds(50)));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::transient);
  EXPECT_EQ(late.error().what, "NVML did not answer: the deadline passed");
  const auto again = nvml.read(within(std::chrono::seconds(5)));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().what, "NVML has not answered an earlier question yet");
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  stub->hang_fd = -1;
  // NVML has answered: it accepts requests again as soon as the abandoned thread has ended.
  const Call patience = within(std::chrono::seconds(10));
  while (!nvml.read(patience) && !patience.must_end(std::chrono::steady_clock::now()))
    std::this_thread::yield();
  EXPECT_TRUE(nvml.read(patience));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(GpuTest, AnUnansweredWriteHasAnUnknownOutcome) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  stub->hang_fd = ends[0];
  Nvml nvml("/", LOCKSTEP_NVML_STUB);
  const auto late = nvml.set_persistence(false, within(std::chrono::milliseconds(50)));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::unknown_outcome);
  stub->hang_fd = -1;
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  const Call patience = within(std::chrono::seconds(10));
  while (!nvml.read(patience) && !patience.must_end(std::chrono::steady_clock::now()))
    std::this_thread::yield();
  EXPECT_EQ(stub->gpus[0].persistence, 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(GpuTest, ReportsTheDistanceOfAGpuWithoutANearNic) {
  host.remove(RecordedHost::sysfs(RecordedHost::nic(1)));
  EXPECT_EQ(value("gpu/nic-affinity"), RecordedHost::gpu(1) + " SYS");
  host.remove(RecordedHost::sysfs(RecordedHost::nic(0)));
  EXPECT_EQ(value("gpu/nic-affinity"), RecordedHost::gpu(0) + " NODE, " + RecordedHost::gpu(1) + " SYS")
      << "only the management port is left";
}

TEST_F(GpuTest, ReadsAmdGpusFromSysfs) {
  for (unsigned i = 0; i < 2; ++i) {
    const std::string at = RecordedHost::sysfs(RecordedHost::gpu(i));
    host.file(at + "/vendor", "0x1002\n");
    host.file(at + "/class", "0x120000\n");
    host.file(at + "/ras/features", i == 0 ? "feature mask: 0x1ff\n" : "feature mask: 0x1fe\n");
  }
  EXPECT_EQ(value("gpu/count"), "2");
  EXPECT_EQ(value("gpu/ecc"), "false (1 of 2), true (1 of 2)");
  EXPECT_EQ(value("gpu/driver"), "(none)") << "the kernel's own amdgpu has no version";
  host.file("sys/module/amdgpu/version", "6.7.0\n");
  EXPECT_EQ(value("gpu/driver"), "6.7.0");
  EXPECT_EQ(lacks("gpu/persistence"), "AMD's GPUs have no persistence mode");
  EXPECT_NE(lacks("gpu/ecc"), "");
}

TEST_F(GpuTest, AHostWithoutGpusHasNone) {
  for (unsigned i = 0; i < 2; ++i) host.remove(RecordedHost::sysfs(RecordedHost::gpu(i)));
  EXPECT_EQ(value("gpu/count"), "0");
  EXPECT_NE(lacks("gpu/ecc").find("no NVIDIA or AMD GPU"), std::string::npos);
  EXPECT_EQ(value("gpu/nic-affinity"), "(none)");
}

}  // namespace
}  // namespace lockstep
