// The driver interface: four blocking calls, each attempted once, that observe a device and change it.
//
// Contract for every driver (checked by tests/contract): each call may wait for a remote device and returns
// an error when its Call has to end; observe never changes the device, and reports what it could not read and
// which of the rows in scope the device does not support; apply makes the changes in the given order, except
// that changes that would undo others come first, and returns one outcome per change at the same index;
// everything not requested stays as it is; a reply lost after a write is unknown_outcome; at most one
// transaction is armed on a device; drivers log nothing (notes are returned in observations and receipts).
// The engine is responsible for retries, back-off, ordering, verification and locking. Optional features are
// separate interfaces (Attached), so that this one stays at four calls.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/posix/call.hpp"
#include "specs/model/diff.hpp"
#include "specs/model/intent.hpp"
#include "specs/model/ip.hpp"

namespace lockstep {

struct Traits {
  std::string driver;          // "linux"
  std::vector<RowId> reads;    // rows that observe() reports
  std::vector<RowId> writes;   // rows that apply() accepts; a subset of reads
  bool atomic = false;         // an apply takes effect completely or not at all
  bool undoes_itself = false;  // the device honours Guard::undo_after
  bool orders_itself = false;  // makes all changes of an apply in an order of its own, in whichever they come
};

// What to read. `named` is passed with each observation because the names change while the driver is
// attached. Rows that are read completely, and rows that the driver does not read, have no names in it.
struct Scope {
  std::vector<RowId> rows;  // empty: all of traits().reads
  // Entries to read by name, for rows of which a device has too many to read them all (kernel parameters,
  // packages, units); the desired ports, as interface[NAME]; and, if diverted[...] is among them, the desired
  // routes, as fib[PREFIX].
  std::vector<Path> named{};
  // The first keys of the named entries of a row.
  std::set<std::string> names(RowId row) const {
    std::set<std::string> out;
    for (const Path one : named)
      if (one.row() == row) out.emplace(one.key(0));
    return out;
  }
  bool wants(RowId row) const {
    if (rows.empty()) return true;
    for (const RowId one : rows)
      if (one == row) return true;
    return false;
  }
};

struct Guard {
  std::string ticket;       // this attempt, journalled by the engine beforehand: a lost reply can be settled
  std::string revision;     // fail with conflict if the device's revision differs; empty: don't check
  std::uint64_t epoch = 0;  // lower than the highest epoch seen so far: denied
  std::optional<std::chrono::milliseconds> undo_after;  // arms: the device rolls back unless settled by then
  // What is armed and settled; a retry of a step belongs to the same transaction. While one is armed, an
  // apply for any other transaction is a conflict.
  std::string transaction{};
  // The changes that an armed device makes to roll back, in this order, as planned by the engine. A change
  // whose `was` no longer matches is skipped: it was never applied, or another writer has changed the entry
  // since.
  ChangeSet undo{};
};

struct Receipt {
  struct Outcome {
    Path path;
    std::optional<Error> error;  // none: believed to have succeeded
  };
  std::string ticket;
  std::vector<Outcome> outcomes;  // one per change, in order
  std::vector<std::string> notes;
};

enum class Settlement : std::uint8_t { keep, undo, extend };

class Driver {
 public:
  virtual ~Driver() = default;
  // Constant while the driver is attached; called again only after an error.
  virtual Result<Traits> traits(const Call& call) = 0;
  // `if_not`: a revision. A driver that can detect cheaply that nothing changed returns an empty tree with
  // the same revision and everything else filled in. An empty string always reads. What the device does not
  // support (Observation::incapable) may come from an earlier observation, as long as the device has not
  // rebooted since and has the same ports.
  virtual Result<Observation> observe(const Scope& scope, std::string_view if_not, const Call& call) = 0;
  virtual Result<Receipt> apply(const ChangeSet& changes, const Guard& guard, const Call& call) = 0;
  // Settles an armed transaction. Repeating a completed settlement returns the same result; the opposite one
  // is a conflict, because what the device has already rolled back can't be kept. `extend` restarts
  // undo_after from now.
  virtual Result<Done> settle(std::string_view transaction, Settlement settlement, const Call& call) = 0;
};

// Which devices may have changed.
struct Woken {
  bool all = false;                  // every device of this watcher: events were lost
  std::vector<std::string> devices;  // by name; unknown names are ignored
  bool any() const { return all || !devices.empty(); }
};

// A pollable descriptor that becomes readable when a device behind it may have changed. It may cover many
// devices. Events name devices, never values.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual int descriptor() const = 0;
  // Reads the pending events without blocking. After an error the watcher is finished and the driver is asked
  // for a new one.
  virtual Result<Woken> drain() = 0;
};

// The native commands that a change corresponds to, in the target's syntax ("ip link set dev swp1 mtu 9216").
// Does not contact the device: state that the commands depend on comes from the last observation.
class Preview {
 public:
  virtual ~Preview() = default;
  virtual std::vector<std::string> native(const ChangeSet& changes) const = 0;
};

// Named, bounded remedies for effect drift: the device is configured as desired, but does not behave so.
class Remedy {
 public:
  struct Offer {
    std::string name;          // "reinstall-multipath"
    std::string what_it_does;  // one sentence, shown in the plan
    Disruption disruption;
    int tries_max;  // per device within `within`, counted over all runs; at least 1; beyond it, only an
                    // operator can trigger it
    std::chrono::seconds within;
    bool before_writes = false;  // the writes depend on it, so it runs before them
  };
  virtual ~Remedy() = default;
  // The remedy for this effect difference (observed by this device's own driver or by another); none: there
  // is no remedy. Does not contact the device.
  virtual std::optional<Offer> offer(const Change& effect) const = 0;
  // The remedy that this effect is known to need after something below it was disturbed, whatever its current
  // state; none: it recovers by itself. A plan that disturbs it lists the remedy, in case offer() returns it
  // then.
  virtual std::optional<Offer> stands_by([[maybe_unused]] const Change& effect) const { return std::nullopt; }
  // Applies one offer, by its name, to all effects that it is for, in one call: work that serves several is
  // done once.
  virtual Result<Done> cure(const ChangeSet& effects, const Call& call) = 0;
};

// For a driver without its device, which stands for the same driver at the device (drivers/agent): takes over
// what that one has observed, so that native() and offer() answer as they would there.
class Recall {
 public:
  virtual ~Recall() = default;
  // `observation`: of `scope`, with its entries.
  virtual void recall(const Observation& observation, const Scope& scope) = 0;
};

// What currently uses a setting and would be disrupted by changing it. Read before a step that waits for the
// setting to be idle.
class Usage {
 public:
  struct Use {
    std::string what;        // "packets of class 3 of swp1", "queue pairs of mlx5_0"
    std::uint64_t open = 0;  // uses that last until they are closed
    // Passing traffic, counted from an arbitrary start; increases while there is any. None: only `open`
    // applies.
    std::optional<std::uint64_t> passed{};
  };
  virtual ~Usage() = default;
  // Whether it can report on an entry. Does not contact the device.
  virtual bool knows(Path entry) const = 0;
  // For an entry that it knows. `unsupported`: use can't be determined, now or later.
  virtual Result<Use> of(Path entry, const Call& call) = 0;
};

// What an apply changes on its way and changes back before it ends: ports that are shut down while something
// else of theirs changes.
class Passing {
 public:
  virtual ~Passing() = default;
  // What would put that right if an apply of these changes ended half-way: `was` is what it sets on its way,
  // `want` what is there now. Reads the device.
  virtual Result<ChangeSet> way_back(const ChangeSet& changes, const Call& call) = 0;
};

// What the device's owner allows specs to do, whoever requests it (host_policy/): apply and cure refuse the
// rest.
class Permission {
 public:
  virtual ~Permission() = default;
  // Why a change, or the remedy of an effect, is refused; none: it is allowed. Does not contact the
  // device.
  virtual std::optional<std::string> why_not(const Change& change) const = 0;
  // Why changes that disturb traffic or worse need approval at the prompt; none: only the specs' own rules
  // apply.
  virtual std::optional<std::string> why_not_unasked() const = 0;
  // Why a deletion beyond the specs' share can't be confirmed; none: an operator can confirm it.
  virtual std::optional<std::string> why_not_confirm_deletion() const = 0;
};

// A driver attached to one device, with the optional interfaces that it implements. The pointers live as long
// as `driver`.
struct Attached {
  std::unique_ptr<Driver> driver;
  Preview* preview = nullptr;
  Remedy* remedy = nullptr;
  Recall* recall = nullptr;
  Usage* usage = nullptr;
  Passing* passing = nullptr;
  Permission* permission = nullptr;  // null: everything is allowed
  // The address over which the device is reached; none: it is on this machine, as all devices are until there
  // are agents.
  std::optional<IpAddress> address{};
  // Identity of what it changes, in a form that no spec can use as a name ("machine-4d2e..."): it has one
  // writer at a time. Empty: known only within this fleet.
  std::string machine{};
  // Opens a watch on the device; null if the driver can't watch. Drivers of several devices may return the
  // same watcher, which is then watched once.
  std::function<Result<std::shared_ptr<Watcher>>()> watch;
};

}  // namespace lockstep
