// PORT, INTERFACE and LOOPBACK_INTERFACE → the links and addresses of a network namespace, and back: pure,
// but for perform().
//
// Promises: acts bring what the rows want and what the kernel has together, MTU first, then addresses, links
// last (a port that comes up is complete); what is so already takes no act. A port without a row is not
// touched, nor are addresses that the kernel gives itself. A row that can't be carried is in `cannot`, in
// words for a log, and the others are.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "drivers/linux/session.hpp"
#include "drivers/sonic/config_db.hpp"

namespace lockstep::sonic {

// An address that a row stands for: global, and not link-local.
bool is_from_a_row(const InterfaceAddress& one);

struct WantedLink {
  bool up = false;
  std::optional<std::uint32_t> mtu{};  // bytes; none: as it is
  std::set<IpPrefix> addresses{};
};
// By the kernel's name; SONiC's are the same, but for Loopback0, which is "lo" here.
std::map<std::string, WantedLink> wanted_links(const ConfigDb& rows, std::vector<std::string>& cannot);

struct KernelAct {
  enum class Kind : std::uint8_t { mtu, add_address, remove_address, up, down };
  Kind kind;
  std::string link;
  std::uint32_t mtu = 0;
  IpPrefix address{};

  std::string text() const;  // "ip link set swp1 mtu 9100"
};
std::vector<KernelAct> kernel_acts(const std::map<std::string, WantedLink>& wanted, const NetworkState& have);
Result<Done> perform(const KernelAct& act, Session& session);

}  // namespace lockstep::sonic
