// `lockstep render`: the desired configuration of a device, independent of its actual one.
#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "said.hpp"
#include "specs_copy.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

Json rendered_json(std::vector<std::string> words) {
  words.insert(words.begin(), {"render", "-o", "json"});
  const Answer said = say(std::move(words));
  EXPECT_EQ(said.code, 0) << said.out << said.err;
  return Json::parse(said.out, nullptr, false);
}

std::optional<Json> entry_of(const Json& device, const std::string& path) {
  for (const Json& one : device["entries"])
    if (one["path"] == path) return one;
  return std::nullopt;
}

std::set<std::string> files_in(const std::string& folder) {
  std::set<std::string> out;
  for (const auto& one : std::filesystem::directory_iterator(folder))
    out.insert(one.path().filename().string());
  return out;
}

constexpr const char* kSmall = R"(apiVersion: lockstep.dev/v1alpha1
kind: Cluster
metadata: {name: small}
spec: {}
---
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: hosts}
spec:
  names: h[1-2]
  role: host
  drivers: [linux]
  interfaces:
    - {name: "rail[0-1]", platform: connectx-7, rdma: true, speed: 400Gbps}
---
apiVersion: lockstep.dev/v1alpha1
kind: HostProfile
metadata: {name: training}
spec:
  selector: {}
  sysctl:
    net.ipv4.tcp_mtu_probing: 0
  memlock: unlimited
  cpu: {governor: performance}
  services: {lldpd: running}
  nic:
    fec: rs
    rings: {rx: 8192}
  gpu: {count: 8}
)";

TEST(Render, TextGroupsEntriesByObject) {
  const TemporaryFolder folder;
  const Answer said = say({"render", folder.write("small.yaml", kSmall), "h1"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.out, R"(h1 of small (host; linux)
settings (8)
  cpu
    governor                  performance  small.yaml:24 cpu.governor
  interface[rail[0-1]]
    fec                       rs           small.yaml:27 nic.fec
    ring[rx]                  8192         small.yaml:28 nic.rings.rx
  memlock                     unlimited    small.yaml:23 memlock
  service
    lldpd                     running      small.yaml:25 services
  sysctl
    net.ipv4.tcp_mtu_probing  0            small.yaml:22 sysctl
effects: verified, never written (1)
  gpu
    count  8  small.yaml:29 gpu.count
9 entries wanted
)");
}

TEST(Render, JsonHasTheOriginOfEachEntry) {
  const Json device = rendered_json({kRailPod, "gpu1"});
  EXPECT_EQ(device["apiVersion"], "lockstep.dev/v1alpha1");
  EXPECT_EQ(device["kind"], "RenderedDevice");
  EXPECT_EQ(device["cluster"], "rail-pod");
  EXPECT_EQ(device["device"], "gpu1");
  const Json mtu = entry_of(device, "interface[rail0]/mtu").value_or(Json());
  EXPECT_EQ(mtu["want"], 9000);
  EXPECT_EQ(mtu["origin"], (Json{{"file", kRailPod + "/fabric.yaml"},
                                 {"line", 9},
                                 {"column", 15},
                                 {"object", "Fabric/backend"},
                                 {"rule", "mtu.host"}}));
  EXPECT_EQ(entry_of(device, "interface[rail0]/class[3]/dscp").value_or(Json())["want"], Json::array({"26"}));
  EXPECT_EQ(entry_of(device, "fib[10.64.0.0/31]").value_or(Json())["want"], Json::array({"rail0"}));
}

TEST(Render, YamlHasTheSameDocument) {
  const Answer said = say({"render", "-o", "yaml", kRailPod, "gpu1"});
  EXPECT_EQ(said.code, 0);
  EXPECT_NE(said.out.find("kind: \"RenderedDevice\"\n"), std::string::npos) << said.out;
}

TEST(Render, NativeOfAHostIsItsCommands) {
  const Answer said = say({"render", kRailPod, "gpu1", "--format", "native"});
  EXPECT_EQ(said.code, 0) << said.err;
  for (const char* const line :
       {"\n# interface[rail0]\n", "\nip link set dev rail0 mtu 9000\n",
        "\nip address add 10.64.0.1/31 dev rail0\n", "\nsysctl -w net.ipv4.tcp_mtu_probing='0'\n",
        "\ndcb pfc set dev rail0 prio-pfc all:off 3:on\n",
        "\ndcb ets set dev rail0 tc-tsa 3:ets tc-bw 3:60\n",
        "\nip rule add from 10.64.0.1/32 lookup 1000 priority 1000 protocol 76\n",
        "\n#   gpu/driver = >=550\n", "\n#   interface[rail[0-1]]/pfc-watchdog/action = drop\n"})
    EXPECT_NE(said.out.find(line), std::string::npos) << line << "\n" << said.out;
  EXPECT_EQ(said.out.find("htb"), std::string::npos) << "a NIC has queues of its own\n" << said.out;
  EXPECT_EQ(said.out.find("fib["), std::string::npos) << "an effect is set by nobody\n" << said.out;
  EXPECT_EQ(said.out.find("frr.conf"), std::string::npos) << said.out;
}

TEST(Render, NativeOfAnFrrSwitchHasItsConfiguration) {
  const Answer said = say({"render", kRailPod, "leaf0", "--format", "native"});
  EXPECT_EQ(said.code, 0) << said.err;
  const std::size_t file = said.out.find("! frr.conf of leaf0");
  ASSERT_NE(file, std::string::npos) << said.out;
  EXPECT_NE(said.out.substr(0, file).find("\nip link set dev swp1 mtu 9000\n"), std::string::npos)
      << said.out;
  EXPECT_EQ(said.out.substr(0, file).find("bgpd>"), std::string::npos) << said.out;
  EXPECT_EQ(said.out.substr(file), R"(! frr.conf of leaf0 of rail-pod (leaf; linux, frr)
frr defaults traditional
hostname leaf0
!
bfd
 profile backend
exit
!
router bgp 4200000000
 no bgp ebgp-requires-policy
 bgp router-id 10.255.0.1
 bgp bestpath as-path multipath-relax
 neighbor up0 interface remote-as external
 neighbor up0 timers connect 10
 neighbor up0 timers 3 9
 neighbor up0 bfd profile backend
 neighbor up1 interface remote-as external
 neighbor up1 timers connect 10
 neighbor up1 timers 3 9
 neighbor up1 bfd profile backend
 address-family ipv4 unicast
  neighbor up0 activate
  neighbor up1 activate
  maximum-paths 64
  aggregate-address 10.64.0.0/25 summary-only
  redistribute connected
 exit-address-family
 !
exit
!
)");
}

TEST(Render, OfATwinHasTheEntriesOfTheTwin) {
  const Json twin = rendered_json({"--twin", "--link-rate", "1Gbps", kRailPod, "gpu1"});
  EXPECT_EQ(twin["twin"], true);
  EXPECT_EQ(entry_of(twin, "interface[rail0]/rate").value_or(Json())["want"], 1'000'000'000);
  EXPECT_EQ(entry_of(rendered_json({kRailPod, "gpu1"}), "interface[rail0]/rate"), std::nullopt);
  const Answer native = say({"render", "--twin", kRailPod, "gpu1", "--format", "native"});
  EXPECT_NE(native.out.find("tbf rate "), std::string::npos) << native.out;
}

TEST(Render, UnknownDeviceGetsASuggestion) {
  const Answer said = say({"render", kRailPod, "gpu12"});
  EXPECT_EQ(said.code, 1);
  EXPECT_EQ(said.err, say({"explain", kRailPod, "gpu12", "memlock"}).err);
  EXPECT_NE(said.err.find("no device called 'gpu12'; did you mean 'gpu1'?"), std::string::npos) << said.err;
}

TEST(Render, AllWritesTheFilesOfEachDeviceAndNothingElse) {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/deep/er";
  const auto all = [&](const std::vector<std::string>& how) {
    std::vector<std::string> words{"render", kRailPod, "--all", "--out", out};
    words.insert(words.end(), how.begin(), how.end());
    const Answer said = say(words);
    EXPECT_EQ(said.code, 0) << said.err;
    return said.out;
  };
  const std::set<std::string> devices{"gpu1", "gpu2", "gpu3", "gpu4", "leaf0", "leaf1", "spine0", "spine1"};
  std::set<std::string> want;
  EXPECT_EQ(all({}), out + ": 8 files of 8 devices\n");
  for (const std::string& one : devices) want.insert(one + ".txt");
  EXPECT_EQ(files_in(out), want);
  EXPECT_EQ(text_of(out + "/gpu1.txt"), say({"render", kRailPod, "gpu1"}).out);
  EXPECT_EQ(all({"-o", "json"}), "");
  for (const std::string& one : devices) want.insert(one + ".json");
  EXPECT_EQ(files_in(out), want);
  Json whole = Json::parse(text_of(out + "/leaf1.json"), nullptr, false);
  Json alone = rendered_json({kRailPod, "leaf1"});
  EXPECT_EQ(whole.erase("time"), 1U);
  EXPECT_EQ(alone.erase("time"), 1U);
  EXPECT_EQ(whole, alone);
  EXPECT_EQ(all({"--format", "native"}), out + ": 12 files of 8 devices\n");
  for (const std::string& one : devices) want.insert(one + ".sh");
  for (const char* const one : {"leaf0", "leaf1", "spine0", "spine1"})
    want.insert(std::string(one) + ".frr.conf");
  EXPECT_EQ(files_in(out), want);
  EXPECT_EQ(text_of(out + "/leaf0.sh") + "\n" + text_of(out + "/leaf0.frr.conf"),
            say({"render", kRailPod, "leaf0", "--format", "native"}).out);
  struct stat file {};
  ASSERT_EQ(::stat((out + "/leaf0.sh").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0111U, 0U) << "to be read, not run";
  EXPECT_EQ(files_in(folder.path()), std::set<std::string>{"deep"});
  EXPECT_EQ(files_in(folder.path() + "/deep"), std::set<std::string>{"er"});
}

TEST(Render, AllReportsTheFileThatItCannotWrite) {
  const TemporaryFolder folder;
  const std::string file = folder.write("taken", "mine");
  const Answer taken = say({"render", kRailPod, "--all", "--out", file});
  EXPECT_EQ(taken.code, 1);
  EXPECT_EQ(taken.err, "error: --out: " + file + ": Not a directory\n");
  EXPECT_EQ(text_of(file), "mine");
  std::filesystem::create_directories(folder.path() + "/out/gpu3.txt");
  const Answer half = say({"render", kRailPod, "--all", "--out", folder.path() + "/out"});
  EXPECT_EQ(half.code, 1);
  EXPECT_NE(half.err.find("/out/gpu3.txt: "), std::string::npos) << half.err;
}

TEST(Render, DeviceNamesCannotEscapeTheFolder) {
  const TemporaryFolder folder;
  for (const char* const name : {"../h1", "/tmp/h1", "..", ".h1", "a/b"}) {
    std::string text = kSmall;
    text.replace(text.find("h[1-2]"), 6, "\"" + std::string(name) + "\"");
    const std::string specs = folder.write("specs/small.yaml", text);
    EXPECT_EQ(say({"render", specs, "--all", "--out", folder.path() + "/out"}).code, 1) << name;
  }
  EXPECT_EQ(files_in(folder.path()), std::set<std::string>{"specs"});
}

TEST(Render, RefusesMissingAndConflictingArguments) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> mistakes{
      {{"render"}, "name a DEVICE"},
      {{"render", kRailPod, "gpu1", "--all", "--out", "x"}, "--all renders every device"},
      {{"render", kRailPod, "--all"}, "--out"},
      {{"render", kRailPod, "gpu1", "--out", "x"}, "--all"},
      {{"render", kRailPod, "gpu1", "--format", "sonic"}, "'sonic' is not one of native"},
      {{"render", kRailPod, "gpu1", "--link-rate", "1Gbps"}, "--twin"}};
  for (const auto& [words, text] : mistakes) {
    const Answer said = say(words);
    EXPECT_EQ(said.code, 1) << said.out;
    EXPECT_NE(said.err.find(text), std::string::npos) << said.err;
  }
  const Answer both = say({"render", kRailPod, "gpu1", "--format", "native", "-o", "json"});
  EXPECT_EQ(both.code, 1);
  EXPECT_NE(both.out.find("--format and -o both say a form"), std::string::npos) << both.out;
}

TEST(Render, IsInTheHelpAndTheCompletion) {
  EXPECT_NE(say({"render", "--help"}).out.find("[SPECS] DEVICE | [SPECS] --all --out DIR"),
            std::string::npos);
  EXPECT_NE(say({"help"}).out.find("render"), std::string::npos);
  EXPECT_NE(say({"diff", "--help"}).out.find("2: some differ"), std::string::npos);
  const std::string completion = say({"completion", "bash"}).out;
  for (const char* const word : {"render", "diff", "--out", "native"})
    EXPECT_NE(completion.find(word), std::string::npos) << word;
}

}  // namespace
}  // namespace lockstep
