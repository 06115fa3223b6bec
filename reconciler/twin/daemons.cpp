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
#include <optional>
#include <span>
#include <sstream>

#include "reconciler/twin/agents.hpp"
#include "reconciler/twin/namespace.hpp"
#include "reconciler/twin/places.hpp"
#include "reconciler/twin/sonic_device.hpp"
#include "specs/files/own_folder.hpp"
#include "specs/files/read_file.hpp"
#include "specs/files/replace_file.hpp"

namespace lockstep {
namespace {

// Paths of Debian's frr and lldpd packages (dpkg -L frr lldpd).
constexpr std::string_view kFrrPrograms = "/usr/lib/frr/";
constexpr const char* kLldpd = "/usr/sbin/lldpd";
constexpr const char* kRedis = "/usr/bin/redis-server";  // dpkg -L redis-server
constexpr const char* kFrrUser = "frr";
constexpr std::string_view kRun = "/run";
constexpr const char* kScratch = "/var/tmp";  // FRR has /var/tmp/frr compiled in, for its logs (lib/zlog.c)
// For a daemon's own tmpfs: writable by any user, because only the daemon sees it; holds sockets and a few
// pages of log.
constexpr const char* kOwnTmpfs = "mode=1777,size=1m";
constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";
constexpr const char* kMachineId = "/etc/machine-id";  // machine-id(5)
constexpr std::array<const char*, 3> kFrrDaemons{"zebra", "bgpd", "bfdd"};

DaemonPlan frr_daemon(const TwinRecord& record, const std::string& device, const std::string& name) {
  const DevicePlaces at = places(record.layout.cluster, device);
  DaemonPlan out;
  out.device = device;
  out.name = name;
  out.ready_socket = at.vty_socket(name);
  // bgpd and bfdd that don't find zebra's socket try again after 10 s (lib/zclient.c, zclient_event).
  if (name != "zebra") out.after = "zebra";
  // No TCP vty (-P 0). All other files that FRR would put in /run/frr and /etc/frr are set one by one.
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
  // bfdd's control socket is unused here, and FRR makes it world-accessible (FRR, bfdd/control.c): it is
  // placed in the /run that only the daemon sees.
  if (name == "bfdd") out.argv.insert(out.argv.end(), {"--bfdctl", "/run/bfdd.sock"});
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
  return out;
}

// On its unix socket alone, for root alone; nothing is written to a disk. Keyspace events as SONiC sets them
// (sonic-swss-common 85a39d80).
DaemonPlan redis_daemon(const TwinRecord& record, const std::string& device) {
  const DevicePlaces at = places(record.layout.cluster, device);
  DaemonPlan out;
  out.device = device;
  out.name = kSonicRedis;
  out.ready_socket = sonic_redis_socket(at.run_dir);
  out.argv = {kRedis,
              "--port",
              "0",
              "--unixsocket",
              out.ready_socket,
              "--unixsocketperm",
              "700",
              "--save",
              "",
              "--appendonly",
              "no",
              "--dir",
              at.run_dir,
              "--notify-keyspace-events",
              "KEA"};
  return out;
}

DaemonPlan stand_in_daemon(const TwinRecord& record, const TwinDevice& device) {
  const DevicePlaces at = places(record.layout.cluster, device.name);
  DaemonPlan out;
  out.device = device.name;
  out.name = kSonicStandIn;
  out.ready_file = sonic_ready_file(at.run_dir);
  out.after = kSonicRedis;
  // The supervisor's own program, also where its file was replaced or is in a folder that the daemon does not
  // see.
  out.argv = {"/proc/self/exe", kSonicStandIn, at.run_dir, device.sonic_type};
  return out;
}

// Beside this program, as both are built and installed.
std::string agent_program() {
  std::error_code ignored;
  return (std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "lockstep-agent").string();
}

DaemonPlan agent_daemon(const TwinRecord& record, const TwinDevice& device) {
  const DevicePlaces at = places(record.layout.cluster, device.name);
  DaemonPlan out;
  out.device = device.name;
  out.name = "agent";
  out.ready_file = at.agent_dir + "/ready";
  out.own_folders = false;
  out.argv = {agent_program(), "--config", at.agent_dir + "/agent.yaml", "run", "--ready", out.ready_file};
  out.covers = {{at.agent_dir + "/" + kBootIdFile, kBootId}};
  // A machine that was never booted has none, and the boot id serves (drivers/posix/machine_id.hpp).
  if (::access(kMachineId, F_OK) == 0)
    out.covers.push_back({at.agent_dir + "/" + kMachineIdFile, kMachineId});
  return out;
}

// Everything that a child needs until exec, prepared before the fork.
struct Launch {
  std::vector<char*> argv;  // into the plan
  const char* host_name = nullptr;
  std::size_t host_name_size = 0;
  std::string log;
  std::string run_dir;
  std::vector<std::string> folders;  // from below /run down to the run directory
  bool own_folders = true;
  std::span<const DaemonPlan::Cover> covers;  // of the plan
  int netns = -1;
  int report = -1;
};

// What the child writes: its id; then, only if it failed, where and why.
struct Start {
  pid_t outer_pid = -1;
};
enum class Stage : int { netns, uts, host_name, log, run, covers, root, execute };
struct Failure {
  Stage stage;
  int code;
};

const char* words(Stage stage) {
  switch (stage) {
    case Stage::netns: return "enter the network namespace";
    case Stage::uts: return "create a UTS namespace";
    case Stage::host_name: return "set the host name";
    case Stage::log: return "open the log";
    case Stage::run: return "make a private /run and /var/tmp";
    case Stage::covers: return "cover files of this machine";
    case Stage::root: return "chdir /";
    case Stage::execute: return "execute";
  }
  return "start";
}

std::vector<std::string> folders_below_run(const std::string& run_dir) {
  std::vector<std::string> out;
  for (std::size_t at = run_dir.find('/', 1); at != run_dir.npos; at = run_dir.find('/', at + 1))
    if (at > kRun.size()) out.push_back(run_dir.substr(0, at));
  out.push_back(run_dir);
  return out;
}

Launch prepare_launch(const DaemonPlan& plan, const DevicePlaces& at, int netns, int report) {
  Launch out;
  for (const std::string& word : plan.argv) out.argv.push_back(const_cast<char*>(word.c_str()));
  out.argv.push_back(nullptr);
  out.host_name = plan.device.data();
  out.host_name_size = plan.device.size();
  out.log = at.log_file(plan.name);
  out.run_dir = at.run_dir;
  out.folders = folders_below_run(at.run_dir);
  out.own_folders = plan.own_folders;
  out.covers = plan.covers;
  out.netns = netns;
  out.report = report;
  return out;
}

// From here to become(): between fork and exec, so only async-signal-safe functions and system calls
// (signal-safety(7), fork(2)); nothing that allocates.

// A private /run with only the device's own run directory and what the daemon creates: FRR's user and lldpd's
// user can't traverse the twin's own folders, and lldpd has /run/lldpd compiled in. Also a private /var/tmp,
// whose content disappears with the daemon, however it ends; without one FRR leaves nothing.
bool give_own_folders(const Launch& launch) {
  // What this machine unmounts is unmounted here too (MS_SLAVE), so that no daemon keeps it busy.
  if (::unshare(CLONE_NEWNS) != 0 || !change_propagation(MS_SLAVE)) return false;
  // Opened in the new mount namespace: a bind from a mount of another one is EINVAL (mount(2)).
  const int kept = ::open(launch.run_dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (kept < 0) return false;
  if (::mount("twin", kRun.data(), "tmpfs", MS_NOSUID | MS_NODEV, kOwnTmpfs) != 0) return false;
  if (::mount("twin", kScratch, "tmpfs", MS_NOSUID | MS_NODEV, kOwnTmpfs) != 0 && errno != ENOENT)
    return false;
  for (const std::string& folder : launch.folders)
    if (::mkdir(folder.c_str(), 0755) != 0) return false;
  return ::fchdir(kept) == 0 && ::mount(".", launch.run_dir.c_str(), nullptr, MS_BIND, nullptr) == 0;
}

bool cover_files(std::span<const DaemonPlan::Cover> covers) {
  if (covers.empty()) return true;
  // What is mounted on this machine later (a device's namespace) is seen here, and nothing the other way.
  if (::unshare(CLONE_NEWNS) != 0 || !change_propagation(MS_SLAVE)) return false;
  for (const DaemonPlan::Cover& one : covers)
    if (::mount(one.file.c_str(), one.over.c_str(), nullptr, MS_BIND, nullptr) != 0) return false;
  return true;
}

bool redirect(const std::string& log) {
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
  return null >= 0 && out >= 0 && ::dup2(null, 0) == 0 && ::dup2(out, 1) == 1 && ::dup2(out, 2) == 2;
}

[[noreturn]] void become(const Launch& launch) {
  const auto fail = [&](Stage stage) {
    const Failure why{stage, errno};
    (void)!::write(launch.report, &why, sizeof(why));  // at most PIPE_BUF bytes: atomic (pipe(7))
    ::_exit(127);
  };
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // cleared when FRR changes user; the PID namespace ends it in any case
  const Start start{outer_pid_of_self()};
  (void)!::write(launch.report, &start, sizeof(start));
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  if (::setns(launch.netns, CLONE_NEWNET) != 0) fail(Stage::netns);
  if (::unshare(CLONE_NEWUTS) != 0) fail(Stage::uts);
  if (::sethostname(launch.host_name, launch.host_name_size) != 0) fail(Stage::host_name);
  if (!redirect(launch.log)) fail(Stage::log);
  if (launch.own_folders && !give_own_folders(launch)) fail(Stage::run);
  if (!cover_files(launch.covers)) fail(Stage::covers);
  if (::chdir("/") != 0) fail(Stage::root);
  ::setpgid(0, 0);
  std::array<char*, 2> environment{const_cast<char*>("PATH=/usr/sbin:/usr/bin:/sbin:/bin"), nullptr};
  ::execve(launch.argv.front(), launch.argv.data(), environment.data());
  fail(Stage::execute);
  ::_exit(127);
}

// The user that a device's daemons run as; none: FRR is not installed.
struct DaemonUser {
  uid_t uid = 0;
  gid_t gid = 0;
};
std::optional<DaemonUser> frr_user() {
  const passwd* const user = ::getpwnam(kFrrUser);
  return user == nullptr ? std::nullopt : std::optional(DaemonUser{user->pw_uid, user->pw_gid});
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
    if (!device.sonic_type.empty()) {
      out.push_back(redis_daemon(record, device.name));
      out.push_back(stand_in_daemon(record, device));
    }
    if (record.agents) out.push_back(agent_daemon(record, device));
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
    if (!frr_user())
      return Error{ErrorKind::unsupported, "there is no user frr: apt-get install frr makes it"};
  }
  const auto sonic = std::ranges::find_if(devices, [](const auto& one) { return !one.sonic_type.empty(); });
  if (sonic != devices.end() && ::access(kRedis, X_OK) != 0)
    return Error{
        ErrorKind::unsupported,
        fmt::format("{} runs SONiC, whose databases are in Redis, and {} is not there: apt-get install "
                    "redis-server",
                    sonic->name, kRedis)};
  if (record.lldp && ::access(kLldpd, X_OK) != 0)
    return Error{
        ErrorKind::unsupported,
        fmt::format("{} is not there: apt-get install lldpd, or leave LLDP out with --no-lldp", kLldpd)};
  if (record.agents && ::access(agent_program().c_str(), X_OK) != 0)
    return Error{ErrorKind::unsupported,
                 "--agents needs " + agent_program() +
                     ", which is not there: build the target lockstep-agent, or install the Debian package"};
  return Done{};
}

Result<Done> prepare_run_dir(const TwinRecord& record, const TwinDevice& device) {
  const DevicePlaces at = places(record.layout.cluster, device.name);
  const std::optional<DaemonUser> frr = device.routing ? frr_user() : DaemonUser{};
  if (!frr) return Error{ErrorKind::unsupported, "there is no user frr"};
  TRY(const bool made, make_folder(at.run_dir, {frr->uid, 0750}));
  if (!made) return Error{ErrorKind::refused, "create " + at.run_dir + ": the folder above it is gone"};
  if (record.lldp) {
    // A frame sent before the other end listens is lost, and the next would come only after 30 s
    // (lldpcli(8)). A neighbor is forgotten after interval times hold: by default after 4 s, in which a busy
    // machine may well not run the other end's daemon. A cut cable is seen by its carrier, whatever the hold.
    TRY_DONE(
        replace_file(at.config_file("lldpd"), "configure lldp tx-interval 1\nconfigure lldp tx-hold 20\n"));
  }
  if (!device.routing) return Done{};
  // vtysh reads vtysh.conf and complains without it; the daemons do so for theirs.
  for (const char* name : {"frr", "vtysh", "zebra", "bgpd", "bfdd"}) {
    const std::string file = at.config_file(name);
    const Descriptor empty(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640));
    if (!empty) return errno_error("create " + file);
    if (::fchown(empty.number(), frr->uid, frr->gid) != 0) return errno_error("chown " + file);
  }
  return Done{};
}

Result<Spawned> spawn(const DaemonPlan& plan, const std::string& cluster) {
  const DevicePlaces at = places(cluster, plan.device);
  const std::string who = plan.device + ": " + plan.name;
  if (!plan.ready_file.empty()) ::unlink(plan.ready_file.c_str());  // of an earlier start
  TRY(const Descriptor netns, open_netns(at.netns));
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno_error("pipe");
  const Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);
  const Launch launch = prepare_launch(plan, at, netns.number(), writer.number());
  const pid_t pid = ::fork();
  if (pid < 0) return errno_error("fork");
  if (pid == 0) become(launch);
  writer.close();
  const std::string said = read_all(reader.number());
  Start start;
  if (said.size() >= sizeof(start)) std::memcpy(&start, said.data(), sizeof(start));
  if (said.size() < sizeof(start) + sizeof(Failure)) return Spawned{pid, start.outer_pid};
  Failure why{};
  std::memcpy(&why, said.data() + sizeof(start), sizeof(why));
  ::waitpid(pid, nullptr, 0);
  return Error{ErrorKind::refused, fmt::format("{}: {}: {}", who, words(why.stage), std::strerror(why.code))};
}

bool is_ready(const DaemonPlan& plan) {
  if (plan.ready_socket.empty()) return ::access(plan.ready_file.c_str(), F_OK) == 0;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (plan.ready_socket.size() >= sizeof(address.sun_path)) return false;
  std::memcpy(address.sun_path, plan.ready_socket.c_str(), plan.ready_socket.size() + 1);
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return socket &&
         ::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

std::string last_words(const DaemonPlan& plan, const std::string& cluster) {
  // The daemon's user owns the folder, and might put a link there.
  constexpr std::size_t kLargest = std::size_t{16} << 20;  // chosen: days of a daemon that logs errors
  std::istringstream in(
      read_beneath(places(cluster, plan.device).run_dir, plan.name + ".log", kLargest).text);
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
