// Hostlists: names of many devices and ports as ClusterShell and Slurm write them: `gpu[001-512]`,
// `leaf[0-1],spine3`, `Ethernet[0-504/8]`, `rack[1-2]node[01-16]`.
//
// Promises: expansion in the written order (the rightmost bracket runs fastest), zero padding kept, bounded
// by `limit` before anything is allocated; fold gives a hostlist that expands to the same names in the same
// order. Refuses: an open or falling range, a step of 0, ends of different padding, an empty item, nested
// brackets, a name twice, characters that a device or port name cannot have.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "specs/model/result.hpp"

namespace lockstep {

// Names that one hostlist may stand for: ten times the ports of the largest cluster that we aim at
// (4,096 hosts x 8 NICs + 640 switches x 128 ports = 114,688).
constexpr std::size_t hostlist_limit = 1'000'000;

Result<std::vector<std::string>> expand_hostlist(std::string_view text, std::size_t limit = hostlist_limit);

// How many names it stands for, without expanding it.
Result<std::size_t> count_hostlist(std::string_view text, std::size_t limit = hostlist_limit);

// The place of a name in its list, counted from 0, without expanding it; nullopt if it is not in it (or the
// text is not a hostlist).
std::optional<std::size_t> index_in_hostlist(std::string_view text, std::string_view name);

std::string fold_hostlist(const std::vector<std::string>& names);

// `gpu[1-4]:rail[0-1]` is the devices gpu[1-4] and on each of them the ports rail[0-1].
struct PortList {
  std::string devices;  // hostlist
  std::string ports;    // hostlist; empty where no colon was written
};
Result<PortList> split_port_list(std::string_view text);

}  // namespace lockstep
