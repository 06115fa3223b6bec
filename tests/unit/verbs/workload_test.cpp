// Parsing of workloads, payload patterns, descriptions of completion errors.
#include "bench/verbs/workload.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/verbs/completion.hpp"
#include "bench/verbs/pattern.hpp"
#include "bench/verbs/payload.hpp"
#include "bench/verbs/run.hpp"

namespace lockstep::bench::verbs {
namespace {

TEST(Workload, RoundTrips) {
  Workload one;
  one.operation = Operation::read;
  one.bytes = 7;
  one.iterations = 0;
  one.duration_ms = 250;
  one.queue_pairs = 5;
  one.traffic_class = 106;
  one.seed = ~std::uint64_t{0};
  const auto back = workload_from(to_json(one));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(*back, one);
}

TEST(Workload, RefusesInvalidWorkloadsByKey) {
  const auto why = [](const Json& json) {
    const auto got = workload_from(Json::parse(json.dump()));  // as in input: numbers are unsigned
    return got ? std::string("taken") : got.error().text();
  };
  EXPECT_EQ(why({{"retries", 7}}), "RDMA workload: retries must be a number from 0 to 6");
  EXPECT_EQ(why({{"rnrRetries", 7}}), "RDMA workload: rnrRetries must be a number from 0 to 6");
  EXPECT_EQ(why({{"bytes", 0}}), "RDMA workload: bytes must be a number from 1 to 67108864");
  EXPECT_EQ(why({{"bytes", -1}}), "RDMA workload: bytes must be a number from 1 to 67108864");
  EXPECT_EQ(why({{"bytes", "4096"}}), "RDMA workload: bytes must be a number from 1 to 67108864");
  EXPECT_EQ(why({{"operation", "atomic"}}), "RDMA workload: operation must be one of write, read, send");
  EXPECT_EQ(why({{"operation", 1}}), "RDMA workload: operation must be one of write, read, send");
  EXPECT_EQ(why({{"size", 1}}), "RDMA workload: there is no size");
  EXPECT_EQ(why({{"iterations", 0}}), "RDMA workload: neither iterations nor durationMs says when it ends");
  EXPECT_EQ(why({{"service", "UD"}}),
            "RDMA workload: over UD there is the latency of send, and nothing else");
  EXPECT_EQ(why({{"measure", "latency"}, {"queuePairs", 2}}), "RDMA workload: latency is of one queue pair");
  EXPECT_EQ(why({{"pathMtu", 1500}}), "RDMA workload: pathMtu must be 256, 512, 1024, 2048 or 4096");
  EXPECT_NE(why({{"depth", 16}, {"batch", 8}, {"signalEvery", 10}}).find("above depth"), std::string::npos);
  EXPECT_EQ(why(Json::array()), "RDMA workload: not a JSON object");
}

TEST(Order, RefusesUnknownFields) {
  EXPECT_TRUE(order_from(R"({"role":"server","address":"10.0.0.2","peer":"10.0.0.1"})"));
  for (const char* text :
       {"", "[]", "{}", R"({"role":"server"})", R"({"role":"king","address":"a","peer":"b"})",
        R"({"role":"client","address":"a","peer":"b"})",
        R"({"role":"server","address":"a","peer":"b","ttl":3})",
        R"({"role":"server","address":"a","peer":"b","port":65536})",
        R"({"role":"server","address":"a","peer":"b","deadlineMs":0})",
        R"({"role":"client","address":"a","peer":"b","port":1,"workload":{"bytes":0}})",
        R"({"role":"client","address":"a","peer":"b","port":1,"precheck":"later"})"})
    EXPECT_FALSE(order_from(text)) << text;
}

TEST(Pattern, FindsOneWrongByteAtAnyPosition) {
  std::vector<std::uint8_t> bytes(301);
  fill(bytes, 9, 5);
  EXPECT_FALSE(first_difference(bytes, 9, 5));
  EXPECT_TRUE(first_difference(bytes, 8, 5));
  EXPECT_TRUE(first_difference(bytes, 9, 6));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= 0x40U;
    const auto found = first_difference(bytes, 9, 5);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->at, i);
    EXPECT_EQ(found->found ^ found->expected, 0x40);
    bytes[i] ^= 0x40U;
  }
  // A part of the pattern has the same bytes as in the whole pattern.
  std::vector<std::uint8_t> part(100);
  fill(part, 9, 105);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), bytes.begin() + 100));
}

TEST(Pattern, MissingDataDiffersInEveryByte) {
  std::vector<std::uint8_t> pattern(64);
  std::vector<std::uint8_t> before(64);
  fill(pattern, 1, 3);
  fill_complement(before, 1, 3);
  for (std::size_t i = 0; i < pattern.size(); ++i) EXPECT_NE(pattern[i], before[i]);
}

TEST(Payload, ComparesEverySlotThatShouldHaveAMessage) {
  Workload write;
  write.bytes = 100;
  write.queue_pairs = 2;
  write.depth = 40;
  const Layout layout = layout_of(write);
  ASSERT_EQ(layout.slots, 40U);
  std::vector<std::uint8_t> client(layout.bytes());
  std::vector<std::uint8_t> server(layout.bytes());
  prepare(client, write, Role::client);
  prepare(server, write, Role::server);
  const std::vector<std::uint64_t> sent{3, 1};
  EXPECT_NE(verify(server, write, Role::server, sent).wrong, "") << "nothing has arrived";
  for (const auto& [queue_pair, slot] : {std::pair{0, 0}, {0, 1}, {0, 2}, {1, 0}}) {
    const auto at = static_cast<std::ptrdiff_t>(
        layout.offset(static_cast<std::size_t>(queue_pair), static_cast<std::uint64_t>(slot)));
    std::copy_n(client.begin() + at, 100, server.begin() + at);
  }
  EXPECT_EQ(verify(server, write, Role::server, sent).wrong, "");
  EXPECT_EQ(verify(server, write, Role::server, sent).checked, 400U);
  EXPECT_EQ(verify(client, write, Role::client, sent).checked, 0U) << "it received nothing";
  server[layout.offset(1, 0) + 99] ^= 1U;
  EXPECT_NE(verify(server, write, Role::server, sent).wrong.find("byte 99 of slot 0, queue pair 1"),
            std::string::npos);
}

TEST(Completion, EveryStatusHasADescription) {
  for (int status = IBV_WC_LOC_LEN_ERR; status <= IBV_WC_GENERAL_ERR; ++status) {
    const std::string text = describe(static_cast<ibv_wc_status>(status));
    // Our names are those of verbs.h without their prefix; ibv_wc_status_str(3) has no such names.
    EXPECT_EQ(text.find("libibverbs does not"), std::string::npos) << status;
    EXPECT_NE(text.find("_ERR: "), std::string::npos) << text;
  }
  EXPECT_NE(describe(static_cast<ibv_wc_status>(31)).find("31"), std::string::npos);
  EXPECT_EQ(trouble_of(IBV_WC_RETRY_EXC_ERR), Trouble::path);
  EXPECT_EQ(trouble_of(IBV_WC_LOC_PROT_ERR), Trouble::tool);
}

}  // namespace
}  // namespace lockstep::bench::verbs
