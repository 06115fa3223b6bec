// The driver seam: four blocking calls, each tried once. What a device is, and how to change it.
//
// Promises asked of every driver (tests/contract holds them): observe never changes the device and says what
// it could not read; apply does the changes in the order given, those first that would undo others, and
// answers for each in its place; what is not asked for is left alone; a reply lost after a write is
// unknown_outcome; nothing is logged (notes travel in observations and receipts). Retry, back-off, order,
// verification and locking belong to the engine. What is optional is separate (Attached), so that this seam
// stays at four calls.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/runtime/call.hpp"
#include "specs/model/diff.hpp"
#include "specs/model/intent.hpp"

namespace lockstep {

// A row that the driver knows but this device (or this port: key) can't carry, found out by asking the
// device.
struct Incapable {
  RowId row;
  std::vector<std::string> keys;  // leading keys; empty: the whole device
  std::string reason;             // "veth: dcbnl PFC get: Operation not supported"
  // The device could, and a person has to see to it (a package, a port that is not there): where wanted and
  // found differ, that is a difference.
  bool by_hand = false;
  bool covers(Path path) const { return row == path.row() && has_leading_keys(path, keys); }
};

struct Traits {
  std::string driver;                // "linux"
  std::vector<RowId> reads;          // rows that observe() reports
  std::vector<RowId> writes;         // rows that apply() takes; a subset of reads
  std::vector<Incapable> incapable;  // of those, what this device lacks
  bool atomic = false;               // an apply happens whole or not at all
  bool undoes_itself = false;        // Guard::undo_after is honoured by the device
  std::size_t changes_max = 0;       // largest change set of one apply; 0: no limit
};

// What to read: these rows; empty means all of traits().reads.
struct Scope {
  std::vector<RowId> rows;
  bool wants(RowId row) const {
    if (rows.empty()) return true;
    for (const RowId one : rows)
      if (one == row) return true;
    return false;
  }
};

struct Guard {
  std::string ticket;       // chosen and journalled by the engine first: a lost reply can still be settled
  std::string revision;     // refuse (conflict) if the device has moved on; empty: don't check
  std::uint64_t epoch = 0;  // an older leader than one that was here is denied
  std::optional<std::chrono::milliseconds> undo_after;  // dead-man: undo unless settled by then
};

struct Receipt {
  struct Outcome {
    Path path;
    std::optional<Error> error;  // none: believed done
  };
  std::string ticket;
  std::vector<Outcome> outcomes;  // one for each change, in order
  std::vector<std::string> notes;
};

enum class Settlement : std::uint8_t { keep, undo, extend };

class Driver {
 public:
  virtual ~Driver() = default;
  virtual Traits traits() const = 0;
  // `if_not`: a revision; a driver that can tell cheaply that nothing changed answers with an empty tree and
  // the same revision. Pass empty to read in any case.
  virtual Result<Observation> observe(const Scope& scope, std::string_view if_not, const Call& call) = 0;
  virtual Result<Receipt> apply(const ChangeSet& changes, const Guard& guard, const Call& call) = 0;
  virtual Result<Done> settle(std::string_view ticket, Settlement settlement, const Call& call) = 0;
};

// A pollable descriptor; readable when some device behind it may have changed. Events name devices, never
// values.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual int descriptor() const = 0;
  // Reads what is there without blocking. True: something changed. An overrun counts as a change.
  virtual Result<bool> drain() = 0;
};

// The native calls that a change stands for, in the target's own words ("ip link set dev swp1 mtu 9216").
class Preview {
 public:
  virtual ~Preview() = default;
  virtual std::vector<std::string> native(const ChangeSet& changes) const = 0;
};

// A named, bounded cure of effect drift: configured as wanted, and the device does not do it.
class Remedy {
 public:
  struct Offer {
    std::string name;          // "reinstall-multipath"
    std::string what_it_does;  // one sentence, for the plan
    Disruption disruption;
    int tries_max;  // on this device within `within`, at least 1; counted over all runs; only a person goes
                    // beyond
    std::chrono::seconds within;
  };
  virtual ~Remedy() = default;
  // What would cure this effect difference (one that this device's own driver observed or another's); none:
  // nothing.
  virtual std::optional<Offer> offer(const Change& effect) const = 0;
  virtual Result<Done> cure(const Change& effect, const Call& call) = 0;
};

// A driver attached to one device, with the optional parts that it has. The pointers live as long as
// `driver`.
struct Attached {
  std::unique_ptr<Driver> driver;
  Preview* preview = nullptr;
  Remedy* remedy = nullptr;
  // Opens a new watch on the device; null when the driver can't watch.
  std::function<Result<std::unique_ptr<Watcher>>()> watch;
};

}  // namespace lockstep
