// The parsers of what lockstep did not write, each as a fuzzer calls it: any bytes in, nothing out.
//
// Promises: a parser that answers wrongly (see each) ends the program, as do ASan and UBSan; no parser writes
// anything but the files of its own temporary folder.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::fuzzing {

struct Parser {
  std::string_view name;
  void (*parse)(std::string_view input);
  std::vector<std::string> (*seeds)();  // inputs to begin with
};
std::span<const Parser> parsers();

// Ends the program unless it holds.
void must(bool holds, const char* what);

// `validate`: YAML documents, compiled, proved and explained. Every diagnostic has a place.
void parse_specs(std::string_view input);
// A CSV file that a DeviceSet names. Every diagnostic has a place, and none of its text is in an excerpt.
void parse_inventory(std::string_view input);
// allocations.lock. What is read, written and read again is the same.
void parse_lock(std::string_view input);
// host.yaml. One with an error permits nothing; none permits to run code without a rule of its own.
void parse_host_policy(std::string_view input);
// A plan file's plan. What is read, written and read again is the same.
void parse_plan(std::string_view input);
// What was measured before a change, as a journal has it. What is read, written and read again is the same.
void parse_before(std::string_view input);
// Messages of rtnetlink, dcbnl, devlink, ethtool and RDMA netlink, by every decoder.
void parse_netlink(std::string_view input);
// Messages of nf_tables, and a walk of the rules. What takes a packet is named for those of which less is
// known.
void parse_nft(std::string_view input);
// LLDP frames. What is shown of a neighbour is printable.
void parse_lldp(std::string_view input);
// What FRR's daemons say: running-config (read, printed and read again is the same) and JSON.
void parse_frr(std::string_view input);
// Messages of a benchmark's probes. What is told again is the same.
void parse_probe(std::string_view input);

std::vector<std::string> seeds_of_specs();
std::vector<std::string> seeds_of_inventory();
std::vector<std::string> seeds_of_lock();
std::vector<std::string> seeds_of_host_policy();
std::vector<std::string> seeds_of_plan();
std::vector<std::string> seeds_of_before();
std::vector<std::string> seeds_of_netlink();
std::vector<std::string> seeds_of_nft();
std::vector<std::string> seeds_of_lldp();
std::vector<std::string> seeds_of_frr();
std::vector<std::string> seeds_of_probe();

}  // namespace lockstep::fuzzing
