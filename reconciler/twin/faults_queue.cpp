#include <fmt/format.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

#include "drivers/linux/queueing/carrier.hpp"
#include "reconciler/twin/fault_kinds.hpp"
#include "reconciler/twin/namespace.hpp"
#include "specs/language/quantity.hpp"

namespace lockstep {
namespace {

constexpr std::uint32_t kMillion = 1'000'000;
constexpr std::uint32_t kPreference = 49152;  // the first value that the kernel chooses itself (cls_api.c)

bpf_insn instruction(int code, int destination, int offset, std::int32_t value) {
  bpf_insn out{};
  out.code = static_cast<__u8>(code);
  out.dst_reg = static_cast<__u8>(destination & 0xF);
  out.off = static_cast<__s16>(offset);
  out.imm = value;
  return out;
}

// if (bpf_get_prandom_u32() < threshold) return TC_ACT_SHOT; return TC_ACT_UNSPEC;
Result<Descriptor> load_loss(std::uint32_t parts_per_million) {
  const std::uint64_t threshold = (std::uint64_t{0xFFFFFFFFU} * parts_per_million) / kMillion;
  const std::array<bpf_insn, 6> program{
      instruction(BPF_JMP | BPF_CALL, 0, 0, BPF_FUNC_get_prandom_u32),
      instruction(BPF_JMP32 | BPF_JLT | BPF_K, 0, 2, static_cast<std::int32_t>(threshold)),
      instruction(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, TC_ACT_UNSPEC),
      instruction(BPF_JMP | BPF_EXIT, 0, 0, 0),
      instruction(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, TC_ACT_SHOT),
      instruction(BPF_JMP | BPF_EXIT, 0, 0, 0),
  };
  static constexpr char kLicense[] = "Apache-2.0";
  bpf_attr attributes{};
  attributes.prog_type = BPF_PROG_TYPE_SCHED_CLS;
  attributes.insns = reinterpret_cast<std::uintptr_t>(program.data());
  attributes.insn_cnt = static_cast<__u32>(program.size());
  attributes.license = reinterpret_cast<std::uintptr_t>(kLicense);
  Descriptor loaded(static_cast<int>(::syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof(attributes))));
  if (!loaded) return errno_error("load the eBPF program");
  return loaded;
}

tcmsg place_of(const Link& link, std::uint32_t parent, std::uint32_t handle, std::uint32_t detail) {
  tcmsg out{};
  out.tcm_family = AF_UNSPEC;
  out.tcm_ifindex = static_cast<int>(link.index);
  out.tcm_parent = parent;
  out.tcm_handle = handle;
  out.tcm_info = detail;
  return out;
}

Result<Done> send(netlink::Socket& socket, netlink::Request& request, int harmless, const char* what,
                  const Call& call) {
  TRY(const netlink::Answer answer, socket.change(request, call));
  if (answer.code != 0 && answer.code != harmless) return netlink::to_error(answer, what);
  return Done{};
}

}  // namespace

Result<Done> set_loss(const Link& link, const Loss& loss, const Call& call) {
  TRY(netlink::Socket socket, netlink::Socket::open(NETLINK_ROUTE));
  const std::uint32_t parent =
      TC_H_MAKE(TC_H_CLSACT, loss.hook == Hook::ingress ? TC_H_MIN_INGRESS : TC_H_MIN_EGRESS);
  const std::uint32_t detail = TC_H_MAKE(kPreference << 16U, htons(ETH_P_ALL));
  if (loss.parts_per_million == 0) {
    netlink::Request request(RTM_DELTFILTER, NLM_F_REQUEST | NLM_F_ACK);
    request.header(place_of(link, parent, 1, detail)).put_text(TCA_KIND, "bpf");
    return send(socket, request, ENOENT, "remove the loss", call);
  }
  netlink::Request queue(RTM_NEWQDISC, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
  queue.header(place_of(link, TC_H_CLSACT, TC_H_MAKE(TC_H_CLSACT, 0), 0)).put_text(TCA_KIND, "clsact");
  TRY_DONE(send(socket, queue, EEXIST, "clsact", call));
  TRY(const Descriptor program, load_loss(loss.parts_per_million));
  netlink::Request filter(RTM_NEWTFILTER, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE);
  filter.header(place_of(link, parent, 1, detail)).put_text(TCA_KIND, "bpf");
  const auto options = filter.open_nest(TCA_OPTIONS);
  filter.put_number(TCA_BPF_FD, program.number());
  filter.put_text(TCA_BPF_NAME, "lockstep-loss");
  filter.put_number(TCA_BPF_FLAGS, std::uint32_t{TCA_BPF_FLAG_ACT_DIRECT});
  filter.close_nest(options);
  return send(socket, filter, 0, "cls_bpf", call);
}

Result<FaultLines> break_slow_link(const FaultOrder& order) {
  TRY(const BitRate rate, parse_bit_rate(order.argument(1, "100Mbps")));
  TRY(const Link link, port_of(order, order.argument(0)));
  return in_device(order, [&](Session& session) -> Result<FaultLines> {
    TRY(PortScheduler scheduler, session.scheduler(link.name));
    if (scheduler.rate && rate.bits_per_second >= *scheduler.rate)
      return Error{ErrorKind::invalid_spec,
                   fmt::format("{} sends at {} bit/s as it is; {} bit/s is no slower", link.name,
                               *scheduler.rate, rate.bits_per_second)};
    const std::string was = scheduler.rate ? fmt::format("{} bit/s", *scheduler.rate) : "unshaped";
    scheduler.rate = rate.bits_per_second;
    TRY(const Carrier carrier, software_carrier(order.call));
    TRY_DONE(session.set_scheduler(link.name, scheduler, carrier));
    return FaultLines{
        fmt::format("egress rate of {} set to {} bit/s (was {})", link.name, rate.bits_per_second, was)};
  });
}

Result<Ratio> parse_loss(const std::string& word) {
  TRY(const Ratio share, parse_ratio(word));
  if (share.parts_per_million > kMillion)
    return Error{ErrorKind::invalid_spec, "no more than 100% can be lost"};
  return share;
}

Result<FaultLines> break_packet_loss(const FaultOrder& order) {
  TRY(const Ratio share, parse_loss(order.argument(1, "1%")));
  TRY(const Link link, port_of(order, order.argument(0)));
  return in_device(order, [&](Session&) -> Result<FaultLines> {
    TRY_DONE(set_loss(link, {Hook::ingress, share.parts_per_million}, order.call));
    return FaultLines{
        share.parts_per_million == 0
            ? fmt::format("the loss on {} is taken away", link.name)
            : fmt::format("{} drops {} of 1000000 packets that it receives (tc -s qdisc show dev {}: clsact)",
                          link.name, share.parts_per_million, link.name)};
  });
}

}  // namespace lockstep
