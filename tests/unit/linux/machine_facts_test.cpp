// What a machine says of itself, from recorded files and from this machine.
#include "drivers/linux/host/machine_facts.hpp"

#include <gtest/gtest.h>
#include <sys/utsname.h>

#include "tests/unit/linux/host_tree.hpp"

namespace lockstep {
namespace {

TEST(MachineFacts, AreWhatTheMakerTheDistributionAndTheKernelSay) {
  RecordedHost host;
  host.file("proc/sys/kernel/osrelease", "6.1.0-23-amd64\n");
  host.file("etc/os-release", "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=x\n");
  host.file("sys/class/dmi/id/sys_vendor", "NVIDIA\n");
  host.file("sys/class/dmi/id/product_name", "DGXH100 \n");
  host.file("sys/class/dmi/id/product_serial", "1660523000031\n");
  host.file("sys/class/dmi/id/bios_version", "1.1.3\n");
  host.file("sys/module/nvidia/version", "550.54.15\n");
  const HostFiles files(host.root());
  const Facts shared{{"kernel", "6.1.0-23-amd64"}, {"os", "Debian GNU/Linux 12 (bookworm)"}};
  Facts all = shared;
  all.merge(Facts{{"vendor", "NVIDIA"},
                  {"model", "DGXH100"},
                  {"serial", "1660523000031"},
                  {"firmware", "1.1.3"},
                  {"gpuDriver", "550.54.15"}});
  EXPECT_EQ(machine_facts(files, false), all);
  EXPECT_EQ(machine_facts(files, true), shared) << "a network namespace has no maker";
}

TEST(MachineFacts, AreLeftOutWhereNothingIsSaidAndBoundedWhereTooMuchIs) {
  RecordedHost host;
  EXPECT_TRUE(machine_facts(HostFiles(host.root() / "nothing"), false).empty());
  host.file("sys/class/dmi/id/sys_vendor", " \n");
  host.file("sys/class/dmi/id/product_name", std::string(5000, 'x') + "\n");
  host.file("sys/class/dmi/id/product_serial", "a\x1b[31mb\xff\n");
  host.file("etc/os-release", "NOT_PRETTY_NAME=x\n");
  const Facts facts = machine_facts(HostFiles(host.root()), false);
  EXPECT_FALSE(facts.contains("vendor"));
  EXPECT_EQ(facts.at("model").size(), 200U);
  EXPECT_EQ(facts.at("serial"), "a\\x1b[31mb\\xff");
  EXPECT_FALSE(facts.contains("os"));
  host.file("etc/os-release", "PRETTY_NAME=plain\n");
  EXPECT_EQ(machine_facts(HostFiles(host.root()), false).at("os"), "plain");
}

TEST(MachineFacts, HaveTheKernelThatRunsHere) {
  utsname kernel{};
  ASSERT_EQ(uname(&kernel), 0);
  EXPECT_EQ(machine_facts(HostFiles("/"), false).at("kernel"), kernel.release);
}

}  // namespace
}  // namespace lockstep
