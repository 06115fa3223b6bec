// Named network namespaces, as in ip-netns(8): a bind mount of /proc/.../ns/net on /run/netns/NAME; and
// mounts that stay in a mount namespace.
//
// Promises: compatible with `ip netns` in both directions; create leaves the calling thread in its namespace;
// deleting one that does not exist succeeds; neither starts a process or a thread, so that a supervisor with
// a single thread can fork freely. Refuses: names with a '/'.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "specs/files/descriptor.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

struct MadeNetns {
  Descriptor netns;   // for setns(2) and IFLA_NET_NS_FD
  Descriptor socket;  // AF_INET, opened inside: for ioctls on its interfaces
};

// Called repeatedly while waiting: false ends the wait (cancelled).
using GoOn = std::function<bool()>;

// A new namespace with its loopback up and nothing else. The first one after a boot makes /run/netns a mount;
// if another process holds its lock, waits for it, for seconds, and names it.
Result<MadeNetns> create_netns(const std::string& name, const GoOn& go_on = {});
// Opens an existing one.
Result<MadeNetns> reopen_netns(const std::string& name);
// The namespace itself lives on while a process is in it.
Result<Done> delete_netns(const std::string& name);
Result<Descriptor> open_netns(const std::string& name);
// Sorted.
std::vector<std::string> netns_with_prefix(std::string_view prefix);

// Sets the propagation (MS_PRIVATE, MS_SLAVE) of every mount in the calling thread's mount namespace, which
// must be its own, also if the root is no mount point, as in a plain chroot. False: see errno. May be called
// between fork and exec.
bool change_propagation(unsigned long propagation);

// An Error for the current errno.
Error errno_error(std::string what);

}  // namespace lockstep
