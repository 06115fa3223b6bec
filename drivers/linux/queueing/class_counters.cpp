#include "drivers/linux/queueing/class_counters.hpp"

#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include <optional>

#include "drivers/linux/queueing/carriers.hpp"

namespace lockstep {

Result<Done> add_class_bytes(netlink::Bytes message, std::uint32_t index, ClassBytes& out) {
  TRY(const auto frame, netlink::framed<tcmsg>(message, "class"));
  if (frame.header.tcm_ifindex != static_cast<int>(index)) return Done{};
  const std::optional<unsigned> number = queueing::class_of(frame.header.tcm_handle);
  if (!number) return Done{};
  TRY(const auto table, netlink::AttributeTable<TCA_MAX + 1>::parse(frame.attributes, "class"));
  TRY(const auto statistics,
      netlink::AttributeTable<TCA_STATS_MAX + 1>::parse(table.bytes(TCA_STATS2), "class statistics"));
  // struct gnet_stats_basic ends in padding that the kernel does not always send.
  const auto bytes = netlink::read_as<std::uint64_t>(statistics.bytes(TCA_STATS_BASIC));
  if (!bytes) return Error{ErrorKind::transient, "netlink: a class without its count of bytes"};
  out.insert_or_assign(*number, *bytes);
  return Done{};
}

// Of a class of HTB that has a queue of its own, for ECN, its class counts as well, and comes last.
Result<ClassBytes> read_class_bytes(netlink::Socket& socket, std::uint32_t index, const Call& call) {
  ClassBytes out;
  for (const std::uint16_t type : {std::uint16_t{RTM_GETQDISC}, std::uint16_t{RTM_GETTCLASS}}) {
    netlink::Request request(type, NLM_F_DUMP);
    tcmsg header{};
    header.tcm_ifindex = static_cast<int>(index);
    request.header(header);
    const ClassBytes before = out;
    TRY_DONE(socket.dump(
        request, call,
        [&](const netlink::Message& message) { return add_class_bytes(message.payload, index, out); },
        [&] { out = before; }));
  }
  return out;
}

}  // namespace lockstep
