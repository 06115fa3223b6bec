// The whole part: a server of eight GPUs and eight NICs, a twin, and this machine.
#include "drivers/linux/host/map.hpp"
#include "tests/unit/linux/host_lab.hpp"

namespace lockstep {
namespace {

constexpr const char* kWholeHost = R"(cpu/governor = powersave
cpu/irq-affinity = none
firmware[connectx-7] = 28.39.1002
gpu/count = 8
gpu/direct[any] = the module nvidia is not loaded; the module nvidia_peermem is not loaded
gpu/direct[dmabuf] = the module nvidia is not loaded
gpu/direct[peermem] = the module nvidia_peermem is not loaded
gpu/driver = 550.54.15
gpu/nic-affinity = nearest
kernel/module[nvidia_peermem] = present
kernel/parameter[BOOT_IMAGE=/vmlinuz] = present
kernel/parameter[dyndbg="file a.c +p"] = present
kernel/parameter[iommu=pt] = present
kernel/parameter[ro] = present
kernel/parameter[root=/dev/nvme0n1p2] = present
kernel/version = 6.1.0-18-amd64
package[rdma-core] = 44.0-2
pcie/acs = true
pcie/max-read-request = 512
)";

TEST(HostPart, ReadsAWholeServer) {
  const RecordedHost host(8);
  LinuxTarget target;
  target.root = host.root();
  target.nvml_library = "/nonexistent";
  Scope scope;
  for (const char* entry : {"package[rdma-core]", "firmware[connectx-7]"})
    scope.named.push_back(*Path::parse(entry));
  const auto part = host_part(target);
  TreeBuilder tree;
  std::vector<Unread> unread;
  part->read(scope, {}, tree, unread, within(std::chrono::seconds(5)));
  EXPECT_TRUE(unread.empty()) << unread.front().why.text();
  EXPECT_EQ(tree.build().to_string(), kWholeHost);
}

using HostPartTest = HostLab;

TEST_F(HostPartTest, ReadsWithinTheScope) {
  for (const RowId row : part->reads()) {
    TreeBuilder tree;
    part->read(Scope{{row}}, {}, tree, unread, within(std::chrono::seconds(5)));
    const Tree found = tree.build();
    for (const Entry& entry : found.entries()) EXPECT_EQ(entry.path.row(), row);
  }
}

TEST_F(HostPartTest, AnExpiredCallReadsAndWritesNothing) {
  TreeBuilder tree;
  part->read(Scope{}, {}, tree, unread, within(std::chrono::seconds(-1)));
  EXPECT_TRUE(tree.build().entries().empty());
  EXPECT_EQ(unread.size(), part->reads().size());
  const auto answers = part->apply({{path("cpu/governor"), {}, Value::text("performance"), 0}}, {},
                                   within(std::chrono::seconds(-1)));
  ASSERT_TRUE(answers.at(0));
  EXPECT_EQ(value("cpu/governor"), "powersave");
}

TEST_F(HostPartTest, EveryWriteHasANativeCommand) {
  for (const auto& [entry, want] :
       std::vector<std::pair<std::string, Value>>{{"cpu/governor", Value::text("performance")},
                                                  {"cpu/irq-affinity", Value::text("numa-local")},
                                                  {"gpu/ecc", Value::boolean(true)},
                                                  {"gpu/persistence", Value::boolean(true)},
                                                  {"kernel/module[x]", Value::present()},
                                                  {"memlock", Value::text("unlimited")},
                                                  {"pcie/acs", Value::boolean(false)},
                                                  {"pcie/max-read-request", Value::integer(4096)},
                                                  {"service[lldpd]", Value::text("running")}})
    EXPECT_NE(part->native({path(entry), {}, want, 0}), "") << entry;
  EXPECT_EQ(part->native({path("pcie/max-read-request"), {}, Value::integer(4096), 0}),
            "setpci -s NIC CAP_EXP+8.w=5000:7000  # each");
}

TEST_F(HostPartTest, ATwinSupportsNoneOfItAndReportsWhy) {
  LinuxTarget target;
  target.netns_path = "/run/netns/any";
  part = host_part(target);
  const auto lacks = part->incapable({}, {}, within(std::chrono::seconds(5)));
  EXPECT_EQ(lacks.size(), part->reads().size());
  for (const Incapable& one : lacks) EXPECT_TRUE(one.reason.starts_with("host-wide: "));
  EXPECT_TRUE(read().entries().empty());
  EXPECT_TRUE(unread.empty());
  EXPECT_EQ(apply("memlock", Value::text("unlimited")).substr(0, 22), "unsupported: host-wide");
}

TEST(HostPartOfThisMachine, ReadsWhatItHasAndReportsTheRest) {
  const Scope scope{{}, {*Path::parse("package[libc6]")}};
  const auto part = host_part(LinuxTarget{});
  TreeBuilder builder;
  std::vector<Unread> unread;
  part->read(scope, {}, builder, unread, within(std::chrono::seconds(5)));
  const Tree tree = builder.build();
  std::string release = shell_output("uname -r");
  release.pop_back();
  EXPECT_EQ(tree.value(*Path::parse("kernel/version")).to_string(), release);
  EXPECT_EQ(tree.value(*Path::parse("package[libc6]")).to_string(),
            shell_output("dpkg-query -W -f='${Version}' libc6"));
  const auto lacks = part->incapable(scope, {}, within(std::chrono::seconds(5)));
  for (const Incapable& one : lacks) EXPECT_FALSE(one.reason.empty());
}

}  // namespace
}  // namespace lockstep
