// A change of a running twin adds what is new, removes what is gone, and does not touch the rest, even if the
// change is interrupted.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "reconciler/twin/channel.hpp"
#include "tests/unit/twin/live.hpp"

namespace lockstep {
namespace {

// Two layouts of rail_pod(): the second has one host and one spine more, and one leaf less.
TwinLayout before(const std::string& cluster) { return rail_pod(cluster, 2, 2, 1); }
TwinLayout after(const std::string& cluster) { return rail_pod(cluster, 3, 1, 2); }

std::map<std::string, ProcessIdentity> daemons_by_name(const std::string& cluster) {
  std::map<std::string, ProcessIdentity> out;
  const auto report = status(cluster);
  EXPECT_TRUE(report && report->alive);
  if (!report) return out;
  for (const DaemonState& one : report->daemons)
    if (const auto who = identity_of(one.pid)) out.emplace(one.device + " " + one.name, *who);
  return out;
}

// Index, state, MTU and addresses of every interface, as shown by ip(8).
std::string interfaces(const std::string& cluster, const std::string& device) {
  return output_of(cluster, device, {"ip", "-o", "link"}) + output_of(cluster, device, {"ip", "-o", "addr"});
}

std::string line_with(const std::string& text, const std::string& word) {
  const auto at = text.find(word);
  if (at == std::string::npos) return "";
  const auto begin = text.rfind('\n', at) + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}

// Checks with iproute2 that exactly the namespaces and ports of the layout exist.
void expect_is(const TwinLayout& layout) {
  std::vector<std::string> names;
  for (const TwinDevice& one : layout.devices) names.push_back(places(layout.cluster, one.name).netns);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(netns_with_prefix("ls-" + layout.cluster + "-"), names);
  for (const TwinDevice& device : layout.devices) {
    std::set<std::string> wanted{"lo"};
    for (const TwinCable& cable : layout.cables) {
      if (cable.device_a == device.name) wanted.insert(cable.port_a);
      if (cable.device_b == device.name) wanted.insert(cable.port_b);
    }
    std::set<std::string> there;
    std::istringstream lines(output_of(layout.cluster, device.name, {"ls", "-1", "/sys/class/net"}));
    for (std::string line; std::getline(lines, line);) there.insert(line);
    EXPECT_EQ(there, wanted) << device.name;
  }
  const auto report = examine(layout.cluster);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_TRUE(report->sound());
  for (const DaemonState& one : report->daemons) EXPECT_TRUE(identity_of(one.pid)) << one.device << one.name;
  EXPECT_EQ(report->daemons.size(),
            3U * static_cast<std::size_t>(std::count_if(layout.devices.begin(), layout.devices.end(),
                                                        [](const auto& one) { return one.routing; })));
}

TEST(ChangedTwin, HasWhatIsNewAndKeepsWhatStaysUntouched) {
  NEEDS_ROOT;
  const std::string cluster = test_cluster("a");
  const DownAtEnd end{cluster};
  const auto first = up(before(cluster), without_lldp(), {}, {});
  ASSERT_TRUE(first) << first.error().text();
  output_of(cluster, "gpu0", {"ip", "link", "set", "rail0", "up", "mtu", "9000"});
  output_of(cluster, "gpu0", {"ip", "address", "add", "10.0.0.1/31", "dev", "rail0"});
  output_of(cluster, "leaf0", {"ip", "link", "set", "swp0", "up"});
  output_of(cluster, "leaf0", {"ip", "address", "add", "10.0.0.0/31", "dev", "swp0"});
  const auto daemons = daemons_by_name(cluster);
  const std::string rail0 = line_with(interfaces(cluster, "gpu0"), " rail0@");
  const std::string up0 = line_with(interfaces(cluster, "leaf0"), " up0@");
  ASSERT_NE(rail0.find("mtu 9000"), std::string::npos) << rail0;

  const auto second = up(after(cluster), without_lldp(), {}, {});
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_TRUE(second->was_up);
  EXPECT_EQ(second->supervisor, first->supervisor);
  EXPECT_TRUE(std::count(second->made.begin(), second->made.end(), "host gpu2"));
  EXPECT_TRUE(std::count(second->made.begin(), second->made.end(), "switch spine1 (routing)"));
  EXPECT_TRUE(std::count(second->made.begin(), second->made.end(), "cable leaf0:up1 -- spine1:swp0"));
  EXPECT_TRUE(std::count(second->gone.begin(), second->gone.end(), "switch leaf1 (routing)"));
  EXPECT_TRUE(std::count(second->gone.begin(), second->gone.end(), "cable gpu0:rail1 -- leaf1:swp0"));
  EXPECT_FALSE(std::count(second->made.begin(), second->made.end(), "host gpu0"));
  expect_is(after(cluster));
  EXPECT_EQ(line_with(interfaces(cluster, "gpu0"), " rail0@"), rail0);
  EXPECT_EQ(line_with(interfaces(cluster, "leaf0"), " up0@"), up0);
  EXPECT_NE(output_of(cluster, "gpu0", {"ping", "-c", "1", "-W", "5", "10.0.0.0"}).find(" 0% packet loss"),
            std::string::npos);
  const auto now = daemons_by_name(cluster);
  for (const auto& [name, who] : daemons) {
    if (name.starts_with("leaf1 ")) {
      EXPECT_FALSE(runs(who)) << name;
      continue;
    }
    ASSERT_TRUE(now.contains(name)) << name;
    EXPECT_EQ(now.at(name).pid, who.pid) << name;
    EXPECT_EQ(now.at(name).started, who.started) << name;
  }
  EXPECT_FALSE(std::filesystem::exists(places(cluster, "leaf1").run_dir));

  const auto third = up(after(cluster), without_lldp(), {}, {});
  ASSERT_TRUE(third) << third.error().text();
  EXPECT_TRUE(third->was_up);
  EXPECT_FALSE(third->changed());
  const auto report = status(cluster);
  ASSERT_TRUE(report);
  const auto processes = processes_of(*report);
  ASSERT_TRUE(down(cluster));
  expect_nothing_left(cluster, processes);
}

TEST(ChangedTwin, RemembersTheLatestLinkRate) {
  NEEDS_ROOT;
  const TwinLayout layout = rail_pod(test_cluster("r"), 1, 1, 0);
  const DownAtEnd end{layout.cluster};
  EXPECT_FALSE(recorded_twin(layout.cluster));
  TwinOptions options = without_lldp();
  options.link_rate = 5'000'000'000;
  ASSERT_TRUE(up(layout, options, {}, {}));
  EXPECT_EQ(recorded_twin(layout.cluster)->link_rate, 5'000'000'000U);
  options.link_rate = 2'000'000'000;
  const auto slower = up(layout, options, {}, {});
  ASSERT_TRUE(slower) << slower.error().text();
  EXPECT_TRUE(slower->changed());
  EXPECT_EQ(slower->link_rate_was, 5'000'000'000U);
  EXPECT_EQ(recorded_twin(layout.cluster)->link_rate, 2'000'000'000U);
  EXPECT_EQ(status(layout.cluster)->record.link_rate, 2'000'000'000U);
}

TEST(ChangedTwin, RecreatesWhatIsLostAndWhatChangedItsKind) {
  NEEDS_ROOT;
  TwinLayout layout = rail_pod(test_cluster("l"), 2, 2, 0);
  const DownAtEnd end{layout.cluster};
  ASSERT_TRUE(up(layout, without_lldp(), {}, {}));
  output_of(layout.cluster, "gpu0", {"ip", "link", "del", "rail0"});
  ASSERT_FALSE(examine(layout.cluster)->sound());
  const auto cabled = up(layout, without_lldp(), {}, {});
  ASSERT_TRUE(cabled) << cabled.error().text();
  EXPECT_EQ(cabled->made, std::vector<std::string>{"cable gpu0:rail0 -- leaf0:swp0"});
  expect_is(layout);
  // Its daemons survive in a namespace without a name.
  const auto orphans = daemons_by_name(layout.cluster);
  ASSERT_TRUE(delete_netns(places(layout.cluster, "leaf1").netns));
  const auto whole = up(layout, without_lldp(), {}, {});
  ASSERT_TRUE(whole) << whole.error().text();
  expect_is(layout);
  EXPECT_FALSE(runs(orphans.at("leaf1 zebra")));
  EXPECT_TRUE(runs(orphans.at("leaf0 zebra")));
  layout.devices[1].role = TwinRole::device_switch;
  layout.devices[1].routing = true;
  ASSERT_TRUE(up(layout, without_lldp(), {}, {}));
  expect_is(layout);
}

TEST(ChangedTwin, LeavesADeadDaemonToTheReconciler) {
  NEEDS_ROOT;
  const std::string cluster = test_cluster("d");
  const DownAtEnd end{cluster};
  ASSERT_TRUE(up(before(cluster), without_lldp(), {}, {}));
  const auto daemons = daemons_by_name(cluster);
  ASSERT_EQ(::kill(daemons.at("leaf0 bgpd").pid, SIGKILL), 0);
  ASSERT_TRUE(eventually([&] { return !status(cluster)->sound(); }));
  ASSERT_TRUE(up(after(cluster), without_lldp(), {}, {}));
  EXPECT_FALSE(daemons_by_name(cluster).contains("leaf0 bgpd"));
  ASSERT_TRUE(restart_daemon(cluster, "leaf0", "bgpd"));
  expect_is(after(cluster));
}

TEST(ChangedTwin, RefusesToChangeLldpOrTheFrrProfile) {
  NEEDS_ROOT;
  const std::string cluster = test_cluster("c");
  const DownAtEnd end{cluster};
  ASSERT_TRUE(up(before(cluster), without_lldp(), {}, {}));
  const auto refused = up(after(cluster), {}, {}, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::conflict);
  EXPECT_NE(refused.error().text().find("give --no-lldp again"), std::string::npos) << refused.error().text();
  TwinOptions other = without_lldp();
  other.frr_profile = "traditional";
  EXPECT_FALSE(up(before(cluster), other, {}, {}));
  expect_is(before(cluster));
}

// An interruption at each kind of step; the next `up` continues from there, to the new or to the old layout.
class CutOff : public testing::TestWithParam<const char*> {};

TEST_P(CutOff, ByCtrlCContinuesAtTheNextUp) {
  NEEDS_ROOT;
  const std::string cluster = test_cluster("s");
  const DownAtEnd end{cluster};
  ASSERT_TRUE(up(before(cluster), without_lldp(), {}, {}));
  const auto daemons = daemons_by_name(cluster);
  std::stop_source source;
  const auto cut = up(
      after(cluster), without_lldp(),
      [&](const TwinProgress& one) {
        if (one.step == GetParam()) source.request_stop();
      },
      source.get_token());
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().kind, ErrorKind::cancelled);
  EXPECT_NE(cut.error().text().find("`lockstep twin up` goes on"), std::string::npos) << cut.error().text();
  // The parts that exist are complete.
  const auto report = examine(cluster);
  ASSERT_TRUE(report && report->alive) << report.error().text();
  EXPECT_TRUE(report->sound());
  EXPECT_EQ(netns_with_prefix("ls-" + cluster + "-").size(), report->record.layout.devices.size());
  ASSERT_TRUE(up(before(cluster), without_lldp(), {}, {}));
  expect_is(before(cluster));
  ASSERT_TRUE(up(after(cluster), without_lldp(), {}, {}));
  expect_is(after(cluster));
  EXPECT_TRUE(runs(daemons.at("leaf0 zebra")) && runs(daemons.at("spine0 bgpd")));
}

TEST_P(CutOff, ByKillOfTheCommandContinuesAtTheNextUp) {
  NEEDS_ROOT;
  const std::string cluster = test_cluster("k");
  const DownAtEnd end{cluster};
  ASSERT_TRUE(up(before(cluster), without_lldp(), {}, {}));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    (void)up(after(cluster), without_lldp(),
             [&](const TwinProgress& one) {
               if (one.step == GetParam()) ::kill(::getpid(), SIGKILL);
             },
             {});
    ::_exit(0);
  }
  int how = 0;
  ASSERT_EQ(::waitpid(child, &how, 0), child);
  ASSERT_TRUE(WIFSIGNALED(how));
  ASSERT_TRUE(eventually([&] { return bool(up(after(cluster), without_lldp(), {}, {})); }));
  expect_is(after(cluster));
}

TEST_P(CutOff, ByTheEndOfItsSupervisorIsTakenDownWhole) {
  NEEDS_ROOT;
  const std::string cluster = test_cluster("e");
  const DownAtEnd end{cluster};
  const auto first = up(before(cluster), without_lldp(), {}, {});
  ASSERT_TRUE(first);
  const auto processes = processes_of(*status(cluster));
  const auto cut = up(after(cluster), without_lldp(),
                      [&](const TwinProgress& one) {
                        if (one.step == GetParam()) ::kill(first->supervisor, SIGKILL);
                      },
                      {});
  EXPECT_FALSE(cut);
  EXPECT_TRUE(eventually([&] { return std::none_of(processes.begin(), processes.end(), runs); }));
  ASSERT_TRUE(down(cluster));
  expect_nothing_left(cluster, processes);
  EXPECT_FALSE(status(cluster));
}
INSTANTIATE_TEST_SUITE_P(AtEveryStep, CutOff,
                         testing::Values("taken away", "namespaces", "cables", "daemons"));

// A change that fails: a manually created interface has the name of the new port.
TEST(ChangedTwin, AFailedChangeAddsNothingAndCanContinue) {
  NEEDS_ROOT;
  const std::string cluster = test_cluster("f");
  const DownAtEnd end{cluster};
  ASSERT_TRUE(up(before(cluster), without_lldp(), {}, {}));
  output_of(cluster, "leaf0", {"ip", "link", "add", "up1", "type", "veth", "peer", "name", "other"});
  const auto failed = up(after(cluster), without_lldp(), {}, {});
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().text().find("cable leaf0:up1 -- spine1:swp0"), std::string::npos)
      << failed.error().text();
  EXPECT_EQ(netns_with_prefix("ls-" + cluster + "-").size(), 4U);  // without leaf1, gpu2 and spine1
  EXPECT_TRUE(examine(cluster)->sound());
  const auto again = up(after(cluster), without_lldp(), {}, {});
  ASSERT_TRUE(again) << again.error().text();
  expect_is(after(cluster));
}

// Stands in for the supervisor of an older lockstep that cannot change twins: it answers `status` and does
// not support "change".
TEST(ChangedTwin, OfAnOlderLockstepIsUsedUnchangedOrRefused) {
  NEEDS_ROOT;
  const std::string cluster = test_cluster("o");
  const auto lock = claim(cluster);
  ASSERT_TRUE(lock && *lock);
  TwinReport report;
  report.cluster = cluster;
  report.alive = true;
  report.record = {.layout = before(cluster), .lldp = false, .frr_profile = TwinOptions{}.frr_profile};
  const auto listener = listen_on(twin_places(cluster).control);
  ASSERT_TRUE(listener);
  const std::jthread older([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pollfd waits{listener->number(), POLLIN, 0};
      if (::poll(&waits, 1, 20) <= 0) continue;
      auto client = accept_own(*listener);
      const Call call{std::chrono::steady_clock::now() + std::chrono::seconds(5), {}, -1};
      if (!client) continue;
      const auto asked = client->read_line(call);
      if (!asked) continue;
      const bool knows = asked->find("\"status\"") != std::string::npos;
      const std::string unknown =
          R"({"error":"unknown op","kind":)" + std::to_string(static_cast<int>(ErrorKind::unsupported)) + "}";
      (void)client->write_line(knows ? to_text(report) : unknown, call);
    }
  });
  const auto same = up(before(cluster), without_lldp(), {}, {});
  ASSERT_TRUE(same) << same.error().text();
  EXPECT_FALSE(same->changed());
  const auto refused = up(after(cluster), without_lldp(), {}, {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("by another lockstep"), std::string::npos) << refused.error().text();
  EXPECT_NE(refused.error().text().find("host gpu2"), std::string::npos) << refused.error().text();
  ASSERT_TRUE(clean_remains(cluster, Leave::nothing));
}

}  // namespace
}  // namespace lockstep
