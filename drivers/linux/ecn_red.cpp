#include "drivers/linux/ecn_red.hpp"

#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <array>
#include <limits>

namespace lockstep {
namespace {

constexpr std::uint32_t kFlags = TC_RED_ECN | TC_RED_NODROP;
constexpr std::uint32_t kAllFlags = TC_RED_HISTORIC_FLAGS | TC_RED_NODROP;
constexpr std::uint32_t kCertain = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kAllPackets = 1000;  // per mille

// tc-red(8): "limit ... is advised to be a few times higher than max"; tc's own default for max is limit / 4.
constexpr std::uint64_t kLimitOfMax = 4;
// A class's queue holds at least as much as the port's queue under TBF (queueing/carriers.hpp).
constexpr std::uint64_t kLimitMin = 524288;
constexpr std::uint64_t kThresholdMax = std::numeric_limits<std::uint32_t>::max() / kLimitOfMax;

// Decay of the average while the queue is empty: with weight 1 immediate, in each of the table's 256 periods.
// 31 is the largest shift that red_check_params() accepts; tc_red_eval_idle_damping() yields the same at Wlog
// 0.
constexpr std::uint8_t kForgotten = 31;
using IdleTable = std::array<std::uint8_t, 256>;

std::uint32_t probability_for(std::uint64_t share) {
  // Zero would mean "use Plog instead" (red_set_parms): the minimum is one in 2^32.
  return std::max(1U, static_cast<std::uint32_t>(kCertain * share / kAllPackets));
}

std::uint64_t share_of(std::uint32_t probability) {
  return (probability * kAllPackets + kCertain / 2) / kCertain;
}

}  // namespace

Result<Done> check(const ClassEcn& wanted) {
  const auto invalid = [](std::string what) { return Error{ErrorKind::invalid_spec, std::move(what)}; };
  if (wanted.min > wanted.max) return invalid("a class's ecn-min is not above its ecn-max");
  if (wanted.max > kThresholdMax) return invalid("RED takes an ecn-max of up to 1 GiB");
  if (wanted.probability > kAllPackets) return invalid("a class's ecn-probability is 0 to 1000 per mille");
  return Done{};
}

RedParameters red_for(const ClassEcn& wanted) {
  RedParameters out;
  out.limit = static_cast<std::uint32_t>(std::max(kLimitMin, wanted.max * kLimitOfMax));
  out.min = static_cast<std::uint32_t>(wanted.min);
  out.max = static_cast<std::uint32_t>(wanted.max);
  out.max_probability = probability_for(wanted.probability);
  out.flags = kFlags;
  return out;
}

std::optional<ClassEcn> ecn_of(const RedParameters& red) {
  const ClassEcn out{red.min, red.max, share_of(red.max_probability)};
  if (!check(out) || !(red_for(out) == red)) return std::nullopt;
  return out;
}

Result<RedParameters> decode_red(netlink::Bytes options) {
  TRY(auto table, netlink::AttributeTable<TCA_RED_MAX + 1>::parse(options, "red qdisc"));
  const auto parameters = table.number<tc_red_qopt>(TCA_RED_PARMS);
  if (!parameters) return Error{ErrorKind::transient, "netlink: a red qdisc without parameters"};
  RedParameters out;
  out.limit = parameters->limit;
  out.min = parameters->qth_min;
  out.max = parameters->qth_max;
  out.weight_log = parameters->Wlog;
  out.max_probability = table.number<std::uint32_t>(TCA_RED_MAX_P).value_or(0);
  out.flags = parameters->flags;
  if (const auto more = table.number<nla_bitfield32>(TCA_RED_FLAGS)) out.flags = more->value;
  TRY_DONE(table.sound("red qdisc"));
  return out;
}

netlink::Request red_request(std::uint32_t index, std::uint32_t handle, std::uint32_t parent,
                             const RedParameters& red) {
  netlink::Request request(RTM_NEWQDISC, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE);
  tcmsg header{};
  header.tcm_ifindex = static_cast<int>(index);
  header.tcm_handle = handle;
  header.tcm_parent = parent;
  request.header(header).put_text(TCA_KIND, "red");
  tc_red_qopt parameters{};
  parameters.limit = red.limit;
  parameters.qth_min = red.min;
  parameters.qth_max = red.max;
  parameters.Wlog = red.weight_log;
  IdleTable idle;
  idle.fill(kForgotten);
  const std::size_t nest = request.open_nest(TCA_OPTIONS);
  request.put_number(TCA_RED_PARMS, parameters).put_number(TCA_RED_STAB, idle);
  request.put_number(TCA_RED_MAX_P, red.max_probability);
  request.put_number(TCA_RED_FLAGS, nla_bitfield32{red.flags, kAllFlags});
  request.close_nest(nest);
  return request;
}

}  // namespace lockstep
