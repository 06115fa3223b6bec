#include "specs/model/ip.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>

namespace lockstep {
namespace {

IpAddress address(std::string_view text) { return IpAddress::parse(text).value(); }
IpPrefix prefix(std::string_view text) { return IpPrefix::parse(text).value(); }

TEST(Ip, WritesTheCanonicalForm) {
  EXPECT_EQ(address("10.64.0.1").text(), "10.64.0.1");
  EXPECT_EQ(address("2001:DB8:0:0:1:0:0:1").text(), "2001:db8::1:0:0:1");
  EXPECT_EQ(address("::").text(), "::");
  EXPECT_EQ(address("::1").text(), "::1");
  EXPECT_EQ(address("1::").text(), "1::");
  EXPECT_EQ(address("2001:db8:0:1:1:1:1:1").text(), "2001:db8:0:1:1:1:1:1");
  EXPECT_EQ(address("::ffff:192.0.2.1").text(), "::ffff:192.0.2.1");
  EXPECT_EQ(prefix("10.0.0.1/24").text(), "10.0.0.1/24");
}

TEST(Ip, RefusesOtherForms) {
  for (const char* text :
       {"", "10.0.0", "10.0.0.256", "010.0.0.1", "10.0.0.1 ", "fe80::1%eth0", "1:2:3", ":::"})
    EXPECT_FALSE(IpAddress::parse(text)) << text;
  for (const char* text :
       {"10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0.0/08", "10.0.0.0/-1", "/8"})
    EXPECT_FALSE(IpPrefix::parse(text)) << text;
}

TEST(Ip, CountsSubnetsAndAddresses) {
  EXPECT_EQ(prefix("10.64.0.0/16").nth_subnet(31, 5)->text(), "10.64.0.10/31");
  EXPECT_EQ(prefix("10.64.0.0/16").nth_subnet(31, 32767)->text(), "10.64.255.254/31");
  EXPECT_FALSE(prefix("10.64.0.0/16").nth_subnet(31, 32768));
  EXPECT_FALSE(prefix("10.64.0.0/16").nth_subnet(15, 0));
  EXPECT_EQ(prefix("fd00::/48").nth_subnet(127, 3)->text(), "fd00::6/127");
  EXPECT_EQ(prefix("fd00::/48").nth_subnet(64, 0xffff)->text(), "fd00:0:0:ffff::/64");
  EXPECT_EQ(prefix("::/0").nth_subnet(128, ~0ULL)->text(), "::ffff:ffff:ffff:ffff/128");
  EXPECT_EQ(prefix("0.0.0.0/0").nth_subnet(32, 0xffffffff)->text(), "255.255.255.255/32");
  EXPECT_EQ(prefix("10.255.0.0/24").nth_address(255)->text(), "10.255.0.255");
  EXPECT_FALSE(prefix("10.255.0.0/24").nth_address(256));
  EXPECT_EQ(prefix("10.0.0.0/31").size(), 2U);
  EXPECT_EQ(prefix("::/0").size(), ~0ULL);
}

TEST(Ip, DoesNotWrap) {
  EXPECT_FALSE(address("255.255.255.255").plus(1));
  EXPECT_FALSE(address("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff").plus(1));
  EXPECT_EQ(address("::ffff:ffff:ffff:ffff").plus(1)->text(), "0:0:0:1::");
}

TEST(Ip, ComparesPrefixes) {
  EXPECT_TRUE(prefix("10.64.0.0/16").contains(address("10.64.255.255")));
  EXPECT_FALSE(prefix("10.64.0.0/16").contains(address("10.65.0.0")));
  EXPECT_FALSE(prefix("0.0.0.0/0").contains(address("::")));
  EXPECT_TRUE(prefix("10.64.0.0/16").overlaps(prefix("10.0.0.0/8")));
  EXPECT_FALSE(prefix("10.64.0.0/16").overlaps(prefix("10.65.0.0/16")));
  EXPECT_EQ(prefix("10.1.2.3/8").network().text(), "10.0.0.0/8");
  EXPECT_EQ(prefix("10.1.2.3/8").last().text(), "10.255.255.255");
  EXPECT_FALSE(prefix("10.1.2.3/8").is_network());
}

TEST(Ip, EveryAddressReadsBack) {
  EXPECT_TRUE(rc::check([](std::uint64_t high, std::uint64_t low, bool sparse) {
    const IpAddress v6{true, sparse ? high & 0xffff00000000ffff : high,
                       sparse ? low & 0x0000ffff00000000 : low};
    RC_ASSERT(IpAddress::parse(v6.text()) == v6);
    const IpAddress v4 = IpAddress::v4(static_cast<std::uint32_t>(low));
    RC_ASSERT(IpAddress::parse(v4.text()) == v4);
  }));
}

TEST(Ip, SubnetsLieInTheirPrefixAndApart) {
  EXPECT_TRUE(rc::check([](std::uint64_t high, std::uint64_t low) {
    const auto length = static_cast<std::uint8_t>(*rc::gen::inRange(0, 127));
    const auto sub = static_cast<std::uint8_t>(*rc::gen::inRange(static_cast<int>(length), 129));
    const IpPrefix whole{{true, high, low}, length};
    const std::uint64_t n =
        *rc::gen::arbitrary<std::uint64_t>() % std::max<std::uint64_t>(whole.subnets(sub), 1);
    const auto one = whole.nth_subnet(sub, n);
    RC_ASSERT(static_cast<bool>(one));
    RC_ASSERT(whole.contains(*one) && one->is_network());
    const auto next = n + 1 == 0 ? std::nullopt : whole.nth_subnet(sub, n + 1);
    if (next) RC_ASSERT(!next->overlaps(*one) && *one < *next);
  }));
}

}  // namespace
}  // namespace lockstep
