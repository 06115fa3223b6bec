#include "specs/compile/wanted_by_name.hpp"

#include <gtest/gtest.h>

#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

Path path(const char* text) { return *Path::parse(text); }

TEST(WantedByName, AreEntriesOfLargeRowsAndAllPortsNeeded) {
  Intent intent;
  intent.want.set(path("interface[rail0]/mtu"), Value::integer(9000));
  intent.want.set(path("interface[rail0]/admin"), Value::boolean(true));
  intent.want.set(path("interface[eth0.100]/offload[tso]"), Value::boolean(true));
  intent.want.set(path("route[main:10.64.0.0/16]"),
                  Value::set({"via 10.64.0.0 dev rail0", "via 10.64.0.128 dev rail1"}));
  intent.want.set(path("sysctl[net.ipv4.conf.rail7.rp_filter]"), Value::text("1"));
  intent.want.set(path("memlock"), Value::text("unlimited"));
  const std::vector<Path> expected{path("interface[eth0.100]/offload[tso]"),
                                   path("sysctl[net.ipv4.conf.rail7.rp_filter]"), path("interface[eth0.100]"),
                                   path("interface[rail0]"), path("interface[rail1]")};
  EXPECT_EQ(wanted_by_name(intent), expected);
  EXPECT_TRUE(is_read_by_name(row("sysctl[*]")));
  EXPECT_FALSE(is_read_by_name(row("interface[*]/mtu")));
}

TEST(WantedByName, IncludeRoutesIfDiversionsAreObserved) {
  Intent intent;
  intent.want.set(path("fib[10.64.0.128/25]"), Value::set({"up0", "up1"}));
  EXPECT_EQ(wanted_by_name(intent), std::vector<Path>{});
  intent.want.set(path("diverted[10.64.0.0/16]/transit"), Value::set({}));
  EXPECT_EQ(wanted_by_name(intent),
            (std::vector<Path>{path("diverted[10.64.0.0/16]/transit"), path("fib[10.64.0.128/25]")}));
}

TEST(PortsNeeded, AreThoseOfNextHopsAndPortSysctls) {
  using Paths = std::vector<Path>;
  EXPECT_EQ(ports_needed(path("route[main:10.64.0.0/16]"),
                         Value::set({"via 10.64.0.0 dev rail0", "via 10.64.0.128 dev rail1"})),
            (Paths{path("interface[rail0]"), path("interface[rail1]")}));
  EXPECT_EQ(ports_needed(path("sysctl[net.ipv4.conf.eth0/100.rp_filter]"), Value::text("1")),
            Paths{path("interface[eth0.100]")});
  EXPECT_EQ(ports_needed(path("sysctl[net.ipv4.ip_forward]"), Value::text("1")), Paths{});
  EXPECT_EQ(ports_needed(path("interface[rail0]/mtu"), Value::integer(9000)), Paths{});
  EXPECT_EQ(ports_needed(path("route[main:10.64.0.0/16]"), Value{}), Paths{}) << "one that is to go";
}

}  // namespace
}  // namespace lockstep
