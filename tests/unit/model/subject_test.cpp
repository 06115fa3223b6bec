#include "specs/model/subject.hpp"

#include <gtest/gtest.h>

#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

TEST(Subject, IsThePortTheDaemonOrTheCollection) {
  EXPECT_EQ(subject_of(row("interface[*]"), "interface[rail0]"), "interface[rail0]");
  EXPECT_EQ(subject_of(row("interface[*]/class[*]/dscp"), "interface[rail0]/class[3]/dscp"),
            "interface[rail0]");
  EXPECT_EQ(subject_of(row("bgp"), "bgp"), "bgp");
  EXPECT_EQ(subject_of(row("bgp/neighbor[*]/hold"), "bgp/neighbor[up0]/hold"), "bgp");
  EXPECT_EQ(subject_of(row("memlock"), "memlock"), "memlock");
}

TEST(Subject, OfMembersWithoutPartsIsTheCollection) {
  EXPECT_EQ(subject_of(row("sysctl[*]"), "sysctl[net.ipv4.tcp_mtu_probing]"), "sysctl");
  EXPECT_EQ(subject_of(row("package[*]"), "package[rdma-core]"), "package");
}

TEST(Subject, IsNotCutWithinAKey) {
  EXPECT_EQ(subject_of(row("diverted[*]/filters"), "diverted[10.64.0.0/16]/filters"),
            "diverted[10.64.0.0/16]");
  EXPECT_EQ(subject_of(row("interface[*]/mtu"), "interface[Ethernet1/[1-4]]/mtu"),
            "interface[Ethernet1/[1-4]]");
}

}  // namespace
}  // namespace lockstep
