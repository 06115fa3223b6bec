#include "reconciler/twin/daemons.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "reconciler/twin/namespace.hpp"
#include "reconciler/twin/places.hpp"
#include "specs/files/replace_file.hpp"

namespace lockstep {
namespace {

// Where Debian's frr and lldpd packages put them (dpkg -L frr lldpd).
constexpr std::string_view kFrrPrograms = "/usr/lib/frr/";
constexpr const char* kLldpd = "/usr/sbin/lldpd";
constexpr const char* kFrrUser = "frr";
constexpr std::array<const char*, 3> kFrrDaemons{"zebra", "bgpd", "bfdd"};

DaemonPlan frr_daemon(const TwinRecord& record, const std::string& device, const std::string& name) {
  const DevicePlaces at = places(record.layout.cluster, device);
  DaemonPlan out;
  out.device = device;
  out.name = name;
  out.ready_socket = at.vty_socket(name);
  // bgpd and bfdd that don't find zebra's socket try again after 10 s (lib/zclient.c, zclient_event).
  if (name != "zebra") out.after = "zebra";
  // No TCP vty (-P 0). Everything else that FRR would put in /run/frr and /etc/frr is named one by one.
  out.argv = {std::string(kFrrPrograms) + name,
              "-f",
              at.config_file(name),
              "-i",
              at.run_dir + "/" + name + ".pid",
              "-z",
              at.zserv_socket,
              "--vty_socket",
              at.run_dir,
              "-A",
              "127.0.0.1",
              "-P",
              "0",
              "-F",
              record.frr_profile,
              "--log",
              "stdout",
              "--log-level",
              "informational"};
  if (name == "bfdd") out.argv.insert(out.argv.end(), {"--bfdctl", at.run_dir + "/bfdd.sock"});
  return out;
}

DaemonPlan lldp_daemon(const TwinRecord& record, const TwinDevice& device) {
  const DevicePlaces at = places(record.layout.cluster, device.name);
  DaemonPlan out;
  out.device = device.name;
  out.name = "lldpd";
  out.ready_socket = at.lldpd_socket;
  // -d: foreground; -O: not the configuration of this machine's own lldpd.
  out.argv = {kLldpd, "-d", "-u", at.lldpd_socket, "-O", at.config_file("lldpd")};
  out.own_run = true;
  return out;
}

// A private /run with nothing in it but the device's own run directory and what lldpd makes itself.
bool give_own_run(const std::string& run_dir) {
  if (::unshare(CLONE_NEWNS) != 0) return false;
  if (::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  // Opened in the new mount namespace: a bind from a mount of another one is EINVAL (mount(2)).
  const int kept = ::open(run_dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (kept < 0) return false;
  if (::mount("twin", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m") != 0) return false;
  std::error_code failed;
  std::filesystem::create_directories(run_dir, failed);
  if (failed) return false;
  const std::string from = "/proc/self/fd/" + std::to_string(kept);
  return ::mount(from.c_str(), run_dir.c_str(), nullptr, MS_BIND, nullptr) == 0;
}

bool redirect(const std::string& log) {
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644);
  return null >= 0 && out >= 0 && ::dup2(null, 0) == 0 && ::dup2(out, 1) == 1 && ::dup2(out, 2) == 2;
}

[[noreturn]] void become(const DaemonPlan& plan, const DevicePlaces& at, int netns, int report) {
  const auto fail = [&](const char* stage) {
    const int code = errno;
    ::dprintf(report, "!%s: %s", stage, std::strerror(code));
    ::_exit(127);
  };
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // cleared when FRR changes user; the PID namespace is what holds
  ::dprintf(report, "%d\n", static_cast<int>(outer_pid_of_self()));
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  if (::setns(netns, CLONE_NEWNET) != 0) fail("enter the network namespace");
  if (::unshare(CLONE_NEWUTS) != 0) fail("create a UTS namespace");
  if (::sethostname(plan.device.data(), plan.device.size()) != 0) fail("set the host name");
  if (!redirect(at.log_file(plan.name))) fail("open the log");
  if (plan.own_run && !give_own_run(at.run_dir)) fail("make a private /run");
  if (::chdir("/") != 0) fail("chdir /");
  ::setpgid(0, 0);
  std::vector<char*> argv;
  for (const std::string& word : plan.argv) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  std::array<char*, 2> environment{const_cast<char*>("PATH=/usr/sbin:/usr/bin:/sbin:/bin"), nullptr};
  ::execve(argv.front(), argv.data(), environment.data());
  fail("execute");
  ::_exit(127);
}

std::string read_all(int fd) {
  std::string out;
  std::array<char, 512> piece;
  for (;;) {
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return out;
    out.append(piece.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

std::vector<DaemonPlan> daemons_of(const TwinRecord& record) {
  std::vector<DaemonPlan> out;
  for (const TwinDevice& device : record.layout.devices) {
    if (device.routing)
      for (const char* name : kFrrDaemons) out.push_back(frr_daemon(record, device.name, name));
    if (record.lldp) out.push_back(lldp_daemon(record, device));
  }
  return out;
}

Result<Done> preflight(const TwinRecord& record) {
  if (::geteuid() != 0)
    return Error{ErrorKind::denied, "a twin needs root: it makes network namespaces and mounts"};
  const auto& devices = record.layout.devices;
  const bool routing =
      std::any_of(devices.begin(), devices.end(), [](const auto& one) { return one.routing; });
  if (routing) {
    for (const char* name : kFrrDaemons)
      if (::access((std::string(kFrrPrograms) + name).c_str(), X_OK) != 0)
        return Error{ErrorKind::unsupported,
                     fmt::format("{}{} is not there: apt-get install frr", kFrrPrograms, name)};
    if (::getpwnam(kFrrUser) == nullptr)
      return Error{ErrorKind::unsupported, "there is no user frr: apt-get install frr makes it"};
  }
  if (record.lldp && ::access(kLldpd, X_OK) != 0)
    return Error{
        ErrorKind::unsupported,
        fmt::format("{} is not there: apt-get install lldpd, or leave LLDP out with --no-lldp", kLldpd)};
  return Done{};
}

Result<Done> prepare_run_dir(const TwinRecord& record, const TwinDevice& device) {
  const DevicePlaces at = places(record.layout.cluster, device.name);
  if (::mkdir(at.run_dir.c_str(), 0755) != 0) return errno_error("create " + at.run_dir);
  if (record.lldp) {
    // A frame that is sent before the other end listens is lost, and the next would come after 30 s
    // (lldpcli(8)).
    TRY_DONE(replace_file(at.config_file("lldpd"), "configure lldp tx-interval 1\n"));
  }
  if (!device.routing) return Done{};
  const passwd* user = ::getpwnam(kFrrUser);
  if (user == nullptr) return Error{ErrorKind::unsupported, "there is no user frr"};
  if (::chown(at.run_dir.c_str(), user->pw_uid, user->pw_gid) != 0) return errno_error("chown " + at.run_dir);
  // vtysh reads vtysh.conf and complains without it; the daemons do so for theirs.
  for (const char* name : {"frr", "vtysh", "zebra", "bgpd", "bfdd"}) {
    const std::string file = at.config_file(name);
    const Descriptor made(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640));
    if (!made) return errno_error("create " + file);
    if (::fchown(made.number(), user->pw_uid, user->pw_gid) != 0) return errno_error("chown " + file);
  }
  return Done{};
}

Result<Spawned> spawn(const DaemonPlan& plan, const std::string& cluster) {
  const DevicePlaces at = places(cluster, plan.device);
  const std::string who = plan.device + ": " + plan.name;
  TRY(const Descriptor netns, open_netns(at.netns));
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno_error("pipe");
  const Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return errno_error("fork");
  if (pid == 0) become(plan, at, netns.number(), writer.number());
  writer.close();
  const std::string said = read_all(reader.number());
  Spawned out;
  out.pid = pid;
  std::from_chars(said.data(), said.data() + said.size(), out.outer_pid);
  if (const auto mark = said.find('!'); mark != std::string::npos) {
    ::waitpid(pid, nullptr, 0);
    return Error{ErrorKind::refused, who + ": " + said.substr(mark + 1)};
  }
  return out;
}

bool is_ready(const DaemonPlan& plan) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (plan.ready_socket.size() >= sizeof(address.sun_path)) return false;
  std::memcpy(address.sun_path, plan.ready_socket.c_str(), plan.ready_socket.size() + 1);
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return socket &&
         ::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

std::string last_words(const DaemonPlan& plan, const std::string& cluster) {
  std::ifstream in(places(cluster, plan.device).log_file(plan.name));
  std::string last;
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) last = line;
  return last;
}

pid_t outer_pid_of_self() {
  // The link is resolved in the PID namespace of the /proc mount, not in the reader's (fs/proc/self.c).
  std::array<char, 32> text{};
  const ssize_t size = ::readlink("/proc/self", text.data(), text.size());
  pid_t out = -1;
  if (size > 0) std::from_chars(text.data(), text.data() + size, out);
  return out;
}

}  // namespace lockstep
