// ethtool over generic netlink, in the calling thread's network namespace: settings of ports, read for all of
// them in one dump or for one, and set in one request.
//
// Promises: a set is acknowledged by the kernel before the function returns; the caller has to read back
// whether the port's driver did what was requested (some acknowledge and ignore, some round). Refuses: a
// kernel without ethtool netlink (< 5.6), unsupported. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drivers/linux/ethtool/messages.hpp"
#include "drivers/linux/netlink_socket.hpp"

namespace lockstep {

using FactsByPort = std::map<std::uint32_t, ethtool::Facts>;  // by interface index

class Ethtool {
 public:
  static Result<Ethtool> open(const Call& call);

  // For all ports in one dump; those without settings of the kind are left out. One port that fails (while
  // its driver resets it) fails the dump.
  Result<FactsByPort> read_all(ethtool::Kind kind, const Call& call);
  // For one port, or the kernel's reason for refusing.
  struct Read {
    netlink::Answer answer;
    std::optional<ethtool::Facts> facts;
  };
  Result<Read> read(ethtool::Kind kind, std::uint32_t index, const Call& call);
  // Names of a string set (ETH_SS_FEATURES, ETH_SS_LINK_MODES) by position, the same for all ports.
  Result<std::vector<std::string>> names(std::uint32_t set, const Call& call);
  // The memory of the port's module, as in module_eeprom.hpp. None: there is none to read.
  Result<std::optional<std::vector<std::byte>>> module_memory(std::uint32_t index, const Call& call);

  // To be filled by ethtool::put_*(). If sent empty it sets nothing, and the kernel's answer shows whether
  // the port supports it.
  netlink::Request set_request(ethtool::Kind kind, std::uint32_t index) const;
  Result<netlink::Answer> change(netlink::Request& request, const Call& call);

  // 802.3x global pause as configured; on: in either direction. Ports without it are left out.
  Result<std::map<std::uint32_t, bool>> pauses(const Call& call);
  Result<Done> set_pause(std::uint32_t index, bool on, const Call& call);  // in both directions

 private:
  Ethtool(netlink::Socket socket, std::uint16_t family) : socket_(std::move(socket)), family_(family) {}

  netlink::Socket socket_;
  std::uint16_t family_;
};

}  // namespace lockstep
