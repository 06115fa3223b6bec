// The field table of DeviceSet, and the rules between its fields.
#include "specs/language/device_set.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "specs/language/codes.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/language/kind_rows.hpp"

namespace lockstep {

bool is_kernel_name(std::string_view name) {
  constexpr std::size_t longest = 15;  // IFNAMSIZ - 1
  return name.size() <= longest && name.find('/') == name.npos && name != "." && name != "..";
}

bool is_linux(const DeviceSet& set) {
  return std::any_of(set.drivers.begin(), set.drivers.end(),
                     [](const auto& one) { return one.said && *one == DriverName::linux_kernel; });
}

void check_kernel_names(const std::vector<std::string>& names, Span at, Reporter& reporter) {
  const auto wrong = std::find_if_not(names.begin(), names.end(), is_kernel_name);
  if (wrong == names.end()) return;
  reporter.error(code::bad_name, at, in_quotes(*wrong) + " is no name that Linux can give an interface",
                 std::string(kernel_name_rule));
}

namespace {

constexpr Field connect_fields[] = {
    field<&Connect::agent>("agent", "URL of a lockstep agent; {name} stands for the device",
                           {.form = Form::filled}),
    field<&Connect::local>("local", "this machine"),
    field<&Connect::redis>("redis", "URL or socket of a SONiC database", {.form = Form::filled}),
    field<&Connect::ssh>("ssh", "[user@]host[:port] of a SONiC switch", {.form = Form::filled}),
    field<&Connect::https>("https", "URL of the device's own API", {.form = Form::filled}),
};
constexpr Field interface_fields[] = {
    field<&Interface::name>("name", "interfaces, a hostlist", {.required = true, .form = Form::hostlist}),
    field<&Interface::platform>("platform", "the NIC, such as connectx-7",
                                {.form = Form::name, .otherwise = "the DeviceSet's"}),
    field<&Interface::rdma>("rdma", "true if it carries RDMA", {.otherwise = "false"}),
    field<&Interface::speed>(
        "speed", "the link's speed",
        {.least = 1, .range = "more than 0bps", .otherwise = "that of the cabling rule"}),
    field<&Interface::pci>("pci", "PCI addresses, one for each name, where names are not stable"),
};
constexpr Field port_fields[] = {
    field<&Port::name>("name", "ports, a hostlist", {.required = true, .form = Form::hostlist}),
    field<&Port::breakout>("breakout", "how the port is split, such as 2x400G", {.otherwise = "not split"}),
    field<&Port::fec>("fec", "forward error correction", {.otherwise = "unmanaged"}),
    field<&Port::autoneg>("autoneg", "autonegotiation", {.otherwise = "unmanaged"}),
    field<&Port::speed>("speed", "the link's speed",
                        {.least = 1, .range = "more than 0bps", .otherwise = "that of the cabling rule"}),
};
constexpr std::int64_t millisecond = 1'000'000;
constexpr Field counted_fields[] = {
    field<&Counted::group>("group", "which counters", {.required = true}),
    field<&Counted::interval>("interval", "how often the switch reads them",
                              {.least = 100 * millisecond,
                               .most = 300'000 * millisecond,
                               .range = "100ms to 300s, by group",
                               .why = "SONiC's counterpoll; faster costs the switch's CPU",
                               .otherwise = "unmanaged"}),
};
constexpr Field multihoming_fields[] = {
    field<&Multihoming::segment>(
        "segment", "the Ethernet segment's number, the same on every member",
        {.required = true, .least = 1, .most = 16777215, .why = "24 bits (RFC 7432 5, type 3)"}),
    field<&Multihoming::system_mac>("systemMac", "the LACP system that all members show",
                                    {.required = true, .pattern = "^.[02468ACEace]:"}),
};
constexpr Field bond_fields[] = {
    field<&Bond::name>("name", "the bond's name", {.required = true, .form = Form::name}),
    field<&Bond::members>("members", "interfaces or ports, a hostlist",
                          {.required = true, .form = Form::hostlist}),
    field<&Bond::mode>("mode", "802.3ad or active-backup", {.otherwise = "802.3ad"}),
    field<&Bond::lacp_rate>("lacpRate", "how often LACP packets are asked for", {.otherwise = "unmanaged"}),
    field<&Bond::min_links>("minLinks", "members that must be up for the bond to be up",
                            {.least = 1, .most = 256, .otherwise = "unmanaged"}),
    field<&Bond::multihoming>("multihoming", "the bond's other end is several switches"),
};
constexpr Field from_fields[] = {
    field<&From::csv>(
        "csv",
        "a CSV file, relative to the spec; its first line names the columns: name, platform, and labels",
        {.form = Form::filled}),
    field<&From::netbox>("netbox", "URL of the device query (reported as not read)", {.form = Form::filled}),
};
constexpr Field fields[] = {
    field<&DeviceSet::names>("names", "the devices, a hostlist of host names",
                             {.form = Form::hosts, .otherwise = "required unless from is written"}),
    field<&DeviceSet::role>("role", "host, leaf, spine or superspine", {.required = true}),
    field<&DeviceSet::platform>(
        "platform", "the switch or host model, such as spectrum-4",
        {.form = Form::name, .otherwise = "unknown: proofs that need one report LS113"}),
    field<&DeviceSet::drivers>("drivers", "what reads and writes the devices; several may share one",
                               {.required = true, .not_empty = true}),
    field<&DeviceSet::connect>("connect", "how the devices are reached"),
    field<&DeviceSet::credentials>("credentials", "the name of the secret to log in with"),
    field<&DeviceSet::interfaces>("interfaces", "a host's network interfaces"),
    field<&DeviceSet::ports>("ports", "a switch's ports"),
    field<&DeviceSet::bonds>("bonds", "link aggregations"),
    field<&DeviceSet::counters>("counters", "groups of counters that the switches read",
                                {.otherwise = "unmanaged"}),
    field<&DeviceSet::from>("from", "an inventory that is kept elsewhere"),
};

void check_connect(const Connect& connect, Span span, Reporter& reporter) {
  if (connect.agent.said || connect.local.said || connect.redis.said || connect.ssh.said ||
      connect.https.said)
    return;
  reporter.error(code::missing_field, span, "connect says no way", "write agent, local, redis, ssh or https");
}

// IEEE 802.1AX 6.2.2: a system is an individual address; the group bit is the lowest of the first octet.
void check_multihoming(const Multihoming& one, Span, Reporter& reporter) {
  constexpr std::uint64_t group = std::uint64_t{1} << 40;
  if (one.system_mac.said && ((one.system_mac->bits & group) != 0 || one.system_mac->bits == 0))
    reporter.error(code::out_of_range, {one.system_mac.at, 1},
                   in_quotes(format(*one.system_mac)) + " is not the address of one system",
                   "an even first octet, such as 44:38:39:ff:00:01");
}

void check_from(const From& from, Span span, Reporter& reporter) {
  if (from.csv.said != from.netbox.said) return;
  reporter.error(code::fields_conflict, span, "from needs one of csv and netbox");
}

void check_interface(const Interface& one, Span, Reporter& reporter) {
  if (one.pci.empty() || !one.name.said) return;
  const auto count = count_hostlist(one.name.value);
  if (!count || *count == one.pci.size()) return;
  reporter.error(
      code::fields_conflict, {one.pci[0].at, 1},
      std::to_string(one.pci.size()) + " PCI addresses for " + std::to_string(*count) + " interfaces",
      "write one address for each name, in the order of the names");
}

void check_counted(const Counted& one, Span, Reporter& reporter) {
  if (!one.interval.said) return;
  const Span at{one.interval.at, 1};
  if (*one.interval % std::chrono::milliseconds(1) != Duration::zero())
    return reporter.error(code::out_of_range, at, in_quotes(format(*one.interval)) + " can't be set",
                          "steps of 1ms");
  if (!one.group.said) return;
  const CountedGroupRow& group = row_of(*one.group);
  if (!group.has_interval())
    return reporter.error(code::fields_conflict, at,
                          "the group " + std::string(group.name) + " has no interval of its own",
                          "it is read as often as the watchdog looks: a RoceProfile's "
                          "pfc.watchdog.pollInterval",
                          {{one.group.at, "the group is named here"}});
  const Duration least = std::chrono::milliseconds(group.least_ms);
  const Duration most = std::chrono::milliseconds(group.most_ms);
  if (*one.interval < least || *one.interval > most)
    reporter.error(
        code::out_of_range, at,
        in_quotes(format(*one.interval)) + " is no interval of the group " + std::string(group.name),
        format(least) + " to " + format(most) + " (SONiC's counterpoll)",
        {{one.group.at, "the group is named here"}});
}

// A host's counters need not be asked for.
void check_counters(const DeviceSet& set, Reporter& reporter) {
  std::array<Position, kCountedGroups.size()> first{};
  for (const Counted& one : set.counters) {
    if (!one.group.said) continue;
    if (set.role.said && *set.role == DeviceRole::host)
      return reporter.error(code::fields_conflict, {one.group.at, 1},
                            "counters are asked for of hosts, whose counters are always read",
                            "write counters in a DeviceSet of switches",
                            {{set.role.at, "the role is set here"}});
    Position& seen = first[static_cast<std::size_t>(*one.group)];
    if (seen.line != 0)
      reporter.error(code::written_twice, {one.group.at, 1},
                     "the group " + in_quotes(to_string(*one.group)) + " is written twice", "",
                     {{seen, "first written here"}});
    seen = one.group.at;
  }
}

// Names of one kind in a set: each is written once, and valid for Linux if the set's interfaces belong to it.
class Names {
 public:
  Names(std::string_view what, bool linux, Reporter& reporter)
      : what_(what), linux_(linux), reporter_(reporter) {}
  void add(const Said<std::string>& list) {
    const auto names = expand_hostlist(*list);
    if (!list.said || !names) return;
    const Span at{list.at, static_cast<std::uint32_t>(list->size())};
    if (linux_) check_kernel_names(*names, at, reporter_);
    bool told = false;
    for (const std::string& name : *names) {
      const auto [first, fresh] = first_.emplace(name, list.at);
      if (!fresh && !std::exchange(told, true))
        reporter_.error(code::written_twice, at,
                        std::string(what_) + " " + in_quotes(name) + " is written twice", "",
                        {{first->second, "first written here"}});
    }
  }

 private:
  std::string_view what_;
  bool linux_;
  Reporter& reporter_;
  std::unordered_map<std::string, Position> first_;
};

void check_names(const DeviceSet& set, Reporter& reporter) {
  const bool linux = is_linux(set);
  Names interfaces("interface", linux, reporter);
  for (const Interface& one : set.interfaces) interfaces.add(one.name);
  Names ports("port", linux, reporter);
  for (const Port& one : set.ports) ports.add(one.name);
  Names bonds("bond", linux, reporter);
  for (const Bond& one : set.bonds) bonds.add(one.name);
}

bool is_built(DriverName driver) {
  return driver == DriverName::linux_kernel || driver == DriverName::frr || driver == DriverName::sonic ||
         driver == DriverName::sim;
}

void check_set(const DeviceSet& set, Span span, Reporter& reporter) {
  const bool names = set.names.at.line != 0;  // written, even if it could not be read
  if (names && set.from.said)
    reporter.error(code::fields_conflict, {set.names.at, 1}, "names and from are both written",
                   "write the devices' names, or from where they are read");
  if (!names && !set.from.said)
    reporter.error(code::missing_field, span, "'names' is missing in a DeviceSet",
                   "write the devices' names, or from where they are read");
  std::array<Position, words_of<DriverName>.size()> first{};
  for (const auto& driver : set.drivers) {
    if (!driver.said) continue;
    Position& seen = first[static_cast<std::size_t>(*driver)];
    if (seen.line != 0)
      reporter.error(code::written_twice, {driver.at, 1},
                     "driver '" + std::string(to_string(*driver)) + "' is written twice", "",
                     {{seen, "first written here"}});
    seen = driver.at;
    if (!is_built(*driver))
      reporter.has_no_effect({driver.at, static_cast<std::uint32_t>(to_string(*driver).size())},
                             "driver '" + std::string(to_string(*driver)) + "'",
                             "such devices are planned and checked, and not reached");
  }
  check_names(set, reporter);
  check_counters(set, reporter);
}

}  // namespace

namespace {

bool has_labels(const DeviceSet& set, const InventoryRow* row, const Selector& selector) {
  return std::all_of(selector.match_labels.begin(), selector.match_labels.end(), [&](const auto& want) {
    const Said<std::string>* have = row == nullptr ? nullptr : find_entry(row->labels, *want.key);
    if (have == nullptr) have = find_entry(set.metadata.labels, *want.key);
    return have != nullptr && **have == *want.value;
  });
}

const InventoryRow* row_of(const DeviceSet& set, std::size_t place) {
  return place < set.inventory.size() ? &set.inventory[place] : nullptr;
}

}  // namespace

std::map<std::string, std::string> labels_of(const DeviceSet& set, std::size_t place) {
  std::map<std::string, std::string> out;
  const auto take = [&out](const MapEntries<std::string>& labels) {
    for (const auto& label : labels) out[*label.key] = *label.value;
  };
  take(set.metadata.labels);
  if (const InventoryRow* const row = row_of(set, place); row != nullptr) take(row->labels);
  return out;
}

bool has_labels(const DeviceSet& set, const Selector& selector) {
  if (set.inventory.empty()) return has_labels(set, nullptr, selector);
  return std::any_of(set.inventory.begin(), set.inventory.end(),
                     [&](const InventoryRow& row) { return has_labels(set, &row, selector); });
}

bool selects(const Selector& selector, const DeviceSet& set, std::size_t place, std::string_view device) {
  return has_labels(set, row_of(set, place), selector) &&
         (!selector.names.said || index_in_hostlist(*selector.names, device).has_value());
}

Position name_at(const DeviceSet& set, std::size_t place) {
  const InventoryRow* const row = row_of(set, place);
  return row != nullptr ? row->name.at : set.names.at;
}

const Said<std::string>& platform_said(const DeviceSet& set, std::size_t place) {
  const InventoryRow* const row = row_of(set, place);
  return row != nullptr && row->platform.said ? row->platform : set.platform;
}

template <>
const Type& struct_type<Connect>() {
  static constexpr Type type = object_type<Connect>(
      "connect", connect_fields, checked<Connect, check_connect>, "one way to reach the devices is required");
  return type;
}
template <>
const Type& struct_type<Interface>() {
  static constexpr Type type =
      object_type<Interface>("an interface", interface_fields, checked<Interface, check_interface>);
  return type;
}
template <>
const Type& struct_type<Port>() {
  static constexpr Type type = object_type<Port>("a port", port_fields);
  return type;
}
template <>
const Type& struct_type<Counted>() {
  static constexpr Type type =
      object_type<Counted>("a group of counters", counted_fields, checked<Counted, check_counted>);
  return type;
}
template <>
const Type& struct_type<Multihoming>() {
  static constexpr Type type =
      object_type<Multihoming>("multihoming", multihoming_fields, checked<Multihoming, check_multihoming>);
  return type;
}
template <>
const Type& struct_type<Bond>() {
  static constexpr Type type = object_type<Bond>("a bond", bond_fields);
  return type;
}
template <>
const Type& struct_type<From>() {
  static constexpr Type type =
      object_type<From>("from", from_fields, checked<From, check_from>, "one of the two is required");
  return type;
}
template <>
const Type& struct_type<DeviceSet>() {
  static constexpr Type type = object_type<DeviceSet>("a DeviceSet", fields, checked<DeviceSet, check_set>);
  return type;
}

}  // namespace lockstep
