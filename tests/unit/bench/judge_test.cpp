#include "bench/judge.hpp"

#include <gtest/gtest.h>

#include "bench/baseline.hpp"
#include "bench/suspects.hpp"

namespace lockstep::bench {
namespace {

Slo slo(Metric metric, Statistic statistic, bool at_least, Bound bound) {
  Slo made;
  made.metric = {metric, {}, true};
  made.statistic = {statistic, {}, true};
  (at_least ? made.at_least : made.at_most) = {bound, {}, true};
  return made;
}
Bound share_of(Bound::Of of, std::uint32_t percent) {
  Bound bound;
  bound.of = of;
  bound.ratio = {percent * 10'000};
  return bound;
}
Bound microseconds(int count) {
  Bound bound;
  bound.unit = Bound::Unit::time;
  bound.time = std::chrono::microseconds(count);
  return bound;
}

Measurement pair(const std::string& from, const std::string& to, std::vector<double> repeats) {
  Measurement made;
  made.from = from;
  made.to = to;
  made.nominal = 100;
  made.seen.samples = std::move(repeats);
  return made;
}

const Slo bandwidth90 = slo(Metric::bandwidth, Statistic::min, true, share_of(Bound::Of::nominal, 90));

TEST(Judge, TheWorstPairsMedianDecides) {
  // One bad repeat of three is noise; the pair whose median is bad is not.
  const std::vector<Measurement> all{pair("a", "b", {10, 97, 96}), pair("b", "c", {95, 94, 99}),
                                     pair("c", "a", {99, 99, 99})};
  SloVerdict verdict = judge(bandwidth90, all);
  EXPECT_EQ(verdict.verdict, Verdict::pass);
  EXPECT_EQ(verdict.have, "95.0%");
  EXPECT_EQ(verdict.worst, "b -> c");
  EXPECT_EQ(verdict.want, ">= 90% of nominal");

  std::vector<Measurement> bad = all;
  bad[2].seen.samples = {50, 52, 99};
  verdict = judge(bandwidth90, bad);
  EXPECT_EQ(verdict.verdict, Verdict::fail);
  EXPECT_EQ(verdict.have, "52.0%");
  EXPECT_EQ(verdict.worst, "c -> a");
  EXPECT_EQ(verdict.violating, std::vector<std::size_t>{2});
}

TEST(Judge, ExactlyTheBoundHolds) {
  EXPECT_EQ(judge(bandwidth90, std::vector{pair("a", "b", {90, 90, 90})}).verdict, Verdict::pass);
}

TEST(Judge, TooFewRepeatsAreUnknown) {
  const SloVerdict verdict = judge(bandwidth90, std::vector{pair("a", "b", {99, 99})});
  EXPECT_EQ(verdict.verdict, Verdict::unknown);
  EXPECT_EQ(verdict.reason, "too few samples for min (2 of 3)");
}

TEST(Judge, CpuLimitedIsUnknownUnlessAnotherPairFailsForSure) {
  std::vector<Measurement> all{pair("a", "b", {50, 50, 50}), pair("b", "a", {95, 95, 95})};
  all[0].cpu_limited = true;
  all[0].cpu_reason = "a ran 99%";
  SloVerdict verdict = judge(bandwidth90, all);
  EXPECT_EQ(verdict.verdict, Verdict::unknown);
  EXPECT_EQ(verdict.reason, "cpu-limited: a ran 99%");
  all[1].seen.samples = {60, 60, 60};
  verdict = judge(bandwidth90, all);
  EXPECT_EQ(verdict.verdict, Verdict::fail);
  EXPECT_EQ(verdict.worst, "b -> a");
}

TEST(Judge, ABoundHeldDespiteCpuLimitsPasses) {
  std::vector<Measurement> all{pair("a", "b", {95, 95, 95})};
  all[0].cpu_limited = true;
  EXPECT_EQ(judge(bandwidth90, all).verdict, Verdict::pass);
}

TEST(Judge, AStallOnAStarvedMachineIsUnknown) {
  std::vector<Measurement> all{pair("a", "b", {95, 95, 95})};
  all[0].trouble = Trouble::path;
  all[0].error = "b: stalled in mid-stream after 9 bytes";
  EXPECT_EQ(judge(bandwidth90, all).verdict, Verdict::fail);
  all[0].cpu_limited = true;
  all[0].cpu_reason = "a ran 99%";
  const SloVerdict verdict = judge(bandwidth90, all);
  EXPECT_EQ(verdict.verdict, Verdict::unknown);
  EXPECT_EQ(verdict.reason, "cpu-limited: a ran 99%; b: stalled in mid-stream after 9 bytes");
}

TEST(Judge, TroubleIsAFailureOnlyWhereTheFabricIsToBlame) {
  struct Case {
    Trouble trouble;
    Verdict want;
  };
  for (const auto& [trouble, want] :
       {Case{Trouble::path, Verdict::fail}, Case{Trouble::wrong, Verdict::fail},
        Case{Trouble::transport, Verdict::unknown}, Case{Trouble::tool, Verdict::unknown},
        Case{Trouble::cancelled, Verdict::unknown}}) {
    std::vector<Measurement> all{pair("a", "b", {99, 99, 99}), pair("b", "a", {})};
    all[1].trouble = trouble;
    all[1].error = "connect refused";
    const SloVerdict verdict = judge(bandwidth90, all);
    EXPECT_EQ(verdict.verdict, want) << to_string(trouble);
    EXPECT_EQ(verdict.worst, "b -> a");
    EXPECT_FALSE(verdict.reason.empty());
  }
}

TEST(Judge, NothingMeasuredOrNothingNominalIsUnknown) {
  EXPECT_EQ(judge(bandwidth90, {}).verdict, Verdict::unknown);
  EXPECT_EQ(judge(bandwidth90, {}).reason, "nothing was measured");
  std::vector<Measurement> one{pair("a", "b", {1, 1, 1})};
  one[0].nominal.reset();
  EXPECT_EQ(judge(bandwidth90, one).verdict, Verdict::unknown);
}

TEST(Judge, ABaselineIsComparedByTheSameStatistic) {
  const Slo against = slo(Metric::bandwidth, Statistic::median, true, share_of(Bound::Of::baseline, 95));
  std::vector<Measurement> all{pair("a", "b", {94, 94, 94})};
  SloVerdict verdict = judge(against, all);
  EXPECT_EQ(verdict.verdict, Verdict::unknown);
  EXPECT_EQ(verdict.reason, "no baseline yet");
  all[0].accepted.emplace();
  all[0].accepted->samples = {100, 100, 100};
  verdict = judge(against, all);
  EXPECT_EQ(verdict.verdict, Verdict::fail);
  EXPECT_EQ(verdict.have, "94.0%");
}

TEST(Judge, LatencyTailsAreJudgedInTime) {
  Measurement one = pair("a", "b", {});
  one.metric = Metric::latency;
  one.seen.scale = 0.5e-9;
  one.seen.histogram.emplace();
  one.seen.histogram->record(20'000, 990);  // 10 us
  one.seen.histogram->record(40'000, 10);   // 20 us
  const Slo p99 = slo(Metric::latency, Statistic::p99, false, microseconds(12));
  EXPECT_EQ(judge(p99, std::vector{one}).verdict, Verdict::pass);
  one.seen.histogram->record(40'000, 10);
  const SloVerdict verdict = judge(p99, std::vector{one});
  EXPECT_EQ(verdict.verdict, Verdict::fail);
  EXPECT_EQ(verdict.have, "20.0us");
  const Slo p999 = slo(Metric::latency, Statistic::p999, false, microseconds(12));
  EXPECT_EQ(judge(p999, std::vector{one}).verdict, Verdict::unknown) << "1010 of 3000 samples";
}

TEST(Judge, TheWorstGroupAndSizeAreJudged) {
  std::vector<Measurement> all;
  for (const double skew : {0.01, 0.09}) {
    Measurement one;
    one.metric = Metric::step_skew;
    one.group = "rail0";
    one.bytes = skew > 0.05 ? 1024 : 4096;
    one.seen.samples.assign(300, skew);
    all.push_back(one);
  }
  const Slo skew = slo(Metric::step_skew, Statistic::p99, false, share_of(Bound::Of::absolute, 5));
  const SloVerdict verdict = judge(skew, all);
  EXPECT_EQ(verdict.verdict, Verdict::fail);
  EXPECT_EQ(verdict.worst, "rail0 (1KiB)");
  EXPECT_EQ(verdict.have, "9.0%");
}

TEST(Judge, AggregatesPutFailureFirstAndStrictFailsTheUnknown) {
  using V = Verdict;
  EXPECT_EQ(all_of(std::vector<V>{}), V::pass);
  EXPECT_EQ(all_of(std::vector{V::pass, V::unknown}), V::unknown);
  EXPECT_EQ(all_of(std::vector{V::unknown, V::fail, V::pass}), V::fail);
  EXPECT_EQ(strict(V::unknown), V::fail);
  EXPECT_EQ(strict(V::pass), V::pass);
}

TEST(Suspects, TheLinkThatAllSlowPairsShareComesFirst) {
  std::vector<Measurement> all;
  const auto add = [&](const char* from, const char* to, std::vector<std::string> links) {
    all.push_back(pair(from, to, {}));
    for (std::string& link : links) all.back().links.push_back({std::move(link), 1});
  };
  add("gpu1:rail0", "gpu2:rail0", {"up1", "down2"});
  add("gpu2:rail0", "gpu1:rail0", {"up2", "down1"});
  add("gpu1:rail0", "gpu3:rail1", {"up1", "spine", "down3"});
  add("gpu2:rail0", "gpu4:rail1", {"up2", "spine", "down4"});
  add("gpu3:rail1", "gpu4:rail1", {"up3", "down4"});
  const std::vector<std::size_t> slow{2, 3};
  const auto found = suspects(all, slow);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].name, "spine");
  EXPECT_EQ(found[0].slow, 2U);
  for (const Suspect& one : found) EXPECT_NE(one.name, "up1") << "it carries a healthy pair as well";
}

TEST(Suspects, AHostThatReceivesSlowlyIsNamedAsReceiver) {
  std::vector<Measurement> all;
  std::vector<std::size_t> slow;
  for (const char* from : {"g1:r", "g2:r", "g3:r", "g4:r"})
    for (const char* to : {"g1:r", "g2:r", "g3:r", "g4:r"}) {
      if (std::string_view(from) == to) continue;
      if (std::string_view(to) == "g3:r") slow.push_back(all.size());
      all.push_back(pair(from, to, {}));
    }
  const auto found = suspects(all, slow);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].name, "g3:r receiving");
}

// Two leaves of two hosts, two spines, per-flow hashing: a flow from leaf to leaf crosses one spine.
struct TwoLeaves {
  TwoLeaves() {
    for (const std::string from : {"h0", "h1", "h2", "h3"})
      for (const std::string to : {"h0", "h1", "h2", "h3"})
        if (from != to) add(from, to);
  }
  static std::string leaf_of(const std::string& host) { return host < "h2" ? "l0" : "l1"; }
  void add(const std::string& from, const std::string& to) {
    Measurement one = pair((from + ":r").c_str(), (to + ":r").c_str(), {});
    const std::string a = leaf_of(from);
    const std::string b = leaf_of(to);
    one.links.push_back({from + ":r -> " + a + ":" + from, 1});
    if (a != b)
      for (const std::string spine : {"s0", "s1"}) {
        one.links.push_back({a + ":" + spine + " -> " + spine + ":" + a, 0.5});
        one.links.push_back({spine + ":" + b + " -> " + b + ":" + spine, 0.5});
      }
    one.links.push_back({b + ":" + to + " -> " + to + ":r", 1});
    // Simulates a hash: every other pair takes s0.
    if (a == "l0" && b == "l1") (across++ % 2 == 0 ? by_s0 : by_s1).push_back(all.size());
    all.push_back(std::move(one));
  }
  std::vector<Measurement> all;
  std::vector<std::size_t> by_s0;
  std::vector<std::size_t> by_s1;
  int across = 0;
};

TEST(Suspects, SuspectsAnUplinkThatSlowPairsMayHaveCrossedAndNoHost) {
  const TwoLeaves pod;
  ASSERT_EQ(pod.by_s0.size(), 2U);
  const auto found = suspects(pod.all, pod.by_s0);
  ASSERT_FALSE(found.empty());
  EXPECT_TRUE(std::any_of(found.begin(), found.end(),
                          [](const Suspect& one) { return one.name == "l0:s0 -> s0:l0" && one.rank == 0; }));
  for (const Suspect& one : found) {
    EXPECT_EQ(one.rank, 0U) << one.name;
    EXPECT_EQ(one.name.find('h'), std::string::npos) << one.name;
  }
}

TEST(Suspects, FindsTwoFaultsInOrder) {
  TwoLeaves pod;
  std::vector<std::size_t> slow;
  for (std::size_t i = 0; i < pod.all.size(); ++i)
    if (pod.all[i].to == "h1:r" || pod.all[i].from == "h2:r") slow.push_back(i);
  const auto found = suspects(pod.all, slow);
  const auto rank_of = [&found](std::string_view name) -> std::optional<std::size_t> {
    for (const Suspect& one : found)
      if (one.name == name) return one.rank;
    return std::nullopt;
  };
  EXPECT_TRUE(rank_of("l0:h1 -> h1:r"));
  EXPECT_TRUE(rank_of("h2:r -> l1:h2"));
  EXPECT_FALSE(rank_of("h3:r -> l1:h3"));
}

TEST(Suspects, ReportsASuspectOfTwoRunsOnceFromTheStrongerRun) {
  using Kind = Suspect::Kind;
  std::vector<Suspect> all{{Kind::cable, "a <-> b", 0, 1, 3}, {Kind::device, "d", 1, 1, 3}};
  join(all, {{Kind::cable, "a <-> b", 0, 2, 2}, {Kind::device, "b", 0, 2, 4}, {Kind::device, "d", 0, 2, 5}});
  std::vector<std::string> told;
  for (const Suspect& one : all) {
    told.push_back(one.name);
    EXPECT_EQ(one.rank, 0U) << one.name;
  }
  EXPECT_EQ(told, (std::vector<std::string>{"a <-> b", "d", "b"}));
  EXPECT_EQ(all[0].slow, 1U) << "as it was first told";
  EXPECT_EQ(all[1].slow, 2U) << "by the run that suspects it more";
}

TEST(Suspects, NoneWhereAllOrNoneAreSlow) {
  const std::vector<Measurement> all{pair("a", "b", {}), pair("b", "a", {})};
  EXPECT_TRUE(suspects(all, {}).empty());
  EXPECT_TRUE(suspects(all, std::vector<std::size_t>{0, 1}).empty());
}

TEST(Baseline, RoundTrips) {
  std::vector<Measurement> all{pair("a", "b", {1.5, 2.25, 1e9}), pair("b", "a", {})};
  all[0].config_hash = "sha256:1";
  all[1].metric = Metric::latency;
  all[1].seen.scale = 0.5e-9;
  all[1].seen.histogram.emplace();
  all[1].seen.histogram->record(12345, 7);
  all.push_back(pair("c", "a", {1, 1, 1}));
  all[2].cpu_limited = true;
  all.push_back(pair("c", "b", {}));
  all[3].trouble = Trouble::path;
  Baseline baseline;
  baseline.config_hash = "sha256:1";
  for (const Measurement& one : all)
    if (why_no_entry(one).empty()) baseline.entries[baseline_key(one)] = entry_of(one);
  EXPECT_EQ(baseline.entries.size(), 2U) << "neither a limited nor a failed measurement becomes an entry";
  const auto again = read_baseline(write_baseline(baseline));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(*again, baseline);
  attach(*again, all);
  EXPECT_EQ(all[0].accepted, all[0].seen);
  EXPECT_EQ(all[1].accepted, all[1].seen);
  EXPECT_FALSE(all[2].accepted);
}

TEST(Baseline, AnotherTransportIsNotComparable) {
  std::vector<Measurement> all{pair("a", "b", {1, 1, 1})};
  Baseline baseline;
  baseline.entries[baseline_key(all[0])] = entry_of(all[0]);
  all[0].transport = "rdma";
  attach(baseline, all);
  EXPECT_FALSE(all[0].accepted);
}

// From any benchmark and between any ends, but not over more links, with another size or transport.
TEST(Baseline, ACohortContainsComparableMeasurements) {
  Baseline set;
  for (const double rate : {90.0, 95.0, 100.0}) {
    Measurement one = pair("a", "b" + std::to_string(rate), {rate, rate, rate});
    one.nominal = 100;
    one.links = {{"x", 1}, {"y", 0.5}, {"z", 0.5}};
    set.entries[baseline_key(one)] = entry_of(one);
  }
  const Cohorts cohorts(std::vector{set});
  Measurement renamed = pair("new", "b", {800, 800, 800});
  renamed.benchmark = "renamed";
  renamed.nominal = 1000;
  renamed.links = {{"p", 1}, {"q", 1}};
  const std::optional<InCohort> found = cohorts.find(renamed);
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->figure, 0.8);
  EXPECT_DOUBLE_EQ(found->median, 0.95);
  const auto without = [&cohorts, &renamed](auto change) {
    Measurement other = renamed;
    change(other);
    return !cohorts.find(other);
  };
  EXPECT_TRUE(without([](Measurement& one) { one.links.push_back({"r", 1}); }));
  EXPECT_TRUE(without([](Measurement& one) { one.transport = "rdma"; }));
  EXPECT_TRUE(without([](Measurement& one) { one.bytes = 8; }));
  EXPECT_TRUE(without([](Measurement& one) { one.nominal.reset(); }));
  EXPECT_TRUE(without([](Measurement& one) { one.seen.samples.clear(); }));
}

TEST(Baseline, RefusesInvalidBaselinesWithAReason) {
  for (
      const char* text :
      {"", "[]", "{}", R"({"kind":"Baseline"})", R"({"kind":"Baseline","version":2,"entries":{}})",
       R"({"kind":"Baseline","version":1,"entries":[]})",
       R"({"kind":"Baseline","version":1,"entries":{"a":{}}})",
       R"({"kind":"Baseline","version":1,"entries":{"a":{"samples":["x"]}}})",
       R"({"kind":"Baseline","version":1,"entries":{"a":{"samples":[1e999]}}})",
       R"({"kind":"Baseline","version":1,"entries":{"a":{"samples":[1],"nominal":"x"}}})",
       R"({"kind":"Baseline","version":1,"entries":{"a":{"samples":[1],"hops":-1}}})",
       R"({"kind":"Baseline","version":1,"entries":{"a":{"buckets":[[1]],"min":1,"max":1,"sum":1,"scale":1}}})",
       R"({"kind":"Baseline","version":1,"entries":{"a":{"buckets":[[-1,2]],"min":1,"max":1,"sum":1,"scale":1}}})"}) {
    const auto read = read_baseline(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().what.find("baseline: "), 0U) << read.error().what;
  }
}

}  // namespace
}  // namespace lockstep::bench
