// What the driver derives from the answers of a device's lldpd: neighbours that are gone, an agent that hangs
// or is dead.
#include "drivers/linux/lldp.hpp"

#include <gtest/gtest.h>

#include <csignal>

#include "drivers/linux/driver.hpp"
#include "drivers/linux/session.hpp"
#include "drivers/posix/in_namespace.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/unit/linux/lldp_sender.hpp"
#include "tests/unit/twin/live.hpp"

namespace lockstep {
namespace {

using Agent = LldpdAnswer::Agent;

Call soon() { return Call{std::chrono::steady_clock::now() + std::chrono::seconds(10), {}, -1}; }

// A host with an lldpd, and at the other end of its cable a device whose lldpd is stopped.
class LiveLldp : public testing::Test {
 protected:
  void SetUp() override {
    NEEDS_ROOT;
    const TwinLayout layout{test_cluster("v"),
                            {{"gpu0", TwinRole::host, false}, {"far", TwinRole::host, false}},
                            {{"gpu0", "rail0", "far", "swp0"}}};
    cluster_ = layout.cluster;
    end_.cluster = cluster_;
    const auto handle = up(layout, {}, {}, {});
    ASSERT_TRUE(handle) << handle.error().text();
    signal("far", SIGKILL);
    for (const auto& [device, port] : {std::pair("gpu0", "rail0"), std::pair("far", "swp0")})
      set_admin(device, port, true);
    ASSERT_TRUE(eventually([this] {
      announce("first", "swp0");
      return heard().contains("rail0");
    }));
  }

  void set_admin(const std::string& device, const std::string& port, bool on) {
    EXPECT_TRUE(in_namespace(places(cluster_, device).netns_path, [&] {
      auto session = Session::open(soon());
      ASSERT_TRUE(session);
      EXPECT_TRUE(session->set_admin(port, on));
    }));
  }
  pid_t lldpd(const std::string& device) {
    const auto report = status(cluster_);
    if (report)
      for (const DaemonState& one : report->daemons)
        if (one.device == device && one.name == "lldpd") return one.pid;
    return -1;
  }
  void signal(const std::string& device, int number) { ASSERT_EQ(::kill(-lldpd(device), number), 0); }

  // Announces `name` as the neighbour at the far end.
  void announce(const std::string& name, const std::string& port) {
    EXPECT_TRUE(in_namespace(places(cluster_, "far").netns_path, [&] {
      const auto mac = std::vector<std::byte>(6, static_cast<std::byte>(name.front() << 1U));
      (void)send_lldp("swp0", {name, port, mac});  // lost while there is no carrier
    }));
  }
  LinuxTarget target() const {
    const DevicePlaces at = places(cluster_, "gpu0");
    return {.device = "gpu0", .netns_path = at.netns_path, .lldpd_socket = at.lldpd_socket};
  }
  LldpdAnswer answer() { return read_lldpd(places(cluster_, "gpu0").lldpd_socket, soon()); }
  std::map<std::string, LldpNeighbour> heard() { return answer().heard; }

  std::string cluster_;
  DownAtEnd end_{};
};

TEST_F(LiveLldp, ReportsTheLatestOfSeveralNeighboursAtAPort) {
  ASSERT_EQ(heard().at("rail0").text(), "first:swp0");
  ASSERT_TRUE(eventually([this] {
    announce("second", "swp7");
    return heard().at("rail0").text() == "second:swp7";
  }));
  // The first is still valid (120 s), and a repeated announcement does not make it the latest.
  announce("second", "swp7");
  EXPECT_EQ(heard().at("rail0").text(), "second:swp7");
}

TEST_F(LiveLldp, APortWithoutCarrierHasNoNeighbourWhateverLldpdRemembers) {
  Attached driver = make_linux_driver(target());
  const Path peer(row("interface[*]/peer"), {"rail0"});
  const auto seen = [&] {
    const auto out = driver.driver->observe(Scope{}, "", soon());
    EXPECT_TRUE(out);
    return out ? out->have.value(peer) : Value{};
  };
  EXPECT_EQ(seen(), Value::text("first:swp0"));
  set_admin("far", "swp0", false);
  EXPECT_EQ(seen(), Value{});
}

TEST_F(LiveLldp, DistinguishesAHungAgentFromADeadOne) {
  EXPECT_EQ(answer().agent, Agent::answers);
  signal("gpu0", SIGSTOP);
  const auto before = std::chrono::steady_clock::now();
  const LldpdAnswer hung = answer();
  EXPECT_EQ(hung.agent, Agent::silent);
  ASSERT_TRUE(hung.why);
  EXPECT_LT(std::chrono::steady_clock::now(), before + std::chrono::seconds(8))
      << "not the whole call's time";
  const Call short_of_time{std::chrono::steady_clock::now() + std::chrono::milliseconds(50), {}, -1};
  EXPECT_EQ(read_lldpd(places(cluster_, "gpu0").lldpd_socket, short_of_time).agent, Agent::unclear);
  ASSERT_TRUE(restart_daemon(cluster_, "gpu0", "lldpd"));
  EXPECT_EQ(answer().agent, Agent::answers);
  signal("gpu0", SIGKILL);
  EXPECT_TRUE(eventually([this] { return answer().agent == Agent::absent; }));
}

TEST_F(LiveLldp, IsRestartedOnlyWithARestartFunction) {
  const Change dead{Path(row("lldp-agent"), {}), Value::text("lldpd does not run"), Value::text("running"),
                    0};
  EXPECT_FALSE(make_linux_driver(target()).remedy->offer(dead));
  LinuxTarget with_means = target();
  with_means.restart_lldpd = [this](const Call&) { return restart_daemon(cluster_, "gpu0", "lldpd"); };
  Attached driver = make_linux_driver(with_means);
  signal("gpu0", SIGKILL);
  ASSERT_TRUE(eventually([this] { return answer().agent == Agent::absent; }));
  ASSERT_TRUE(driver.remedy->offer(dead));
  EXPECT_FALSE(driver.remedy->offer({Path(row("interface[*]/peer"), {"rail0"}), {}, Value::text("x:y"), 0}));
  const auto cured = driver.remedy->cure({dead}, soon());
  ASSERT_TRUE(cured) << cured.error().text();
  EXPECT_TRUE(eventually([this] { return answer().agent == Agent::answers; }));
}

}  // namespace
}  // namespace lockstep
