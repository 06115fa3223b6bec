#include <gtest/gtest.h>

#include "drivers/agent/network.hpp"

namespace lockstep {
namespace {

TEST(AgentUrl, ParsesHostAndPort) {
  for (const auto& [url, host, port] :
       {std::tuple{"https://gpu1", "gpu1", 7443},
        std::tuple{"https://gpu1.pod-a.example:17443", "gpu1.pod-a.example", 17443},
        std::tuple{"https://10.0.0.1", "10.0.0.1", 7443}, std::tuple{"https://[fd00::1]", "fd00::1", 7443},
        std::tuple{"https://[fd00::1]:1", "fd00::1", 1}, std::tuple{"https://3com:65535", "3com", 65535}}) {
    const auto parsed = parse_agent_url(url);
    ASSERT_TRUE(parsed) << parsed.error().text();
    EXPECT_EQ(parsed->host, host);
    EXPECT_EQ(parsed->port, port);
    const auto again = parse_agent_url(parsed->text());
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(again->host, host);
    EXPECT_EQ(again->port, port);
  }
}

TEST(AgentUrl, WritesBracketsForIPv6) {
  EXPECT_EQ((AgentEndpoint{"gpu1", 7443}).text(), "https://gpu1:7443");
  EXPECT_EQ((AgentEndpoint{"fd00::1", 7443}).text(), "https://[fd00::1]:7443");
  EXPECT_EQ((AgentAddress{"gpu1", {"10.0.0.1", 7443}}).text(), "gpu1 (https://10.0.0.1:7443)");
}

TEST(AgentUrl, RefusesEverythingElseAndSaysWhy) {
  for (const auto& [url, says] : {std::pair{"", "does not begin with https://"},
                                  std::pair{"gpu1", "does not begin with https://"},
                                  std::pair{"http://gpu1", "does not begin with https://"},
                                  std::pair{"https://", "neither a host name nor an IP address"},
                                  std::pair{"https://:7443", "neither a host name nor an IP address"},
                                  std::pair{"https://gpu1/", "has a path"},
                                  std::pair{"https://gpu1:7443/v1", "has a path"},
                                  std::pair{"https://gpu1?x", "has a query"},
                                  std::pair{"https://gpu1#x", "has a fragment"},
                                  std::pair{"https://ops@gpu1", "has a user name"},
                                  std::pair{"https://gpu1:", "port '' is not a number"},
                                  std::pair{"https://gpu1:0", "port '0' is not a number"},
                                  std::pair{"https://gpu1:65536", "port '65536' is not a number"},
                                  std::pair{"https://gpu1:+1", "port '+1' is not a number"},
                                  std::pair{"https://gpu1:7443x", "port '7443x' is not a number"},
                                  std::pair{"https://fd00::1", "an IPv6 address needs brackets"},
                                  std::pair{"https://[fd00::1", "is not an IPv6 address in brackets"},
                                  std::pair{"https://[gpu1]", "is not an IPv6 address in brackets"},
                                  std::pair{"https://[10.0.0.1]", "is not an IPv6 address in brackets"},
                                  std::pair{"https://[fe80::1%eth0]", "is not an IPv6 address in brackets"},
                                  std::pair{"https://[fd00::1]x", "follows the host"},
                                  std::pair{"https://10.0.1", "neither a host name nor an IP address"},
                                  std::pair{"https://10.0.0.256", "neither a host name nor an IP address"},
                                  std::pair{"https://gpu 1", "neither a host name nor an IP address"},
                                  std::pair{"https://gpu1\r\nX", "neither a host name nor an IP address"},
                                  std::pair{"https://-o", "neither a host name nor an IP address"},
                                  std::pair{"https://gpu..1", "neither a host name nor an IP address"}}) {
    const auto parsed = parse_agent_url(url);
    ASSERT_FALSE(parsed) << url;
    EXPECT_EQ(to_string(parsed.error().kind), to_string(ErrorKind::invalid_spec));
    EXPECT_NE(parsed.error().what.find(says), std::string::npos) << parsed.error().what;
  }
}

}  // namespace
}  // namespace lockstep
