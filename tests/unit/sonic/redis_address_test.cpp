#include "drivers/sonic/redis_address.hpp"

#include <gtest/gtest.h>

namespace lockstep::sonic {
namespace {

TEST(RedisAddress, IsASocketOrANumericAddress) {
  EXPECT_EQ(parse_redis_server("/run/redis.sock")->socket_path, "/run/redis.sock");
  EXPECT_EQ(parse_redis_server("unix:///run/redis.sock")->socket_path, "/run/redis.sock");
  struct Good {
    const char* text;
    const char* host;
    int port;
  };
  for (const Good& one : {Good{"redis://10.0.0.1:6380", "10.0.0.1", 6380}, Good{"10.0.0.1", "10.0.0.1", 6379},
                          Good{"[2001:db8::1]:7000", "2001:db8::1", 7000}, Good{"redis://[::1]", "::1", 6379},
                          Good{"2001:db8::1", "2001:db8::1", 6379}}) {
    const auto server = parse_redis_server(one.text);
    ASSERT_TRUE(server) << one.text << ": " << server.error().text();
    EXPECT_EQ(server->host, one.host);
    EXPECT_EQ(server->port, one.port);
    EXPECT_EQ(server->socket_path, "");
  }
}

TEST(RedisAddress, OthersAreRefusedWithWhatWouldBeRight) {
  for (const char* const text :
       {"", "leaf0", "redis://leaf0:6379", "10.0.0.1:", "10.0.0.1:0", "10.0.0.1:70000", "10.0.0.1:6379x",
        "[::1", "[::1]6379", "unix://redis.sock", "http://10.0.0.1"}) {
    const auto server = parse_redis_server(text);
    ASSERT_FALSE(server) << text;
    EXPECT_EQ(server.error().kind, ErrorKind::invalid_spec);
    EXPECT_NE(server.error().text().find("write the path of its socket, or redis://ADDRESS:PORT"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace lockstep::sonic
