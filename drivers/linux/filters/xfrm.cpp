#include "drivers/linux/filters/xfrm.hpp"

#include <arpa/inet.h>
#include <linux/xfrm.h>
#include <sys/socket.h>

#include <span>

#include "drivers/linux/kernel_address.hpp"

namespace lockstep::xfrm {
namespace {

using Attributes = netlink::AttributeTable<XFRMA_MAX + 1>;

Result<IpPrefix> prefix_of(const xfrm_address_t& address, std::uint16_t family, std::uint8_t length) {
  if (family != AF_INET && family != AF_INET6)
    return Error{ErrorKind::transient, "netlink: an XFRM policy of family " + std::to_string(family)};
  const auto bytes = std::as_bytes(std::span<const xfrm_address_t, 1>(&address, 1));
  const auto read =
      address_from_bytes(bytes.first(family == AF_INET ? sizeof address.a4 : sizeof address.a6));
  if (!read || length > read->width())
    return Error{ErrorKind::transient, "netlink: an XFRM policy's selector has an impossible length"};
  return IpPrefix{*read, length};
}

bool wants_transformation(netlink::Bytes templates, std::uint8_t direction) {
  for (; templates.size() >= sizeof(xfrm_user_tmpl); templates = templates.subspan(sizeof(xfrm_user_tmpl)))
    if (direction == XFRM_POLICY_OUT || netlink::read_as<xfrm_user_tmpl>(templates)->optional == 0)
      return true;
  return false;
}

// A packet without a mark matches a policy for the mark 0, whatever its mask (linux/xfrm.h, xfrm_mark).
bool is_for_marked(const Attributes& attributes) {
  const auto mark = netlink::read_as<xfrm_mark>(attributes.bytes(XFRMA_MARK));
  return mark && mark->v != 0;
}

Policy::Port port_of(__be16 number, __be16 mask) { return {ntohs(number), ntohs(mask)}; }

}  // namespace

Result<std::optional<Policy>> decode_policy(netlink::Bytes payload) {
  TRY(const auto frame, netlink::framed<xfrm_userpolicy_info>(payload, "XFRM policy"));
  TRY(auto attributes, Attributes::parse(frame.attributes, "XFRM policy"));
  const xfrm_selector& selector = frame.header.sel;
  const auto interface = attributes.number<std::uint32_t>(XFRMA_IF_ID);
  TRY_DONE(attributes.sound("XFRM policy"));
  if (frame.header.dir > XFRM_POLICY_FWD || interface.value_or(0) != 0 || is_for_marked(attributes))
    return std::optional<Policy>();
  Policy out;
  out.direction = static_cast<Policy::Direction>(frame.header.dir);
  TRY(out.from, prefix_of(selector.saddr, selector.family, selector.prefixlen_s));
  TRY(out.to, prefix_of(selector.daddr, selector.family, selector.prefixlen_d));
  out.ip_protocol = selector.proto;
  out.source = port_of(selector.sport, selector.sport_mask);
  out.destination = port_of(selector.dport, selector.dport_mask);
  out.interface = static_cast<std::uint32_t>(selector.ifindex);
  out.priority = frame.header.priority;
  if (frame.header.action == XFRM_POLICY_BLOCK)
    out.action = Policy::Action::block;
  else if (wants_transformation(attributes.bytes(XFRMA_TMPL), frame.header.dir))
    out.action = Policy::Action::transform;
  return std::optional(out);
}

Result<std::vector<Policy>> read_policies(const Call& call) {
  std::vector<Policy> out;
  auto socket = netlink::Socket::open(NETLINK_XFRM);
  if (!socket && socket.error().kind == ErrorKind::unsupported) return out;
  if (!socket) return socket.error();
  TRY_DONE(read_all(*socket, XFRM_MSG_GETPOLICY, XFRM_MSG_NEWPOLICY, xfrm_userpolicy_id{}, &decode_policy,
                    call, out));
  return out;
}

std::string text_of(const Policy& policy, const std::string& interface) {
  const char* const direction = policy.direction == Policy::Direction::in    ? "in"
                                : policy.direction == Policy::Direction::out ? "out"
                                                                             : "fwd";
  std::string out =
      std::string("xfrm policy ") + direction + ": from " + policy.from.text() + " to " + policy.to.text();
  if (policy.ip_protocol != 0) out += " proto " + std::to_string(policy.ip_protocol);
  if (policy.source.mask != 0) out += " sport " + std::to_string(policy.source.number);
  if (policy.destination.mask != 0) out += " dport " + std::to_string(policy.destination.number);
  if (policy.interface != 0) out += " dev " + interface;
  return out + (policy.action == Policy::Action::block       ? " block"
                : policy.action == Policy::Action::transform ? " tmpl"
                                                             : " allow");
}

}  // namespace lockstep::xfrm
