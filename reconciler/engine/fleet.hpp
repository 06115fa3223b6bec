// Fleet: the devices that the engine works on, each with its intent and its drivers, and what was observed on
// them.
//
// Promises: making a fleet reads no device; what its drivers support is learned with the first observation.
// Each schema row of a device has at most one driver (two that claim one row are an error of the device that
// names both); desired entries that no driver supports, or that the device can't provide, are returned as
// NotApplied with the reason and are never mixed with drift. A device of which something could not be read is
// never in sync. Refuses: devices without a name, and duplicate names.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "drivers/driver.hpp"
#include "drivers/runtime/executor.hpp"
#include "reconciler/engine/wiring.hpp"
#include "specs/model/diff.hpp"
#include "specs/model/intent.hpp"

namespace lockstep {

struct FleetDevice {
  std::string name;
  std::string role;  // "host", "leaf", "spine", "superspine"
  const Intent* intent = nullptr;
  std::vector<Attached*> drivers;
  std::optional<Error> unattached{};  // why it has none
  Lane lane = Lane::local;
  std::string maintenance{};  // "until 2026-12-01: optics"; empty: it is in service
  std::string set{};          // its DeviceSet
  std::string platform{};     // empty: not specified
  std::map<std::string, std::string> labels{};
  bool is_host() const { return role == "host"; }
};

// Which driver supports which row of one device, as far as its drivers have answered. A driver is identified
// by its index into FleetDevice::drivers.
class Carriers {
 public:
  Carriers(std::string device, std::size_t drivers);

  // Records a driver's answer; an error does not discard an earlier answer. If two drivers claim one row, the
  // later one in the list stays unknown.
  void learn(std::size_t driver, Result<Traits> answer);

  // Null: not known; why_unknown() has the reason.
  const Traits* traits(std::size_t driver) const { return traits_[driver] ? &*traits_[driver] : nullptr; }
  const Error& why_unknown(std::size_t driver) const { return traits_[driver].error(); }
  std::optional<std::size_t> find(std::string_view name) const;
  // Index of a driver; -1: none.
  int reader(RowId row) const { return row < read_.size() ? read_[row] : -1; }
  int writer(RowId row) const { return row < write_.size() ? write_[row] : -1; }
  struct WhyNot {
    std::string reason;
    bool by_hand = false;  // Incapable::by_hand, or a driver reads it and none writes it
  };
  // Why this change is not supported on a device that has these `incapable` entries, itself or at a port that
  // the change needs; none: it is supported.
  std::optional<WhyNot> why_not(const Change& change, const std::vector<Incapable>& incapable) const;
  // Adds what is unread in `scope` because a driver gave no answer: its rows, or, if those are not known, all
  // rows that no known driver reads.
  void add_unread(std::size_t driver, const Scope& scope, const Error& why,
                  std::vector<Unread>& unread) const;

 private:
  using Claims = std::vector<std::int16_t>;  // by row: index of the driver
  void claim_anew();
  Result<Done> claim(std::size_t driver);
  Result<Done> claim(std::size_t driver, const std::vector<RowId>& rows, Claims& claims) const;

  std::string device_;
  std::vector<Result<Traits>> traits_;
  Claims read_;
  Claims write_;
};

class Fleet {
 public:
  static Result<Fleet> make(std::vector<FleetDevice> devices, Wiring wiring);

  const std::vector<FleetDevice>& devices() const { return devices_; }
  std::size_t size() const { return devices_.size(); }
  const FleetDevice& operator[](std::size_t index) const { return devices_[index]; }
  const Carriers& carriers(std::size_t index) const { return carriers_[index]; }
  void learn(std::size_t index, std::size_t driver, Result<Traits> answer) {
    carriers_[index].learn(driver, std::move(answer));
  }
  // The permission for what writes a row there; null: everything is allowed.
  const Permission* permission(std::size_t index, RowId row) const;
  std::optional<std::size_t> find(const std::string& name) const;
  // These devices and those at the far ends of their cables, in order; none for an empty list.
  std::vector<std::size_t> with_far_ends(const std::vector<std::size_t>& devices) const;
  const Wiring& wiring() const { return wiring_; }

 private:
  std::vector<FleetDevice> devices_;
  std::vector<Carriers> carriers_;
  std::unordered_map<std::string, std::size_t> by_name_;
  Wiring wiring_;
};

// A desired entry that no step can write: no driver supports it, the device lacks it, or it requires manual
// action.
struct NotApplied {
  Path path;
  Value want;
  OriginId origin = 0;
  std::string reason;    // "not supported by this device's drivers (linux)"
  bool by_hand = false;  // requires manual action, and differs all the same
};

// All rows; by name the entries that the intent names.
Scope scope_of(const Intent& intent);

// What is known about one device after one observation, compared with its intent.
struct DeviceState {
  std::string device;
  bool reachable = false;     // at least one driver answered
  std::vector<Error> errors;  // of the drivers that did not answer
  Observation observation;    // all drivers' trees merged
  Difference difference;      // without the entries that are not applied
  std::vector<NotApplied> not_applied;
  bool claims_unread = false;      // members of a claimed collection may exist but are unread
  std::vector<std::string> armed;  // transactions that the device will roll back unless they are kept
  bool complete() const {
    return reachable && errors.empty() && difference.unobserved.empty() && !claims_unread;
  }
  // The first reason why it is not complete; empty: none was given.
  std::string why_incomplete() const;
  // For an entry whose scope could not be read.
  std::string why_unread(Path path) const;
};

}  // namespace lockstep
