#include "drivers/linux/host/cpu_list.hpp"
#include "tests/unit/linux/host_lab.hpp"

namespace lockstep {
namespace {

TEST(CpuLists, AreReadAndWrittenAsTheKernelDoes) {
  const auto list = parse_cpu_list("8,0-3,10-11\n");
  ASSERT_TRUE(list);
  EXPECT_EQ(*list, (CpuSet{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(cpu_list_text(*list), "0-3,8,10-11");
  EXPECT_TRUE(parse_cpu_list("")->empty());
  for (const char* wrong : {"a", "1-", "-1", "3-1", "1,,2", "0-99999999", "1 2", "18446744073709551616"})
    EXPECT_FALSE(parse_cpu_list(wrong)) << wrong;
}

using Cpu = HostLab;

TEST_F(Cpu, TheGovernorIsThatOfAllPolicies) {
  EXPECT_EQ(value("cpu/governor"), "powersave");
  EXPECT_EQ(apply("cpu/governor", Value::text("performance")), "");
  EXPECT_EQ(value("cpu/governor"), "performance");
  host.file("sys/devices/system/cpu/cpufreq/policy4/scaling_governor", "powersave\n");
  EXPECT_EQ(value("cpu/governor"), "performance (3 of 4), powersave (1 of 4)");
  EXPECT_NE(apply("cpu/governor", Value::text("ondemand")).find("only: performance powersave"),
            std::string::npos);
}

std::string governor(const std::string& policy) {
  return "sys/devices/system/cpu/cpufreq/" + policy + "/scaling_governor";
}

TEST_F(Cpu, ARefusedGovernorLeavesAllPoliciesUnchanged) {
  host.remove(governor("policy8"));
  // A file that can be read but never written.
  std::filesystem::create_symlink("/proc/sys/kernel/ostype", host.root() / governor("policy8"));
  const std::string before = value("cpu/governor");
  EXPECT_EQ(apply("cpu/governor", Value::text("performance")).substr(0, 7), "denied:");
  EXPECT_EQ(value("cpu/governor"), before);
}

TEST_F(Cpu, RestoresDifferingGovernorsIndividually) {
  host.file(governor("policy4"), "performance\n");
  const std::string before = value("cpu/governor");
  EXPECT_EQ(before, "performance (1 of 4), powersave (3 of 4)");
  EXPECT_EQ(apply("cpu/governor", Value::text("performance")), "");
  EXPECT_EQ(apply("cpu/governor", Value::text(before)), "");
  EXPECT_EQ(value("cpu/governor"), before);
  EXPECT_EQ(host.text(governor("policy4")), "performance\n");
  make({});
  EXPECT_NE(apply("cpu/governor", Value::text(before)).find("has no governor 'performance (1 of 4)"),
            std::string::npos)
      << "another driver does not know which it was";
}

TEST_F(Cpu, AMachineWithoutCpufreqHasNoGovernor) {
  host.remove("sys/devices/system/cpu/cpufreq");
  EXPECT_NE(lacks("cpu/governor").find("cpufreq"), std::string::npos);
  EXPECT_EQ(value("cpu/governor"), "(none)");
  EXPECT_EQ(not_read("cpu/governor"), "");
}

std::string irq(unsigned number) { return "proc/irq/" + std::to_string(number) + "/smp_affinity_list"; }

TEST_F(Cpu, MovesInterruptsToTheNodeOfTheirNic) {
  EXPECT_EQ(value("cpu/irq-affinity"), "none");
  host.file(irq(100), "3\n");
  EXPECT_EQ(value("cpu/irq-affinity"), "8 of 9 interrupts off their NIC's NUMA node");
  EXPECT_EQ(apply("cpu/irq-affinity", Value::text("numa-local")), "");
  EXPECT_EQ(value("cpu/irq-affinity"), "numa-local");
  EXPECT_EQ(host.text(irq(100)), "3\n") << "was on its node: left alone";
  EXPECT_EQ(host.text(irq(101)), "0-7\n");
  EXPECT_EQ(host.text(irq(108)), "8-15\n");
  host.file(irq(101), "0-8\n");
  EXPECT_EQ(value("cpu/irq-affinity"), "1 of 9 interrupts off their NIC's NUMA node");
}

TEST_F(Cpu, InterruptsAreSpreadOrLeftToAllCpus) {
  host.remove(RecordedHost::sysfs("0000:02:00.0") + "/msi_irqs");  // one interrupt cannot use two nodes
  EXPECT_EQ(apply("cpu/irq-affinity", Value::text("spread")), "");
  EXPECT_EQ(value("cpu/irq-affinity"), "spread");
  EXPECT_EQ(host.text(irq(103)), "12\n");
  EXPECT_EQ(apply("cpu/irq-affinity", Value::text("none")), "");
  EXPECT_EQ(host.text(irq(103)), "0-15\n");
  EXPECT_EQ(value("cpu/irq-affinity"), "none");
}

TEST_F(Cpu, ARefusingInterruptLeavesAllUnchanged) {
  host.remove(irq(109));
  // A file that reads as a list of CPUs but can never be written.
  std::filesystem::create_symlink("/sys/devices/system/cpu/online", host.root() / irq(109));
  const std::string before = value("cpu/irq-affinity");
  EXPECT_EQ(apply("cpu/irq-affinity", Value::text("numa-local")).substr(0, 7), "denied:");
  EXPECT_EQ(value("cpu/irq-affinity"), before);
  for (const unsigned number : {60U, 100U, 103U, 108U}) EXPECT_EQ(host.text(irq(number)), "0-15\n") << number;
}

TEST_F(Cpu, RestoresArbitraryInterruptAffinities) {
  host.file(irq(100), "3\n");
  host.file(irq(108), "4-5\n");
  const std::string before = value("cpu/irq-affinity");
  EXPECT_EQ(before, "8 of 9 interrupts off their NIC's NUMA node");
  EXPECT_EQ(apply("cpu/irq-affinity", Value::text("numa-local")), "");
  EXPECT_EQ(host.text(irq(108)), "8-15\n");
  EXPECT_EQ(apply("cpu/irq-affinity", Value::text(before)), "");
  EXPECT_EQ(value("cpu/irq-affinity"), before);
  EXPECT_EQ(host.text(irq(108)), "4-5\n");
  EXPECT_EQ(host.text(irq(100)), "3\n");
}

TEST_F(Cpu, ReportsARunningIrqbalanceAndChangesNothing) {
  host.file("proc/4711/comm", "irqbalance\n");
  EXPECT_NE(apply("cpu/irq-affinity", Value::text("numa-local")).find("irqbalance (process 4711)"),
            std::string::npos);
  EXPECT_EQ(host.text(irq(100)), "0-15\n");
  EXPECT_EQ(value("cpu/irq-affinity"), "moved by irqbalance");
  for (const unsigned number : {60U, 100U, 101U, 102U, 103U}) host.file(irq(number), "0-7\n");
  for (const unsigned number : {108U, 109U, 110U, 111U}) host.file(irq(number), "8\n");
  EXPECT_EQ(value("cpu/irq-affinity"), "numa-local") << "as wanted, whoever did it";
}

TEST_F(Cpu, OnOneNodeAllCpusAreLocal) {
  host.remove("sys/devices/system/node/node1");
  host.file("sys/devices/system/node/node0/cpulist", "0-15\n");
  for (unsigned i = 0; i < 2; ++i)
    host.file(RecordedHost::sysfs(RecordedHost::nic(i)) + "/local_cpulist", "0-15\n");
  host.file(RecordedHost::sysfs("0000:02:00.0") + "/local_cpulist", "0-15\n");
  EXPECT_EQ(value("cpu/irq-affinity"), "numa-local");
  EXPECT_NE(apply("cpu/irq-affinity", Value::text("spread")).find("one NUMA node"), std::string::npos);
}

TEST_F(Cpu, AnInvalidAffinityIsUnread) {
  host.file(irq(100), "all of them\n");
  EXPECT_NE(not_read("cpu/irq-affinity").find("is not a list of CPUs"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
