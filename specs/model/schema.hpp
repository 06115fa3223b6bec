// Schema: one row for each managed entry. Everything that planner, diff, documentation and drivers must know
// about an entry is a column here; nothing else decides by path text.
//
// The rows are in schema_rows.hpp. row("interface[*]/mtu") is checked by the compiler.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace lockstep {

using RowId = std::uint16_t;

enum class EntryType : std::uint8_t { present, boolean, integer, text, list, secret };
// exact: equal; set: as sets (both sides are built by Value::set); within: a set whose members are all among
// the wanted ones; noted: a set of which those that are not among the wanted ones are findings, and never a
// difference; at_least: an integer not below the wanted; quantised: so, and less than kQuantum above it, as
// devices round to cells of their own; version: a version that meets the wanted constraint
// (model/version.hpp); digest: compared by digest, never printed.
enum class Compare : std::uint8_t { exact, set, within, noted, at_least, quantised, version, digest };
// Bytes: the power of two above the largest buffer cell that is known (specs/platforms: tomahawk-5, 254 B).
inline constexpr std::int64_t kQuantum = 256;
enum class Facet : std::uint8_t { config, effect, next_boot };  // only config is written
enum class Disruption : std::uint8_t { none, traffic, reset, reboot };
// How a write takes effect. under_guard: only while the row's guard holds; recreate: delete and create again.
enum class Takes : std::uint8_t {
  live,
  lost_at_boot,
  under_guard,
  recreate,
  next_boot,
  cold_power,
  read_only
};
// Transitions that have an order among rows, in the order in which they matter where they contradict each
// other.
enum class Ladder : std::uint8_t {
  none,
  mtu,        // up: headroom, ports between switches, leaf ports to hosts, hosts, locks of routes
  lossless,   // added: headroom, PFC, classes with their DSCPs; switches, hosts, senders
  ecn,        // on: the class of CNPs, what reacts, what is sent as ECT, marking
  threshold,  // up: a buffer's size, xoff, Kmax, Kmin
  buffer,     // of a port: what shrinks before what grows
};
// What has a place on a ladder. size: what is added or grows, and what is removed or shrinks; presence: what
// is added or removed; turning: these, and a value that takes another's place; ecn_field: these, and a ToS
// byte that becomes ECN-capable, or no longer is; limit: a size that is unlimited where it is not there
// (mtu_lock.hpp).
enum class Moves : std::uint8_t { size, presence, turning, ecn_field, limit };
// A rung: what is added or grows climbs from lower to higher ones, what is removed or shrinks descends.
struct Rung {
  Ladder ladder = Ladder::none;
  std::uint8_t place = 0;  // among the rows of one port; 0: none
  // Among all devices, at a switch's port to a switch (or of no known cable), at one to a host, and at a
  // host; 0: none.
  std::uint8_t to_switch = 0;
  std::uint8_t to_host = 0;
  std::uint8_t host = 0;
  Moves by = Moves::size;
  // The ends of a host's cable change one after the other, and must be alike.
  constexpr bool crosses() const { return to_host != 0 && host > to_host; }
};

// What a change has to touch to bring an effect about: an effect that was open before a change is waited for
// only then.
enum class Follows : std::uint8_t {
  device,   // its device: code that runs there, or a reset
  link,     // either end of its port's cable
  network,  // whatever carries traffic there or at a neighbour
};

// What somebody can do who may choose the value, at worst (SECURITY.md). A machine's host policy
// (drivers/host_policy) has to name what specs may set of the last two kinds.
enum class Power : std::uint8_t {
  none,           // nothing is written
  performance,    // slow, stall or speed up
  reachability,   // cut off, or lead traffic elsewhere
  dma_isolation,  // let a PCI device reach memory or devices that it could not
  runs_code,      // have code of one's choice run, loaded or no longer run, or weaken what guards a machine
};
constexpr std::string_view to_string(Power power) {
  switch (power) {
    case Power::none: return "none";
    case Power::performance: return "performance";
    case Power::reachability: return "reachability";
    case Power::dma_isolation: return "DMA isolation";
    case Power::runs_code: return "runs code";
  }
  return "none";
}

struct Row {
  std::string_view pattern;  // "interface[*]/mtu"; [*] is a key
  EntryType type;
  std::string_view doc;
  std::string_view unit = "";
  Compare compare = Compare::exact;
  Facet facet = Facet::config;
  Disruption disruption = Disruption::none;
  Takes takes = Takes::live;
  std::string_view guard = "";      // Takes::under_guard: "interface[*]/admin=false"
  std::string_view refers_to = "";  // pattern of the row that must be there first (removed in reverse)
  std::string_view commit = "";     // rows of one commit unit and equal keys up to it are never split
  // "bgp bfd-profile[*]": it is there once what these rows (and their parts) are is kept over a restart.
  // Written after each change of them, and never taken back.
  std::string_view saves = "";
  std::array<Rung, 4> rungs{};
  bool collection = false;  // a member of a collection: a claim may own it whole
  Power power = Power::none;
  Follows follows = Follows::device;  // of an effect

  // Its values are built by Value::set.
  constexpr bool is_set() const {
    return compare == Compare::set || compare == Compare::within || compare == Compare::noted;
  }
  // interface[*]/mtu is a part of interface[*]: its first keys are those of the whole.
  constexpr bool is_part_of(std::string_view whole) const {
    return pattern.size() > whole.size() && pattern.starts_with(whole) && pattern[whole.size()] == '/';
  }
  // What `saver`, a row's `saves`, names or a part of it.
  constexpr bool is_saved_by(std::string_view saver) const {
    while (!saver.empty()) {
      const std::string_view one = saver.substr(0, saver.find(' '));
      if (pattern == one || is_part_of(one)) return true;
      saver.remove_prefix(std::min(saver.size(), one.size() + 1));
    }
    return false;
  }
  // On this ladder, one after the other at both ends of a host's cable.
  constexpr bool crosses(Ladder ladder) const {
    return std::any_of(rungs.begin(), rungs.end(),
                       [ladder](const Rung& one) { return one.ladder == ladder && one.crosses(); });
  }
  // What a host sends: on the lossless ladder, at hosts alone.
  constexpr bool is_sent_as_lossless() const {
    return std::any_of(rungs.begin(), rungs.end(), [](const Rung& one) {
      return one.ladder == Ladder::lossless && one.host != 0 && !one.crosses();
    });
  }
  // A port itself or a part of one; its first key is the port's name. So with bonds.
  constexpr bool is_of_port() const { return pattern == "interface[*]" || is_part_of("interface[*]"); }
  constexpr bool is_of_bond() const { return pattern == "bond[*]" || is_part_of("bond[*]"); }
};

}  // namespace lockstep
