#include "drivers/linux/dcb/port_state.hpp"

#include <linux/pkt_sched.h>

#include <cerrno>

#include "drivers/linux/dcb/qdisc_classes.hpp"
#include "drivers/linux/ethtool/driver_statistics.hpp"
#include "drivers/linux/queueing/scheduler.hpp"

namespace lockstep::dcb {
namespace {

using netlink::Answer;
using netlink::Message;
using netlink::Request;

std::string named(const Link& port, std::string_view what) {
  return (port.kind.empty() ? "port" : port.kind) + ": " + std::string(what);
}

}  // namespace

Result<Ports> Ports::open(const Call& call) {
  TRY(auto socket, netlink::Socket::open(NETLINK_ROUTE));
  return Ports(std::move(socket), Ethtool::open(call));
}

Result<Done> Ports::read_dumps(const Call& call) {
  qdiscs_.reset();
  pauses_.clear();
  if (!ethtool_) return Done{};
  TRY(pauses_, ethtool_->pauses(call));
  return Done{};
}

Result<PortState> Ports::read(const Link& port, const Call& call) {
  PortState out;
  Request request = get_request(port.name);
  TRY(const Answer answer, socket_.ask(request, call, [&](const Message& message) -> Result<Done> {
    TRY(out.dcb, decode_port(message.payload));
    return Done{};
  }));
  if (answer.code != 0) {
    Error error = netlink::to_error(answer, named(port, "dcbnl IEEE get"));
    if (error.kind != ErrorKind::unsupported && answer.code != ENODEV) return error;
    out.no_dcb = std::move(error.what);
  }
  if (out.dcb.pfc) TRY_DONE(read_headroom(port, out, call));
  out.classes = classes_of(out.dcb);
  if (out.dcb.ets || out.dcb.trust) out.trust = trust_of(out.dcb);
  if (const auto pause = pauses_.find(port.index); pause != pauses_.end()) out.pause = pause->second;
  return out;
}

Result<Done> Ports::read_headroom(const Link& port, PortState& out, const Call& call) {
  TRY(const std::string driver, driver_name(port.name));
  out.headroom = headroom_of(driver);
  if (out.headroom != Headroom::by_traffic_control) return Done{};
  if (out.dcb.maxrate)
    for (auto& rate : out.dcb.maxrate->tc_maxrate)
      if (rate >= kMlxswUnbounded) rate = 0;
  if (!qdiscs_) {
    TRY(qdiscs_, read_qdiscs(socket_, call));
  }
  for (const Qdisc& one : *qdiscs_) {
    if (one.index != port.index || one.parent != TC_H_ROOT || !one.offloaded || !one.ets) continue;
    out.has_root_ets = true;
    if (out.dcb.ets) out.dcb.ets = ets_of(*one.ets, *out.dcb.ets);
  }
  return Done{};
}

Result<std::string> Ports::why_no_pause(const Link& port, const Call& call) {
  if (!ethtool_) return ethtool_.error().text();
  TRY(const Ethtool::Read pause, ethtool_->read(ethtool::Kind::pause, port.index, call));
  if (pause.answer.code == 0) return std::string();
  return netlink::to_error(pause.answer, named(port, "ethtool pause get")).what;
}

Result<Done> Ports::set(Request request, std::string_view what, const Call& call, int harmless) {
  std::optional<int> refusal;
  auto answer = socket_.ask(request, call, [&](const Message& message) -> Result<Done> {
    TRY(refusal, decode_refusal(message.payload));
    return Done{};
  });
  if (!answer) {
    Error lost{ErrorKind::unknown_outcome, std::string(what) + ": no answer"};
    lost.cause = std::make_shared<const Error>(std::move(answer.error()));
    return lost;
  }
  if (answer->code != 0) return netlink::to_error(*answer, what);
  if (!refusal)
    return Error{ErrorKind::unknown_outcome, std::string(what) + ": acknowledged without a reply"};
  if (*refusal == 0 || *refusal == harmless) return Done{};
  Error error = netlink::to_error(Answer{*refusal, {}}, what);
  // A permanent refusal, not a transient state: mlx5's EBUSY means that global pause is on.
  if (error.kind == ErrorKind::transient) error.kind = ErrorKind::refused;
  return error;
}

Result<Done> Ports::set_pfc(const Link& port, const ieee_pfc& pfc, const Call& call) {
  return set(set_request(port.name, DCB_ATTR_IEEE_PFC, pfc), "dcbnl PFC set", call);
}

Result<Done> Ports::set_ets(const Link& port, const ieee_ets& ets, const Call& call) {
  return set(set_request(port.name, DCB_ATTR_IEEE_ETS, ets), "dcbnl ETS set", call);
}

Result<Done> Ports::set_root(Request request, const Call& call) {
  qdiscs_.reset();
  TRY(const Answer answer, socket_.change(request, call));
  if (answer.code == 0) return Done{};
  return netlink::to_error(answer, "root qdisc set");
}

Result<Done> Ports::set_root_ets(const Link& port, const EtsParameters& ets, const Call& call) {
  return set_root(ets_request(port.index, kOwnMajor << 16, TC_H_ROOT, ets), call);
}

Result<Done> Ports::remove_root(const Link& port, const Call& call) {
  return set_root(delete_root_request(port.index), call);
}

Result<Done> Ports::set_rates(const Link& port, const ieee_maxrate& rates, const Call& call) {
  return set(set_request(port.name, DCB_ATTR_IEEE_MAXRATE, rates), "dcbnl maximal rates set", call);
}

Result<Done> Ports::add_entries(const Link& port, std::span<const dcb_app> entries, const Call& call) {
  return set(app_request(port.name, DCB_CMD_IEEE_SET, entries), "dcbnl app table set", call);
}

// One by one: the kernel stops at the first that does not exist, and mlx5 itself removes the entry that a
// DSCP's new priority replaces (en_dcbnl.c).
Result<Done> Ports::remove_entries(const Link& port, std::span<const dcb_app> entries, const Call& call) {
  for (const dcb_app& one : entries) {
    Result<Done> removed = set(app_request(port.name, DCB_CMD_IEEE_DEL, std::span(&one, 1)),
                               "dcbnl app table delete", call, ENOENT);
    if (!removed) return removed;
  }
  return Done{};
}

Result<Done> Ports::set_trust(const Link& port, std::span<const std::uint8_t> selectors, const Call& call) {
  return set(trust_request(port.name, selectors), "dcbnl trust set", call);
}

Result<Done> Ports::set_buffer(const Link& port, const dcbnl_buffer& buffer, const Call& call) {
  return set(set_request(port.name, DCB_ATTR_DCB_BUFFER, buffer), "dcbnl buffer set", call);
}

Result<Done> Ports::set_mode(const Link& port, std::uint8_t mode, const Call& call) {
  return set(set_mode_request(port.name, mode), "dcbnl DCBX mode set", call);
}

Result<Done> Ports::set_pause(const Link& port, bool on, const Call& call) {
  if (!ethtool_) return ethtool_.error();
  return ethtool_->set_pause(port.index, on, call);
}

}  // namespace lockstep::dcb
