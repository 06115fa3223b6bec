// devlink messages that Linux 6.1.192 sent about netdevsim in the VM lab (tests/vm/netdevsim_lab.hpp), in
// hexadecimal. netdevsim has no shared buffers: those messages follow net/core/devlink.c.
#pragma once

#include <string>

#include "tests/unit/linux/fuzz.hpp"

namespace lockstep::recorded::devlink {

// clang-format off
inline const std::string kDevice =
    "0e000100" "6e657464657673696d000000" "0f000200" "6e657464657673696d310000";  // netdevsim/netdevsim1
inline const std::string kPort =
    "03010000" + kDevice + "0800030000000000" "0600040002000000"           // port 0, Ethernet
    "0800060002000000" "09000700" "6574683000000000"                       // netdev 2, "eth0"
    "0500940000000000" "06004d0000000000" "08004e0001000000";              // physical, number 1
inline const std::string kFunctionPort =
    "03010000" + kDevice + "0800030081000000" "0600040002000000"           // port 129
    "0800060004000000" "09000700" "6574683200000000" "0500940000000000"    // netdev 4, "eth2"
    "06004d0004000000" "0800960000000000" "06007f0000000000"               // pcivf, controller 0, pf 0
    "0600800001000000" "0500950000000000";                                 // vf 1, not external
inline const std::string kInfo =
    "33010000" + kDevice + "0e006200" "6e657464657673696d000000"           // driver
    "20006600" "0c006700" "66772e6d676d7400" "0d006800" "31302e32302e333000000000"   // stored
    "20006500" "0c006700" "66772e6d676d7400" "0d006800" "31302e32302e333000000000";  // running
inline const std::string kMaxMacs =
    "26010000" + kDevice + "38005000" "0d005100" "6d61785f6d61637300000000" "04005200"  // generic
    "0500530003000000" "18005400" "14005500" "0500570001000000" "0800560020000000";  // u32, driverinit: 32
inline const std::string kTest1 =
    "26010000" + kDevice + "2c005000" "0a005100" "7465737431000000"
    "0500530006000000" "14005400" "10005500" "0500570001000000" "04005600";     // bool, driverinit: true
inline const std::string kHealthy =
    "34010000" + kDevice + "38007200" "0a007300" "656d707479000000" "0500740000000000"
    "0c007500" "0000000000000000" "0c007600" "0000000000000000" "05008d0001000000";
inline const std::string kInError =
    "34010000" + kDevice + "64007200" "0a007300" "64756d6d79000000" "0500740001000000"
    "0c007500" "0200000000000000" "0c007600" "0000000000000000"                 // 2 errors, no recovery
    "0c007800" "0000000000000000" "0500790001000000"
    "0c007700" "6c70fbff00000000" "0c008900" "3225db040944ea18" "05008d0001000000";
inline const std::string kRate =
    "4c010000" + kDevice + "0600a50000000000" "0800030080000000"                // of port 128
    "0c00a600" "0000000000000000" "0c00a700" "4059730700000000";                // 125 MB/s at most
inline const std::string kEswitch = "1d010000" + kDevice + "0600190001000000";
inline const std::string kBuffer =
    "0d010000" + kDevice + "08000b0000000000" "08000c0000000001" "06000d0004000000" "06000e0005000000"
    "06000f0008000000" "0600100010000000";
inline const std::string kPool =
    "11010000" + kDevice + "08000b0000000000" "0600110004000000" "0500120001000000" "080013000040bf00"
    "0500140001000000";
inline const std::string kBinding =
    "19010000" + kDevice + "0800030001000000" "08000b0000000000" "0600160003000000" "0500120001000000"
    "0600110004000000" "0800150009000000";
// clang-format on

}  // namespace lockstep::recorded::devlink
