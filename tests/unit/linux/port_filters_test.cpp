// What other software attaches to ports, on a real kernel: programs, queues and policies that drop packets,
// as pings prove, are reported, and those of Lockstep are not.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

#include "drivers/linux/netlink_socket.hpp"
#include "drivers/linux/traffic_control.hpp"
#include "drivers/posix/in_namespace.hpp"
#include "specs/files/descriptor.hpp"
#include "tests/needs.hpp"
#include "tests/unit/linux/diverted.hpp"

namespace lockstep {
namespace {

using PortFilters = Diverted;

// A BPF program that returns the same verdict for each packet, attached in the usual way (linux/bpf.h).
class Program {
 public:
  Program(bpf_prog_type type, std::int32_t verdict) {
    const std::array<bpf_insn, 2> code{
        {{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = verdict},
         {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0}}};
    static constexpr char kLicence[] = "GPL";
    bpf_attr load{};
    load.prog_type = type;
    load.insns = reinterpret_cast<std::uint64_t>(code.data());
    load.insn_cnt = code.size();
    load.license = reinterpret_cast<std::uint64_t>(kLicence);
    program_ = Descriptor(static_cast<int>(::syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof(load))));
  }
  int number() const { return program_.number(); }
  explicit operator bool() const { return static_cast<bool>(program_); }

 private:
  Descriptor program_;
};

bool does(const std::string& netns, netlink::Request request) {
  bool done = false;
  const Result<Done> entered = in_namespace(netns, [&] {
    auto socket = netlink::Socket::open(NETLINK_ROUTE);
    if (!socket) return;
    const auto answer = socket->change(request, within(std::chrono::seconds(5)));
    done = answer && answer->code == 0;
  });
  return entered && done;
}

class FilteredByPrograms : public Diverted {
 protected:
  std::uint32_t index_of(const std::string& port) const {
    return static_cast<std::uint32_t>(
        std::stoul(shell_output("ip netns exec " + name_ + " cat /sys/class/net/" + port + "/ifindex")));
  }
  netlink::Request xdp_request(const Program& program) const {
    netlink::Request request(RTM_SETLINK, NLM_F_ACK);
    ifinfomsg header{};
    header.ifi_index = static_cast<int>(index_of("rail0"));
    request.header(header);
    const std::size_t nest = request.open_nest(IFLA_XDP | NLA_F_NESTED);
    request.put_number(IFLA_XDP_FD, std::int32_t{program.number()});
    request.put_number(IFLA_XDP_FLAGS, std::uint32_t{XDP_FLAGS_SKB_MODE});
    request.close_nest(nest);
    return request;
  }
  netlink::Request tc_request(const Program& program, std::uint32_t place) const {
    netlink::Request request(RTM_NEWTFILTER, NLM_F_ACK | NLM_F_CREATE);
    tcmsg header{};
    header.tcm_ifindex = static_cast<int>(index_of("rail0"));
    header.tcm_parent = TC_H_MAKE(TC_H_CLSACT, place);
    header.tcm_info = (std::uint32_t{10} << 16) | __builtin_bswap16(ETH_P_ALL);
    request.header(header).put_text(TCA_KIND, "bpf");
    const std::size_t nest = request.open_nest(TCA_OPTIONS);
    request.put_number(TCA_BPF_FD, std::uint32_t(program.number())).put_text(TCA_BPF_NAME, "mine");
    request.put_number(TCA_BPF_FLAGS, std::uint32_t{TCA_BPF_FLAG_ACT_DIRECT});
    request.close_nest(nest);
    return request;
  }
};

TEST_F(FilteredByPrograms, ReportsTcFiltersExceptOurs) {
  const Program drops(BPF_PROG_TYPE_SCHED_CLS, TC_ACT_SHOT);
  const Program passes(BPF_PROG_TYPE_SCHED_CLS, TC_ACT_UNSPEC);
  if (!drops || !passes) LOCKSTEP_NOT_TESTED("this kernel loads no programs for tc");
  ASSERT_EQ(tc("qdisc add dev rail0 clsact"), 0);
  EXPECT_EQ(filters(), Texts{});
  ASSERT_TRUE(does(path(), marker_request({index_of("rail0"), 65536}, passes.number())));
  EXPECT_EQ(filters(), Texts{}) << "the ECN marker";
  ASSERT_TRUE(does(path(), tc_request(drops, TC_H_MIN_INGRESS)));
  EXPECT_EQ(filters(), Texts{"tc ingress of rail0: bpf mine"});
  EXPECT_EQ(filters_of_host(), Texts{"tc ingress of rail0: bpf mine"});
  EXPECT_FALSE(arrives("10.64.1.1"));
  ASSERT_EQ(tc("qdisc del dev rail0 clsact"), 0);
  EXPECT_EQ(filters(), Texts{});
  EXPECT_TRUE(arrives_again("10.64.1.1"));
  ASSERT_EQ(tc("qdisc add dev up0 ingress"), 0);
  ASSERT_EQ(tc("filter add dev up0 parent ffff: pref 7 protocol ip u32 match ip dst 10.64.1.0/24 flowid 1:1"),
            0);
  EXPECT_EQ(filters(), Texts{"tc ingress of up0: u32 pref 7"});
}

// A queue that delays packets, at any place and with any handle, and a foreign filter in our own queueing.
TEST_F(PortFilters, ReportsForeignQueuesAndFiltersInOurQueueing) {
  ASSERT_EQ(tc("qdisc add dev up0 root handle 4c53: htb default 10"), 0);
  ASSERT_EQ(tc("class add dev up0 parent 4c53: classid 4c53:10 htb rate 1gbit"), 0);
  ASSERT_EQ(tc("filter add dev up0 parent 4c53: pref 76 protocol ip handle ::1b u32 match ip dsfield 0x68 "
               "0xfc flowid 4c53:10"),
            0);
  EXPECT_EQ(filters(), Texts{}) << "what is Lockstep's";
  ASSERT_EQ(tc("qdisc add dev up0 parent 4c53:10 handle 99: tbf rate 8kbit burst 100 limit 100"), 0);
  EXPECT_EQ(filters(), Texts{"tc queue of up0: tbf 99: in 4c53:10"});
  EXPECT_FALSE(arrives("-s 500 10.64.1.1"));
  ASSERT_EQ(tc("qdisc replace dev up0 parent 4c53:10 handle 98: pfifo limit 100"), 0);
  EXPECT_EQ(filters(), Texts{"tc queue of up0: pfifo 98: in 4c53:10"}) << "it may be too short";
  for (const char* const queue : {"tbf rate 8kbit burst 100 limit 100", "bfifo limit 100"}) {
    ASSERT_EQ(tc("qdisc del dev up0 parent 4c53:10"), 0);
    ASSERT_EQ(tc("qdisc add dev up0 parent 4c53:10 handle 4c54: " + std::string(queue)), 0);
    EXPECT_EQ(filters().size(), 1U) << queue << ", under a handle of Lockstep's";
  }
  ASSERT_EQ(tc("qdisc del dev up0 parent 4c53:10"), 0);
  ASSERT_EQ(tc("qdisc add dev up0 parent 4c53:10 handle 98: pfifo limit 100"), 0);
  ASSERT_EQ(
      tc("filter add dev up0 parent 4c53: pref 5 protocol ip u32 match ip dst 10.64.1.0/24 flowid 4c53:99"),
      0);
  EXPECT_EQ(filters(), (Texts{"tc queue of up0: pfifo 98: in 4c53:10", "tc root of up0: u32 pref 5"}));
  ASSERT_EQ(tc("qdisc del dev up0 root"), 0);
  EXPECT_EQ(filters(), Texts{});
  ASSERT_EQ(tc("qdisc add dev up0 root handle 4c53: htb default 10"), 0);
  ASSERT_EQ(
      tc("filter add dev up0 parent 4c53: pref 5 protocol ip u32 match ip dsfield 0x68 0xfc flowid 4c53:99"),
      0);
  EXPECT_EQ(filters(), Texts{"tc root of up0: u32 pref 5"}) << "of a DSCP, and none of a class's";
  ASSERT_EQ(tc("qdisc del dev up0 root"), 0);
  ASSERT_EQ(tc("qdisc add dev up0 root handle 4c53: tbf rate 1gbit burst 64k limit 512k"), 0);
  EXPECT_EQ(filters(), Texts{}) << "what is Lockstep's";
  ASSERT_EQ(tc("qdisc add dev up0 parent 4c53:1 handle 4c54: tbf rate 8kbit burst 100 limit 100"), 0);
  EXPECT_EQ(filters(), Texts{"tc queue of up0: tbf 4c54: in 4c53:1"});
  ASSERT_EQ(tc("qdisc del dev up0 root"), 0);
  ASSERT_EQ(tc("qdisc add dev rail0 root handle 97: tbf rate 8kbit burst 100 limit 100"), 0);
  EXPECT_EQ(filters(), Texts{"tc queue of rail0: tbf 97: at the root"});
  ASSERT_EQ(tc("qdisc replace dev rail0 root pfifo"), 0);
  EXPECT_EQ(filters(), Texts{}) << "as the kernel's own";
}

TEST_F(PortFilters, ReportsIpsecPoliciesThatMatchThePool) {
  const auto policy = [&](const std::string& line) { return ip("xfrm policy " + line); };
  if (policy("add src 10.65.0.0/16 dst 10.65.0.0/16 dir fwd action block") != 0)
    LOCKSTEP_NOT_TESTED("this kernel has no IPsec (CONFIG_XFRM_USER)");
  ASSERT_EQ(policy("add src 10.64.0.0/16 dst 10.64.0.0/16 dir fwd priority 10 action allow"), 0);
  ASSERT_EQ(policy("add src 10.64.0.0/24 dst 10.64.1.0/24 dir fwd priority 20 action block"), 0);
  ASSERT_EQ(policy("add src 10.64.0.0/16 dst 10.64.0.0/16 proto udp dport 53 dir fwd action block"), 0);
  ASSERT_EQ(policy("add src 10.64.0.0/16 dst 10.64.0.0/16 mark 7 mask 0xff dir fwd action block"), 0);
  ASSERT_EQ(
      policy(
          "add src 10.64.0.0/16 dst 10.64.0.0/16 proto tcp dport 179 dir out tmpl proto esp mode transport"),
      0);
  EXPECT_EQ(filters(), Texts{}) << "none of these is asked of RoCE or TCP of the pool";
  EXPECT_TRUE(arrives_again("10.64.1.1"));
  ASSERT_EQ(policy("add src 10.64.0.0/24 dst 10.64.1.0/25 dir fwd priority 1 action block"), 0);
  EXPECT_EQ(filters(), Texts{"xfrm policy fwd: from 10.64.0.0/24 to 10.64.1.0/25 block"});
  EXPECT_EQ(filters_of_host(), Texts{}) << "a host forwards nothing of the pool";
  EXPECT_FALSE(arrives("10.64.1.1"));
  ASSERT_EQ(policy("flush"), 0);
  ASSERT_EQ(policy("add src 0.0.0.0/0 dst 10.64.0.0/16 dir out tmpl src 10.64.0.0 dst 10.64.0.1 proto esp "
                   "mode tunnel"),
            0);
  EXPECT_EQ(filters(), Texts{"xfrm policy out: from 0.0.0.0/0 to 10.64.0.0/16 tmpl"});
  EXPECT_EQ(filters_of_host(), Texts{"xfrm policy out: from 0.0.0.0/0 to 10.64.0.0/16 tmpl"});
  EXPECT_FALSE(arrives("10.64.1.1"));
  ASSERT_EQ(policy("flush"), 0);
  EXPECT_EQ(filters(), Texts{});
  EXPECT_TRUE(arrives_again("10.64.1.1"));
  ASSERT_EQ(policy("add src 10.64.0.0/16 dst 10.64.0.0/16 mark 0 mask 0xff dir in action block"), 0);
  EXPECT_EQ(filters(), Texts{}) << "a switch gets nothing of the pool";
  EXPECT_EQ(filters_of_host(), Texts{"xfrm policy in: from 10.64.0.0/16 to 10.64.0.0/16 block"});
  EXPECT_FALSE(arrives("10.64.0.0")) << "a packet without a mark is one of the mark 0";
  ASSERT_EQ(policy("flush"), 0);
  ASSERT_EQ(policy("add src 10.64.0.0/16 dst 10.64.0.0/16 dir out tmpl proto esp mode transport level use"),
            0);
  EXPECT_EQ(filters(), Texts{"xfrm policy out: from 10.64.0.0/16 to 10.64.0.0/16 tmpl"});
}

TEST_F(FilteredByPrograms, ReportsAnXdpProgram) {
  const Program drops(BPF_PROG_TYPE_XDP, XDP_DROP);
  if (!drops || !does(path(), xdp_request(drops)))
    LOCKSTEP_NOT_TESTED("this kernel attaches no XDP program to a veth");
  EXPECT_EQ(filters(), Texts{"XDP on rail0 (generic)"});
  EXPECT_FALSE(arrives("10.64.1.1"));
  ASSERT_EQ(ip("link set rail0 xdpgeneric off"), 0);
  EXPECT_EQ(filters(), Texts{});
  EXPECT_TRUE(arrives_again("10.64.1.1"));
}

}  // namespace
}  // namespace lockstep
