// `lockstep diff OLD NEW`: two versions of the specs compared, without devices.
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "said.hpp"
#include "specs_copy.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

Json diff_of(const std::string& was, const std::string& now) {
  const Answer said = say({"diff", "-o", "json", was, now});
  EXPECT_NE(said.code, 1) << said.out << said.err;
  return Json::parse(said.out, nullptr, false);
}

Json of_device(const Json& diff, const std::string& device) {
  for (const Json& one : diff["devices"])
    if (one["device"] == device) return one;
  return nullptr;
}

TEST(SpecDiff, IdenticalSpecsHaveNoDifferences) {
  const SpecsCopy copy;
  const Answer said = say({"diff", kRailPod, copy.path()});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.out, "diff of rail-pod\nno difference: 8 devices as before\n");
  const Json none = diff_of(kRailPod, copy.path());
  EXPECT_EQ(none["devices"], Json::array());
}

TEST(SpecDiff, FoldsEqualChangesOfDevicesAndPorts) {
  SpecsCopy copy;
  copy.replace("fabric.yaml", "host: 9000", "host: 4200")
      .replace("hosts.yaml", "    vm.nr_hugepages: 128 ", "    vm.max_map_count: 262144 ");
  const Answer said = say({"diff", kRailPod, copy.path()});
  EXPECT_EQ(said.code, 2) << said.err;
  EXPECT_EQ(said.out, R"(diff of rail-pod
~ gpu[1-4]  disruption: traffic
    ~ interface[rail[0-1]]/buffer[3]/size  158.986KB → 145.93KB  roce.yaml:9 pfc-headroom
    ~ interface[rail[0-1]]/buffer[3]/xoff  148.88KB → 135.824KB  roce.yaml:9 pfc-headroom
    ~ interface[rail[0-1]]/mtu             9000 → 4200           fabric.yaml:9 mtu.host
    + sysctl[vm.max_map_count]             262144                hosts.yaml:11 sysctl
    - sysctl[vm.nr_hugepages]              128                   hosts.yaml:11 sysctl
~ leaf[0-1]  disruption: traffic
    ~ interface[swp[1-4]]/buffer[3]/size  257.338KB → 238.138KB  roce.yaml:9 pfc-headroom
    ~ interface[swp[1-4]]/buffer[3]/xoff  237.882KB → 218.682KB  roce.yaml:9 pfc-headroom
    ~ interface[swp[1-4]]/mtu             9000 → 4200            fabric.yaml:9 mtu.host
6 devices changed: 4 entries added, 4 removed, 48 changed; disruption: traffic
)");
}

TEST(SpecDiff, AddedOrRemovedDeviceIsOneLine) {
  SpecsCopy copy;
  copy.replace("devices.yaml", "names: gpu[1-4]", "names: gpu[1-3,5]")
      .replace("fabric.yaml", "gpu[1-4]:rail[0-1]", "gpu[1-3,5]:rail[0-1]");
  const Answer said = say({"diff", kRailPod, copy.path()});
  EXPECT_EQ(said.code, 2) << said.err;
  EXPECT_NE(said.out.find("\n+ gpu5  added: "), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("\n- gpu4  removed: "), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("1 device added, 1 removed"), std::string::npos) << said.out;
  const Json diff = diff_of(kRailPod, copy.path());
  EXPECT_EQ(of_device(diff, "gpu5")["change"], "added");
  const Json gone = of_device(diff, "gpu4");
  EXPECT_EQ(gone["change"], "removed");
  ASSERT_FALSE(gone["entries"].empty());
  EXPECT_EQ(gone["entries"][0]["want"], nullptr);
  EXPECT_EQ(gone["entries"][0]["disruption"], "none") << "no plan touches a device that is gone";
  EXPECT_EQ(diff["summary"]["devices"]["added"], 1);
  EXPECT_EQ(diff["summary"]["devices"]["removed"], 1);
}

TEST(SpecDiff, JsonHasDisruptionAndOriginOfEachEntry) {
  SpecsCopy copy;
  copy.replace("fabric.yaml", "host: 9000", "host: 4200")
      .replace("hosts.yaml", "  memlock: unlimited ", "  # memlock: ");
  const Json diff = diff_of(kRailPod, copy.path());
  EXPECT_EQ(diff["apiVersion"], "lockstep.dev/v1alpha1");
  EXPECT_EQ(diff["kind"], "SpecDiff");
  EXPECT_EQ(diff["cluster"], "rail-pod");
  EXPECT_EQ(diff["summary"]["disruption"], "traffic");
  std::map<std::string, Json> entries;
  const Json device = of_device(diff, "gpu1");
  EXPECT_EQ(device["change"], "changed");
  for (const Json& one : device["entries"]) entries[one["path"]] = one;
  const Json mtu = entries["interface[rail0]/mtu"];
  EXPECT_EQ(mtu["was"], 9000);
  EXPECT_EQ(mtu["want"], 4200);
  EXPECT_EQ(mtu["disruption"], "traffic");
  EXPECT_EQ(mtu["origin"]["file"], copy.path() + "/fabric.yaml");
  EXPECT_EQ(mtu["origin"]["line"], 9);
  EXPECT_EQ(mtu["origin"]["rule"], "mtu.host");
  const Json gone = entries["memlock"];
  EXPECT_EQ(gone["was"], "unlimited");
  EXPECT_EQ(gone["want"], nullptr);
  EXPECT_EQ(gone["origin"]["file"], kRailPod + "/hosts.yaml") << "the old line wanted it";
  EXPECT_EQ(gone["origin"]["rule"], "memlock");
}

// A plan removes a member of an owned collection; a setting that is no longer desired keeps its value.
TEST(SpecDiff, RemovedUnownedSettingDisruptsNothing) {
  SpecsCopy copy;
  copy.replace("fabric.yaml", "hosts: 10.64.0.0/16", "hosts: 10.68.0.0/16")
      .replace("hosts.yaml", "ecc: true, ", "");
  std::map<std::string, Json> disruptions;
  const Json device = of_device(diff_of(kRailPod, copy.path()), "gpu1");
  for (const Json& one : device["entries"]) disruptions[one["path"]] = one["disruption"];
  EXPECT_EQ(disruptions["interface[rail0]/address[10.64.0.1/31]"], "traffic");
  EXPECT_EQ(disruptions["gpu/ecc"], "none");
}

TEST(SpecDiff, AnErrorNamesItsSide) {
  SpecsCopy broken;
  broken.replace("fabric.yaml", "mtu: {host: 9000", "mtu: {host: many");
  const Answer newer = say({"diff", kRailPod, broken.path()});
  EXPECT_EQ(newer.code, 1);
  EXPECT_NE(newer.err.find("fabric.yaml:9:15: error"), std::string::npos) << newer.err;
  EXPECT_NE(newer.err.find(": NEW: "), std::string::npos) << newer.err;
  const Answer older = say({"diff", "-o", "json", broken.path(), kRailPod});
  EXPECT_EQ(older.code, 1);
  const Json error = Json::parse(older.out, nullptr, false);
  EXPECT_EQ(error["kind"], "Error");
  EXPECT_TRUE(error["errors"][0]["message"].get<std::string>().starts_with("OLD: ")) << older.out;
}

TEST(SpecDiff, MissingFolderIsAnError) {
  const Answer newer = say({"diff", kRailPod, "/nowhere/at/all"});
  EXPECT_EQ(newer.code, 1);
  EXPECT_NE(newer.err.find("NEW: cannot read '/nowhere/at/all': No such file or directory"),
            std::string::npos)
      << newer.err;
  EXPECT_NE(say({"diff", "/nowhere/at/all", kRailPod}).err.find("OLD: cannot read"), std::string::npos);
  EXPECT_EQ(say({"diff", kRailPod}).code, 1);
}

// Path to value.
using Device = std::map<std::string, Json>;

Device rendered(const std::string& specs, const std::string& device) {
  const Json one = Json::parse(say({"render", "-o", "json", specs, device}).out, nullptr, false);
  Device out;
  for (const Json& entry : one["entries"]) out[entry["path"]] = entry["want"];
  EXPECT_FALSE(out.empty()) << device;
  return out;
}

// Applying the changes to what the older specs want gives what the newer ones want; every change is needed.
void expect_patch(const std::string& was, const std::string& now, const std::vector<std::string>& devices) {
  const Json diff = diff_of(was, now);
  std::size_t changes = 0;
  for (const std::string& device : devices) {
    Device patched = rendered(was, device);
    const Json its = of_device(diff, device);
    for (const Json& one : its.is_null() ? Json::array() : its["entries"]) {
      const std::string path = one["path"];
      EXPECT_EQ(patched.contains(path) ? patched[path] : Json(), one["was"]) << device << " " << path;
      EXPECT_NE(one["was"], one["want"]) << device << " " << path;
      if (one["want"].is_null())
        patched.erase(path);
      else
        patched[path] = one["want"];
      ++changes;
    }
    EXPECT_EQ(patched, rendered(now, device)) << device;
  }
  EXPECT_GT(changes, 0U);
}

TEST(SpecDiff, OldStatePlusDifferencesIsTheNewState) {
  const std::vector<std::string> all{"gpu1", "gpu2", "gpu3", "gpu4", "leaf0", "leaf1", "spine0", "spine1"};
  const std::vector<std::function<void(SpecsCopy&)>> edits{
      [](SpecsCopy& copy) { copy.replace("fabric.yaml", "hosts: 10.64.0.0/16", "hosts: 10.68.0.0/16"); },
      [](SpecsCopy& copy) { copy.replace("fabric.yaml", "hold: 9s", "hold: 12s"); },
      [](SpecsCopy& copy) {
        copy.replace("roce.yaml", "dscp: [26], priority: 3", "dscp: [26, 28], priority: 4");
      },
      [](SpecsCopy& copy) { copy.replace("hosts.yaml", "  packages: {rdma-core: \">=44\"}\n", ""); },
      [](SpecsCopy& copy) {
        copy.replace("roce.yaml", "  congestionControl: dcqcn\n", "")
            .replace("hosts.yaml", "driver: \">=550\"", "driver: \">=570\"");
      }};
  for (const auto& edit : edits) {
    SpecsCopy copy;
    edit(copy);
    expect_patch(kRailPod, copy.path(), all);
    expect_patch(copy.path(), kRailPod, all);
  }
}

TEST(SpecDiffPage, LeadsWithApprovalsAndTheGreatestDisruption) {
  SpecsCopy copy;
  copy.replace("fabric.yaml", "host: 9000", "host: 4200")
      .replace("hosts.yaml", "    vm.nr_hugepages: 128 ", "    vm.max_map_count: 262144 ");
  const Answer said = say({"diff", "--format", "markdown", kRailPod, copy.path()});
  EXPECT_EQ(said.code, 2) << said.err;
  EXPECT_EQ(said.out,
            R"(### `rail-pod`: 6 devices changed: 4 entries added, 4 removed, 48 changed; disruption: traffic

- **Needs approval** where traffic flows (`--approve approval:traffic`): 6 devices: `gpu[1-4],leaf[0-1]`

| disruption | entry | change | where | origin |
|---|---|---|---|---|
| traffic | ~ `interface[*]/buffer[3]/size` | `158.986KB → 145.93KB` | `gpu[1-4]:rail[0-1]` | `roce.yaml:9 pfc-headroom` |
| traffic | ~ `interface[*]/buffer[3]/size` | `257.338KB → 238.138KB` | `leaf[0-1]:swp[1-4]` | `roce.yaml:9 pfc-headroom` |
| traffic | ~ `interface[*]/buffer[3]/xoff` | `148.88KB → 135.824KB` | `gpu[1-4]:rail[0-1]` | `roce.yaml:9 pfc-headroom` |
| traffic | ~ `interface[*]/buffer[3]/xoff` | `237.882KB → 218.682KB` | `leaf[0-1]:swp[1-4]` | `roce.yaml:9 pfc-headroom` |
| traffic | ~ `interface[*]/mtu` | `9000 → 4200` | `gpu[1-4]:rail[0-1], leaf[0-1]:swp[1-4]` | `fabric.yaml:9 mtu.host` |
| none | + `sysctl[vm.max_map_count]` | `262144` | `gpu[1-4]` | `hosts.yaml:11 sysctl` |
| none | - `sysctl[vm.nr_hugepages]` | `128` | `gpu[1-4]` | `hosts.yaml:11 sysctl` |

Policies, suites and modes are not compared.
)");
}

// A word for one kind of disruption does not approve another: all that are needed are shown.
TEST(SpecDiffPage, NamesEachDisruptionThatNeedsApproval) {
  SpecsCopy copy;
  copy.replace("fabric.yaml", "host: 9000", "host: 4200")
      .replace("policy.yaml", "none: auto", "none: manual")
      .replace("hosts.yaml", "    vm.nr_hugepages: 128 ", "    vm.max_map_count: 262144 ");
  const std::string page = say({"diff", "--format", "markdown", kRailPod, copy.path()}).out;
  EXPECT_NE(page.find("`--approve approval:traffic`): 6 devices: `gpu[1-4],leaf[0-1]`\n"
                      "- **Needs approval** (`--approve approval:none`): 4 devices: `gpu[1-4]`\n"),
            std::string::npos)
      << page;
}

TEST(SpecDiffPage, ApprovalsAreThoseOfTheNewerPolicy) {
  SpecsCopy copy;
  copy.replace("fabric.yaml", "host: 9000", "host: 4200")
      .replace("policy.yaml", "traffic: manual", "traffic: auto");
  EXPECT_EQ(say({"diff", "--format", "markdown", kRailPod, copy.path()}).out.find("Needs approval"),
            std::string::npos);
  copy.replace("policy.yaml", "none: auto", "none: manual")
      .replace("hosts.yaml", "    vm.nr_hugepages: 128 ", "    vm.max_map_count: 262144 ");
  EXPECT_NE(say({"diff", "--format", "markdown", kRailPod, copy.path()})
                .out.find("- **Needs approval** (`--approve approval:none`): "),
            std::string::npos);
}

TEST(SpecDiffPage, NamesDevicesThatComeAndGo) {
  SpecsCopy copy;
  copy.replace("devices.yaml", "names: gpu[1-4]", "names: gpu[1-3,5]")
      .replace("fabric.yaml", "gpu[1-4]:rail[0-1]", "gpu[1-3,5]:rail[0-1]");
  const std::string page = say({"diff", "--format", "markdown", kRailPod, copy.path()}).out;
  EXPECT_NE(page.find("- Added: 1 device: `gpu5`\n- Removed: 1 device: `gpu4`\n"), std::string::npos) << page;
}

TEST(SpecDiffPage, RowsThatDifferOnlyInNumbersAreOne) {
  SpecsCopy copy;
  copy.replace("devices.yaml", "names: leaf[0-1]", "names: leaf[0-3]")
      .replace("fabric.yaml", "leaf[0-1]:swp[1-4]", "leaf[0-3]:swp[1-2]")
      .replace("fabric.yaml", "leaf[0-1]:up[0-1]", "leaf[0-3]:up[0-1]")
      .replace("fabric.yaml", "spine[0-1]:down[0-1]", "spine[0-1]:down[0-3]");
  SpecsCopy after;
  after.replace("devices.yaml", "names: leaf[0-1]", "names: leaf[0-3]")
      .replace("fabric.yaml", "leaf[0-1]:swp[1-4]", "leaf[0-3]:swp[1-2]")
      .replace("fabric.yaml", "leaf[0-1]:up[0-1]", "leaf[0-3]:up[0-1]")
      .replace("fabric.yaml", "spine[0-1]:down[0-1]", "spine[0-1]:down[0-3]")
      .replace("fabric.yaml", "4200000000-4200009999", "4201000000-4201009999");
  const std::string page = say({"diff", "--format", "markdown", copy.path(), after.path()}).out;
  EXPECT_NE(
      page.find("| traffic | ~ `bgp/asn` | `4200000000 … 4200000003 → 4201000000 … 4201000003` | `leaf0 and "
                "3 more` | "),
      std::string::npos)
      << page;
}

TEST(SpecDiffPage, IdenticalSpecsHaveNoRows) {
  const SpecsCopy copy;
  const Answer said = say({"diff", "--format", "markdown", kRailPod, copy.path()});
  EXPECT_EQ(said.code, 0);
  EXPECT_EQ(said.out,
            "### `rail-pod`: no difference: 8 devices as before\n\nPolicies, suites and modes are not "
            "compared.\n");
  EXPECT_EQ(say({"diff", "--format", "markdown", "-o", "json", kRailPod, copy.path()}).code, 1);
}

}  // namespace
}  // namespace lockstep
