#include "tests/unit/frr/lab.hpp"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "drivers/frr/vty.hpp"

namespace lockstep::frr {
namespace {

constexpr const char* kPrograms = "/usr/lib/frr/";
constexpr std::array kDaemons{"zebra", "staticd", "bfdd", "bgpd"};
constexpr std::chrono::seconds kStart{10};

std::vector<char*> arguments(const std::vector<std::string>& words) {
  std::vector<char*> out;
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

int run_into(const std::vector<std::string>& argv, std::string& output) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return -1;
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(ends[1], 1);
    ::dup2(ends[1], 2);
    ::execvp(argv[0].c_str(), arguments(argv).data());
    ::_exit(127);
  }
  ::close(ends[1]);
  std::array<char, 4096> buffer;
  for (ssize_t count; (count = ::read(ends[0], buffer.data(), buffer.size())) > 0;)
    output.append(buffer.data(), static_cast<std::size_t>(count));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void wait_until_listening(const std::string& run_dir, const std::string& daemon) {
  const Call call{.deadline = std::chrono::steady_clock::now() + kStart, .stop = {}};
  while (!Vty::connect(run_dir, daemon, call)) {
    if (call.must_end(std::chrono::steady_clock::now())) throw std::runtime_error(daemon + " does not start");
    ::poll(nullptr, 0, 2);
  }
}

}  // namespace

std::optional<std::string> lab_impossible() {
  if (::geteuid() != 0) return "needs root for network namespaces";
  for (const char* daemon : kDaemons)
    if (::access((std::string(kPrograms) + daemon).c_str(), X_OK) != 0)
      return std::string("FRR is not installed: no ") + kPrograms + daemon;
  if (::getpwnam("frr") == nullptr) return "FRR is not installed: no user frr";
  return std::nullopt;
}

std::string run(const std::vector<std::string>& argv) {
  std::string output;
  const int code = run_into(argv, output);
  std::string line;
  for (const std::string& word : argv) line += word + " ";
  EXPECT_EQ(code, 0) << line << output;
  return output;
}

Lab::Lab(const std::vector<std::string>& nodes) : owner_(::getpid()), nodes_(nodes) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  guardian_pipe_ = ends[1];
  guardian_ = ::fork();
  if (guardian_ == 0) {
    ::setpgid(0, 0);  // survives a Ctrl-C of the test program
    ::close(ends[1]);
    char byte = 0;
    if (::read(ends[0], &byte, 1) == 1) ::_exit(0);
    std::string ignored;
    for (const std::string& node : nodes_) {
      std::string pids;
      run_into({"ip", "netns", "pids", netns(node)}, pids);
      std::istringstream lines(pids);
      for (pid_t pid = 0; lines >> pid;) ::kill(pid, SIGKILL);
      run_into({"ip", "netns", "del", netns(node)}, ignored);
    }
    std::filesystem::remove_all(folder_.name());
    ::_exit(0);
  }
  ::close(ends[0]);
  const passwd* const frr = ::getpwnam("frr");
  for (const std::string& node : nodes_) {
    run({"ip", "netns", "add", netns(node)});
    ip(node, {"link", "set", "lo", "up"});
    // Without duplicate address detection a link-local address is usable at once, not after 1 to 2 s.
    run({"ip", "netns", "exec", netns(node), "sysctl", "-qw", "net.ipv6.conf.default.accept_dad=0",
         "net.ipv6.conf.all.accept_dad=0", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"});
    const FrrTarget at = target(node);
    std::filesystem::create_directory(at.run_dir);
    if (::chown(at.run_dir.c_str(), frr->pw_uid, frr->pw_gid) != 0) throw std::runtime_error("chown");
    std::ofstream(at.run_dir + "/vtysh.conf") << "";
  }
}

Lab::~Lab() {
  for (const std::string& node : nodes_) {
    stop(node);
    run({"ip", "netns", "del", netns(node)});
  }
  [[maybe_unused]] const auto wrote = ::write(guardian_pipe_, "x", 1);
  ::close(guardian_pipe_);
  ::waitpid(guardian_, nullptr, 0);
}

std::string Lab::netns(const std::string& node) const {
  return "lsfrr-" + std::to_string(owner_) + "-" + node;
}

FrrTarget Lab::target(const std::string& node) const {
  const std::string run_dir = folder_.name() + "/" + node;
  return {node, run_dir, run_dir + "/frr.conf", "/run/netns/" + netns(node)};
}

void Lab::link(const std::string& a, const std::string& port_a, const std::string& b,
               const std::string& port_b) {
  run({"ip", "link", "add", "name", port_a, "netns", netns(a), "type", "veth", "peer", "name", port_b,
       "netns", netns(b)});
  ip(a, {"link", "set", port_a, "up"});
  ip(b, {"link", "set", port_b, "up"});
}

pid_t Lab::spawn(const std::string& node, const std::string& daemon, Loads loads) const {
  const std::string dir = target(node).run_dir;
  const std::string file = dir + "/" + daemon;
  std::vector<std::string> argv{kPrograms + daemon,
                                "--vty_socket",
                                dir,
                                "-i",
                                file + ".pid",
                                "-z",
                                dir + "/zserv.api",
                                "-A",
                                "127.0.0.1",
                                "-P",
                                "0",
                                "-f",
                                loads == Loads::nothing ? "/dev/null" : file + ".conf"};
  if (daemon == "bfdd") argv.insert(argv.end(), {"--bfdctl", dir + "/bfdd.sock"});
  const std::string ns = target(node).netns_path;
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  const int net = ::open(ns.c_str(), O_RDONLY | O_CLOEXEC);
  const int out = ::open((file + ".out").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const int in = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (::setns(net, CLONE_NEWNET) != 0 || ::unshare(CLONE_NEWUTS | CLONE_NEWNS) != 0) ::_exit(126);
  // FRR creates /var/tmp/frr/NAME.PID, which a killed daemon would leave behind.
  if (::mount("", "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0 ||
      ::mount("lab", "/var/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777,size=1m") != 0)
    ::_exit(126);
  if (::sethostname(node.data(), node.size()) != 0) ::_exit(126);
  ::dup2(in, 0);
  ::dup2(out, 1);
  ::dup2(out, 2);
  ::execv(argv[0].c_str(), arguments(argv).data());
  ::_exit(127);
}

void Lab::start(const std::string& node, Loads loads) {
  const std::string dir = target(node).run_dir;
  for (const char* daemon : kDaemons) {
    daemons_[node][daemon] = spawn(node, daemon, loads);
    if (std::string_view(daemon) == "zebra") wait_until_listening(dir, daemon);
  }
  for (const char* daemon : kDaemons) wait_until_listening(dir, daemon);
}

void Lab::stop(const std::string& node) {
  for (const auto& [daemon, pid] : daemons_[node]) ::kill(pid, SIGKILL);
  for (const auto& [daemon, pid] : daemons_[node]) ::waitpid(pid, nullptr, 0);
  daemons_.erase(node);
}

void Lab::signal(const std::string& node, const std::string& daemon, int number) {
  ::kill(daemons_.at(node).at(daemon), number);
}

std::string Lab::ip(const std::string& node, std::vector<std::string> words) const {
  words.insert(words.begin(), {"ip", "-n", netns(node)});
  return run(words);
}

std::string Lab::type(const std::string& node, const std::string& daemon,
                      const std::vector<std::string>& lines) const {
  const Call call{.deadline = std::chrono::steady_clock::now() + kStart, .stop = {}};
  auto vty = Vty::connect(target(node).run_dir, daemon, call);
  EXPECT_TRUE(vty) << vty.error().text();
  std::string out;
  for (const std::string& line : lines) {
    const auto reply = vty->say(line, Intention::writes, call);
    EXPECT_TRUE(reply) << reply.error().text();
    if (!reply) return out;
    EXPECT_EQ(reply->code, 0) << line << ": " << reply->text;
    out += reply->text;
  }
  return out;
}

void Lab::load_saved(const std::string& node) const {
  const std::string dir = target(node).run_dir;
  run({"vtysh", "--vty_socket", dir, "--config_dir", dir, "-b"});
}

void Lab::save_by_vtysh(const std::string& node) const {
  const std::string dir = target(node).run_dir;
  run({"vtysh", "--vty_socket", dir, "--config_dir", dir, "-c", "write memory"});
}

}  // namespace lockstep::frr
