#include "drivers/linux/rdma/queue_counters.hpp"

#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

namespace lockstep::rdma {

Result<Done> add_queue(netlink::Bytes message, std::uint32_t index, CounterSnapshot& out) {
  TRY(const auto frame, netlink::framed<tcmsg>(message, "qdisc"));
  if (frame.header.tcm_ifindex != static_cast<int>(index)) return Done{};
  TRY(const auto table, netlink::AttributeTable<TCA_MAX + 1>::parse(frame.attributes, "qdisc"));
  if (table.text(TCA_KIND) == "red")
    if (const auto told = netlink::read_as<tc_red_xstats>(table.bytes(TCA_XSTATS)))
      out.values["qdisc_marked"] += told->marked;
  if (frame.header.tcm_parent != TC_H_ROOT || !table.has(TCA_STATS2)) return Done{};
  TRY(const auto statistics,
      netlink::AttributeTable<TCA_STATS_MAX + 1>::parse(table.bytes(TCA_STATS2), "qdisc statistics"));
  if (const auto queue = netlink::read_as<gnet_stats_queue>(statistics.bytes(TCA_STATS_QUEUE)))
    out.values["qdisc_dropped"] += queue->drops;
  return Done{};
}

void read_queues(const std::string& netdev, const Call& call, CounterSnapshot& out) {
  const std::uint32_t index = ::if_nametoindex(netdev.c_str());
  auto socket = netlink::Socket::open(NETLINK_ROUTE);
  if (index == 0 || !socket) return;
  netlink::Request request(RTM_GETQDISC, NLM_F_DUMP);
  tcmsg header{};
  header.tcm_ifindex = static_cast<int>(index);
  request.header(header);
  CounterSnapshot found;
  const auto done = socket->dump(
      request, call,
      [&](const netlink::Message& message) { return add_queue(message.payload, index, found); },
      [&] { found = {}; });
  if (done) out.values.merge(found.values);
}

}  // namespace lockstep::rdma
