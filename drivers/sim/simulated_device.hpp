// SimulatedDevice: a device that exists only in memory, behind the driver interface. It tests the engine
// realistically: it keeps references (entries that refer to a removed one go with it), loses volatile state
// at boot, reverts what was not saved, and misbehaves as determined by a seed.
//
// Promises: observe never changes it; an apply makes its changes one by one and reports each; it honours
// Guard::epoch (an older leader is denied) and, when asked, Guard::undo_after with one armed transaction.
// Lost requests and replies are mostly simulated by the executor; `lost_reply` here is a device that writes
// and then returns unknown_outcome. Its watches wake for every change, whoever made it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "drivers/driver.hpp"
#include "drivers/posix/wake_descriptor.hpp"
#include "drivers/runtime/random.hpp"

namespace lockstep {

// Shares of calls, 0 to 1.
struct SimulatedFaults {
  double transient = 0;        // nothing happened, may pass
  double refused = 0;          // one change of an apply is refused, those after it are not attempted
  double lost_reply = 0;       // written, but the answer is unknown_outcome
  double reboot_in_apply = 0;  // after some of the changes
  double stale_read = 0;       // an observation of the state before the last write
  double unread = 0;           // one row can't be read this time
  double conflict = 0;         // reports that the revision changed
};

// What the device saw, for checkers.
struct SimulatedCall {
  enum class Kind : std::uint8_t { observe, apply, settle };
  Kind kind = Kind::observe;
  std::string device{};
  const ChangeSet* changes = nullptr;  // of an apply
  const Guard* guard = nullptr;
  std::optional<ErrorKind> answer = std::nullopt;  // none: success
  const Scope* scope = nullptr;                    // of an observe
  const Observation* observed = nullptr;           // of a successful one
};

class SimulatedDevice final : public Driver {
 public:
  SimulatedDevice(std::string name, std::uint64_t seed);

  Result<Traits> traits(const Call& call) override;
  Result<Observation> observe(const Scope& scope, std::string_view if_not, const Call& call) override;
  Result<Receipt> apply(const ChangeSet& changes, const Guard& guard, const Call& call) override;
  Result<Done> settle(std::string_view transaction, Settlement settlement, const Call& call) override;

  const std::string& name() const { return name_; }
  // The actual state, and changes to it by another writer (drift): references are kept.
  const Tree& truth() const { return tree_; }
  void set(Path path, Value value);
  void reboot();
  // Rolls back what is overdue, without a call.
  void keep_time() { undo_overdue(); }
  bool is_armed() const { return armed_.has_value(); }
  // Derives entries from others: called after every change, may write effect entries into the tree.
  std::function<void(Tree&)> effects;
  // Called at the end of every call.
  std::function<void(const SimulatedCall&)> seen;
  // The device's own clock, for undo_after and deadlines. Without it, automatic rollback never happens.
  std::function<Time()> clock;

  SimulatedFaults faults;
  std::vector<RowId> rows;  // supported; empty: all of the schema
  std::vector<Incapable> incapable;
  Facts facts{{"model", "simulated"}};
  // If set, writing this entry saves the rows that it `saves` (schema.hpp), like a routing daemon's
  // configuration, and it exists while they equal what was saved last. None: everything is saved when
  // written.
  std::optional<Path> saver;
  std::vector<RowId> refuses;  // rows that it reports as writable, and refuses to write
  bool undoes_itself = false;
  bool unreachable = false;  // every call is transient
  std::string driver_name = "sim";
  std::uint64_t writes() const { return writes_; }
  std::uint64_t boots() const { return boots_; }
  Result<std::shared_ptr<Watcher>> watch();

 private:
  // The descriptors of open watches; shared with them, as either may be destroyed first.
  struct Listeners {
    std::mutex mutex;
    std::vector<const WakeDescriptor*> watches;
  };
  class EventWatch;
  struct Armed {  // rolled back unless settled
    std::string transaction;
    ChangeSet undo;
    std::chrono::milliseconds undo_after;
    Time until;
  };
  std::vector<RowId> rows_read() const;
  bool write(const Change& change);
  void wake_watches();
  void settle_effects();
  bool is_saved_by_entry(RowId row) const;
  Tree to_save() const;
  void load_saved();
  bool is_all_saved() const;
  void undo_overdue();
  void undo_armed();
  Result<Receipt> apply_all(const ChangeSet& changes, const Guard& guard);
  std::string revision() const { return std::to_string(revision_); }

  std::string name_;
  Random random_;
  Tree tree_;
  Tree before_last_write_;
  Tree saved_;  // the rows that the saver saves
  std::uint64_t revision_ = 1;
  std::uint64_t boots_ = 1;
  std::uint64_t epoch_seen_ = 0;
  std::uint64_t writes_ = 0;
  std::optional<Armed> armed_;
  std::map<std::string, Settlement, std::less<>> settled_;  // by transaction
  std::shared_ptr<Listeners> listeners_ = std::make_shared<Listeners>();
};

// With its watch.
Attached attach_simulated(std::unique_ptr<SimulatedDevice> device);

}  // namespace lockstep
