// Service: what of a cluster is out of service before a change begins: what was observed down or did not
// answer, what is in maintenance, and what changes disturbed that are not validated yet. minCapacity starts
// from it.
//
// Promises: pure. A device counts if it was asked and nothing on it answered; a device that was not asked, or
// that is unreachable from this machine, is unknown and does not count. A cable counts if an entry that shows
// its state (specs/compile/cable_entries.hpp) was read at either end and is not as desired.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "reconciler/engine/fleet.hpp"
#include "reconciler/engine/ledger.hpp"
#include "reconciler/engine/wiring.hpp"

namespace lockstep {

struct OutOfService {
  std::map<std::string, std::string> devices;   // with the reason
  std::map<std::uint32_t, std::string> cables;  // into Wiring::cables
  // Of both, what counts only because it is not validated yet: it has traffic, and a step that disturbs it
  // takes it out.
  std::set<std::string> unjudged_devices{};
  std::set<std::uint32_t> unjudged_cables{};
  // Of the devices, those that did not answer: each may be down, or may still forward traffic.
  std::set<std::string> unanswered{};

  bool empty() const { return devices.empty() && cables.empty(); }
  // Whether all of that was already out when it was observed: touching it takes nothing away.
  bool covers(const Outage& outage, const Wiring& wiring) const;
  // The outage together with all that is already out.
  Outage with(const Outage& outage) const;
  // The share that the worst pair keeps when a step takes `own` out, `all` being its own part and that of
  // other steps. What is only not validated yet counts as out, too, except for a step that disturbs nothing
  // else: it is not out twice. What did not answer counts as out; if a step disturbs it, it may also be up,
  // and the worse of both cases counts, except for a step that disturbs nothing else. Requires
  // Wiring::capacity_left.
  double capacity_left(const Outage& all, const Outage& own, const Wiring& wiring) const;
  // "spine1 (it did not answer: timed out), leaf0:up1 (interface[up1]/carrier is false) and 3 more".
  std::string text(const Wiring& wiring) const;

 private:
  bool has(const std::string& device, bool unjudged) const;
  bool has_all(const Outage& outage, const Wiring& wiring, bool unjudged) const;
  Outage joined(const Outage& all, bool unjudged, const std::set<std::string>& may_be_up) const;
};

// `states`: in fleet order. `open`: changes that were begun and are not validated yet.
OutOfService out_of_service(const Fleet& fleet, const std::vector<DeviceState>& states,
                            const std::vector<OwedChange>& open);

// Why nothing of a device could be read; empty: something was read, or it was not asked.
std::string why_unread(const DeviceState& state);

// The maintenance that explains a difference of a device: its own; or, for an effect at a port or over ports,
// that of the devices at the far ends. "until 2026-12-01: optics", "of leaf1, until 2026-12-01: optics";
// empty: none.
std::string maintenance_of(const Fleet& fleet, std::size_t device, const DeviceState& state,
                           const Change& difference);

// "leaf0: 50% would be left to the worst pair, the policy wants 75%; out of service already: ...".
std::string budget_reason(const std::string& device, double left, double least, const OutOfService& already,
                          const Wiring& wiring);

}  // namespace lockstep
