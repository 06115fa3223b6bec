#include "reconciler/sonic_stand_in/kernel_rows.hpp"

#include <algorithm>
#include <charconv>

#include "drivers/linux/kernel_address.hpp"

namespace lockstep::sonic {
namespace {

using Kind = KernelAct::Kind;

constexpr std::string_view kLoopbackRow = "Loopback0";
constexpr std::string_view kLoopback = "lo";

const std::string* text_of(const ConfigRow& row, std::string_view field) {
  const auto found = row.find(field);
  return found == row.end() ? nullptr : std::get_if<std::string>(&found->second);
}

void want_port(const std::string& name, const ConfigRow& row, std::map<std::string, WantedLink>& out,
               std::vector<std::string>& cannot) {
  WantedLink& link = out[name];
  const std::string* const admin = text_of(row, "admin_status");
  link.up = admin != nullptr && *admin == "up";  // sonic-port.yang: down where nothing is said
  const std::string* const mtu = text_of(row, "mtu");
  if (mtu == nullptr) return;
  std::uint32_t bytes = 0;
  const auto [end, failed] = std::from_chars(mtu->data(), mtu->data() + mtu->size(), bytes);
  if (failed == std::errc() && end == mtu->data() + mtu->size())
    link.mtu = bytes;
  else
    cannot.push_back("PORT|" + name + ": mtu is no number");
}

// Of rows "swp1|10.0.0.0/31"; "swp1" alone has none.
void want_addresses(const std::string& table, const ConfigDb& rows, std::map<std::string, WantedLink>& out,
                    std::vector<std::string>& cannot) {
  const auto all = rows.tables.find(table);
  if (all == rows.tables.end()) return;
  for (const auto& [key, row] : all->second) {
    const std::size_t bar = key.find('|');
    if (bar == key.npos) continue;
    std::string name = key.substr(0, bar);
    if (name == kLoopbackRow) name = kLoopback;
    const auto link = out.find(name);
    const auto address = IpPrefix::parse(std::string_view(key).substr(bar + 1));
    if (!address)
      cannot.push_back(redis_name(table, key) + ": is no address with its prefix length");
    else if (link == out.end())
      cannot.push_back(redis_name(table, key) + ": there is no such port");
    else
      link->second.addresses.insert(*address);
  }
}

}  // namespace

bool is_from_a_row(const InterfaceAddress& one) {
  return one.scope == 0 && !is_link_local(one.prefix.address);  // 0: global (rtnetlink(7))
}

std::map<std::string, WantedLink> wanted_links(const ConfigDb& rows, std::vector<std::string>& cannot) {
  std::map<std::string, WantedLink> out;
  // An image's lo is up, with or without a row.
  const ConfigRow* const loopback = rows.find("LOOPBACK_INTERFACE", kLoopbackRow);
  const std::string* const admin = loopback == nullptr ? nullptr : text_of(*loopback, "admin_status");
  out[std::string(kLoopback)].up = admin == nullptr || *admin != "down";
  if (const auto ports = rows.tables.find("PORT"); ports != rows.tables.end())
    for (const auto& [name, row] : ports->second)
      if (name != kLoopback) want_port(name, row, out, cannot);
  want_addresses("INTERFACE", rows, out, cannot);
  want_addresses("LOOPBACK_INTERFACE", rows, out, cannot);
  return out;
}

std::string KernelAct::text() const {
  switch (kind) {
    case Kind::mtu: return "ip link set " + link + " mtu " + std::to_string(mtu);
    case Kind::add_address: return "ip address add " + address.text() + " dev " + link;
    case Kind::remove_address: return "ip address del " + address.text() + " dev " + link;
    case Kind::up: return "ip link set " + link + " up";
    case Kind::down: return "ip link set " + link + " down";
  }
  return link;
}

std::vector<KernelAct> kernel_acts(const std::map<std::string, WantedLink>& wanted,
                                   const NetworkState& have) {
  std::vector<KernelAct> out;
  const auto each = [&](auto body) {
    for (const auto& [name, want] : wanted)
      if (const Link* const link = have.link(name)) body(name, want, *link);
  };
  each([&](const std::string& name, const WantedLink& want, const Link& link) {
    if (want.mtu && *want.mtu != link.mtu) out.push_back({Kind::mtu, name, *want.mtu});
  });
  // An address leaves one link before it comes to another.
  each([&](const std::string& name, const WantedLink& want, const Link& link) {
    for (const InterfaceAddress& one : have.addresses)
      if (one.index == link.index && is_from_a_row(one) && !want.addresses.contains(one.prefix))
        out.push_back({Kind::remove_address, name, 0, one.prefix});
  });
  each([&](const std::string& name, const WantedLink& want, const Link& link) {
    for (const IpPrefix& address : want.addresses)
      if (std::ranges::none_of(have.addresses, [&](const InterfaceAddress& one) {
            return one.index == link.index && one.prefix == address;
          }))
        out.push_back({Kind::add_address, name, 0, address});
  });
  each([&](const std::string& name, const WantedLink& want, const Link& link) {
    if (want.up != link.admin_up) out.push_back({want.up ? Kind::up : Kind::down, name});
  });
  return out;
}

Result<Done> perform(const KernelAct& act, Session& session) {
  switch (act.kind) {
    case Kind::mtu: return session.set_mtu(act.link, act.mtu);
    case Kind::add_address: return session.add_address(act.link, act.address);
    case Kind::remove_address: return session.remove_address(act.link, act.address);
    case Kind::up: return session.set_admin(act.link, true);
    case Kind::down: return session.set_admin(act.link, false);
  }
  return Done{};
}

}  // namespace lockstep::sonic
