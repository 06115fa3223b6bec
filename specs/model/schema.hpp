// Schema: one row for each managed entry. Everything that planner, diff, documentation and drivers must know
// about an entry is a column here; no other code decides by path text.
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
// exact: equal; set: as sets (both sides are built by Value::set); within: a set whose members are all
// desired; noted: a set whose members that are not desired are findings, and never a difference; at_least: an
// integer not below the desired one; quantised: the same, and less than kQuantum above it, because devices
// round to their own cells; version: a version that meets the desired constraint (model/version.hpp); digest:
// compared by digest, never printed.
enum class Compare : std::uint8_t { exact, set, within, noted, at_least, quantised, version, digest };
// Bytes: the power of two above the largest known buffer cell (specs/platforms: tomahawk-5, 254 B).
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
// Transitions that are ordered between rows; where two ladders contradict each other, the earlier one takes
// precedence.
enum class Ladder : std::uint8_t {
  none,
  mtu,        // up: headroom, ports between switches, leaf ports to hosts, hosts, locks of routes
  lossless,   // added: headroom, PFC, classes with their DSCPs; switches before hosts before senders
  ecn,        // on: the class of CNPs, reaction points, ECT senders, marking
  threshold,  // up: a buffer's size, xoff, Kmax, Kmin
  buffer,     // of a port: what shrinks before what grows
};
// Which changes are ordered by a ladder. size: additions and increases, removals and decreases; presence:
// additions and removals; turning: these, and replaced values; ecn_field: these, and a ToS byte that becomes
// ECN-capable, or no longer is; limit: a size that is unlimited while absent (mtu_lock.hpp).
enum class Moves : std::uint8_t { size, presence, turning, ecn_field, limit };
// A rung: additions and increases go from lower to higher rungs, removals and decreases from higher to lower.
struct Rung {
  Ladder ladder = Ladder::none;
  std::uint8_t place = 0;  // among the rows of one port; 0: none
  // Position among all devices, for a switch port to a switch (or with no known cable), for one to a host,
  // and for a host; 0: none.
  std::uint8_t to_switch = 0;
  std::uint8_t to_host = 0;
  std::uint8_t host = 0;
  Moves by = Moves::size;
  // The two ends of a host's cable change one after the other, and must match.
  constexpr bool crosses() const { return to_host != 0 && host > to_host; }
};

// What a change must touch to bring an effect about: an effect that already differed before a change is
// waited for only then.
enum class Follows : std::uint8_t {
  device,   // its device: code that runs there, or a reset
  link,     // either end of its port's cable
  network,  // whatever carries traffic there or at a neighbour
};

// What an entry describes, to decide which differences explain which others (reconciler/engine/causes.hpp).
enum class Tells : std::uint8_t {
  other,
  daemon,      // whether a daemon runs
  port,        // whether a port exists and is not shut
  carrier,     // whether its cable has a carrier
  neighbor,    // which neighbour is at the other end
  session,     // state of a protocol's session over a port
  of_session,  // the session's parameters, and what monitors it
  routes,      // where the kernel forwards to
};

// The worst that somebody who may choose the value can do (SECURITY.md). A machine's host policy
// (drivers/host_policy) must list what specs may set of the last two kinds.
enum class Power : std::uint8_t {
  none,           // nothing is written
  performance,    // slow, stall or speed up
  reachability,   // cut off or redirect traffic
  dma_isolation,  // let a PCI device access memory or devices that it otherwise could not
  runs_code,      // run, load or stop code of one's choice, or weaken a machine's protection
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
  std::string_view refers_to = "";  // pattern of the row that must exist first (removed in reverse order)
  std::string_view commit = "";     // rows with the same commit unit and equal keys up to it are never split
  // "bgp bfd-profile[*]": the entry exists while these rows (and their parts) are saved across a restart.
  // Written after each change of them, and never rolled back.
  std::string_view saves = "";
  // Of a row that saves: in a step of its own, once the changes have been kept. A restart before that brings
  // back what was there before them.
  bool saves_once_kept = false;
  std::array<Rung, 4> rungs{};
  bool collection = false;  // a member of a collection: a claim may own the collection whole
  Power power = Power::none;
  Follows follows = Follows::device;  // of an effect
  Tells tells = Tells::other;
  // "lldp-agent routing-daemon[bgp]": entries that show whether the daemons run without which this entry
  // differs or can't be read.
  std::string_view rests_on = "";

  // Its values are built by Value::set.
  constexpr bool is_set() const {
    return compare == Compare::set || compare == Compare::within || compare == Compare::noted;
  }
  // interface[*]/mtu is a part of interface[*]: its first keys are those of the whole.
  constexpr bool is_part_of(std::string_view whole) const {
    return pattern.size() > whole.size() && pattern.starts_with(whole) && pattern[whole.size()] == '/';
  }
  // Whether `saver`, a row's `saves`, lists this row or a row that it is part of.
  constexpr bool is_saved_by(std::string_view saver) const {
    while (!saver.empty()) {
      const std::string_view one = saver.substr(0, saver.find(' '));
      if (pattern == one || is_part_of(one)) return true;
      saver.remove_prefix(std::min(saver.size(), one.size() + 1));
    }
    return false;
  }
  // Whether this ladder changes the two ends of a host's cable one after the other.
  constexpr bool crosses(Ladder ladder) const {
    return std::any_of(rungs.begin(), rungs.end(),
                       [ladder](const Rung& one) { return one.ladder == ladder && one.crosses(); });
  }
  // Whether a host sends it: on the lossless ladder, at hosts only.
  constexpr bool is_sent_as_lossless() const {
    return std::any_of(rungs.begin(), rungs.end(), [](const Rung& one) {
      return one.ladder == Ladder::lossless && one.host != 0 && !one.crosses();
    });
  }
  // A port itself or a part of one; its first key is the port's name. The same for bonds.
  constexpr bool is_of_port() const { return pattern == "interface[*]" || is_part_of("interface[*]"); }
  constexpr bool is_of_bond() const { return pattern == "bond[*]" || is_part_of("bond[*]"); }
};

}  // namespace lockstep
