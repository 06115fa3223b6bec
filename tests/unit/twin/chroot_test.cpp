// A twin in a chroot whose root is a folder and not a mount point, as in container builds and rescue systems:
// mount(2) then fails with EINVAL for a change of the propagation of "/".
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "tests/unit/twin/live.hpp"

namespace lockstep {
namespace {

namespace files = std::filesystem;

std::string failed(const std::string& what) { return what + ": " + std::strerror(errno); }

// A root with the programs and kernel of this machine and its own /run and /tmp. The folder is in a shared
// mount, as under systemd: mounts in another mount namespace would propagate back through it.
std::string make_root(const std::string& folder, const std::string& root) {
  if (::unshare(CLONE_NEWNS) != 0 || !change_propagation(MS_PRIVATE)) return failed("own mounts");
  if (::mount("chroot", folder.c_str(), "tmpfs", 0, nullptr) != 0) return failed("mount " + folder);
  if (::mount("", folder.c_str(), nullptr, MS_SHARED, nullptr) != 0) return failed("share " + folder);
  for (const std::string name : {"", "/run", "/tmp", "/var"})
    if (::mkdir((root + name).c_str(), 0755) != 0) return failed("mkdir " + root + name);
  for (const std::string name :
       {"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/dev", "/proc", "/sys"}) {
    std::error_code none;
    if (files::is_symlink(name, none)) {
      files::copy_symlink(name, root + name);
    } else if (files::exists(name, none)) {
      if (::mkdir((root + name).c_str(), 0755) != 0) return failed("mkdir " + root + name);
      if (::mount(name.c_str(), (root + name).c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
        return failed("bind " + name);
    }
  }
  if (::chroot(root.c_str()) != 0 || ::chdir("/") != 0) return failed("chroot " + root);
  if (::mount("", "/", nullptr, MS_PRIVATE, nullptr) == 0 || errno != EINVAL)
    return "the root is a mount point, so this would test nothing";
  return "";
}

// Returns what failed, or empty. Runs in its own process, whose mounts end with it.
std::string trial(const std::string& folder) {
  if (std::string wrong = make_root(folder, folder + "/root"); !wrong.empty()) return wrong;
  const TwinLayout layout{test_cluster("x"),
                          {{"gpu0", TwinRole::host, false}, {"leaf0", TwinRole::device_switch, true}},
                          {{"gpu0", "rail0", "leaf0", "swp0"}}};
  const auto handle = up(layout, {}, {}, {});
  if (!handle) return handle.error().text();
  std::string wrong;
  if (const auto report = status(layout.cluster); !report || !report->sound()) wrong += "it is not sound; ";
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);)
    if (line.find(" - tmpfs twin ") != line.npos) wrong += "a device's own /run is everybody's: " + line;
  if (const std::string name = output_of(layout.cluster, "leaf0", {"uname", "-n"}); name != "leaf0\n")
    wrong += "uname -n in leaf0: " + name;
  if (const std::string ports = output_of(layout.cluster, "leaf0", {"ls", "/sys/class/net", "."});
      ports.find("swp0") == ports.npos || ports.find("usr") == ports.npos)
    wrong += "ports and the root folder of leaf0: " + ports;
  if (const auto gone = down(layout.cluster); !gone) wrong += gone.error().text();
  for (const std::string& one : remains_of(layout.cluster)) wrong += "left: " + one;
  return wrong;
}

TEST(TwinInAChroot, WhoseRootIsNoMountPointComesUpAndGoesDown) {
  NEEDS_ROOT;
  std::string folder = files::temp_directory_path() / "lstwin-chroot-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::string wrong = trial(folder);
    (void)!::write(ends[1], wrong.data(), wrong.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  EXPECT_EQ(read_whole(ends[0]), "");
  ::close(ends[0]);
  int how = -1;
  ASSERT_EQ(::waitpid(child, &how, 0), child);
  EXPECT_EQ(how, 0);
  EXPECT_EQ(::rmdir(folder.c_str()), 0) << std::strerror(errno);
}

}  // namespace
}  // namespace lockstep
