// The module in a port's cage (a transceiver, or the end of a cable), from the first 256 bytes of its memory.
//
// Promises: bounds are checked, texts are printable and without their padding; a fact that the module does
// not report is empty. Refuses: memory that is too short for its kind, and kinds of module other than those
// of SFF-8472 (SFP), SFF-8636 (QSFP) and CMIS 3 to 5 (QSFP-DD, OSFP). Codes: SFF-8024.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "drivers/linux/netlink.hpp"

namespace lockstep::ethtool {

struct ModuleFacts {
  std::string kind;  // "QSFP28"
  std::string vendor;
  std::string part;
  std::string revision;
  std::string serial;
  std::string medium;            // "passive copper", "active copper", "optical"; empty: not reported
  std::uint32_t decimetres = 0;  // of a cable; 0: no cable, or not reported
};

// `memory`: the lower page and page 0, 128 bytes each, as laid out at I2C address 0x50.
Result<ModuleFacts> decode_module(netlink::Bytes memory);

// Half of that memory, at offset 0 or 128 (the kernel reads one half per request), and the reply's payload.
inline constexpr std::uint32_t kModuleHalf = 128;
netlink::Request module_request(std::uint16_t family, std::uint32_t index, std::uint32_t offset);
Result<std::vector<std::byte>> decode_module_half(netlink::Bytes payload);

}  // namespace lockstep::ethtool
