// Host readiness on a real kernel, in the emulated machine: two NICs, each behind a PCIe host bridge of its
// own NUMA node (one of them behind a switch too), and a separate systemd. The driver is compared with
// setpci(8), the files of the kernel and the actual behaviour of systemd units.
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "drivers/linux/host/host_part.hpp"
#include "drivers/linux/host/pci.hpp"
#include "tests/unit/linux/lab.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

class OnTheMachine : public ::testing::Test {
 protected:
  // Creates what the tools and the bus expect of a machine and the emulated one lacks.
  static void SetUpTestSuite() {
    std::error_code there_already;
    fs::create_symlink("/bin/busybox", "/bin/sh", there_already);
    std::ofstream("/etc/passwd") << "root:x:0:0:root:/:/bin/sh\n";
    std::ofstream("/etc/group") << "root:x:0:\n";
  }
  void target(LinuxTarget target) { part = host_part(target); }
  static Path path(const std::string& entry) { return *Path::parse(entry); }
  std::string value(const std::string& entry) {
    TreeBuilder tree;
    std::vector<Unread> unread;
    part->read(Scope{{path(entry).row()}, {path(entry)}}, {}, tree, unread, within(std::chrono::seconds(20)));
    for (const Unread& one : unread) ADD_FAILURE() << one.why.text();
    return tree.build().value(path(entry)).to_string();
  }
  std::string apply(const std::string& entry, Value want) {
    const auto answers = part->apply({{path(entry), {}, want, 0}}, {}, within(std::chrono::seconds(20)));
    return answers.at(0) ? answers[0]->text() : "";
  }

  HostFiles files{"/"};
  std::unique_ptr<LinuxPart> part = host_part(LinuxTarget{});
};

std::string setpci(const std::string& address, const std::string& what) {
  std::string out = shell_output("setpci -s " + address + " " + what);
  while (out.ends_with('\n')) out.pop_back();
  return out;
}

TEST_F(OnTheMachine, FindsTheNicsWhereQemuPutThem) {
  const auto nics = fabric_nics(read_pci(files));
  ASSERT_EQ(nics.size(), 2U);
  EXPECT_EQ(nics[0].numa_node, 0);
  EXPECT_EQ(nics[1].numa_node, 1);
  EXPECT_EQ(nics[0].driver, "e1000e");
  EXPECT_EQ(nics[0].upstream.size(), 3U) << "a root port and both sides of a switch";
  EXPECT_EQ(nics[1].upstream.size(), 1U);
  EXPECT_EQ(to_string(distance_between(nics[0], nics[1])), "SYS");
  EXPECT_NE(nics[0].link.text(), "");
}

// The devices of QEMU have the register without writable bits (hw/pci/pcie.c): a write has no effect, by
// setpci as by us.
TEST_F(OnTheMachine, MaxReadRequestMatchesSetpciAndAnIneffectiveWriteIsAnError) {
  const auto nics = fabric_nics(read_pci(files));
  EXPECT_EQ(shell("setpci -s " + nics[1].address + " CAP_EXP+8.w=5000:7000"), 0);
  for (const PciFunction& nic : nics) EXPECT_EQ(setpci(nic.address, "CAP_EXP+8.w").substr(0, 1), "0");
  EXPECT_EQ(value("pcie/max-read-request"), "128");
  EXPECT_EQ(apply("pcie/max-read-request", Value::integer(4096)),
            nics[0].address + ": wrote MaxReadRequest 4096, and it did not take");
  EXPECT_EQ(apply("pcie/max-read-request", Value::integer(128)), "");
}

TEST_F(OnTheMachine, SetsAccessControlOnTheBridgesThatHaveIt) {
  std::vector<std::string> bridges;
  for (const PciFunction& nic : fabric_nics(read_pci(files)))
    for (const std::string& bridge : nic.upstream)
      if (setpci(bridge, "ECAP_ACS+6.w").size() == 4) bridges.push_back(bridge);
  ASSERT_FALSE(bridges.empty());
  for (const bool on : {true, false, true, false}) {
    EXPECT_EQ(apply("pcie/acs", Value::boolean(on)), "");
    EXPECT_EQ(value("pcie/acs"), on ? "true" : "false");
    for (const std::string& bridge : bridges)
      EXPECT_EQ(setpci(bridge, "ECAP_ACS+6.w"), on ? "001d" : "0000") << bridge;
  }
}

TEST_F(OnTheMachine, InterruptsFollowTheirAffinity) {
  const auto nics = fabric_nics(read_pci(files));
  // A NIC requests its interrupts when it is set up.
  for (const PciFunction& nic : nics) {
    const auto ports = files.names(pci_path(nic.address) + "/net");
    ASSERT_EQ(ports.size(), 1U);
    ASSERT_EQ(shell("ip link set " + ports[0] + " up"), 0);
  }
  const auto effective = [&](const PciFunction& nic) {
    std::set<std::string> out;
    for (const std::string& irq : files.names(pci_path(nic.address) + "/msi_irqs"))
      if (const auto cpus = files.line("/proc/irq/" + irq + "/smp_affinity_list")) out.insert(*cpus);
    return out;
  };
  EXPECT_EQ(apply("cpu/irq-affinity", Value::text("none")), "");
  EXPECT_EQ(value("cpu/irq-affinity"), "none");
  EXPECT_EQ(apply("cpu/irq-affinity", Value::text("numa-local")), "");
  EXPECT_EQ(value("cpu/irq-affinity"), "numa-local");
  EXPECT_EQ(effective(nics[0]), std::set<std::string>{"0"});
  EXPECT_EQ(effective(nics[1]), std::set<std::string>{"1"});
  EXPECT_EQ(apply("cpu/irq-affinity", Value::text("spread")), "");
  EXPECT_EQ(value("cpu/irq-affinity"), "spread");
  EXPECT_EQ(effective(nics[0]), (std::set<std::string>{"0", "1"}));
}

TEST_F(OnTheMachine, ReadsTheRunningKernel) {
  EXPECT_EQ(value("kernel/version") + "\n", shell_output("busybox uname -r"));
  EXPECT_EQ(value("kernel/parameter[console=ttyS0]"), "present");
  EXPECT_EQ(value("kernel/parameter[mitigations=auto]"), "(none)");
  EXPECT_EQ(value("kernel/parameter[workqueue.power_efficient=0]"), "present");
  EXPECT_EQ(value("kernel/parameter[workqueue.power_efficient=1]"), "(none)");
  EXPECT_EQ(apply("kernel/module[e1000e]", Value::present()), "");
  EXPECT_EQ(value("kernel/module[e1000e]"), "present");
}

// A user instance of systemd, because process 1 here is our own init: the manager and its interface are the
// same. It has its own cgroup and runtime folder, and starts its own message bus.
class Systemd : public OnTheMachine {
 protected:
  static constexpr const char* kHome = "/tmp/home";
  static constexpr const char* kRuntime = "/tmp/runtime";

  void SetUp() override {
    fs::create_directories("/run/systemd/system");
    fs::create_directories(kRuntime);
    ASSERT_EQ(::mount("none", "/sys/fs/cgroup", "cgroup2", 0, nullptr), 0);
    unit("default.target", "[Unit]\nDefaultDependencies=no\nWants=dbus.service\n");
    unit("dbus.socket", "[Unit]\nDefaultDependencies=no\n[Socket]\nListenStream=%t/bus\n");
    unit("dbus.service",
         "[Unit]\nDefaultDependencies=no\nRequires=dbus.socket\n[Service]\n"
         "ExecStart=/usr/bin/dbus-daemon --config-file=/tmp/bus.conf --address=systemd: --nofork "
         "--nopidfile\n");
    std::ofstream("/tmp/bus.conf")
        << "<busconfig><type>session</type><listen>systemd:</listen><policy context='default'>"
           "<allow send_destination='*'/><allow own='*'/><allow receive_sender='*'/></policy></busconfig>";
    const std::string simple =
        "[Unit]\nDefaultDependencies=no\n[Service]\nExecStart=/bin/busybox sleep 1000\n";
    unit("probe.service", simple + "[Install]\nWantedBy=default.target\n");
    unit("fixed.service", simple);
    unit("broken.service",
         "[Unit]\nDefaultDependencies=no\n[Service]\nType=oneshot\nExecStart=/bin/busybox false\n"
         "[Install]\nWantedBy=default.target\n");
    fs::create_symlink("/dev/null", units() / "hidden.service");
    start();
    fs::create_directories("/tmp/root/run/dbus");
    fs::create_directories("/tmp/root/run/systemd/system");
    fs::create_symlink(fs::path(kRuntime) / "bus", "/tmp/root/run/dbus/system_bus_socket");
    LinuxTarget here;
    here.root = "/tmp/root";
    target(here);
    wait_for_manager();
  }
  void TearDown() override {
    ::kill(manager_, SIGRTMIN + 13);  // systemd(1): exit immediately
    ::waitpid(manager_, nullptr, 0);
  }

  static fs::path units() { return fs::path(kHome) / ".config/systemd/user"; }
  static void unit(const std::string& name, const std::string& text) {
    fs::create_directories(units());
    std::ofstream(units() / name) << text;
  }
  void start() {
    std::string words[] = {"systemd", "--user", "--log-target=console"};
    char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    std::string settings[] = {std::string("HOME=") + kHome, std::string("XDG_RUNTIME_DIR=") + kRuntime,
                              "PATH=/usr/sbin:/usr/bin"};
    char* environment[] = {settings[0].data(), settings[1].data(), settings[2].data(), nullptr};
    ASSERT_EQ(::posix_spawn(&manager_, "/usr/bin/systemd", nullptr, nullptr, arguments, environment), 0);
  }
  void wait_for_manager() {
    const Call patience = within(std::chrono::seconds(60));
    std::vector<Unread> unread;
    do {
      TreeBuilder tree;
      unread.clear();
      const Path probe = path("service[probe]");
      part->read(Scope{{probe.row()}, {probe}}, {}, tree, unread, within(std::chrono::seconds(20)));
      std::this_thread::yield();
    } while (!unread.empty() && !patience.must_end(std::chrono::steady_clock::now()));
    ASSERT_TRUE(unread.empty()) << unread.front().why.text();
  }
  static bool runs(const std::string& unit) {
    // The processes of a unit are those of its cgroup.
    for (const auto& entry : fs::recursive_directory_iterator("/sys/fs/cgroup"))
      if (entry.path().filename() == unit) {
        std::ifstream in(entry.path() / "cgroup.procs");
        return in.peek() != std::ifstream::traits_type::eof();
      }
    return false;
  }
  static bool starts_at_boot(const std::string& unit) {
    return fs::is_symlink(units() / "default.target.wants" / unit);
  }

  pid_t manager_ = 0;
};

TEST_F(Systemd, UnitsHaveTheDesiredStateNowAndAtBoot) {
  EXPECT_EQ(value("service[probe]"), "disabled");
  EXPECT_EQ(value("service[fixed]"), "stopped");
  EXPECT_EQ(value("service[hidden]"), "disabled");
  EXPECT_EQ(value("service[none-such]"), "disabled");
  struct Case {
    const char* word;
    bool now, at_boot;
  };
  for (const auto& [word, now, at_boot] :
       {Case{"running", true, true}, Case{"stopped", false, true}, Case{"running, not at boot", true, false},
        Case{"disabled", false, false}, Case{"running", true, true}}) {
    EXPECT_EQ(apply("service[probe]", Value::text(word)), "");
    EXPECT_EQ(value("service[probe]"), word);
    EXPECT_EQ(runs("probe.service"), now) << word;
    EXPECT_EQ(starts_at_boot("probe.service"), at_boot) << word;
  }
  EXPECT_NE(apply("service[hidden]", Value::text("running")), "");
  EXPECT_NE(apply("service[none-such]", Value::text("running")), "");
  EXPECT_NE(apply("service[fixed]", Value::text("disabled")), "") << "it has no [Install] section";
  EXPECT_NE(apply("service[broken]", Value::text("running")), "");
  EXPECT_EQ(value("service[broken]"), "disabled") << "what did not start is put back, and not left enabled";
}

}  // namespace
}  // namespace lockstep
