#include "drivers/linux/ethtool/ethtool.hpp"

#include "drivers/linux/ethtool/module_eeprom.hpp"
#include "drivers/linux/generic_netlink.hpp"

namespace lockstep {

using ethtool::Kind;
using netlink::Answer;
using netlink::Message;
using netlink::Request;

Result<Ethtool> Ethtool::open(const Call& call) {
  TRY(auto socket, netlink::Socket::open(NETLINK_GENERIC));
  TRY(const std::uint16_t family, netlink::resolve_family(socket, ETHTOOL_GENL_NAME, call));
  return Ethtool(std::move(socket), family);
}

Result<FactsByPort> Ethtool::read_all(Kind kind, const Call& call) {
  FactsByPort out;
  Request ask = ethtool::get_request(family_, kind, 0);
  TRY_DONE(socket_.dump(
      ask, call,
      [&](const Message& message) -> Result<Done> {
        TRY(auto port, ethtool::decode(kind, message.payload));
        out.insert_or_assign(port.index, std::move(port.facts));
        return Done{};
      },
      [&] { out.clear(); }));
  return out;
}

Result<Ethtool::Read> Ethtool::read(Kind kind, std::uint32_t index, const Call& call) {
  Read out;
  Request ask = ethtool::get_request(family_, kind, index);
  TRY(out.answer, socket_.ask(ask, call, [&](const Message& message) -> Result<Done> {
    TRY(auto port, ethtool::decode(kind, message.payload));
    out.facts = std::move(port.facts);
    return Done{};
  }));
  return out;
}

Result<std::vector<std::string>> Ethtool::names(std::uint32_t set, const Call& call) {
  std::vector<std::string> out;
  Request ask = ethtool::names_request(family_, set);
  TRY(const Answer answer, socket_.ask(ask, call, [&](const Message& message) -> Result<Done> {
    TRY(out, ethtool::decode_names(message.payload));
    return Done{};
  }));
  if (answer.code != 0) return to_error(answer, "ethtool string set get");
  return out;
}

Result<std::optional<std::vector<std::byte>>> Ethtool::module_memory(std::uint32_t index, const Call& call) {
  std::vector<std::byte> out;
  for (const std::uint32_t offset : {0U, ethtool::kModuleHalf}) {
    Request ask = ethtool::module_request(family_, index, offset);
    TRY(const Answer answer, socket_.ask(ask, call, [&](const Message& message) -> Result<Done> {
      TRY(const auto half, ethtool::decode_module_half(message.payload));
      out.insert(out.end(), half.begin(), half.end());
      return Done{};
    }));
    if (answer.code != 0) return std::optional<std::vector<std::byte>>();
  }
  return std::optional(std::move(out));
}

Request Ethtool::set_request(Kind kind, std::uint32_t index) const {
  return ethtool::set_request(family_, kind, index);
}

Result<Answer> Ethtool::change(Request& request, const Call& call) { return socket_.change(request, call); }

Result<std::map<std::uint32_t, bool>> Ethtool::pauses(const Call& call) {
  TRY(const FactsByPort ports, read_all(Kind::pause, call));
  std::map<std::uint32_t, bool> out;
  for (const auto& [index, facts] : ports) {
    const auto& numbers = std::get<ethtool::Numbers>(facts);
    const auto rx = numbers.find(ETHTOOL_A_PAUSE_RX);
    const auto tx = numbers.find(ETHTOOL_A_PAUSE_TX);
    if (rx != numbers.end() && tx != numbers.end()) out.emplace(index, rx->second != 0 || tx->second != 0);
  }
  return out;
}

Result<Done> Ethtool::set_pause(std::uint32_t index, bool on, const Call& call) {
  Request ask = set_request(Kind::pause, index);
  for (const std::uint16_t direction : {ETHTOOL_A_PAUSE_RX, ETHTOOL_A_PAUSE_TX})
    ethtool::put_number(ask, Kind::pause, direction, on ? 1 : 0);
  TRY(const Answer answer, change(ask, call));
  if (answer.code != 0) return to_error(answer, "ethtool pause set");
  return Done{};
}

}  // namespace lockstep
