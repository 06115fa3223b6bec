// The driver seam: four blocking calls, each tried once. What a device is, and how to change it.
//
// Promises asked of every driver (tests/contract holds them): each call may wait for a remote device and ends
// with an error when its Call must end; observe never changes the device and says what it could not read and,
// of the rows in scope, what the device lacks; apply does the changes in the order given, those first that
// would undo others, and answers for each in its place; what is not asked for is left alone; a reply lost
// after a write is unknown_outcome; one transaction at most is armed on a device; nothing is logged (notes
// travel in observations and receipts). Retry, back-off, order, verification and locking belong to the
// engine. What is optional is separate (Attached), so that this seam stays at four calls.
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
  std::vector<RowId> writes;   // rows that apply() takes; a subset of reads
  bool atomic = false;         // an apply happens whole or not at all
  bool undoes_itself = false;  // Guard::undo_after is honoured by the device
};

// What to read. A driver is told of `named` with each observation, as they change while it is attached; what
// it reads whole needs no names, and what it does not read has none.
struct Scope {
  std::vector<RowId> rows;  // empty: all of traits().reads
  // Entries to look for by name, of rows of which a device has too many to read them all (kernel parameters,
  // packages, units); the ports that are wanted, as interface[NAME]; and, where diverted[...] is among them,
  // the routes that are, as fib[PREFIX].
  std::vector<Path> named{};
  // The first keys of those of a row.
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
  std::string ticket;    // this try, chosen and journalled by the engine first: a lost reply can be settled
  std::string revision;  // refuse (conflict) if the device has moved on; empty: don't check
  std::uint64_t epoch = 0;                              // an older leader than one that was here is denied
  std::optional<std::chrono::milliseconds> undo_after;  // arms: the device undoes unless settled by then
  // What is armed and settled; a second try of one step is of the same transaction. While one is armed, an
  // apply of any other is a conflict.
  std::string transaction{};
  // What an armed device then does, literally and in this order, as the engine planned it. A change whose
  // `was` does not hold by then is left out: it was not made, or another hand made something else of it.
  ChangeSet undo{};
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
  // The same for as long as the driver is attached; asked again only after an error.
  virtual Result<Traits> traits(const Call& call) = 0;
  // `if_not`: a revision; a driver that can tell cheaply that nothing changed answers with an empty tree and
  // the same revision, and with all else. Pass empty to read in any case. What the device lacks
  // (Observation::incapable) may be what an earlier observation found, while the device has not booted since
  // and has the same ports.
  virtual Result<Observation> observe(const Scope& scope, std::string_view if_not, const Call& call) = 0;
  virtual Result<Receipt> apply(const ChangeSet& changes, const Guard& guard, const Call& call) = 0;
  // Of an armed transaction. A settlement that was done is answered in the same way again, the opposite one
  // with conflict: what the device has undone by itself can't be kept. `extend`: undo_after anew, from now.
  virtual Result<Done> settle(std::string_view transaction, Settlement settlement, const Call& call) = 0;
};

// Which devices may have changed.
struct Woken {
  bool all = false;                  // of those that the watcher stands for: events were lost
  std::vector<std::string> devices;  // by name; one that nobody knows counts for nothing
  bool any() const { return all || !devices.empty(); }
};

// A pollable descriptor; readable when some device behind it may have changed. It may stand for many devices.
// Events name devices, never values.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual int descriptor() const = 0;
  // Reads what is there without blocking. An error: it has ended, and the driver is asked for another one.
  virtual Result<Woken> drain() = 0;
};

// The native calls that a change stands for, in the target's own words ("ip link set dev swp1 mtu 9216").
// Asks the device nothing: what the words depend on is remembered from the last observation.
class Preview {
 public:
  virtual ~Preview() = default;
  virtual std::vector<std::string> native(const ChangeSet& changes) const = 0;
};

// Named, bounded remedies of effect drift: configured as desired, and the device does not do it.
class Remedy {
 public:
  struct Offer {
    std::string name;          // "reinstall-multipath"
    std::string what_it_does;  // one sentence, for the plan
    Disruption disruption;
    int tries_max;  // on this device within `within`, at least 1; counted over all runs; only a person goes
                    // beyond
    std::chrono::seconds within;
    bool before_writes = false;  // what is written needs it: it comes first
  };
  virtual ~Remedy() = default;
  // What would cure this effect difference (one that this device's own driver observed or another's); none:
  // nothing. Asks the device nothing, as a Preview.
  virtual std::optional<Offer> offer(const Change& effect) const = 0;
  // What this effect is known to need after something beneath it was disturbed, whatever it is now; none: it
  // comes back by itself. A plan that disturbs it lists the remedy, for the case that offer() says so then.
  virtual std::optional<Offer> stands_by([[maybe_unused]] const Change& effect) const { return std::nullopt; }
  // All effects that one offer, by its name, is for, in one call: what serves several of them is done once.
  virtual Result<Done> cure(const ChangeSet& effects, const Call& call) = 0;
};

// What uses a setting now, and would lose by its change. Asked before a step that waits until nothing does.
class Usage {
 public:
  struct Use {
    std::string what;        // "packets of class 3 of swp1", "queue pairs of mlx5_0"
    std::uint64_t open = 0;  // what lasts until somebody closes it
    // What passes, counted from some moment on: it grows while there is any. None: of what is open or not.
    std::optional<std::uint64_t> passed{};
  };
  virtual ~Usage() = default;
  // Whether it can tell of an entry. Asks the device nothing, as a Preview.
  virtual bool knows(Path entry) const = 0;
  // Of an entry that it knows. `unsupported`: it can't tell, now or later.
  virtual Result<Use> of(Path entry, const Call& call) = 0;
};

// What the device's owner lets specs do, whoever asks (host_policy/): apply and cure refuse the rest.
class Permission {
 public:
  virtual ~Permission() = default;
  // Why a change, or the cure of an effect, is refused; none: it is allowed. Asks the device nothing, as a
  // Preview.
  virtual std::optional<std::string> why_not(const Change& change) const = 0;
  // Why what disturbs traffic or worse needs an answer at the prompt; none: the specs' own rules apply.
  virtual std::optional<std::string> why_not_unasked() const = 0;
  // Why nobody can confirm a deletion beyond the specs' share; none: a person can.
  virtual std::optional<std::string> why_not_confirm_deletion() const = 0;
};

// A driver attached to one device, with the optional parts that it has. The pointers live as long as
// `driver`.
struct Attached {
  std::unique_ptr<Driver> driver;
  Preview* preview = nullptr;
  Remedy* remedy = nullptr;
  Usage* usage = nullptr;
  Permission* permission = nullptr;  // null: all is allowed
  // By which address it is reached over the network; none: it is in this machine, as all are until there are
  // agents.
  std::optional<IpAddress> address{};
  // What it changes, as no spec can call it ("machine-4d2e..."): one writer at a time. Empty: only this fleet
  // knows of it.
  std::string machine{};
  // A watch on the device; null when the driver can't watch. Drivers of several devices may answer with one
  // watcher, which is then watched once.
  std::function<Result<std::shared_ptr<Watcher>>()> watch;
};

}  // namespace lockstep
