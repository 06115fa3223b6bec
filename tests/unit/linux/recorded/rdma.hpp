// RDMA netlink messages that Linux 6.1.192 sent about Soft-RoCE in the VM lab (tests/vm/rxe_lab.hpp), in
// hexadecimal.
#pragma once

#include <string>

#include "tests/unit/linux/fuzz.hpp"

namespace lockstep::recorded::rdma {

// clang-format off
inline const std::string kDevice =
    "0800010000000000" "09000200" "7278653100000000" "0800030001000000"  // 0, "rxe1", 1 port
    "0c000400" "763c220100000000" "0c000600" "010000feff000000"          // capabilities, node GUID
    "0c000700" "010000feff000000" "05000e0001000000" "0500540000000000"  // system GUID, node type, DIM
    "09004300" "726f636500000000";                                       // "roce"
inline const std::string kPort =
    "0800010000000000" "09000200" "7278653100000000" "0800030001000000"  // 0, "rxe1", port 1
    "05000c0004000000" "05000d0005000000"                                // ACTIVE, LINK_UP
    "0800320002000000" "07003300" "68310000";                            // netdev 2, "h1"
// clang-format on

}  // namespace lockstep::recorded::rdma
