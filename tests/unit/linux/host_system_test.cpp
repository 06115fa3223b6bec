#include "drivers/linux/host/dpkg_status.hpp"
#include "drivers/linux/host/files.hpp"
#include "tests/needs.hpp"
#include "tests/unit/linux/host_lab.hpp"

namespace lockstep {
namespace {

class Memlock : public HostLab {};
constexpr const char* kOwnLimits = "etc/security/limits.d/60-lockstep.conf";

TEST_F(Memlock, IsTheLimitOfEveryLogin) {
  EXPECT_EQ(value("memlock"), "(none)") << "a line for one group is not for everybody";
  host.file("etc/systemd/system.conf",
            "[Manager]\n#DefaultLimitMEMLOCK=8M\nDefaultLimitMEMLOCK=64M:infinity\n");
  EXPECT_EQ(value("memlock"), "67108864");
  host.file("etc/systemd/system.conf.d/10.conf", "[Manager]\nDefaultLimitMEMLOCK=infinity\n");
  EXPECT_EQ(value("memlock"), "unlimited");
  host.file("etc/security/limits.d/20-site.conf", "* soft memlock 1024 # KB\n* hard memlock unlimited\n");
  EXPECT_EQ(value("memlock"), "1048576") << "pam_limits sets it after systemd";
  host.file("etc/security/limits.d/30-site.conf", "*\t-\tmemlock\tinfinity\n");
  EXPECT_EQ(value("memlock"), "unlimited");
  host.file("etc/security/limits.d/40-not-read", "* - memlock 1\n");
  EXPECT_EQ(value("memlock"), "unlimited");
}

TEST_F(Memlock, SystemdsDropInsAreSortedByNameAcrossTheirFolders) {
  const auto drop_in = [this](const std::string& folder, const std::string& name, const std::string& limit) {
    host.file(folder + "/systemd/system.conf.d/" + name, "[Manager]\nDefaultLimitMEMLOCK=" + limit + "\n");
  };
  drop_in("etc", "10-site.conf", "1M");
  drop_in("usr/lib", "90-vendor.conf", "2M");
  EXPECT_EQ(value("memlock"), "2097152") << "the name decides, not the folder";
  drop_in("etc", "90-vendor.conf", "3M");
  EXPECT_EQ(value("memlock"), "3145728") << "the same name in /etc hides the vendor's";
  drop_in("run", "90-vendor.conf", "4M");
  EXPECT_EQ(value("memlock"), "3145728");
  drop_in("run", "95-now.conf", "4M");
  EXPECT_EQ(value("memlock"), "4194304");
  drop_in("usr/local/lib", "99-local.conf", "5M");
  EXPECT_EQ(value("memlock"), "5242880");
}

TEST_F(Memlock, ANumberThatIsTooLargeDoesNotWrap) {
  host.file("etc/systemd/system.conf", "[Manager]\nDefaultLimitMEMLOCK=16E\n");
  EXPECT_EQ(value("memlock"), "16E") << "systemd takes no such line";
  host.file("etc/security/limits.conf", "* - memlock 18014398509481985\n");
  EXPECT_EQ(value("memlock"), "unlimited") << "as pam_limits does";
}

TEST_F(Memlock, IsWrittenToItsOwnFileAndRolledBack) {
  host.file("etc/security/limits.d/20-site.conf", "* - memlock 64\n");
  EXPECT_EQ(apply("memlock", Value::text("unlimited")), "");
  EXPECT_EQ(host.text(kOwnLimits), "# Written by lockstep: replaced whole.\n* - memlock unlimited\n");
  EXPECT_EQ(value("memlock"), "unlimited");
  EXPECT_EQ(apply("memlock", Value::text("68719476736")), "");
  EXPECT_EQ(value("memlock"), "68719476736");
  EXPECT_EQ(apply("memlock", Value{}), "");
  EXPECT_FALSE(std::filesystem::exists(host.root() / kOwnLimits));
  EXPECT_EQ(value("memlock"), "65536");
  EXPECT_EQ(host.text("etc/security/limits.d/20-site.conf"), "* - memlock 64\n");
  EXPECT_NE(apply("memlock", Value::text("1000")).find("invalid spec"), std::string::npos);
  EXPECT_NE(apply("memlock", Value::text("1024\n* - nofile 1")).find("invalid spec"), std::string::npos);
}

TEST_F(Memlock, ReportsAForeignFileThatTakesPrecedence) {
  host.file("etc/security/limits.d/90-site.conf", "* - memlock 64\n");
  const std::string answer = apply("memlock", Value::text("unlimited"));
  EXPECT_NE(answer.find("90-site.conf is read after"), std::string::npos) << answer;
  EXPECT_EQ(value("memlock"), "65536");
}

class KernelTest : public HostLab {};
constexpr const char* kOwnModules = "etc/modules-load.d/60-lockstep.conf";

TEST_F(KernelTest, TheRunningKernelIsReadAndRequiresManualChange) {
  make({"kernel/version"});
  EXPECT_EQ(value("kernel/version"), "6.1.0-18-amd64");
  EXPECT_NE(lacks("kernel/version").find("6.1.0-18-amd64 runs"), std::string::npos);
  EXPECT_TRUE(is_by_hand("kernel/version"));
  EXPECT_EQ(apply("kernel/version", Value::text(">=6.8")).substr(0, 11), "unsupported");
  EXPECT_EQ(apply("kernel/parameter[nomodeset]", Value::present()).substr(0, 11), "unsupported");
}

TEST_F(KernelTest, ReadsCommandLineParametersUpToTheArgumentsOfInit) {
  EXPECT_EQ(value("kernel/parameter[iommu=pt]"), "present");
  EXPECT_EQ(value("kernel/parameter[ro]"), "present");
  EXPECT_EQ(value("kernel/parameter[dyndbg=\"file a.c +p\"]"), "present");
  EXPECT_EQ(value("kernel/parameter[initarg]"), "(none)");
  EXPECT_EQ(value("kernel/parameter[iommu]"), "(none)");
}

TEST_F(KernelTest, AModuleParameterCountsWhereTheModuleHasIt) {
  make({"kernel/parameter[mlx5-core.prof_sel=2]", "kernel/parameter[mlx5_core.debug=0]",
        "kernel/parameter[mlx5_core.debug=1]", "kernel/parameter[none.such=1]",
        "kernel/parameter[../../../etc.passwd=1]"});
  EXPECT_EQ(value("kernel/parameter[mlx5-core.prof_sel=2]"), "present");
  EXPECT_EQ(value("kernel/parameter[mlx5_core.debug=0]"), "present");
  EXPECT_EQ(value("kernel/parameter[mlx5_core.debug=1]"), "(none)");
  EXPECT_EQ(value("kernel/parameter[none.such=1]"), "(none)");
}

TEST_F(KernelTest, WritesModulesToItsOwnFile) {
  make({"kernel/module[nvidia-peermem]"});
  EXPECT_EQ(value("kernel/module[nvidia-peermem]"), "present") << "by /etc/modules";
  EXPECT_EQ(apply("kernel/module[rdma-ucm]", Value::present()), "");
  EXPECT_EQ(apply("kernel/module[ib_umad]", Value::present()), "");
  EXPECT_EQ(host.text(kOwnModules), "# Written by lockstep: replaced whole.\nib_umad\nrdma_ucm\n");
  scope.named.push_back(path("kernel/module[rdma-ucm]"));  // as a step does for what it writes
  EXPECT_EQ(value("kernel/module[rdma-ucm]"), "present") << "in the spelling that was asked for";
  EXPECT_EQ(apply("kernel/module[ib_umad]", Value{}), "");
  EXPECT_EQ(apply("kernel/module[rdma-ucm]", Value{}), "");
  EXPECT_FALSE(std::filesystem::exists(host.root() / kOwnModules));
  EXPECT_NE(apply("kernel/module[nvidia-peermem]", Value{}).find("/etc/modules-load.d/modules.conf"),
            std::string::npos);
  EXPECT_EQ(host.text("etc/modules"), "# /etc/modules\nnvidia-peermem\n");
  EXPECT_NE(apply("kernel/module[x y]", Value::present()).find("invalid spec"), std::string::npos);
}

TEST_F(KernelTest, AFileHidesSameNamedFilesInLaterFolders) {
  host.file("usr/lib/modules-load.d/site.conf", "ib_ipoib\n");
  EXPECT_EQ(value("kernel/module[ib_ipoib]"), "present");
  host.file("etc/modules-load.d/site.conf", "; nothing\n");
  EXPECT_EQ(value("kernel/module[ib_ipoib]"), "(none)");
}

TEST_F(KernelTest, ReportsAKernelWithoutModules) {
  host.remove("proc/modules");
  EXPECT_NE(lacks("kernel/module[x]").find("/proc/modules"), std::string::npos);
  EXPECT_EQ(value("kernel/module[nvidia_peermem]"), "(none)");
}

class PackagesTest : public HostLab {};

TEST_F(PackagesTest, ReadsInstalledPackagesByName) {
  make({"package[rdma-core]", "package[lldpd]", "package[libibverbs1]", "package[no-package]"});
  EXPECT_EQ(value("package[rdma-core]"), "44.0-2");
  EXPECT_EQ(value("package[libibverbs1]"), "1:44.0-2");
  EXPECT_EQ(value("package[lldpd]"), "(none)") << "removed, its configuration left";
  EXPECT_EQ(value("package[no-package]"), "(none)");
  EXPECT_NE(lacks("package[rdma-core]").find("rdma-core 44.0-2 is installed"), std::string::npos);
  EXPECT_NE(lacks("package[lldpd]").find("lldpd is not installed"), std::string::npos);
  EXPECT_TRUE(is_by_hand("package[rdma-core]"));
  EXPECT_EQ(apply("package[rdma-core]", Value::text(">=52")).substr(0, 11), "unsupported");
}

TEST_F(PackagesTest, AreNotSupportedOutsideDebian) {
  host.remove("var/lib/dpkg");
  make({"package[rdma-core]"});
  EXPECT_NE(lacks("package[rdma-core]").find("dpkg"), std::string::npos);
  EXPECT_EQ(not_read("package[rdma-core]"), "");
}

TEST(DpkgStatus, TruncationAndFlippedBytesAddNoPackage) {
  const std::string whole =
      "Package: a\nStatus: install ok installed\nVersion: 1\n\nPackage: b\nStatus: install ok "
      "installed\nVersion: 2\n";
  EXPECT_EQ(installed_versions(whole, {"a", "b"}).size(), 2U);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_LE(installed_versions(whole.substr(0, size), {"a", "b"}).size(), 2U);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(~flipped[at]);
    EXPECT_LE(installed_versions(flipped, {"a", "b"}).size(), 2U);
  }
}

TEST(DpkgStatus, MatchesDpkgQueryOnThisMachine) {
  if (!std::filesystem::exists("/var/lib/dpkg/status"))
    LOCKSTEP_NOT_TESTED_BUT_ON_CI("the packages of this machine: it is no Debian machine");
  const auto status = HostFiles("/").read("/var/lib/dpkg/status");
  ASSERT_TRUE(status);
  const auto versions = installed_versions(*status, {"libc6", "no-such-package"});
  const std::string said = shell_output("dpkg-query -W -f='${Version}' libc6");
  EXPECT_EQ(versions, (std::map<std::string, std::string>{{"libc6", said}}));
}

class FirmwareTest : public HostLab {};

TEST_F(FirmwareTest, IsReadFromTheRdmaDevicesOfThePlatformsNics) {
  make({"firmware[connectx-7]", "firmware[thor2]"});
  EXPECT_EQ(value("firmware[connectx-7]"), "28.39.1002");
  EXPECT_EQ(value("firmware[thor2]"), "(none)");
  EXPECT_NE(lacks("firmware[thor2]").find("no NIC here"), std::string::npos);
  EXPECT_FALSE(is_by_hand("firmware[thor2]"));
  host.file(RecordedHost::sysfs(RecordedHost::nic(1)) + "/infiniband/mlx5_1/fw_ver", "28.40.1000\n");
  EXPECT_EQ(value("firmware[connectx-7]"), "28.39.1002, 28.40.1000");
}

// pci.ids of Debian 12, vendor 15b3: MT2892 Family [ConnectX-6 Dx], MT2910 Family [ConnectX-7], CX8 Family
// [ConnectX-8], MT43244 BlueField-3 integrated ConnectX-7 network controller.
TEST_F(FirmwareTest, MatchesNicsToPlatformsByPciId) {
  const std::pair<std::string, std::string> models[] = {{"connectx-6-dx", "0x101d"},
                                                        {"connectx-7", "0x1021"},
                                                        {"connectx-8", "0x1023"},
                                                        {"bluefield-3", "0xa2dc"}};
  for (const auto& [model, id] : models) {
    for (const unsigned rail : {0U, 1U})
      host.file(RecordedHost::sysfs(RecordedHost::nic(rail)) + "/device", id + "\n");
    for (const auto& [platform, unused] : models) {
      make({"firmware[" + platform + "]"});
      EXPECT_EQ(value("firmware[" + platform + "]"), platform == model ? "28.39.1002" : "(none)")
          << platform << " where the NICs are " << model;
    }
  }
}

TEST_F(FirmwareTest, DoesNotReportAMissingNicForAPlatformWithoutIds) {
  make({"firmware[pollara-400]"});
  EXPECT_NE(lacks("firmware[pollara-400]").find("not known here"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
