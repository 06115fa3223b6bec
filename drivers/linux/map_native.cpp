#include <linux/rtnetlink.h>

#include <algorithm>

#include "drivers/linux/map.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::linux_map {
namespace {

constexpr RowId kEcnMax = row("interface[*]/class[*]/ecn-max");
constexpr RowId kEcnMin = row("interface[*]/class[*]/ecn-min");
constexpr RowId kEcnProbability = row("interface[*]/class[*]/ecn-probability");

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
std::string red_words(const Change& change, const std::string& of, const std::string& parameter) {
  const std::string place = " dev " + std::string(change.path.key(0)) + of;
  if (!change.want) return "tc qdisc del" + place;
  return "tc qdisc replace" + place + " red ecn nodrop " + parameter +
         "  # of the queue as it is, no average";
}

// Numbers in tc's words are what the driver sets; see queueing/htb.cpp for how shares become rates.
std::string htb_words(const Change& change) {
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
    case kEcnMax: return red_words(change, " parent " + id, "max " + change.want.to_string());
    case kEcnMin: return red_words(change, " parent " + id, "min " + change.want.to_string());
    case kEcnProbability: return red_words(change, " parent " + id, "probability " + fraction(change.want));
    default:
      return "tc class change dev " + port + " classid " + id + " htb prio " +
             (change.want && change.want.as_boolean() ? "0" : "1");
  }
}

// The digit of `digits` for the change's class; tc(8) takes handles and priorities in hexadecimal ones.
std::string digit_of(const Change& change, std::string_view digits) {
  const std::string_view number = change.path.key(1);
  return std::string(digits.substr(std::min<std::size_t>(digits.size(), std::size_t(number[0]) - '0'), 1));
}

std::string flower_words(const Change& change) {
  std::string out = "tc filter replace dev " + std::string(change.path.key(0)) + " egress flower";
  if (change.want) out += join(change.want.as_list(), " dscp ");
  return out + " action skbedit priority " + digit_of(change, "89abcdef") +
         " continue  # ip_tos DSCP * 4 / 0xfc, one filter each, for IPv4 and IPv6";
}

// Each line is one part of what one request says of all classes (queueing/ets.cpp).
std::string ets_words(const Change& change) {
  const std::string port(change.path.key(0));
  const std::string number(change.path.key(1));
  const std::string queue = "4c5" + digit_of(change, "456789ab") + ":";
  const std::string ets = "tc qdisc replace dev " + port + " handle 4c5c: ets";
  const std::string band = "  # the band of class " + number + ", whose queue is " + queue;
  switch (change.path.row()) {
    case row("interface[*]/class[*]"): return ets + (change.want ? " bands +1" : " bands -1") + band;
    case row("interface[*]/class[*]/dscp"): return flower_words(change);
    case row("interface[*]/class[*]/priority"):
      return ets + " priomap" + (change.want ? join(change.want.as_list(), " ") : std::string()) + band;
    case row("interface[*]/class[*]/share"):
      return ets + " quanta " +
             (change.want ? std::to_string(change.want.as_integer() * 600) : std::string("256")) + band;
    case row("interface[*]/class[*]/max-rate"):
      if (!change.want) return "tc qdisc replace dev " + port + " handle " + queue + " bfifo limit 512kb";
      return "tc qdisc replace dev " + port + " handle " + queue + " tbf rate " + change.want.to_string() +
             "bit burst 64kb limit 512kb";
    case kEcnMax: return red_words(change, " handle " + queue, "max " + change.want.to_string());
    case kEcnMin: return red_words(change, " handle " + queue, "min " + change.want.to_string());
    case kEcnProbability:
      return red_words(change, " handle " + queue, "probability " + fraction(change.want));
    default: return ets + (change.want && change.want.as_boolean() ? " strict +1" : " strict -1") + band;
  }
}

// The rows that mqprio has (capabilities.hpp).
std::string mqprio_words(const Change& change) {
  const std::string number(change.path.key(1));
  const std::string mqprio =
      "tc qdisc replace dev " + std::string(change.path.key(0)) + " root handle 4c53: mqprio hw 0";
  if (change.path.row() == row("interface[*]/class[*]/dscp")) return flower_words(change);
  if (change.path.row() == row("interface[*]/class[*]"))
    return mqprio + (change.want ? " num_tc +1" : " num_tc -1") + "  # class " + number;
  return mqprio + " map" + (change.want ? join(change.want.as_list(), " ") : std::string()) +
         "  # to class " + number;
}

std::string class_words(const Change& change, Carrier carrier) {
  switch (carrier) {
    case Carrier::htb: return htb_words(change);
    case Carrier::ets: return ets_words(change);
    case Carrier::mqprio: return mqprio_words(change);
  }
  return {};
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
  return {};
}

}  // namespace

std::string native(const Change& change, Carrier carrier) {
  return is_class_row(change.path.row()) ? class_words(change, carrier) : words(change);
}

}  // namespace lockstep::linux_map
