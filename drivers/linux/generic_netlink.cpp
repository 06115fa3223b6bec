#include "drivers/linux/generic_netlink.hpp"

#include <linux/genetlink.h>

namespace lockstep::netlink {
namespace {

Request family_request(const char* name) {
  Request out(GENL_ID_CTRL, NLM_F_ACK);
  out.header(genlmsghdr{CTRL_CMD_GETFAMILY, 1, 0}).put_text(CTRL_ATTR_FAMILY_NAME, name);
  return out;
}

}  // namespace

Bytes after_genl(Bytes payload) {
  constexpr std::size_t skip = NLMSG_ALIGN(sizeof(genlmsghdr));
  return payload.size() > skip ? payload.subspan(skip) : Bytes{};
}

Result<std::uint16_t> resolve_family(Socket& socket, const char* name, const Call& call) {
  Request request = family_request(name);
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

// Nested: MCAST_GROUPS / one per group, numbered / (NAME, ID).
Result<std::map<std::string, std::uint32_t, std::less<>>> decode_groups(Bytes payload) {
  TRY(const auto table, AttributeTable<CTRL_ATTR_MAX + 1>::parse(after_genl(payload), "family"));
  std::map<std::string, std::uint32_t, std::less<>> out;
  AttributeWalk groups(table.bytes(CTRL_ATTR_MCAST_GROUPS));
  for (Attribute group; groups.next(group);) {
    TRY(auto inside, AttributeTable<CTRL_ATTR_MCAST_GRP_MAX + 1>::parse(group.payload, "multicast group"));
    if (const auto id = inside.number<std::uint32_t>(CTRL_ATTR_MCAST_GRP_ID))
      out.insert_or_assign(inside.text(CTRL_ATTR_MCAST_GRP_NAME), *id);
    TRY_DONE(inside.sound("multicast group"));
  }
  TRY_DONE(groups.finish("multicast groups"));
  return out;
}

Result<std::uint32_t> resolve_group(Socket& socket, const char* family, std::string_view group,
                                    const Call& call) {
  std::map<std::string, std::uint32_t, std::less<>> groups;
  Request request = family_request(family);
  TRY(const Answer answer, socket.ask(request, call, [&](const Message& message) -> Result<Done> {
    TRY(groups, decode_groups(message.payload));
    return Done{};
  }));
  const auto found = groups.find(group);
  if (answer.code != 0 || found == groups.end())
    return Error{ErrorKind::unsupported,
                 "this kernel's " + std::string(family) + " netlink has no group " + std::string(group)};
  return found->second;
}

}  // namespace lockstep::netlink
