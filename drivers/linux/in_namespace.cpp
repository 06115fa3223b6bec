#include "drivers/linux/in_namespace.hpp"

#include <fcntl.h>
#include <sched.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <optional>
#include <thread>

#include "drivers/linux/descriptor.hpp"

namespace lockstep {
namespace {

ErrorKind kind_of_entering(int code) {
  if (code == EPERM || code == EACCES) return ErrorKind::denied;
  // ENOSPC: there are as many namespaces as /proc/sys/user/max_net_namespaces lets there be.
  if (code == EMFILE || code == ENFILE || code == ENOMEM || code == ENOSPC) return ErrorKind::transient;
  return ErrorKind::refused;
}

// `enter` runs first on the new thread and returns 0 or an errno.
Result<Done> on_own_thread(const std::string& what, const std::function<int()>& enter,
                           const std::function<void()>& body) {
  int code = 0;
  std::exception_ptr bug;
  std::thread inside([&] {
    try {
      code = enter();
      if (code == 0) body();
    } catch (...) {
      bug = std::current_exception();
    }
  });
  inside.join();
  if (bug) std::rethrow_exception(bug);
  if (code != 0) return Error{kind_of_entering(code), what + ": " + std::strerror(code)};
  return Done{};
}

}  // namespace

Result<Done> in_namespace(const std::string& netns_path, const std::function<void()>& body) {
  if (netns_path.empty()) {
    body();
    return Done{};
  }
  const std::string what = "network namespace " + netns_path;
  const Descriptor file(::open(netns_path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) {
    const int code = errno;
    // A namespace that is not there is a device that is not there now: it may come back.
    return Error{code == ENOENT ? ErrorKind::transient : kind_of_entering(code),
                 what + ": " + std::strerror(code)};
  }
  return on_own_thread(
      what, [&] { return ::setns(file.number(), CLONE_NEWNET) == 0 ? 0 : errno; }, body);
}

Result<Done> in_throwaway_namespace(const std::function<void()>& body) {
  return on_own_thread(
      "a throwaway network namespace", [] { return ::unshare(CLONE_NEWNET) == 0 ? 0 : errno; }, body);
}

}  // namespace lockstep
