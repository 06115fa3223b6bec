#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

#include "reconciler/twin/namespace.hpp"
#include "reconciler/twin/twin.hpp"

namespace lockstep {
namespace {

// Mounts the device's own files at the fixed paths that tools read, in a mount namespace that ends with the
// command.
Result<Done> arrange_mounts(const DevicePlaces& at) {
  if (!change_propagation(MS_SLAVE)) return errno_error("detach the mounts");
  // /sys/class/net shows the network namespace of the process that mounted it (ip-netns(8) does the same).
  (void)::umount2("/sys", MNT_DETACH);
  if (::mount("sysfs", "/sys", "sysfs", 0, nullptr) != 0) return errno_error("mount /sys");
  std::error_code ignored;
  if (!std::filesystem::exists(at.run_dir, ignored)) return Done{};  // the controller's seat has no daemons
  for (const char* folder : {"/run/frr", "/etc/frr"})  // vtysh finds its daemons and vtysh.conf there
    if (std::filesystem::exists(folder, ignored) &&
        ::mount(at.run_dir.c_str(), folder, nullptr, MS_BIND, nullptr) != 0)
      return errno_error(std::string("bind ") + folder);
  return Done{};
}

Result<Done> enter(const std::string& cluster, const std::string& device) {
  TRY_DONE(validate_cluster_id(cluster));
  const DevicePlaces at = places(cluster, device);
  auto netns = open_netns(at.netns);
  if (!netns) {
    auto running = status(cluster);
    if (!running) return std::move(running.error());
    return Error{ErrorKind::invalid_spec, "twin " + cluster + " has no device '" + device +
                                              "'; one that its specs have gained, `lockstep twin up` makes"};
  }
  if (::setns(netns->number(), CLONE_NEWNET) != 0) return errno_error("enter network namespace " + at.netns);
  if (::unshare(CLONE_NEWUTS | CLONE_NEWNS) != 0) return errno_error("create UTS and mount namespaces");
  if (::sethostname(device.data(), device.size()) != 0) return errno_error("set the host name");
  return arrange_mounts(at);
}

// Signals that this process ignores and blocks would otherwise be ignored and blocked in the command too
// (signal(7)).
void give_signals_back() {
  ::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace

Error exec(const std::string& cluster, const std::string& device, const std::vector<std::string>& argv) {
  if (argv.empty()) return Error{ErrorKind::invalid_spec, "no command to run in " + device};
  if (auto entered = enter(cluster, device); !entered) return wrap(device, std::move(entered.error()));
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  give_signals_back();
  ::execvp(words.front(), words.data());
  return errno_error(device + ": " + argv.front());
}

}  // namespace lockstep
