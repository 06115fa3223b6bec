// Fleet: the devices that the engine works on, each with its intent and its drivers, and what was observed of
// them.
//
// Promises: each schema row of a device is carried by at most one driver (two that claim one row fail at
// start-up, both named); wanted leaves that no driver carries, or that the device says it can't carry, come
// back as NotApplied with the reason and are never mixed up with drift. A device of which something could not
// be read is never in sync. Refuses: devices without a name, or twice.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
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
  Lane lane = Lane::local;
  bool is_host() const { return role == "host"; }
};

// Which driver carries which row of one device.
class Carriers {
 public:
  static Result<Carriers> of(const std::string& device, const std::vector<Traits>& traits);

  // Index into FleetDevice::drivers; -1: none.
  int reader(RowId row) const { return row < read_.size() ? read_[row] : -1; }
  int writer(RowId row) const { return row < write_.size() ? write_[row] : -1; }
  const std::vector<Traits>& traits() const { return traits_; }
  const std::string& driver_name(int index) const { return traits_[static_cast<std::size_t>(index)].driver; }
  struct WhyNot {
    std::string reason;
    bool by_hand = false;  // as Incapable's, or a driver reads it and none writes it
  };
  // Why this leaf can't be carried; none: it can.
  std::optional<WhyNot> why_not(Path path) const;

 private:
  std::vector<Traits> traits_;
  std::vector<std::int16_t> read_;
  std::vector<std::int16_t> write_;
};

class Fleet {
 public:
  static Result<Fleet> make(std::vector<FleetDevice> devices, Wiring wiring);

  const std::vector<FleetDevice>& devices() const { return devices_; }
  std::size_t size() const { return devices_.size(); }
  const FleetDevice& operator[](std::size_t index) const { return devices_[index]; }
  const Carriers& carriers(std::size_t index) const { return carriers_[index]; }
  std::optional<std::size_t> find(const std::string& name) const;
  const Wiring& wiring() const { return wiring_; }
  // After a device changed what it can carry (a port came, a reboot): asks its drivers again.
  Result<Done> refresh(std::size_t index);

 private:
  std::vector<FleetDevice> devices_;
  std::vector<Carriers> carriers_;
  std::unordered_map<std::string, std::size_t> by_name_;
  Wiring wiring_;
};

// A wanted leaf that no step can bring: no driver carries it, the device lacks it, or it is a person's work.
struct NotApplied {
  Path path;
  Value want;
  OriginId origin = 0;
  std::string reason;    // "no driver carries this here: ..."
  bool by_hand = false;  // it differs all the same
};

// What is known of one device after one look, compared with its intent.
struct DeviceState {
  std::string device;
  bool reachable = false;     // at least one driver answered
  std::vector<Error> errors;  // of the drivers that did not
  Observation observation;    // all drivers' trees merged
  Difference difference;      // without what is not applied
  std::vector<NotApplied> not_applied;
  bool claims_unread = false;  // members of a claimed collection may be there unseen
  bool complete() const {
    return reachable && errors.empty() && difference.unobserved.empty() && !claims_unread;
  }
  // The first reason why it is not complete; empty: nobody gave one.
  std::string why_incomplete() const;
  // Of a leaf whose scope could not be read.
  std::string why_unread(Path path) const;
};

struct ObserveOptions {
  std::chrono::milliseconds timeout{10'000};  // for each driver
  int tries = 2;                              // of transient errors
  std::vector<std::size_t> only;              // indices into the fleet; empty: all
};

// All at once, each device on its own lane; the answer is in fleet order. On stop: what was read so far, the
// rest unreachable with ErrorKind::cancelled.
std::vector<DeviceState> observe(const Fleet& fleet, Executor& executor, const ObserveOptions& options = {},
                                 std::stop_token stop = {});

// Merges what several drivers read of one device, compares, and sets apart what can't be there.
DeviceState compare(const FleetDevice& device, const Carriers& carriers, std::vector<Observation> parts,
                    std::vector<Error> errors);

}  // namespace lockstep
