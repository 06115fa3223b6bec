#include "drivers/linux/host_state.hpp"

#include <linux/pkt_sched.h>

#include "drivers/linux/sysctl.hpp"

namespace lockstep {
namespace {

Result<Done> read_all_queueing(netlink::Socket& socket, HostState& out, const Call& call) {
  TRY(const auto qdiscs, read_qdiscs(socket, call));
  for (const Link& link : out.network.links) {
    TRY(PortQueueing one, read_queueing(socket, link.index, qdiscs, call));
    if (one.root) out.queueing.emplace(link.index, std::move(one));
  }
  for (const Qdisc& qdisc : qdiscs) {
    if (qdisc.kind != "clsact") continue;
    TRY(const auto markers, read_markers(socket, qdisc.index, call));
    for (const EcnMarker& one : markers) out.ecn_thresholds.insert_or_assign(one.index, one.threshold);
  }
  return Done{};
}

// The call itself has ended: no more can be read.
bool is_over(const Error& error, const Call& call) {
  return error.kind == ErrorKind::cancelled || call.must_end(std::chrono::steady_clock::now());
}

}  // namespace

Result<PortQueueing> read_queueing(netlink::Socket& socket, std::uint32_t index,
                                   const std::vector<Qdisc>& qdiscs, const Call& call) {
  PortQueueing out;
  for (const Qdisc& one : qdiscs) {
    // Handle 0 is the kernel's default qdisc, which was not configured.
    if (one.index != index || one.handle == 0) continue;
    if (one.kind == "clsact")
      out.clsact = true;
    else if (one.parent == TC_H_ROOT)
      out.root = one;
    else
      out.queues.push_back(one);
  }
  if (out.clsact) {
    TRY(out.priorities, read_priority_filters(socket, index, call));
  }
  if (!out.root || out.root->kind != "htb") return out;
  TRY(out.classes, read_classes(socket, index, call));
  TRY(out.filters, read_filters(socket, index, out.root->handle, call));
  return out;
}

Result<HostState> read_host(const HostWanted& wanted, const SysctlNames& sysctl_names, const Call& call) {
  HostState out;
  TRY(netlink::Socket socket, netlink::Socket::open(NETLINK_ROUTE));
  TRY(out.network, read_network(socket, wanted.network, call));
  if (wanted.queueing) {
    auto read = read_all_queueing(socket, out, call);
    if (!read && is_over(read.error(), call)) return read.error();
    if (!read) out.queueing_unread = read.error();
  }
  if (sysctl_names)
    for (std::string& name : sysctl_names(out.network)) {
      auto value = read_sysctl(name);
      out.sysctls.emplace(std::move(name), std::move(value));
    }
  return out;
}

std::string boot_id() {
  // Not a network parameter, so it is the same file in every namespace.
  auto read = read_sysctl("kernel.random.boot_id");
  return read ? *std::move(read) : std::string();
}

}  // namespace lockstep
