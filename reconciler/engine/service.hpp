// Service: what of a cluster is out of service before a change begins: what was observed down or did not
// answer, what is in maintenance, and what changes disturbed that nobody has judged yet. minCapacity starts
// from it.
//
// Promises: pure. A device counts where it was asked and nothing of it answered; of one that was not asked,
// or that nothing here reaches, nothing is known, and it does not count. A cable counts where an entry that
// tells of it (specs/compile/cable_entries.hpp) was read at either end and is not as wanted.
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
  // Of both, what is only not judged yet: it carries traffic, and a step that disturbs it takes it out.
  std::set<std::string> unjudged_devices{};
  std::set<std::uint32_t> unjudged_cables{};
  // Of the devices, those that did not answer: each may be down, or carry traffic all the same.
  std::set<std::string> unanswered{};

  bool empty() const { return devices.empty() && cables.empty(); }
  // Whether all of that was out when it was observed: to touch it takes nothing away.
  bool covers(const Outage& outage, const Wiring& wiring) const;
  // With all that is out.
  Outage with(const Outage& outage) const;
  // The share that is left to the worst pair with `all` that a step takes out beside others, `own` its part.
  // What is only not judged yet is out, too, but for a step that disturbs nothing else: it is not out twice.
  // What did not answer is out; where a step disturbs it, it may be up as well, and the worse of both counts,
  // but for a step that disturbs nothing else. Wiring::capacity_left is there.
  double capacity_left(const Outage& all, const Outage& own, const Wiring& wiring) const;
  // "spine1 (it did not answer: timed out), leaf0:up1 (interface[up1]/carrier is false) and 3 more".
  std::string text(const Wiring& wiring) const;

 private:
  bool has(const std::string& device, bool unjudged) const;
  bool has_all(const Outage& outage, const Wiring& wiring, bool unjudged) const;
  Outage joined(const Outage& all, bool unjudged, const std::set<std::string>& may_be_up) const;
};

// `states`: in fleet order. `open`: changes that were begun and that nobody has judged yet.
OutOfService out_of_service(const Fleet& fleet, const std::vector<DeviceState>& states,
                            const std::vector<OwedChange>& open);

// Why nothing of a device could be read; empty: something was, or nobody asked.
std::string why_unread(const DeviceState& state);

// The maintenance that explains a difference of a device: its own; or, of an effect at a port or over ports,
// that of the devices at their far ends. "until 2026-12-01: optics", "of leaf1, until 2026-12-01: optics";
// empty: none does.
std::string maintenance_of(const Fleet& fleet, std::size_t device, const DeviceState& state,
                           const Change& difference);

// "leaf0: 50% would be left to the worst pair, the policy wants 75%; out of service already: ...".
std::string budget_reason(const std::string& device, double left, double least, const OutOfService& already,
                          const Wiring& wiring);

}  // namespace lockstep
