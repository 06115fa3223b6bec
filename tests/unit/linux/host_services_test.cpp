// Services through a stub of systemd on its own bus: no unit is started.
#include "tests/needs.hpp"
#include "tests/unit/linux/host_lab.hpp"
#include "tests/unit/linux/host_systemd.hpp"

namespace lockstep {
namespace {

class ServicesTest : public HostLab {
 protected:
  void SetUp() override {
    if (const std::string why = StubSystemd::impossible(); !why.empty()) LOCKSTEP_NOT_TESTED_BUT_ON_CI(why);
    systemd = std::make_unique<StubSystemd>(host.root());
    ASSERT_TRUE(systemd->ready());
    systemd->set("lldpd.service", {"active", "enabled"});
    systemd->set("openibd.service", {"inactive", "disabled"});
    systemd->set("apt-daily.timer", {"active", "disabled"});
    systemd->set("dbus.service", {"inactive", "static"});
    systemd->set("slurmd.service", {"failed", "enabled"});
    systemd->set("nfs.service", {"inactive", "masked"});
    make({"service[lldpd]", "service[openibd]", "service[apt-daily.timer]", "service[dbus]",
          "service[slurmd]", "service[nfs]", "service[none-such]"});
  }

  std::unique_ptr<StubSystemd> systemd;
};

TEST_F(ServicesTest, AreReadAsStatesNowAndAtBoot) {
  const Tree tree = read();
  EXPECT_TRUE(unread.empty()) << unread.front().why.text();
  const auto state = [&](const std::string& entry) { return tree.value(path(entry)).to_string(); };
  EXPECT_EQ(state("service[lldpd]"), "running");
  EXPECT_EQ(state("service[openibd]"), "disabled");
  EXPECT_EQ(state("service[apt-daily.timer]"), "running, not at boot");
  EXPECT_EQ(state("service[dbus]"), "stopped");
  EXPECT_EQ(state("service[slurmd]"), "failed");
  EXPECT_EQ(state("service[nfs]"), "disabled");
  EXPECT_EQ(state("service[none-such]"), "disabled") << "nothing runs, now or at boot";
  EXPECT_EQ(lacks("service[none-such]"),
            "systemd has no none-such.service; packages are installed manually, not by lockstep");
  EXPECT_TRUE(is_by_hand("service[none-such]"));
  EXPECT_EQ(lacks("service[nfs]"), "");
}

TEST_F(ServicesTest, AreSetToEachOfTheFourStatesAndBack) {
  for (const char* wanted :
       {"disabled", "running", "stopped", "running, not at boot", "stopped", "running"}) {
    EXPECT_EQ(apply("service[lldpd]", Value::text(wanted)), "") << wanted;
    EXPECT_EQ(value("service[lldpd]"), wanted);
  }
  EXPECT_EQ(apply("service[slurmd]", Value::text("stopped")), "") << "a failure is let go of";
  EXPECT_EQ(value("service[slurmd]"), "stopped");
  EXPECT_EQ(apply("service[openibd]", Value::text("running")), "");
  EXPECT_EQ(systemd->unit("openibd.service").file, "enabled");
}

TEST_F(ServicesTest, ReportsWhatSystemdRefuses) {
  EXPECT_EQ(apply("service[nfs]", Value::text("running")),
            "refused: systemd: Unit file nfs.service is masked.");
  EXPECT_EQ(
      apply("service[none-such]", Value::text("running")),
      "unsupported: systemd has no none-such.service; packages are installed manually, not by lockstep");
  EXPECT_EQ(apply("service[dbus]", Value::text("disabled")),
            "refused: systemd: dbus.service is stopped all the same (inactive, static)");
  EXPECT_EQ(apply("service[lldpd]", Value::text("on")).substr(0, 12), "invalid spec");
  systemd->set("openibd.service", {"inactive", "enabled", "dependency"});
  EXPECT_EQ(apply("service[openibd]", Value::text("running")),
            "refused: systemd StartUnit openibd.service: dependency");
}

TEST_F(ServicesTest, AreNotEnabledWhenTheyDoNotStart) {
  systemd->set("openibd.service", {"inactive", "disabled", "dependency"});
  EXPECT_EQ(apply("service[openibd]", Value::text("running")),
            "refused: systemd StartUnit openibd.service: dependency");
  EXPECT_EQ(value("service[openibd]"), "disabled");
}

TEST_F(ServicesTest, AJobThatMissesTheDeadlineHasAnUnknownOutcome) {
  systemd->set("openibd.service", {"inactive", "enabled", "never"});
  const auto answers = part->apply({{path("service[openibd]"), {}, Value::text("running"), 0}}, {},
                                   within(std::chrono::milliseconds(300)));
  ASSERT_TRUE(answers.at(0));
  EXPECT_EQ(answers[0]->kind, ErrorKind::unknown_outcome);
}

TEST_F(ServicesTest, AreUnreadAtTheDeadlineWhenTheManagerHangs) {
  systemd->fall_silent();
  TreeBuilder tree;
  part->read(Scope{{path("service[x]").row()}, scope.named}, {}, tree, unread,
             within(std::chrono::milliseconds(100)));
  ASSERT_EQ(unread.size(), 1U);
  EXPECT_EQ(unread[0].why.text(), "systemd: the deadline passed");
}

using ServicesWithout = HostLab;

TEST_F(ServicesWithout, SystemdAreNotSupported) {
  make({"service[lldpd]"});
  EXPECT_EQ(lacks("service[lldpd]"), "not booted with systemd (no /run/systemd/system)");
  EXPECT_EQ(not_read("service[lldpd]"), "");
}

TEST_F(ServicesWithout, ABusAreUnread) {
  std::filesystem::create_directories(host.root() / "run/systemd/system");
  make({"service[lldpd]"});
  EXPECT_EQ(lacks("service[lldpd]"), "");
  EXPECT_NE(not_read("service[lldpd]").find("No such file or directory"), std::string::npos);
  make({});
  EXPECT_EQ(not_read("service[lldpd]"), "") << "nobody asks for a service";
}

}  // namespace
}  // namespace lockstep
