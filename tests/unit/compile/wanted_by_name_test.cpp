#include "specs/compile/wanted_by_name.hpp"

#include <gtest/gtest.h>

#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

Path path(const char* text) { return *Path::parse(text); }

TEST(WantedPorts, HaveTheRoutesAndParametersThatNeedThem) {
  Intent intent;
  intent.want.set(path("interface[rail0]/mtu"), Value::integer(9000));
  intent.want.set(path("interface[eth0.100]/admin"), Value::boolean(true));
  const Path both = path("route[main:10.64.0.0/16]");
  intent.want.set(both, Value::set({"via 10.64.0.0 dev rail0", "via 10.64.0.128 dev rail1"}));
  const Path one = path("route[1000:0.0.0.0/0]");
  intent.want.set(one, Value::set({"via 10.64.0.0 dev rail0"}));
  const Path filter = path("sysctl[net.ipv4.conf.rail0.rp_filter]");
  const Path of_vlan = path("sysctl[net.ipv4.conf.eth0/100.rp_filter]");
  for (const Path name :
       {filter, of_vlan, path("sysctl[net.ipv4.conf.all.rp_filter]"), path("sysctl[net.ipv4.ip_forward]")})
    intent.want.set(name, Value::text("1"));
  const std::map<std::string, std::vector<Path>> expected{
      {"eth0.100", {of_vlan}}, {"rail0", {one, both, filter}}, {"rail1", {both}}};
  EXPECT_EQ(wanted_ports(intent), expected);
}

}  // namespace
}  // namespace lockstep
