// `lockstep topology` with marks from reports, and `lockstep bench --report` before it measures.
#include <filesystem>
#include <fstream>

#include "said.hpp"

namespace lockstep {
namespace {

class TopologyCommand : public ::testing::Test {
 protected:
  TopologyCommand() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-topology-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~TopologyCommand() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& text) const {
    std::ofstream(folder_ + "/report.json") << text;
    return folder_ + "/report.json";
  }
  Answer drawn(const std::string& option, const std::string& path) const {
    return say({"topology", pod_, "-o", "svg", option, path});
  }

  const std::string pod_ = LOCKSTEP_SOURCE_DIR "/examples/rail-pod";
  std::string folder_;
};

TEST_F(TopologyCommand, MarksFindingsOfReports) {
  const Answer drift = drawn("--drift", file(R"({"kind": "DriftReport", "cluster": "rail-pod", "items":
      [{"device": "gpu1", "path": "interface[rail0]/mtu", "state": "drifted"}]})"));
  EXPECT_EQ(drift.code, 0) << drift.err;
  EXPECT_NE(drift.out.find("≠ drifted: 1 device, 1 link"), std::string::npos) << drift.out;
  const Answer bench = drawn("--bench", file(R"({"kind": "BenchmarkReport", "cluster": "rail-pod", "verdict":
      "fail", "suspects": [{"kind": "device", "name": "spine1", "rank": 0}]})"));
  EXPECT_EQ(bench.code, 0) << bench.err;
  EXPECT_NE(bench.out.find("! suspect: 1 device, 0 links"), std::string::npos) << bench.out;
}

TEST_F(TopologyCommand, RefusesUnusableReports) {
  const auto error = [&](const std::string& path) {
    const Answer said = drawn("--drift", path);
    EXPECT_EQ(said.code, 1);
    EXPECT_EQ(said.out, "");
    return said.err;
  };
  EXPECT_NE(error("/nowhere/at/all").find("error: can't read /nowhere/at/all: "), std::string::npos);
  const std::string name = folder_ + "/report.json: ";
  EXPECT_NE(error(file("{")).find(name), std::string::npos);
  EXPECT_NE(error(file("[]")).find(name + "no document of `lockstep drift -o json`"), std::string::npos);
  EXPECT_NE(error(file(R"({"kind": "DriftReport", "cluster": "big-pod"})"))
                .find(name + "made for another cluster: 'big-pod', not 'rail-pod'"),
            std::string::npos);
}

TEST_F(TopologyCommand, MarksRequireSvgOutput) {
  const Answer said = say({"topology", pod_, "--drift", file("{}")});
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.err.find("add -o svg"), std::string::npos) << said.err;
}

TEST_F(TopologyCommand, HelpHasTheOptions) {
  EXPECT_NE(say({"topology", "--help"}).out.find("--drift FILE.json"), std::string::npos);
  EXPECT_NE(say({"topology", "--help"}).out.find("--bench FILE.json"), std::string::npos);
  EXPECT_NE(say({"bench", "--help"}).out.find("--report FILE.html"), std::string::npos);
}

TEST_F(TopologyCommand, UnwritableReportIsRefusedBeforeTheBench) {
  // If the report were not checked first, the missing specs would be the error.
  for (const std::string& path : {folder_, folder_ + "/none/out.html"}) {
    const Answer said = say({"bench", "/nowhere/at/all", "--report", path});
    EXPECT_EQ(said.code, 1);
    EXPECT_NE(said.err.find("error: --report: " + path + ": "), std::string::npos) << said.err;
  }
  EXPECT_EQ(say({"bench", "/nowhere/at/all", "--report", folder_ + "/out.html"}).err.find("--report"),
            std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(folder_)) << "nothing is left of the attempt";
}

}  // namespace
}  // namespace lockstep
