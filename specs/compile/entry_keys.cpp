#include "specs/compile/entry_keys.hpp"

#include <algorithm>

#include "specs/compile/entry_texts.hpp"
#include "specs/language/scalars.hpp"
#include "specs/model/counter_groups.hpp"
#include "specs/model/ip.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

// The items of a noun such as "one of rx, tx".
template <const std::string_view& noun>
bool is_one(std::string_view key) {
  std::string_view rest = noun.substr(std::string_view("one of ").size());
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(", "), rest.size());
    if (rest.substr(0, comma) == key) return true;
    rest.remove_prefix(std::min(comma + 2, rest.size()));
  }
  return false;
}
constexpr std::string_view ways = "one of rx, tx";
constexpr std::string_view pools = "one of lossless, headroom, lossy";
constexpr std::string_view ways_to_gpus = "one of any, dmabuf, peermem";
constexpr std::string_view counted =
    "one of port, port-buffer-drops, port-wred, queue, queue-ecn, queue-watermarks, group-drops, "
    "group-watermarks, pool-watermarks, watchdog";
bool is_counted(std::string_view key) { return find_counted_group(key) != nullptr; }
constexpr std::string_view queues = "one of combined, rx, tx";
constexpr std::string_view classes = "one of 0, 1, 2, 3, 4, 5, 6, 7";  // IEEE 802.1Q
// FRR's lib/route_types.txt: sources that bgpd redistributes without a number.
constexpr std::string_view sources =
    "one of babel, connected, eigrp, isis, kernel, nhrp, openfabric, ospf, ospf6, rip, ripng, sharp, static";
constexpr std::string_view source_pattern =
    "(babel|connected|eigrp|isis|kernel|nhrp|openfabric|ospf|ospf6|rip|ripng|sharp|static)";

template <Form form>
bool has_form(std::string_view key) {
  return lockstep::has_form(key, form);
}
constexpr std::string_view word = R"(([^\s\[\]]|\[[^\s\[\]]*\])+)";
constexpr std::string_view word_noun = "a name without blanks";

bool is_address(std::string_view key) { return IpPrefix::parse(key).has_value(); }
bool is_network(std::string_view key) {
  const auto prefix = IpPrefix::parse(key);
  return prefix && prefix->is_network();
}

bool is_number(std::string_view key, std::uint64_t least, std::uint64_t most) {
  constexpr std::size_t digits = 10;  // of 32 bits
  if (key.empty() || key.size() > digits || (key.size() > 1 && key[0] == '0') ||
      key.find_first_not_of("0123456789") != key.npos)
    return false;
  const std::uint64_t number = std::stoull(std::string(key));
  return least <= number && number <= most;
}
bool is_vlan(std::string_view key) { return is_number(key, 1, 4094); }       // IEEE 802.1Q table 9-2
bool is_function(std::string_view key) { return is_number(key, 0, 65534); }  // NumVFs has 16 bits
bool is_priority(std::string_view key) { return is_number(key, 0, 0xFFFFFFFF); }

// Table 255 is the kernel's own (rtnetlink(7)).
bool is_route(std::string_view key) {
  const std::size_t colon = std::min(key.find(':'), key.size());
  const std::string_view table = key.substr(0, colon);
  const bool known =
      table == "main" || table == "default" || (is_number(table, 1, 0xFFFFFFFF) && table != "255");
  return known && colon < key.size() && is_network(key.substr(colon + 1));
}

// The first match is used.
constexpr EntryKey keys[] = {
    {"bfd-profile[*]", word_noun, word, has_form<Form::word>},
    {"bgp/aggregate[*]", "a prefix such as 10.64.0.0/16", R"([0-9A-Fa-f.:]+\/[0-9]+)", is_network},
    {"bgp/neighbor[*]", PortText::noun, port_pattern, PortText::fits},
    {"bgp/redistribute[*]", sources, source_pattern, is_one<sources>},
    {"bond[*]", PortText::noun, port_pattern, PortText::fits},
    {"buffer-pool[*]", pools, "(lossless|headroom|lossy)", is_one<pools>},
    {"counter-group[*]", counted,
     "(port|port-buffer-drops|port-wred|queue|queue-ecn|queue-watermarks|group-drops|group-watermarks|"
     "pool-watermarks|watchdog)",
     is_counted},
    {"firmware[*]", word_noun, word, has_form<Form::word>},
    {"gpu/direct[*]", ways_to_gpus, "(any|dmabuf|peermem)", is_one<ways_to_gpus>},
    {"interface[*]/address[*]", "an address and its length such as 10.64.0.1/31", R"([0-9A-Fa-f.:]+\/[0-9]+)",
     is_address},
    {"interface[*]/buffer[*]", classes, "[0-7]", is_one<classes>},
    {"interface[*]/channels[*]", queues, "(combined|rx|tx)", is_one<queues>},
    {"interface[*]/class[*]", classes, "[0-7]", is_one<classes>},
    {"interface[*]/coalescing/adaptive[*]", ways, "(rx|tx)", is_one<ways>},
    {"interface[*]/coalescing/frames[*]", ways, "(rx|tx)", is_one<ways>},
    {"interface[*]/coalescing/time[*]", ways, "(rx|tx)", is_one<ways>},
    {"interface[*]/offload[*]", word_noun, word, has_form<Form::word>},
    {"interface[*]/parameter[*]", word_noun, word, has_form<Form::word>},
    {"interface[*]/ring[*]", ways, "(rx|tx)", is_one<ways>},
    {"interface[*]/setting[*]", word_noun, word, has_form<Form::word>},
    {"interface[*]/virtual-function[*]", "a number of 0 to 65534", "(0|[1-9][0-9]{0,4})", is_function},
    {"interface[*]", PortText::noun, port_pattern, PortText::fits},
    {"kernel/module[*]", "a name of letters, digits, '-', '_' and '.'",
     "[0-9A-Za-z]([0-9A-Za-z._-]*[0-9A-Za-z])?", has_form<Form::name>},
    {"package[*]", word_noun, word, has_form<Form::word>},
    {"route[*]", "a table and a prefix such as main:10.64.0.0/16",
     R"((main|default|[1-9][0-9]*):[0-9A-Fa-f.:]+\/[0-9]+)", is_route},
    {"rule[*]", "a number, its priority", "(0|[1-9][0-9]{0,9})", is_priority},
    {"service[*]", word_noun, word, has_form<Form::word>},
    {"sysctl[*]", "dotted names such as net.ipv4.ip_forward", R"([^\s.\[\]]+([.][^\s.\[\]]+)+)",
     has_form<Form::sysctl>},
    {"vlan[*]", "a number of 1 to 4094", "[1-9][0-9]{0,3}", is_vlan},
    {"vrf[*]", PortText::noun, port_pattern, PortText::fits},
};

std::size_t place_in(std::string_view rows) {
  return static_cast<std::size_t>(std::count(rows.begin(), rows.end(), '*')) - 1;
}

}  // namespace

const EntryKey* entry_key(RowId row, std::size_t place) {
  for (const EntryKey& one : keys)
    if (place_in(one.rows) == place && schema_row(row).pattern.starts_with(one.rows)) return &one;
  return nullptr;
}

std::string why_no_entry(Path path) {
  for (std::size_t place = 0; place < path.key_count(); ++place) {
    const EntryKey* const rule = entry_key(path.row(), place);
    if (rule != nullptr && !rule->fits(path.key(place)))
      return in_quotes(path.key(place)) + " is not " + std::string(rule->noun);
  }
  return {};
}

}  // namespace lockstep
