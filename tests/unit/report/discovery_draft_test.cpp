// The draft of specs: its text, and that it stands for exactly the cables that were heard of.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

#include "reconciler/report/discovery.hpp"
#include "specs/compile/compile.hpp"
#include "specs/language/load.hpp"

namespace lockstep {
namespace {

DiscoveredDevice device_with(const std::string& name, const std::string& port, const std::string& peer) {
  DiscoveredDevice out{name, "host", {}};
  DiscoveredPort one;
  one.name = port;
  one.peer = peer;
  out.host.ports = {one};
  return out;
}

TEST(DiscoveryDraft, HasTheCableToAPeerThatWasNotDiscovered) {
  for (const char* const host : {"gpu1", "zz"}) {
    const std::string draft = discovery_draft({device_with(host, "rail0", "leaf0:swp1")}, false);
    EXPECT_NE(draft.find("- {from: \"" + std::string(host) + ":rail0\", to: \"leaf0:swp1\"}"),
              std::string::npos)
        << draft;
  }
}

TEST(DiscoveryDraft, HasACableThatBothEndsTellOfOnce) {
  const std::string draft = discovery_draft(
      {device_with("leaf0", "swp1", "gpu1:rail0"), device_with("gpu1", "rail0", "leaf0:swp1")}, true);
  EXPECT_NE(draft.find("- {from: \"gpu1:rail0\", to: \"leaf0:swp1\"}"), std::string::npos) << draft;
  EXPECT_EQ(draft.find("from: \"leaf0"), std::string::npos) << draft;
}

TEST(DiscoveryDraft, HasNoPortsThatNoCableEndsAt) {
  DiscoveredDevice leaf = device_with("leaf0", "swp1", "");
  leaf.role = "leaf";
  leaf.host.ports.push_back(leaf.host.ports.front());
  leaf.host.ports.back().name = "ifb0";
  leaf.host.ports.back().kind = "ifb";
  const std::string draft = discovery_draft({leaf}, true);
  EXPECT_EQ(draft.find("ifb0"), std::string::npos) << draft;
  EXPECT_NE(draft.find("{name: leaves}"), std::string::npos) << draft;
}

TEST(DiscoveryDraft, KeepsHowTheSpecsReachADevice) {
  DiscoveredDevice remote = device_with("gpu2", "rail0", "");
  remote.connect = R"({agent: "https://{name}:7443"})";
  DiscoveredDevice leaf = device_with("leaf0", "swp1", "");
  leaf.role = "leaf";
  leaf.connect = remote.connect;
  const std::string draft = discovery_draft({device_with("gpu1", "rail0", ""), remote, leaf}, false);
  EXPECT_NE(draft.find("names: \"gpu1\"\n  role: host\n  drivers: [linux]\n  connect: {local: true}\n"),
            std::string::npos)
      << draft;
  for (const char* const start : {"names: \"gpu2\"\n  role: host\n  drivers: [linux]\n",
                                  "names: \"leaf0\"\n  role: leaf\n  drivers: [linux, frr]\n"})
    EXPECT_NE(draft.find(std::string(start) + "  connect: " + remote.connect + "\n"), std::string::npos)
        << draft;
}

TEST(DiscoveryDraft, LeavesOutNamesThatSpecsCannotWrite) {
  for (const std::string& peer :
       {std::string("leaf\"}]\n: x:swp1"), std::string("leaf[1-9]:swp1"), std::string("a,b:swp1"),
        std::string("leaf\xFF:swp1"), std::string("52:54:00:12:34:56:swp1"), std::string("leaf0:"),
        std::string("leaf0")}) {
    const std::string draft = discovery_draft({device_with("gpu1", "rail0", peer)}, false);
    EXPECT_EQ(draft.find("cabling"), std::string::npos) << draft;
    const std::size_t comment = draft.find("\n# left out: gpu1:rail0's neighbor '");
    ASSERT_NE(comment, std::string::npos) << draft;
    EXPECT_EQ(draft.find("\n---", comment + 1), draft.find('\n', comment + 1)) << "one line: " << draft;
  }
  const std::string odd = discovery_draft({device_with("gpu1", "ra\"il", "leaf0:swp1")}, false);
  EXPECT_EQ(odd.find("interfaces:"), std::string::npos) << odd;
  EXPECT_EQ(discovery_draft({device_with("a b", "rail0", "")}, false).find("DeviceSet"), std::string::npos);
}

// Both ends of each, "gpu1:rail0" and "leaf0:swp1", whichever is nearer.
using CableTexts = std::set<std::set<std::string>>;

CableTexts cables_of(const Topology& topology) {
  CableTexts out;
  for (const TopologyLink& link : topology.links)
    out.insert({topology.port_text(link.a), topology.port_text(link.b)});
  return out;
}

// Hosts gpu, leaf switches and spine switches by these names, cabled by these lines.
Topology cabled_by(const std::string& hosts, const std::string& leaves, const std::string& spines,
                   const std::string& laws) {
  std::string text;
  for (const auto& [role, names] : {std::pair("host", hosts), {"leaf", leaves}, {"spine", spines}})
    if (!names.empty())
      text += fmt::format(
          "apiVersion: lockstep.dev/v1alpha1\nkind: DeviceSet\nmetadata: {{name: {0}}}\n"
          "spec: {{names: \"{1}\", role: {0}, drivers: [linux]}}\n---\n",
          role, names);
  text +=
      "apiVersion: lockstep.dev/v1alpha1\nkind: Fabric\nmetadata: {name: backend}\nspec:\n"
      "  role: backend\n  topology: leaf-spine\n  mtu: {host: 9000, fabric: 9216}\n  cabling:\n" +
      laws;
  const Loaded loaded = load_text("fabric.yaml", text);
  for (const Diagnostic& one : loaded.diagnostics) ADD_FAILURE() << one.message << "\n" << text;
  Expanded expanded = expand(loaded.catalog);
  for (const Diagnostic& one : expanded.diagnostics) ADD_FAILURE() << one.message << "\n" << text;
  return std::move(expanded.topology);
}

Topology rail_pod() {
  return cabled_by(
      "gpu[1-4]", "leaf[0-1]", "spine[0-1]",
      "    - {from: \"gpu[1-4]:rail[0-1]\", to: \"leaf[0-1]:swp[1-4]\", by: rail, speed: 400Gbps}\n"
      "    - {from: \"leaf[0-1]:up[0-1]\", to: \"spine[0-1]:down[0-1]\", by: mesh, speed: "
      "400Gbps}\n");
}

using Hears = std::function<bool()>;  // whether the next end of a cable hears of it; one of its ends does

// What discovering all of its devices finds.
std::vector<DiscoveredDevice> discovered(const Topology& topology, const Hears& hears) {
  std::vector<DiscoveredDevice> out;
  for (DeviceIndex i = 0; i < topology.devices.size(); ++i) {
    DiscoveredDevice& found = out.emplace_back(
        DiscoveredDevice{topology.devices[i].name, std::string(to_string(topology.devices[i].role)), {}});
    for (const TopologyPort& one : topology.ports_of(i)) {
      DiscoveredPort& port = found.host.ports.emplace_back();
      port.name = one.name;
      port.nic.speed = 400'000;
    }
  }
  const auto tell = [&](PortIndex of, PortIndex to) {
    const TopologyPort& port = topology.ports[of];
    out[port.device].host.ports[of - topology.devices[port.device].first_port].peer = topology.port_text(to);
  };
  for (const TopologyLink& link : topology.links) {
    const bool near = hears();
    if (near) tell(link.a, link.b);
    if (!near || hears()) tell(link.b, link.a);
  }
  return out;
}

std::string draft_of(const Topology& topology) {
  return discovery_draft(discovered(topology, [] { return true; }), true);
}

std::string cabling_of(const std::string& draft) {
  const std::size_t begin = draft.find("  topology: ");
  return begin == draft.npos ? "" : draft.substr(begin);
}

// Swaps the far ends of two cables.
void cross(Topology& topology, std::string_view one, std::string_view other) {
  const auto link_at = [&](std::string_view end) {
    const std::size_t colon = end.find(':');
    const PortIndex port =
        topology.find_port(topology.find_device(end.substr(0, colon)), end.substr(colon + 1));
    return &topology.links[topology.ports[port].link];
  };
  std::swap(link_at(one)->b, link_at(other)->b);
}

TEST(DiscoveryDraft, IsWhatAPersonWouldWriteOfARailPod) {
  EXPECT_EQ(draft_of(rail_pod()),
            R"(# A first draft by `lockstep discover --draft`: edit it (take out the ports of
# management, which nothing here can tell), then `lockstep validate`.
---
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: hosts}
spec:
  names: "gpu[1-4]"
  role: host
  drivers: [linux]
  interfaces:
    - {name: "rail[0-1]", speed: 400Gbps}
---
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: leaves}
spec:
  names: "leaf[0-1]"
  role: leaf
  drivers: [linux, frr]
  ports:
    - {name: "swp[1-4],up[0-1]", speed: 400Gbps}
---
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: spines}
spec:
  names: "spine[0-1]"
  role: spine
  drivers: [linux, frr]
  ports:
    - {name: "down[0-1]", speed: 400Gbps}
---
apiVersion: lockstep.dev/v1alpha1
kind: Fabric
metadata: {name: discovered}
spec:
  role: backend
  topology: rail-optimized
  mtu: {host: 9000, fabric: 9216}
  cabling:
    - {from: "gpu[1-4]:rail[0-1]", to: "leaf[0-1]:swp[1-4]", by: rail}
    - {from: "leaf[0-1]:up[0-1]", to: "spine[0-1]:down[0-1]", by: mesh}
)");
}

TEST(DiscoveryDraft, ListsCablesThatBreakALawBesideIt) {
  Topology topology = rail_pod();
  cross(topology, "gpu2:rail0", "gpu2:rail1");
  cross(topology, "gpu3:rail0", "gpu4:rail0");
  topology.links.pop_back();  // leaf1:up1 - spine1:down1
  EXPECT_EQ(cabling_of(draft_of(topology)), R"(  topology: rail-optimized
  mtu: {host: 9000, fabric: 9216}
  cabling:
    - by: pairs
      list:
        - {from: "gpu1:rail[0-1]", to: "leaf[0-1]:swp1"}
        - {from: "gpu2:rail[0-1]", to: "leaf[1,0]:swp2"}
        - {from: "gpu3:rail0", to: "leaf0:swp4"}
        - {from: "gpu[3-4]:rail1", to: "leaf1:swp[3-4]"}
        - {from: "gpu4:rail0", to: "leaf0:swp3"}
        - {from: "leaf0:up[0-1]", to: "spine[0-1]:down0"}
        - {from: "leaf1:up0", to: "spine0:down1"}
)");
}

TEST(DiscoveryDraft, HasTheLawOfAllOthersWhereOneHostIsCabledWrongly) {
  Topology topology = rail_pod();
  cross(topology, "gpu2:rail0", "gpu2:rail1");
  EXPECT_EQ(cabling_of(draft_of(topology)), R"(  topology: rail-optimized
  mtu: {host: 9000, fabric: 9216}
  cabling:
    - {from: "gpu[1,3,4]:rail[0-1]", to: "leaf[0-1]:swp[1,3,4]", by: rail}
    - {from: "leaf[0-1]:up[0-1]", to: "spine[0-1]:down[0-1]", by: mesh}
    - by: pairs
      list:
        - {from: "gpu2:rail[0-1]", to: "leaf[1,0]:swp2"}
)");
}

TEST(DiscoveryDraft, FoldsHostsOfOneLeafSwitchEach) {
  const Topology topology = cabled_by(
      "gpu[1-6]", "leaf[0-1]", "",
      "    - {from: \"gpu[1-6]:eth0\", to: \"leaf[0-1]:Ethernet[0,8,16]\", by: rail, speed: 1Gbps}\n");
  EXPECT_EQ(cabling_of(draft_of(topology)), R"(  topology: leaf-spine
  mtu: {host: 9000, fabric: 9216}
  cabling:
    - by: pairs
      list:
        - {from: "gpu[1-6]:eth0", to: "leaf[0-1]:Ethernet[0-16/8]"}
)");
}

TEST(DiscoveryDraft, IsOfRailsOnlyWhereNoCableJoinsSwitches) {
  const std::string law =
      "    - {from: \"gpu[1-3]:rail[0-1]\", to: \"leaf[0-3]:swp[1-2]\", by: rail, speed: 400Gbps}\n";
  const Topology topology = cabled_by("gpu[1-3]", "leaf[0-3]", "", law);
  EXPECT_NE(draft_of(topology).find("topology: rail-only"), std::string::npos);
  std::vector<DiscoveredDevice> hosts = discovered(topology, [] { return true; });
  hosts.resize(3);
  const std::string draft = discovery_draft(hosts, false);
  EXPECT_NE(draft.find("topology: rail-optimized"), std::string::npos)
      << "nobody asked the switches: " << draft;
  EXPECT_NE(draft.find("# not discovered, and at the other ends of cables: leaf[0-3]; "), std::string::npos);
  EXPECT_NE(draft.find("to: \"leaf[0-3]:swp[1-2]\", by: rail}"), std::string::npos) << draft;
}

TEST(DiscoveryDraft, HasTwoLinesForALargeFabric) {
  const std::string rail =
      "    - {from: \"gpu[1-512]:rail[0-7]\", to: \"leaf[1-64]:swp[1-64]\", by: rail, speed: 400Gbps}\n";
  const std::string mesh =
      "    - {from: \"leaf[1-64]:up[1-32]\", to: \"spine[1-32]:swp[1-64]\", by: mesh, speed: 400Gbps}\n";
  const Topology topology = cabled_by("gpu[1-512]", "leaf[1-64]", "spine[1-32]", rail + mesh);
  EXPECT_EQ(cabling_of(draft_of(topology)), R"(  topology: rail-optimized
  mtu: {host: 9000, fabric: 9216}
  cabling:
    - {from: "gpu[1-512]:rail[0-7]", to: "leaf[1-64]:swp[1-64]", by: rail}
    - {from: "leaf[1-64]:up[1-32]", to: "spine[1-32]:swp[1-64]", by: mesh}
)");
}

TEST(DiscoveryDraft, KeepsApartWhatDiffersUnderNamesOfItsOwn) {
  std::vector<DiscoveredDevice> all{device_with("GPU.1", "rail0", ""), device_with("gpu-1", "rail0", ""),
                                    device_with("gpu2", "rail0", "")};
  all[0].host.ports[0].nic.speed = 400'000;
  all[1].host.ports[0].rdma_devices = {"mlx5_0"};
  all[1].host.ports.push_back(all[1].host.ports[0]);
  all[1].host.ports[1].name = "rail1";
  PciFunction& nic = all[1].host.ports[1].pci.emplace();
  nic.vendor = 0x15b3;
  nic.device = 0x1021;
  const std::string draft = discovery_draft(all, true);
  for (const char* const line :
       {"{name: hosts-gpu-1}", "{name: hosts-gpu-1-2}", "{name: hosts-gpu2}", "\"rail0\", speed: 400Gbps}",
        "\"rail0\", rdma: true}", "\"rail1\", platform: connectx-7, rdma: true}", "{name: \"rail0\"}"})
    EXPECT_NE(draft.find(line), std::string::npos) << line << "\n" << draft;
  for (const Diagnostic& one : load_text("draft.yaml", draft).diagnostics)
    ADD_FAILURE() << one.message << draft;
}

TEST(DiscoveryDraft, HasOneCableAPort) {
  std::vector<DiscoveredDevice> all{
      device_with("gpu1", "rail0", "leaf0:swp1"), device_with("gpu2", "rail0", "leaf0:swp1"),
      device_with("gpu3", "rail0", "gpu3:rail1"), device_with("leaf0", "swp1", "gpu2:rail0")};
  all[3].role = "leaf";
  const std::string draft = discovery_draft(all, true);
  EXPECT_NE(draft.find("- {from: \"gpu2:rail0\", to: \"leaf0:swp1\"}\n"), std::string::npos) << draft;
  EXPECT_EQ(draft.find("{from: \"gpu1"), std::string::npos) << draft;
  EXPECT_NE(draft.find("\n# left out: gpu1:rail0's neighbor 'leaf0:swp1': another cable"), std::string::npos)
      << draft;
  EXPECT_NE(draft.find("\n# left out: gpu3:rail0's neighbor 'gpu3:rail1': a device is not"),
            std::string::npos)
      << draft;
}

std::uint32_t any(std::uint32_t most) { return *rc::gen::inRange<std::uint32_t>(1, most + 1); }

struct AnyFabric {
  Topology topology;
  bool several = false;  // whether every device has cables to several of the next tier
};

// Hosts cabled by rails to leaf switches, these in a mesh to spine switches, in any number of planes.
AnyFabric any_fabric() {
  const std::uint32_t rails = any(4);
  const std::uint32_t planes = any(2);
  const std::uint32_t strands = any(2);
  const std::uint32_t groups = any(3);
  const std::uint32_t slots = any(4);
  const std::uint32_t hosts = (groups - 1) * slots + any(slots);
  const std::uint32_t leaves = groups * planes * rails;
  std::uint32_t parts = any(4);
  while (leaves % parts != 0) --parts;
  const std::uint32_t spines = any(3);
  const std::uint32_t ups = any(2);
  const std::string laws = fmt::format(
      "    - {{from: \"gpu[1-{}]:rail[0-{}]\", to: \"leaf[1-{}]:swp[1-{}]\", by: rail, planes: {}, parallel: "
      "{}, speed: 400Gbps}}\n"
      "    - {{from: \"leaf[1-{}]:up[1-{}]\", to: \"spine[1-{}]:Ethernet[8-{}/8]\", by: mesh, planes: {}, "
      "parallel: {}, speed: 400Gbps}}\n",
      hosts, rails * planes * strands - 1, leaves, slots * strands, planes, strands, leaves, spines * ups,
      spines * parts, leaves / parts * ups * 8, parts, ups);
  return {cabled_by(fmt::format("gpu[1-{}]", hosts), fmt::format("leaf[1-{}]", leaves),
                    fmt::format("spine[1-{}]", spines * parts), laws),
          rails * planes > 1 && spines > 1};
}

// That the draft is valid, and stands for these cables.
void stands_for(const Topology& topology, const std::string& draft) {
  const Loaded loaded = load_text("draft.yaml", draft);
  const Compiled compiled = compile(loaded.catalog);
  for (const Diagnostics* const all : {&loaded.diagnostics, &compiled.diagnostics})
    for (const Diagnostic& one : *all)
      if (one.severity == Severity::error) RC_FAIL(one.message + "\n" + draft);
  if (cables_of(compiled.topology) != cables_of(topology)) RC_FAIL("other cables:\n" + draft);
}

Hears any_hears() {
  return [] { return *rc::gen::arbitrary<bool>(); };
}

TEST(DiscoveryDraft, HasALineForEachLawOfARegularFabric) {
  EXPECT_TRUE(rc::check("regular", [] {
    const auto [topology, several] = any_fabric();
    const std::string draft = discovery_draft(discovered(topology, any_hears()), true);
    stands_for(topology, draft);
    const std::string cabling = cabling_of(draft);
    const auto lines = std::ranges::count(cabling, '\n');
    if (several && (lines != 5 || cabling.find("pairs") != cabling.npos)) RC_FAIL("not two laws:\n" + draft);
  }));
}

TEST(DiscoveryDraft, StandsForExactlyTheCablesThatAreThere) {
  EXPECT_TRUE(rc::check("any", [] {
    Topology topology = any_fabric().topology;
    std::vector<TopologyLink>& links = topology.links;
    const auto which = [&] { return *rc::gen::inRange<std::size_t>(0, links.size()); };
    for (std::uint32_t i = any(4); i > 1; --i) std::swap(links[which()].b, links[which()].b);
    for (std::uint32_t i = any(6); i > 1 && links.size() > 1; --i)
      links.erase(links.begin() + static_cast<std::ptrdiff_t>(which()));
    // What came of crossing cables of different tiers.
    std::erase_if(links, [&](const TopologyLink& one) {
      return topology.ports[one.a].device == topology.ports[one.b].device;
    });
    stands_for(topology, discovery_draft(discovered(topology, any_hears()), true));
  }));
}

}  // namespace
}  // namespace lockstep
