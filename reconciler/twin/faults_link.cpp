#include <fmt/format.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>

#include <algorithm>
#include <optional>

#include "drivers/linux/ethtool/map.hpp"
#include "drivers/linux/ethtool/part.hpp"
#include "drivers/linux/sysctl.hpp"
#include "drivers/posix/in_namespace.hpp"
#include "reconciler/twin/fault_kinds.hpp"
#include "reconciler/twin/namespace.hpp"

namespace lockstep {
namespace {

// Those of global scope (0, rtnetlink(7)), IPv4 before IPv6.
Result<std::vector<IpPrefix>> addresses_of(const FaultOrder& order, const Link& link) {
  std::vector<IpPrefix> found;
  std::optional<Error> failed;
  TRY_DONE(in_namespace(order.at.netns_path, [&] {
    auto socket = netlink::Socket::open(NETLINK_ROUTE);
    if (!socket) return void(failed = std::move(socket.error()));
    auto state = read_network(*socket, {.addresses = true, .routes = false, .rules = false}, order.call);
    if (!state) return void(failed = std::move(state.error()));
    for (const InterfaceAddress& one : state->addresses) {
      if (one.index != link.index || one.scope != 0 || is_link_local(one.prefix.address)) continue;
      found.push_back(one.prefix);
    }
  }));
  if (failed) return *std::move(failed);
  std::stable_partition(found.begin(), found.end(), [](const IpPrefix& one) { return !one.address.v6; });
  return found;
}

Result<IpPrefix> address_to_remove(const FaultOrder& order, const Link& link, const std::string& given) {
  TRY(const std::vector<IpPrefix> there, addresses_of(order, link));
  if (there.empty())
    return Error{ErrorKind::refused, fmt::format("{}: {} has no address to take", order.device, link.name)};
  if (given.empty()) return there.front();
  TRY(const IpPrefix wanted, parse_prefix(given));
  if (std::find(there.begin(), there.end(), wanted) != there.end()) return wanted;
  std::string known;
  for (const IpPrefix& one : there) known += (known.empty() ? "" : ", ") + one.text();
  return Error{ErrorKind::invalid_spec, fmt::format("{}: {} has no address {}; it has {}", order.device,
                                                    link.name, wanted.text(), known)};
}

Result<FaultLines> write_parameter(const FaultOrder& order, const std::string& name,
                                   const std::string& value) {
  if (!name.starts_with("net."))
    return Error{ErrorKind::invalid_spec,
                 "'" + name + "' is not of the network namespace but of this machine"};
  return in_device(order, [&](Session&) -> Result<FaultLines> {
    TRY(const std::string was, read_sysctl(name));
    TRY_DONE(write_sysctl(name, value));
    return FaultLines{fmt::format("sysctl -w {}='{}' (was '{}')", name, value, was)};
  });
}

struct Destination {
  const Descriptor* netns = nullptr;  // none: stays in its namespace
  std::uint32_t index = 0;            // its index there; 0: the kernel chooses
};

// Renames one veth end, and moves it if a namespace is given. Moving flushes addresses and sets it down.
Result<Done> relocate(const FaultOrder& order, std::uint32_t index, const std::string& name,
                      const Destination& to = {}) {
  std::optional<Error> failed;
  TRY_DONE(in_namespace(order.at.netns_path, [&] {
    auto socket = netlink::Socket::open(NETLINK_ROUTE);
    if (!socket) return void(failed = std::move(socket.error()));
    ifinfomsg header{};
    header.ifi_index = static_cast<int>(index);
    header.ifi_change = IFF_UP;  // down: an interface that is up can't be renamed before Linux 6.2
    netlink::Request request(RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK);
    request.header(header);
    auto down = socket->change(request, order.call);
    if (!down) return void(failed = std::move(down.error()));
    netlink::Request rename(RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK);
    header.ifi_change = 0;
    rename.header(header).put_text(IFLA_IFNAME, name);
    if (to.netns != nullptr) rename.put_number(IFLA_NET_NS_FD, to.netns->number());
    if (to.index != 0) rename.put_number(IFLA_NEW_IFINDEX, to.index);
    auto moved = socket->change(rename, order.call);
    if (!moved) return void(failed = std::move(moved.error()));
    if (moved->code != 0) failed = netlink::to_error(*moved, "move " + name);
  }));
  if (failed) return *std::move(failed);
  return Done{};
}

// lldpd 1.0.16 confuses a new port with one that has just been removed if name and index are equal, and then
// receives nothing on it; a real port is not removed with its cable.
Result<std::uint32_t> fresh_index(const FaultOrder& order) {
  Result<std::uint32_t> out = std::uint32_t{0};
  TRY_DONE(in_namespace(order.at.netns_path, [&] {
    auto socket = netlink::Socket::open(NETLINK_ROUTE);
    if (!socket) return void(out = std::move(socket.error()));
    auto links = read_links(*socket, order.call);
    if (!links) return void(out = std::move(links.error()));
    for (const Link& one : *links) *out = std::max(*out, one.index + 1);
  }));
  return out;
}

Result<Done> set_up(const FaultOrder& order, const std::string& port) {
  auto done = in_device(order, [&](Session& session) -> Result<FaultLines> {
    TRY_DONE(session.set_admin(port, true));
    return FaultLines{};
  });
  if (!done) return std::move(done.error());
  return Done{};
}

}  // namespace

Result<FaultLines> break_mtu(const FaultOrder& order) {
  TRY(const std::uint64_t mtu, parse_number(order.argument(1, "1500"), 65535));
  TRY(const Link link, port_of(order, order.argument(0)));
  return in_device(order, [&](Session& session) -> Result<FaultLines> {
    TRY_DONE(session.set_mtu(link.name, static_cast<std::uint32_t>(mtu)));
    return FaultLines{fmt::format("ip link set {} mtu {} (was {})", link.name, mtu, link.mtu)};
  });
}

Result<FaultLines> break_address_removed(const FaultOrder& order) {
  TRY(const Link link, port_of(order, order.argument(0)));
  TRY(const IpPrefix gone, address_to_remove(order, link, order.argument(1)));
  return in_device(order, [&](Session& session) -> Result<FaultLines> {
    TRY_DONE(session.remove_address(link.name, gone));
    return FaultLines{
        fmt::format("ip address del {} dev {} (routes that use it went with it)", gone.text(), link.name)};
  });
}

Result<FaultLines> break_wrong_address(const FaultOrder& order) {
  TRY(const Link link, port_of(order, order.argument(0)));
  TRY(const IpPrefix right, address_to_remove(order, link, ""));
  const std::string length = std::to_string(right.length);
  // Documentation prefixes, which no spec allocates: RFC 5737 and RFC 3849.
  TRY(const IpPrefix wrong,
      parse_prefix(order.argument(1, (right.address.v6 ? "2001:db8::1/" : "192.0.2.1/") + length)));
  if (wrong == right)
    return Error{ErrorKind::invalid_spec,
                 fmt::format("{}: {} is the address of {} as it is", order.device, wrong.text(), link.name)};
  return in_device(order, [&](Session& session) -> Result<FaultLines> {
    TRY_DONE(session.remove_address(link.name, right));
    TRY_DONE(session.add_address(link.name, wrong));
    return FaultLines{
        fmt::format("ip address del {} dev {} (routes that use it went with it)", right.text(), link.name),
        fmt::format("ip address add {} dev {}", wrong.text(), link.name)};
  });
}

Result<FaultLines> break_link_down(const FaultOrder& order) {
  TRY(const Link link, port_of(order, order.argument(0)));
  return in_device(order, [&](Session& session) -> Result<FaultLines> {
    TRY_DONE(session.set_admin(link.name, false));
    return FaultLines{
        fmt::format("ip link set {} down (was {})", link.name, link.admin_up ? "up" : "down already")};
  });
}

Result<FaultLines> break_link_flap(const FaultOrder& order) {
  constexpr std::uint64_t kMostFlaps = 1000;
  constexpr int kPauseMs = 100;  // long enough for both ends' daemons to see each change
  TRY(const std::uint64_t times, parse_number(order.argument(1, "1"), kMostFlaps));
  if (times == 0) return Error{ErrorKind::invalid_spec, "a link that flaps 0 times is as it was"};
  TRY(const Link link, port_of(order, order.argument(0)));
  return in_device(order, [&](Session& session) -> Result<FaultLines> {
    for (std::uint64_t i = 0; i < times; ++i) {
      if (order.call.must_end(std::chrono::steady_clock::now()))
        return Error{ErrorKind::cancelled,
                     fmt::format("stopped after {} of {} flaps; {} is up", i, times, link.name)};
      TRY_DONE(session.set_admin(link.name, false));
      ::poll(nullptr, 0, kPauseMs);
      TRY_DONE(session.set_admin(link.name, true));
      if (i + 1 < times) ::poll(nullptr, 0, kPauseMs);
    }
    return FaultLines{fmt::format("ip link set {0} down; ip link set {0} up: {1} times, {2} ms apart",
                                  link.name, times, kPauseMs)};
  });
}

Result<FaultLines> break_offload(const FaultOrder& order) {
  const std::string state = order.argument(2);
  if (state != "on" && state != "off")
    return Error{ErrorKind::invalid_spec, "'" + state + "' is not on or off"};
  TRY(const Link link, port_of(order, order.argument(0)));
  return in_device(order, [&](Session& session) -> Result<FaultLines> {
    const Path entry(ethtool_map::kOffload, {link.name, order.argument(1)});
    const auto failed = make_ethtool_part()->apply({{entry, {}, Value::boolean(state == "on"), 0}},
                                                   session.links(), order.call);
    if (failed.front()) return *failed.front();
    return FaultLines{fmt::format("ethtool -K {} {} {}", link.name, order.argument(1), state)};
  });
}

Result<FaultLines> break_sysctl(const FaultOrder& order) {
  return write_parameter(order, order.argument(0), order.argument(1));
}

Result<FaultLines> break_hash_policy(const FaultOrder& order) {
  return write_parameter(order, "net.ipv4.fib_multipath_hash_policy", order.argument(0, "0"));
}

Result<FaultLines> break_miscabled(const FaultOrder& order) {
  FaultOrder other = order;
  other.device = order.argument(1);
  other.at = places(order.twin.cluster, other.device);
  TRY(const Descriptor here, open_netns(order.at.netns));
  TRY(const Descriptor there, open_netns(other.at.netns));
  TRY(const Link one, port_of(order, order.argument(0)));
  TRY(const Link two, port_of(other, order.argument(2)));
  const bool same = order.device == other.device;
  if (same && one.name == two.name)
    return Error{ErrorKind::invalid_spec, "a cable can't be swapped with itself"};
  constexpr const char* kOnTheWay = "ls-swap";
  TRY(const std::uint32_t fresh, fresh_index(order));
  TRY_DONE(relocate(order, one.index, kOnTheWay, same ? Destination{} : Destination{&there, 0}));
  TRY_DONE(relocate(other, two.index, one.name, same ? Destination{} : Destination{&here, fresh}));
  TRY(const Link moved, link_of(other, kOnTheWay));
  TRY_DONE(relocate(other, moved.index, two.name));
  if (one.admin_up) TRY_DONE(set_up(order, one.name));
  if (two.admin_up) TRY_DONE(set_up(other, two.name));
  return FaultLines{fmt::format("{0}:{1} and {2}:{3}: the cables at these two ports are swapped ({4})",
                                order.device, one.name, other.device, two.name,
                                same ? "renamed into each other; addresses moved along"
                                     : "moved into each other's place; addresses and routes are gone")};
}

}  // namespace lockstep
