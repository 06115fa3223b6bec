#include "reconciler/report/report_places.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace lockstep {
namespace {

namespace fs = std::filesystem;

TEST(ReportPlaces, FileIsNamedRelativeToItsRepository) {
  std::string pattern = (fs::temp_directory_path() / "lockstep-places-XXXXXX").string();
  const fs::path top = mkdtemp(pattern.data());
  fs::create_directories(top / "pods/a");
  std::ofstream(top / "pods/a/fabric.yaml") << "\n";
  EXPECT_EQ(in_repository((top / "pods/./a/fabric.yaml").string()), (top / "pods/a/fabric.yaml").string());
  fs::create_directory(top / ".git");
  EXPECT_EQ(in_repository((top / "pods/./a/fabric.yaml").string()), "pods/a/fabric.yaml");
  EXPECT_EQ(in_repository((top / "pods/b/../a/fabric.yaml").string()), "pods/a/fabric.yaml");
  EXPECT_EQ(in_repository((top / "pods").string()), "pods");
  EXPECT_EQ(in_repository(top.string()), ".");
  fs::remove_all(top);
}

TEST(ReportPlaces, NonFileKeepsItsName) {
  EXPECT_EQ(in_repository("<stdin>"), "<stdin>");
  EXPECT_EQ(in_repository("./gone.yaml"), "gone.yaml");
}

TEST(ReportPlaces, UnobservedDeviceHasALine) {
  const Result<OpenedCluster> cluster = load_cluster({.specs = {LOCKSTEP_SOURCE_DIR "/examples/rail-pod"}});
  ASSERT_TRUE(cluster && cluster->valid());
  DriftReport report;
  report.unobserved.push_back({"gpu1", "", "no answer"});
  report.unobserved.push_back({"gpu1", "interface[rail0]/mtu", "no answer"});
  DriftEntry restored;  // no spec line wants it any more
  restored.device = "gpu1";
  report.items = {restored};
  place_in_specs(report, *cluster);
  EXPECT_TRUE(report.items[0].origin.file.ends_with("devices.yaml")) << report.items[0].origin.file;
  EXPECT_GT(report.items[0].origin.line, 0U);
  EXPECT_TRUE(report.unobserved[0].origin.file.ends_with("devices.yaml")) << report.unobserved[0].origin.file;
  EXPECT_GT(report.unobserved[0].origin.line, 0U);
  EXPECT_TRUE(report.unobserved[1].origin.file.ends_with("fabric.yaml")) << report.unobserved[1].origin.file;
  EXPECT_EQ(report.unobserved[1].origin.rule, "mtu.host");
}

}  // namespace
}  // namespace lockstep
