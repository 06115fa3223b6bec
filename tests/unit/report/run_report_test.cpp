// The comparison of a bench with an earlier run.
#include "reconciler/report/run_report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace lockstep {
namespace {

RunFigure bandwidth(const std::string& to, double rate) {
  RunFigure out;
  out.suite = "slo";
  out.benchmark = "pairs";
  out.transport = "tcp";
  out.unit = "bit/s";
  out.from = "gpu1:rail0";
  out.to = to;
  out.seen.count = 3;
  out.seen.median = rate;
  return out;
}

class RunReport : public ::testing::Test {
 protected:
  RunReport() {
    comparison_.then.number = 12;
    comparison_.then.at = "2026-11-21T10:05:26Z";
    comparison_.then.author = "ann";
    comparison_.then.verdict = "pass";
    add(bandwidth("gpu2:rail0", 9e8), bandwidth("gpu2:rail0", 9.1e8));
    add(bandwidth("gpu3:rail0", 9e8), bandwidth("gpu3:rail0", 4.5e8));
    RunFigure gone = bandwidth("gpu4:rail0", 0);
    gone.trouble = bench::Trouble::path;
    gone.why = "connect timed out";
    add(bandwidth("gpu4:rail0", 9e8), gone);
  }
  void add(const RunFigure& was, const RunFigure& now) {
    comparison_.figures.push_back({was, now, Statistic::median, trend(was, now, Statistic::median)});
  }
  RunComparison comparison_;
};

TEST_F(RunReport, ListsWorseFiguresFirst) {
  EXPECT_EQ(comparison_text(comparison_, Terminal{}),
            "compared with run 12 (bench 12 pass, 2026-11-21T10:05:26Z by ann)\n"
            "  under the same configuration, boots and versions\n"
            "  slo/pairs\n"
            "    between                   metric                 then                now  now/then\n"
            "    gpu1:rail0 -> gpu4:rail0  bandwidth median  900.0Mbps  connect timed out            worse\n"
            "    gpu1:rail0 -> gpu3:rail0  bandwidth median  900.0Mbps          450.0Mbps      0.50  worse\n"
            "    gpu1:rail0 -> gpu2:rail0  bandwidth median  900.0Mbps          910.0Mbps      1.01\n"
            "  2 of 3 figures worse, 0 better, by more than the noise measured and 5%\n");
  const nlohmann::json document = comparison_json(comparison_);
  EXPECT_EQ(document["worse"], 2);
  EXPECT_EQ(document["run"]["run"], 12);
  EXPECT_EQ(document["figures"][1]["ratio"], 0.5);
  EXPECT_EQ(document["figures"][1]["trend"], "worse");
  EXPECT_TRUE(document["figures"][2]["now"].is_null());
  EXPECT_EQ(document["figures"][2]["nowWhy"], "connect timed out");
}

TEST_F(RunReport, ReportsOtherDifferencesAndUnknowns) {
  comparison_.figures.clear();
  comparison_.differs = {{"configuration", "", "sha256:1", "sha256:2"},
                         {"boot", "gpu1", "a", "b"},
                         {"boot", "gpu2", "a", "c"},
                         {"boot", "gpu3", "", "b"},
                         {"transport", "slo/pairs", "tcp", "rdma"},
                         {"version", "", "", ""}};
  comparison_.only_then = {"slo/pairs bandwidth, a -> b"};
  EXPECT_EQ(comparison_text(comparison_, Terminal{}),
            "compared with run 12 (bench 12 pass, 2026-11-21T10:05:26Z by ann)\n"
            "  differs: configuration: sha256:1 then, sha256:2 now\n"
            "  differs: transport of slo/pairs: tcp then, rdma now\n"
            "  differs: boot of gpu[1-2]\n"
            "  not known: boot of gpu3\n"
            "  not known: version\n"
            "  only then: slo/pairs bandwidth, a -> b\n"
            "  0 of 0 figures worse, 0 better, by more than the noise measured and 5%\n");
}

TEST(ShownChangeReport, WritesAreInTheOrderOfTheirSteps) {
  ShownChange change;
  for (const std::uint32_t step : {3U, 1U, 2U}) {
    RecordedTicket one;
    one.ticket.step = step;
    one.ticket.device = "gpu" + std::to_string(step);
    one.ticket.changes = {{*Path::parse("interface[rail0]/mtu"), Value::integer(1500), Value::integer(9000)}};
    change.tickets.push_back(one);
  }
  const std::string text = change_text("pod", change, Terminal{});
  EXPECT_LT(text.find("gpu1"), text.find("gpu2")) << text;
  EXPECT_LT(text.find("gpu2"), text.find("gpu3")) << text;
  const nlohmann::json writes = change_json("pod", false, change)["writes"];
  for (std::size_t i = 0; i < writes.size(); ++i) EXPECT_EQ(writes[i]["step"], i + 1);
}

}  // namespace
}  // namespace lockstep
