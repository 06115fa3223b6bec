// A twin's numbers are as stable as those of the real cluster. The oracle is the real cluster: the same specs
// with the same history, whose applies keep the numbers in allocations.lock.
#include "reconciler/session/numbers.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "lab.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

// Hosts with a rail to each leaf switch, and every leaf switch connected to two spine switches.
constexpr const char* kPod = R"yaml(apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {{name: hosts, labels: {{pool: lab}}}}
spec:
  names: "{0}"
  role: host
  drivers: [sim]
  interfaces:
    - {{name: "{1}", platform: connectx-7, speed: 400Gbps}}
---
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {{name: leaves}}
spec: {{names: "{2}", role: leaf, platform: spectrum-4, drivers: [sim]}}
---
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {{name: spines}}
spec: {{names: "spine[0-1]", role: spine, platform: spectrum-4, drivers: [sim]}}
---
apiVersion: lockstep.dev/v1alpha1
kind: Fabric
metadata: {{name: backend}}
spec:
  role: backend
  topology: rail-optimized
  mtu: {{host: 9000, fabric: 9216}}
  cabling:
    - {{from: "{0}:{1}", to: "{2}:swp[1-{3}]", by: rail, cableLength: 5m}}
    - {{from: "{2}:up[0-1]", to: "spine[0-1]:down[0-{4}]", by: mesh, speed: 400Gbps, cableLength: 40m}}
  addressing: {{hosts: 10.64.0.0/16, hostLink: p2p, loopbacks: 10.255.0.0/24}}
  routing:
    protocol: bgp-unnumbered
    asn: {{leaf: 4200000000-4200009999, spine: 4200100000}}
)yaml";

class Numbers : public Lab {
 protected:
  Numbers() { ::setenv("LOCKSTEP_STATE_DIR", (folder.path() + "/states").c_str(), 1); }
  ~Numbers() override { ::unsetenv("LOCKSTEP_STATE_DIR"); }

  // Writes the specs of both clusters, which are equal and in separate folders.
  void ask_for(const std::string& hosts, const std::string& leaves) {
    const auto count = [](const std::string& list) { return expand_hostlist(list)->size(); };
    const std::string rails = fmt::format("rail[0-{}]", count(leaves) - 1);
    const std::string text = fmt::format(kPod, hosts, rails, leaves, count(hosts), count(leaves) - 1);
    for (const char* const place : {"/specs", "/twin"})
      folder.write(place + std::string("/devices.yaml"), text);
  }
  OpenedCluster twin(bool renumber = false) {
    ClusterSource source{.specs = {folder.path() + "/twin"}, .twin = true, .renumber = renumber};
    Result<OpenedCluster> cluster = load_cluster(source);
    if (!cluster || !cluster->valid()) throw std::runtime_error("the specs have errors");
    return *std::move(cluster);
  }
  OpenedCluster real() { return *load_cluster({.specs = {folder.path() + "/specs"}}); }
  // Stores what an apply to a twin stores before its first write.
  void keep(const OpenedCluster& cluster) {
    const auto store = open_store(state_directory(cluster));
    ASSERT_TRUE((*store)->leadership().take("test"));
    ASSERT_TRUE(keep_numbers(cluster, (*store)->blobs()));
  }
  static std::string numbers_of(const OpenedCluster& cluster) {
    std::string out;
    const Topology& topology = cluster.compiled.topology;
    const Allocation& given = cluster.compiled.allocation;
    for (DeviceIndex i = 0; i < topology.devices.size(); ++i)
      out += topology.devices[i].name + " " + given.router_id[i] + " " + std::to_string(given.asn[i]) + "\n";
    for (PortIndex i = 0; i < topology.ports.size(); ++i)
      if (given.port[i])
        out += topology.device_of(i) + " " + std::string(topology.ports[i].name) + " " +
               given.port[i]->text() + "\n";
    return out;
  }
};

TEST_F(Numbers, OfATwinEqualTheRealClusterWithTheSameHistory) {
  for (const auto& [hosts, leaves] :
       {std::pair("gpu[1-3]", "leaf[0-2]"), std::pair("gpu[1-3]", "leaf[0,2]"),
        std::pair("gpu[3-5]", "leaf[0,2]"), std::pair("gpu[0-5]", "leaf[0-3]")}) {
    ask_for(hosts, leaves);
    apply(open());
    keep(twin());
    EXPECT_EQ(numbers_of(twin()), numbers_of(real())) << hosts << " " << leaves;
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/twin/allocations.lock"));
  // The history matters: the same specs without it give other numbers.
  EXPECT_NE(numbers_of(twin(true)), numbers_of(twin()));
}

TEST_F(Numbers, OfATwinStartFromTheRealClusterAndThenDiverge) {
  ask_for("gpu[1-3]", "leaf[0-2]");
  apply(open());
  ask_for("gpu[1-3]", "leaf[0,2]");
  const std::string lock = folder.path() + "/twin/allocations.lock";
  std::filesystem::copy_file(folder.path() + "/specs/allocations.lock", lock);
  EXPECT_EQ(numbers_of(twin()), numbers_of(real()));
  keep(twin());
  std::filesystem::remove(lock);
  EXPECT_EQ(numbers_of(twin()), numbers_of(real()));
}

TEST_F(Numbers, OfATwinAreResetByRenumberAndWithTheTwin) {
  ask_for("gpu[1-3]", "leaf[0-2]");
  keep(twin());
  ask_for("gpu[1-3]", "leaf[0,2]");
  const std::string kept = numbers_of(twin());
  const std::string anew = numbers_of(twin(true));
  ASSERT_NE(anew, kept);
  EXPECT_EQ(numbers_of(twin()), kept) << "a plan with --renumber forgets nothing yet";
  keep(twin(true));
  EXPECT_EQ(numbers_of(twin()), anew);
  keep(twin());
  std::filesystem::remove_all(state_directory(twin()));
  EXPECT_EQ(numbers_of(twin()), anew);
}

TEST_F(Numbers, ThatAreInvalidAreAnErrorWithTheirLocation) {
  ask_for("gpu[1-3]", "leaf[0-2]");
  const OpenedCluster cluster = twin();
  keep(cluster);
  const auto store = open_store(state_directory(cluster));
  ASSERT_TRUE((*store)->leadership().take("test"));
  const nlohmann::json newer{{"version", 99}};
  ASSERT_TRUE((*store)->blobs().keep("numbers", newer));
  const auto read = load_cluster({.specs = {folder.path() + "/twin"}, .twin = true});
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().text().find("the twin's numbers in " + state_directory(cluster)), std::string::npos)
      << read.error().text();
  // Numbers that are not read cause no error, as when `twin down` loads the specs.
  EXPECT_TRUE(load_cluster({.specs = {folder.path() + "/twin"}, .twin = true, .renumber = true}));
}

}  // namespace
}  // namespace lockstep
