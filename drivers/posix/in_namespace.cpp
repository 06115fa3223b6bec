#include "drivers/posix/in_namespace.hpp"

#include <fcntl.h>
#include <sched.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <system_error>
#include <thread>

#include "specs/files/descriptor.hpp"

namespace lockstep {
namespace {

ErrorKind kind_of_entering(int code) {
  if (code == EPERM || code == EACCES) return ErrorKind::denied;
  // ENOSPC: /proc/sys/user/max_net_namespaces has been reached.
  if (code == EMFILE || code == ENFILE || code == ENOMEM || code == ENOSPC) return ErrorKind::transient;
  return ErrorKind::refused;
}

// `enter` runs first on the new thread and returns 0 or an errno.
Result<Done> on_own_thread(const std::string& what, const std::function<int()>& enter,
                           const std::function<void()>& body) {
  int code = 0;
  std::exception_ptr bug;
  std::thread inside;
  try {
    inside = std::thread([&] {
      try {
        code = enter();
        if (code == 0) body();
      } catch (...) {
        bug = std::current_exception();
      }
    });
  } catch (const std::system_error& none) {
    return Error{ErrorKind::transient, what + ": no thread to enter it: " + none.what()};
  }
  inside.join();
  if (bug) std::rethrow_exception(bug);
  if (code != 0) return Error{kind_of_entering(code), what + ": " + std::strerror(code)};
  return Done{};
}

// Of the thread, not of the process: "self" is the thread group's leader.
constexpr const char* kOwnNamespace = "/proc/thread-self/ns/net";

Error failed(const std::string& what) {
  const int code = errno;
  return Error{kind_of_entering(code), what + ": " + std::strerror(code)};
}

// `enter` returns 0, or -1 with an errno.
Result<Done> and_back(const std::string& what, const std::function<int()>& enter,
                      const std::function<Result<Done>()>& body) {
  const Descriptor back(::open(kOwnNamespace, O_RDONLY | O_CLOEXEC));
  if (!back) return failed("open the own network namespace");
  if (enter() != 0) return failed(what);
  auto out = body();
  if (::setns(back.number(), CLONE_NEWNET) != 0) std::abort();
  return out;
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
    // A missing namespace is a device that is missing at the moment: it may come back.
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

Result<Done> inside_namespace(int netns, const std::function<Result<Done>()>& body) {
  return and_back(
      "enter a network namespace", [netns] { return ::setns(netns, CLONE_NEWNET); }, body);
}

Result<Done> inside_new_namespace(const std::string& name, const std::function<Result<Done>()>& body) {
  return and_back(
      "create network namespace " + name, [] { return ::unshare(CLONE_NEWNET); }, body);
}

}  // namespace lockstep
