// Plan: which changes, in which order, in which waves, with which disruption. make_plan is pure: the same
// input gives the same plan, and what the dry run shows is what apply does.
//
// Promises: order follows from schema columns alone (refers_to, commit, guard, takes, rungs); a commit unit
// is never split; every step lists what it waits for (`after`, `after_barriers`) or is held; the size of the
// order is linear in the number of steps, not of their pairs; a device's digest covers the intent, the
// observed owned entries and everything else that the planner read there; remedies are ordinary steps, at
// most one per device, driver and remedy (remedies.hpp). Refuses: reference cycles (an error that names the
// entries).
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "drivers/driver.hpp"
#include "reconciler/engine/service.hpp"
#include "reconciler/engine/wiring.hpp"
#include "specs/model/diff.hpp"
#include "specs/model/intent.hpp"

namespace lockstep {

class Fleet;
struct FleetDevice;
struct DeviceState;
struct RolloutPolicy;

// Where a desired value comes from, spelled out so that a plan is self-contained.
struct PlanOrigin {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string object;
  std::string rule;
  auto operator<=>(const PlanOrigin&) const = default;
};

struct PlannedChange {
  Path path;
  Value was;
  Value want;
  std::uint32_t origin = 0;  // into Plan::origins; 0: none
  bool transient = false;    // written by the planner and restored in the same step (guards, recreation)
  bool operator==(const PlannedChange&) const = default;
};

// Why a step must not run as it is. `approval`, `budget`, `drain` and `far_end` (the other end of a cable, or
// for a route lock another host, could not be read or may not be changed now) are lifted by an approval that
// names them (approved.hpp), and so is `gate` (it was rolled back by one: refused_writes.hpp); `in_person` by
// an answer at the prompt (never by --yes); `management` and `host_policy` by nothing; `window` by time
// alone.
struct Hold {
  enum class Kind : std::uint8_t {
    approval,
    budget,
    management,
    window,
    drain,
    host_policy,
    in_person,
    far_end,
    gate
  };
  Kind kind = Kind::approval;
  std::string reason;
  bool operator==(const Hold&) const = default;
};

// A set of steps that several others wait for, stored once instead of per pair.
struct Barrier {
  std::vector<std::uint32_t> after;  // ids of steps, in order
  bool operator==(const Barrier&) const = default;
};

struct Step {
  std::uint32_t id = 0;  // from 1, in an order in which the steps could run one by one
  std::string device;
  std::string driver;
  // Not empty: instead of writing, runs the remedy of that name on effects that are open when its turn comes,
  // after the writes of its wave: those of `changes`, and all of the rows `if_open`. If none is open, the
  // step is not needed.
  std::string remedy;
  std::vector<RowId> if_open;
  bool before_writes = false;          // of a remedy: before the writes of its wave, which need it
  std::vector<PlannedChange> changes;  // in order
  std::vector<std::uint32_t> after;    // ids, all smaller than `id`
  // Numbers in Plan::barriers, from 1: it waits for all of their steps, too, whose ids are smaller than `id`.
  std::vector<std::uint32_t> after_barriers;
  std::uint32_t wave = 1;
  std::uint32_t together = 0;  // steps of one wave with the same number are ends of links: link_ends.hpp
  Disruption disruption = Disruption::none;
  bool live = false;              // disturbs something that carries traffic now: counts in the budgets
  bool removes_replaced = false;  // what was added before replaces it (replacements.hpp)
  // For a live step, what is out of service meanwhile: ports, for their cables; the device's own name: all of
  // it.
  std::vector<std::string> takes_out;
  std::optional<std::chrono::milliseconds> undo_after;  // the device rolls back by itself unless settled
  std::vector<Path> quiet;  // what must be unused when it begins (quiet_check.hpp), in order
  std::vector<Hold> holds;
  std::vector<std::string> notes;

  // A remedy for effects that changes may break, with nothing open now.
  bool stands_by() const { return !remedy.empty() && changes.empty(); }
  bool operator==(const Step&) const = default;
};

struct PlanDevice {
  std::string name;
  std::string digest;                        // "sha256:..."
  std::string boot_id;                       // at planning time
  std::vector<std::pair<Path, Value>> read;  // preconditions beyond the owned entries
  bool operator==(const PlanDevice&) const = default;
};

struct Plan {
  std::string digest;  // "sha256:..." over all devices and steps
  std::vector<Step> steps;
  std::vector<Barrier> barriers;
  std::vector<PlanDevice> devices;  // those with steps, by name
  std::vector<PlanOrigin> origins{PlanOrigin{}};
  std::size_t devices_observed = 0;
  std::size_t not_applicable = 0;
  std::vector<std::string> refusals;   // why the plan as a whole needs approval (deletion guard)
  std::vector<std::uint32_t> ungated;  // waves that are measured together with a later one, in order
  bool empty() const { return steps.empty(); }
  // Whether what a wave wrote is measured before the next wave begins; for the last wave always.
  bool is_gated(std::uint32_t wave) const;
  bool refused_by_host() const;  // whether some step is
  std::uint32_t waves() const;
  std::size_t changes() const;   // without transient ones
  std::size_t remedies() const;  // steps that run only if they are needed then
};

// When a change may begin.
struct PolicyWindow {
  std::uint8_t days = 0x7F;  // bit 0 is Monday: the day on which the window opens
  std::uint16_t from = 0;    // minutes after midnight, local time
  std::uint16_t to = 0;      // if not after `from`: on the next day
  std::string timezone;      // of the IANA database; empty: UTC
};

// How changes are rolled out to devices. From a RolloutPolicy by policy_of(); the default holds nothing.
struct Policy {
  std::string name;
  bool by_group = false;  // unit: redundancy-group
  struct Share {
    bool relative = false;
    double value = 0;  // a count, or a fraction
  };
  std::vector<Share> waves;                    // cumulative; empty: one wave
  bool gate_at_end = false;                    // gate: end
  std::map<std::string, double> min_capacity;  // by role of what is out of service, 0..1
  double least_capacity(const std::string& role) const {
    const auto found = min_capacity.find(role);
    return found == min_capacity.end() ? 0 : found->second;
  }
  std::map<Disruption, bool> needs_approval;  // true: manual
  double max_delete = 1.0;                    // share of owned members that may be deleted without approval
  std::vector<PolicyWindow> windows;          // empty: at any time
  bool drains_hosts = false;                  // through the scheduler
  bool drains_switches = false;               // by BGP graceful shutdown (RFC 8326)
  enum class Undrained : std::uint8_t { skip, proceed, stop };  // onTimeout
  Undrained on_timeout = Undrained::skip;
  std::optional<std::chrono::milliseconds> drain_timeout{};  // how long a drain may take
};
Policy policy_of(const RolloutPolicy& policy);

// One device as the planner sees it. `carrier` returns the name of the driver that writes a row ("": none).
struct DeviceInput {
  std::string name;
  std::string role;
  const Intent* intent = nullptr;
  const Observation* observation = nullptr;
  std::string unread;       // why nothing of it could be read; empty: it was read, or not asked
  std::string maintenance;  // "until 2026-12-01: optics"; empty: it is in service
  std::string left_alone;   // why nothing may be changed there in this run; empty: changes are allowed
  const ChangeSet* withheld = nullptr;  // what differs there all the same, as far as it was read
  ChangeSet changes;
  ChangeSet effects;  // effect entries that differ: remedies are planned for them
  std::function<std::string(RowId)> carrier;
  std::function<bool(const std::string& driver)> undoes_itself;
  std::function<std::optional<std::pair<std::string, Remedy::Offer>>(const Change&)> remedy;  // driver, offer
  // As Remedy::stands_by; none: remedies are listed only for what is open.
  std::function<std::optional<std::pair<std::string, Remedy::Offer>>(const Change&)> stands_by{};
  std::function<const Permission*(const std::string& driver)> permission{};  // none, null: all is allowed
  // Whether a driver can report what uses an entry (Usage); none: nothing waits for that.
  std::function<bool(Path)> tells_use{};
  const Policy* policy = nullptr;
  std::size_t not_applied = 0;
};

// A write that a gate rolled back earlier and that a plan would repeat (refused_writes.hpp).
struct UndoneBefore {
  std::string why;
  bool offered = false;  // it is tried once more; otherwise it is held
};

struct PlanInput {
  std::vector<DeviceInput> devices;
  const Wiring* wiring = nullptr;
  bool undoes = false;          // a rollback: everything that was written was read
  OutOfService out_of_service;  // before anything is changed
  const Origins* origins = nullptr;
  const Sources* sources = nullptr;
  std::map<std::string, UndoneBefore> undone_before{};  // by write_digest()
  const Row& (*row)(RowId) = nullptr;                   // null: the program's schema
  std::chrono::milliseconds dead_man{30'000};           // undo_after of steps on devices that roll back
  unsigned threads = 2;  // of a large plan's digests; the plan is the same with any number
};

Result<Plan> make_plan(const PlanInput& input);

struct PlanChoice {
  bool person = true;  // started by a user: all devices except those that specs set to observe or suspend;
                       // else: Conduct::converge only, and nothing that is in maintenance
  std::vector<std::string> only;  // devices; empty: all
  // Why nothing may be changed on the device, and what would allow it; empty: changes are allowed.
  std::string why_not(const FleetDevice& device) const;
  bool allows(const FleetDevice& device) const { return why_not(device).empty(); }
};
// The input from what was observed. The states must outlive the input. `policy_for` may return null; `open`:
// changes that are not validated yet.
PlanInput input_of(const Fleet& fleet, const std::vector<DeviceState>& states, const Origins& origins,
                   const Sources& sources, const std::function<const Policy*(const FleetDevice&)>& policy_for,
                   const PlanChoice& choice = {}, const std::vector<OwedChange>& open = {});

// The input that leads from the actual values back to those before `plan`: changed entries get their previous
// values; what another writer changed since, and what could not be read, is left as it is.
struct NotPutBack {
  std::string device;
  Path path;
  std::string why;  // "gpu1: interface[rail0]/mtu is not put back to 1500: it could not be read"
};
struct UndoInput {
  PlanInput input;
  std::vector<NotPutBack> left_out;
};
UndoInput undo_of(const Plan& plan, const Fleet& fleet, const std::vector<DeviceState>& now,
                  const std::function<const Policy*(const FleetDevice&)>& policy_for = {});

// The ordered changes that restore a device as it was before one step of a plan; it was `before` then.
Result<ChangeSet> undo_of_step(const Step& step, const Fleet& fleet, std::size_t device, const Tree& before);

// The digest of one device: ties a plan to the state that it was made from.
std::string device_digest(const Intent& intent, const Observation& observation,
                          const std::vector<std::pair<Path, Value>>& read);

nlohmann::json to_json(const Plan& plan);
nlohmann::json to_json(const PlanOrigin& origin);
Result<Plan> plan_from_json(const nlohmann::json& document);
std::string_view to_string(Disruption disruption);

}  // namespace lockstep
