// The parsers of input that lockstep did not write, as a fuzzer calls them: any bytes in, nothing out.
//
// Promises: a wrong result (see each parser) aborts the program, as a finding of ASan or UBSan does; a parser
// writes only to files in its own temporary folder.
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
  std::vector<std::string> (*seeds)();  // initial inputs
};
std::span<const Parser> parsers();

// Aborts the program unless `holds`.
void must(bool holds, const char* what);

// `validate`: YAML documents, compiled, proved and explained. Every diagnostic must have a place.
void parse_specs(std::string_view input);
// A CSV file that a DeviceSet names. Every diagnostic must have a place, and no excerpt may show its text.
void parse_inventory(std::string_view input);
// allocations.lock. Reading, writing and reading again must give the same lock.
void parse_lock(std::string_view input);
// host.yaml. A file with an error must permit nothing, and running code must need a rule that names it.
void parse_host_policy(std::string_view input);
// The plan in a plan file. Reading, writing and reading again must give the same plan.
void parse_plan(std::string_view input);
// The measurement before a change, as in the journal. Reading, writing and reading again must give the same.
void parse_before(std::string_view input);
// Messages of rtnetlink, dcbnl, devlink, ethtool and RDMA netlink, by every decoder.
void parse_netlink(std::string_view input);
// Messages of nf_tables, and a walk of the rules. A rule that takes a packet must also be reported for a
// packet of which less is known.
void parse_nft(std::string_view input);
// LLDP frames. Everything shown of a neighbour must be printable.
void parse_lldp(std::string_view input);
// Output of FRR's daemons: running-config (reading, printing and reading again must give the same) and JSON.
void parse_frr(std::string_view input);
// Messages of a benchmark's probes. Encoding and decoding a message again must give the same message.
void parse_probe(std::string_view input);
// What git prints: lists of files, contents, complaints. A path that is accepted must stay beneath its
// folder, and a message must be printable and without the secret.
void parse_git(std::string_view input);
// Requests to the service's API, bodies of its actions and of specs to plan, deliveries of forges, files of
// tokens. Nobody unknown may be served, and each refusal must be a Status that can be shown.
void parse_api(std::string_view input);
// What a service sends to its command line: events, failures, objects; and templates of jsonpath. Events must
// be the same however they are cut, and what is printed must be fit for a terminal.
void parse_client(std::string_view input);
// Replies of Redis, and rows of CONFIG_DB in them. They must be the same however the bytes are cut, and a row
// that can be written must be read back.
void parse_redis(std::string_view input);
// What a SONiC switch's commands print over ssh: parts, dumps, errors. An error must be printable, short and
// without the patch.
void parse_switch_commands(std::string_view input);

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
std::vector<std::string> seeds_of_git();
std::vector<std::string> seeds_of_api();
std::vector<std::string> seeds_of_client();
std::vector<std::string> seeds_of_redis();
std::vector<std::string> seeds_of_switch_commands();

}  // namespace lockstep::fuzzing
