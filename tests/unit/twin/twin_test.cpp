#include "reconciler/twin/twin.hpp"

#include <gtest/gtest.h>
#include <net/if.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include "drivers/posix/in_namespace.hpp"
#include "reconciler/twin/cables.hpp"
#include "tests/unit/twin/live.hpp"

namespace lockstep {
namespace {

TEST(Twin, ComesUpBareAndReadyAndGoesDownWithoutATrace) {
  NEEDS_ROOT;
  const TwinLayout layout = rail_pod(test_cluster("a"), 4, 2, 2);
  const DownAtEnd end{layout.cluster};
  std::vector<std::string> steps;
  const auto handle = up(layout, {},
                         [&](const TwinProgress& one) {
                           if (one.done == one.of) steps.push_back(one.step);
                         },
                         {});
  ASSERT_TRUE(handle) << handle.error().text();
  EXPECT_EQ(steps, (std::vector<std::string>{"namespaces", "cables", "daemons"}));
  const auto report = status(layout.cluster);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_TRUE(report->sound());
  EXPECT_EQ(report->daemons.size(), 4U * 3U + 8U);
  EXPECT_EQ(netns_with_prefix("ls-" + layout.cluster + "-").size(), 8U);

  const std::string links = output_of(layout.cluster, "leaf0", {"ip", "-o", "link"});
  for (const char* port : {"swp0", "swp1", "swp2", "swp3", "up0", "up1"})
    EXPECT_NE(links.find(std::string(port) + "@"), std::string::npos) << port;
  EXPECT_EQ(links.find("mtu 9000"), std::string::npos);
  EXPECT_NE(links.find("lo: <LOOPBACK,UP"), std::string::npos);
  EXPECT_EQ(links.find(",UP"), links.rfind(",UP")) << links;  // only lo is up
  // Only the loopback has addresses.
  std::istringstream addresses(output_of(layout.cluster, "leaf0", {"ip", "-o", "address"}));
  for (std::string line; std::getline(addresses, line);)
    EXPECT_NE(line.find(": lo "), std::string::npos) << line;

  const auto processes = processes_of(*report);
  EXPECT_EQ(processes.size(), 1U + report->daemons.size());
  const auto gone = down(layout.cluster);
  ASSERT_TRUE(gone) << gone.error().text();
  EXPECT_TRUE(gone->was_up);
  EXPECT_FALSE(gone->killed);
  expect_nothing_left(layout.cluster, processes);
  const auto again = down(layout.cluster);
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->was_up);
  EXPECT_FALSE(status(layout.cluster));
}

TEST(Twin, EveryDeviceHasItsOwnHostNameAndVtysh) {
  NEEDS_ROOT;
  const TwinLayout layout = rail_pod(test_cluster("n"), 1, 1, 1);
  const DownAtEnd end{layout.cluster};
  ASSERT_TRUE(up(layout, without_lldp(), {}, {}));
  EXPECT_EQ(output_of(layout.cluster, "leaf0", {"uname", "-n"}), "leaf0\n");
  const std::string running = output_of(layout.cluster, "leaf0", {"vtysh", "-c", "show running-config"});
  EXPECT_NE(running.find("hostname leaf0"), std::string::npos) << running;
  EXPECT_NE(output_of(layout.cluster, "spine0", {"ls", "/sys/class/net"}).find("swp0"), std::string::npos);
  EXPECT_NE(output_of(layout.cluster, "nowhere", {"true"}).find("has no device 'nowhere'"),
            std::string::npos);
}

// The bits of a line such as "SigBlk:\t0000000000004002" (proc(5)).
std::uint64_t signals_in(const std::string& status, const std::string& name) {
  const auto at = status.find(name + ":\t");
  EXPECT_NE(at, std::string::npos) << status;
  return at == std::string::npos ? 0 : std::stoull(status.substr(at + name.size() + 2), nullptr, 16);
}

TEST(Twin, ACommandInADeviceHasTheSignalsOfAShellCommand) {
  NEEDS_ROOT;
  const TwinLayout layout = rail_pod(test_cluster("g"), 1, 1, 0);
  const DownAtEnd end{layout.cluster};
  ASSERT_TRUE(up(layout, without_lldp(), {}, {}));
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  sigset_t ours;
  sigset_t mask;
  ::sigemptyset(&ours);
  ::sigaddset(&ours, SIGINT);
  ::sigprocmask(SIG_BLOCK, &ours, &mask);
  const std::string status = output_of(layout.cluster, "leaf0", {"cat", "/proc/self/status"});
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::signal(SIGPIPE, before);
  EXPECT_EQ(signals_in(status, "SigBlk"), 0U);
  EXPECT_EQ(signals_in(status, "SigIgn") & (1U << (SIGPIPE - 1)), 0U);
}

std::string target_of(const std::string& link) {
  std::error_code none;
  return std::filesystem::read_symlink(link, none);
}

TEST(Twin, ASupervisorInheritsNothingFromAThreadedLauncher) {
  NEEDS_ROOT;
  const TwinLayout layout = rail_pod(test_cluster("e"), 1, 1, 0);
  const DownAtEnd end{layout.cluster};
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);  // not close-on-exec
  const std::string pipe = target_of("/proc/self/fd/" + std::to_string(ends[0]));
  const auto before = ::signal(SIGUSR1, SIG_IGN);
  std::stop_source enough;
  // Threads inside the allocator, whose locks would stay taken forever in a forked copy of this process.
  std::vector<std::jthread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([stop = enough.get_token()] {
      while (!stop.stop_requested()) std::vector<std::string>(64, std::string(64, 'x'));
    });
  const auto handle = up(layout, without_lldp(), {}, {});
  enough.request_stop();
  ::signal(SIGUSR1, before);
  ::close(ends[0]);
  ::close(ends[1]);
  ASSERT_TRUE(handle) << handle.error().text();
  const std::string process = "/proc/" + std::to_string(handle->supervisor);
  for (const auto& one : std::filesystem::directory_iterator(process + "/fd"))
    EXPECT_NE(target_of(one.path()), pipe) << one.path();
  std::ifstream status(process + "/status");
  const std::string text{std::istreambuf_iterator<char>(status), {}};
  EXPECT_EQ(signals_in(text, "SigIgn") & (1U << (SIGUSR1 - 1)), 0U);
  std::ifstream words(process + "/cmdline");
  const std::string line{std::istreambuf_iterator<char>(words), {}};
  EXPECT_EQ(line, std::string("lockstep\0twin-supervisor\0", 25) + layout.cluster + '\0');
}

TEST(Twin, NeighboursSeeEachOtherByLldpUnderTheirOwnNames) {
  NEEDS_ROOT;
  const TwinLayout layout{test_cluster("l"),
                          {{"gpu0", TwinRole::host, false}, {"leaf0", TwinRole::host, false}},
                          {{"gpu0", "rail0", "leaf0", "swp0"}}};
  const DownAtEnd end{layout.cluster};
  const auto handle = up(layout, {}, {}, {});
  ASSERT_TRUE(handle) << handle.error().text();
  output_of(layout.cluster, "gpu0", {"ip", "link", "set", "rail0", "up"});
  output_of(layout.cluster, "leaf0", {"ip", "link", "set", "swp0", "up"});
  const auto sees = [&](const std::string& device, const std::string& peer, const std::string& port) {
    const std::string text = output_of(
        layout.cluster, device,
        {"lldpcli", "-u", places(layout.cluster, device).lldpd_socket, "-f", "json", "show", "neighbors"});
    return text.find('"' + peer + '"') != std::string::npos &&
           text.find('"' + port + '"') != std::string::npos;
  };
  EXPECT_TRUE(eventually([&] { return sees("gpu0", "leaf0", "swp0"); }));
  EXPECT_TRUE(eventually([&] { return sees("leaf0", "gpu0", "rail0"); }));
}

TEST(Twin, TwoTwinsSideBySideDoNotTouchEachOther) {
  NEEDS_ROOT;
  const TwinLayout one = rail_pod(test_cluster("p"), 2, 1, 0);
  const TwinLayout two = rail_pod(test_cluster("pp"), 2, 1, 0);
  const DownAtEnd end_one{one.cluster};
  const DownAtEnd end_two{two.cluster};
  // Two threads of one process, as in a service or a test.
  std::optional<Result<TwinHandle>> first;
  std::thread other([&] { first = up(one, without_lldp(), {}, {}); });
  const auto second = up(two, without_lldp(), {}, {});
  other.join();
  ASSERT_TRUE(*first) << first->error().text();
  ASSERT_TRUE(second) << second.error().text();
  ASSERT_TRUE(down(one.cluster));
  const auto report = status(two.cluster);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_TRUE(report->sound());
  EXPECT_EQ(netns_with_prefix("ls-" + two.cluster + "-").size(), 3U);
}

TEST(Twin, AKilledSupervisorEndsItsDaemonsAndDownCleansTheRest) {
  NEEDS_ROOT;
  const TwinLayout layout = rail_pod(test_cluster("k"), 2, 1, 0);
  const DownAtEnd end{layout.cluster};
  const auto handle = up(layout, {}, {}, {});
  ASSERT_TRUE(handle) << handle.error().text();
  const auto report = status(layout.cluster);
  ASSERT_TRUE(report);
  const auto processes = processes_of(*report);
  ASSERT_EQ(::kill(handle->supervisor, SIGKILL), 0);
  EXPECT_TRUE(eventually([&] {
    return std::none_of(processes.begin(), processes.end(), [](const auto& one) { return runs(one); });
  }));
  const auto dead = status(layout.cluster);
  ASSERT_TRUE(dead) << dead.error().text();
  EXPECT_FALSE(dead->alive);
  EXPECT_FALSE(dead->left_behind.empty());
  const auto gone = down(layout.cluster);
  ASSERT_TRUE(gone) << gone.error().text();
  EXPECT_FALSE(gone->cleaned.empty());
  expect_nothing_left(layout.cluster, processes);
}

// The contents of /var/tmp/frr by name and inode: another twin's PID namespace soon has the same pids.
std::set<std::string> frr_scratch() {
  std::set<std::string> out;
  std::error_code none;
  for (const auto& one : std::filesystem::directory_iterator("/var/tmp/frr", none)) {
    struct stat there {};
    if (::stat(one.path().c_str(), &there) == 0)
      out.insert(one.path().filename().string() + " " + std::to_string(there.st_ino));
  }
  return out;
}

// FRR daemons create /var/tmp/frr/NAME.PID, and a killed daemon leaves it behind. The test searches the
// mounts of the daemon itself, so that another FRR on this machine is not mistaken for that of a twin.
TEST(Twin, LeavesNothingInVarTmpHoweverADaemonEnds) {
  NEEDS_ROOT;
  const TwinLayout layout = rail_pod(test_cluster("v"), 1, 1, 0);
  const DownAtEnd end{layout.cluster};
  const std::set<std::string> before = frr_scratch();
  const auto handle = up(layout, without_lldp(), {}, {});
  ASSERT_TRUE(handle) << handle.error().text();
  ASSERT_TRUE(restart_daemon(layout.cluster, "leaf0", "bgpd"));
  const auto report = status(layout.cluster);
  ASSERT_TRUE(report);
  for (const DaemonState& daemon : report->daemons) {
    const std::string own = "/proc/" + std::to_string(daemon.pid) + "/root/var/tmp/frr";
    struct stat theirs {};
    struct stat ours {};
    ASSERT_EQ(::stat(own.c_str(), &theirs), 0) << daemon.name << " has no " << own;
    ASSERT_EQ(::stat("/var/tmp", &ours), 0);
    EXPECT_NE(theirs.st_dev, ours.st_dev) << daemon.name;
  }
  ASSERT_EQ(::kill(handle->supervisor, SIGKILL), 0);
  ASSERT_TRUE(down(layout.cluster));
  EXPECT_EQ(frr_scratch(), before);
}

TEST(Twin, UpAfterAKilledSupervisorCleansAndReportsIt) {
  NEEDS_ROOT;
  const TwinLayout layout = rail_pod(test_cluster("r"), 2, 1, 0);
  const DownAtEnd end{layout.cluster};
  const auto first = up(layout, without_lldp(), {}, {});
  ASSERT_TRUE(first);
  const auto who = identity_of(first->supervisor);
  ASSERT_TRUE(who);
  ASSERT_EQ(::kill(first->supervisor, SIGKILL), 0);
  ASSERT_TRUE(eventually([&] { return !runs(*who); }));
  bool said = false;
  const auto second =
      up(layout, without_lldp(), [&](const TwinProgress& one) { said |= one.step == "cleaning"; }, {});
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_FALSE(second->was_up);
  EXPECT_FALSE(second->cleaned.empty());
  EXPECT_TRUE(said);
  const auto report = status(layout.cluster);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->sound());
}

TEST(Twin, ReportsACableThatLostAnEnd) {
  NEEDS_ROOT;
  const TwinLayout layout = rail_pod(test_cluster("c"), 1, 1, 0);
  const DownAtEnd end{layout.cluster};
  ASSERT_TRUE(up(layout, without_lldp(), {}, {}));
  ASSERT_FALSE(layout.cables.empty());
  const TwinCable& first = layout.cables.front();
  ASSERT_EQ(
      std::system(
          ("ip -n " + places(layout.cluster, first.device_a).netns + " link del " + first.port_a).c_str()),
      0);
  const auto report = examine(layout.cluster);
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->sound());
  EXPECT_EQ(report->lost_cables, std::vector<std::string>{"cable " + first.device_a + ":" + first.port_a +
                                                          " -- " + first.device_b + ":" + first.port_b});
}

TEST(Twin, AHungSupervisorIsKilledByDown) {
  NEEDS_ROOT;
  const TwinLayout layout = rail_pod(test_cluster("h"), 1, 1, 0);
  const DownAtEnd end{layout.cluster};
  const auto handle = up(layout, without_lldp(), {}, {});
  ASSERT_TRUE(handle);
  const auto report = status(layout.cluster);
  ASSERT_TRUE(report);
  ASSERT_EQ(::kill(handle->supervisor, SIGSTOP), 0);
  const auto gone = down(layout.cluster, std::chrono::milliseconds(100));
  ASSERT_TRUE(gone) << gone.error().text();
  EXPECT_TRUE(gone->killed);
  expect_nothing_left(layout.cluster, processes_of(*report));
}

// A stop at each kind of step, as by Ctrl-C.
class TwinStopped : public testing::TestWithParam<const char*> {};

TEST_P(TwinStopped, LeavesNothing) {
  NEEDS_ROOT;
  const TwinLayout layout = rail_pod(test_cluster("c"), 4, 2, 1);
  const DownAtEnd end{layout.cluster};
  std::stop_source source;
  const auto handle = up(
      layout, {},
      [&](const TwinProgress& one) {
        if (one.step == GetParam()) source.request_stop();
      },
      source.get_token());
  ASSERT_FALSE(handle);
  EXPECT_EQ(handle.error().kind, ErrorKind::cancelled);
  expect_nothing_left(layout.cluster, {});
}
INSTANTIATE_TEST_SUITE_P(AtEveryStep, TwinStopped, testing::Values("namespaces", "cables", "daemons"));

TEST(Twin, AnInterruptedLauncherLeavesNothing) {
  NEEDS_ROOT;
  for (const int number : {SIGINT, SIGKILL}) {
    const TwinLayout layout = rail_pod(test_cluster("i"), 4, 2, 1);
    const DownAtEnd end{layout.cluster};
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::signal(SIGINT, SIG_DFL);
      (void)up(layout, {},
               [&](const TwinProgress& one) {
                 if (one.step == "daemons") ::kill(::getpid(), number);
               },
               {});
      ::_exit(0);
    }
    int status_of_child = 0;
    ASSERT_EQ(::waitpid(child, &status_of_child, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status_of_child));
    EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(twin_places(layout.cluster).run_dir); }));
    expect_nothing_left(layout.cluster, {});
  }
}

TEST(Twin, ReportsADeadOrHungDaemonAndRestartsItOnRequestOnly) {
  NEEDS_ROOT;
  const TwinLayout layout = rail_pod(test_cluster("d"), 1, 1, 0);
  const DownAtEnd end{layout.cluster};
  ASSERT_TRUE(up(layout, without_lldp(), {}, {}));
  const auto bgpd = [&]() -> DaemonState {
    const auto report = status(layout.cluster);
    if (report)
      for (const DaemonState& one : report->daemons)
        if (one.name == "bgpd") return one;
    return {};
  };
  ASSERT_EQ(::kill(bgpd().pid, SIGKILL), 0);
  ASSERT_TRUE(eventually([&] { return bgpd().life == DaemonLife::ended; }));
  EXPECT_EQ(bgpd().how, "killed by signal 9 (Killed)");
  const auto started = restart_daemon(layout.cluster, "leaf0", "bgpd");
  ASSERT_TRUE(started) << started.error().text();
  EXPECT_EQ(bgpd().life, DaemonLife::running);
  const pid_t second = bgpd().pid;
  ASSERT_GT(second, 0);
  ASSERT_EQ(::kill(second, SIGSTOP), 0);
  ASSERT_TRUE(eventually([&] { return bgpd().life == DaemonLife::stopped; }));
  const auto again = restart_daemon(layout.cluster, "leaf0", "bgpd");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(bgpd().life, DaemonLife::running);
  EXPECT_NE(bgpd().pid, second);
  EXPECT_FALSE(restart_daemon(layout.cluster, "leaf0", "ospfd"));
}

TEST(Twin, ADaemonThatCannotStartFailsUpWithItsMessage) {
  NEEDS_ROOT;
  TwinOptions options = without_lldp();
  options.frr_profile = "no-such-profile";
  const TwinLayout layout = rail_pod(test_cluster("f"), 1, 1, 0);
  const DownAtEnd end{layout.cluster};
  const auto handle = up(layout, options, {}, {});
  ASSERT_FALSE(handle);
  EXPECT_NE(handle.error().text().find("leaf0: zebra ended while starting"), std::string::npos)
      << handle.error().text();
  expect_nothing_left(layout.cluster, {});
}

TEST(Twin, OffloadAndLongPortNamesFollowTheLayout) {
  NEEDS_ROOT;
  TwinLayout layout{test_cluster("o"),
                    {{"a", TwinRole::host, false}, {"b", TwinRole::host, false}},
                    {{"a", "FourHundredGigE1/1", "b", "rail0", false}, {"a", "rail1", "b", "rail1", true}}};
  const DownAtEnd end{layout.cluster};
  const auto handle = up(layout, without_lldp(), {}, {});
  ASSERT_TRUE(handle) << handle.error().text();
  const auto offload = [&](const std::string& device, const std::string& port) {
    bool on = false;
    EXPECT_TRUE(in_namespace(places(layout.cluster, device).netns_path, [&] {
      const Descriptor socket(::socket(AF_INET, SOCK_DGRAM, 0));
      const auto read = segmentation_offload(socket.number(), port);
      ASSERT_TRUE(read) << read.error().text();
      on = *read;
      EXPECT_NE(::if_nametoindex(port.c_str()), 0U);
    }));
    return on;
  };
  EXPECT_FALSE(offload("a", kernel_port_name("FourHundredGigE1/1")));
  EXPECT_FALSE(offload("b", "rail0"));
  EXPECT_TRUE(offload("a", "rail1"));
  EXPECT_NE(output_of(layout.cluster, "a", {"ip", "link"}).find("altname FourHundredGigE1/1"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep
