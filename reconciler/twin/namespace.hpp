// Named network namespaces, as ip-netns(8) has them: a bind mount of /proc/.../ns/net on /run/netns/NAME; and
// mounts that stay in a mount namespace.
//
// Promises: what is made here is seen by `ip netns`, and the other way round; create leaves the calling
// thread where it was; delete of what is not there succeeds; neither starts a process or a thread, so that a
// supervisor with a single thread can fork freely. Refuses: names with a '/'.
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

// Asked again and again while something is waited for: false ends the wait (cancelled).
using GoOn = std::function<bool()>;

// A new namespace with its loopback up and nothing else. The first after a boot makes /run/netns a mount;
// whoever holds its lock is waited for, for seconds, and named.
Result<MadeNetns> create_netns(const std::string& name, const GoOn& go_on = {});
// The same of one that is there.
Result<MadeNetns> reopen_netns(const std::string& name);
// The namespace itself lives on while a process is in it.
Result<Done> delete_netns(const std::string& name);
Result<Descriptor> open_netns(const std::string& name);
// Sorted.
std::vector<std::string> netns_with_prefix(std::string_view prefix);

// Gives every mount of the calling thread's mount namespace, which must be its own, this propagation
// (MS_PRIVATE, MS_SLAVE), also where the root is no mount point, as in a plain chroot. False: errno says why.
// May be called between fork and exec.
bool change_propagation(unsigned long propagation);

// An Error of the running thread's errno.
Error errno_error(std::string what);

}  // namespace lockstep
