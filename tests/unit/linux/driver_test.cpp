#include "drivers/linux/driver.hpp"

#include <algorithm>

#include "specs/model/schema_rows.hpp"
#include "tests/unit/linux/lab.hpp"
#include "tests/unit/linux/no_descriptors.hpp"

namespace lockstep {
namespace {

using LinuxDriver = Lab;

// The first one that covers the entry, as in the engine; without a reason if there is none.
Incapable lack(const Observation& seen, Path path) {
  const Incapable* const found = incapable_of(seen.incapable, path);
  return found == nullptr ? Incapable{} : *found;
}

TEST_F(LinuxDriver, ReportsWhatIproute2Made) {
  ASSERT_EQ(ip("address add 10.64.0.1/31 dev rail0"), 0);
  ASSERT_EQ(ip("link set rail0 up"), 0);
  const Observation seen = observed();
  EXPECT_EQ(seen.device, "gpu1");
  EXPECT_EQ(seen.have.value(*Path::parse("interface[rail0]")), Value::present());
  EXPECT_EQ(seen.have.value(*Path::parse("interface[rail0]/mtu")), Value::integer(1500));
  EXPECT_EQ(seen.have.value(*Path::parse("interface[rail0]/admin")), Value::boolean(true));
  EXPECT_EQ(seen.have.value(*Path::parse("interface[rail0]/carrier")), Value::boolean(true));
  EXPECT_EQ(seen.have.value(*Path::parse("interface[rail0]/address[10.64.0.1/31]")), Value::present());
  EXPECT_EQ(seen.have.value(*Path::parse("interface[rail0]/speed")), Value::integer(10000));
  EXPECT_EQ(seen.have.value(*Path::parse("fib[10.64.0.0/31]")), Value::set({"rail0"}));
  EXPECT_EQ(seen.have.of_row(row("interface[*]/address[*]")).size(), 1U) << seen.have.to_string();
  EXPECT_TRUE(seen.unread.empty());
  EXPECT_FALSE(seen.boot_id.empty());
}

TEST_F(LinuxDriver, LinkEntriesAreWrittenAndRead) {
  applies({{"interface[rail0]/mtu", Value::integer(9000)},
           {"interface[rail0]/address[10.64.0.1/31]", Value::present()},
           {"interface[rail0]/address[2001:db8::1/64]", Value::present()},
           {"interface[rail0]/admin", Value::boolean(true)}});
  EXPECT_NE(said("ip", "link show rail0").find("mtu 9000"), std::string::npos);
  EXPECT_NE(said("ip", "address show rail0").find("inet 10.64.0.1/31"), std::string::npos);
  EXPECT_EQ(value("interface[rail0]/address[2001:db8::1/64]"), Value::present());
  applies(
      {{"interface[rail0]/address[10.64.0.1/31]", {}}, {"interface[rail0]/admin", Value::boolean(false)}});
  EXPECT_EQ(said("ip", "address show rail0").find("inet 10.64.0.1"), std::string::npos);
  EXPECT_EQ(value("interface[rail0]/admin"), Value::boolean(false));
}

TEST_F(LinuxDriver, ReapplyingSucceedsAndChangesNothing) {
  const std::vector<std::pair<std::string, Value>> all = {
      {"interface[rail0]/rate", Value::integer(1'000'000'000)},
      {"interface[rail0]/mtu", Value::integer(9000)},
      {"interface[rail0]/address[10.64.0.1/31]", Value::present()},
      {"interface[rail0]/admin", Value::boolean(true)},
      {"route[100:0.0.0.0/0]", Value::set({"via 10.64.0.0 dev rail0"})},
      {"rule[1000]", Value::text("from 10.64.0.1/32 lookup 100")},
      {"interface[rail0]/offload[tso]", Value::boolean(false)},
      {"sysctl[net.ipv4.conf.rail0.rp_filter]", Value::text("2")}};
  applies(all);
  const std::string first = observed().revision;
  applies(all);
  EXPECT_EQ(observed().revision, first);
  for (const auto& [entry, want] : all) EXPECT_EQ(value(entry), want) << entry;
}

TEST_F(LinuxDriver, ARefusedChangeReportsTheKernelsMessageAndTheRestIsApplied) {
  const auto outcomes = apply({{"interface[rail0]/mtu", Value::integer(65536)},
                               {"interface[nosuch]/admin", Value::boolean(true)},
                               {"interface[rail0]/admin", Value::boolean(true)}});
  ASSERT_EQ(outcomes.size(), 3U);
  EXPECT_NE(outcomes[0].find("mtu greater than device maximum"), std::string::npos) << outcomes[0];
  EXPECT_NE(outcomes[1].find("nosuch"), std::string::npos) << outcomes[1];
  EXPECT_EQ(outcomes[2], "");
  EXPECT_EQ(value("interface[rail0]/admin"), Value::boolean(true));
  EXPECT_EQ(value("interface[rail0]/mtu"), Value::integer(1500));
}

TEST_F(LinuxDriver, AddsChangesAndRemovesOurRoutesAndKeepsForeignOnes) {
  ASSERT_EQ(ip("address add 10.64.0.1/31 dev rail0"), 0);
  ASSERT_EQ(ip("link set rail0 up"), 0);
  ASSERT_EQ(ip("route add 192.0.2.0/24 via 10.64.0.0"), 0);
  ASSERT_EQ(ip("route add 198.51.100.0/24 via 10.64.0.0 table 100"), 0);
  applies({{"route[100:0.0.0.0/0]", Value::set({"via 10.64.0.0 dev rail0"})},
           {"route[main:10.64.0.0/16]", Value::set({"via 10.64.0.0 dev rail0"})},
           {"route[main:10.99.0.0/16]", Value::set({"dev rail0"})}});
  EXPECT_NE(said("ip", "route show table 100").find("default via 10.64.0.0 dev rail0 proto 76"),
            std::string::npos);
  EXPECT_EQ(observed().have.of_row(row("route[*]")).size(), 3U) << observed().have.to_string();
  applies({{"route[100:0.0.0.0/0]", Value::set({"dev rail0"})}, {"route[main:10.64.0.0/16]", {}}});
  EXPECT_EQ(value("route[100:0.0.0.0/0]"), Value::set({"dev rail0"}));
  EXPECT_EQ(value("route[main:10.64.0.0/16]"), Value{});
  EXPECT_NE(said("ip", "route show table 100").find("198.51.100.0/24"), std::string::npos);
  EXPECT_NE(said("ip", "route").find("192.0.2.0/24"), std::string::npos);
  applies({{"route[100:0.0.0.0/0]", {}}, {"route[main:10.99.0.0/16]", {}}, {"route[main:10.64.0.0/16]", {}}});
  EXPECT_TRUE(observed().have.of_row(row("route[*]")).empty());
}

TEST_F(LinuxDriver, AForeignRouteIsNeverReplacedOrRemoved) {
  ASSERT_EQ(ip("address add 10.64.0.1/31 dev rail0"), 0);
  ASSERT_EQ(ip("link set rail0 up"), 0);
  ASSERT_EQ(ip("route add 192.0.2.0/24 via 10.64.0.0"), 0);
  const auto outcomes = apply({{"route[main:192.0.2.0/24]", Value::set({"dev rail0"})}});
  EXPECT_NE(outcomes.at(0), "");
  applies({{"route[main:192.0.2.0/24]", {}}});
  EXPECT_NE(said("ip", "route").find("192.0.2.0/24 via 10.64.0.0"), std::string::npos);
}

TEST_F(LinuxDriver, MultipathRoutesOfBothFamilies) {
  ASSERT_EQ(shell("ip -n " + name_ + " link add rail1 type veth peer name rail1p"), 0);
  for (const char* line :
       {"link set rail0 up", "link set rail1 up", "link set rail1p up", "address add 10.64.0.1/31 dev rail0",
        "address add 10.65.0.1/31 dev rail1", "address add 2001:db8::2/64 dev rail0 nodad",
        "address add 2001:db9::2/64 dev rail1 nodad"})
    ASSERT_EQ(ip(line), 0) << line;
  const Value four = Value::set({"via 10.64.0.0 dev rail0", "via 10.65.0.0 dev rail1"});
  const Value six = Value::set({"via 2001:db8::1 dev rail0", "via 2001:db9::1 dev rail1"});
  applies({{"route[main:10.0.0.0/8]", four}, {"route[main:2001:dbf::/48]", six}});
  EXPECT_EQ(value("route[main:10.0.0.0/8]"), four);
  EXPECT_EQ(value("route[main:2001:dbf::/48]"), six);
  EXPECT_EQ(value("fib[10.0.0.0/8]"), Value::set({"rail0", "rail1"}));
  EXPECT_EQ(value("fib[2001:dbf::/48]"), Value::set({"rail0", "rail1"}));
  EXPECT_EQ(value("fib[10.0.0.0/8]/paths"), Value::integer(2));
  EXPECT_EQ(value("fib[2001:dbf::/48]/paths"), Value::integer(2));
  applies({{"route[main:2001:dbf::/48]", Value::set({"via 2001:db9::1 dev rail1"})}});
  EXPECT_EQ(value("route[main:2001:dbf::/48]"), Value::set({"via 2001:db9::1 dev rail1"}));
  applies({{"route[main:10.0.0.0/8]", {}}, {"route[main:2001:dbf::/48]", {}}});
  EXPECT_TRUE(observed().have.of_row(row("route[*]")).empty());
}

// The oracle is the lookup of the kernel and its answer to a larger packet that must not be fragmented.
TEST_F(LinuxDriver, LocksAndUnlocksTheMtuOfRoutesToAPool) {
  for (const char* line :
       {"link set rail0 mtu 9000", "address add 10.64.0.1/31 dev rail0", "link set rail0 up",
        "route add 10.64.9.0/24 via 10.64.0.0", "route add 10.99.0.0/16 via 10.64.0.0 proto 76"})
    ASSERT_EQ(ip(line), 0) << line;
  applies({{"route[main:10.64.0.0/16]", Value::set({"via 10.64.0.0 dev rail0"})},
           {"route[1000:0.0.0.0/0]", Value::set({"via 10.64.0.0 dev rail0"})},
           {"rule[1000]", Value::text("from 10.64.0.1/32 lookup 1000")}});
  const char* const kHeld = "route-mtu[10.64.0.0/16]";
  EXPECT_EQ(value(kHeld), Value{});
  applies({{kHeld, Value::text("mtu lock 1400")}});
  EXPECT_EQ(value(kHeld), Value::text("mtu lock 1400"));
  EXPECT_NE(said("ip", "route get 10.64.3.1").find("mtu lock 1400"), std::string::npos);
  EXPECT_NE(said("ip", "route get 192.0.2.1 from 10.64.0.1").find("mtu lock 1400"), std::string::npos);
  EXPECT_EQ(said("ip", "route get 10.99.0.1").find("mtu"), std::string::npos) << "of another pool";
  EXPECT_EQ(said("ip", "route show 10.64.9.0/24").find("mtu"), std::string::npos) << "of another hand";
  EXPECT_NE(shell_output("ip netns exec " + name_ + " ping -c 1 -W 1 -M do -s 1400 -I 10.64.0.1 10.64.3.1")
                .find("mtu=1400"),
            std::string::npos);
  // A route whose next hop changes stays locked.
  ASSERT_EQ(shell("ip -n " + name_ + " link add rail1 type veth peer name rail1p"), 0);
  for (const char* line : {"link set rail1 up", "link set rail1p up", "address add 10.65.0.1/31 dev rail1"})
    ASSERT_EQ(ip(line), 0) << line;
  applies({{"route[main:10.64.0.0/16]", Value::set({"via 10.64.0.0 dev rail0", "via 10.65.0.0 dev rail1"})}});
  EXPECT_EQ(value(kHeld), Value::text("mtu lock 1400"));
  // If one route cannot be written because its port is down, all keep their state.
  ASSERT_EQ(ip("link set rail1 down"), 0);
  EXPECT_FALSE(apply({{kHeld, Value::text("mtu lock 1300")}}).at(0).empty());
  EXPECT_EQ(value(kHeld), Value::text("mtu lock 1400"));
  for (const char* line : {"link set rail1 up", "address replace 10.65.0.1/31 dev rail1"})
    ASSERT_EQ(ip(line), 0) << line;
  applies({{"route[main:10.64.0.0/16]", Value::set({"via 10.64.0.0 dev rail0", "via 10.65.0.0 dev rail1"})}});
  // A lock on only some of the routes, and an MTU without a lock.
  ASSERT_EQ(ip("route change default via 10.64.0.0 table 1000 proto 76"), 0);
  EXPECT_EQ(value(kHeld), Value::text("mtu lock 1400 on 1 of 2 routes"));
  ASSERT_EQ(ip("route change default via 10.64.0.0 table 1000 proto 76 mtu 1300"), 0);
  EXPECT_EQ(value(kHeld), Value::text("mtu 1300 on 1 of 2 routes, mtu lock 1400 on 1 of 2 routes"));
  applies({{kHeld, {}}});
  EXPECT_EQ(value(kHeld), Value{});
  EXPECT_EQ(said("ip", "route show table all proto 76").find("mtu"), std::string::npos);
  EXPECT_EQ(value("route[main:10.64.0.0/16]"),
            Value::set({"via 10.64.0.0 dev rail0", "via 10.65.0.0 dev rail1"}));
  EXPECT_NE(apply({{kHeld, Value::text("1400")}}).at(0).find("mtu lock BYTES"), std::string::npos);
}

TEST_F(LinuxDriver, LocksTheMtuOfIpv6RoutesToo) {
  for (const char* line : {"address add 2001:db8::2/64 dev rail0 nodad", "link set rail0 up"})
    ASSERT_EQ(ip(line), 0) << line;
  applies({{"route[main:2001:dbf::/48]", Value::set({"via 2001:db8::1 dev rail0"})},
           {"route-mtu[2001:dbf::/48]", Value::text("mtu lock 1400")}});
  EXPECT_EQ(value("route-mtu[2001:dbf::/48]"), Value::text("mtu lock 1400"));
  EXPECT_NE(said("ip", "-6 route show 2001:dbf::/48").find("mtu lock 1400"), std::string::npos);
  // The lock applies to each of two next hops, and both stay.
  ASSERT_EQ(shell("ip -n " + name_ + " link add rail1 type veth peer name rail1p"), 0);
  for (const char* line :
       {"link set rail1 up", "link set rail1p up", "address add 2001:db9::2/64 dev rail1 nodad"})
    ASSERT_EQ(ip(line), 0) << line;
  const Value both = Value::set({"via 2001:db8::1 dev rail0", "via 2001:db9::1 dev rail1"});
  applies({{"route[main:2001:dbf::/48]", both}, {"route-mtu[2001:dbf::/48]", Value::text("mtu lock 1300")}});
  EXPECT_EQ(value("route[main:2001:dbf::/48]"), both);
  EXPECT_EQ(value("route-mtu[2001:dbf::/48]"), Value::text("mtu lock 1300"));
  applies({{"route-mtu[2001:dbf::/48]", {}}});
  EXPECT_EQ(value("route[main:2001:dbf::/48]"), both);
  EXPECT_EQ(said("ip", "-6 route show 2001:dbf::/48").find("mtu"), std::string::npos);
}

TEST_F(LinuxDriver, TheFibIsReadThroughNextHopGroups) {
  for (const char* line :
       {"link set rail0 up", "address add 10.64.0.1/31 dev rail0", "nexthop add id 1 via 10.64.0.0 dev rail0",
        "nexthop add id 10 group 1", "route add 10.0.0.0/8 nhid 10 proto zebra metric 20"})
    ASSERT_EQ(ip(line), 0) << line;
  EXPECT_EQ(value("fib[10.0.0.0/8]"), Value::set({"rail0"}));
  EXPECT_EQ(value("fib[10.0.0.0/8]/paths"), Value::integer(1));
  EXPECT_EQ(value("route[main:10.0.0.0/8]"), Value{});  // a foreign route
}

TEST_F(LinuxDriver, AddsChangesAndRemovesOurRulesAndKeepsForeignOnes) {
  ASSERT_EQ(ip("rule add from 192.0.2.1 lookup 100 priority 1000"), 0);
  applies({{"rule[1000]", Value::text("from 10.64.0.1/32 lookup 100")},
           {"rule[1001]", Value::text("from 2001:db8::/64 lookup main")}});
  EXPECT_EQ(value("rule[1000]"), Value::text("from 10.64.0.1/32 lookup 100"));
  EXPECT_EQ(value("rule[1001]"), Value::text("from 2001:db8::/64 lookup main"));
  applies({{"rule[1000]", Value::text("from 10.64.0.1/32 lookup 101")}});
  EXPECT_EQ(value("rule[1000]"), Value::text("from 10.64.0.1/32 lookup 101"));
  applies({{"rule[1000]", {}}, {"rule[1001]", {}}, {"rule[1001]", {}}});
  EXPECT_TRUE(observed().have.of_row(row("rule[*]")).empty());
  EXPECT_NE(said("ip", "rule").find("192.0.2.1"), std::string::npos);
}

TEST_F(LinuxDriver, SetsOffloadsAndReportsASilentRefusal) {
  EXPECT_EQ(value("interface[rail0]/offload[tso]"), Value::boolean(true));
  applies({{"interface[rail0]/offload[gso]", Value::boolean(false)},
           {"interface[rail0]/offload[gro]", Value::boolean(true)}});
  EXPECT_EQ(value("interface[rail0]/offload[gso]"), Value::boolean(false));
  EXPECT_EQ(value("interface[rail0]/offload[gro]"), Value::boolean(true));
  // Without scatter-gather there is no tso: the kernel acknowledges and does nothing.
  ASSERT_EQ(shell("ip netns exec " + name_ + " ethtool -K rail0 sg off"), 0);
  EXPECT_EQ(value("interface[rail0]/offload[tso]"), Value::boolean(false));
  const auto outcomes = apply({{"interface[rail0]/offload[tso]", Value::boolean(true)}});
  EXPECT_NE(outcomes.at(0).find("left it as it was"), std::string::npos) << outcomes.at(0);
  ASSERT_EQ(shell("ip netns exec " + name_ + " ethtool -K rail0 sg on"), 0);
  applies({{"interface[rail0]/offload[gso]", Value::boolean(true)},
           {"interface[rail0]/offload[tso]", Value::boolean(true)}});
  EXPECT_EQ(value("interface[rail0]/offload[tso]"), Value::boolean(true));
}

TEST_F(LinuxDriver, SysctlsAreThoseOfTheNamespace) {
  const std::string host = shell_output("cat /proc/sys/net/ipv4/tcp_ecn");
  const char* other = host.starts_with("1") ? "0" : "1";
  applies({{"sysctl[net.ipv4.tcp_ecn]", Value::text(other)},
           {"sysctl[net.ipv4.tcp_rmem]", Value::text("4096 131072 8388608")}});
  EXPECT_EQ(value("sysctl[net.ipv4.tcp_ecn]"), Value::text(other));
  EXPECT_EQ(value("sysctl[net.ipv4.tcp_rmem]"), Value::text("4096 131072 8388608"));
  EXPECT_EQ(shell_output("cat /proc/sys/net/ipv4/tcp_ecn"), host);
  const auto outcomes = apply({{"sysctl[net.ipv4.tcp_ecn]", Value::text("77")},
                               {"sysctl[net.ipv4.no_such_thing]", Value::text("1")},
                               {"sysctl[net.../../etc/passwd]", Value::text("1")}});
  for (const std::string& one : outcomes) EXPECT_NE(one, "");
  // A missing parameter is not supported, rather than unread.
  const Path none = *Path::parse("sysctl[net.ipv4.no_such_thing]");
  const Observation seen = observed({none});
  EXPECT_FALSE(is_unread(seen.unread, none));
  EXPECT_NE(lack(seen, none).reason.find("has no such parameter"), std::string::npos);
}

TEST_F(LinuxDriver, EachObservationReadsTheNamedEntriesOnly) {
  const Path buffer = *Path::parse("sysctl[net.ipv4.tcp_rmem]");
  const Path scatter = *Path::parse("interface[rail0]/offload[sg]");
  for (const auto& [asked, other] : {std::pair(buffer, scatter), std::pair(scatter, buffer)}) {
    const Observation seen = observed({asked});
    EXPECT_TRUE(seen.have.value(asked)) << asked.text();
    EXPECT_FALSE(seen.have.value(other)) << other.text();
  }
  // The revision of a guard covers the names of the observation that returned it.
  const std::string revision = observed({buffer}).revision;
  EXPECT_TRUE(driver().apply({}, guarded("t", revision), within(std::chrono::seconds(5))));
}

TEST_F(LinuxDriver, PreviewMakesNoKernelRequests) {
  const ChangeSet share{{*Path::parse("interface[rail0]/class[3]/share"), {}, Value::integer(30), 0}};
  const auto words = [&] { return attached_.preview->native(share).front(); };
  EXPECT_EQ(words(), "# what carries the port's classes is not known: the device has not been observed");
  observed();
  const std::string known = words();
  EXPECT_TRUE(known.starts_with("tc ")) << known;
  const NoDescriptors none;
  EXPECT_EQ(words(), known);
}

TEST_F(LinuxDriver, AMissingPortRequiresManualActionAndListsTheExistingOnes) {
  const std::vector<Path> ports{*Path::parse("interface[rail0]"), *Path::parse("interface[rail7]")};
  const auto of = [&](const char* entry) { return lack(observed(ports), *Path::parse(entry)); };
  for (const char* entry :
       {"interface[rail7]", "interface[rail7]/mtu", "interface[rail7]/address[10.64.0.1/31]"}) {
    EXPECT_EQ(of(entry).reason, "no interface is called rail7 here (there are lo, rail0)");
    EXPECT_TRUE(of(entry).by_hand);
  }
  // A missing port is reported for kernel features too, before what the machine does not support.
  EXPECT_EQ(of("interface[rail7]/pfc").reason, "no interface is called rail7 here (there are lo, rail0)");
  EXPECT_EQ(of("interface[rail0]/mtu").reason, "");
  ASSERT_EQ(ip("link add rail7 type veth peer name swp7"), 0);
  EXPECT_EQ(of("interface[rail7]/mtu").reason, "");
}

TEST_F(LinuxDriver, RemovingAnAddressRemovesItsRoutesAndIsObserved) {
  applies({{"interface[rail0]/address[10.64.0.1/31]", Value::present()},
           {"interface[rail0]/admin", Value::boolean(true)},
           {"route[100:0.0.0.0/0]", Value::set({"via 10.64.0.0 dev rail0"})}});
  ASSERT_EQ(ip("address del 10.64.0.1/31 dev rail0"), 0);
  EXPECT_EQ(value("interface[rail0]/address[10.64.0.1/31]"), Value{});
  EXPECT_EQ(value("fib[10.64.0.0/31]"), Value{});
}

TEST_F(LinuxDriver, AScopeLimitsWhatIsRead) {
  Scope scope;
  scope.rows = {row("interface[*]/mtu")};
  const auto seen = driver().observe(scope, {}, within(std::chrono::seconds(5)));
  ASSERT_TRUE(seen);
  for (const Entry& entry : seen->have.entries()) EXPECT_EQ(entry.path.row(), row("interface[*]/mtu"));
  EXPECT_EQ(seen->have.size(), 2U);
}

TEST_F(LinuxDriver, AnUnchangedRevisionGivesAnEmptyAnswerAndAStaleOneAConflict) {
  const Observation first = observed();
  const auto again = driver().observe(Scope{}, first.revision, within(std::chrono::seconds(5)));
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->have.empty());
  EXPECT_EQ(again->revision, first.revision);
  ASSERT_EQ(ip("link set rail0 mtu 1400"), 0);
  const ChangeSet changes{{*Path::parse("interface[rail0]/admin"), {}, Value::boolean(true), 0}};
  const auto refused = driver().apply(changes, guarded("t", first.revision), within(std::chrono::seconds(5)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::conflict);
  EXPECT_EQ(value("interface[rail0]/admin"), Value::boolean(false));
}

TEST_F(LinuxDriver, AnOlderEpochIsRefused) {
  ASSERT_TRUE(driver().apply({}, guarded("a", {}, 7), within(std::chrono::seconds(5))));
  const auto old = driver().apply({}, guarded("b", {}, 6), within(std::chrono::seconds(5)));
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().kind, ErrorKind::denied);
}

TEST_F(LinuxDriver, ReportsWhatAVethDoesNotSupportWithTheKernelsReason) {
  const Observation seen = observed();
  const auto reason = [&](RowId id) {
    for (const Incapable& one : seen.incapable)
      if (one.row == id && (one.keys.empty() || one.keys.front() == "rail0")) return one.reason;
    return std::string();
  };
  for (const RowId id : {row("interface[*]/pfc"), row("interface[*]/pause"), row("interface[*]/speed"),
                         row("interface[*]/buffer[*]/size")}) {
    EXPECT_NE(reason(id).find("not supported"), std::string::npos) << schema_row(id).pattern << reason(id);
    EXPECT_NE(reason(id).find("veth"), std::string::npos) << reason(id);
  }
  EXPECT_NE(reason(row("interface[*]/roce-tos")), "");
  EXPECT_EQ(reason(row("interface[*]/mtu")), "");
  EXPECT_EQ(reason(row("interface[*]/rate")), "");
}

TEST_F(LinuxDriver, AMissingNamespaceIsAnErrorAndANewOneIsReadAnew) {
  ASSERT_EQ(shell("ip netns del " + name_), 0);
  EXPECT_FALSE(driver().observe(Scope{}, {}, within(std::chrono::seconds(5))));
  ASSERT_EQ(shell("ip netns add " + name_), 0);
  const Observation seen = observed();
  EXPECT_EQ(seen.have.value(*Path::parse("interface[rail0]")), Value{});
  EXPECT_EQ(seen.have.value(*Path::parse("interface[lo]")), Value::present());
}

TEST_F(LinuxDriver, AStopBeforeTheFirstChangeAttemptsNone) {
  std::stop_source source;
  source.request_stop();
  Call call = within(std::chrono::seconds(5));
  call.stop = source.get_token();
  const ChangeSet changes{{*Path::parse("interface[rail0]/admin"), {}, Value::boolean(true), 0}};
  const auto receipt = driver().apply(changes, guarded("t"), call);
  if (receipt) {
    ASSERT_TRUE(receipt->outcomes.at(0).error);
    EXPECT_EQ(receipt->outcomes.at(0).error->kind, ErrorKind::cancelled);
  }
  EXPECT_EQ(value("interface[rail0]/admin"), Value::boolean(false));
}

}  // namespace
}  // namespace lockstep
