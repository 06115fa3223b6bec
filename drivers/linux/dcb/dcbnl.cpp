#include "drivers/linux/dcb/dcbnl.hpp"

#include <cerrno>

namespace lockstep::dcb {
namespace {

using netlink::Attribute;
using netlink::AttributeTable;
using netlink::AttributeWalk;
using netlink::Bytes;
using netlink::Request;

using Top = AttributeTable<DCB_ATTR_MAX + 1>;

Error wrong(std::string_view what) { return Error{ErrorKind::transient, "dcbnl: " + std::string(what)}; }

Result<Top> top_of(Bytes payload, std::string_view what) {
  TRY(const auto message, netlink::framed<dcbmsg>(payload, what));
  return Top::parse(message.attributes, what);
}

Result<std::vector<dcb_app>> decode_apps(Bytes bytes) {
  std::vector<dcb_app> out;
  AttributeWalk walk(bytes);
  for (Attribute one; walk.next(one);) {
    if (one.type != DCB_ATTR_IEEE_APP) continue;
    const auto app = netlink::read_as<dcb_app>(one.payload);
    if (!app || one.payload.size() != sizeof(dcb_app)) return wrong("an app entry of a wrong size");
    if (app->priority >= IEEE_8021QAZ_MAX_TCS) return wrong("an app entry with a priority above 7");
    out.push_back(*app);
  }
  TRY_DONE(walk.finish("DCB app table"));
  return out;
}

Result<std::vector<std::uint8_t>> decode_trust(Bytes bytes) {
  std::vector<std::uint8_t> out;
  AttributeWalk walk(bytes);
  for (Attribute one; walk.next(one);) {
    if (one.type != DCB_ATTR_IEEE_APP && one.type != kDcbApp) continue;
    const auto selector = netlink::read_as<std::uint8_t>(one.payload);
    if (!selector || one.payload.size() != sizeof(std::uint8_t))
      return wrong("a trusted selector of a wrong size");
    out.push_back(*selector);
  }
  TRY_DONE(walk.finish("DCB trust table"));
  return out;
}

Result<Done> check_ets(const ieee_ets& ets) {
  constexpr std::uint8_t kWhole = 100;  // percent
  for (const std::uint8_t tc : ets.prio_tc)
    if (tc >= IEEE_8021QAZ_MAX_TCS) return wrong("a priority in a traffic class above 7");
  for (std::size_t tc = 0; tc < IEEE_8021QAZ_MAX_TCS; ++tc)
    if (ets.tc_tsa[tc] == IEEE_8021QAZ_TSA_ETS && ets.tc_tx_bw[tc] > kWhole)
      return wrong("a traffic class with a share above 100 %");
  return Done{};
}

Result<Done> check(const PortDcb& port) {
  constexpr std::uint64_t kRateMax = std::uint64_t{1} << 40;  // a petabit a second: above any port's rate
  if (port.buffer)
    for (const std::uint8_t buffer : port.buffer->prio2buffer)
      if (buffer >= DCBX_MAX_BUFFERS) return wrong("a priority in a buffer above 7");
  if (port.maxrate)
    for (const std::uint64_t rate : port.maxrate->tc_maxrate)
      if (rate > kRateMax) return wrong("a maximal rate above a petabit a second");
  if (port.ets) TRY_DONE(check_ets(*port.ets));
  return Done{};
}

}  // namespace

Request request(std::uint16_t type, std::uint8_t command, std::string_view port) {
  Request out(type, NLM_F_ACK);
  dcbmsg header{};
  header.cmd = command;
  out.header(header).put_text(DCB_ATTR_IFNAME, port);
  return out;
}

Request get_request(std::string_view port) { return request(RTM_GETDCB, DCB_CMD_IEEE_GET, port); }

Request set_mode_request(std::string_view port, std::uint8_t mode) {
  Request out = request(RTM_SETDCB, DCB_CMD_SDCBX, port);
  out.put_number(DCB_ATTR_DCBX, mode);
  return out;
}

Request app_request(std::string_view port, std::uint8_t command, std::span<const dcb_app> entries) {
  Request out = request(RTM_SETDCB, command, port);
  const std::size_t ieee = out.open_nest(DCB_ATTR_IEEE);
  const std::size_t table = out.open_nest(DCB_ATTR_IEEE_APP_TABLE);
  for (const dcb_app& one : entries) out.put_number(DCB_ATTR_IEEE_APP, one);
  out.close_nest(table);
  out.close_nest(ieee);
  return out;
}

Request trust_request(std::string_view port, std::span<const std::uint8_t> selectors) {
  Request out = request(RTM_SETDCB, DCB_CMD_IEEE_SET, port);
  const std::size_t ieee = out.open_nest(DCB_ATTR_IEEE);
  const std::size_t table = out.open_nest(kAppTrustTable);
  for (const std::uint8_t one : selectors)
    out.put_number(one == kSelectorPcp ? kDcbApp : std::uint16_t{DCB_ATTR_IEEE_APP}, one);
  out.close_nest(table);
  out.close_nest(ieee);
  return out;
}

Result<PortDcb> decode_port(Bytes payload) {
  TRY(auto top, top_of(payload, "DCB reply"));
  TRY(auto ieee,
      AttributeTable<kAppTrustTable + 1>::parse(top.bytes(DCB_ATTR_IEEE), "DCB reply's IEEE part"));
  PortDcb out;
  out.ets = ieee.number<ieee_ets>(DCB_ATTR_IEEE_ETS);
  out.pfc = ieee.number<ieee_pfc>(DCB_ATTR_IEEE_PFC);
  out.maxrate = ieee.number<ieee_maxrate>(DCB_ATTR_IEEE_MAXRATE);
  out.buffer = ieee.number<dcbnl_buffer>(DCB_ATTR_DCB_BUFFER);
  out.peer_ets = ieee.number<ieee_ets>(DCB_ATTR_IEEE_PEER_ETS);
  out.peer_pfc = ieee.number<ieee_pfc>(DCB_ATTR_IEEE_PEER_PFC);
  out.mode = top.number<std::uint8_t>(DCB_ATTR_DCBX);
  TRY(out.apps, decode_apps(ieee.bytes(DCB_ATTR_IEEE_APP_TABLE)));
  if (ieee.has(kAppTrustTable)) {
    TRY(out.trust, decode_trust(ieee.bytes(kAppTrustTable)));
  }
  TRY_DONE(ieee.sound("DCB reply's IEEE part"));
  TRY_DONE(top.sound("DCB reply"));
  TRY_DONE(check(out));
  return out;
}

Result<int> decode_refusal(Bytes payload) {
  TRY(const auto message, netlink::framed<dcbmsg>(payload, "answer to a DCB set"));
  TRY(auto top, Top::parse(message.attributes, "answer to a DCB set"));
  const bool of_mode = message.header.cmd == DCB_CMD_SDCBX;
  const auto byte = top.number<std::uint8_t>(of_mode ? DCB_ATTR_DCBX : DCB_ATTR_IEEE);
  TRY_DONE(top.sound("answer to a DCB set"));
  if (!byte) return wrong("an answer to a set that does not say whether it was done");
  if (of_mode) return *byte == 0 ? 0 : EINVAL;
  return (256 - *byte) % 256;  // a negative errno, truncated to eight bits
}

}  // namespace lockstep::dcb
