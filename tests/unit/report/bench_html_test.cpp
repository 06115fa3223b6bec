// The HTML page of a bench: the figures of bench -o json, charts, and no external references.
#include "reconciler/report/bench_html.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reconciler/report/bench_charts.hpp"
#include "reconciler/report/bench_report.hpp"
#include "reconciler/report/escape.hpp"
#include "tests/said.hpp"

namespace lockstep {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t out = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
    ++out;
  return out;
}

bench::Measurement rate(const std::string& from, const std::string& to, double share) {
  bench::Measurement out;
  out.from = from;
  out.to = to;
  out.nominal = 1e9;
  out.value = share * 1e9;
  out.seen.samples = {out.value * 0.99, out.value, out.value * 1.01};
  return out;
}

bench::Measurement delay(const std::string& from, const std::string& to, double seconds) {
  bench::Measurement out = rate(from, to, 0);
  out.metric = Metric::latency;
  out.unit = "s";
  out.nominal.reset();
  out.value = seconds;
  out.seen.samples = {seconds, seconds * 2};
  return out;
}

class BenchHtml : public ::testing::Test {
 protected:
  BenchHtml() {
    suite_.metadata.name.value = "slo";
    pairs_.name.value = "pairs";
    pairs_.workload.value = Workload::stream;
    Bound share;
    share.of = Bound::Of::nominal;
    share.ratio = {850'000};
    Slo slo;
    slo.metric = said(Metric::bandwidth);
    slo.statistic = said(Statistic::min);
    slo.at_least = said(share);
    pairs_.slo = {slo};
    times_.name.value = "latency";
    times_.workload.value = Workload::request_response;
    Bound most;
    most.unit = Bound::Unit::time;
    most.time = std::chrono::microseconds(20);
    Slo time;
    time.metric = said(Metric::latency);
    time.statistic = said(Statistic::p99);
    time.at_most = said(most);
    times_.slo = {time};
    outcomes_.emplace_back().suite = &suite_;
    add(pairs_, {rate("gpu1:rail0", "gpu2:rail0", 0.96), rate("gpu2:rail0", "gpu1:rail0", 0.41)});
    add(times_, {delay("gpu1:rail0", "gpu2:rail0", 1e-5), delay("gpu2:rail0", "gpu1:rail0", 4e-5)});
    outcomes_[0].verdict = bench::Verdict::fail;
    outcomes_[0].suspects.push_back({bench::Suspect::Kind::cable, "leaf0:up0 <-> spine0:down0", 0, 3, 4});
  }
  void add(const Benchmark& benchmark, std::vector<bench::Measurement> measurements) {
    BenchmarkOutcome& out = outcomes_[0].benchmarks.emplace_back();
    out.benchmark = &benchmark;
    out.transport = "tcp";
    out.measurements = std::move(measurements);
    out.verdict = bench::judge(benchmark, out.measurements);
  }
  std::string page() const { return bench_html(outcomes_, facts_, {}); }

  ValidationSuite suite_;
  Benchmark pairs_;
  Benchmark times_;
  std::vector<SuiteOutcome> outcomes_;
  BenchFacts facts_{"pod", true, "2026-11-21T10:05:26Z", "ann", "1.0", "as run 12", "sha256:0", false};
};

TEST_F(BenchHtml, HasEverySloOfTheJsonDocument) {
  const std::string html = page();
  std::size_t slos = 0;
  const nlohmann::json document = bench_json(outcomes_, "sha256:0");
  for (const nlohmann::json& benchmark : document["benchmarks"])
    for (const nlohmann::json& slo : benchmark["slo"]) {
      ++slos;
      const auto cell = [&](const char* key, const char* style = "") {
        return "<td" + std::string(style) + ">" + xml_text(slo[key].get<std::string>()) + "</td>";
      };
      EXPECT_TRUE(has(html, cell("want") + cell("have", " class=\"number\"") + cell("worst"))) << slo << html;
      EXPECT_TRUE(has(html, " " + slo["verdict"].get<std::string>() + "</span>")) << slo;
    }
  EXPECT_EQ(slos, 2U);
  EXPECT_TRUE(has(html, "41.0%")) << "the worst pair's";
  EXPECT_TRUE(has(html, "0 of 2 SLOs hold")) << html;
}

TEST_F(BenchHtml, ShowsWhatWasMeasuredWhenAndWhere) {
  const std::string html = page();
  for (const char* const part :
       {"Bench of pod: <span class=\"fail\">× fail</span>", "2026-11-21T10:05:26Z",
        "the twin on this machine", "as run 12", "sha256:0", "leaf0:up0 &lt;-&gt; spine0:down0", "3 of 4"})
    EXPECT_TRUE(has(html, part)) << part << html;
  facts_.twin = false;
  facts_.stopped = true;
  EXPECT_TRUE(has(page(), "the real devices"));
  EXPECT_TRUE(has(page(), "stopped while measuring"));
}

TEST_F(BenchHtml, HasNoExternalReferences) {
  const std::string html = page();
  for (const char* const part : {"<script", "http:", "https:", "src=", "href=", "@import", "url("})
    EXPECT_FALSE(has(html, part)) << part;
  EXPECT_EQ(count(html, "prefers-color-scheme:dark"), 2U) << "of the page and of its charts";
  EXPECT_EQ(page(), html) << "the same each time";
}

TEST_F(BenchHtml, HasAHeatMapOfEachBenchmarkOfPairs) {
  const std::string html = page();
  EXPECT_TRUE(has(html, "<title>gpu1:rail0 -&gt; gpu2:rail0: 96%</title>") ||
              has(html, "<title>gpu1:rail0 -> gpu2:rail0: 96%</title>"))
      << html;
  EXPECT_TRUE(has(html, ": 41%</title>"));
  EXPECT_TRUE(has(html, ": 40us</title>"));
  EXPECT_TRUE(has(html, "within the SLO's bound")) << "20us are";
  EXPECT_TRUE(has(html, "85% and more")) << "the SLO's bound";
}

TEST_F(BenchHtml, HistogramShowsNominalSloAndBaseline) {
  EXPECT_TRUE(has(page(), "nominal 1.0Gbps"));
  EXPECT_TRUE(has(page(), "SLO: min &gt;= 85% of nominal"));
  EXPECT_FALSE(has(page(), "class=\"outline"));
  EXPECT_TRUE(has(page(), "no baseline is accepted"));
  outcomes_[0].benchmarks[0].measurements[0].accepted.emplace().samples = {9e8, 9.1e8};
  EXPECT_EQ(count(page(), "class=\"outline"), 1U);
  EXPECT_TRUE(has(page(), "outline: the accepted baseline"));
}

TEST_F(BenchHtml, LatencyHistogramIsDrawn) {
  bench::Histogram seen;
  seen.record(10'000, 500);
  bench::Distribution& kept = outcomes_[0].benchmarks[1].measurements[0].seen;
  kept.samples.clear();
  kept.histogram = seen;
  kept.scale = 1e-9;
  EXPECT_TRUE(has(histogram_svg(outcomes_[0].benchmarks[1], Metric::latency), "class=\"bar\""));
  outcomes_[0].benchmarks[1].measurements.clear();
  EXPECT_EQ(histogram_svg(outcomes_[0].benchmarks[1], Metric::latency), "");
}

TEST_F(BenchHtml, ManyEndpointsAreFoldedByTheWorstPair) {
  std::vector<bench::Measurement>& all = outcomes_[0].benchmarks[0].measurements;
  all.clear();
  for (int from = 0; from < 200; ++from)
    for (int to = 0; to < 200; to += 7)
      all.push_back(rate("gpu" + std::to_string(from), "gpu" + std::to_string(to), 0.95));
  all.back().value = 2e8;
  const HeatMap map = folded(heat_map_of(outcomes_[0].benchmarks[0]), kHeatNamesMost);
  ASSERT_EQ(map.names.size(), 50U);
  EXPECT_EQ(map.names[0], "gpu0 .. gpu3") << "gpu10 comes later";
  EXPECT_DOUBLE_EQ(map.cells[49][49].share, 0.2);
  EXPECT_TRUE(has(page(), "200 endpoints in 50 groups: each cell is its worst pair"));
  EXPECT_LE(page().size(), 150'000U);
}

TEST_F(BenchHtml, FailedPairIsTheWorstOfItsGroup) {
  HeatMap map;
  map.names = {"a", "b"};
  map.cells = {{{HeatCell::State::measured, 0.1, 10}, {HeatCell::State::failed, 0, 0}},
               {{HeatCell::State::not_measured, 0, 0}, {HeatCell::State::unknown, 0.05, 5}}};
  EXPECT_EQ(folded(map, 1).cells[0][0].state, HeatCell::State::failed);
  map.cells[0][1].state = HeatCell::State::not_measured;
  EXPECT_DOUBLE_EQ(folded(map, 1).cells[0][0].share, 0.1) << "what is known goes before what is not";
}

}  // namespace
}  // namespace lockstep
