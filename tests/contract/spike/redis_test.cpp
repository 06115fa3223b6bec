// A test of the Redis spike beyond the suite: another client that writes in the middle of a write.
#include <gtest/gtest.h>
#include <hiredis/hiredis.h>

#include "specs/model/schema_rows.hpp"
#include "tests/contract/contract.hpp"
#include "tests/contract/spike/redis_server.hpp"
#include "tests/needs.hpp"

namespace lockstep::contract {
namespace {

TEST(RedisSpike, AForeignWriteBetweenReadAndWriteIsAConflict) {
  if (const std::string why = RedisServer::impossible(); !why.empty()) LOCKSTEP_NOT_TESTED_BUT_ON_CI(why);
  const RedisServer server;
  server.tell({"HSET", "PORT|rail0", "mtu", "1500"});
  const std::string path = server.folder() + "/relay.sock";
  Relay relay(path, server.socket(), kRedisWrite);
  const Attached attached = make_redis_driver("sw1", path);
  const ChangeSet changes{
      {Path(row("interface[*]/mtu"), {"rail0"}), Value::integer(1500), Value::integer(9000), 0}};
  relay.at_begin([&] { server.tell({"HSET", "PORT|rail0", "mtu", "4200"}); });
  const auto answer = attached.driver->apply(changes, {}, soon());
  ASSERT_FALSE(answer);
  EXPECT_EQ(to_string(answer.error().kind), to_string(ErrorKind::conflict)) << answer.error().text();
  EXPECT_STREQ(server.tell({"HGET", "PORT|rail0", "mtu"})->str, "4200");
  relay.at_begin({});
  EXPECT_TRUE(attached.driver->apply(changes, {}, soon()));
  EXPECT_STREQ(server.tell({"HGET", "PORT|rail0", "mtu"})->str, "9000");
}

}  // namespace
}  // namespace lockstep::contract
