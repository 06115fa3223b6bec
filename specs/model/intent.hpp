// Intent: the desired state of one device, each entry with its origin; Observation: its actual state, what
// could not be read, and what the device does not support.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "specs/model/diagnostic.hpp"
#include "specs/model/ip.hpp"
#include "specs/model/result.hpp"
#include "specs/model/tree.hpp"

namespace lockstep {

// Which changes the specs allow without approval (spec-language.md, `mode`).
enum class Conduct : std::uint8_t { observe, converge, suspended };

// Where a desired value comes from: the spec field that sets it (or the object, if a rule derived it), the
// rule, and how that object is managed.
struct Origin {
  Position at;
  std::string object;  // "Fabric/backend"
  std::string rule;    // "mtu": the spec field or the name of the derivation, as `explain` shows it
  Conduct conduct = Conduct::observe;
  bool apply_allowed = true;       // false: the object itself sets observe or suspend
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

// A collection owned as a whole: members that the intent does not contain are removed. `keys` fixes the
// leading keys (interface[*]/address[*] with keys {"rail0"}: all addresses of rail0); `within`: only members
// whose last key is an address of that prefix. Members are removed only if the scope was fully read. The
// schema row defines what a driver reports as a member (routes: only those with lockstep's rtproto).
struct Claim {
  RowId collection;
  std::vector<std::string> keys;
  OriginId origin = 0;
  std::optional<IpPrefix> within{};
};

// A desired entry that a higher priority or an override replaced; it stays visible.
struct Overruled {
  Path path;
  Value want;
  OriginId origin = 0;
  OriginId by = 0;
};

// Foreign state that specs allow (Fabric.allow): a member of a set, exactly as it is observed. It counts as
// desired until its end date has passed.
struct Allowed {
  Path path;
  std::string what;
  std::string why;  // "until 2026-12-01: reason"
  OriginId origin = 0;
  bool ended = false;
};

// `conduct` and `apply_allowed` are the strictest of all objects that set anything on the device; those of
// each entry are in its Origin.
struct Intent {
  std::string device;
  Tree want;
  std::vector<Claim> claims;
  std::vector<Overruled> overruled;
  std::shared_ptr<const std::vector<Allowed>> allowed{};  // shared by devices of one class; null: none
  Conduct conduct = Conduct::observe;
  bool apply_allowed =
      true;  // false: the object itself sets observe or suspend, so `lockstep apply` skips it too
};

// A scope that could not be read: all entries of `row` whose leading keys are `keys` (empty: the whole row).
struct Unread {
  RowId row;
  std::vector<std::string> keys;
  Error why;
};

// A row that the driver knows but this device (or the port in `keys`) does not support, found out by querying
// the device.
struct Incapable {
  RowId row;
  std::vector<std::string> keys;  // leading keys; empty: the whole device
  std::string reason;             // "veth: dcbnl PFC get: Operation not supported"
  // The device could support it after a manual action (installing a package, adding a port): a mismatch
  // counts as a difference.
  bool by_hand = false;
};

// What a device is, for people: "model", "serial", "kernel", "frr". Never compared. A name is there only if
// the device says it.
using Facts = std::map<std::string, std::string>;

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
  std::string armed{};  // the transaction that the device rolls back unless it is settled; empty: none
  Facts facts{};
};

}  // namespace lockstep
