// dcbnl messages that Linux 6.1.192 sent in the VM lab (tests/vm/dcb_test.cpp, our test netdev), in
// hexadecimal.
#pragma once

#include <string>

#include "tests/unit/linux/fuzz.hpp"

namespace lockstep::recorded::dcb {

// nic0 with priority 3 lossless in its own buffer, DSCP 48 to priority 6 and DSCP 26 to priority 3.
// clang-format off
inline const std::string kPort =
    "00150000" "09000100" "6e69633000000000"                                              // DCB_ATTR_IFNAME
    "58010d00"                                                                            // DCB_ATTR_IEEE
    "3f000100" "000800" + zeros(24) + "0001020304050607" + zeros(24) + "00"               // ETS
    "44000700" + zeros(64) +                                                              // maximal rates
    "8c000200" "0808" + zeros(134) +                                                      // PFC
    "30000a00" "0000000300000000" "00000400" + zeros(8) + "00000400" + zeros(16) + "00001000"     // buffers
    "14000300" "08000100" "05063000" "08000100" "05031a00"                                // app table
    "05000e00" "09000000";                                                                // DCB_ATTR_DCBX
// clang-format on
// nic0 with priority 3 in class 3 of 60 %, priority 6 in class 6 of 20 Gbit/s at most, strict, all others in
// class 0 of 40 %; DSCP 26 and 48 to priorities 3 and 6, RoCE's EtherType to 4; its DCBX peer is willing.
// clang-format off
inline const std::string kClasses =
    "00150000" "09000100" "6e69633000000000" // DCB_ATTR_IFNAME
    "2c020d00" // DCB_ATTR_IEEE
    "3f000100" "000800" "2800003c00000000" + zeros(8) + // ETS: shares
    "0200000200000000" "0000000300000600" + zeros(24) + "00" // algorithms, classes of the priorities
    "44000700" + zeros(48) + "002d310100000000" + zeros(8) + // maximal rates
    "8c000200" "0800" + zeros(134) + // PFC
    "30000a00" + zeros(8) + "00000400" + zeros(28) + "00001000" // buffers
    "1c000300" "08000100" "01041589" "08000100" "05063000" "08000100" "05031a00" // app table
    "3f000400" "010800" + zeros(24) + "0706050403020100" + zeros(24) + "00" // the peer's ETS
    "8c000500" "0810" + zeros(134) + // the peer's PFC
    "05000e00" "09000000"; // DCB_ATTR_DCBX
// A trust table after linux/dcbnl.h of Linux 6.3, not recorded from a kernel: DSCP, then the VLAN tag.
inline const std::string kTrust =
    "00150000" "09000100" "6e69633000000000"
    "18000d00"
    "14000b00" "05000100" "05000000" "05000200" "ff000000";
// clang-format on
inline const std::string kDone = "0014000005000d0000000000";
inline const std::string kRefused = "0014000005000d00ea000000";
inline const std::string kNoEntry = "001b000005000d00fe000000";  // to a deletion
inline const std::string kModeDone = "0017000005000e0000000000";
inline const std::string kModeRefused = "0017000005000e0001000000";

}  // namespace lockstep::recorded::dcb
