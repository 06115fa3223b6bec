#include "tests/fuzz/parsers.hpp"

#include <cstdio>
#include <cstdlib>

namespace lockstep::fuzzing {
namespace {

constexpr Parser kParsers[] = {
    {"specs", parse_specs, seeds_of_specs},
    {"inventory", parse_inventory, seeds_of_inventory},
    {"lock", parse_lock, seeds_of_lock},
    {"host_policy", parse_host_policy, seeds_of_host_policy},
    {"plan", parse_plan, seeds_of_plan},
    {"netlink", parse_netlink, seeds_of_netlink},
    {"lldp", parse_lldp, seeds_of_lldp},
    {"frr", parse_frr, seeds_of_frr},
    {"probe", parse_probe, seeds_of_probe},
    {"before", parse_before, seeds_of_before},
    {"nft", parse_nft, seeds_of_nft},
    {"git", parse_git, seeds_of_git},
    {"api", parse_api, seeds_of_api},
    {"client", parse_client, seeds_of_client},
    {"redis", parse_redis, seeds_of_redis},
    {"switch_commands", parse_switch_commands, seeds_of_switch_commands},
};

}  // namespace

std::span<const Parser> parsers() { return kParsers; }

void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "this does not hold: %s\n", what);
  std::abort();
}

}  // namespace lockstep::fuzzing
