// DeviceSet: which hosts and switches exist, their platform and ports, their drivers, and how to connect to
// them.
#pragma once

#include <map>
#include <string>

#include "specs/language/object.hpp"
#include "specs/model/counter_groups.hpp"

namespace lockstep {

class Reporter;
struct Span;

enum class DeviceRole : std::uint8_t { host, leaf, spine, superspine };
constexpr auto words(DeviceRole) {
  return std::to_array<std::string_view>({"host", "leaf", "spine", "superspine"});
}

enum class Fec : std::uint8_t { automatic, off, rs, baser };
constexpr auto words(Fec) { return std::to_array<std::string_view>({"auto", "off", "rs", "baser"}); }

enum class BondMode : std::uint8_t { lacp, active_backup };
constexpr auto words(BondMode) { return std::to_array<std::string_view>({"802.3ad", "active-backup"}); }

enum class LacpRate : std::uint8_t { slow, fast };
constexpr auto words(LacpRate) { return std::to_array<std::string_view>({"slow", "fast"}); }

// How to connect to the devices; `{name}` in a text is replaced by the device's name. At least one is set.
struct Connect {
  Said<std::string> agent;  // URL
  Said<bool> local;
  Said<std::string> redis;  // URL or socket path
  Said<std::string> ssh;    // [user@]host[:port]
  Said<std::string> https;  // URL
  Position at;
};

// A host's network interface (or several of a kind, by hostlist).
struct Interface {
  Said<std::string> name;  // hostlist
  Said<std::string> platform;
  Said<bool> rdma;
  Said<BitRate> speed;
  std::vector<Said<std::string>> pci;  // one address for each name, where names are not stable
};

// A switch's port (or several of a kind, by hostlist).
struct Port {
  Said<std::string> name;  // hostlist
  Said<Breakout> breakout;
  Said<Fec> fec;
  Said<bool> autoneg;
  Said<BitRate> speed;
};

// A group of counters that the set's switches read.
struct Counted {
  Said<CountedGroup> group;
  Said<Duration> interval;  // unset: not managed
};

// The same Ethernet segment on several switches (EVPN multihoming, RFC 7432).
struct Multihoming {
  Said<std::uint32_t> segment;
  Said<MacAddress> system_mac;
};

struct Bond {
  Said<std::string> name;
  Said<std::string> members;  // interfaces or ports, a hostlist
  Said<BondMode> mode;
  Said<LacpRate> lacp_rate;
  Said<std::uint32_t> min_links;
  Said<Multihoming> multihoming;
};

// An inventory kept elsewhere. Exactly one field is set.
struct From {
  Said<std::string> csv;     // a file, relative to the spec (inventory.hpp)
  Said<std::string> netbox;  // URL of the device query
};

// A device as listed in an inventory (inventory.hpp).
struct InventoryRow {
  Said<std::string> name;
  Said<std::string> platform;      // unset: the set's
  MapEntries<std::string> labels;  // overriding the set's
};

struct DeviceSet : Object {
  Said<std::string> names;  // hostlist
  Said<DeviceRole> role;
  Said<std::string> platform;
  std::vector<Said<DriverName>> drivers;
  Said<Connect> connect;
  Said<Credentials> credentials;
  std::vector<Interface> interfaces;
  std::vector<Port> ports;
  std::vector<Bond> bonds;
  std::vector<Counted> counters;
  Said<From> from;
  std::vector<InventoryRow>
      inventory;  // from an inventory, in the order of names; empty: names are written in the spec
};

// Of the device at index `place` of the set's names: the set's, and the inventory's in their place.
std::map<std::string, std::string> labels_of(const DeviceSet& set, std::size_t place);
// Whether any device of the set has all the labels that a selector asks for.
bool has_labels(const DeviceSet& set, const Selector& selector);
// Whether a selector matches the device with that name, which is at index `place` of the set's names.
bool selects(const Selector& selector, const DeviceSet& set, std::size_t place, std::string_view device);

// Whether the Linux kernel accepts the name for an interface (net/core/dev.c, dev_valid_name), given what a
// hostlist can contain.
bool is_kernel_name(std::string_view name);
inline constexpr std::string_view kernel_name_rule =
    "at most 15 characters, without '/' (the devices' driver is linux)";
// Whether the set's interfaces belong to Linux.
bool is_linux(const DeviceSet& set);
// Reports the first of the names that Linux can't give an interface.
void check_kernel_names(const std::vector<std::string>& names, Span at, Reporter& reporter);

// Where a device of the set, and its platform, are written.
Position name_at(const DeviceSet& set, std::size_t place);
const Said<std::string>& platform_said(const DeviceSet& set, std::size_t place);

}  // namespace lockstep
