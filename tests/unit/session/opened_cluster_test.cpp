// Loading specs without a console: errors are returned, nothing is printed.
#include "reconciler/session/opened_cluster.hpp"

#include <gtest/gtest.h>

#include "temporary_folder.hpp"

namespace lockstep {
namespace {

class LoadedSpecs : public testing::Test {
 protected:
  Result<OpenedCluster> load(const std::string& text, bool twin = false) {
    folder.write("specs.yaml", text);
    ClusterSource source;
    source.specs = {folder.path()};
    source.twin = twin;
    source.link_rate = link_rate;
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Result<OpenedCluster> cluster = load_cluster(source);
    EXPECT_EQ(testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr(), "");
    return cluster;
  }

  const std::string lab = "apiVersion: lockstep.dev/v1alpha1\nkind: Cluster\nmetadata: {name: lab}\n";
  const std::string observing = lab + "spec: {mode: observe}\n";
  std::string link_rate;
  TemporaryFolder folder;
};

TEST_F(LoadedSpecs, AreNamedAfterTheirClusterObject) {
  const auto cluster = load(observing);
  ASSERT_TRUE(cluster) << cluster.error().text();
  EXPECT_TRUE(cluster->valid());
  EXPECT_EQ(cluster->name, "lab");
  EXPECT_EQ(cluster->title(), "lab");
  EXPECT_EQ(cluster->folder, std::filesystem::canonical(folder.path()).string());
  EXPECT_FALSE(has_devices(*cluster));
}

TEST_F(LoadedSpecs, AreInvalidWithALocatedError) {
  const auto cluster = load(lab + "spec: {mode: sometimes}\n");
  ASSERT_TRUE(cluster) << cluster.error().text();
  EXPECT_FALSE(cluster->valid());
  ASSERT_EQ(cluster->diagnostics.size(), 1U);
  EXPECT_EQ(cluster->diagnostics.front().at.line, 4U);
  EXPECT_TRUE(
      cluster->catalog.sources.files[cluster->diagnostics.front().at.file].name.ends_with("specs.yaml"));
}

TEST_F(LoadedSpecs, UnsupportedSettingIsReportedByValidateOnly) {
  const auto cluster = load(
      "apiVersion: lockstep.dev/v1alpha1\nkind: DeviceSet\nmetadata: {name: hosts}\nspec: {names: gpu1, "
      "role: "
      "host, drivers: [linux], interfaces: [{name: rail0, platform: connectx-7}]}\n---\napiVersion: "
      "lockstep.dev/v1alpha1\nkind: HostProfile\nmetadata: {name: p}\nspec: {selector: {}, nic: {settings: "
      "{ATS_ENABLED: true}}}\n");
  ASSERT_TRUE(cluster) << cluster.error().text();
  EXPECT_TRUE(cluster->diagnostics.empty()) << "no plan tells it again";
  ASSERT_EQ(cluster->without_effect.size(), 1U);
  EXPECT_EQ(cluster->without_effect[0].message,
            "setting ATS_ENABLED of NIC platform connectx-7 can't be set by Lockstep");
}

TEST_F(LoadedSpecs, RefuseALinkRateOfZero) {
  link_rate = "0bps";
  const auto cluster = load(observing, true);
  ASSERT_FALSE(cluster);
  EXPECT_EQ(cluster.error().kind, ErrorKind::invalid_spec);
  EXPECT_EQ(cluster.error().text(), "a link rate of 0bps carries nothing");
  EXPECT_TRUE(load(observing, false)) << "a link rate is the twin's";
}

}  // namespace
}  // namespace lockstep
