// The driver against real FRR daemons: every configuration row is added, changed and removed.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "drivers/frr/config_text.hpp"
#include "tests/needs.hpp"
#include "tests/unit/frr/live.hpp"

namespace lockstep::frr {
namespace {

class LiveConfig : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (lab_impossible()) return;
    lab_ = std::make_unique<Lab>(std::vector<std::string>{"solo"});
    lab_->start("solo");
  }
  static void TearDownTestSuite() { lab_.reset(); }
  void SetUp() override {
    if (const auto why = lab_impossible()) LOCKSTEP_NOT_TESTED_BUT_ON_CI(*why);
    frr_ = make_frr_driver(lab_->target("solo"));
    // Removes whatever the previous test left.
    const Observation have = observed(*frr_.driver);
    ChangeSet all;
    for (const Entry& entry : have.have.entries())
      if (schema_row(entry.path.row()).facet == Facet::config && schema_row(entry.path.row()).saves.empty())
        all.push_back({entry.path, entry.value, Value{}, 0});
    applied(*frr_.driver, all);
  }

  Value now(const std::string& entry) { return observed(*frr_.driver).have.value(path(entry)); }
  void change(const std::string& entry, Value want) {
    applied(*frr_.driver, {{path(entry), now(entry), want, 0}});
  }

  static std::unique_ptr<Lab> lab_;
  Attached frr_;
};
std::unique_ptr<Lab> LiveConfig::lab_;

TEST_F(LiveConfig, StartsFromNothing) {
  EXPECT_EQ(observed(*frr_.driver).have.to_string(),
            "routing-config/saved = present\nrouting-daemon[bfd] = running\nrouting-daemon[bgp] = running\n"
            "routing-daemon[rib] = running\n");
}

TEST_F(LiveConfig, MakesChangesAndRemovesEveryRow) {
  converge(*frr_.driver, intent_of("solo", switch_entries(65001, "10.0.0.1", {"up0", "up1"})));
  struct Case {
    const char* entry;
    Value first;
    Value second;
    Value removed;  // what is observed after a removal: the default of FRR if the row always has a value
  };
  const std::vector<Case> cases{
      {"bfd-profile[lockstep]/multiplier", Value::integer(5), Value::integer(3), Value::integer(3)},
      {"bfd-profile[lockstep]/receive-interval", Value::integer(100), Value::integer(300),
       Value::integer(300)},
      {"bfd-profile[lockstep]/transmit-interval", Value::integer(100), Value::integer(250),
       Value::integer(300)},
      {"bgp/graceful-shutdown", Value::boolean(true), Value::boolean(false), Value::boolean(false)},
      {"bgp/max-paths", Value::integer(8), Value::integer(256), Value::integer(256)},
      {"bgp/multipath-relax", Value::boolean(false), Value::boolean(true), Value::boolean(false)},
      {"bgp/neighbor[up0]/bfd", Value::text("other"), Value::text(kNoProfile), Value{}},
      {"bgp/neighbor[up0]/hold", Value::integer(30), Value::integer(12), Value::integer(180)},
      {"bgp/neighbor[up0]/keepalive", Value::integer(2), Value::integer(4), Value::integer(60)},
      {"bgp/neighbor[up0]/shutdown", Value::boolean(true), Value::boolean(false), Value::boolean(false)},
      {"bgp/router-id", Value::text("10.0.0.2"), Value::text("10.0.0.3"), Value{}},
  };
  for (const Case& one : cases) {
    for (const Value want : {one.first, one.second}) {
      change(one.entry, want);
      EXPECT_EQ(now(one.entry), want) << one.entry << ": " << now(one.entry).to_string();
    }
    change(one.entry, Value{});
    EXPECT_EQ(now(one.entry), one.removed) << one.entry << ": " << now(one.entry).to_string();
  }
  for (const char* remote : {"internal", "65099", "external"}) {
    change("bgp/neighbor[up1]/remote-as", Value::text(remote));
    EXPECT_EQ(now("bgp/neighbor[up1]/remote-as"), Value::text(remote));
  }
  for (const char* member : {"bgp/aggregate[10.64.0.0/16]", "bgp/aggregate[2001:db8::/32]",
                             "bgp/redistribute[static]", "bgp/neighbor[up7]", "bfd-profile[other]"}) {
    change(member, Value::present());
    EXPECT_EQ(now(member), Value::present()) << member;
    change(member, Value{});
    EXPECT_EQ(now(member), Value{}) << member;
  }
  change("bgp", Value{});
  EXPECT_FALSE(now("bgp"));
  EXPECT_FALSE(now("bgp/neighbor[up0]"));
}

TEST_F(LiveConfig, ASecondApplyHasNothingToDo) {
  const Intent intent = intent_of("solo", switch_entries(65001, "10.0.0.1", {"up0"}));
  converge(*frr_.driver, intent);
  const std::string before = lab_->type("solo", "bgpd", {"show running-config"});
  applied(*frr_.driver, diff(intent, observed(*frr_.driver)).changes);
  // Even a change set that is already applied writes nothing.
  Observation empty;
  applied(*frr_.driver, diff(intent, empty).changes);
  EXPECT_EQ(lab_->type("solo", "bgpd", {"show running-config"}), before);
}

// `lockstep render`: FRR loads from the file what an apply would set.
TEST_F(LiveConfig, ARenderedFileReproducesItsState) {
  const Tree wanted = tree_of(switch_entries(65001, "10.0.0.1", {"up0", "up1"}));
  ChangeSet changes;
  for (const Entry& entry : wanted.entries())
    if (schema_row(entry.path.row()).facet == Facet::config)
      changes.push_back({entry.path, Value{}, entry.value, 0});
  changes.push_back({path("bgp/aggregate[10.65.0.0/16]"), Value{}, Value::present(), 0});
  const Result<std::string> text = frr_config_of("solo", changes);
  ASSERT_TRUE(text) << text.error().text();
  std::ofstream(lab_->target("solo").config_file) << *text;
  lab_->load_saved("solo");
  const Tree have = observed(*frr_.driver).have;
  for (const Change& one : changes)
    EXPECT_EQ(have.value(one.path), one.want) << one.path.text() << "\n" << *text;
}

TEST_F(LiveConfig, ChangesTheAsnAndKeepsForeignLines) {
  converge(*frr_.driver, intent_of("solo", switch_entries(65001, "10.0.0.1", {"up0", "up1"})));
  lab_->type("solo", "bgpd",
             {"configure terminal", "ip prefix-list hand seq 5 permit 10.0.0.0/8 le 32",
              "route-map RM permit 10", "match ip address prefix-list hand", "exit", "router bgp 65001",
              "neighbor up1 description made by hand", "neighbor 192.0.2.7 remote-as 65002",
              "address-family ipv4 unicast", "network 192.0.2.0/24 route-map RM",
              "neighbor up0 route-map RM in", "end"});
  const std::vector<std::string> foreign{"ip prefix-list hand seq 5 permit 10.0.0.0/8 le 32",
                                         "route-map RM permit 10",
                                         "neighbor up1 description made by hand",
                                         "neighbor 192.0.2.7 remote-as 65002",
                                         "network 192.0.2.0/24 route-map RM",
                                         "neighbor up0 route-map RM in"};
  Entries other = switch_entries(65001, "10.0.0.9", {"up0", "up1", "up2"});
  converge(*frr_.driver, intent_of("solo", other));
  change("bgp/asn", Value::integer(65077));
  EXPECT_EQ(now("bgp/asn"), Value::integer(65077));
  EXPECT_EQ(now("bgp/router-id"), Value::text("10.0.0.9"));
  const std::string config = lab_->type("solo", "bgpd", {"show running-config"});
  const std::string saved = text_of(lab_->target("solo").config_file);
  for (const std::string& line : foreign) {
    EXPECT_NE(config.find(line), std::string::npos) << line;
    EXPECT_NE(saved.find(line), std::string::npos) << "not saved: " << line;
  }
  lab_->type(
      "solo", "bgpd",
      {"configure terminal", "no router bgp 65077", "no route-map RM", "no ip prefix-list hand", "end"});
}

TEST_F(LiveConfig, ReportsTheLineThatFrrRefusedAndStops) {
  converge(*frr_.driver, intent_of("solo", switch_entries(65001, "10.0.0.1", {"up0"})));
  const ChangeSet changes{
      {path("bgp/max-paths"), now("bgp/max-paths"), Value::integer(32), 0},
      {path("bgp/neighbor[up0]/hold"), now("bgp/neighbor[up0]/hold"), Value::integer(9), 0},
      {path("bgp/router-id"), now("bgp/router-id"), Value::text("not-an-id"), 0}};
  const auto receipt = frr_.driver->apply(changes, Guard{}, soon());
  ASSERT_TRUE(receipt) << receipt.error().text();
  ASSERT_TRUE(receipt->outcomes[2].error);
  EXPECT_EQ(receipt->outcomes[2].error->kind, ErrorKind::refused);
  EXPECT_NE(receipt->outcomes[2].error->text().find("bgp router-id not-an-id"), std::string::npos);
  EXPECT_NE(receipt->outcomes[2].error->text().find("% [BGP] Unknown command"), std::string::npos);
  ASSERT_TRUE(receipt->outcomes[0].error) << "a later line was tried";
  EXPECT_EQ(now("bgp/max-paths"), Value::integer(64));
}

TEST_F(LiveConfig, PreviewShowsTheLinesThatAreWritten) {
  observed(*frr_.driver);
  const ChangeSet changes =
      diff(intent_of("solo", switch_entries(65001, "10.0.0.1", {"up0"})), Observation{}).changes;
  const auto lines = frr_.preview->native(changes);
  EXPECT_NE(std::find(lines.begin(), lines.end(), "bgpd> neighbor up0 interface remote-as external"),
            lines.end());
  for (const std::string& line : lines) {
    EXPECT_FALSE(line.starts_with("!")) << line;
    const std::size_t mark = line.find("> ");
    ASSERT_NE(mark, std::string::npos) << line;
  }
  std::vector<std::string> bgpd;
  std::vector<std::string> bfdd;
  for (const std::string& line : lines)
    (line.starts_with("bgpd> ") ? bgpd : bfdd).push_back(line.substr(line.find("> ") + 2));
  lab_->type("solo", "bfdd", bfdd);
  lab_->type("solo", "bgpd", bgpd);
  const auto left =
      diff(intent_of("solo", switch_entries(65001, "10.0.0.1", {"up0"})), observed(*frr_.driver));
  EXPECT_TRUE(left.changes.empty()) << "typing the preview gives what apply gives";
}

TEST_F(LiveConfig, RefusesAStaleRevision) {
  converge(*frr_.driver, intent_of("solo", switch_entries(65001, "10.0.0.1", {"up0"})));
  const std::string revision = observed(*frr_.driver).revision;
  ASSERT_FALSE(revision.empty());
  const auto same = frr_.driver->observe(Scope{}, revision, soon());
  ASSERT_TRUE(same);
  EXPECT_EQ(same->revision, revision);
  EXPECT_TRUE(same->have.empty());
  lab_->type("solo", "bgpd",
             {"configure terminal", "router bgp 65001", "neighbor up0 description moved", "end"});
  Guard guard;
  guard.revision = revision;
  const auto receipt =
      frr_.driver->apply({{path("bgp/max-paths"), Value::integer(64), Value::integer(2), 0}}, guard, soon());
  ASSERT_FALSE(receipt);
  EXPECT_EQ(receipt.error().kind, ErrorKind::conflict);
  EXPECT_EQ(now("bgp/max-paths"), Value::integer(64));
}

TEST_F(LiveConfig, RefusesAnOlderLeaderAndADeadManTimer) {
  Guard guard;
  guard.epoch = 7;
  ASSERT_TRUE(frr_.driver->apply({}, guard, soon()));
  guard.epoch = 6;
  const auto older = frr_.driver->apply({}, guard, soon());
  ASSERT_FALSE(older);
  EXPECT_EQ(older.error().kind, ErrorKind::denied);
  guard.epoch = 8;
  guard.undo_after = milliseconds(1000);
  const auto timed = frr_.driver->apply({}, guard, soon());
  ASSERT_FALSE(timed);
  EXPECT_EQ(timed.error().kind, ErrorKind::unsupported);
}

TEST_F(LiveConfig, SavesWithTheOwnerAndModeOfTheOldFile) {
  const std::string file = lab_->target("solo").config_file;
  std::ofstream(file) << "service integrated-vtysh-config\nold line\n";
  ASSERT_EQ(::chown(file.c_str(), 65534, 65534), 0);
  ASSERT_EQ(::chmod(file.c_str(), 0604), 0);
  converge(*frr_.driver, intent_of("solo", switch_entries(65001, "10.0.0.1", {"up0"})));
  struct stat after {};
  ASSERT_EQ(::stat(file.c_str(), &after), 0);
  EXPECT_EQ(after.st_uid, 65534U);
  EXPECT_EQ(after.st_gid, 65534U);
  EXPECT_EQ(after.st_mode & 07777, 0604U);
  const std::string saved = text_of(file);
  EXPECT_NE(saved.find("service integrated-vtysh-config\n"), std::string::npos);
  EXPECT_EQ(saved.find("old line"), std::string::npos);
}

TEST_F(LiveConfig, IsConvergedAfterARestart) {
  converge(*frr_.driver, intent_of("solo", switch_entries(65001, "10.0.0.1", {"up0", "up1"})));
  change("bgp/aggregate[10.64.0.0/16]", Value::present());
  const std::string before = observed(*frr_.driver).have.to_string();
  lab_->stop("solo");
  lab_->start("solo");
  EXPECT_NE(observed(*frr_.driver).have.to_string(), before);
  lab_->load_saved("solo");
  EXPECT_EQ(observed(*frr_.driver).have.to_string(), before);
}

TEST_F(LiveConfig, ReportsUnreadRowsWhenADaemonHangs) {
  converge(*frr_.driver, intent_of("solo", switch_entries(65001, "10.0.0.1", {"up0"})));
  lab_->signal("solo", "bfdd", SIGSTOP);
  const auto seen = frr_.driver->observe(Scope{}, "", soon(milliseconds(150)));
  lab_->signal("solo", "bfdd", SIGCONT);
  ASSERT_TRUE(seen) << seen.error().text();
  EXPECT_EQ(seen->have.value(path("bgp/asn")), Value::integer(65001));
  EXPECT_TRUE(is_unread(seen->unread, path("bfd-profile[lockstep]")));
  EXPECT_TRUE(is_unread(seen->unread, path("bgp/neighbor[up0]/bfd-state")));
  EXPECT_FALSE(is_unread(seen->unread, path("bgp/asn")));
  EXPECT_EQ(seen->revision, "");
}

// The kernel keeps the routes of a dead zebra, and the sessions stay up: no other entry would show it.
TEST_F(LiveConfig, ReportsHungAndDeadDaemons) {
  // Whether zebra and bgpd are reported as alive. An observation of a hung daemon takes its timeout, 3 s.
  const auto lives = [this] {
    const auto seen = frr_.driver->observe(Scope{}, "", soon(milliseconds(10'000)));
    EXPECT_TRUE(seen);
    const auto life = [&seen](const char* entry) { return seen ? seen->have.value(path(entry)) : Value{}; };
    return std::pair(life("routing-daemon[rib]"), life("routing-daemon[bgp]"));
  };
  const Value running = Value::text(kRunning);
  ASSERT_EQ(lives(), std::pair(running, running));
  const Change effect{path("routing-daemon[rib]"), Value::text("zebra does not run"), Value::text(kRunning),
                      0};
  EXPECT_FALSE(frr_.remedy->offer(effect)) << "nobody gave the means to start one";
  lab_->signal("solo", "zebra", SIGSTOP);
  EXPECT_EQ(lives(), std::pair(Value::text("zebra does not answer"), running))
      << "the others are asked all the same";
  lab_->signal("solo", "zebra", SIGCONT);
  EXPECT_TRUE(eventually([&] { return lives().first == running; }));
  lab_->stop("solo");
  EXPECT_EQ(lives(), std::pair(Value::text("zebra does not run"), Value::text("bgpd does not run")));
  lab_->start("solo");
  EXPECT_EQ(lives(), std::pair(running, running));
}

TEST_F(LiveConfig, DoesNotClaimAHalfDoneWrite) {
  converge(*frr_.driver, intent_of("solo", switch_entries(65001, "10.0.0.1", {"up0"})));
  lab_->signal("solo", "bgpd", SIGSTOP);
  const auto receipt = frr_.driver->apply({{path("bgp/max-paths"), Value::integer(64), Value::integer(2), 0}},
                                          Guard{}, soon(milliseconds(100)));
  lab_->signal("solo", "bgpd", SIGCONT);
  ASSERT_FALSE(receipt);
  EXPECT_EQ(receipt.error().kind, ErrorKind::transient) << "nothing was written: it could not even be read";
  EXPECT_EQ(now("bgp/max-paths"), Value::integer(64));
}

}  // namespace
}  // namespace lockstep::frr
