#include "drivers/linux/traffic_control.hpp"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <limits>

#include "drivers/linux/kernel_address.hpp"

namespace lockstep {
namespace {

using netlink::AttributeTable;
using netlink::Bytes;
using netlink::Request;

constexpr std::uint16_t kReplace = NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;

// DSCP within the first word of the IPv4 header (version, length, ToS, ...) and of the IPv6 header (version,
// traffic class, flow label): RFC 791, RFC 8200, RFC 2474.
constexpr std::uint32_t kDscpMaskV4 = 0x00FC0000;
constexpr std::uint32_t kDscpMaskV6 = 0x0FC00000;
constexpr unsigned kDscpShiftV4 = 18;
constexpr unsigned kDscpShiftV6 = 22;

constexpr std::string_view kMarkerName = "lockstep-ecn:";
constexpr std::uint32_t kEgress = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS);
constexpr std::uint32_t kMarkerHandle = 1;
// Preference 76 ('L', as for our routes), all protocols.
const std::uint32_t kMarkerPlace = (std::uint32_t{76} << 16) | htons(ETH_P_ALL);

// tc_u32_sel without its flexible array, so that it can be used as a value.
struct SelectorHead {
  std::uint8_t flags = 0;
  std::uint8_t offshift = 0;
  std::uint8_t nkeys = 0;
  std::uint16_t offmask = 0;
  std::uint16_t off = 0;
  std::int16_t offoff = 0;
  std::int16_t hoff = 0;
  std::uint32_t hmask = 0;
};
static_assert(sizeof(SelectorHead) == sizeof(tc_u32_sel) &&
              offsetof(SelectorHead, nkeys) == offsetof(tc_u32_sel, nkeys));

struct Selector {
  SelectorHead head;
  tc_u32_key key{};
};
static_assert(sizeof(Selector) == sizeof(tc_u32_sel) + sizeof(tc_u32_key));

tcmsg header_for(std::uint32_t index, std::uint32_t handle, std::uint32_t parent) {
  tcmsg out{};
  out.tcm_family = AF_UNSPEC;
  out.tcm_ifindex = static_cast<int>(index);
  out.tcm_handle = handle;
  out.tcm_parent = parent;
  return out;
}

// Without a rate table: the kernel computes it if the link layer is given (sch_api.c, qdisc_get_rtab is for
// TC_LINKLAYER_UNAWARE only).
tc_ratespec rate_spec(std::uint64_t rate) {
  tc_ratespec out{};
  out.linklayer = TC_LINKLAYER_ETHERNET;
  out.rate =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(rate, std::numeric_limits<std::uint32_t>::max()));
  return out;
}

bool needs_64(std::uint64_t rate) { return rate > std::numeric_limits<std::uint32_t>::max(); }

std::uint64_t rate_of(const tc_ratespec& spec, std::optional<std::uint64_t> wide) {
  return wide.value_or(spec.rate);
}

Result<Done> decode_tbf(Bytes options, Qdisc& out) {
  TRY(auto table, AttributeTable<TCA_TBF_MAX + 1>::parse(options, "tbf qdisc"));
  const auto shape = table.number<tc_tbf_qopt>(TCA_TBF_PARMS);
  if (!shape) return Error{ErrorKind::transient, "netlink: a tbf qdisc without parameters"};
  out.tbf_rate = rate_of(shape->rate, table.number<std::uint64_t>(TCA_TBF_RATE64));
  return table.sound("tbf qdisc");
}

Result<Done> decode_htb(Bytes options, Qdisc& out) {
  TRY(auto table, AttributeTable<TCA_HTB_MAX + 1>::parse(options, "htb qdisc"));
  const auto init = netlink::read_as<tc_htb_glob>(table.bytes(TCA_HTB_INIT));
  if (!init) return Error{ErrorKind::transient, "netlink: an htb qdisc without parameters"};
  out.htb_default_class = init->defcls;
  return Done{};
}

// PSCHED_TICKS are 64 ns (linux/pkt_sched.h of the kernel: PSCHED_SHIFT 6; /proc/net/psched reports the
// same).
std::uint32_t ticks_for(std::uint64_t bytes, std::uint64_t rate) {
  constexpr std::uint64_t kNanosecondsPerTick = 64;
  const std::uint64_t nanoseconds = bytes * 1'000'000'000ULL / std::max<std::uint64_t>(rate, 1);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(nanoseconds / kNanosecondsPerTick + 1,
                                                            std::numeric_limits<std::uint32_t>::max()));
}

// A burst of one GSO super-packet (64 KiB) lets TCP achieve the rate, as measured in the lab with TBF.
constexpr std::uint64_t kClassBurst = 65536;
// Bytes that a class may send per turn when classes compete beyond their rates; proportional to the rate
// (htb's own default is rate / 10), within what the kernel accepts without a warning (sch_htb.c:
// 1000..200000).
std::uint32_t quantum_for(std::uint64_t rate) {
  constexpr std::uint64_t kRateToQuantum = 1000;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(rate / kRateToQuantum, 1514, 200'000));
}

}  // namespace

Result<std::optional<Qdisc>> decode_qdisc(Bytes payload) {
  TRY(const auto frame, netlink::framed<tcmsg>(payload, "qdisc"));
  TRY(auto table, AttributeTable<TCA_MAX + 1>::parse(frame.attributes, "qdisc"));
  Qdisc out;
  out.index = static_cast<std::uint32_t>(frame.header.tcm_ifindex);
  out.handle = frame.header.tcm_handle;
  out.parent = frame.header.tcm_parent;
  out.kind = table.text(TCA_KIND);
  out.offloaded = table.number<std::uint8_t>(TCA_HW_OFFLOAD).value_or(0) != 0;
  TRY_DONE(table.sound("qdisc"));
  if (out.kind == "tbf") TRY_DONE(decode_tbf(table.bytes(TCA_OPTIONS), out));
  if (out.kind == "htb") TRY_DONE(decode_htb(table.bytes(TCA_OPTIONS), out));
  if (out.kind == "red") {
    TRY(out.red, decode_red(table.bytes(TCA_OPTIONS)));
  }
  if (out.kind == "ets") {
    TRY(out.ets, decode_ets(table.bytes(TCA_OPTIONS)));
  }
  if (out.kind == "mqprio") {
    TRY(out.mqprio, decode_mqprio(table.bytes(TCA_OPTIONS)));
  }
  return std::optional(std::move(out));
}

Result<std::optional<HtbClass>> decode_class(Bytes payload) {
  TRY(const auto frame, netlink::framed<tcmsg>(payload, "class"));
  TRY(const auto table, AttributeTable<TCA_MAX + 1>::parse(frame.attributes, "class"));
  if (table.text(TCA_KIND) != "htb") return std::optional<HtbClass>();
  TRY(auto options, AttributeTable<TCA_HTB_MAX + 1>::parse(table.bytes(TCA_OPTIONS), "htb class"));
  const auto parameters = options.number<tc_htb_opt>(TCA_HTB_PARMS);
  if (!parameters) return Error{ErrorKind::transient, "netlink: an htb class without parameters"};
  HtbClass out;
  out.index = static_cast<std::uint32_t>(frame.header.tcm_ifindex);
  out.handle = frame.header.tcm_handle;
  out.parent = frame.header.tcm_parent;
  out.rate = rate_of(parameters->rate, options.number<std::uint64_t>(TCA_HTB_RATE64));
  out.ceil = rate_of(parameters->ceil, options.number<std::uint64_t>(TCA_HTB_CEIL64));
  out.priority = parameters->prio;
  TRY_DONE(options.sound("htb class"));
  return std::optional(out);
}

Result<std::optional<DscpFilter>> decode_filter(Bytes payload) {
  TRY(const auto frame, netlink::framed<tcmsg>(payload, "filter"));
  TRY(const auto table, AttributeTable<TCA_MAX + 1>::parse(frame.attributes, "filter"));
  if (table.text(TCA_KIND) != "u32") return std::optional<DscpFilter>();
  TRY(auto options, AttributeTable<TCA_U32_MAX + 1>::parse(table.bytes(TCA_OPTIONS), "u32 filter"));
  const auto selector = netlink::read_as<Selector>(options.bytes(TCA_U32_SEL));
  const auto flow = options.number<std::uint32_t>(TCA_U32_CLASSID);
  // Hash tables have no selector; a filter with several keys does not classify a single DSCP.
  if (!selector || selector->head.nkeys != 1 || !flow) return std::optional<DscpFilter>();
  const tc_u32_key& key = selector->key;
  DscpFilter out;
  const std::uint32_t where = frame.header.tcm_info;
  const std::uint16_t protocol = ntohs(static_cast<std::uint16_t>(where & 0xFFFF));
  out.v6 = protocol == ETH_P_IPV6;
  const std::uint32_t mask = out.v6 ? kDscpMaskV6 : kDscpMaskV4;
  if ((!out.v6 && protocol != ETH_P_IP) || key.off != 0 || key.offmask != 0 || ntohl(key.mask) != mask)
    return std::optional<DscpFilter>();
  out.index = static_cast<std::uint32_t>(frame.header.tcm_ifindex);
  out.parent = frame.header.tcm_parent;
  out.handle = frame.header.tcm_handle;
  out.preference = static_cast<std::uint16_t>(where >> 16);
  out.dscp = static_cast<std::uint8_t>((ntohl(key.val) & mask) >> (out.v6 ? kDscpShiftV6 : kDscpShiftV4));
  out.flow = *flow;
  for (const int more : {TCA_U32_ACT, TCA_U32_POLICE, TCA_U32_MARK, TCA_U32_INDEV, TCA_U32_LINK})
    out.plain = out.plain && !options.has(static_cast<std::size_t>(more));
  return std::optional(out);
}

Result<std::optional<EcnMarker>> decode_marker(Bytes payload) {
  TRY(const auto frame, netlink::framed<tcmsg>(payload, "filter"));
  TRY(const auto table, AttributeTable<TCA_MAX + 1>::parse(frame.attributes, "filter"));
  if (table.text(TCA_KIND) != "bpf") return std::optional<EcnMarker>();
  TRY(const auto options, AttributeTable<TCA_BPF_MAX + 1>::parse(table.bytes(TCA_OPTIONS), "bpf filter"));
  const std::string name = options.text(TCA_BPF_NAME);
  if (!name.starts_with(kMarkerName)) return std::optional<EcnMarker>();
  const auto threshold = parse_number(std::string_view(name).substr(kMarkerName.size()),
                                      std::numeric_limits<std::uint32_t>::max());
  if (!threshold) return std::optional<EcnMarker>();
  return std::optional(EcnMarker{static_cast<std::uint32_t>(frame.header.tcm_ifindex), *threshold});
}

Result<std::vector<Qdisc>> read_qdiscs(netlink::Socket& socket, const Call& call) {
  std::vector<Qdisc> out;
  TRY_DONE(read_all(socket, RTM_GETQDISC, RTM_NEWQDISC, tcmsg{}, &decode_qdisc, call, out));
  return out;
}

Result<std::vector<HtbClass>> read_classes(netlink::Socket& socket, std::uint32_t index, const Call& call) {
  std::vector<HtbClass> out;
  TRY_DONE(read_all(socket, RTM_GETTCLASS, RTM_NEWTCLASS, header_for(index, 0, 0), &decode_class, call, out));
  return out;
}

Result<std::vector<DscpFilter>> read_filters(netlink::Socket& socket, std::uint32_t index,
                                             std::uint32_t parent, const Call& call) {
  std::vector<DscpFilter> out;
  TRY_DONE(read_all(socket, RTM_GETTFILTER, RTM_NEWTFILTER, header_for(index, 0, parent), &decode_filter,
                    call, out));
  return out;
}

Result<std::vector<EcnMarker>> read_markers(netlink::Socket& socket, std::uint32_t index, const Call& call) {
  std::vector<EcnMarker> out;
  TRY_DONE(read_all(socket, RTM_GETTFILTER, RTM_NEWTFILTER, header_for(index, 0, kEgress), &decode_marker,
                    call, out));
  return out;
}

Request marker_request(const EcnMarker& wanted, int program) {
  Request request(RTM_NEWTFILTER, NLM_F_ACK | NLM_F_CREATE);
  tcmsg header = header_for(wanted.index, kMarkerHandle, kEgress);
  header.tcm_info = kMarkerPlace;
  request.header(header).put_text(TCA_KIND, "bpf");
  const std::size_t nest = request.open_nest(TCA_OPTIONS);
  request.put_number(TCA_BPF_FD, static_cast<std::uint32_t>(program));
  request.put_text(TCA_BPF_NAME, std::string(kMarkerName) + std::to_string(wanted.threshold));
  request.put_number(TCA_BPF_FLAGS, std::uint32_t{TCA_BPF_FLAG_ACT_DIRECT});
  request.close_nest(nest);
  return request;
}

Request delete_marker_request(std::uint32_t index) {
  Request request(RTM_DELTFILTER, NLM_F_ACK);
  tcmsg header = header_for(index, kMarkerHandle, kEgress);
  header.tcm_info = kMarkerPlace;
  request.header(header).put_text(TCA_KIND, "bpf");
  return request;
}

Request tbf_request(std::uint32_t index, std::uint32_t handle, std::uint32_t parent, const TbfShape& shape) {
  Request request(RTM_NEWQDISC, kReplace);
  request.header(header_for(index, handle, parent)).put_text(TCA_KIND, "tbf");
  tc_tbf_qopt options{};
  options.rate = rate_spec(shape.rate);
  options.limit = shape.limit;
  options.buffer = ticks_for(shape.burst, shape.rate);
  const std::size_t nest = request.open_nest(TCA_OPTIONS);
  request.put_number(TCA_TBF_PARMS, options).put_number(TCA_TBF_BURST, shape.burst);
  if (needs_64(shape.rate)) request.put_number(TCA_TBF_RATE64, shape.rate);
  request.close_nest(nest);
  return request;
}

Request htb_request(std::uint32_t index, std::uint32_t handle, std::uint32_t default_minor) {
  Request request(RTM_NEWQDISC, kReplace);
  request.header(header_for(index, handle, TC_H_ROOT)).put_text(TCA_KIND, "htb");
  tc_htb_glob init{};
  init.version = 3;  // HTB_VER >> 16 in sch_htb.c
  init.rate2quantum = 10;
  init.defcls = default_minor;
  const std::size_t nest = request.open_nest(TCA_OPTIONS);
  request.put_number(TCA_HTB_INIT, init);
  request.close_nest(nest);
  return request;
}

Request class_request(const HtbClass& wanted) {
  Request request(RTM_NEWTCLASS, kReplace);
  request.header(header_for(wanted.index, wanted.handle, wanted.parent)).put_text(TCA_KIND, "htb");
  tc_htb_opt options{};
  options.rate = rate_spec(wanted.rate);
  options.ceil = rate_spec(wanted.ceil);
  options.buffer = ticks_for(kClassBurst, wanted.rate);
  options.cbuffer = ticks_for(kClassBurst, wanted.ceil);
  options.quantum = quantum_for(wanted.rate);
  options.prio = wanted.priority;
  const std::size_t nest = request.open_nest(TCA_OPTIONS);
  request.put_number(TCA_HTB_PARMS, options);
  if (needs_64(wanted.rate)) request.put_number(TCA_HTB_RATE64, wanted.rate);
  if (needs_64(wanted.ceil)) request.put_number(TCA_HTB_CEIL64, wanted.ceil);
  request.close_nest(nest);
  return request;
}

Request filter_request(const DscpFilter& wanted) {
  Request request(RTM_NEWTFILTER, NLM_F_ACK | NLM_F_CREATE);
  tcmsg header = header_for(wanted.index, wanted.handle, wanted.parent);
  header.tcm_info = (std::uint32_t{wanted.preference} << 16) | htons(wanted.v6 ? ETH_P_IPV6 : ETH_P_IP);
  request.header(header).put_text(TCA_KIND, "u32");
  Selector selector;
  selector.head.flags = TC_U32_TERMINAL;
  selector.head.nkeys = 1;
  selector.key.mask = htonl(wanted.v6 ? kDscpMaskV6 : kDscpMaskV4);
  selector.key.val = htonl(std::uint32_t{wanted.dscp} << (wanted.v6 ? kDscpShiftV6 : kDscpShiftV4));
  const std::size_t nest = request.open_nest(TCA_OPTIONS);
  request.put_number(TCA_U32_CLASSID, wanted.flow).put_number(TCA_U32_SEL, selector);
  request.close_nest(nest);
  return request;
}

Request bare_qdisc_request(std::uint32_t index, std::uint32_t handle, std::string_view kind) {
  Request request(RTM_NEWQDISC, kReplace);
  const bool clsact = kind == "clsact";
  request.header(header_for(index, handle, clsact ? std::uint32_t{TC_H_CLSACT} : std::uint32_t{TC_H_ROOT}))
      .put_text(TCA_KIND, kind);
  return request;
}

Request delete_root_request(std::uint32_t index) { return delete_qdisc_request(index, 0, TC_H_ROOT); }

Request delete_qdisc_request(std::uint32_t index, std::uint32_t handle, std::uint32_t parent) {
  Request request(RTM_DELQDISC, NLM_F_ACK);
  request.header(header_for(index, handle, parent));
  return request;
}

Request delete_class_request(std::uint32_t index, std::uint32_t handle) {
  Request request(RTM_DELTCLASS, NLM_F_ACK);
  request.header(header_for(index, handle, 0));
  return request;
}

Request delete_filter_request(const DscpFilter& gone) {
  Request request(RTM_DELTFILTER, NLM_F_ACK);
  tcmsg header = header_for(gone.index, gone.handle, gone.parent);
  header.tcm_info = (std::uint32_t{gone.preference} << 16) | htons(gone.v6 ? ETH_P_IPV6 : ETH_P_IP);
  request.header(header).put_text(TCA_KIND, "u32");
  return request;
}

}  // namespace lockstep
