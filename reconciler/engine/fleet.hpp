// Fleet: the devices that the engine works on, each with its intent and its drivers, and what was observed of
// them.
//
// Promises: making a fleet asks no device; what its drivers carry is learned with the first observation. Each
// schema row of a device is carried by at most one driver (two that claim one row are an error of the device,
// both named); wanted entries that no driver carries, or that the device says it can't carry, come back as
// NotApplied with the reason and are never mixed up with drift. A device of which something could not be read
// is never in sync. Refuses: devices without a name, or twice.
#pragma once

#include <functional>
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
  bool is_host() const { return role == "host"; }
};

// Which driver carries which row of one device, as far as its drivers have said. A driver is named by its
// index into FleetDevice::drivers.
class Carriers {
 public:
  Carriers(std::string device, std::size_t drivers);

  // What a driver answered when it was asked; an error takes nothing back. Of two that claim one row the
  // later in the list stays unknown.
  void learn(std::size_t driver, Result<Traits> answer);

  // Null: not known; why_unknown() tells.
  const Traits* traits(std::size_t driver) const { return traits_[driver] ? &*traits_[driver] : nullptr; }
  const Error& why_unknown(std::size_t driver) const { return traits_[driver].error(); }
  std::optional<std::size_t> find(std::string_view name) const;
  // Index of a driver; -1: none.
  int reader(RowId row) const { return row < read_.size() ? read_[row] : -1; }
  int writer(RowId row) const { return row < write_.size() ? write_[row] : -1; }
  struct WhyNot {
    std::string reason;
    bool by_hand = false;  // as Incapable's, or a driver reads it and none writes it
  };
  // Why this can't be done by a device that lacks `incapable` of itself, or of a port that it needs; none: it
  // can.
  std::optional<WhyNot> why_not(const Change& change, const std::vector<Incapable>& incapable) const;
  // What is unread in `scope` where a driver gave no answer: its rows, or, where those are not known, all
  // that no known driver reads.
  void add_unread(std::size_t driver, const Scope& scope, const Error& why,
                  std::vector<Unread>& unread) const;

 private:
  using Claims = std::vector<std::int16_t>;  // by row: the driver
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
  // Of what writes a row there; null: all is allowed.
  const Permission* permission(std::size_t index, RowId row) const;
  std::optional<std::size_t> find(const std::string& name) const;
  // Those and the devices at the far ends of their cables, in order; of none: none.
  std::vector<std::size_t> with_far_ends(const std::vector<std::size_t>& devices) const;
  const Wiring& wiring() const { return wiring_; }

 private:
  std::vector<FleetDevice> devices_;
  std::vector<Carriers> carriers_;
  std::unordered_map<std::string, std::size_t> by_name_;
  Wiring wiring_;
};

// A wanted entry that no step can bring: no driver carries it, the device lacks it, or it is a person's work.
struct NotApplied {
  Path path;
  Value want;
  OriginId origin = 0;
  std::string reason;    // "no driver carries this here: ..."
  bool by_hand = false;  // it differs all the same
};

// All rows, and by name what the intent names.
Scope scope_of(const Intent& intent);

// What is known of one device after one observation, compared with its intent.
struct DeviceState {
  std::string device;
  bool reachable = false;     // at least one driver answered
  std::vector<Error> errors;  // of the drivers that did not
  Observation observation;    // all drivers' trees merged
  Difference difference;      // without what is not applied
  std::vector<NotApplied> not_applied;
  bool claims_unread = false;      // members of a claimed collection may be there unseen
  std::vector<std::string> armed;  // transactions that the device will undo unless they are kept
  bool complete() const {
    return reachable && errors.empty() && difference.unobserved.empty() && !claims_unread;
  }
  // The first reason why it is not complete; empty: nobody gave one.
  std::string why_incomplete() const;
  // Of an entry whose scope could not be read.
  std::string why_unread(Path path) const;
};

}  // namespace lockstep
