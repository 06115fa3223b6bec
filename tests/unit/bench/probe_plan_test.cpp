#include "bench/tcp/probe_plan.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/tcp/wire.hpp"

namespace lockstep::bench {
namespace {

// Two leaves with two hosts each, two spines, one rail. Links: 0-3 up and 4-7 down at the hosts, 8-9 and
// 10-11 up from leaf 0 and 1, 12-13 and 14-15 down to leaf 0 and 1.
struct Pod {
  std::vector<ProbeEndpoint> endpoints = std::vector<ProbeEndpoint>(4);
  Links links;

  Pod() {
    for (std::size_t i = 0; i < 4; ++i) {
      endpoints[i].endpoint = {"h" + std::to_string(i), "rail0", "10.0.0." + std::to_string(i),
                               "leaf" + std::to_string(i / 2), "0"};
      endpoints[i].link_rate = 1000;
    }
    links.name = [](std::uint32_t link) { return "l" + std::to_string(link); };
    links.capacities.assign(16, 1000);
    links.path = [](std::size_t from, std::size_t to) {
      FlowPath path{{static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(4 + to)}, {}};
      const auto a = static_cast<std::uint32_t>(from / 2);
      const auto b = static_cast<std::uint32_t>(to / 2);
      if (a != b) path.stages = {{8 + 2 * a, 9 + 2 * a}, {12 + 2 * b, 13 + 2 * b}};
      return path;
    };
  }
};

Benchmark benchmark(Workload workload) {
  Benchmark made;
  made.name.value = "b";
  made.workload = {workload, {}, true};
  return made;
}

TEST(PlanTcp, PairsComeInRoundsThatCannotOversubscribe) {
  const Pod pod;
  Benchmark asked = benchmark(Workload::stream);
  asked.duration = {std::chrono::seconds(3), {}, true};
  const PlannedBenchmark planned = plan_tcp(asked, pod.endpoints, pod.links);
  EXPECT_EQ(planned.pairs.size(), 12U);
  EXPECT_EQ(planned.plan.repeats, 3U);
  EXPECT_EQ(planned.plan.timing.window, std::chrono::seconds(1));
  EXPECT_TRUE(planned.plan.not_to_be_had.empty());
  std::size_t count = 0;
  for (const auto& round : planned.plan.rounds) {
    std::size_t across = 0;
    for (const Pair& pair : round) across += pair.from / 2 == 0 && pair.to / 2 == 1 ? 1U : 0U;
    EXPECT_LE(across, 1U);
    count += round.size();
  }
  EXPECT_EQ(count, 12U);
}

TEST(PlanTcp, RunsSelectedPairsOnlyAndCoverageReportsIt) {
  const Pod pod;
  PlanOptions options;
  options.wanted = [](const Pair& pair) { return pair.from == 0; };
  const auto planned = plan_tcp(benchmark(Workload::read_bandwidth), pod.endpoints, pod.links, options);
  std::vector<Measurement> made(1);
  made[0].benchmark = "b";
  made[0].workload = Workload::read_bandwidth;
  made[0].from = "h0:rail0";
  made[0].to = "h1:rail0";
  explain(made, pod.endpoints, pod.links);
  EXPECT_EQ(made[0].links, (std::vector<CrossedLink>{{"l1", 1}, {"l4", 1}})) << "what h0 reads flows from h1";
  ASSERT_TRUE(made[0].ideal);
  EXPECT_NEAR(made[0].ideal->balanced, 1000.0 * 1448 / 1514, 1e-6);
  Coverage seen = coverage(planned, made, pod.endpoints, pod.links);
  EXPECT_EQ(seen.pairs, 1U);
  EXPECT_EQ(seen.of_pairs, 3U) << "those that were to run";
  EXPECT_EQ(seen.links, 2U);
  EXPECT_EQ(seen.of_links, 16U);
  made[0].trouble = Trouble::path;
  EXPECT_EQ(coverage(planned, made, pod.endpoints, pod.links).pairs, 0U);
}

TEST(PlanTcp, PairsMayBeGivenAndRoundsBounded) {
  const Pod pod;
  PlanOptions options;
  options.pairs = std::vector<Pair>{{0, 2}, {1, 3}, {2, 0}};  // the first two share the uplinks of leaf 0
  EXPECT_EQ(plan_tcp(benchmark(Workload::stream), pod.endpoints, pod.links, options).plan.rounds.size(), 2U);
  options.limits.rounds = 1;
  Benchmark asked = benchmark(Workload::stream);
  asked.duration = {std::chrono::seconds(3), {}, true};
  const auto planned = plan_tcp(asked, pod.endpoints, pod.links, options);
  EXPECT_EQ(planned.pairs, (std::vector<Pair>{{0, 2}, {2, 0}}));
  EXPECT_EQ(planned.left_out, (std::vector<Pair>{{1, 3}}));
  EXPECT_EQ(round_time(planned.plan), std::chrono::milliseconds(3 * (200 + 1000)))
      << "warm-up and window, three times";
  asked.workload = {Workload::ring_allreduce, {}, true};
  asked.sizes.resize(2);
  options.limits.rounds = 0;
  const auto ring = plan_tcp(asked, pod.endpoints, pod.links, options);
  EXPECT_TRUE(ring.plan.group_rounds.empty());
  EXPECT_EQ(ring.left_out.size(), 4U) << "the hops of the ring";
  EXPECT_EQ(round_time(ring.plan), std::chrono::seconds(2 * 3));
}

TEST(PlanTcp, AMeasurementAtTheRateOfALinkIsNotCpuLimited) {
  Pod pod;
  pod.links.capacities.back() = 100;  // a link that the flow of h0 does not cross
  std::vector<Measurement> made(1);
  made[0].from = "h0:rail0";
  made[0].to = "h1:rail0";
  made[0].cpu_limited = true;
  made[0].value = 500;
  explain(made, pod.endpoints, pod.links);
  EXPECT_TRUE(made[0].cpu_limited);
  made[0].value = 100.0 * 1448 / 1514;
  explain(made, pod.endpoints, pod.links);
  EXPECT_TRUE(made[0].cpu_limited) << "another flow's link";
  made[0].value = 990.0 * 1448 / 1514;
  explain(made, pod.endpoints, pod.links);
  EXPECT_FALSE(made[0].cpu_limited);
}

TEST(PlanTcp, ARingIsSlowedByTheHashOnlyWhereHopsShareAChoice) {
  const Pod pod;
  const auto planned = plan_tcp(benchmark(Workload::ring_allreduce), pod.endpoints, pod.links);
  ASSERT_EQ(planned.plan.group_rounds.size(), 1U);
  std::vector<Measurement> made(1);
  made[0].metric = Metric::busbw;
  made[0].group = "rail0";
  made[0].ranks = {"h0:rail0", "h1:rail0", "h2:rail0", "h3:rail0"};
  explain(made, pod.endpoints, pod.links);
  ASSERT_TRUE(made[0].ideal);
  // One hop each way between the leaves: nothing collides.
  EXPECT_DOUBLE_EQ(made[0].ideal->balanced, made[0].ideal->hash_expected);
  made[0].ranks = {"h0:rail0", "h2:rail0", "h1:rail0", "h3:rail0"};  // every hop crosses
  explain(made, pod.endpoints, pod.links);
  EXPECT_LT(made[0].ideal->hash_expected, made[0].ideal->balanced * 0.9);
}

TEST(PlanTcp, DoesNotSupportBothDirections) {
  const Pod pod;
  Benchmark asked = benchmark(Workload::write_bandwidth);
  EXPECT_TRUE(plan_tcp(asked, pod.endpoints, pod.links).plan.not_to_be_had.empty());
  asked.direction = {Direction::both, {}, true};
  const auto planned = plan_tcp(asked, pod.endpoints, pod.links);
  const auto made = run(planned.plan, pod.endpoints);
  ASSERT_TRUE(made);
  ASSERT_EQ(made->size(), 12U);
  EXPECT_EQ(made->at(0).trouble, Trouble::transport);
}

TEST(PlanTcp, IterationsFollowTheJudgedPercentiles) {
  const Pod pod;
  Benchmark asked = benchmark(Workload::ring_allreduce);
  Slo tail;
  tail.statistic = {Statistic::p99, {}, true};
  asked.slo.push_back(tail);
  EXPECT_EQ(plan_tcp(asked, pod.endpoints, pod.links).plan.iterations, 300U);
  asked.iterations = {7, {}, true};
  EXPECT_EQ(plan_tcp(asked, pod.endpoints, pod.links).plan.iterations, 7U);
}

TEST(PlanTcp, PairsWithoutAPathAreNotCounted) {
  Pod pod;
  pod.links.path = [](std::size_t from, std::size_t to) {
    return from / 2 == to / 2 ? FlowPath{{static_cast<std::uint32_t>(from)}, {}} : FlowPath{};
  };
  const auto planned = plan_tcp(benchmark(Workload::stream), pod.endpoints, pod.links);
  EXPECT_EQ(planned.pairs.size(), 4U);
  EXPECT_EQ(planned.no_path.size(), 8U);
}

TEST(Wire, ReassemblesMessagesFromAnySplit) {
  const std::string bytes = framed({{"a", 1}}) + framed({{"b", "x"}});
  MessageReader reader;
  std::vector<Json> got;
  for (const char c : bytes) {
    reader.feed(&c, 1);
    auto next = reader.next();
    ASSERT_TRUE(next);
    if (*next) got.push_back(**next);
  }
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(number_of(got[0], "a"), 1U);
  EXPECT_EQ(text_of(got[1], "b"), "x");
  EXPECT_EQ(text_of(got[0], "a"), "");
  EXPECT_EQ(number_of(got[1], "absent"), 0U);
}

TEST(Wire, RefusesInvalidBytes) {
  const auto refused = [](std::string body, bool prefix = true) {
    std::string bytes = prefix ? std::string{'\0', '\0', '\0', static_cast<char>(body.size())} + body : body;
    MessageReader reader;
    reader.feed(bytes.data(), bytes.size());
    return !reader.next();
  };
  EXPECT_TRUE(refused("\xff\xff\xff\xff", false));
  EXPECT_TRUE(refused("{\"a\""));
  EXPECT_TRUE(refused("[1]"));
  EXPECT_TRUE(refused(std::string(100, '[')));
}

}  // namespace
}  // namespace lockstep::bench
