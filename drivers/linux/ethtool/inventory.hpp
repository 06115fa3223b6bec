// What ethtool reports for the ports of a namespace, as facts to print.
//
// Promises: changes nothing; a fact that a port does not report is left empty, and a port that reports none
// is left out. In the calling thread's network namespace. Refuses: a kernel without ethtool netlink (< 5.6).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "drivers/linux/ethtool/module_eeprom.hpp"
#include "drivers/linux/kernel_state.hpp"

namespace lockstep::ethtool {

struct Amount {
  std::uint32_t now = 0;
  std::uint32_t max = 0;
};

struct NicFacts {
  std::optional<std::uint32_t> speed;  // Mbit/s
  std::vector<std::uint32_t> speeds;   // Mbit/s: those of its link modes
  std::optional<bool> autoneg;
  std::string fec;                                      // as configured: "auto", "rs"
  std::string fec_active;                               // what the link uses; empty: not reported
  std::map<std::string, Amount, std::less<>> rings;     // rx, tx
  std::map<std::string, Amount, std::less<>> channels;  // combined, rx, tx
  std::optional<ModuleFacts> module;
};

// By interface index.
Result<std::map<std::uint32_t, NicFacts>> read_nics(const std::vector<Link>& ports, const Call& call);

}  // namespace lockstep::ethtool
