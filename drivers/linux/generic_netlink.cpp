#include "drivers/linux/generic_netlink.hpp"

#include <linux/genetlink.h>

namespace lockstep::netlink {

Bytes after_genl(Bytes payload) {
  constexpr std::size_t skip = NLMSG_ALIGN(sizeof(genlmsghdr));
  return payload.size() > skip ? payload.subspan(skip) : Bytes{};
}

Result<std::uint16_t> resolve_family(Socket& socket, const char* name, const Call& call) {
  Request request(GENL_ID_CTRL, NLM_F_ACK);
  request.header(genlmsghdr{CTRL_CMD_GETFAMILY, 1, 0}).put_text(CTRL_ATTR_FAMILY_NAME, name);
  std::uint16_t family = 0;
  TRY(const Answer answer, socket.ask(request, call, [&](const Message& message) -> Result<Done> {
    TRY(auto table, AttributeTable<CTRL_ATTR_MAX + 1>::parse(after_genl(message.payload), "family"));
    family = table.number<std::uint16_t>(CTRL_ATTR_FAMILY_ID).value_or(0);
    return Done{};
  }));
  if (answer.code != 0 || family == 0)
    return Error{ErrorKind::unsupported, "this kernel has no " + std::string(name) + " netlink"};
  return family;
}

}  // namespace lockstep::netlink
