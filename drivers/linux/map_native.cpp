#include <linux/rtnetlink.h>

#include "drivers/linux/map.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::linux_map {
namespace {

std::string join(const std::vector<std::string_view>& parts, std::string_view before) {
  std::string out;
  for (const std::string_view one : parts) out += std::string(before) + std::string(one);
  return out;
}

std::string route_words(const Change& change) {
  const std::string_view key = change.path.key(0);
  const std::size_t colon = std::min(key.find(':'), key.size());
  const std::string table(key.substr(0, colon));
  const std::string prefix(key.substr(std::min(colon + 1, key.size())));
  const std::string tail = " table " + table + " proto " + std::to_string(kOwnProtocol);
  if (!change.want) return "ip route del " + prefix + tail;
  const auto hops = change.want.as_list();
  return "ip route replace " + prefix + (hops.size() == 1 ? join(hops, " ") : join(hops, " nexthop ")) + tail;
}

// 5 percent is 0.05; none: empty.
std::string fraction(Value percent) {
  if (!percent) return {};
  const std::string digits = std::to_string(100 + percent.as_integer() % 100).substr(1);
  return std::to_string(percent.as_integer() / 100) + "." + digits;
}

// One of the parameters of a class's RED; the three are set in one request.
std::string red_words(const Change& change, const std::string& parameter) {
  const std::string number(change.path.key(1));
  const std::string place = " dev " + std::string(change.path.key(0)) + " parent 4c53:1" + number;
  if (!change.want) return "tc qdisc del" + place;
  return "tc qdisc replace" + place + " red ecn nodrop " + parameter +
         "  # of the queue as it is, no average";
}

// Numbers in tc's words are what the driver sets; see port_scheduler.cpp for how shares become rates.
std::string class_words(const Change& change) {
  const std::string port(change.path.key(0));
  const std::string id = "4c53:1" + std::string(change.path.key(1));
  switch (change.path.row()) {
    case row("interface[*]/class[*]"):
      return "tc class " + std::string(change.want ? "replace" : "del") + " dev " + port + " classid " + id +
             (change.want ? " parent 4c53:1 htb" : "");
    case row("interface[*]/class[*]/dscp"): {
      std::string out = "tc filter replace dev " + port + " parent 4c53: u32 flowid " + id;
      if (change.want) out += join(change.want.as_list(), " match dscp ");
      return out + "  # one filter each, for IPv4 and IPv6";
    }
    case row("interface[*]/class[*]/share"):
      return "tc class change dev " + port + " classid " + id + " htb rate " + change.want.to_string() + "%";
    case row("interface[*]/class[*]/max-rate"):
      return "tc class change dev " + port + " classid " + id + " htb ceil " + change.want.to_string() +
             "bit";
    case row("interface[*]/class[*]/ecn-max"): return red_words(change, "max " + change.want.to_string());
    case row("interface[*]/class[*]/ecn-min"): return red_words(change, "min " + change.want.to_string());
    case row("interface[*]/class[*]/ecn-probability"):
      return red_words(change, "probability " + fraction(change.want));
    default:
      return "tc class change dev " + port + " classid " + id + " htb prio " +
             (change.want && change.want.as_boolean() ? "0" : "1");
  }
}

std::string words(const Change& change) {
  const std::string first = change.path.key_count() > 0 ? std::string(change.path.key(0)) : std::string();
  switch (change.path.row()) {
    case row("interface[*]/admin"):
      return "ip link set dev " + first + (change.want.as_boolean() ? " up" : " down");
    case row("interface[*]/mtu"): return "ip link set dev " + first + " mtu " + change.want.to_string();
    case row("interface[*]/address[*]"):
      return "ip address " + std::string(change.want ? "add " : "del ") + std::string(change.path.key(1)) +
             " dev " + first;
    case row("interface[*]/rate"):
      if (!change.want) return "tc qdisc del dev " + first + " root";
      return "tc qdisc replace dev " + first + " root handle 4c53: tbf rate " + change.want.to_string() +
             "bit burst 64kb limit 512kb";
    case row("interface[*]/ecn-threshold"):
      return "tc filter " + std::string(change.want ? "replace" : "del") + " dev " + first +
             " egress pref 76 bpf direct-action object ecn_marker.bpf.o" +
             (change.want ? "  # marks above " + change.want.to_string() + " B of backlog" : "");
    case row("route[*]"): return route_words(change);
    case row("rule[*]"):
      return "ip rule " +
             (change.want ? "add " + std::string(change.want.as_text()) + " priority " + first
                          : "del priority " + first) +
             " protocol " + std::to_string(kOwnProtocol);
    case row("sysctl[*]"): return "sysctl -w " + first + "='" + change.want.to_string() + "'";
    default: break;
  }
  return is_scheduler_row(change.path.row()) ? class_words(change) : std::string();
}

}  // namespace

std::vector<std::string> native(const ChangeSet& changes) {
  std::vector<std::string> out;
  for (const Change& one : changes) out.push_back(words(one));
  return out;
}

}  // namespace lockstep::linux_map
