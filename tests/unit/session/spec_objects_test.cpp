// The objects of a revision, against what the compiled intents say of each entry.
#include "reconciler/session/spec_objects.hpp"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "temporary_folder.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

constexpr const char* kMore = R"yaml(# A comment, and two objects in one file.
apiVersion: lockstep.dev/v1alpha1
kind: HostProfile
metadata: {name: training, labels: {team: ai}}
spec:
  selector: {names: "gpu[1-2]"}
  priority: 5
  sysctl: {net.ipv4.tcp_mtu_probing: 0, kernel.numa_balancing: 0}
  raw:
    - {driver: linux, set: {password: hunter2, other: [1, 2.5, true, "7"]}}
---
apiVersion: lockstep.dev/v1alpha1
kind: HostProfile
metadata: {name: everywhere}
spec:
  selector: {}
  sysctl: {kernel.numa_balancing: 1}
---
apiVersion: lockstep.dev/v1alpha1
kind: HostProfile
metadata: {name: nowhere}
spec:
  selector: {matchLabels: {pool: other}}
  sysctl: {kernel.numa_balancing: 1}
---
apiVersion: lockstep.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: careful}
spec: {selector: {names: "gpu1"}}
)yaml";

OpenedCluster opened(const std::string& folder) {
  Result<OpenedCluster> cluster = load_cluster({.specs = {folder}});
  if (!cluster) throw std::runtime_error(cluster.error().text());
  std::string wrong;
  for (const Diagnostic& one : cluster->diagnostics)
    if (one.severity == Severity::error) wrong += one.message + "\n";
  if (!wrong.empty()) throw std::runtime_error(wrong);
  return *std::move(cluster);
}

const SpecObject& object_called(const SpecObjects& all, const std::string& title) {
  for (const SpecObject& one : all.all)
    if (one.title() == title) return one;
  throw std::runtime_error("no " + title);
}

// By title and device: entries and claims, as `explain` finds their objects.
std::map<std::pair<std::string, std::string>, std::size_t> wanted(const OpenedCluster& cluster) {
  std::map<std::pair<std::string, std::string>, std::size_t> out;
  const Origins& origins = cluster.compiled.origins;
  for (const Intent& intent : cluster.compiled.intents) {
    for (const Entry& entry : intent.want.entries()) ++out[{origins[entry.origin].object, intent.device}];
    for (const Claim& claim : intent.claims) ++out[{origins[claim.origin].object, intent.device}];
  }
  return out;
}

void expect_places(const OpenedCluster& cluster) {
  const auto objects = spec_objects(cluster);
  auto want = wanted(cluster);
  std::erase_if(want, [](const auto& one) { return one.first.first.empty(); });  // of no object
  std::map<std::pair<std::string, std::string>, std::size_t> have;
  for (const SpecObject& one : objects->all) {
    std::size_t entries = 0;
    for (const SpecObject::Place& place : one.places) {
      have[{one.title(), objects->devices.at(place.device)}] = place.entries;
      entries += place.entries;
    }
    EXPECT_EQ(one.entries, entries) << one.title();
  }
  EXPECT_EQ(have, want);
}

class SpecObjectsOf : public testing::Test {
 protected:
  SpecObjectsOf() {
    folder_.write("specs/devices.yaml", devices);
    folder_.write("specs/more.yaml", kMore);
  }
  OpenedCluster open() { return opened(folder_.path() + "/specs"); }

  static constexpr const char* devices = R"yaml(apiVersion: lockstep.dev/v1alpha1
kind: Cluster
metadata: {name: lab}
spec: {mode: converge}
---
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: hosts, labels: {pool: lab}}
spec:
  names: gpu[1-3]
  role: host
  drivers: [linux]
  interfaces:
    - {name: rail0, platform: connectx-7, speed: 400Gbps}
)yaml";
  TemporaryFolder folder_;
};

TEST_F(SpecObjectsOf, AreOnTheDevicesWhereTheirEntriesAre) {
  expect_places(open());
  for (const char* const example : {"rail-pod", "one-host"})
    expect_places(opened(std::string(LOCKSTEP_SOURCE_DIR) + "/examples/" + example));
}

TEST_F(SpecObjectsOf, SayWhatGpusAreThereAndWhatTheyCost) {
  const auto none = spec_objects(open());
  EXPECT_FALSE(none->cost);
  EXPECT_EQ(none->gpus, (std::vector<std::uint32_t>{0, 0, 0}));
  std::string priced = devices;
  priced.replace(priced.find("{mode: converge}"), 16,
                 "{mode: converge, cost: {gpuHour: 2.50, currency: USD}}");
  folder_.write("specs/devices.yaml",
                priced +
                    "---\napiVersion: lockstep.dev/v1alpha1\nkind: HostProfile\n"
                    "metadata: {name: gpus}\nspec: {selector: {names: \"gpu[1-2]\"}, gpu: {count: 8}}\n");
  const auto objects = spec_objects(open());
  ASSERT_TRUE(objects->cost);
  EXPECT_EQ(objects->cost->gpu_hour, 2.5);
  EXPECT_EQ(objects->cost->currency, "USD");
  EXPECT_EQ(objects->gpus, (std::vector<std::uint32_t>{8, 8, 0}));
}

TEST_F(SpecObjectsOf, AreAsTheirAuthorsWroteThem) {
  const auto objects = spec_objects(open());
  const SpecObject& training = object_called(*objects, "HostProfile/training");
  EXPECT_EQ(training.labels, (std::map<std::string, std::string>{{"team", "ai"}}));
  EXPECT_TRUE(training.file.ends_with("more.yaml"));
  EXPECT_EQ(training.line, 2U);
  EXPECT_EQ(object_called(*objects, "RolloutPolicy/careful").line, 26U);
  const Json spec = Json::parse(training.spec);
  EXPECT_EQ(spec["priority"], 5);
  EXPECT_EQ(spec["sysctl"]["net.ipv4.tcp_mtu_probing"], 0);
  EXPECT_EQ(spec["selector"]["names"], "gpu[1-2]");
  EXPECT_EQ(training.spec.find("hunter2"), std::string::npos) << "what may be a secret";
}

TEST_F(SpecObjectsOf, SayWhatIsOverruledAndWhatIsNotUsed) {
  const auto objects = spec_objects(open());
  const SpecObject& everywhere = object_called(*objects, "HostProfile/everywhere");
  EXPECT_EQ(everywhere.overruled, 2U);
  ASSERT_EQ(everywhere.places.size(), 1U);
  EXPECT_EQ(objects->devices[everywhere.places[0].device], "gpu3");
  EXPECT_TRUE(object_called(*objects, "HostProfile/nowhere").places.empty());
  EXPECT_EQ(object_called(*objects, "RolloutPolicy/careful").governs, 1U);
}

TEST_F(SpecObjectsOf, LeaveOutASpecThatIsTooLarge) {
  std::string many =
      "apiVersion: lockstep.dev/v1alpha1\nkind: HostProfile\nmetadata: {name: many}\nspec:\n"
      "  selector: {matchLabels: {pool: other}}\n  sysctl:\n";
  for (std::size_t i = 0; i < kSpecNodesMost / 2; ++i)
    many += "    net.ipv4.conf.eth" + std::to_string(i) + ".mtu: 1\n";
  folder_.write("specs/many.yaml", many);
  const auto large = spec_objects(open());
  EXPECT_TRUE(object_called(*large, "HostProfile/many").spec.empty());
  folder_.write("specs/many.yaml", many + "    net.ipv4.conf.lo.mtu: 1\n");
  const auto other = spec_objects(open());
  EXPECT_NE(object_called(*large, "HostProfile/many").digest,
            object_called(*other, "HostProfile/many").digest);
}

}  // namespace
}  // namespace lockstep
