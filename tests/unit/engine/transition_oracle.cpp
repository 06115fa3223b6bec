#include "transition_oracle.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reconciler/engine/step_order.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

constexpr int kPriorities[] = {3, 4, 5};
constexpr int kCnpClass = 6;
constexpr int kCnpDscp = 48;
constexpr std::int64_t kPacketsOfHeadroom = 2;

// Needed in every state, so each path is parsed once.
Path at(std::string_view port, std::string_view part) {
  static std::map<std::string, Path, std::less<>> known;
  const std::string text = fmt::format("interface[{}]/{}", port, part);
  const auto found = known.find(text);
  return found != known.end() ? found->second : known.emplace(text, *Path::parse(text)).first->second;
}
Path of_class(std::string_view port, int number, std::string_view part = "") {
  return at(port, fmt::format("class[{}]{}{}", number, part.empty() ? "" : "/", part));
}
Path of_buffer(std::string_view port, int priority, std::string_view part) {
  return at(port, fmt::format("buffer[{}]/{}", priority, part));
}
bool has(const Value& list, int number) {
  if (list.kind() != Value::Kind::list) return false;
  const auto all = list.as_list();
  return std::ranges::find(all, std::to_string(number)) != all.end();
}

void add_class(Tree& tree, const std::string& port, int number, const std::vector<std::string>& dscps,
               const std::vector<std::string>& priorities) {
  tree.set(of_class(port, number), Value::present());
  tree.set(of_class(port, number, "dscp"), Value::set(dscps));
  tree.set(of_class(port, number, "priority"), Value::set(priorities));
}

// 802.1Qaz: percentages of all classes with a share, 100 in total. The class of CNPs is strict.
void add_shares(Tree& tree, const std::string& port, const FabricSettings& settings) {
  std::int64_t left = 100;
  for (const auto& [priority, one] : settings.lossless) {
    const std::int64_t share = 60 / static_cast<std::int64_t>(settings.lossless.size());
    tree.set(of_class(port, priority, "share"), Value::integer(share));
    left -= share;
  }
  tree.set(of_class(port, 0, "share"), Value::integer(left));
}

void add_classes(Tree& tree, const std::string& port, const FabricSettings& settings) {
  std::vector<std::string> dscps{"0"};
  std::vector<std::string> priorities{"0"};
  for (const int priority : kPriorities) {
    if (settings.lossless.contains(priority)) {
      add_class(tree, port, priority, {std::to_string(8 * priority)}, {std::to_string(priority)});
      continue;
    }
    dscps.push_back(std::to_string(8 * priority));
    priorities.push_back(std::to_string(priority));
  }
  if (settings.ecn)
    add_class(tree, port, kCnpClass, {std::to_string(kCnpDscp)}, {std::to_string(kCnpClass)});
  else
    dscps.push_back(std::to_string(kCnpDscp));
  add_class(tree, port, 0, dscps, priorities);
  add_shares(tree, port, settings);
}

// Whether the class of a DSCP is lossless at this port.
bool is_lossless(const Tree& tree, std::string_view port, int dscp) {
  for (int number = 0; number < 8; ++number) {
    if (!has(tree.value(of_class(port, number, "dscp")), dscp)) continue;
    const Value priorities = tree.value(of_class(port, number, "priority"));
    const Value pfc = tree.value(at(port, "pfc"));
    for (const int priority : kPriorities)
      if (has(priorities, priority) && has(pfc, priority)) return true;
  }
  return false;
}

std::string priority_of(const Tree& tree, std::string_view port, int dscp) {
  for (int number = 0; number < 8; ++number)
    if (has(tree.value(of_class(port, number, "dscp")), dscp))
      return tree.value(of_class(port, number, "priority")).to_string();
  return "";
}

bool knows_dscp(const Tree& tree, std::string_view port, int number, int dscp) {
  return has(tree.value(of_class(port, number, "dscp")), dscp);
}

bool includes(const Value& whole, const Value& part) {
  return std::ranges::all_of(kPriorities, [&](int one) { return !has(part, one) || has(whole, one); });
}

std::int64_t pool(const Tree& tree, std::string_view port) {
  std::int64_t sum = 0;
  for (const int priority : kPriorities)
    if (const Value size = tree.value(of_buffer(port, priority, "size"))) sum += size.as_integer();
  return sum;
}

// The most buffer that a port needs at once. During a replacement both sizes are allocated for a while.
std::int64_t most_buffer(const Tree& before, const Tree& after, std::string_view port) {
  const Value was = before.value(at(port, "pfc"));
  const Value is = after.value(at(port, "pfc"));
  if (includes(was, is) || includes(is, was)) return std::max(pool(before, port), pool(after, port));
  std::int64_t sum = 0;
  for (const int priority : kPriorities) {
    const auto size = [&](const Tree& tree) {
      const Value value = tree.value(of_buffer(port, priority, "size"));
      return value ? value.as_integer() : 0;
    };
    sum += std::max(size(before), size(after));
  }
  return sum;
}

std::int64_t integer(const Tree& tree, Path path) {
  const Value value = tree.value(path);
  return value ? value.as_integer() : 0;
}

std::int64_t most_sent(const Tree& host) {
  static const Path lock = *Path::parse(fmt::format("route-mtu[{}]", kOraclePool));
  const std::int64_t mtu = integer(host, at("rail0", "mtu"));
  const Value held = host.value(lock);
  if (!held) return mtu;
  constexpr std::string_view kLock = "mtu lock ";
  return std::min<std::int64_t>(mtu, std::stoll(std::string(held.as_text().substr(kLock.size()))));
}

}  // namespace

std::vector<OracleDevice> oracle_devices(int tiers, int hosts, int leaves, std::vector<Cable>& cables) {
  std::vector<OracleDevice> out;
  const auto join = [&](std::size_t a, const std::string& a_port, std::size_t b, const std::string& b_port,
                        bool host) {
    out[a].ports[a_port] = host;
    out[b].ports[b_port] = host;
    cables.push_back({{out[a].name, a_port}, {out[b].name, b_port}});
  };
  for (int i = 0; i < leaves; ++i) out.push_back({"leaf" + std::to_string(i), "leaf", {}});
  for (int i = 0; i < hosts; ++i) {
    out.push_back({"gpu" + std::to_string(i), "host", {}});
    join(out.size() - 1, "rail0", static_cast<std::size_t>(i % leaves), "swp" + std::to_string(i), true);
  }
  if (tiers == 2) {
    for (int i = 1; i < leaves; ++i)
      join(0, "up" + std::to_string(i), static_cast<std::size_t>(i), "up0", false);
    return out;
  }
  out.push_back({"spine0", "spine", {}});
  for (int i = 0; i < leaves; ++i)
    join(static_cast<std::size_t>(i), "up0", out.size() - 1, "down" + std::to_string(i), false);
  return out;
}

Tree tree_of(const OracleDevice& device, const FabricSettings& settings) {
  Tree tree;
  for (const auto& [port, host] : device.ports) {
    tree.set(at(port, "mtu"), Value::integer(host ? settings.host_mtu : settings.fabric_mtu));
    add_classes(tree, port, settings);
    std::vector<std::string> pfc;
    for (const auto& [priority, one] : settings.lossless) {
      pfc.push_back(std::to_string(priority));
      tree.set(of_buffer(port, priority, "size"), Value::integer(one.size));
      tree.set(of_buffer(port, priority, "xoff"), Value::integer(one.xoff));
      if (!settings.ecn || device.is_host()) continue;
      tree.set(of_class(port, priority, "ecn-min"), Value::integer(one.kmin));
      tree.set(of_class(port, priority, "ecn-max"), Value::integer(one.kmax));
      tree.set(of_class(port, priority, "ecn-probability"), Value::integer(1));
    }
    tree.set(at(port, "pfc"), Value::set(pfc));
    if (!device.is_host()) continue;
    tree.set(at(port, "address[10.64.0.1/31]"), Value::present());
    static const Path route = *Path::parse(fmt::format("route[main:{}]", kOraclePool));
    tree.set(route, Value::set({"via 10.64.0.0 dev rail0"}));
    if (settings.sends >= 0) tree.set(at(port, "roce-tos"), Value::integer(8 * settings.sends << 2 | 2));
    if (!settings.ecn) continue;
    tree.set(at(port, "cnp-dscp"), Value::integer(kCnpDscp));
    tree.set(at(port, "congestion-control"), Value::text("dcqcn"));
  }
  return tree;
}

TransitionOracle::TransitionOracle(const std::vector<OracleDevice>& devices, const World& before,
                                   const World& after)
    : devices_(devices) {
  for (const OracleDevice& device : devices)
    for (const auto& [port, host] : device.ports)
      pools_[{device.name, port}] = most_buffer(before.at(device.name), after.at(device.name), port);
  for (const int priority : kPriorities)
    if (has(before.at("leaf0").value(at("swp0", "pfc")), priority) &&
        has(after.at("leaf0").value(at("swp0", "pfc")), priority))
      stays_.insert(priority);
}

std::vector<std::string> TransitionOracle::faults(const World& world) const {
  std::vector<std::string> out;
  check_mtu(world, out);
  check_shares(world, out);
  check_buffers(world, out);
  check_marking(world, out);
  check_paths(world, out);
  return out;
}

// A host sends packets of its port's MTU, or of the MTU that its routes are locked to. Every port must accept
// what any host sends, including the ports of other hosts.
void TransitionOracle::check_mtu(const World& world, std::vector<std::string>& out) const {
  std::int64_t sent = 0;
  for (const OracleDevice& device : devices_)
    if (device.is_host()) sent = std::max(sent, most_sent(world.at(device.name)));
  for (const OracleDevice& device : devices_)
    for (const auto& [port, host] : device.ports)
      if (const std::int64_t takes = integer(world.at(device.name), at(port, "mtu")); sent > takes)
        out.push_back(fmt::format("mtu: {}:{} takes {}, hosts send {}", device.name, port, takes, sent));
}

void TransitionOracle::check_shares(const World& world, std::vector<std::string>& out) const {
  for (const OracleDevice& device : devices_)
    for (const auto& [port, host] : device.ports) {
      std::int64_t sum = 0;
      for (int number = 0; number < 8; ++number)
        sum += integer(world.at(device.name), of_class(port, number, "share"));
      if (sum != 100) out.push_back(fmt::format("shares: {}:{} has {} %", device.name, port, sum));
    }
}

void TransitionOracle::check_buffers(const World& world, std::vector<std::string>& out) const {
  for (const OracleDevice& device : devices_)
    for (const auto& [port, host] : device.ports) {
      const Tree& tree = world.at(device.name);
      if (pool(tree, port) > pools_.at({device.name, port}))
        out.push_back(
            fmt::format("buffer: {}:{} has {} in its buffers", device.name, port, pool(tree, port)));
      for (const int priority : kPriorities) {
        const std::int64_t size = integer(tree, of_buffer(port, priority, "size"));
        const std::int64_t xoff = integer(tree, of_buffer(port, priority, "xoff"));
        const std::string where = fmt::format("{}:{} priority {}", device.name, port, priority);
        if (xoff > size) out.push_back(fmt::format("threshold: {}: xoff {} > size {}", where, xoff, size));
        const bool paused = has(tree.value(at(port, "pfc")), priority);
        if (paused && (size == 0 || xoff == 0)) out.push_back("lossless: " + where + " has PFC, no headroom");
        if (paused && stays_.contains(priority) && xoff < kPacketsOfHeadroom * integer(tree, at(port, "mtu")))
          out.push_back("mtu: " + where + " has less headroom than its MTU needs");
      }
    }
}

void TransitionOracle::check_marking(const World& world, std::vector<std::string>& out) const {
  bool reacts = true;     // every host
  bool notifies = false;  // some host
  for (const OracleDevice& device : devices_) {
    if (!device.is_host()) continue;
    const Tree& tree = world.at(device.name);
    const bool cnp = static_cast<bool>(tree.value(at("rail0", "cnp-dscp")));
    notifies = notifies || cnp;
    reacts = reacts && cnp && tree.value(at("rail0", "congestion-control")) &&
             (integer(tree, at("rail0", "roce-tos")) & 3) != 0;
  }
  for (const OracleDevice& device : devices_) {
    if (device.is_host()) continue;
    const Tree& tree = world.at(device.name);
    for (const auto& [port, host] : device.ports) {
      if (notifies && !knows_dscp(tree, port, kCnpClass, kCnpDscp))
        out.push_back(fmt::format("ecn: {}:{} has no class for CNPs", device.name, port));
      for (const int priority : kPriorities) {
        const std::int64_t kmin = integer(tree, of_class(port, priority, "ecn-min"));
        const std::int64_t kmax = integer(tree, of_class(port, priority, "ecn-max"));
        if (kmin == 0 && kmax == 0) continue;
        const std::int64_t xoff = integer(tree, of_buffer(port, priority, "xoff"));
        const std::string where = fmt::format("{}:{} class {}", device.name, port, priority);
        if (kmin > kmax || kmax > xoff)
          out.push_back(fmt::format("threshold: {}: {} <= {} <= {} is wrong", where, kmin, kmax, xoff));
        if (!reacts) out.push_back("ecn: " + where + " marks, and not all hosts react");
      }
    }
  }
}

// Traffic that a host sends as lossless must be lossless at every port that it can cross and at its
// destination, with the same priority at all of them: PFC pauses by priority (802.1Qbb).
void TransitionOracle::check_paths(const World& world, std::vector<std::string>& out) const {
  std::set<int> sent;
  for (const OracleDevice& device : devices_) {
    if (!device.is_host()) continue;
    const Tree& tree = world.at(device.name);
    if (const Value tos = tree.value(at("rail0", "roce-tos")))
      sent.insert(static_cast<int>(tos.as_integer() >> 2));
  }
  for (const int dscp : sent) {
    std::set<std::string> priorities;
    for (const OracleDevice& device : devices_)
      for (const auto& [port, host] : device.ports) {
        if (!is_lossless(world.at(device.name), port, dscp))
          out.push_back(fmt::format("lossless: {}:{} may drop DSCP {}", device.name, port, dscp));
        priorities.insert(priority_of(world.at(device.name), port, dscp));
      }
    if (priorities.size() > 1)
      out.push_back(fmt::format("lossless: DSCP {} has another priority here than there", dscp));
  }
}

std::vector<std::size_t> PlanWalk::begun_or_ready() const {
  std::uint32_t wave = 0;
  for (std::size_t i = 0; i < next_.size(); ++i)
    if (!is_done(i) && (wave == 0 || plan_.steps[i].wave < wave)) wave = plan_.steps[i].wave;
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < next_.size(); ++i) {
    const Step& step = plan_.steps[i];
    const bool waits = std::ranges::any_of(steps_before(plan_, step),
                                           [this](std::uint32_t before) { return !is_done(before - 1); });
    if (step.wave == wave && !waits && !is_done(i)) out.push_back(i);
  }
  return out;
}

// The ECN thresholds are written separately, as drivers set them one by one.
void PlanWalk::write(std::size_t at_step, World& world) {
  const Step& step = plan_.steps[at_step];
  const auto unit = [](const PlannedChange& change) {
    const Row& row = schema_row(change.path.row());
    std::string out(row.commit);
    if (out.empty() || row.pattern.find("ecn-") != std::string_view::npos) return change.path.text();
    for (std::size_t key = 0; key < static_cast<std::size_t>(std::ranges::count(row.commit, '*')); ++key)
      out += " " + std::string(change.path.key(key));
    return out;
  };
  const std::string first = unit(step.changes[next_[at_step]]);
  Tree& tree = world.at(step.device);
  while (!is_done(at_step) && unit(step.changes[next_[at_step]]) == first) {
    const PlannedChange& change = step.changes[next_[at_step]++];
    if (change.want)
      tree.set(change.path, change.want);
    else
      tree.erase(change.path);
  }
}

}  // namespace lockstep
