// `lockstep history`, `lockstep show` and `lockstep bench --compare`, on stored changes and runs.
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "reconciler/engine/plan.hpp"
#include "reconciler/session/opened_cluster.hpp"
#include "said.hpp"
#include "tests/unit/store/led_store.hpp"

namespace lockstep {
namespace {

class HistoryCommands : public testing::Test {
 protected:
  HistoryCommands() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-history-XXXXXX").string();
    top = mkdtemp(pattern.data());
    setenv("LOCKSTEP_STATE_DIR", (top + "/state").c_str(), 1);
    const Result<OpenedCluster> cluster = load_cluster({.specs = {pod}});
    if (!cluster) throw std::runtime_error(cluster.error().text());
    directory = state_directory(*cluster);
  }
  ~HistoryCommands() override {
    unsetenv("LOCKSTEP_STATE_DIR");
    std::filesystem::remove_all(top);
  }

  // Stores a change of gpu1 with its gate's measurements: gpu1's p99 before and after.
  void change(const std::string& author, double before, double after) const {
    const auto store = led(directory);
    History& history = store->history();
    const auto begun = history.begin(Plan{}, author, "lockstep apply");
    const auto path = *Path::parse("interface[rail0]/mtu");
    const std::string ticket = "t" + std::to_string(*begun);
    if (!history.ticket(*begun, {ticket, 1, "gpu1", "linux", {{path, {}, Value::integer(9000), 0}}}) ||
        !history.receipt(ticket, TicketState::kept, "as it was said") || !history.end(*begun, "kept"))
      throw std::runtime_error("no change");
    record(*store, RunPurpose::before, *begun, before);
    record(*store, RunPurpose::after, *begun, after);
  }
  void record(Store& store, RunPurpose purpose, std::uint64_t change, double p99) const {
    MeasuredRun run;
    run.head.purpose = purpose;
    run.head.change = change;
    run.head.under = purpose == RunPurpose::before ? change - 1 : change;
    run.head.at = "2027-01-15T08:00:00Z";
    run.head.verdict = "pass";
    RunFigure& one = run.figures.emplace_back();
    one.suite = "slo";
    one.benchmark = "trips";
    one.metric = Metric::latency;
    one.unit = "s";
    one.transport = "tcp";
    one.from = "gpu1:rail0";
    one.to = "gpu2:rail0";
    one.seen.count = 1000;
    one.seen.median = 1e-5;
    one.seen.percentiles[7] = p99;
    const auto turn = lock_for_measuring(directory, "test");
    if (!turn || !store.runs().record(*turn, run)) throw std::runtime_error("no run");
  }

  const std::string pod = LOCKSTEP_SOURCE_DIR "/examples/rail-pod";
  std::string top;
  std::string directory;
};

TEST_F(HistoryCommands, NameTheChangeThatMadeAFigureWorse) {
  change("ann", 20e-6, 20.1e-6);
  change("bob", 20e-6, 33e-6);
  change("eve", 33e-6, 32e-6);
  const Answer all = say({"history", pod});
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_NE(all.out.find("before 3 pass, after 4 pass"), std::string::npos) << all.out;
  EXPECT_LT(all.out.find("eve"), all.out.find("ann")) << "newest first";

  const std::vector<std::string> asked{"history",  pod,       "--of",        "gpu1",
                                       "--metric", "latency", "--statistic", "p99"};
  const Answer said = say(asked);
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_NE(said.out.find("latency p99 of gpu1\n"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("  worse: change 2 (kept, begun "), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("by bob: lockstep apply); slo/trips latency, gpu1:rail0 -> gpu2:rail0 20.0us -> "
                          "33.0us (1 of 1 figure)\n"),
            std::string::npos)
      << said.out;
  EXPECT_EQ(said.out.find("worse: change 1"), std::string::npos) << said.out;

  std::vector<std::string> words = asked;
  words.insert(words.end(), {"-o", "json"});
  const nlohmann::json document = nlohmann::json::parse(say(words).out, nullptr, false);
  ASSERT_EQ(document.value("kind", ""), "History");
  EXPECT_EQ(document["changes"][0]["devices"], nlohmann::json{"gpu1"});
  EXPECT_EQ(document["changes"][0]["runs"][1]["purpose"], "after");
  std::vector<std::uint64_t> worse;
  for (const nlohmann::json& point : document["series"][0]["points"])
    if (point["trend"] == "worse") worse = point["changes"].get<std::vector<std::uint64_t>>();
  EXPECT_EQ(worse, std::vector<std::uint64_t>{2});

  EXPECT_EQ(say({"history", pod, "--newest", "1"}).out.find("ann"), std::string::npos);
  const Answer median = say({"history", pod, "--of", "gpu1:rail0"});
  EXPECT_NE(median.out.find("nothing became worse by more than the noise measured and 5%"), std::string::npos)
      << median.out;
}

TEST_F(HistoryCommands, ShowWhatAChangeWroteAndWhatItsGateFound) {
  change("ann", 20e-6, 20e-6);
  const Answer said = say({"show", "1", pod});
  EXPECT_EQ(said.code, 0) << said.err;
  for (const char* const part :
       {"change 1 of ", ": kept\n", "by ann: lockstep apply", "interface[rail0]/mtu", "9000",
        "as it was said", "measured 2027-01-15T08:00:00Z: after 2 pass, 1 figure"})
    EXPECT_NE(said.out.find(part), std::string::npos) << part << ":\n" << said.out;
  const nlohmann::json document =
      nlohmann::json::parse(say({"show", "1", pod, "-o", "json"}).out, nullptr, false);
  EXPECT_EQ(document["writes"][0]["want"], 9000);
  EXPECT_TRUE(document["writes"][0]["was"].is_null());
  EXPECT_EQ(document["writes"][0]["state"], "kept");
}

TEST_F(HistoryCommands, RefuseUnknownChangesAndCreateNothing) {
  EXPECT_EQ(say({"history", pod}).code, 0);
  EXPECT_NE(say({"show", "3", pod}).err.find("there is no change 3: nothing was ever changed here"),
            std::string::npos);
  EXPECT_EQ(say({"history", pod, "--of", "gpu9"}).code, 1);
  EXPECT_NE(say({"history", pod, "--metric", "latency"}).err.find("--of"), std::string::npos);
  const Answer wrong = say({"history", pod, "--of", "gpu1", "--statistic", "p98"});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("'p98' is not one of "), std::string::npos) << wrong.err;
  EXPECT_FALSE(std::filesystem::exists(directory));
}

}  // namespace
}  // namespace lockstep
