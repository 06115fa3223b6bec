// What a host policy allows: its default, its rules, and files that are not trusted.
#include "drivers/host_policy/policy.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "specs/model/schema_rows.hpp"
#include "tests/needs.hpp"

namespace lockstep {
namespace {

constexpr const char* kHead = "apiVersion: lockstep.dev/v1alpha1\nkind: HostPolicy\nspec:\n";

HostPolicy policy_of(const std::string& spec, Diagnostics* wrong = nullptr) {
  Sources sources;
  Diagnostics own;
  HostPolicy policy =
      HostPolicy::from_text("host.yaml", kHead + spec, "gpu1.example.com", sources, wrong ? *wrong : own);
  EXPECT_TRUE(own.empty()) << own.front().message;
  return policy;
}

Change to(const std::string& path, Value want, Value was = {}) {
  const Result<Path> parsed = Path::parse(path);
  EXPECT_TRUE(parsed) << parsed.error().text();
  return {*parsed, was, want, 0};
}
Change sysctl(const std::string& name) { return to("sysctl[" + name + "]", Value::text("1")); }

std::string why(const HostPolicy& policy, const Change& change) {
  return policy.why_not(change).value_or("allowed");
}

TEST(HostPolicy, ByDefaultRefusesCodeModulesStoppingGuardsAndDmaIsolation) {
  const HostPolicy policy = HostPolicy::by_default("gpu1");
  for (const Change& one : {sysctl("kernel.core_pattern"),
                            sysctl("kernel.modprobe"),
                            sysctl("kernel.hotplug"),
                            sysctl("kernel.yama.ptrace_scope"),
                            sysctl("kernel.kptr_restrict"),
                            sysctl("kernel.modules_disabled"),
                            sysctl("kernel.unprivileged_bpf_disabled"),
                            sysctl("kernel.sysrq"),
                            sysctl("fs.protected_symlinks"),
                            sysctl("fs.suid_dumpable"),
                            sysctl("fs.binfmt_misc.register"),
                            sysctl("vm.mmap_min_addr"),
                            sysctl("user.max_user_namespaces"),
                            sysctl("net.core.bpf_jit_harden"),
                            sysctl("net.core.bpf_jit_enable"),
                            sysctl("net.core.default_qdisc"),
                            sysctl("net.ipv4.tcp_congestion_control"),
                            sysctl("net.ipv4.ip_unprivileged_port_start"),
                            to("kernel/module[evil]", Value::present()),
                            to("service[debug-shell]", Value::text("running")),
                            to("service[auditd]", Value::text("disabled")),
                            to("service[apparmor.service]", Value::text("stopped")),
                            to("service[lldpd@x]", Value::text("running")),
                            to("service[lldpd.socket]", Value::text("running")),
                            to("pcie/acs", Value::boolean(false)),
                            to("pcie/acs", Value::boolean(true)),
                            to("interface[rail0]/parameter[fw_load_policy]", Value::text("3")),
                            to("interface[rail0]/setting[SRIOV_EN]", Value::text("true")),
                            to("interface[rail0]/setting[ATS_ENABLED]", Value::text("true"))})
    EXPECT_TRUE(policy.why_not(one)) << one.path.text();
}

TEST(HostPolicy, ByDefaultAllowsWhatProfilesNeed) {
  const HostPolicy policy = HostPolicy::by_default("gpu1");
  for (const Change& one :
       {sysctl("net.ipv4.conf.all.arp_ignore"), sysctl("net.ipv4.conf.rail0.rp_filter"),
        sysctl("net.ipv4.tcp_rmem"), sysctl("net.core.rmem_max"), sysctl("net.ipv6.conf.all.forwarding"),
        sysctl("vm.nr_hugepages"), sysctl("vm.max_map_count"), sysctl("kernel.numa_balancing"),
        to("service[lldpd]", Value::text("running")),
        to("service[irqbalance.service]", Value::text("stopped")), to("memlock", Value::text("unlimited")),
        to("cpu/governor", Value::text("performance")), to("nccl/traffic-class", Value::integer(106)),
        to("pcie/max-read-request", Value::integer(4096)), to("interface[rail0]/mtu", Value::integer(9000)),
        to("interface[rail0]/address[10.64.0.1/31]", Value::present()),
        to("interface[rail0]/parameter[enable_roce]", Value::text("true")),
        to("bgp/asn", Value::integer(4'200'000'000))})
    EXPECT_EQ(why(policy, one), "allowed") << one.path.text();
}

// A new setting in the schema that no policy mentions is refused.
TEST(HostPolicy, EveryPowerfulSettingNeedsARuleThatNamesIt) {
  const HostPolicy policy = HostPolicy::by_default("gpu1");
  std::size_t powerful = 0;
  for (RowId id = 0; id < kSchema.size(); ++id) {
    if (schema_row(id).power < Power::dma_isolation) continue;
    ++powerful;
    std::string path(schema_row(id).pattern);
    for (std::size_t at = path.find('*'); at != path.npos; at = path.find('*', at)) path.replace(at, 1, "x");
    EXPECT_TRUE(policy.why_not(to(path, Value::text("1")))) << path;
  }
  EXPECT_GE(powerful, 9U);
}

TEST(HostPolicy, AFirmwareSettingIsMatchedByItsDevlinkParameterName) {
  const HostPolicy policy = policy_of("\n  deviceParameters: {allow: [enable_sriov, ROCE_CONTROL]}\n");
  EXPECT_EQ(why(policy, to("interface[rail0]/parameter[enable_sriov]", Value::text("true"))), "allowed");
  EXPECT_EQ(why(policy, to("interface[rail0]/setting[SRIOV_EN]", Value::text("true"))), "allowed");
  EXPECT_EQ(why(policy, to("interface[rail0]/setting[ROCE_CONTROL]", Value::text("ROCE_ENABLE"))), "allowed");
  EXPECT_NE(why(policy, to("interface[rail0]/setting[NUM_OF_VFS]", Value::text("8"))).find("'total_vfs'"),
            std::string::npos);
}

TEST(HostPolicy, RawRowsOfASwitchNeedTheirTable) {
  const auto raw = [](const char* driver, const char* name) {
    return Change{Path(row("raw[*][*]"), {driver, name}), {}, Value::text("x")};
  };
  const Change vlan = raw("sonic", "VLAN|Vlan20 vlanid");
  EXPECT_EQ(why(HostPolicy::by_default("leaf0"), vlan),
            "table of CONFIG_DB 'VLAN' is not among spec.tables (the default: there is no "
            "/etc/lockstep/host.yaml)");
  const HostPolicy policy = policy_of("\n  tables: {allow: [VLAN, \"BUFFER_*\"], refuse: [BUFFER_POOL]}\n");
  EXPECT_EQ(why(policy, vlan), "allowed");
  EXPECT_EQ(why(policy, raw("sonic", "BUFFER_PG|Ethernet0|3 profile")), "allowed");
  EXPECT_EQ(why(policy, raw("sonic", "BUFFER_POOL|egress_lossy_pool size")),
            "table of CONFIG_DB 'BUFFER_POOL' is refused, at host.yaml:5:48");
  EXPECT_NE(why(policy, raw("sonic", "FEATURE|telemetry state")), "allowed") << "it starts containers";
  EXPECT_NE(why(policy, raw("linux", "VLAN|Vlan20 vlanid")), "allowed") << "no rule is for that";
  const HostPolicy ports = policy_of(
      "\n  tables: {allow: [\"*\"]}\n  interfaces: {refuse: [Ethernet0]}\n  addresses: [10.0.0.0/8]\n");
  EXPECT_EQ(why(ports, raw("sonic", "PORT|Ethernet8 mtu")), "allowed");
  EXPECT_NE(why(ports, raw("sonic", "PORT|Ethernet0 mtu")).find("'Ethernet0'"), std::string::npos);
  EXPECT_NE(why(ports, raw("sonic", "QUEUE|Ethernet0|3 scheduler")).find("'Ethernet0'"), std::string::npos);
  EXPECT_EQ(why(ports, raw("sonic", "INTERFACE|Ethernet8|10.0.0.1/31 ")), "allowed");
  EXPECT_NE(why(ports, raw("sonic", "INTERFACE|Ethernet8|192.0.2.1/31 ")), "allowed");
  EXPECT_NE(why(ports, to("pfc-watchdog/poll-interval", Value::integer(100))), "allowed")
      << "it is of all ports";
}

TEST(HostPolicy, EveryWritableSettingDeclaresItsPower) {
  for (const Row& row : kSchema) {
    const bool read_only = row.facet == Facet::effect || row.takes == Takes::read_only;
    EXPECT_EQ(row.power == Power::none, read_only) << row.pattern;
  }
}

TEST(HostPolicy, TheLongestRuleDecidesAndAFileOverridesTheDefault) {
  const HostPolicy policy = policy_of(R"(
  sysctls: {allow: [net.core.default_qdisc, "kernel.sched_*"], refuse: ["net.ipv4.conf.*", vm.nr_hugepages]}
  services: {allow: ["nvidia-*", chrony.service], refuse: [nvidia-persistenced]}
  modules: {allow: [nvidia-peermem]}
)");
  EXPECT_EQ(why(policy, sysctl("net.core.default_qdisc")), "allowed");
  EXPECT_EQ(why(policy, sysctl("kernel.sched_migration_cost_ns")), "allowed");
  EXPECT_EQ(why(policy, sysctl("net.ipv4.tcp_rmem")), "allowed");
  EXPECT_EQ(why(policy, sysctl("net.ipv4.conf.all.rp_filter")),
            "kernel parameter 'net.ipv4.conf.all.rp_filter' is refused, at host.yaml:5:73");
  EXPECT_EQ(why(policy, sysctl("vm.nr_hugepages")),
            "kernel parameter 'vm.nr_hugepages' is refused, at host.yaml:5:92");
  EXPECT_EQ(
      why(policy, sysctl("kernel.core_pattern")),
      "kernel parameter 'kernel.core_pattern' is not among spec.sysctls (the default, as host.yaml says "
      "nothing of it)");
  EXPECT_EQ(why(policy, to("service[nvidia-fabricmanager]", Value::text("running"))), "allowed");
  EXPECT_EQ(why(policy, to("service[chrony]", Value::text("stopped"))), "allowed");
  EXPECT_NE(why(policy, to("service[nvidia-persistenced.service]", Value::text("running"))), "allowed");
  EXPECT_EQ(why(policy, to("kernel/module[nvidia_peermem]", Value::present())), "allowed") << "modprobe(8)";
  EXPECT_NE(why(policy, to("kernel/module[nvidia]", Value::present())), "allowed");
}

TEST(HostPolicy, RefusesChangesToProtectedInterfaces) {
  const HostPolicy policy = policy_of("  interfaces: {refuse: [eth0, \"docker*\"]}\n");
  for (const Change& one :
       {to("interface[eth0]/mtu", Value::integer(9000)),
        to("interface[docker0]/admin", Value::boolean(false)),
        to("interface[eth0]/address[10.0.0.1/24]", {}, Value::present()),
        to("sysctl[net.ipv4.conf.eth0.rp_filter]", Value::text("0")),
        to("sysctl[net.ipv6.neigh.docker0.gc_stale_time]", Value::text("9")),
        to("route[main:10.0.0.0/8]", Value::set({"via 10.0.0.1 dev rail0", "via 10.0.0.2 dev eth0"})),
        to("route[main:10.0.0.0/8]", {}, Value::set({"via 10.0.0.2 dev eth0"})),
        to("bgp/neighbor[eth0]", Value::present()),
        to("bgp/neighbor[eth0]/remote-as", Value::text("external")), to("bond[eth0]", Value::present()),
        to("bond[b0]/members", Value::set({"rail0", "eth0"}))})
    EXPECT_NE(why(policy, one).find("host.yaml:4:"), std::string::npos) << one.path.text();
  EXPECT_EQ(why(policy, to("interface[rail0]/mtu", Value::integer(9000))), "allowed");
  const HostPolicy rails = policy_of("  interfaces: {refuse: [\"*\"], allow: [\"rail*\"]}\n");
  EXPECT_EQ(why(rails, to("interface[rail7]/mtu", Value::integer(9000))), "allowed");
  EXPECT_NE(why(rails, to("interface[eth0]/mtu", Value::integer(9000))), "allowed");
}

// disable_ipv6 of conf.all removes the IPv6 addresses of mgmt0, and ip_forward enables forwarding on it.
TEST(HostPolicy, SettingsForEveryInterfaceAffectProtectedOnes) {
  const HostPolicy policy = policy_of("  interfaces: {refuse: [mgmt0]}\n");
  const HostPolicy only = policy_of("  interfaces: {allow: [\"rail*\"]}\n");
  for (const Change& one :
       {sysctl("net.ipv6.conf.all.disable_ipv6"), sysctl("net.ipv4.ip_forward"),
        sysctl("net.ipv4.conf.default.rp_filter"), to("cpu/irq-affinity", Value::text("spread")),
        to("pcie/max-read-request", Value::integer(4096))}) {
    EXPECT_NE(policy.why_not(one), std::nullopt) << one.path.text();
    EXPECT_NE(why(only, one), "allowed") << one.path.text();
  }
  EXPECT_NE(why(policy, to("cpu/irq-affinity", Value::text("spread")))
                .find("it concerns every interface, and 'mgmt0' is refused, at host.yaml:4:"),
            std::string::npos);
  EXPECT_EQ(why(policy, sysctl("net.ipv4.tcp_rmem")), "allowed");
  EXPECT_NE(why(only, to("interface[mgmt0]/mtu", Value::integer(9000))), "allowed");
  EXPECT_EQ(why(only, to("interface[rail0]/mtu", Value::integer(9000))), "allowed");
}

TEST(HostPolicy, ARefusalInAFileAlwaysTakesEffect) {
  for (const char* const rule : {"\"*\"", "\"net.*\"", "\"net.ipv4.*\"", "net.ipv4.tcp_mtu_probing"})
    EXPECT_NE(why(policy_of(std::string("  sysctls: {refuse: [") + rule + "]}\n"),
                  sysctl("net.ipv4.tcp_mtu_probing")),
              "allowed")
        << rule;
  for (const char* const rule : {"net.ipv4.ip_forward", "net.ipv4.conf.all.forwarding"}) {
    const HostPolicy policy = policy_of(std::string("  sysctls: {refuse: [") + rule + "]}\n");
    EXPECT_NE(why(policy, sysctl("net.ipv4.ip_forward")), "allowed") << "one parameter by two names";
    EXPECT_NE(why(policy, sysctl("net.ipv4.conf.all.forwarding")), "allowed") << rule;
  }
  const HostPolicy wide = policy_of("  sysctls: {allow: [\"net.*\"]}\n");
  EXPECT_EQ(why(wide, sysctl("net.netfilter.nf_conntrack_max")), "allowed");
  EXPECT_NE(why(wide, sysctl("net.core.bpf_jit_harden")), "allowed") << "the default's refusal is longer";
}

TEST(HostPolicy, ChecksAddressBlocksAndAsNumbers) {
  const HostPolicy policy =
      policy_of("  addresses: [10.64.0.0/16, 'fd00::/8']\n  asns: [64512-64520, 65000]\n");
  for (const Change& one :
       {to("interface[rail0]/address[10.64.1.0/31]", Value::present()),
        to("interface[rail0]/address[fd00::1/64]", Value::present()),
        to("route[main:10.64.0.0/17]", Value::set({"via 10.64.0.1 dev rail0"})),
        to("route[1000:0.0.0.0/0]", Value::set({"via 10.64.0.1 dev rail0"})),
        to("rule[1000]", Value::text("from 10.64.0.1/32 lookup 1000")), to("bgp/asn", Value::integer(64512)),
        to("bgp/asn", Value::integer(65000)), to("bgp/aggregate[10.64.0.0/24]", Value::present())})
    EXPECT_EQ(why(policy, one), "allowed") << one.path.text();
  for (const Change& one :
       {to("interface[rail0]/address[192.0.2.1/24]", Value::present()),
        to("interface[rail0]/address[192.0.2.1/24]", {}, Value::present()),
        to("interface[rail0]/address[10.64.0.1/8]", Value::present()),
        to("route[100:0.0.0.0/0]", Value::set({"via 10.64.0.1 dev rail0"})),
        to("route[1000:192.0.2.0/24]", Value::set({"via 10.64.0.1 dev rail0"})),
        to("route[main:0.0.0.0/0]", Value::set({"via 10.64.0.1 dev rail0"})),
        to("route[254:0.0.0.0/0]", Value::set({"via 10.64.0.1 dev rail0"})),
        to("route[default:192.0.2.0/24]", Value::set({"via 10.64.0.1 dev rail0"})),
        to("rule[1000]", Value::text("from all lookup 1000")),
        to("rule[1000]", Value::text("from 0.0.0.0/0 lookup 1000")),
        to("rule[1000]", Value::text("from 10.64.0.1/32 lookup 9"),
           Value::text("from 192.0.2.0/24 lookup 9")),
        to("bgp/asn", Value::integer(65001)), to("bgp/aggregate[0.0.0.0/0]", Value::present())})
    EXPECT_NE(why(policy, one), "allowed") << one.path.text() << " " << one.want.to_string();
}

TEST(HostPolicy, SpecsMustNameThisMachine) {
  const HostPolicy by_name = HostPolicy::by_default("gpu1.example.com");
  EXPECT_FALSE(by_name.why_not_device("gpu1", "pod1"));
  EXPECT_FALSE(by_name.why_not_device("gpu1.example.com", "any"));
  for (const char* const other : {"this-machine", "gpu10", "gpu", "gpu1.example", ""})
    EXPECT_TRUE(by_name.why_not_device(other, "pod1")) << other;
  const HostPolicy said = policy_of("  device: node7\n  cluster: pod1\n");
  EXPECT_FALSE(said.why_not_device("node7", "pod1"));
  EXPECT_EQ(said.why_not_device("gpu1", "pod1").value_or(""),
            "the specs call this machine 'gpu1', and it is 'node7', at host.yaml:4:11");
  EXPECT_EQ(said.why_not_device("node7", "pod2").value_or(""),
            "the specs are of cluster 'pod2', and this machine is of 'pod1', at host.yaml:5:12");
}

TEST(HostPolicy, ChecksDriversPciAndWaivers) {
  const HostPolicy policy =
      policy_of("  drivers: [linux]\n  pci: {acs: allow}\n  waivers: {approval: refuse, deletion: refuse}\n");
  EXPECT_FALSE(policy.why_not_driver(DriverName::linux_kernel));
  EXPECT_TRUE(policy.why_not_driver(DriverName::frr));
  EXPECT_EQ(why(policy, to("pcie/acs", Value::boolean(false))), "allowed");
  EXPECT_EQ(policy.why_not_unasked().value_or(""),
            "this host's policy wants an answer at the prompt, at host.yaml:6:23");
  EXPECT_TRUE(policy.why_not_confirm_deletion());
  const HostPolicy other = HostPolicy::by_default("gpu1");
  EXPECT_FALSE(other.why_not_driver(DriverName::frr));
  EXPECT_FALSE(other.why_not_unasked());
  EXPECT_FALSE(other.why_not_confirm_deletion());
}

TEST(HostPolicy, AFileWithAnErrorAllowsNothing) {
  for (const char* const text :
       {"  sysctl: {allow: []}\n", "  sysctls: [vm.swappiness]\n", "  asns: [first]\n",
        "  addresses: [10.0.0.0]\n", "  pci: {acs: off}\n", "  sysctls: {allow: [\"net.*.conf\"]}\n",
        "  waivers: {approval: perhaps}\n", "  drivers: []\n", "  addresses: []\n", "  asns: []\n",
        "  interfaces: {refuse: [\"rail[0-1]\"]}\n", "  sysctls: {refuse: [net/ipv4/tcp_mtu_probing]}\n",
        "  sysctls: {refuse: [nett.ipv4.tcp_mtu_probing]}\n", "  sysctls: {allow: [swappiness]}\n",
        "  services: {allow: [chrony], refuse: [chrony]}\n", "  addresses: [10.64.0.1/16]\n",
        "  device: gpu1\n---\nspec: {}\n", "  drivers: [linux, windows]\n", "  device: [\n"}) {
    Diagnostics wrong;
    const HostPolicy policy = policy_of(text, &wrong);
    EXPECT_TRUE(has_errors(wrong)) << text;
    EXPECT_FALSE(policy.broken().empty()) << text;
    EXPECT_TRUE(policy.why_not(sysctl("net.core.rmem_max"))) << text;
    EXPECT_TRUE(policy.why_not_device("gpu1", "pod1")) << text;
    EXPECT_TRUE(policy.why_not_driver(DriverName::linux_kernel)) << text;
    EXPECT_TRUE(policy.why_not_unasked()) << text;
    EXPECT_TRUE(policy.why_not_confirm_deletion()) << text;
  }
}

TEST(HostPolicy, TheTemplateIsTheDefault) {
  Sources sources;
  Diagnostics wrong;
  const HostPolicy written = HostPolicy::from_text("host.yaml", host_policy_template("gpu1.example.com"),
                                                   "gpu1.example.com", sources, wrong);
  ASSERT_TRUE(wrong.empty()) << wrong.front().message;
  const std::vector<HostPolicy::Line> is = written.lines();
  const std::vector<HostPolicy::Line> was = HostPolicy::by_default("gpu1").lines();
  ASSERT_EQ(is.size(), was.size());
  for (std::size_t i = 0; i < is.size(); ++i) {
    EXPECT_EQ(is[i].field, was[i].field);
    EXPECT_EQ(is[i].says, was[i].says);
  }
  // The examples in its comments are valid policies too.
  std::string shown = host_policy_template("gpu1");
  for (std::size_t at = shown.find("\n  # "); at != shown.npos; at = shown.find("\n  # ", at + 1))
    if (shown.substr(at + 5, 9) != "approval:" && shown.substr(at + 5, 9) != "deletion:")
      shown.erase(at + 3, 2);
  (void)HostPolicy::from_text("host.yaml", shown, "gpu1", sources, wrong);
  EXPECT_TRUE(wrong.empty()) << wrong.front().message << " in\n" << shown;
}

class PolicyFile : public testing::Test {
 protected:
  void SetUp() override {
    LOCKSTEP_NEEDS_ROOT("a policy is root's");
    char name[] = "/tmp/lockstep-policy-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    file_ = folder_ + "/host.yaml";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& spec = "  sysctls: {allow: [kernel.core_pattern]}\n") {
    std::ofstream(file_) << kHead << spec;
    ASSERT_EQ(::chmod(file_.c_str(), 0644), 0);
  }
  HostPolicy read() const { return HostPolicy::read(file_, "gpu1"); }
  // An untrusted file allows neither its own rules nor what the default allows.
  void expect_nothing_allowed(const std::string& because) const {
    const HostPolicy policy = read();
    EXPECT_NE(policy.broken().find(because), std::string::npos) << policy.broken();
    EXPECT_TRUE(policy.why_not(sysctl("kernel.core_pattern")));
    EXPECT_TRUE(policy.why_not(sysctl("net.core.rmem_max")));
  }
  std::string folder_;
  std::string file_;
};

TEST_F(PolicyFile, OwnedByRootTakesEffect) {
  write();
  EXPECT_EQ(why(read(), sysctl("kernel.core_pattern")), "allowed");
  EXPECT_FALSE(read().is_default());
}

TEST_F(PolicyFile, ThatIsMissingMeansTheDefault) {
  EXPECT_TRUE(read().is_default());
  EXPECT_TRUE(HostPolicy::read(folder_ + "/none/host.yaml", "gpu1").is_default());
  EXPECT_EQ(why(read(), sysctl("net.core.rmem_max")), "allowed");
}

TEST_F(PolicyFile, WritableByOthersIsNotTrusted) {
  write();
  for (const mode_t mode : {0664U, 0646U, 0666U}) {
    ASSERT_EQ(::chmod(file_.c_str(), mode), 0);
    expect_nothing_allowed("can be written by");
  }
}

TEST_F(PolicyFile, OfAnotherUserIsNotTrusted) {
  write();
  ASSERT_EQ(::chown(file_.c_str(), 65534, 0), 0);
  expect_nothing_allowed("belongs to user 65534");
}

TEST_F(PolicyFile, InAFolderThatOthersMayWriteIsNotTrusted) {
  write();
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  expect_nothing_allowed("can be written by");
  ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
  ASSERT_EQ(::chown(folder_.c_str(), 65534, 0), 0);
  expect_nothing_allowed("belongs to user 65534");
}

TEST_F(PolicyFile, ThatIsALinkADeviceOrAPipeIsNotTrusted) {
  std::ofstream(folder_ + "/draft.yaml") << kHead << "  device: gpu1\n";
  ASSERT_EQ(::symlink("draft.yaml", file_.c_str()), 0);
  expect_nothing_allowed("symbolic link");
  ASSERT_EQ(::unlink(file_.c_str()), 0);
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  expect_nothing_allowed("no regular file");
  ASSERT_EQ(::unlink(file_.c_str()), 0);
  ASSERT_EQ(::mkdir(file_.c_str(), 0755), 0);
  expect_nothing_allowed("no regular file");
}

// Owners of the folders on the path of the link could replace the policy.
TEST_F(PolicyFile, InAFolderThatIsALinkIsNotTrusted) {
  write();
  const std::string link = folder_ + ".link";
  ASSERT_EQ(::symlink(folder_.c_str(), link.c_str()), 0);
  file_ = link + "/host.yaml";
  expect_nothing_allowed("is no folder of its own");
  ASSERT_EQ(::unlink(link.c_str()), 0);
  ASSERT_EQ(::symlink("/nowhere/at/all", link.c_str()), 0);
  expect_nothing_allowed("is no folder of its own");
  ::unlink(link.c_str());
}

TEST_F(PolicyFile, ThatIsHugeIsNotRead) {
  write();
  ASSERT_EQ(::truncate(file_.c_str(), off_t{1} << 40), 0);
  expect_nothing_allowed("larger than 1 MiB");
}

}  // namespace
}  // namespace lockstep
