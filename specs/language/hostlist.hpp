// Hostlists: names of many devices and ports in the syntax of ClusterShell and Slurm: `gpu[001-512]`,
// `leaf[0-1],spine3`, `Ethernet[0-504/8]`, `rack[1-2]node[01-16]`.
//
// Promises: expansion in the written order (the rightmost bracket varies fastest), zero padding kept, bounded
// by `limit` before anything is allocated; fold gives a hostlist that expands to the same names in the same
// order. Refuses: an open or falling range, a step of 0, range ends with different padding, an empty item,
// nested brackets, a duplicate name, characters that a device or port name cannot have.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "specs/model/result.hpp"

namespace lockstep {

// Maximum number of names in one hostlist: about ten times the ports of the largest target cluster (4,096
// hosts x 8 NICs + 640 switches x 128 ports = 114,688).
constexpr std::size_t hostlist_limit = 1'000'000;

Result<std::vector<std::string>> expand_hostlist(std::string_view text, std::size_t limit = hostlist_limit);

// The number of names, without expanding it.
Result<std::size_t> count_hostlist(std::string_view text, std::size_t limit = hostlist_limit);

// The index of a name in its list, without expanding it; nullopt if it is not in the list (or the text is not
// a hostlist).
std::optional<std::size_t> index_in_hostlist(std::string_view text, std::string_view name);

std::string fold_hostlist(const std::vector<std::string>& names);

// In natural order: rail2 before rail10 (compare_natural).
void sort_names(std::vector<std::string>& names);

// `gpu[1-4]:rail[0-1]` is the devices gpu[1-4], each with the ports rail[0-1].
struct PortList {
  std::string devices;  // hostlist
  std::string ports;    // hostlist; empty where no colon was written
};
Result<PortList> split_port_list(std::string_view text);

}  // namespace lockstep
