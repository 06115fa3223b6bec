#include "tests/vm/rxe_lab.hpp"

#include <arpa/inet.h>
#include <linux/fib_rules.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <poll.h>
#include <rdma/rdma_netlink.h>

#include <chrono>
#include <fstream>

#include "drivers/linux/netlink_socket.hpp"
#include "drivers/linux/rdma/nldev.hpp"
#include "drivers/linux/session.hpp"
#include "drivers/posix/in_namespace.hpp"
#include "reconciler/twin/namespace.hpp"

namespace lockstep {
namespace {

using netlink::Request;

constexpr unsigned kMost = 9;  // one digit in names and addresses
constexpr std::uint32_t kMtu = 4200;
constexpr std::uint32_t kQueues = 8;
constexpr std::uint32_t kFirstTable = 1000;  // endpoint N's routes are in 1000 + N
constexpr std::uint32_t kFirstRule = 10;
constexpr std::uint32_t kLocalRule = 100;
constexpr const char* kSwitch = "switch";
constexpr std::uint16_t kMake = NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
constexpr int kLookMs = 20;

constexpr std::uint16_t rdma_type(unsigned command) {
  return static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
}

Result<Done> send(int protocol, Request request, const std::string& what, const Call& call) {
  TRY(auto socket, netlink::Socket::open(protocol));
  TRY(const netlink::Answer answer, socket.change(request, call));
  if (answer.code != 0) return netlink::to_error(answer, what);
  return Done{};
}

Result<Done> set_parameter(const std::string& name, const std::string& value) {
  std::ofstream file("/proc/sys/net/ipv4/conf/" + name);
  if (!(file << value << std::flush))
    return Error{ErrorKind::refused, "net.ipv4.conf " + name + " is not set"};
  return Done{};
}

// Accepts packets between addresses of this machine; each port answers ARP for its own address only.
Result<Done> set_parameters() {
  for (const auto& [name, value] : {std::pair("all/accept_local", "1"),
                                    {"all/rp_filter", "0"},
                                    {"default/rp_filter", "0"},
                                    {"all/arp_ignore", "1"},
                                    {"all/arp_announce", "2"}})
    TRY_DONE(set_parameter(name, value));
  return Done{};
}

Request rule(std::uint16_t type, std::uint32_t preference, std::uint32_t table) {
  Request out(type, type == RTM_NEWRULE ? kMake : std::uint16_t{NLM_F_ACK});
  fib_rule_hdr header{};
  header.family = AF_INET;
  header.action = FR_ACT_TO_TBL;
  out.header(header).put_number(FRA_PRIORITY, preference).put_number(FRA_TABLE, table);
  return out;
}

// Moves the table of local addresses after the rules by output interface, or back to its default, first.
Result<Done> move_local_table(std::uint32_t from, std::uint32_t to, const Call& call) {
  TRY_DONE(send(NETLINK_ROUTE, rule(RTM_NEWRULE, to, RT_TABLE_LOCAL), "rule for the local table", call));
  return send(NETLINK_ROUTE, rule(RTM_DELRULE, from, RT_TABLE_LOCAL), "first rule for the local table", call);
}

Result<Done> make_bridge(const Call& call) {
  Request link(RTM_NEWLINK, kMake);
  link.header(ifinfomsg{}).put_text(IFLA_IFNAME, "br0");
  const std::size_t nest = link.open_nest(IFLA_LINKINFO);
  link.put_text(IFLA_INFO_KIND, "bridge");
  link.close_nest(nest);
  TRY_DONE(send(NETLINK_ROUTE, std::move(link), "bridge", call));
  TRY(Session session, Session::open(call));
  return session.set_admin("br0", true);
}

// Both ends have `kQueues` queues; the far end is created in the switch.
Result<Done> make_cable(const RxeEndpoint& one, std::uint8_t number, int switch_netns, const Call& call) {
  const std::uint8_t address[] = {2, 0, 0, 0, 0, number};
  Request link(RTM_NEWLINK, kMake);
  const auto queues = [&] {
    link.put_number(IFLA_NUM_TX_QUEUES, kQueues).put_number(IFLA_NUM_RX_QUEUES, kQueues);
  };
  link.header(ifinfomsg{})
      .put_text(IFLA_IFNAME, one.port)
      .put(IFLA_ADDRESS, std::as_bytes(std::span(address)));
  link.put_number(IFLA_MTU, kMtu);
  queues();
  const std::size_t info = link.open_nest(IFLA_LINKINFO);
  link.put_text(IFLA_INFO_KIND, "veth");
  const std::size_t data = link.open_nest(IFLA_INFO_DATA);
  const std::size_t peer = link.open_nest(VETH_INFO_PEER);
  link.header(ifinfomsg{}).put_text(IFLA_IFNAME, one.far_port).put_number(IFLA_NET_NS_FD, switch_netns);
  link.put_number(IFLA_MTU, kMtu);
  queues();
  link.close_nest(peer);
  link.close_nest(data);
  link.close_nest(info);
  return send(NETLINK_ROUTE, std::move(link), "cable of " + one.port, call);
}

// Runs inside the switch.
Result<Done> plug_in(const RxeEndpoint& one, const Call& call) {
  TRY(Session session, Session::open(call));
  TRY(const std::uint32_t bridge, session.index_of("br0"));
  Request enslave(RTM_NEWLINK, NLM_F_ACK);
  enslave.header(ifinfomsg{}).put_text(IFLA_IFNAME, one.far_port).put_number(IFLA_MASTER, bridge);
  TRY_DONE(send(NETLINK_ROUTE, std::move(enslave), one.far_port + " on the bridge", call));
  return session.set_admin(one.far_port, true);
}

Result<Done> in_switch(const std::function<Result<Done>()>& body) {
  std::optional<Result<Done>> result;
  TRY_DONE(in_namespace(RxeFabric::switch_netns(), [&] { result.emplace(body()); }));
  return *std::move(result);
}

// Routes outgoing packets by this port: a route with its address as source, and the rule that looks it up.
Result<Done> set_way_out(const RxeEndpoint& one, std::uint32_t number, std::uint32_t index,
                         const Call& call) {
  in_addr source{};
  in_addr network{};
  ::inet_pton(AF_INET, one.address.c_str(), &source);
  ::inet_pton(AF_INET, "10.0.0.0", &network);
  Request route(RTM_NEWROUTE, kMake);
  rtmsg header{};
  header.rtm_family = AF_INET;
  header.rtm_dst_len = 24;
  header.rtm_protocol = RTPROT_STATIC;
  header.rtm_scope = RT_SCOPE_LINK;
  header.rtm_type = RTN_UNICAST;
  route.header(header).put_number(RTA_DST, network).put_number(RTA_PREFSRC, source);
  route.put_number(RTA_OIF, index).put_number(RTA_TABLE, kFirstTable + number);
  TRY_DONE(send(NETLINK_ROUTE, std::move(route), "route of " + one.port, call));
  Request by_port = rule(RTM_NEWRULE, kFirstRule + number, kFirstTable + number);
  by_port.put_text(FRA_OIFNAME, one.port);
  return send(NETLINK_ROUTE, std::move(by_port), "rule of " + one.port, call);
}

Result<Done> make_device(const RxeEndpoint& one, const Call& call) {
  Request link(rdma_type(RDMA_NLDEV_CMD_NEWLINK), NLM_F_ACK);
  link.put_text(RDMA_NLDEV_ATTR_DEV_NAME, one.device).put_text(RDMA_NLDEV_ATTR_LINK_TYPE, "rxe");
  link.put_text(RDMA_NLDEV_ATTR_NDEV_NAME, one.port);
  // ENOENT from a kernel with rxe means that the crypto algorithm "crc32" (module crc32_generic) is missing.
  return send(NETLINK_RDMA, std::move(link), "rxe device " + one.device, call);
}

Result<Done> make_endpoint(const RxeEndpoint& one, std::uint8_t number, int switch_netns, const Call& call) {
  TRY_DONE(make_cable(one, number, switch_netns, call));
  TRY_DONE(in_switch([&] { return plug_in(one, call); }));
  TRY(Session session, Session::open(call));
  TRY(const IpPrefix address, parse_prefix(one.address + "/24"));
  TRY_DONE(session.add_address(one.port, address));
  TRY_DONE(session.set_admin(one.port, true));
  TRY(const std::uint32_t index, session.index_of(one.port));
  TRY_DONE(set_way_out(one, number, index, call));
  return make_device(one, call);
}

// Whether its port is ACTIVE and its table has the GID of its IPv4 address, which the kernel adds later (a
// work queue: roce_gid_mgmt.c).
Result<bool> is_ready(const RxeEndpoint& one, const Call& call) {
  TRY(const auto all, rdma::read_devices_and_ports(call));
  bool active = false;
  for (const rdma::Port& port : all.ports)
    if (port.device == one.device) active = port.state == rdma::kActive;
  char mapped[64];
  std::snprintf(mapped, sizeof(mapped), "0000:0000:0000:0000:0000:ffff:0a00:00%02x",
                static_cast<unsigned>(one.address.back() - '0'));
  for (int at = 0; active && at < 16; ++at) {
    std::ifstream file("/sys/class/infiniband/" + one.device + "/ports/1/gids/" + std::to_string(at));
    std::string gid;
    if (file >> gid && gid == mapped) return true;
  }
  return false;
}

Result<Done> wait_until_ready(const RxeEndpoint& one, const Call& call) {
  for (;;) {
    TRY(const bool ready, is_ready(one, call));
    if (ready) return Done{};
    if (call.must_end(std::chrono::steady_clock::now()))
      return Error{ErrorKind::transient, one.device + " is not ACTIVE with its GID"};
    (void)::poll(nullptr, 0, kLookMs);
  }
}

void take_down(const std::vector<RxeEndpoint>& endpoints, const Call& call) {
  const auto all = rdma::read_devices_and_ports(call);
  if (all)
    for (const rdma::Device& device : all->devices)
      for (const RxeEndpoint& one : endpoints) {
        if (device.name != one.device) continue;
        Request gone(rdma_type(RDMA_NLDEV_CMD_DELLINK), NLM_F_ACK);
        gone.put_number(RDMA_NLDEV_ATTR_DEV_INDEX, device.index);
        (void)send(NETLINK_RDMA, std::move(gone), one.device, call);
      }
  // Removing a port removes its far end, its address and its routes.
  std::uint32_t number = 0;
  for (const RxeEndpoint& one : endpoints) {
    ++number;
    Request gone(RTM_DELLINK, NLM_F_ACK);
    gone.header(ifinfomsg{}).put_text(IFLA_IFNAME, one.port);
    (void)send(NETLINK_ROUTE, std::move(gone), one.port, call);
    (void)send(NETLINK_ROUTE, rule(RTM_DELRULE, kFirstRule + number, kFirstTable + number), "rule", call);
  }
  (void)move_local_table(kLocalRule, 0, call);
  (void)delete_netns(kSwitch);
}

}  // namespace

RxeFabric::RxeFabric(RxeFabric&& other) noexcept : endpoints_(std::exchange(other.endpoints_, {})) {}

RxeFabric::~RxeFabric() {
  if (endpoints_.empty()) return;
  take_down(endpoints_, Call{std::chrono::steady_clock::now() + std::chrono::seconds(30), {}, -1});
}

Result<RxeFabric> RxeFabric::make(unsigned endpoints, const Call& call) {
  if (endpoints == 0 || endpoints > kMost)
    return Error{ErrorKind::invalid_spec, "an rxe fabric has 1 to 9 endpoints"};
  TRY_DONE(set_parameters());
  TRY(const MadeNetns place, create_netns(kSwitch));
  RxeFabric out;
  for (unsigned number = 1; number <= endpoints; ++number) {
    const std::string text = std::to_string(number);
    out.endpoints_.push_back({"rxe" + text, "h" + text, "10.0.0." + text, "p" + text});
  }
  TRY_DONE(move_local_table(0, kLocalRule, call));
  TRY_DONE(in_switch([&] { return make_bridge(call); }));
  {
    TRY(Session session, Session::open(call));
    TRY_DONE(session.set_admin("lo", true));
  }
  std::uint8_t number = 0;
  for (const RxeEndpoint& one : out.endpoints_)
    TRY_DONE(make_endpoint(one, ++number, place.netns.number(), call));
  for (const RxeEndpoint& one : out.endpoints_) TRY_DONE(wait_until_ready(one, call));
  return out;
}

void RxeLab::SetUp() {
  auto fabric =
      RxeFabric::make(count_, Call{std::chrono::steady_clock::now() + std::chrono::seconds(60), {}, -1});
  ASSERT_TRUE(fabric) << fabric.error().text();
  fabric_.emplace(*std::move(fabric));
}

}  // namespace lockstep
