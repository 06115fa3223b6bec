// Intent: what one device should be, each entry with its origin; Observation: what it is, what could not be
// read, and what the device can't carry.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "specs/model/diagnostic.hpp"
#include "specs/model/ip.hpp"
#include "specs/model/result.hpp"
#include "specs/model/tree.hpp"

namespace lockstep {

// What the specs allow to happen without a person's word (spec-language.md, `mode`).
enum class Conduct : std::uint8_t { observe, converge, suspended };

// Where a wanted value comes from: the spec field that says it (or the object, when a rule derived it), and
// the rule; and how the object that says it is kept.
struct Origin {
  Position at;
  std::string object;  // "Fabric/backend"
  std::string rule;    // "mtu": the spec field or the name of the derivation, as `explain` shows it
  Conduct conduct = Conduct::observe;
  bool apply_allowed = true;       // false: the object itself says observe or suspend
  bool restore_on_delete = false;  // onDelete: restore
};

// All origins of a compiled cluster. Index 0 is "no origin".
struct Origins {
  std::vector<Origin> all{Origin{}};
  OriginId add(Origin origin) {
    all.push_back(std::move(origin));
    return static_cast<OriginId>(all.size() - 1);
  }
  const Origin& operator[](OriginId id) const { return all[id]; }
};

// A collection owned whole: members that the intent does not name are removed. `keys` fixes the leading keys
// (interface[*]/address[*] with keys {"rail0"}: all addresses of rail0); `within`: only members whose last
// key is an address of that prefix. Removal only happens where the scope was fully read. What a driver
// reports as a member is said in the schema row (routes: those with our rtproto only).
struct Claim {
  RowId collection;
  std::vector<std::string> keys;
  OriginId origin = 0;
  std::optional<IpPrefix> within{};
};

// A wanted entry that a higher priority or an override replaced; it stays visible.
struct Overruled {
  Path path;
  Value want;
  OriginId origin = 0;
  OriginId by = 0;
};

// Foreign state that specs allow (Fabric.allow): a member of a set, in the words in which it is read. Until
// its day has passed it is among the wanted ones.
struct Allowed {
  Path path;
  std::string what;
  std::string why;  // "until 2026-12-01: reason"
  OriginId origin = 0;
  bool ended = false;
};

// `conduct` and `apply_allowed` are those of the most careful object that says anything of the device; each
// entry's own are in its Origin.
struct Intent {
  std::string device;
  Tree want;
  std::vector<Claim> claims;
  std::vector<Overruled> overruled;
  std::shared_ptr<const std::vector<Allowed>> allowed{};  // shared by devices that are alike; null: none
  Conduct conduct = Conduct::observe;
  bool apply_allowed =
      true;  // false: the object itself says observe or suspend, so a person's apply skips it too
};

// A scope that could not be read: all entries of `row` whose leading keys are `keys` (empty: the whole row).
struct Unread {
  RowId row;
  std::vector<std::string> keys;
  Error why;
};

// A row that the driver knows but this device (or this port: keys) can't carry, found out by asking the
// device.
struct Incapable {
  RowId row;
  std::vector<std::string> keys;  // leading keys; empty: the whole device
  std::string reason;             // "veth: dcbnl PFC get: Operation not supported"
  // The device could, and a person has to see to it (a package, a port that is not there): where wanted and
  // found differ, that is a difference.
  bool by_hand = false;
};

struct Observation {
  std::string device;
  Tree have;
  std::chrono::steady_clock::time_point when;
  std::string boot_id;
  std::string
      revision;  // changes whenever anything the driver reads changes; empty: the device has no such token
  std::vector<Unread> unread;
  std::vector<Incapable> incapable;
  std::vector<std::string> notes;
  std::string armed{};  // the transaction that the device undoes unless it is settled; empty: none
};

}  // namespace lockstep
