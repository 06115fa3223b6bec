// The same commands over a real sshd on loopback, with a host key and a user key of its own: that the script,
// its input and its exit codes are what they are without a network, and how ssh's own refusals are told. The
// switch behind it is the stand-in.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/posix/program.hpp"
#include "drivers/posix/wait.hpp"
#include "drivers/sonic/patch_driver.hpp"
#include "specs/files/descriptor.hpp"
#include "tests/needs.hpp"
#include "tests/sonic_commands/switch_folder.hpp"
#include "tests/unit/sonic/changes.hpp"
#include "tests/unit/sonic/redis_process.hpp"

namespace lockstep::sonic {
namespace {

using Json = nlohmann::json;

constexpr const char* kSshDaemon = "/usr/sbin/sshd";

std::uint16_t unused_port() {
  const Descriptor one(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in local{};
  local.sin_family = AF_INET;
  local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof local;
  (void)::bind(one.number(), reinterpret_cast<sockaddr*>(&local), size);
  (void)::getsockname(one.number(), reinterpret_cast<sockaddr*>(&local), &size);
  return ntohs(local.sin_port);
}

bool listens(std::uint16_t port) {
  const Descriptor one(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in local{};
  local.sin_family = AF_INET;
  local.sin_port = htons(port);
  local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::connect(one.number(), reinterpret_cast<sockaddr*>(&local), sizeof local) == 0;
}

class SonicOverSsh : public testing::Test {
 protected:
  void SetUp() override {
    if (::access(kSshDaemon, X_OK) != 0) LOCKSTEP_NOT_TESTED_BUT_ON_CI("needs sshd: install openssh-server");
    const passwd* const self = ::getpwuid(::geteuid());
    if (self == nullptr || std::string(self->pw_shell).ends_with("nologin"))
      LOCKSTEP_NOT_TESTED_BUT_ON_CI("sshd lets nobody without a shell log in, and this user has none");
    user = self->pw_name;
    if (::geteuid() == 0) std::filesystem::create_directories("/run/sshd");  // sshd(8): its empty folder
    for (const char* const name : {"host", "user", "stranger"})
      ASSERT_TRUE(run({.name = "ssh-keygen",
                       .words = {"-q", "-t", "ed25519", "-N", "", "-f", folder / name},
                       .patience = std::chrono::seconds(20)}));
    port = unused_port();
    folder.write("authorized", "restrict,command=\"" + folder / "bin/login" + " login " + folder / "" +
                                   "\" " + folder.read("user.pub"));
    folder.write("sshd_config", "ListenAddress 127.0.0.1:" + std::to_string(port) + "\nHostKey " +
                                    folder / "host" + "\nAuthorizedKeysFile " + folder / "authorized" +
                                    "\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n"
                                    "KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n"
                                    "PidFile none\nLogLevel QUIET\n");
    trust("host");
    start_daemon();
    folder.write("config.json",
                 R"({"PORT": {"Ethernet0": {"lanes": "0", "speed": "400000", "mtu": "9100"}}})");
  }
  void TearDown() override {
    if (daemon <= 0) return;
    (void)::kill(daemon, SIGKILL);
    (void)::waitpid(daemon, nullptr, 0);
  }
  void start_daemon() {
    std::string words[] = {kSshDaemon, "-D", "-e", "-f", folder / "sshd_config"};
    char* argv[] = {words[0].data(), words[1].data(), words[2].data(),
                    words[3].data(), words[4].data(), nullptr};
    ASSERT_EQ(::posix_spawn(&daemon, kSshDaemon, nullptr, nullptr, argv, environ), 0);
    const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!listens(port) && std::chrono::steady_clock::now() < latest)
      (void)pause(std::chrono::milliseconds(5), patient());
    ASSERT_TRUE(listens(port));
  }
  void trust(const std::string& key) const {
    folder.write("known_hosts", "[127.0.0.1]:" + std::to_string(port) + " " +
                                    folder.read(key + ".pub").substr(0, 80) + "\n");
  }
  // ssh with a configuration of its own, as an operator's would be.
  SonicPatchTarget target(const std::string& key = "user") const {
    folder.write("ssh_config", "IdentityFile " + folder / key + "\nIdentitiesOnly yes\nUserKnownHostsFile " +
                                   folder / "known_hosts" +
                                   "\nGlobalKnownHostsFile /dev/null\nStrictHostKeyChecking yes\n");
    folder.write("real-ssh", "#!/bin/sh\nexec ssh -F '" + folder / "ssh_config" + "' \"$@\"\n");
    std::filesystem::permissions(folder / "real-ssh", std::filesystem::perms::owner_all);
    return {.device = "leaf0",
            .server = {.user = user, .host = "127.0.0.1", .port = port},
            .ssh_program = folder / "real-ssh",
            .checkpoints = folder / "checkpoints"};
  }

  stand_in::SwitchFolder folder{LOCKSTEP_SONIC_STAND_IN};
  std::string user;
  std::uint16_t port = 0;
  pid_t daemon = -1;
};

TEST_F(SonicOverSsh, ReadsAndChanges) {
  const Attached leaf = make_sonic_patch_driver(target());
  EXPECT_EQ(leaf.address, IpAddress::parse("127.0.0.1"));
  const auto seen = leaf.driver->observe(Scope{}, "", patient());
  ASSERT_TRUE(seen) << said(seen);
  EXPECT_EQ(seen->have.value(*Path::parse("interface[Ethernet0]/mtu")), Value::integer(9100));
  // A value that a shell would take apart.
  const std::string odd = "a'b\"c $(id) `id` \\ ; é";
  const ChangeSet changes{
      change("interface[Ethernet0]/mtu", Value::integer(9216)),
      {Path(row("raw[*][*]"), {"sonic", "PORT|Ethernet0 description"}), {}, Value::text(odd)}};
  Guard guard{"t1", seen->revision, 0, {}};
  guard.transaction = "$(touch x)'\"";
  const auto receipt = leaf.driver->apply(changes, guard, patient());
  ASSERT_TRUE(receipt) << said(receipt);
  for (const auto& one : receipt->outcomes) EXPECT_FALSE(one.error) << one.error->text();
  EXPECT_EQ(folder.config().at("PORT").at("Ethernet0").at("mtu"), "9216");
  EXPECT_EQ(folder.config().at("PORT").at("Ethernet0").at("description"), odd);
  EXPECT_TRUE(std::filesystem::exists(folder / "checkpoints/lockstep---touch-x---.cp.json"));
  EXPECT_TRUE(std::filesystem::is_empty(folder / "tmp"));
}

TEST_F(SonicOverSsh, ExitCodesAndWordsArrive) {
  folder.misbehave({{"config", {{"in", "-d"}, {"what", "refuse"}, {"text", "no such thing"}}}});
  const auto refused = make_sonic_patch_driver(target()).driver->apply(
      {change("interface[Ethernet0]/mtu", Value::integer(9216))}, {}, patient());
  ASSERT_TRUE(refused) << said(refused);
  ASSERT_TRUE(refused->outcomes[0].error);
  EXPECT_EQ(refused->outcomes[0].error->text(),
            user + "@127.0.0.1:" + std::to_string(port) + ": config apply-patch: no such thing");
}

// ssh ends; what runs at the switch, with its output in a file, does not.
TEST_F(SonicOverSsh, AConnectionThatIsCutDoesNotStopAChange) {
  Json two_ports = folder.config();
  two_ports["PORT"]["Ethernet8"] = {{"lanes", "8"}, {"speed", "400000"}, {"mtu", "9100"}};
  folder.set_config(two_ports);
  const ChangeSet changes{change("interface[Ethernet0]/mtu", Value::integer(9216)),
                          change("interface[Ethernet8]/mtu", Value::integer(9216))};
  folder.misbehave({{"config", {{"in", "apply-patch /"}, {"what", "wait"}, {"after", 0}}}});
  const Attached leaf = make_sonic_patch_driver(target());
  const stand_in::StopWhen stop(folder / "waits");
  const auto receipt = leaf.driver->apply(changes, {}, stop.call());
  ASSERT_TRUE(receipt) << said(receipt);
  ASSERT_TRUE(receipt->outcomes[0].error);
  EXPECT_EQ(receipt->outcomes[0].error->kind, ErrorKind::unknown_outcome);
  EXPECT_EQ(folder.config().at("PORT").at("Ethernet0").at("mtu"), "9100");
  folder.write("go", "");
  const auto seen = leaf.driver->observe(Scope{}, "", patient());
  ASSERT_TRUE(seen) << said(seen);
  for (const Change& one : changes) EXPECT_EQ(seen->have.value(one.path), one.want) << one.path.text();
}

TEST_F(SonicOverSsh, RefusalsOfSshAreDeniedOrTransient) {
  const auto observe = [](const SonicPatchTarget& at) {
    return make_sonic_patch_driver(at).driver->observe(Scope{}, "", patient());
  };
  const auto stranger = observe(target("stranger"));
  ASSERT_FALSE(stranger);
  EXPECT_EQ(stranger.error().kind, ErrorKind::denied) << said(stranger);
  trust("stranger");
  const auto other_key = observe(target());
  ASSERT_FALSE(other_key);
  EXPECT_EQ(other_key.error().kind, ErrorKind::denied) << said(other_key);
  trust("host");
  EXPECT_TRUE(observe(target()));
  SonicPatchTarget nobody = target();
  nobody.server.port = unused_port();
  const auto refused = observe(nobody);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::transient) << said(refused);
  EXPECT_NE(said(refused).find("Connection refused"), std::string::npos);
}

TEST_F(SonicOverSsh, AServerThatHangsEndsWithTheCall) {
  ASSERT_EQ(::kill(daemon, SIGSTOP), 0);
  const auto begin = std::chrono::steady_clock::now();
  const auto seen = make_sonic_patch_driver(target()).driver->observe(
      Scope{}, "", {.deadline = begin + std::chrono::milliseconds(300), .stop = {}});
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().kind, ErrorKind::transient) << said(seen);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

}  // namespace
}  // namespace lockstep::sonic
