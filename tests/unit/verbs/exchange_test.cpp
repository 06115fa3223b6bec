// The out-of-band exchange against peers that use another protocol, send bad values, disconnect or hang.
#include "bench/verbs/exchange.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <nlohmann/json.hpp>
#include <thread>

namespace lockstep::bench::verbs {
namespace {

Call within_ms(int milliseconds) {
  return Call{.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds),
              .stop = {}};
}

// The result of a server whose peer sends these bytes and then, if `closes`, closes the connection.
Result<Json> meet(const std::string& bytes, bool closes, int deadline_ms = 5000) {
  const auto own = parse_address("127.0.0.1", 0);
  auto listener = listen_on(*own);
  EXPECT_TRUE(listener);
  const auto to = parse_address("127.0.0.1", port_of(listener->number()));
  auto peer = connect_from(*own, *to, {});
  EXPECT_TRUE(peer);
  EXPECT_EQ(::send(peer->number(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
  if (closes) {
    EXPECT_EQ(shutdown(peer->number(), SHUT_WR), 0);
  }
  auto exchange = Exchange::accept(*listener, "127.0.0.1", within_ms(deadline_ms));
  if (!exchange) return exchange.error();
  return exchange->receive("order", within_ms(deadline_ms));
}

std::string hello(std::uint64_t version = protocol_version, const std::string& protocol = "lockstep-verbs") {
  return framed({{"kind", "hello"}, {"protocol", protocol}, {"version", version}});
}

TEST(Exchange, TwoEndsGreetAndTalk) {
  const auto own = parse_address("127.0.0.1", 0);
  auto listener = listen_on(*own);
  ASSERT_TRUE(listener);
  Result<Json> got = Json(nullptr);
  std::thread server([&] {
    auto exchange = Exchange::accept(*listener, "127.0.0.1", within_ms(5000));
    ASSERT_TRUE(exchange) << exchange.error().text();
    got = exchange->receive("order", within_ms(5000));
    EXPECT_TRUE(exchange->send("failed", {{"text", "no such device"}}, within_ms(5000)));
  });
  auto client = Exchange::connect("127.0.0.1", "127.0.0.1", port_of(listener->number()), within_ms(5000));
  ASSERT_TRUE(client) << client.error().text();
  EXPECT_TRUE(client->send("order", {{"x", 1}}, within_ms(5000)));
  const auto answer = client->receive("facts", within_ms(5000));
  server.join();
  ASSERT_TRUE(got) << got.error().text();
  EXPECT_EQ(number_of(*got, "x"), 1U);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().text(), "127.0.0.1 says: no such device");
}

TEST(Exchange, AnInvalidPeerIsAClearError) {
  const std::string order = framed({{"kind", "order"}});
  const auto error_of = [](const Result<Json>& got) {
    return got ? std::string("none") : got.error().text();
  };
  EXPECT_EQ(error_of(meet("GET / HTTP/1.1\r\n\r\n", false)),
            "exchange with 127.0.0.1: probe message: longer than 4 MiB");
  EXPECT_EQ(error_of(meet(std::string("\0\0\0\2no", 6), false)),
            "exchange with 127.0.0.1: probe message: not a JSON object");
  EXPECT_EQ(error_of(meet(hello(2), false)),
            "exchange with 127.0.0.1: it speaks version 2, this end version 1");
  EXPECT_EQ(error_of(meet(hello(1, "gossip"), false)),
            "exchange with 127.0.0.1: it does not speak lockstep-verbs");
  EXPECT_EQ(error_of(meet(order, false)), "exchange with 127.0.0.1: 'order' came where 'hello' was due");
  EXPECT_EQ(error_of(meet(hello() + framed({{"kind", 7}}), false)),
            "exchange with 127.0.0.1: '' came where 'order' was due");
}

TEST(Exchange, EveryTruncationIsReportedAndNothingHangs) {
  const std::string whole = hello() + framed({{"kind", "order"}, {"workload", Json::object()}});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto got = meet(whole.substr(0, size), true);
    ASSERT_FALSE(got) << size;
    EXPECT_EQ(got.error().text(), "exchange with 127.0.0.1: closed by the peer: its program ended or died");
  }
  EXPECT_TRUE(meet(whole, true));
}

TEST(Exchange, ASlowPeerIsGivenUpAtTheDeadline) {
  const auto got = meet(hello(), false, 50);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().text(), "exchange with 127.0.0.1: no 'order' came in time");
}

EndAddress sample() {
  EndAddress out;
  out.gid = *parse_gid("0000:0000:0000:0000:0000:ffff:0a00:0001");
  out.active_mtu = 4096;
  out.memory = 0x7f0000000000;
  out.key = 0xffffffff;
  out.memory_bytes = 65536;
  out.queue_pairs = {{17, 0xffffff}, {0xffffff, 0}};
  return out;
}

TEST(EndAddress, RoundTrips) {
  const auto back = end_address_from(to_json(sample()), 2, 65536);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(to_json(*back), to_json(sample()));
}

TEST(EndAddress, RefusesEveryMissingOrInvalidField) {
  const Json good = to_json(sample());
  for (const auto& item : good.items()) {
    for (const Json& lie :
         {Json(nullptr), Json(-1), Json("x"), Json(1.5), Json::array({1, 2}), Json::object()}) {
      Json bad = good;
      bad[item.key()] = lie;
      EXPECT_FALSE(end_address_from(bad, 2, 65536)) << bad.dump();
    }
    Json without = good;
    without.erase(item.key());
    EXPECT_FALSE(end_address_from(without, 2, 65536)) << item.key();
  }
  Json wide = good;
  wide["queuePairs"][0]["number"] = 0x1000000;
  EXPECT_FALSE(end_address_from(wide, 2, 65536));
  EXPECT_FALSE(end_address_from(good, 3, 65536));
  EXPECT_FALSE(end_address_from(good, 2, 4096)) << "a region of another size";
  Json beyond = good;
  beyond["memory"] = ~std::uint64_t{0};
  EXPECT_FALSE(end_address_from(beyond, 2, 65536));
  Json odd = good;
  odd["activeMtu"] = 1500;
  EXPECT_FALSE(end_address_from(odd, 2, 65536));
}

TEST(Gid, AcceptsSysfsFormatOnly) {
  const std::string text = "fe80:0000:0000:0000:0000:00ff:fe00:0001";
  ASSERT_TRUE(parse_gid(text));
  EXPECT_EQ(gid_text(*parse_gid(text)), text);
  for (std::size_t size = 0; size < text.size(); ++size) EXPECT_FALSE(parse_gid(text.substr(0, size)));
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string bad = text;
    bad[i] = 'g';
    EXPECT_FALSE(parse_gid(bad)) << bad;
  }
}

}  // namespace
}  // namespace lockstep::bench::verbs
