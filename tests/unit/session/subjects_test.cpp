// The names that gates compare: parsing them back, and the path of their traffic.
#include "reconciler/session/subjects.hpp"

#include "tests/unit/measure/lab.hpp"

namespace lockstep {
namespace {

class Subjects : public testing::Test {
 protected:
  // The blast radius of a change to whole devices.
  BlastRadius changed(const std::set<std::string>& devices) const {
    const TouchedParts parts = pod.whole(devices);
    return {parts.devices, parts.cables};
  }
  bool crosses(const std::string& subject, const std::set<std::string>& devices) {
    return paths.cross(subject, changed(devices));
  }

  MeasuredCluster pod = MeasuredCluster::of_specs(LOCKSTEP_SOURCE_DIR "/examples/rail-pod");
  MeasureInput input = pod.input();
  SubjectPaths paths{input};
};

TEST_F(Subjects, SurviveParsing) {
  SuiteOutcome suite;
  suite.suite = &pod.suite();
  for (const Benchmark& benchmark : pod.suite().benchmarks) {
    BenchmarkOutcome outcome;
    outcome.benchmark = &benchmark;
    for (const bool of_a_group : {false, true}) {
      bench::Measurement one;
      if (of_a_group) {
        one.group = "rail0";
        one.bytes = 1048576;
      } else {
        one.from = "gpu1:rail0";
        one.to = "gpu2:rail1";
      }
      const auto read = parse_subject(subject_of(suite, outcome, benchmark.slo.front(), one));
      ASSERT_TRUE(read) << subject_of(suite, outcome, benchmark.slo.front(), one);
      EXPECT_EQ(read->pair.suite, "backend-slo");
      EXPECT_EQ(read->pair.benchmark, *benchmark.name);
      EXPECT_EQ(read->pair.from, one.from);
      EXPECT_EQ(read->pair.to, one.to);
    }
  }
}

TEST_F(Subjects, MalformedOnesCrossNothing) {
  for (const char* const text :
       {"", "/", "a/b", "a/b c", "backend-slo/pairs bandwidth min", ", ->", "a b, c/d"})
    EXPECT_FALSE(crosses(text, {"gpu1"})) << text;
}

TEST_F(Subjects, CrossEveryPossiblePath) {
  const std::string near = "backend-slo/pairs bandwidth min, gpu1:rail0 -> gpu2:rail0";
  EXPECT_TRUE(crosses(near, {"gpu1"}));
  EXPECT_TRUE(crosses(near, {"gpu2"}));
  EXPECT_TRUE(crosses(near, {"leaf0"}));
  EXPECT_FALSE(crosses(near, {"gpu3", "gpu4", "leaf1"}));
  const std::string far = "backend-slo/pairs bandwidth min, gpu1:rail0 -> gpu2:rail1";
  EXPECT_TRUE(crosses(far, {"spine1"}));
  EXPECT_TRUE(crosses(far, {"leaf1"}));
  EXPECT_FALSE(crosses(far, {"gpu3"}));
  EXPECT_FALSE(paths.cross(far, {})) << "nothing was changed";
  EXPECT_TRUE(crosses("backend-slo/allreduce busbw median, rail0 (1MiB)", {"gpu1"}));
}

TEST_F(Subjects, NoLongerMeasuredOnesCrossNothing) {
  for (const char* const gone : {"other/pairs bandwidth min, gpu1:rail0 -> gpu2:rail0",
                                 "backend-slo/other bandwidth min, gpu1:rail0 -> gpu2:rail0",
                                 "backend-slo/pairs bandwidth median, gpu1:rail0 -> gpu2:rail0",
                                 "backend-slo/pairs bandwidth min, gpu9:rail0 -> gpu1:rail0",
                                 "backend-slo/pairs bandwidth min, gpu1:rail0 -> gpu9:rail0"})
    EXPECT_FALSE(crosses(gone, {"gpu1"})) << gone;
}

}  // namespace
}  // namespace lockstep
