// The choice of the qdisc for a port's classes when the kernel cannot be queried: the driver does not guess.
#include <sched.h>
#include <sys/wait.h>

#include <fstream>
#include <iostream>

#include "tests/needs.hpp"
#include "tests/unit/linux/host_tree.hpp"
#include "tests/unit/linux/lab.hpp"

namespace lockstep {
namespace {

bool write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file.good();
}

// Limits the network namespaces in the user namespace of the process.
bool let_namespaces_be(int count) {
  return write("/proc/sys/user/max_net_namespaces", std::to_string(count));
}

// Moves this process to its own namespaces, with a port with two transmit queues, where no further network
// namespace can be created.
bool enter_a_full_machine() {
  const std::string uid = std::to_string(::geteuid());
  return ::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 && write("/proc/self/uid_map", "0 " + uid + " 1") &&
         shell("ip link add rail0 numtxqueues 2 type veth peer name far0") == 0 && let_namespaces_be(0);
}

bool may_make_user_namespaces() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::unshare(CLONE_NEWUSER) == 0 ? 0 : 1);
  int status = 1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

ChangeSet classes() {
  ChangeSet out;
  for (const char* entry : {"interface[rail0]/class[0]", "interface[rail0]/class[3]"})
    out.push_back({*Path::parse(entry), {}, Value::present(), 0});
  return out;
}

// Prints and counts the changes that did not fail with a transient error.
int not_put_off(const LinuxTarget& target) {
  const Attached attached = make_linux_driver(target);
  const auto receipt = attached.driver->apply(classes(), guarded("t"), within(std::chrono::seconds(5)));
  if (!receipt) return std::cerr << receipt.error().text() << '\n', 1;
  int out = 0;
  for (const auto& [path, error] : receipt->outcomes)
    if (!error || error->kind != ErrorKind::transient ||
        error->text().find("throwaway network namespace") == std::string::npos) {
      std::cerr << path.text() << ": " << (error ? error->text() : "done") << '\n';
      ++out;
    }
  return out;
}

int software_classes() {
  if (!enter_a_full_machine()) return std::cerr << "no namespaces of its own\n", 1;
  LinuxTarget target;
  target.device = "gpu1";
  int out = not_put_off(target);
  if (shell_output("tc qdisc show dev rail0").find("4c53:") != std::string::npos) ++out;
  return out;
}

int classes_of_hardware() {
  RecordedHost host(1);
  for (const char* queue : {"tx-0", "tx-1"})
    host.file(std::string("sys/class/net/rail0/queues/") + queue + "/tx_timeout", "0\n");
  if (!enter_a_full_machine()) return std::cerr << "no namespaces of its own\n", 1;
  LinuxTarget target;
  target.device = "gpu1";
  target.software_rate = false;
  target.root = host.root();
  return not_put_off(target);
}

// Each test runs in a process that has not queried the kernel yet.
class UnclearCarrier : public ::testing::Test {
 protected:
  void SetUp() override {
    LOCKSTEP_NEEDS_ROOT("makes namespaces");
    if (!may_make_user_namespaces())
      LOCKSTEP_NOT_TESTED(
          "what is put off on a machine that is full: no user namespaces here (unshare(2): none in a "
          "chroot)");
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  }
};
using UnclearCarrierDeathTest = UnclearCarrier;

TEST_F(UnclearCarrierDeathTest, PostponesClassesOfASoftwarePort) {
  EXPECT_EXIT(std::exit(software_classes()), ::testing::ExitedWithCode(0), "");
}

TEST_F(UnclearCarrierDeathTest, PostponesClassesOfAPortThatMayUseMqprio) {
  EXPECT_EXIT(std::exit(classes_of_hardware()), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace lockstep
