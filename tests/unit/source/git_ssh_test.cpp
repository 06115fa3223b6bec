// ssh: a real sshd with a host key of its own, on the loopback of a network namespace that the test made (as
// root; else on that of this machine).
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/loopback.hpp"
#include "tests/needs.hpp"
#include "tests/unit/source/lab.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;
using Trouble = SourceTrouble;

constexpr const char* kSshd = "/usr/sbin/sshd";

// A port that nobody listens on now.
std::uint16_t free_port() {
  const int one = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in local{};
  local.sin_family = AF_INET;
  local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof local;
  (void)::bind(one, reinterpret_cast<sockaddr*>(&local), size);
  (void)::getsockname(one, reinterpret_cast<sockaddr*>(&local), &size);
  ::close(one);
  return ntohs(local.sin_port);
}

// Of this thread and what it starts, while it lives.
class OwnNetwork {
 public:
  OwnNetwork() {
    if (::geteuid() != 0) return;
    former_ = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (former_ < 0 || ::unshare(CLONE_NEWNET) != 0) throw std::runtime_error("no network namespace");
    if (!bring_loopback_up()) throw std::runtime_error("its loopback does not come up");
  }
  ~OwnNetwork() {
    if (former_ < 0) return;
    if (::setns(former_, CLONE_NEWNET) != 0) ADD_FAILURE() << "the former namespace is lost";
    ::close(former_);
  }
  OwnNetwork(const OwnNetwork&) = delete;
  OwnNetwork& operator=(const OwnNetwork&) = delete;

 private:
  int former_ = -1;
};

class GitOverSsh : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::access(kSshd, X_OK) != 0) LOCKSTEP_NOT_TESTED_BUT_ON_CI("needs sshd: install openssh-server");
    if (::geteuid() == 0) fs::create_directories("/run/sshd");  // sshd(8): its empty folder
    for (const std::string name : {"host", "user", "stranger"})
      (void)done({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name});
    port = std::to_string(free_port());
    const passwd* const self = ::getpwuid(::geteuid());
    if (self == nullptr || std::string(self->pw_shell).ends_with("nologin"))
      LOCKSTEP_NOT_TESTED_BUT_ON_CI("sshd lets nobody without a shell log in, and this user has none");
    user = self->pw_name;
    const std::string config = write_text(
        folder / "sshd_config", "ListenAddress 127.0.0.1:" + port + "\nHostKey " + (folder / "host") +
                                    "\nAuthorizedKeysFile " + (folder / "user.pub") +
                                    "\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n"
                                    "KbdInteractiveAuthentication no\nPermitRootLogin "
                                    "prohibit-password\nPidFile none\nLogLevel QUIET\n");
    server = std::make_unique<Background>(std::vector<std::string>{kSshd, "-D", "-e", "-f", config});
    trust("host");
    id = repository.commit({{"a.yaml", "over ssh"}});
    ASSERT_TRUE(becomes_true([&] {
      const int one = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_in local{};
      local.sin_family = AF_INET;
      local.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
      local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      const bool listens = ::connect(one, reinterpret_cast<sockaddr*>(&local), sizeof local) == 0;
      ::close(one);
      return listens;
    }));
  }
  void trust(const std::string& key) const {
    write_text(folder / "known hosts'$(x)",
               "[127.0.0.1]:" + port + " " + done({"cat", folder / (key + ".pub")}));
  }
  GitSettings settings() const {
    return {.address = "ssh://" + user + "@127.0.0.1:" + port + repository.path(),
            .cache = folder / "cache",
            .ssh_key_file = folder / "user",
            .ssh_known_hosts_file = folder / "known hosts'$(x)"};
  }
  static FetchOutcome fetched(const GitSettings& settings) {
    return (*make_git_source(settings))->fetch(within(std::chrono::seconds(20)));
  }

  OwnNetwork network;
  TestFolder folder;
  TestRepository repository{folder / "fabric"};
  std::string port;
  std::string user;
  std::string id;
  std::unique_ptr<Background> server;
};

TEST_F(GitOverSsh, FetchesAndReportsWhatIsMissing) {
  const auto revision = expect_revision(fetched(settings()));
  ASSERT_TRUE(revision);
  EXPECT_EQ(revision->id, id);
  EXPECT_EQ(files_in(revision->folder->path()), (Files{{"a.yaml", "over ssh"}}));
  GitSettings other = settings();
  other.reference.name = "none";
  (void)expect_trouble(fetched(other), Trouble::not_found);
  other.address += "/none";
  EXPECT_NE(expect_trouble(fetched(other), Trouble::not_found).find("repository was not found"),
            std::string::npos);
  EXPECT_EQ(processes_with(other.cache), std::vector<std::string>{});
}

TEST_F(GitOverSsh, RefusesAnotherHostKey) {
  trust("stranger");
  const std::string text = expect_trouble(fetched(settings()), Trouble::denied);
  EXPECT_NE(text.find("sshKnownHostsFile"), text.npos) << text;
  write_text(settings().ssh_known_hosts_file, "");
  (void)expect_trouble(fetched(settings()), Trouble::denied);
  std::ifstream file(settings().ssh_known_hosts_file);
  EXPECT_EQ(file.peek(), std::ifstream::traits_type::eof()) << "no key was learned";
}

TEST_F(GitOverSsh, ReportsARefusedKeyAndUsesNoOther) {
  GitSettings with = settings();
  with.ssh_key_file = folder / "stranger";
  // An agent that has the right key.
  Background agent({"ssh-agent", "-D", "-a", folder / "agent"});
  ASSERT_TRUE(becomes_true([&] { return fs::exists(folder / "agent"); }));
  Variables variables;
  variables.set("SSH_AUTH_SOCK", folder / "agent");
  (void)done({"env", "SSH_AUTH_SOCK=" + (folder / "agent"), "ssh-add", "-q", folder / "user"});
  const std::string text = expect_trouble(fetched(with), Trouble::denied);
  EXPECT_NE(text.find("sshKeyFile"), text.npos) << text;
  fs::permissions(with.ssh_key_file, fs::perms::others_read, fs::perm_options::add);
  EXPECT_NE(expect_trouble(fetched(with), Trouble::local).find("chmod 600"), std::string::npos);
}

// ssh_config(5): `Match exec` runs a command wherever the file is read.
TEST_F(GitOverSsh, ReadsNoConfigurationOfTheMachine) {
  LOCKSTEP_NEEDS_ROOT("mounts another /etc");
  const std::string ran = folder / "ran";
  write_text(folder / "etc/ssh/ssh_config", "Match exec \"touch " + ran + "\"\n  User nobody\n");
  fs::permissions(folder / "etc/ssh/ssh_config", fs::perms::others_read | fs::perms::owner_read);
  const auto right = with_other_etc(folder / "etc", [&] {
    (void)done({"ssh", "-G", "127.0.0.1"});
    if (!fs::remove(ran)) return false;
    return std::holds_alternative<Revision>(fetched(settings())) && !fs::exists(ran);
  });
  if (!right) LOCKSTEP_NOT_TESTED("the kernel mounts no overlay over /etc here");
  EXPECT_TRUE(*right);
}

// It accepts, as the kernel does that for it, and says nothing.
TEST_F(GitOverSsh, EndsWithItsDeadlineIfTheServerHangs) {
  ASSERT_EQ(::kill(server->pid(), SIGSTOP), 0);
  const auto begin = std::chrono::steady_clock::now();
  const std::string text = expect_trouble(
      (*make_git_source(settings()))->fetch(within(std::chrono::milliseconds(600))), Trouble::unreachable);
  EXPECT_NE(text.find("did not answer in time"), text.npos) << text;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_EQ(processes_with(settings().cache), std::vector<std::string>{});
  ASSERT_EQ(::kill(server->pid(), SIGCONT), 0);
  EXPECT_TRUE(expect_revision(fetched(settings())));
}

TEST_F(GitOverSsh, ReportsAServerThatIsDown) {
  server.reset();
  (void)expect_trouble(fetched(settings()), Trouble::unreachable);
}

}  // namespace
}  // namespace lockstep
