// Traffic classes by mqprio on a port with a hardware rate (set in the driver's target), four transmit queues
// and no DCB. The port is a veth in the machine's own namespace, because /sys, which has the number of
// queues, shows that namespace.
#include <algorithm>

#include "drivers/linux/capabilities.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/vm/apply_errors.hpp"
#include "tests/vm/class_packets.hpp"
#include "tests/vm/egress_lab.hpp"

namespace lockstep {
namespace {

constexpr std::uint32_t kTrafficClass = 0xFFE0;  // TC_H_MIN_PRIORITY: minors of the traffic classes

const Entries kClasses = {{"interface[rail0]/class[0]", Value::present()},
                          {"interface[rail0]/class[0]/dscp", Value::set({"0", "8"})},
                          {"interface[rail0]/class[0]/priority", Value::set({"0", "1", "2", "4", "5", "7"})},
                          {"interface[rail0]/class[3]", Value::present()},
                          {"interface[rail0]/class[3]/dscp", Value::set({"24", "26"})},
                          {"interface[rail0]/class[3]/priority", Value::set({"3"})},
                          {"interface[rail0]/class[6]", Value::present()},
                          {"interface[rail0]/class[6]/dscp", Value::set({"48"})},
                          {"interface[rail0]/class[6]/priority", Value::set({"6"})}};

class Mqprio : public ::testing::Test {
 protected:
  void SetUp() override {
    run("ip link add rail0 numtxqueues 4 numrxqueues 4 type veth peer name far0");
    run("ip link set rail0 up");
    run("ip link set far0 up");
    LinuxTarget target;
    target.device = "gpu1";
    target.software_rate = false;
    attached_ = make_linux_driver(target);
  }
  void TearDown() override { run("ip link del rail0"); }

  static void run(const std::string& line) { EXPECT_EQ(std::system(line.c_str()), 0) << line; }
  Observation observed() {
    auto out = attached_.driver->observe(Scope{}, "", soon());
    EXPECT_TRUE(out) << out.error().text();
    return out ? *std::move(out) : Observation{};
  }
  ChangeSet differing(const Entries& wanted) {
    Intent intent;
    intent.claims.push_back({row("interface[*]/class[*]"), {"rail0"}, 0});
    for (const auto& [entry, value] : wanted) intent.want.set(path(entry), value);
    return diff(intent, observed()).changes;
  }
  std::vector<Error> apply(const ChangeSet& changes) {
    return apply_errors(*attached_.driver, changes, soon());
  }
  void converge(const Entries& wanted) {
    for (const Error& error : apply(differing(wanted))) ADD_FAILURE() << error.text();
    for (const Change& one : differing(wanted))
      ADD_FAILURE() << one.path.text() << " is " << one.was.to_string();
  }
  Attached attached_;
};

TEST_F(Mqprio, AddsChangesAndRemovesClasses) {
  converge(kClasses);
  Entries other = kClasses;
  for (const char* part : {"", "/dscp", "/priority"})
    other.erase("interface[rail0]/class[6]" + std::string(part));
  other["interface[rail0]/class[3]/priority"] = Value::set({"3", "6"});
  converge(other);
  converge(kClasses);
  converge({});
  EXPECT_TRUE(observed().have.of_row(row("interface[*]/class[*]")).empty());
}

TEST_F(Mqprio, RestoresClassesThatWereRemovedWithTheQueues) {
  converge(kClasses);
  run("ethtool -L rail0 tx 1");
  run("ethtool -L rail0 tx 4");
  const Observation seen = observed();
  EXPECT_TRUE(seen.unread.empty()) << seen.unread.front().why.text();
  EXPECT_TRUE(seen.have.of_row(row("interface[*]/class[*]")).empty());
  converge(kClasses);
}

// Runs in a process that has not queried the kernel yet, where no namespace can be created for a trial.
int classes_told_though_unclear() {
  const auto run = [](const char* line) { return std::system(line) == 0; };
  if (!run("ip link add rail0 numtxqueues 4 numrxqueues 4 type veth peer name far0") ||
      !run("tc qdisc add dev rail0 root handle 4c53: mqprio num_tc 2 map 0 1 queues 2@0 2@2 hw 0") ||
      !run("echo 0 > /proc/sys/user/max_net_namespaces"))
    return 1;
  LinuxTarget target;
  target.device = "gpu1";
  target.software_rate = false;
  const Attached attached = make_linux_driver(target);
  const auto seen = attached.driver->observe(Scope{}, "", soon());
  int out = seen ? 0 : 1;
  for (const char* entry : {"interface[rail0]/class[0]", "interface[rail0]/class[1]/priority"})
    if (seen && !is_unread(seen->unread, path(entry))) ++out;
  if (seen && is_unread(seen->unread, path("interface[far0]/class[0]"))) ++out;
  return run("echo 1000 > /proc/sys/user/max_net_namespaces") && run("ip link del rail0") ? out : 1;
}

TEST(UnclearMqprioDeathTest, ClassesAreUnread) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(std::exit(classes_told_though_unclear()), ::testing::ExitedWithCode(0), "");
}

TEST_F(Mqprio, EveryChoiceOfClassesReadsBack) {
  for (unsigned chosen = 0; chosen < 256; ++chosen) {
    Entries wanted;
    for (unsigned number = 0; number < 8; ++number)
      if ((chosen >> number & 1) != 0)
        wanted["interface[rail0]/class[" + std::to_string(number) + "]"] = Value::present();
    if (wanted.size() < 2 || wanted.size() > 4) continue;
    converge(wanted);
    ASSERT_FALSE(HasFailure()) << chosen;
  }
}

TEST_F(Mqprio, PacketsAreInTheQueuesOfTheirClass) {
  converge(kClasses);
  for (const bool v6 : {false, true}) {
    const auto classes = [&](int dscp, int priority) {
      return classes_of("rail0", {.v6 = v6, .dscp = dscp, .priority = priority}, kOwnMajor, kTrafficClass);
    };
    EXPECT_EQ(classes(26, 0), std::set{kTrafficClass + 1U});
    EXPECT_EQ(classes(48, 3), std::set{kTrafficClass + 2U});
    EXPECT_EQ(classes(8, 6), std::set{kTrafficClass + 0U});
    EXPECT_EQ(classes(1, 6), std::set{kTrafficClass + 2U});
    EXPECT_EQ(classes(1, 7), std::set{kTrafficClass + 0U});
  }
}

TEST_F(Mqprio, DetectsAndRepairsManualChanges) {
  for (const std::string by_hand : {"tc qdisc del dev rail0 root", "tc filter del dev rail0 egress pref 82",
                                    "tc qdisc del dev rail0 root; tc qdisc add dev rail0 root handle 4c53: "
                                    "mqprio num_tc 2 map 0 0 0 1 1 1 1 "
                                    "1 0 0 0 1 0 0 0 0 queues 2@0 2@2 hw 0"}) {
    converge(kClasses);
    run(by_hand);
    EXPECT_FALSE(differing(kClasses).empty()) << by_hand;
    converge(kClasses);
  }
}

TEST_F(Mqprio, ReportsAndRefusesWhatItDoesNotSupport) {
  const Observation seen = observed();
  const auto why = [&](RowId one) {
    std::string out;
    for (const Incapable& each : seen.incapable)
      if (each.row == one && (each.keys.empty() || each.keys == std::vector<std::string>{"rail0"}))
        out += each.reason;
    return out;
  };
  const std::string serves = why_not_given(row("interface[*]/class[*]/share"), Carrier::mqprio);
  for (const RowId one : {row("interface[*]/class[*]/share"), row("interface[*]/class[*]/max-rate"),
                          row("interface[*]/class[*]/strict")})
    EXPECT_EQ(why(one), serves);
  for (const RowId one : {row("interface[*]/class[*]"), row("interface[*]/class[*]/dscp"),
                          row("interface[*]/class[*]/priority")})
    EXPECT_EQ(why(one), "");
  EXPECT_NE(why(row("interface[*]/class[*]/ecn-max")), "");

  converge(kClasses);
  const auto errors = apply({{path("interface[rail0]/class[3]/share"), {}, Value::integer(60), 0}});
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].kind, ErrorKind::unsupported);
  converge(kClasses);
}

TEST_F(Mqprio, RefusesOneClassAndMoreClassesThanQueues) {
  const auto one = apply({{path("interface[rail0]/class[3]"), {}, Value::present(), 0}});
  ASSERT_EQ(one.size(), 1U);
  EXPECT_NE(one[0].what.find("4 transmit queues"), std::string::npos) << one[0].what;
  ChangeSet five;
  for (const char* number : {"0", "1", "2", "3", "4"})
    five.push_back({path("interface[rail0]/class[" + std::string(number) + "]"), {}, Value::present(), 0});
  EXPECT_EQ(apply(five).size(), 5U);
  EXPECT_TRUE(observed().have.of_row(row("interface[*]/class[*]")).empty());
}

}  // namespace
}  // namespace lockstep
