// The picture of a fabric shows all devices and links of the specs once, at any size, and marks findings of
// reports.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reconciler/report/topology_fold.hpp"
#include "reconciler/report/topology_picture.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/language/load.hpp"
#include "tests/perf/fleet_spec.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

struct Cluster {
  Catalog catalog;
  Topology topology;
  std::string svg(const TopologyMarks& marks = {}) const {
    return topology_svg("a pod", catalog, topology, marks);
  }
};

Cluster cluster_of(Loaded loaded) {
  Topology topology = expand(loaded.catalog).topology;
  return {std::move(loaded.catalog), std::move(topology)};
}
Cluster example(const std::string& name) {
  return cluster_of(load({LOCKSTEP_SOURCE_DIR "/examples/" + name}));
}
Cluster fleet(const perf::FleetShape& shape) {
  return cluster_of(load_text("fleet.yaml", perf::fleet_spec(shape)));
}

std::vector<std::string> attributes(const std::string& svg, const std::string& name) {
  std::vector<std::string> out;
  const std::string begin = " " + name + "=\"";
  for (std::size_t at = svg.find(begin); at != std::string::npos; at = svg.find(begin, at)) {
    at += begin.size();
    out.push_back(svg.substr(at, svg.find('"', at) - at));
  }
  return out;
}

std::vector<std::string> devices_in(const std::string& svg) {
  std::vector<std::string> out;
  for (const std::string& hostlist : attributes(svg, "data-devices")) {
    const Result<std::vector<std::string>> names = expand_hostlist(hostlist);
    EXPECT_TRUE(names) << hostlist;
    if (names) out.insert(out.end(), names->begin(), names->end());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::size_t links_in(const std::string& svg) {
  std::size_t out = 0;
  for (const std::string& links : attributes(svg, "data-links")) out += std::stoul(links);
  return out;
}

void expect_whole(const Cluster& cluster) {
  std::vector<std::string> names;
  for (const TopologyDevice& device : cluster.topology.devices) names.push_back(device.name);
  std::sort(names.begin(), names.end());
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(devices_in(cluster.svg()), names);
  EXPECT_EQ(links_in(cluster.svg()), cluster.topology.links.size());
}

int height_of(const std::string& svg) { return std::stoi(attributes(svg, "height").at(0)); }

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(TopologySvg, HasEachDeviceAndEachLinkOnce) {
  for (const char* const name : {"rail-pod", "big-pod", "one-host"}) {
    SCOPED_TRACE(name);
    expect_whole(example(name));
  }
  for (const bool one_plane : {false, true}) {
    SCOPED_TRACE(one_plane);
    expect_whole(fleet({.hosts = 512, .roce = false, .one_plane = one_plane}));
  }
}

TEST(TopologySvg, Of512HostsFitsOneScreen) {
  for (const bool one_plane : {false, true}) {
    const std::string svg = fleet({.hosts = 512, .roce = false, .one_plane = one_plane}).svg();
    EXPECT_EQ(attributes(svg, "width").at(0), "1560");
    EXPECT_LE(height_of(svg), 1000);
    EXPECT_LE(svg.size(), 100'000U);
    EXPECT_LE(attributes(svg, "data-devices").size(), 48U) << "16 a row at most";
  }
}

TEST(TopologySvg, FoldsHostsThatAreCabledAlike) {
  const std::string big = example("big-pod").svg();
  EXPECT_TRUE(has(big, "data-devices=\"gpu[1-64]\"><title>gpu[1-64]: 64 hosts</title>")) << big;
  EXPECT_TRUE(has(big, "data-devices=\"leaf7\"")) << "switches that fit are drawn one by one";
  const std::string fleet_svg = fleet({.hosts = 512, .roce = false}).svg();
  EXPECT_TRUE(has(fleet_svg, "data-devices=\"gpu[65-128]\"")) << "not alike: other leaves";
  EXPECT_TRUE(has(fleet_svg, "data-devices=\"g[1-8]r0\"")) << "those of one rail";
}

TEST(TopologySvg, DrawsEachRailAndCountsParallelLinks) {
  const std::string svg = example("rail-pod").svg();
  EXPECT_TRUE(has(svg, "class=\"strand rail0\""));
  EXPECT_TRUE(has(svg, "class=\"strand rail1\""));
  EXPECT_TRUE(has(svg, ">4 lines of 1 link, 400Gbps each<")) << svg;
  EXPECT_TRUE(has(fleet({.hosts = 512, .roce = false}).svg(), ">128 lines of 32 links, 400Gbps each<") ||
              has(fleet({.hosts = 512, .roce = false}).svg(), ">16 lines of 256 links, 400Gbps each<"));
}

TEST(TopologySvg, IsTheSameEachTimeAndHasBothColourSchemes) {
  EXPECT_EQ(example("big-pod").svg(), example("big-pod").svg());
  EXPECT_TRUE(has(example("big-pod").svg(), "@media (prefers-color-scheme:dark)"));
}

TEST(TopologySvg, DrawsLinksWithinARow) {
  constexpr const char* kPeers = R"(apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: leaves}
spec: {names: "leaf[0-1]", role: leaf, drivers: [linux, frr]}
---
apiVersion: lockstep.dev/v1alpha1
kind: Fabric
metadata: {name: pair}
spec:
  role: backend
  topology: leaf-spine
  mtu: {host: 9000, fabric: 9216}
  cabling: [{from: "leaf0:peer[0-2]", to: "leaf1:peer[0-2]", by: pairs, speed: 100Gbps}]
)";
  const Cluster peers = cluster_of(load_text("peers.yaml", kPeers));
  ASSERT_EQ(peers.topology.links.size(), 3U);
  expect_whole(peers);
  EXPECT_TRUE(has(peers.svg(), "3 links within the row"));
}

TEST(PictureName, FoldsAnyNumberInTheNames) {
  EXPECT_EQ(picture_name({"g1r0", "g2r0", "g3r0"}), "g[1-3]r0");
  EXPECT_EQ(picture_name({"p0s1", "p0s2", "p1s1", "p1s2"}), "p[0-1]s[1-2]");
  EXPECT_EQ(picture_name({"g1r0", "g3r0"}), "g1r0,g3r0");
  EXPECT_EQ(picture_name({"gpu[1", "x"}), "gpu[1,x") << "whatever a name is";
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"a01b0", "a02b0"}, {"g9r0", "g10r0", "g11r0"}, {"p0s1", "p1s1", "p1s2"}})
    EXPECT_EQ(*expand_hostlist(picture_name(names)), names);
}

class Marked : public ::testing::Test {
 protected:
  Json item(const std::string& device, const std::string& path) const {
    return {{"device", device}, {"path", path}, {"state", "drifted"}};
  }
  std::string refused(const Json& document, bool of_bench = false) {
    const Result<Done> done = (of_bench ? mark_bench : mark_drift)(document, "pod", pod_.topology, marks_);
    return done ? "" : done.error().text();
  }

  const Cluster pod_ = example("rail-pod");
  TopologyMarks marks_;
  Json drift_{{"kind", "DriftReport"},
              {"cluster", "pod"},
              {"items", {item("gpu3", "interface[rail1]/mtu"), item("gpu3", "interface[rail1]/fec")}},
              {"unobserved", {{{"device", "spine1"}, {"why", "no answer"}}}}};
  Json bench_{{"kind", "BenchmarkReport"},
              {"cluster", "pod"},
              {"verdict", "fail"},
              {"benchmarks",
               {{{"name", "pairs"},
                 {"slo",
                  {{{"metric", "bandwidth"},
                    {"statistic", "min"},
                    {"want", ">= 85% of nominal"},
                    {"have", "41.0%"},
                    {"verdict", "fail"},
                    {"worst", "gpu1:rail0 -> gpu2:rail0"}}}},
                 {"measurements", {{{"from", "gpu1:rail0"}, {"to", "gpu2:rail0"}}}}}}},
              {"suspects",
               {{{"kind", "cable"}, {"name", "leaf0:up1 <-> spine1:down0"}, {"rank", 0}},
                {{"kind", "device"}, {"name", "leaf1"}, {"rank", 7}}}}};
};

TEST_F(Marked, ColoursAndCountsWhatDrifted) {
  ASSERT_EQ(refused(drift_), "");
  const std::string svg = pod_.svg(marks_);
  EXPECT_TRUE(has(svg, "≠ drifted: 1 device, 1 link")) << svg;
  EXPECT_TRUE(has(svg, "? unobserved: 1 device, 0 links")) << svg;
  EXPECT_TRUE(has(svg, "gpu3; gpu3:rail1 - leaf1:swp3")) << svg;
  EXPECT_TRUE(has(svg, "class=\"strand drifted-line\"")) << svg;
  EXPECT_TRUE(has(svg, "class=\"box drifted-line marked\"")) << svg;
  EXPECT_TRUE(has(svg, ">≠ drifted</text>")) << "not by colour alone";
  EXPECT_FALSE(has(svg, "failed:")) << "no bench was given";
  EXPECT_EQ(links_in(svg), pod_.topology.links.size()) << "a marked link is no second one";
}

TEST_F(Marked, WithoutDocumentsNothingIsColoured) {
  const std::string svg = pod_.svg();
  EXPECT_FALSE(has(svg, "marked\""));
  EXPECT_FALSE(has(svg, "drifted:"));
}

TEST_F(Marked, OnlyDifferencesAreMarked) {
  for (const char* const state : {"notApplied", "overruled", "unmanaged", "finding", "allowed"})
    drift_["items"].push_back({{"device", "gpu1"}, {"path", "x"}, {"state", state}});
  drift_["items"].push_back(item("gpu2", "interface[rail0]/mtu"));
  drift_["items"].back()["maintenance"] = "since Monday";
  ASSERT_EQ(refused(drift_), "");
  EXPECT_EQ(marks_.devices.size(), 2U) << "gpu3 and spine1";
  drift_["items"].push_back({{"device", "gpu1"}, {"path", "x"}, {"state", "notApplied"}, {"manual", true}});
  ASSERT_EQ(refused(drift_), "");
  EXPECT_TRUE(marks_.devices.contains(pod_.topology.find_device("gpu1")));
}

TEST_F(Marked, ColoursAndCountsWhatFailedAndWhatIsSuspected) {
  ASSERT_EQ(refused(bench_, true), "");
  const std::string svg = pod_.svg(marks_);
  EXPECT_TRUE(has(svg, "↓ worst pair: 2 devices, 2 links")) << svg;
  EXPECT_TRUE(has(svg, "! suspect: 0 devices, 1 link")) << svg;
  EXPECT_TRUE(has(svg, "bench: fail; 1 of 1 SLO failed")) << svg;
  EXPECT_TRUE(has(svg, "pairs: bandwidth min, desired &gt;= 85% of nominal, actual 41.0%")) << svg;
  EXPECT_FALSE(marks_.devices.contains(pod_.topology.find_device("leaf1"))) << "of too low a rank";
}

TEST_F(Marked, EndpointWithoutAWorkingPairHasFailed) {
  const auto pair = [](const char* from, const char* to, const char* trouble) {
    return Json{{"from", from}, {"to", to}, {"trouble", trouble}};
  };
  Json& pod = bench_["benchmarks"][0];
  pod["slo"] = Json::array();
  bench_["suspects"] = Json::array();
  pod["measurements"] = {pair("gpu1:rail0", "gpu2:rail0", "tool"), pair("gpu2:rail0", "gpu1:rail0", "none")};
  ASSERT_EQ(refused(bench_, true), "");
  EXPECT_TRUE(marks_.devices.empty());
  pod["measurements"].push_back(pair("gpu1:rail0", "gpu3:rail0", "path"));
  pod["measurements"].push_back(pair("gpu3:rail0", "gpu2:rail0", "wrong"));
  ASSERT_EQ(refused(bench_, true), "");
  const std::map<DeviceIndex, Marks> gpu3{{pod_.topology.find_device("gpu3"), {Mark::failed}}};
  EXPECT_EQ(marks_.devices, gpu3) << "gpu1 and gpu2 reach each other";
  EXPECT_EQ(marks_.links.size(), 1U);
}

TEST_F(Marked, SloWithoutAFigureShowsWhy) {
  Json& slo = bench_["benchmarks"][0]["slo"][0];
  slo["have"] = "";
  slo["reason"] = "no answer";
  ASSERT_EQ(refused(bench_, true), "");
  EXPECT_EQ(marks_.verdicts.at(1),
            "pairs: bandwidth min, desired >= 85% of nominal, no answer, worst gpu1:rail0 -> gpu2:rail0");
}

TEST_F(Marked, FoldedBoxCountsItsMarkedDevices) {
  const Cluster big = example("big-pod");
  drift_["items"] = {item("gpu3", "interface[rail1]/mtu"), item("gpu7", "interface[rail1]/mtu")};
  ASSERT_TRUE(
      mark_drift(Json{{"kind", "DriftReport"}, {"items", drift_["items"]}}, "", big.topology, marks_));
  const std::string svg = big.svg(marks_);
  EXPECT_TRUE(has(svg, "≠ 2 drifted</text>")) << svg;
  EXPECT_TRUE(has(svg, "gpu[3,7]; gpu3:rail1") || has(svg, "gpu3,gpu7; gpu3:rail1")) << svg;
}

TEST_F(Marked, RefusesDocumentsOfOtherKindsAndClusters) {
  EXPECT_NE(refused(bench_).find("no document of `lockstep drift -o json`"), std::string::npos);
  EXPECT_NE(refused(Json::array()).find("no document of"), std::string::npos);
  drift_["cluster"] = "other";
  EXPECT_EQ(refused(drift_), "made for another cluster: 'other', not 'pod'");
  drift_.erase("cluster");  // as older versions wrote it
  EXPECT_EQ(refused(drift_), "");
  drift_["items"].push_back(item("gpu99", "x"));
  EXPECT_EQ(refused(drift_), "made for another cluster: these specs have no device 'gpu99'");
  bench_["benchmarks"][0]["measurements"].push_back({{"from", "gpu98:rail0"}, {"to", "gpu1:rail0"}});
  EXPECT_EQ(refused(bench_, true), "made for another cluster: these specs have no device 'gpu98'");
}

TEST_F(Marked, SurvivesDocumentsOfAnyShape) {
  for (const Json& odd : {Json(nullptr), Json(1), Json("x"), Json::array({1, nullptr, {{"device", 3}}})})
    for (const char* const key : {"items", "unobserved", "benchmarks", "suspects"}) {
      Json document{{"kind", "DriftReport"}, {key, odd}};
      (void)refused(document);
      document["kind"] = "BenchmarkReport";
      (void)refused(document, true);
    }
}

}  // namespace
}  // namespace lockstep
