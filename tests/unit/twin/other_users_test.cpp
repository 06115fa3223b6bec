// Another user of this machine cannot affect a twin. The user is `nobody`, in a separate process that tries
// it with plain system calls.
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>
#include <set>

#include "reconciler/twin/channel.hpp"
#include "tests/unit/twin/live.hpp"

namespace lockstep {
namespace {

namespace files = std::filesystem;

constexpr uid_t kNobody = 65534;  // Debian: base-passwd

// Returns what `body` returns in a process of user `nobody`.
std::string as_nobody(const std::function<std::string()>& body) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::string said = "can't become nobody";
    if (::setgroups(0, nullptr) == 0 && ::setresgid(kNobody, kNobody, kNobody) == 0 &&
        ::setresuid(kNobody, kNobody, kNobody) == 0)
      said = body();
    (void)!::write(ends[1], said.data(), said.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  const std::string said = read_whole(ends[0]);
  ::close(ends[0]);
  int how = -1;
  EXPECT_EQ(::waitpid(child, &how, 0), child);
  EXPECT_EQ(how, 0);
  return said;
}

bool connects(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return ::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

// All paths of the twin as seen by root: its folders, and the sockets that are bound in the network namespace
// of each daemon (proc(5): the last column of /proc/PID/net/unix).
std::set<std::string> all_of(const TwinReport& report) {
  const std::string top = twin_places(report.cluster).run_dir;
  std::set<std::string> out{top};
  for (const auto& one : files::recursive_directory_iterator(top)) out.insert(one.path());
  for (const ProcessIdentity& process : processes_of(report)) {
    std::ifstream sockets("/proc/" + std::to_string(process.pid) + "/net/unix");
    for (std::string line; std::getline(sockets, line);)
      if (const auto at = line.find('/'); at != line.npos) out.insert(line.substr(at));
  }
  return out;
}

// The paths that user `nobody` can list, read, write or connect to.
std::string reached(const std::set<std::string>& paths, const std::string& top) {
  std::string out;
  for (const std::string& path : paths) {
    const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const Descriptor read(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    const Descriptor write(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    struct stat there {};
    const bool seen = path != top && ::stat(path.c_str(), &there) == 0;
    if (folder || read || write || seen || connects(path)) out += path + "\n";
  }
  return out;
}

TEST(OtherUsers, CannotAccessFoldersFilesOrSocketsOfATwin) {
  NEEDS_ROOT;
  const TwinLayout layout = rail_pod(test_cluster("u"), 1, 1, 0);
  const DownAtEnd end{layout.cluster};
  for (const mode_t mask : {mode_t{0}, mode_t{077}}) {
    const mode_t before = ::umask(mask);
    const auto handle = up(layout, {}, {}, {});
    ::umask(before);
    ASSERT_TRUE(handle) << handle.error().text();
    const auto report = status(layout.cluster);
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_TRUE(report->sound());
    const std::string top = twin_places(layout.cluster).run_dir;
    const std::set<std::string> paths = all_of(*report);
    EXPECT_TRUE(connects(top + "/leaf0/bfdd.vty"));
    for (const char* one : {"/leaf0/bfdd.vty", "/leaf0/zebra.vty", "/leaf0/zserv.api", "/leaf0/lldpd.sock",
                            "/gpu0/lldpd.sock", "/leaf0/frr.conf", "/.supervisor/control"})
      EXPECT_EQ(paths.count(top + one), 1U) << one;
    EXPECT_EQ(as_nobody([&] { return reached(paths, top); }), "");
    for (const std::string& one : paths)
      EXPECT_FALSE(files::is_socket(one) &&
                   (files::status(one).permissions() & files::perms::others_write) != files::perms::none)
          << one;
    // The folders above as well, so that nothing can be created there and no twin's name can be read.
    for (std::string one = top; one != "/run"; one = files::path(one).parent_path())
      EXPECT_EQ(files::status(one).permissions() & files::perms::others_all, files::perms::none) << one;
    ASSERT_TRUE(down(layout.cluster));
  }
}

// A process of user `nobody` that holds the lock of a folder as long as this object exists.
class Holder {
 public:
  explicit Holder(const char* folder) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const int held = ::open(folder, O_RDONLY | O_DIRECTORY);
      if (::setresuid(kNobody, kNobody, kNobody) == 0 && ::flock(held, LOCK_EX | LOCK_NB) == 0)
        (void)!::write(ends[1], "held", 4);
      ::close(ends[1]);
      for (;;) ::pause();
    }
    ::close(ends[1]);
    holds_ = read_whole(ends[0]) == "held";
    ::close(ends[0]);
  }
  ~Holder() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  bool holds() const { return holds_; }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  bool holds_ = false;
};

// Returns what `body` returns with a new /run, as after a boot, in a process whose mounts end with it.
std::string after_a_boot(const std::function<std::string()>& body) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::string wrong = "no /run of its own";
    if (::unshare(CLONE_NEWNS) == 0 && change_propagation(MS_PRIVATE) &&
        ::mount("boot", "/run", "tmpfs", 0, "mode=0755") == 0)
      wrong = body();
    (void)!::write(ends[1], wrong.data(), wrong.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string wrong = read_whole(ends[0]);
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return wrong;
}

constexpr const char* kNetns = "/run/netns";

TEST(OtherUsers, ThatHoldTheNamespaceLockAreReportedAndCtrlCEndsTheWait) {
  NEEDS_ROOT;
  EXPECT_EQ(after_a_boot([]() -> std::string {
              const TwinLayout layout = rail_pod(test_cluster("b"), 1, 1, 0);
              if (::mkdir(kNetns, 0755) != 0) return "no /run/netns";
              const Holder holder(kNetns);
              if (!holder.holds()) return "nobody holds nothing";
              std::stop_source stopped;
              stopped.request_stop();
              const auto ended = up(layout, without_lldp(), {}, stopped.get_token());
              if (ended) return "it came up";
              if (ended.error().kind != ErrorKind::cancelled) return ended.error().text();
              if (files::exists("/run/lockstep")) return "stopped, it is still there";
              const auto refused = up(layout, without_lldp(), {}, {});
              if (refused) return "it came up";
              const std::string who = "process " + std::to_string(holder.pid()) + " (uid 65534)";
              if (refused.error().text().find(who) == std::string::npos) return refused.error().text();
              return files::exists("/run/lockstep") ? "refused, it is still there" : "";
            }),
            "");
}

TEST(OtherUsers, ThatHoldTheNamespaceLockBlockNoTwinOnceANamespaceExists) {
  NEEDS_ROOT;
  EXPECT_EQ(after_a_boot([]() -> std::string {
              const TwinLayout layout = rail_pod(test_cluster("m"), 1, 1, 0);
              if (const auto first = create_netns("lstwin-first"); !first) return first.error().text();
              const Holder holder(kNetns);
              if (!holder.holds()) return "nobody holds nothing";
              const auto handle = up(layout, without_lldp(), {}, {});
              if (!handle) return handle.error().text();
              const auto gone = down(layout.cluster);
              return gone ? "" : gone.error().text();
            }),
            "");
}

// Fakes the run directory of a dead twin with this supervisor.
std::string pretend(const std::string& run_dir, pid_t supervisor) {
  const auto who = identity_of(supervisor);
  files::create_directories(run_dir + "/.supervisor");
  std::ofstream(run_dir + "/.supervisor/identity") << supervisor << ' ' << who->started << '\n';
  std::ofstream(run_dir + "/leaf0") << "a file";
  return run_dir + "/leaf0";
}

// Runs every command against a folder of that cluster; returns what is wrong.
std::string met(const std::string& cluster, const std::string& kept, const std::string& because) {
  const auto clusters = twin_clusters();
  if (!clusters || !clusters->empty()) return "it is listed";
  const auto came_up = up(rail_pod(cluster, 1, 1, 0), without_lldp(), {}, {});
  const auto told = status(cluster);
  const auto gone = down(cluster);
  if (came_up || told || gone) return "it is believed";
  for (const Error& error : {came_up.error(), told.error(), gone.error()})
    if (error.text().find(because) == std::string::npos) return error.text();
  return files::exists(kept) ? "" : kept + " is gone";
}

TEST(OtherUsers, CannotFakeATwin) {
  NEEDS_ROOT;
  EXPECT_EQ(after_a_boot([]() -> std::string {
              const Holder bystander("/run");
              const std::string twins{kTwinsDir};
              const std::string theirs = test_cluster("t");
              const std::string file = pretend(twins + "/" + theirs, bystander.pid());
              // The lock is held, as by a hung supervisor: `down` would then kill the recorded one.
              const Descriptor lock(::open((twins + "/" + theirs + "/.supervisor/lock").c_str(),
                                           O_RDWR | O_CREAT | O_CLOEXEC, 0600));
              if (::flock(lock.number(), LOCK_EX | LOCK_NB) != 0) return "no lock";
              for (const char* part : {"", "/.supervisor", "/.supervisor/identity", "/.supervisor/lock"})
                if (::chown((twins + "/" + theirs + part).c_str(), kNobody, kNobody) != 0) return "chown";
              const std::string link = test_cluster("s");
              const std::string behind = pretend("/run/elsewhere", bystander.pid());
              files::create_directory_symlink("/run/elsewhere", twins + "/" + link);
              if (std::string wrong = met(theirs, file, "another user (uid 65534)"); !wrong.empty())
                return wrong;
              if (std::string wrong = met(link, behind, "is a symbolic link"); !wrong.empty()) return wrong;
              if (!files::is_symlink(twins + "/" + link)) return "the link is gone";
              const auto who = identity_of(bystander.pid());
              return who && runs(*who) ? "" : "the bystander was killed";
            }),
            "");
}

TEST(OtherUsers, CannotSeeATwin) {
  NEEDS_ROOT;
  const TwinLayout layout = rail_pod(test_cluster("w"), 1, 1, 0);
  const DownAtEnd end{layout.cluster};
  ASSERT_TRUE(up(layout, without_lldp(), {}, {}));
  const auto clusters = twin_clusters();
  ASSERT_TRUE(clusters);
  EXPECT_EQ(std::count(clusters->begin(), clusters->end(), layout.cluster), 1);
  EXPECT_EQ(as_nobody([&]() -> std::string {
              const auto seen = twin_clusters();
              const auto told = status(layout.cluster);
              const auto gone = down(layout.cluster);
              if (seen || told || gone) return "nobody is told";
              return seen.error().text() + "|" + told.error().text() + "|" + gone.error().text();
            }),
            "/run/lockstep belongs to root: run this as root|"
            "/run/lockstep belongs to root: run this as root|"
            "/run/lockstep belongs to root: run this as root");
}

TEST(OtherUsers, AreRefusedOnAReachableControlSocket) {
  NEEDS_ROOT;
  std::string folder = files::temp_directory_path() / "lstwin-control-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/control";
  const auto listener = listen_on(path);
  ASSERT_TRUE(listener) << listener.error().text();
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  ASSERT_EQ(::chmod(path.c_str(), 0777), 0);
  EXPECT_EQ(as_nobody([&] { return connects(path) ? "connected" : ""; }), "connected");
  EXPECT_FALSE(accept_own(*listener));
  EXPECT_TRUE(connects(path));
  EXPECT_TRUE(accept_own(*listener));
  files::remove_all(folder);
}

}  // namespace
}  // namespace lockstep
