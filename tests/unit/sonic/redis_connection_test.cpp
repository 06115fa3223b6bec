// A connection to a real Redis: replies, passwords, deadlines, and servers that go away or are not Redis.
#include "drivers/sonic/redis_connection.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <csignal>
#include <thread>

#include "drivers/posix/wake_descriptor.hpp"
#include "tests/unit/sonic/faulty_redis_proxy.hpp"
#include "tests/unit/sonic/redis_process.hpp"

namespace lockstep::sonic {
namespace {

using Replies = Result<std::vector<RedisReply>>;

Replies ask(RedisConnection& connection, std::vector<RedisCommand> commands, const Call& call = patient()) {
  return connection.send(commands, RedisIntention::asks, call);
}

class RedisConnections : public testing::Test {
 protected:
  void SetUp() override { LOCKSTEP_NEEDS_REDIS(); }
};

TEST_F(RedisConnections, PipelinesCommandsAndKeepsEachKindOfReply) {
  const RedisProcess redis;
  RedisConnection connection(redis.server(), kConfigDatabase);
  const std::string binary("a\0b\r\n", 5);
  const Replies replies = ask(connection, {{"SET", "text", binary},
                                           {"GET", "text"},
                                           {"GET", "none"},
                                           {"RPUSH", "list", "1", "2"},
                                           {"LRANGE", "list", "0", "-1"},
                                           {"HGET", "list", "x"}});
  ASSERT_TRUE(replies) << said(replies);
  ASSERT_EQ(replies->size(), 6U);
  EXPECT_TRUE((*replies)[0].is_text("OK"));
  EXPECT_TRUE((*replies)[1].is_text(binary));
  EXPECT_EQ((*replies)[2].kind, RedisReply::Kind::nil);
  EXPECT_EQ((*replies)[3].kind, RedisReply::Kind::integer);
  EXPECT_EQ((*replies)[3].integer, 2);
  ASSERT_EQ((*replies)[4].elements.size(), 2U);
  EXPECT_TRUE((*replies)[4].elements[1].is_text("2"));
  EXPECT_TRUE((*replies)[5].is_error());
  EXPECT_EQ(connection.round_trips(), 1U);
  EXPECT_EQ(redis.cli({"LLEN", "list"}), "2");  // in database 4, which redis-cli has selected
}

TEST_F(RedisConnections, SendsAndReadsMoreThanSocketsHold) {
  const RedisProcess redis;
  // The proxy reads no command before its reply to the last one has been read.
  const FaultyRedisProxy proxy(redis.folder() + "/proxy", redis.socket_path(), {});
  RedisConnection connection(proxy.server(), 0);
  std::vector<RedisCommand> commands;
  for (int i = 0; i < 64; ++i)
    commands.push_back({"ECHO", std::string(500'000, static_cast<char>('a' + i % 26))});
  const Replies replies = ask(connection, commands);
  ASSERT_TRUE(replies) << said(replies);
  for (std::size_t i = 0; i < commands.size(); ++i) ASSERT_TRUE((*replies)[i].is_text(commands[i][1])) << i;
}

TEST_F(RedisConnections, ConnectsByAddressAndLogsIn) {
  RedisProcess redis({.more = {"--requirepass", "open-sesame"}, .tcp = true, .password = "open-sesame"});
  redis.cli({"ACL", "SETUSER", "operator", "on", ">second-word", "~*", "&*", "+@all"});
  for (RedisServer server : {redis.server(), redis.tcp_server()}) {
    RedisConnection connection(server, kConfigDatabase);
    EXPECT_TRUE(ask(connection, {{"PING"}}));
    server.user = "operator";
    server.password = "second-word";
    RedisConnection as_operator(server, kConfigDatabase);
    const Replies who = ask(as_operator, {{"ACL", "WHOAMI"}});
    ASSERT_TRUE(who) << said(who);
    EXPECT_TRUE((*who)[0].is_text("operator"));
  }
}

TEST_F(RedisConnections, RefusedLoginsAreDeniedWithoutThePassword) {
  const RedisProcess redis(
      {.more = {"--requirepass", "open-sesame"}, .tcp = true, .password = "open-sesame"});
  const std::string name = "Redis at 127.0.0.1:" + std::to_string(redis.tcp_server().port);
  RedisServer server = redis.tcp_server();
  server.password = "guessed-word";
  RedisConnection wrong(server, kConfigDatabase);
  EXPECT_EQ(said(ask(wrong, {{"PING"}})),
            "denied: " + name +
                ": login: Redis: WRONGPASS invalid username-password pair or user is disabled "
                "(correct the user or the password)");
  server.password.clear();
  RedisConnection none(server, kConfigDatabase);
  EXPECT_EQ(said(ask(none, {{"PING"}})), "denied: " + name +
                                             ": database 4: Redis: NOAUTH Authentication required (give the "
                                             "password of this Redis)");
}

// Redis repeats the arguments of a command that it does not know.
TEST_F(RedisConnections, NoErrorRepeatsThePassword) {
  const RedisProcess redis({.more = {"--rename-command", "AUTH", ""}});
  RedisServer server = redis.server();
  server.password = "open-sesame";
  RedisConnection connection(server, kConfigDatabase);
  const std::string error = said(ask(connection, {{"PING"}}));
  EXPECT_EQ(error, "denied: " + server.name() + ": login: Redis: ERR unknown command 'AUTH'");
  const Replies raw = ask(*std::make_unique<RedisConnection>(redis.server(), 0), {{"AUTH", "open-sesame"}});
  ASSERT_TRUE(raw);
  EXPECT_NE((*raw)[0].text.find("open-sesame"), std::string::npos) << "Redis repeats nothing: no test";
}

TEST_F(RedisConnections, ServersThatAreNotThereAreTransient) {
  const RedisProcess redis({.tcp = true});
  RedisConnection missing({.socket_path = redis.folder() + "/none.sock"}, 0);
  EXPECT_EQ(said(ask(missing, {{"PING"}})),
            "transient: Redis at " + redis.folder() + "/none.sock: connect: No such file or directory");
  RedisServer closed = redis.tcp_server();
  closed.host = "127.0.0.2";  // redis listens at 127.0.0.1 only
  RedisConnection refused(closed, 0);
  EXPECT_EQ(said(ask(refused, {{"PING"}})), "transient: " + closed.name() + ": connect: Connection refused");
  RedisConnection named({.host = "localhost", .port = 6379}, 0);
  EXPECT_EQ(said(ask(named, {{"PING"}})).substr(0, 13), "invalid spec:");
  RedisConnection endless({.socket_path = std::string(200, 'x')}, 0);
  EXPECT_EQ(said(ask(endless, {{"PING"}})).substr(0, 13), "invalid spec:");
}

TEST_F(RedisConnections, OpensAgainAfterRedisWasKilled) {
  RedisProcess redis;
  RedisConnection connection(redis.server(), kConfigDatabase);
  ASSERT_TRUE(ask(connection, {{"PING"}}));
  redis.restart();
  const RedisCommand ping[] = {{"PING"}};
  EXPECT_EQ(said(connection.send_next(ping, RedisIntention::asks, patient())),
            "transient: " + redis.server().name() + ": the connection was lost in between");
  EXPECT_TRUE(ask(connection, {{"SET", "a", "b"}}));
  EXPECT_EQ(connection.openings(), 2U);
  EXPECT_EQ(redis.cli({"GET", "a"}), "b");
}

TEST_F(RedisConnections, EndsAtTheDeadlineOfAStoppedServer) {
  const RedisProcess redis;
  RedisConnection connection(redis.server(), kConfigDatabase);
  ASSERT_TRUE(ask(connection, {{"PING"}}));
  redis.signal(SIGSTOP);
  for (const RedisIntention intention : {RedisIntention::asks, RedisIntention::writes}) {
    const auto begin = std::chrono::steady_clock::now();
    const RedisCommand set[] = {{"SET", "a", "b"}};
    const Replies replies = connection.send(set, intention, within(std::chrono::milliseconds(200)));
    const auto took = std::chrono::steady_clock::now() - begin;
    ASSERT_FALSE(replies);
    EXPECT_LT(took, std::chrono::seconds(5));
    EXPECT_GE(took, std::chrono::milliseconds(200));
    EXPECT_NE(replies.error().text().find("the deadline passed"), std::string::npos) << said(replies);
    // The second has to open first, and its login is no write.
    EXPECT_EQ(replies.error().kind, ErrorKind::transient);
  }
  redis.signal(SIGCONT);
  ASSERT_TRUE(ask(connection, {{"PING"}}));
  redis.signal(SIGSTOP);
  const RedisCommand set[] = {{"SET", "a", "b"}};
  const Replies written = connection.send(set, RedisIntention::writes, within(std::chrono::milliseconds(50)));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::unknown_outcome) << said(written);
}

// A listener whose queue is full answers no connection.
TEST(RedisConnects, EndsAtTheDeadlineWhileItConnects) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  const Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(listener.number(), any, size), 0);
  ASSERT_EQ(::listen(listener.number(), 0), 0);
  ASSERT_EQ(::getsockname(listener.number(), any, &size), 0);
  std::vector<Descriptor> queue;
  for (int i = 0; i < 4; ++i) {
    queue.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    (void)::connect(queue.back().number(), any, size);
  }
  RedisConnection connection({.host = "127.0.0.1", .port = ntohs(address.sin_port)}, 0);
  EXPECT_EQ(said(ask(connection, {{"PING"}}, within(std::chrono::milliseconds(200)))),
            "transient: " + connection.server().name() + ": the deadline passed");
  EXPECT_EQ(connection.openings(), 0U);
}

TEST_F(RedisConnections, EndsWhenItIsWokenOrStopped) {
  const RedisProcess redis;
  RedisConnection connection(redis.server(), kConfigDatabase);
  ASSERT_TRUE(ask(connection, {{"PING"}}));
  redis.signal(SIGSTOP);
  std::stop_source stop;
  stop.request_stop();
  Call stopped = patient();
  stopped.stop = stop.get_token();
  // Nothing was sent: its outcome is known.
  const RedisCommand set[] = {{"SET", "a", "b"}};
  EXPECT_EQ(said(connection.send(set, RedisIntention::writes, stopped)).substr(0, 10), "cancelled:");
  EXPECT_EQ(said(ask(connection, {{"PING"}}, stopped)).substr(0, 10), "cancelled:");
  const WakeDescriptor wake;
  Call woken = patient();
  woken.wake_fd = wake.number();
  std::thread waker([&] { wake.signal(); });
  EXPECT_EQ(said(ask(connection, {{"PING"}}, woken)).substr(0, 10), "cancelled:");
  waker.join();
}

TEST_F(RedisConnections, LostRepliesOfWritesAreUnknown) {
  const RedisProcess redis;
  for (const RedisFault fault : {RedisFault::cut_before, RedisFault::cut_after}) {
    const std::string path = redis.folder() + "/proxy" + std::to_string(static_cast<int>(fault));
    FaultyRedisProxy proxy(path, redis.socket_path(), {.command = "INCR", .fault = fault});
    RedisConnection connection(proxy.server(), kConfigDatabase);
    ASSERT_TRUE(ask(connection, {{"PING"}}));
    const RedisCommand count[] = {{"INCR", "count"}};
    const Replies replies = connection.send(count, RedisIntention::writes, patient());
    EXPECT_EQ(said(replies), "unknown outcome: Redis at " + path + ": no reply: Redis closed the connection");
  }
  EXPECT_EQ(redis.cli({"GET", "count"}), "1");
}

TEST_F(RedisConnections, HostileRepliesAreErrorsAndEndTheConnection) {
  const RedisProcess redis;
  std::string nested;
  for (int i = 0; i < 100; ++i) nested += "*1\r\n";
  std::string integers = "*900000\r\n";
  for (int i = 0; i < 900'000; ++i) integers += ":1\r\n";
  const std::pair<std::string, std::string> kHostile[] = {
      {"HTTP/1.1 400 Bad Request\r\n\r\n", "not a reply of Redis: "},
      {std::string("\0\1\2\r\n", 5), "not a reply of Redis: "},
      {"$99999999999999999999\r\n", "not a reply of Redis: "},
      {"$-5\r\n", "not a reply of Redis: "},
      {"*2147483647\r\n", "replies of more than a million values"},
      {"*1000001\r\n", "replies of more than a million values"},
      {"*2\r\n" + integers + integers, "replies of more than a million values"},
      {nested, "not a reply of Redis: "},
      {std::string(200'000, '+'), "not a reply of Redis: a line of more than 64 KiB"},
      {"$1000000000\r\n" + std::string(kReplyBytes, 'x'), "replies of more than 64 MiB"},
      {"$5\r\nabc", "the deadline passed"},
  };
  int number = 0;
  for (const auto& [answer, why] : kHostile) {
    const std::string path = redis.folder() + "/hostile" + std::to_string(++number);
    FaultyRedisProxy proxy(path, redis.socket_path(),
                           {.command = "GET", .fault = RedisFault::answer, .answer = answer});
    RedisConnection connection(proxy.server(), kConfigDatabase);
    const bool waits = why == "the deadline passed";
    ASSERT_TRUE(ask(connection, {{"PING"}}));
    const Replies replies =
        ask(connection, {{"GET", "a"}}, waits ? within(std::chrono::milliseconds(200)) : patient());
    ASSERT_FALSE(replies) << number;
    EXPECT_EQ(replies.error().kind, ErrorKind::transient);
    EXPECT_NE(replies.error().text().find(why), std::string::npos) << number << ": " << said(replies);
    EXPECT_EQ(connection.descriptor(), -1);
    if (waits) continue;
    EXPECT_TRUE(ask(connection, {{"GET", "a"}})) << number;
  }
}

// Taken for the reply to the next command, it would be a lie.
TEST_F(RedisConnections, RepliesWithoutACommandEndTheConnection) {
  const RedisProcess redis;
  const std::string path = redis.folder() + "/proxy";
  FaultyRedisProxy proxy(path, redis.socket_path(),
                         {.command = "GET", .fault = RedisFault::answer, .answer = "+first\r\n+second\r\n"});
  RedisConnection connection(proxy.server(), kConfigDatabase);
  const Replies first = ask(connection, {{"GET", "a"}});
  ASSERT_TRUE(first) << said(first);
  EXPECT_TRUE((*first)[0].is_text("first"));
  ASSERT_TRUE(eventually([&] { return proxy.done(); }));
  const Replies next = ask(connection, {{"PING"}});
  ASSERT_TRUE(next) << said(next);
  EXPECT_TRUE((*next)[0].is_text("PONG")) << (*next)[0].text;
  EXPECT_EQ(connection.openings(), 2U);
}

TEST(RedisErrors, KindsSayWhatTheEngineDoes) {
  const std::pair<const char*, ErrorKind> kKinds[] = {
      {"NOAUTH Authentication required.", ErrorKind::denied},
      {"NOPERM this user has no permissions to run the 'keys' command", ErrorKind::denied},
      {"ERR invalid password", ErrorKind::denied},
      {"READONLY You can't write against a read only replica.", ErrorKind::refused},
      {"EXECABORT Transaction discarded because of: OOM command not allowed", ErrorKind::refused},
      {"LOADING Redis is loading the dataset in memory", ErrorKind::transient},
      {"BUSY Redis is busy running a script.", ErrorKind::transient},
      {"MASTERDOWN Link with MASTER is down", ErrorKind::transient},
      {"TRYAGAIN Multiple keys request", ErrorKind::transient},
      {"ERR max number of clients reached", ErrorKind::transient},
      {"ERR syntax error", ErrorKind::refused},
      {"", ErrorKind::refused},
  };
  for (const auto& [words, kind] : kKinds) {
    const auto error = redis_error("x", {.kind = RedisReply::Kind::error, .text = words});
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind, kind) << words;
  }
  EXPECT_FALSE(redis_error("x", {.kind = RedisReply::Kind::text, .text = "NOAUTH"}));
  const RedisReply echoing{
      .kind = RedisReply::Kind::error,
      .text = "ERR unknown command 'HSET', with args beginning with: 'TACPLUS|global' 'secret'"};
  EXPECT_EQ(redis_error("write", echoing)->what, "write: Redis: ERR unknown command 'HSET'");
}

}  // namespace
}  // namespace lockstep::sonic
